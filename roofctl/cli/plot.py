"""``roofctl plot``: the picture."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli import complete, page
from roofctl.cli.common import put, say, say_notes, talk_options, terminal_width, use_color
from roofctl.cli.inputs import (
    analyses_of,
    check_read,
    check_time_options,
    check_wall_options,
    input_options,
    naming_application,
    request_of,
)
from roofctl.core.levels import LEVEL_ALIASES, LEVELS

if TYPE_CHECKING:
    from roofctl.output.picture import PictureRequest
    from roofctl.study.analyse import Analysis


_COLUMNS = 100


def _spaces(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Memory spaces, each once; several in one value stand with commas."""
    spaces = [space.strip() for value in values for space in value.split(",")]
    unknown = [space for space in spaces if space not in ("global", "shared")]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not global or shared")
    return tuple(dict.fromkeys(spaces))


def _levels(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Levels, each once; ``dram`` is another name of ``hbm``."""
    from roofctl.quantities import catalogue

    known = (*LEVELS, *LEVEL_ALIASES, *catalogue().levels) if values else ()
    if unknown := [value for value in values if value not in known]:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(map(repr, known))}.")
    return tuple(dict.fromkeys(LEVEL_ALIASES.get(value, value) for value in values))


def look_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options on size, resolution, font, limits and legend of a picture."""
    options = (
        click.option("--title", help="Title of the picture; '' for none."),
        click.option("--size", metavar="WxH", help="Size: 3.4x2.6in, 86x60mm."),
        click.option("--width", metavar="column|page|WIDTH", help="Width, the height in proportion: column is 3.4in."),
        click.option("--dpi", type=int, help="Dots per inch of a PNG."),
        click.option("--font", metavar="FAMILY", help="Font, such as 'DejaVu Serif'."),
        click.option("--xlim", metavar="LOW,HIGH", help="Limits of the x axis."),
        click.option("--ylim", metavar="LOW,HIGH", help="Limits of the y axis."),
        click.option(
            "--legend", type=click.Choice(["auto", "right", "below", "none"]), help="Where the legend stands."
        ),
        click.option("--labeled", type=click.IntRange(1), metavar="N", help="Kernels with a label; default: 10."),
        click.option("--zones", is_flag=True, help="Shade where memory and where the peak limits."),
        click.option(
            "--style",
            "styles",
            multiple=True,
            metavar="NAME|FILE.yaml",
            help="paper, talk, notebook, or a file with all of these; repeatable.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@input_options
@click.option(
    "--mode",
    type=click.Choice(["hierarchical", "multi", "time"]),
    help="One kernel on all levels, many kernels, or compute time against memory time; default: one or many.",
)
@click.option("--times", is_flag=True, help="The picture of --mode time: the times that bound a launch, as in report.")
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="[l1|l2|hbm|dram]",
    callback=_levels,
    shell_complete=complete.levels,
    help="Level to draw points of, repeatable (dram is hbm); default: all (hierarchical, time), hbm (multi).",
)
@click.option(
    "--ceiling-level",
    "ceiling_levels",
    multiple=True,
    metavar="[l1|l2|hbm|dram]",
    callback=_levels,
    shell_complete=complete.levels,
    help="Level to draw the ceiling of, repeatable; default: those of the points.",
)
@click.option(
    "--walls",
    multiple=True,
    callback=_spaces,
    metavar="[global|shared]",
    shell_complete=complete.spaces,
    help="Draw memory walls, repeatable or with commas; with --mode global, inside the roofline.",
)
@click.option("--spread", is_flag=True, help="Error bars: slowest to fastest launch.")
@click.option("--normalize", is_flag=True, help="Percent of each kernel's own roof.")
@click.option("--panels", is_flag=True, help="A panel for each GPU and clock, or else for each capture.")
@click.option("--label", "labels", multiple=True, metavar="NAME=TEXT", help="Label of a kernel or level.")
@click.option("--color", "colors", multiple=True, metavar="NAME=COLOR", help="Color of a kernel or level.")
@click.option("--marker", "markers", multiple=True, metavar="NAME=MARKER", help="Marker of a kernel or level: s, ^.")
@look_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A .png, .svg or .pdf file, or .html for a page to explore (extra html).",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--terminal", "in_terminal", is_flag=True, help="Draw on stdout, as wide as the terminal.")
@click.option("--ascii", "ascii_only", is_flag=True, help="With --terminal: ASCII characters only.")
@talk_options
def plot(output: Path | None, force: bool, in_terminal: bool, ascii_only: bool, **options: Any) -> None:
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
      roofctl plot capture.csv --level hbm --ceiling-level l1 --ceiling-level l2 --ceiling-level hbm
      roofctl plot capture.csv --model flop --kernel gemm -o gemm.pdf
      roofctl plot capture.csv --walls global --walls shared
      roofctl plot capture.csv --terminal
      roofctl plot capture.csv --times --model flop
      roofctl plot capture.csv -o roofline.html
    """
    from roofctl.plots.page import check_target

    if options.pop("times"):
        if options["mode"] not in (None, "time"):
            raise click.UsageError(f"--times is --mode time: without --mode {options['mode']}")
        options["mode"] = "time"
    _check_together(options)
    _check_terminal(options, output, in_terminal=in_terminal, ascii_only=ascii_only)
    if output and output.suffix.lower() in page.SUFFIXES:
        _write_page(output, options, force=force)
        return
    if output:
        check_target(output, force=force)
    analysis, *others = analyses_of(request_of(options, advice=False))
    for each in (analysis, *others):
        if each.unknown_gpu:
            raise each.unknown_gpu
    from roofctl.output.picture import default_target, picture

    request = _picture_request(options)
    if in_terminal:
        with naming_application(options["inputs"]):
            _print(analysis, request, others, ascii_only=ascii_only)
        return
    target = output or check_target(default_target(analysis, request), force=force)
    with naming_application(options["inputs"]):
        drawn = picture(analysis, request, others)
        say_notes(drawn.notes)
        drawn.save([target])
    say(f"Wrote {target}")
    check_read(analysis)


def _check_terminal(options: dict[str, Any], output: Path | None, *, in_terminal: bool, ascii_only: bool) -> None:
    if ascii_only and not in_terminal:
        raise click.UsageError("--ascii belongs to --terminal")
    others = ("walls", "normalize", "panels")
    if in_terminal and (output or options["mode"] == "time" or any(options[name] for name in others)):
        raise click.UsageError(
            "--terminal draws rooflines on stdout: without -o, --walls, --normalize, --panels and --mode time"
        )


def _print(analysis: Analysis, request: PictureRequest, others: Sequence[Analysis], *, ascii_only: bool) -> None:
    """The picture on stdout, as wide as the terminal; without a terminal 100 columns, and no colour."""
    from roofctl.output.picture import in_terminal

    text, notes = in_terminal(
        analysis,
        request,
        others,
        width=terminal_width() or _COLUMNS,
        colored=use_color(sys.stdout) and not ascii_only,
        ascii_only=ascii_only or "utf" not in (sys.stdout.encoding or "").lower(),
    )
    put(text, styled=True)
    say_notes(notes)
    check_read(analysis)


def _write_page(output: Path, options: dict[str, Any], *, force: bool) -> None:
    """The page instead of a picture, with the levels, walls and title that were asked for."""
    from roofctl.output.html_data import PageOptions
    from roofctl.plots.look import LOOKS

    given = {
        "--mode time": options["mode"] == "time",
        **{f"--{name}": options[name] for name in ("spread", "normalize", "panels")},
        **{f"--{name}": options[f"{name}s"] for name in ("label", "color", "marker", "style")},
        **{f"--{name.replace('_', '-')}": options.get(name) for name in LOOKS if name != "title"},
    }
    page.refuse(given, "is for pictures; a page has controls of its own")
    shown = PageOptions(options["levels"], options["walls"], options["title"] or "")
    page.write(output, options, force=force, option="-o", shown=shown)


def _check_together(options: dict[str, Any]) -> None:
    """Refuse options that have no meaning for the picture."""
    if options["ceiling_levels"] and ((options["walls"] and not options["mode"]) or options["mode"] == "time"):
        raise click.UsageError("--ceiling-level belongs to rooflines, not to memory walls and times")
    if options["walls"] and (options["model"] == "flop" or options["mode"] == "time"):
        raise click.UsageError("--walls belongs to the instruction model: without --model flop and --mode time")
    if options["walls"] and options["levels"] and not options["mode"]:
        raise click.UsageError("--walls alone has no levels; with --mode multi it is part of the roofline")
    if options["mode"] and "shared" in options["walls"]:
        raise click.UsageError(
            "--walls shared is a picture of its own, without --mode: its transactions are of 128 bytes, not 32"
        )
    scale = next((name for name in ("normalize", "panels") if options[name]), None)
    if scale and (options["walls"] or options["mode"] in ("time", "hierarchical")):
        raise click.UsageError(f"--{scale} belongs to rooflines of many kernels")
    if options["walls"] and not options["mode"]:
        check_wall_options(options)
    if options["mode"] == "time":
        check_time_options(options)


def _picture_request(options: dict[str, Any]) -> PictureRequest:
    from roofctl.output.picture import PictureRequest
    from roofctl.plots.look import LOOKS

    names = ("mode", "levels", "ceiling_levels", "walls", "spread", "normalize", "panels", "styles", "labels")
    return PictureRequest(
        **{name: options[name] for name in (*names, "colors", "markers")},
        title=options["title"],
        look={key: options[key] for key in LOOKS if options.get(key) not in (None, False)},
        all_peaks="all" in options["precisions"],
    )
