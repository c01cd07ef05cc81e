"""``roofctl plot``: the picture."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli.common import (
    answer_of,
    check_read,
    check_time_options,
    check_wall_options,
    input_options,
    request_of,
    say,
    say_notes,
    talk_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roofctl.plots.style import PlotOptions
    from roofctl.roofline.model import KernelPoints, Roofline
    from roofctl.study.study import Study


def _spaces(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """``global,shared`` as a tuple, each once."""
    words = [word.strip() for word in value.split(",")] if value is not None else []
    unknown = [word for word in words if word not in ("global", "shared")]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not global or shared")
    return tuple(dict.fromkeys(words))


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
    type=click.Choice(["l1", "l2", "hbm"]),
    help="Level to draw, repeatable; default: all (hierarchical, time), hbm (multi).",
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
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="A .png, .svg or .pdf file.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@talk_options
def plot(mode: str | None, output: Path | None, force: bool, **options: Any) -> None:
    """Draw the roofline of one kernel or of many.

    Points are warp instructions per second against warp instructions per 32-byte transaction
    at L1, L2 and HBM, or with --model flop operations per second against operations per byte.
    With --mode time every kernel stands at the times that bound a launch of it: compute, memory,
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
    """
    if options["walls"] and (mode or options["model"] == "flop" or options["levels"]):
        raise click.UsageError("--walls is a picture of its own: without --mode, --level and --model flop")
    if options["walls"]:
        check_wall_options(options)
    if mode == "time":
        check_time_options(options)
    target = checked_target(output, force=force) if output else None
    answer = answer_of(request_of(options))
    if answer.question:
        raise answer.question
    kind = "walls" if options["walls"] else "time-roofline" if mode == "time" else "roofline"
    target = target or checked_target(Path(f"{Path(answer.sources[0]).stem}-{kind}.png"), force=force)
    if options["walls"]:
        _draw_walls(answer, options, target)
        check_read(answer)
        return
    # A picture of times is not one of the model's rates: what that leaves out is not left out here.
    say_notes(answer.general if mode == "time" else answer.notes)
    draw(answer, mode, options, (target,))
    check_read(answer)


def _draw_walls(answer: Study, options: dict[str, Any], target: Path) -> None:
    from roofctl.plots import figure
    from roofctl.plots.walls import walls
    from roofctl.roofline.walls import wall_points

    kernels, notes = wall_points(answer.analysis.kernels, options["walls"])
    say_notes([*answer.general, *notes])
    picture = walls(answer.rooflines, kernels, options["walls"], plot_options(answer, (), options))
    figure.save(picture, target)
    say(f"Wrote {target}")


def checked_target(path: Path, *, force: bool) -> Path:
    """``path``, refused before any work when it cannot be written there or would replace a file unasked."""
    from roofctl.core.errors import InputError
    from roofctl.plots.figure import check_suffix

    check_suffix(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder", hint="choose another name with -o")
    if path.exists() and not force:
        raise InputError(f"{path} exists", hint="choose another name with -o, or replace it with --force")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist", hint="create it, or choose another with -o")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {path.parent} cannot be written to", hint="choose another with -o")
    return path


def draw(answer: Study, mode: str | None, options: dict[str, Any], targets: Sequence[Path]) -> None:
    """Draw ``answer`` once and write it to every target; says what was written."""
    from roofctl.plots import figure

    kernels = answer.analysis.points
    mode = mode or ("hierarchical" if len(answer.analysis.kernels) == 1 else "multi")
    if mode == "time":
        save(_time_picture(answer, options), targets)
        return
    if mode == "hierarchical":
        kernels = _one_kernel(kernels)
    levels = options.get("levels") or (("l1", "l2", "hbm") if mode == "hierarchical" else ("hbm",))
    _check_drawable(kernels, levels)
    style = plot_options(answer, tuple(dict.fromkeys(levels)), options)
    make = figure.hierarchical if mode == "hierarchical" else figure.multi
    save(make(_rooflines(answer, kernels, options), kernels, style), targets)


def save(picture: Any, targets: Sequence[Path]) -> None:
    """Write a figure to every target and say so."""
    from roofctl.plots import figure

    for target in targets:
        figure.save(picture, target)
        say(f"Wrote {target}")


def _time_picture(answer: Study, options: dict[str, Any]) -> Any:
    """The time-based roofline, by the ceilings that judge."""
    from dataclasses import replace

    from roofctl.plots.timing import time
    from roofctl.study.study import timings_of

    timings, notes = timings_of(answer)
    say_notes(notes)
    judged = replace(answer, rooflines=answer.rooflines[:1])
    style = plot_options(judged, tuple(dict.fromkeys(options.get("levels") or ("l1", "l2", "hbm"))), options)
    return time(judged.rooflines[0], timings, style)


def _one_kernel(kernels: Sequence[KernelPoints]) -> tuple[KernelPoints, ...]:
    """The kernel of a hierarchical picture, in the FLOP model with each type of operation: the longest with points."""
    drawable = [kernel for kernel in kernels if kernel.points] or list(kernels)
    chosen = drawable[0]
    several = len({kernel.number for kernel in kernels})
    if several > 1:
        share = "" if chosen.time_share is None else f" ({chosen.time_share:.0%} of the time)"
        say(f"note: {several} kernels; drawing the longest, {chosen.short_name}{share}; choose with --kernel")
    return tuple(kernel for kernel in kernels if kernel.number == chosen.number)


def _rooflines(answer: Study, kernels: Sequence[KernelPoints], options: dict[str, Any]) -> list[Roofline]:
    """The rooflines with the peaks that the picture needs: those of the work that is drawn, or all when asked for."""
    if "all" in (options.get("precisions") or ()):
        return list(answer.rooflines)
    works = [kernel.work for kernel in kernels if kernel.points]
    return [roofline.only(works) for roofline in answer.rooflines]


def _check_drawable(kernels: Sequence[KernelPoints], levels: Sequence[str]) -> None:
    """Raise InputError when the picture would hold no point: an empty plot helps nobody."""
    from roofctl.core.errors import InputError
    from roofctl.roofline.model import ISSUE

    if any(kernel.point(level) for kernel in kernels for level in levels):
        return
    elsewhere = sorted({point.level for kernel in kernels for point in kernel.points})
    if elsewhere:
        raise InputError(
            f"no kernel has a point at {', '.join(levels)}", hint=f"choose among --level {' | '.join(elsewhere)}"
        )
    reasons = sorted({why for kernel in kernels for level, why in kernel.missing.items() if level in levels})
    flops = any(kernel.work != ISSUE for kernel in kernels)
    raise InputError(
        f"there is no point to draw ({'; '.join(reasons) or 'no counters'})",
        hint="draw the instruction roofline (--model instruction), or capture with --set flop --set tensor"
        if flops
        else "capture instructions, traffic and time: roofctl quantities --set instruction lists the counters",
    )


def plot_options(answer: Study, levels: tuple[str, ...], options: dict[str, Any]) -> PlotOptions:
    """Style from --style, then from the options on the command line, which win."""
    from dataclasses import replace

    from roofctl.plots.style import PlotOptions, load_style

    base = PlotOptions(levels=levels, subtitle=subtitle(answer), remarks=answer.clocks.remarks)
    if options.get("style"):
        base = load_style(options["style"], base)
    for attribute, name in (("label", "labels"), ("color", "colors"), ("marker", "markers")):
        for entry in options.get(name) or ():
            base = _restyle(base, attribute, entry, answer.analysis.points)
    base = replace(base, spread=bool(options.get("spread")))
    return replace(base, title=options["title"]) if options.get("title") else base


def _restyle(base: PlotOptions, attribute: str, entry: str, kernels: Sequence[KernelPoints]) -> PlotOptions:
    """``base`` with one ``KERNEL=VALUE`` entry.

    Both sides may hold an ``=`` (``operator==``, ``n=4``): they part where the left one names a kernel.
    """
    from dataclasses import replace

    from roofctl.core.errors import InputError
    from roofctl.core.kernel_names import base_name
    from roofctl.plots.style import KernelStyle, check_kernel_style

    splits = [
        (entry[:i], entry[i + 1 :]) for i, mark in enumerate(entry) if mark == "=" and entry[:i] and entry[i + 1 :]
    ]
    if not splits:
        raise InputError(f"--{attribute} {entry!r} is not KERNEL=VALUE", hint=f"write it as --{attribute} triad=…")
    named = {name: [k for k in kernels if name in (k.kernel, k.short_name, base_name(k.kernel))] for name, _ in splits}
    name, value = next((split for split in reversed(splits) if named[split[0]]), splits[0])
    if not named[name]:
        known = ", ".join(kernel.short_name for kernel in kernels[:8])
        raise InputError(f"--{attribute} names {name!r}, which is not drawn", hint=f"kernels: {known}")
    check_kernel_style(attribute, value)
    styles = dict(base.kernels)
    for kernel in named[name]:
        style = styles.get(kernel.kernel) or styles.get(kernel.short_name) or KernelStyle()
        styles[kernel.kernel] = replace(style, **{attribute: value})
    return replace(base, kernels=styles)


def subtitle(answer: Study) -> str:
    """GPU, SM clock and basis of the ceilings, for the line under the title."""
    words = [next(iter(answer.device.names), None) or answer.rooflines[0].gpu, *clock_words(answer)]
    words.append(" and ".join(dict.fromkeys(r.basis for r in answer.rooflines)) + " ceilings")
    return " · ".join(words)


def clock_words(answer: Study) -> list[str]:
    """The SM clock of the ceilings, and the one of the capture where it is another."""
    from roofctl.core.units import prefixed

    clock, captured = answer.clock or answer.rooflines[0].peak.clock, answer.clocks.captured
    words = [f"SM {prefixed(clock.hz, 'Hz')} {clock.origin}"] if clock else []
    if clock and captured and captured != clock:
        words.append(f"captured at {prefixed(captured.hz, 'Hz')}")
    return words
