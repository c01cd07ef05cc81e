"""The kernel table for people: columns in the order in which a narrow terminal keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.levels import LEVELS
from roofctl.core.units import SECTOR_BYTES
from roofctl.output.columns import UNKNOWN, Column, headings_and_rows, time_unit
from roofctl.output.markdown import code_span
from roofctl.quantities import catalogue
from roofctl.roofline.analyse import Explained, ModelResults
from roofctl.roofline.flop import FlopResult
from roofctl.roofline.instruction import InstructionResult
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.limit_words import label as limit_label
from roofctl.roofline.model import WORK_LABELS, all_levels
from roofctl.roofline.result import Result

_SHAPES: Final = ("grid", "block")
_GIGA: Final = ("", 1e9)


def table(results: ModelResults, names: Sequence[str] = ()) -> tuple[list[str], list[list[str]]]:
    """Headings and cells; ``names`` are the columns to show, in that order.

    Without names these are all but grid and block, which are shown where they tell kernels apart. ``#`` is the number
    that the kernel has in a picture of the same selection. Raises InputError for unknown names.
    """
    columns = list(_columns(results))
    if not names:
        columns = [column for column in columns if column.name not in _SHAPES or _by_launch_or_grid(results)]
    else:
        known = {column.name: column for column in columns}
        if unknown := [name for name in names if name not in known]:
            raise InputError(f"no column {', '.join(unknown)}", hint=f"columns of this table: {', '.join(known)}")
        columns = [known[name] for name in dict.fromkeys(names)]
    return headings_and_rows(columns)


def _by_launch_or_grid(results: ModelResults) -> bool:
    """Whether rows are launches, or a kernel of one capture has several of them."""
    rows = [(kernel.name, kernel.source) for kernel in results.kernels]
    return len(set(rows)) < len(rows) or any(kernel.occurrence for kernel in results.kernels)


def markdown_table(results: ModelResults, names: Sequence[str] = ()) -> tuple[list[str], list[list[str]]]:
    """The same with kernel names as code spans."""
    headings, rows = table(results, names)
    at = headings.index("kernel") if "kernel" in headings else None
    return headings, [[code_span(c) if i == at else c.strip() for i, c in enumerate(row)] for row in rows]


def _columns(results: ModelResults) -> Iterator[Column]:
    explained = results.explained
    kernels = [each.result.kernel for each in explained]
    yield Column("number", "#", "count", range(1, len(explained) + 1))
    yield Column("kernel", "kernel", "text", [kernel.short_name for kernel in kernels])
    if results.model == "flop":
        yield Column("type", "type", "text", [_work(each.result) for each in explained])
    if _by_launch_or_grid(results):
        yield from _shape(kernels)
    if any(kernel.occurrence for kernel in kernels):
        yield Column("launch", "launch", "count", [kernel.occurrence for kernel in kernels])
    else:
        yield Column("launches", "launches", "count", [kernel.launches for kernel in kernels])
    yield Column("time", "time", "seconds", [kernel["seconds"] for kernel in kernels])
    yield Column("share", "share", "percent", [kernel.time_share for kernel in kernels])
    yield Column("limit", "limit", "text", [limit_label(each.limit, each.result.kernel) for each in explained])
    yield Column("use", "use", "percent", [each.limit.use for each in explained])
    yield _headroom(explained, time_unit([kernel["seconds"] for kernel in kernels]))
    yield from _uses(explained)
    yield from _rates(results)
    yield from _traffic(results)
    yield from _own(kernels)
    if not _by_launch_or_grid(results):
        yield from _shape(kernels)
    if any(kernel.rank is not None for kernel in kernels):
        yield Column("rank", "rank", "count", [kernel.rank for kernel in kernels])
    if len({kernel.source for kernel in kernels}) > 1:
        yield Column("source", "source", "text", [kernel.files for kernel in kernels])


def _shape(kernels: Sequence[Kernel]) -> Iterator[Column]:
    """Launch shapes: beside the name where they tell rows apart, else at the end."""
    yield Column("grid", "grid", "text", [kernel.grid for kernel in kernels])
    yield Column("block", "block", "text", [kernel.block for kernel in kernels])


def _work(result: Result) -> str:
    return WORK_LABELS[result.work] if isinstance(result, FlopResult) and result.work else UNKNOWN


def _headroom(explained: Sequence[Explained], scale: tuple[str, float]) -> Column:
    """Time above the longest known bound; ``<`` before it where not everything was counted."""
    values = [each.limit.headroom_seconds for each in explained]
    known = zip(explained, values, strict=True)
    prefixes = ["" if value is None or each.limit.counted else "<" for each, value in known]
    return Column("headroom", "headroom", "seconds", values, scale=scale, prefixes=prefixes)


def _uses(explained: Sequence[Explained]) -> Iterator[Column]:
    with_ceiling = [level for level in catalogue().levels if any(each.limit.uses.get(level) for each in explained)]
    for name in ("issue", *LEVELS, *with_ceiling):
        label = name if name == "issue" else explained[0].result.kernel.label(name)
        yield Column(name, label, "percent", [each.limit.fraction(name) for each in explained])


def _rates(results: ModelResults) -> Iterator[Column]:
    found = [each.result for each in results.explained]
    if results.model == "instruction":
        instructions = [result for result in found if isinstance(result, InstructionResult)]
        yield Column("gips", "GIPS", "rate", [result.per_second for result in instructions], scale=_GIGA)
        yield Column("lost", "lost", "percent", [result.lost_fraction for result in instructions])
        return
    operations = [result for result in found if isinstance(result, FlopResult)]
    yield Column("rate", "rate", "rate", [result.per_second for result in operations], "FLOP/s")
    yield Column("peak", "of peak", "percent", [result.of_peak for result in operations])


def _traffic(results: ModelResults) -> Iterator[Column]:
    """Intensity and bandwidth at each level."""
    explained = results.explained
    labels = {level: explained[0].result.kernel.label(level) for level in all_levels()}
    for level in all_levels():
        values = [each.result.intensity(level, results.model) for each in explained]
        yield Column(f"{level}-intensity", f"{labels[level]} int.", "number", values)
    for level in all_levels():
        rates = [_bandwidth(each.result, level) for each in explained]
        yield Column(f"{level}-bandwidth", labels[level], "rate", rates, "B/s")


def _own(kernels: Sequence[Kernel]) -> Iterator[Column]:
    """Quantities of the user's own: means per launch, of a ratio over all launches."""
    for quantity in catalogue().own:
        values = [kernel[quantity.name] for kernel in kernels]
        if quantity.unit == "s":
            yield Column(quantity.name, quantity.name, "seconds", values)
        elif quantity.additive:
            yield Column(
                quantity.name, quantity.name, "rate", values, "" if quantity.unit == "count" else quantity.unit
            )
        else:
            yield Column(quantity.name, quantity.name, "rate", values, scale=(quantity.unit.replace("ratio", ""), 1.0))


def _bandwidth(result: Result, level: str) -> float | None:
    moved, seconds = result.transactions(level), result.kernel["counted_seconds"]
    return None if moved is None or not seconds else moved * SECTOR_BYTES / seconds
