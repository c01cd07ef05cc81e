"""``roofctl compare``: kernels before and after a change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from roofctl.cli import page
from roofctl.cli.common import put, say, say_notes, show_as, talk_options, wrapped
from roofctl.cli.inputs import analysis_options, check_read, reading, request_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roofctl.roofline.compare import Gate
    from roofctl.study.compare import CompareRequest, Comparison

F = TypeVar("F", bound="Callable[..., Any]")
_LISTED = 5
"""Failures that the message names; all are in the documents."""


def fraction(_context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """``5%`` or ``5`` as 0.05."""
    if value is None:
        return None
    try:
        percent = float(value.strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent < float("inf"):
        raise click.BadParameter(f"{value!r} is no percentage such as 5%", param=option)
    return percent / 100


def percentage(name: str, help_text: str, **more: Any) -> Callable[[F], F]:
    return click.option(name, metavar="PERCENT", callback=fraction, help=help_text, **more)


def _by_grid(command: F) -> F:
    return analysis_options(command, group="kernel+grid")


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="BEFORE AFTER [MORE]...", type=click.Path(path_type=Path))
@_by_grid
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", "md"]),
    default="table",
    show_default=True,
    help="Output form; md is GitHub Markdown with GPUs, clocks, ceilings and versions.",
)
@click.option(
    "--match",
    "matches",
    multiple=True,
    metavar="BEFORE=AFTER",
    help="Kernels that are one, by name or regex; repeatable.",
)
@percentage("--noise", "Changes of the time up to this are noise.", default="2%", show_default=True)
@percentage("--fail-slower", "Exit code 10 where a kernel is slower by more than this, beyond noise.")
@percentage("--fail-below", "Exit code 10 where a kernel AFTER is below this part of its limit.")
@click.option("--fail-new", is_flag=True, help="Exit code 10 where a kernel is new.")
@percentage(
    "--min-share", "The --fail options check kernels with this part of the time.", default="1%", show_default=True
)
@click.option("--all", "everything", is_flag=True, help="List the kernels within noise, too.")
@click.option("--wide", is_flag=True, help="All columns of the table, however wide the terminal.")
@click.option(
    "-o",
    "--plot",
    "picture",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the moves on a roofline: a .png, .svg or .pdf file; or .html for a page to explore (extra html).",
)
@click.option(
    "--level", type=click.Choice(["l1", "l2", "hbm", "dram"]), default="hbm", show_default=True, help="Level of --plot."
)
@click.option("--force", is_flag=True, help="Replace the file of --plot if it exists.")
@talk_options
def compare(
    form: str, *, everything: bool, wide: bool, picture: Path | None, level: str, force: bool, **options: Any
) -> None:
    """List kernels before and after a change: time, limit, use, intensity, and whether the change is noise.

    Each of BEFORE, AFTER and MORE is what report takes as INPUT: a capture, a file, or a folder; all are compared with
    BEFORE. Kernels are matched by name and grid, then by name, then by share of the time and shape, which is stated.
    A change is noise up to --noise, and where the launches of both overlap; of a single launch or a summary the spread
    is not known, which is stated. Times are never averaged over captures: of several in a folder the one with the
    median time stands for each kernel.

    \b
    Example:
      roofctl compare before after
      roofctl compare before after --format md > comment.md
      roofctl compare before after --fail-slower 5% --fail-new
      roofctl compare naive.csv padded.csv -o arrows.png
      roofctl compare run.csv run.csv --match transpose_naive=transpose_padded
    """
    from roofctl.plots.page import check_target
    from roofctl.study.compare import compare as compared

    if len(options["inputs"]) < 2:  # noqa: PLR2004 - a comparison has two sides
        raise click.UsageError("compare takes two inputs or more: BEFORE AFTER")
    as_page = picture is not None and picture.suffix.lower() in page.SUFFIXES
    if picture and as_page:
        page.check_compared(picture, options["inputs"], force=force)
    elif picture:
        check_target(picture, force=force)
    request, gate = _request(options), _gate(options)
    with reading() as watch:
        comparisons = compared(options["inputs"], replace(request, each=replace(request.each, watch=watch)))
    failed = _failed(comparisons, gate)
    _print(comparisons, form, failed, everything=everything, wide=wide)
    _say(comparisons, gate)
    if picture and as_page:
        page.write_compared(picture, options)
    elif picture:
        from roofctl.output.arrows import draw_moves

        draw_moves(comparisons, "hbm" if level == "dram" else level, picture)
        say(f"Wrote {picture}")
    _check(failed)
    for side in (comparisons[0].before, *(each.after for each in comparisons)):
        check_read(side.analysis)


def _request(options: dict[str, Any]) -> CompareRequest:
    from roofctl.roofline.match import GivenMatch
    from roofctl.roofline.select import Selection
    from roofctl.study.compare import CompareRequest

    request = request_of(options, advice=False)
    return CompareRequest(
        each=replace(request, inputs=(), selection=Selection()),
        given=tuple(map(GivenMatch.parse, options["matches"])),
        noise=options["noise"],
        selection=request.selection,
    )


def _gate(options: dict[str, Any]) -> Gate:
    from roofctl.roofline.compare import Gate

    return Gate(options["fail_slower"], options["fail_below"], options["fail_new"], options["min_share"])


def _failed(comparisons: Sequence[Comparison], gate: Gate) -> list[list[str]]:
    from roofctl.roofline.compare import faults

    return [faults(each.changes, gate, each.names) for each in comparisons]


def _print(
    comparisons: Sequence[Comparison], form: str, failed: Sequence[Sequence[str]], *, everything: bool, wide: bool
) -> None:
    """The comparisons on stdout in the form asked for."""
    from roofctl.output import comparison as output

    if form == "json":
        show_as("json", document=output.document(comparisons, [text for texts in failed for text in texts]))
    elif form == "csv":
        show_as("csv", *output.csv_table(comparisons))
    elif form == "md":
        texts = [
            output.markdown(each, everything=everything, failed=faults)
            for each, faults in zip(comparisons, failed, strict=True)
        ]
        put("\n".join(texts), newline=False)
    else:
        for each in comparisons:
            _print_table(each, everything=everything, wide=wide)


def _print_table(comparison: Comparison, *, everything: bool, wide: bool) -> None:
    from roofctl.output import comparison as output

    lines, result = output.facts(comparison)
    say("\n".join(map(wrapped, lines)))
    changes, left_out = output.shown(comparison, everything=everything)
    if changes:
        show_as("table", *output.table(comparison, changes), wide=wide)
    if left_out:
        put(output.left_out_text(left_out))
    put(result)


def _say(comparisons: Sequence[Comparison], gate: Gate) -> None:
    """Notes on stderr: those on the differences, the warnings of each input, and what was not checked."""
    from roofctl.core.kernel_names import some
    from roofctl.core.notes import Note
    from roofctl.roofline.compare import checked, unassessed

    notes = [note for each in comparisons for note in each.notes]
    sides = {side.label: side for each in comparisons for side in (each.before, each.after)}
    for side in sides.values():
        notes += [Note(f"{side.label}: {note.text}", warning=True) for note in side.analysis.notes if note.warning]
        if side.analysis.unknown_gpu:
            notes.append(Note(f"{side.label}: {side.analysis.unknown_gpu.message} Uses and limits are not known"))
    for each in comparisons if gate.given else ():
        if small := sum(not checked(change, gate) for change in each.changes):
            least = f"{gate.share * 100:.3g} % of the time (--min-share)"
            text = f"not checked: {small} kernel{'s' * (small > 1)} below {least}"
            notes.append(Note(text, asked=True))
        if unknown := [each.name(change) for change in unassessed(each.changes, gate)]:
            text = f"not checked by --fail-below, their limit is not known: {some(unknown, 3)}"
            notes.append(Note(text, warning=True))
    say_notes(notes)


def _check(failed: Sequence[Sequence[str]]) -> None:
    """Raise ComparisonFailed for what the options do not let pass."""
    from roofctl.core.errors import ComparisonFailed

    texts = [text for of_one in failed for text in of_one]
    more = f"; and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    if texts:
        raise ComparisonFailed("; ".join(texts[:_LISTED]) + more)
