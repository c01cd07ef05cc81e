"""The times that bound each kernel, as data: what ``report --times`` prints in every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from roofctl.core.levels import LEVELS
from roofctl.output.columns import Column, headings_and_rows, time_unit
from roofctl.output.markdown import code_span
from roofctl.output.report import head
from roofctl.roofline.model import all_levels
from roofctl.roofline.time_based import COMPUTE, LAUNCH, MEASURED, Timing, Total, total
from roofctl.study.analyse import Analysis

COLUMNS: Final = (
    *("kernel", "short_name", "launches", "seconds", "seconds_total", "time_share", "compute_seconds", "compute_work"),
    *(f"{level}_seconds" for level in LEVELS),
    *(
        "launch_seconds",
        "limit",
        "limit_use",
        "bound_seconds",
        "of_bound",
        "missing",
        "caveats",
        "source",
        "incomplete",
    ),
)
"""Names of a row, in order. Seconds are per launch but for ``seconds_total``; null where not known."""


def rows(timings: Sequence[Timing]) -> list[dict[str, Any]]:
    """One row per kernel by ``COLUMNS``; ``missing`` and ``caveats`` are texts per time."""
    return [
        {
            "kernel": timing.kernel,
            "short_name": timing.short_name,
            "launches": timing.launches,
            "seconds": timing.seconds,
            "seconds_total": timing.seconds_total,
            "time_share": timing.time_share,
            "compute_seconds": timing.compute_seconds,
            "compute_work": timing.compute_work or None,
            **{f"{level}_seconds": timing.level_seconds.get(level) for level in all_levels()},
            "launch_seconds": timing.launch_seconds,
            "limit": timing.limit,
            "limit_use": timing.limit_use,
            "bound_seconds": timing.bound_seconds,
            "of_bound": timing.of_bound,
            "missing": dict(timing.missing),
            "caveats": dict(timing.caveats),
            "source": timing.source,
            "incomplete": timing.incomplete or None,
        }
        for timing in timings
    ]


def document(analysis: Analysis, timings: Sequence[Timing], notes: Sequence[str]) -> dict[str, Any]:
    """The time table as JSON-ready data: the head of a report, a row per kernel, and the sums over all launches."""
    texts = [note.text for note in analysis.capture_notes if not note.detail]
    return {**head(analysis), "notes": [*texts, *notes], "kernels": rows(timings), "total": sums(total(timings))}


def sums(totals: Total) -> dict[str, Any]:
    """The total as a row. ``lacking`` counts, per time, the kernels that its sum leaves out."""
    return {
        "kernels": totals.kernels,
        "launches": totals.launches,
        "seconds_total": totals.seconds,
        "compute_seconds": totals.compute_seconds,
        "memory_seconds": totals.memory_seconds,
        **{f"{level}_seconds": totals.level_seconds[level] for level in all_levels()},
        "launch_seconds": totals.launch_seconds,
        "bound_seconds": totals.bound_seconds,
        "of_bound": totals.of_bound,
        "lacking": dict(totals.lacking),
    }


def csv_table(timings: Sequence[Timing]) -> tuple[Sequence[str], list[list[Any]]]:
    """``COLUMNS`` and a row per kernel for CSV. Without sums: whoever adds a column up would count them twice."""
    made = rows(timings)
    for row in made:
        for name in ("missing", "caveats"):
            row[name] = "; ".join(f"{key}: {why}" for key, why in row[name].items())
    own = [f"{level}_seconds" for level in all_levels() if level not in LEVELS]
    columns = (*COLUMNS, *own)
    return columns, [[row[name] for name in columns] for row in made]


def markdown_table(timings: Sequence[Timing]) -> tuple[list[str], list[list[str]]]:
    """The table for people with names in code spans."""
    headings, body = table(timings)
    return headings, [[number, code_span(name), *(cell.strip() for cell in rest)] for number, name, *rest in body]


def table(timings: Sequence[Timing]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells for people, times per launch in one unit; the last row is the total over all launches.

    ``#`` is the number that the kernel has in a picture of the same selection.
    """
    return headings_and_rows(list(_columns(timings, total(timings))))


def _columns(timings: Sequence[Timing], totals: Total) -> Iterator[Column]:
    scale = time_unit([timing.seconds for timing in timings])

    def times(name: str, heading: str, values: Sequence[float | None], summed: float | None) -> Column:
        # A sum that leaves kernels out is a lower bound.
        prefixes = [*("" for _ in timings), ">" if name in totals.lacking and summed is not None else ""]
        return Column(name, heading, "seconds", [*values, summed], scale=scale, prefixes=prefixes)

    yield Column("number", "#", "text", [*map(str, range(1, len(timings) + 1)), ""], right=True)
    yield Column("kernel", "kernel", "text", [*(_name(timing) for timing in timings), "total, all launches"])
    yield Column("launches", "launches", "count", [*(timing.launches for timing in timings), totals.launches])
    yield times(MEASURED, "time", [timing.seconds for timing in timings], totals.seconds)
    yield times(COMPUTE, "compute", [timing.compute_seconds for timing in timings], totals.compute_seconds)
    for level in all_levels():
        values = [timing.level_seconds.get(level) for timing in timings]
        yield times(level, timings[0].label(level), values, totals.level_seconds[level])
    yield times(LAUNCH, "launch", [timing.launch_seconds for timing in timings], totals.launch_seconds)
    yield Column("limit", "limit", "text", [*(timing.limit_label for timing in timings), ""])
    yield Column("use", "use", "percent", [*(timing.limit_use for timing in timings), None], unknown="")
    yield Column("bound", "bound/time", "percent", [*(timing.of_bound for timing in timings), totals.of_bound])


def _name(timing: Timing) -> str:
    return f"{timing.short_name} ({timing.note})" if timing.note else timing.short_name
