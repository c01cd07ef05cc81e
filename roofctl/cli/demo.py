"""``roofctl demo``: the main job on a capture that comes with roofctl."""

from __future__ import annotations

from pathlib import Path

import click

from roofctl.cli.common import say, say_notes, talk_options


@click.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path(), metavar="FOLDER", help="Where to write pictures."
)
@talk_options
def demo(output: Path) -> None:
    """Show what roofctl does: table and pictures of a real capture from an NVIDIA H200.

    Twelve kernels of known traffic, captured by roofctl profile with ncu 2025.3.1. Writes roofctl-demo.png
    and roofctl-demo.svg, replacing earlier ones.

    \b
    Example:
      roofctl demo
    """
    from roofctl.cli.report import print_table
    from roofctl.core.errors import InputError
    from roofctl.core.resources import demo_capture
    from roofctl.output.picture import PictureRequest, picture
    from roofctl.study.analyse import AnalysisRequest, analyse_inputs

    if not output.is_dir():
        raise InputError(f"the folder {output} does not exist", hint="create it, or choose another with -o")
    kernels = analyse_inputs(AnalysisRequest(inputs=(demo_capture(),)))
    print_table(kernels)
    drawn = picture(kernels, PictureRequest(mode="multi", title="Twelve kernels of known traffic"))
    say_notes(drawn.notes)
    targets = [output / "roofctl-demo.png", output / "roofctl-demo.svg"]
    drawn.save(targets)
    for target in targets:
        say(f"Wrote {target}")
    say(f"The capture: {demo_capture()}")
