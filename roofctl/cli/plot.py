"""``roofctl plot``: the picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli import page
from roofctl.cli.common import say, say_notes, talk_options
from roofctl.cli.inputs import (
    analysis_of,
    check_read,
    check_time_options,
    check_wall_options,
    input_options,
    request_of,
)

if TYPE_CHECKING:
    from roofctl.output.picture import PictureRequest


def _spaces(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """``global,shared`` as a tuple, each once."""
    spaces = [space.strip() for space in value.split(",")] if value is not None else []
    unknown = [space for space in spaces if space not in ("global", "shared")]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not global or shared")
    return tuple(dict.fromkeys(spaces))


def _levels(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Levels, each once; ``dram`` is another name of ``hbm``."""
    return tuple(dict.fromkeys("hbm" if value == "dram" else value for value in values))


@click.command()
@input_options
@click.option(
    "--mode",
    type=click.Choice(["hierarchical", "multi", "time"]),
    help="One kernel on all levels, many kernels, or compute time against memory time; default: one or many.",
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice(["l1", "l2", "hbm", "dram"]),
    callback=_levels,
    help="Level to draw, repeatable (dram is hbm); default: all (hierarchical, time), hbm (multi).",
)
@click.option(
    "--walls",
    callback=_spaces,
    metavar="SPACE[,SPACE]",
    help="Draw memory walls instead: global, shared or global,shared.",
)
@click.option("--spread", is_flag=True, help="Error bars: slowest to fastest launch.")
@click.option("--label", "labels", multiple=True, metavar="KERNEL=TEXT", help="Name a kernel in the picture.")
@click.option("--color", "colors", multiple=True, metavar="KERNEL=COLOR", help="Color of a kernel.")
@click.option("--marker", "markers", multiple=True, metavar="KERNEL=MARKER", help="Marker of a kernel, such as s or ^.")
@click.option("--title", help="Title of the picture.")
@click.option("--style", type=click.Path(path_type=Path), metavar="FILE.yaml", help="All of these, from a file.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A .png, .svg or .pdf file, or .html for a page to explore (extra html).",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@talk_options
def plot(output: Path | None, force: bool, **options: Any) -> None:
    """Draw the roofline of one kernel or of many.

    Points are warp instructions per second against warp instructions per 32-byte transaction
    at L1, L2 and HBM, or with --model flop operations per second against operations per byte.
    With --mode time every kernel is drawn at the times that bound a launch of it: compute, memory,
    and the launch itself where it was measured (roofctl calibrate --level launch).
    INPUT is a capture or a profiler's CSV; without it the newest capture is drawn.
    Without -o the picture is named after the first INPUT.

    \b
    Example:
      roofctl plot capture.csv --kernel triad -o triad.svg
      roofctl plot capture.csv --mode multi --level l2 --level hbm --top 10
      roofctl plot capture.csv --model flop --kernel gemm -o gemm.pdf
      roofctl plot capture.csv --walls global,shared
      roofctl plot capture.csv --mode time --model flop
      roofctl plot capture.csv -o roofline.html
    """
    from roofctl.plots.page import check_target

    _check_together(options)
    if output and output.suffix.lower() in page.SUFFIXES:
        _write_page(output, options, force=force)
        return
    if output:
        check_target(output, force=force)
    analysis = analysis_of(request_of(options, advice=False))
    if analysis.unknown_gpu:
        raise analysis.unknown_gpu
    from roofctl.output.picture import default_target, picture

    request = _picture_request(options)
    target = output or check_target(default_target(analysis, request), force=force)
    drawn = picture(analysis, request)
    say_notes(drawn.notes)
    drawn.save([target])
    say(f"Wrote {target}")
    check_read(analysis)


def _write_page(output: Path, options: dict[str, Any], *, force: bool) -> None:
    """The page instead of a picture, with the levels, walls and title that were asked for."""
    from roofctl.output.html_data import PageOptions

    given = {
        "--mode time": options["mode"] == "time",
        **{f"--{name}": options[name] for name in ("spread", "style")},
        **{f"--{name}": options[f"{name}s"] for name in ("label", "color", "marker")},
    }
    page.refuse(given, "is for pictures; a page has controls of its own")
    shown = PageOptions(options["levels"], options["walls"], options["title"] or "")
    page.write(output, options, force=force, option="-o", shown=shown)


def _check_together(options: dict[str, Any]) -> None:
    """Refuse options that have no meaning for the picture."""
    if options["walls"] and (options["mode"] or options["model"] == "flop" or options["levels"]):
        raise click.UsageError("--walls is a picture of its own: without --mode, --level and --model flop")
    if options["walls"]:
        check_wall_options(options)
    if options["mode"] == "time":
        check_time_options(options)


def _picture_request(options: dict[str, Any]) -> PictureRequest:
    from roofctl.output.picture import PictureRequest

    names = ("mode", "levels", "walls", "spread", "style", "labels", "colors", "markers")
    return PictureRequest(
        **{name: options[name] for name in names},
        title=options["title"] or "",
        all_peaks="all" in options["precisions"],
    )
