"""The times that bound each kernel, as data: what ``report --times`` prints in every format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from roofctl.core.kernel_names import elide
from roofctl.core.levels import LEVELS
from roofctl.core.units import duration
from roofctl.output.report import head, or_unknown, percent, with_code_spans
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

_NAME_WIDTH: Final = 48


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
            **{f"{level}_seconds": timing.level_seconds.get(level) for level in LEVELS},
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
        **{f"{level}_seconds": totals.level_seconds[level] for level in LEVELS},
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
    return COLUMNS, [[row[name] for name in COLUMNS] for row in made]


def markdown_table(timings: Sequence[Timing]) -> tuple[list[str], list[list[str]]]:
    """The table for people with names in code spans."""
    return with_code_spans(*table(timings))


def headings(timings: Sequence[Timing]) -> list[str]:
    """Headings of the table for people; ``>`` before one aligns its column right."""
    levels = [f">{timings[0].label(level)}" for level in LEVELS]
    return [">#", "kernel", ">launches", ">time", ">compute", *levels, ">launch", "limit", ">use", ">bound/time"]


def table(timings: Sequence[Timing]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells for people, times per launch; the last row is the total over all launches.

    ``#`` is the number that the kernel has in a picture of the same selection.
    """
    body = [_cells(number, timing) for number, timing in enumerate(timings, 1)]
    return headings(timings), [*body, _total_cells(total(timings))]


def _cells(number: int, timing: Timing) -> list[str]:
    name = f"{timing.short_name} ({timing.note})" if timing.note else timing.short_name
    return [
        str(number),
        elide(name, _NAME_WIDTH),
        f"{timing.launches:,}",
        or_unknown(timing.seconds, duration),
        or_unknown(timing.compute_seconds, _time),
        *(or_unknown(timing.level_seconds.get(level), _time) for level in LEVELS),
        or_unknown(timing.launch_seconds, duration),
        timing.limit_label,
        or_unknown(timing.limit_use, percent),
        or_unknown(timing.of_bound, percent),
    ]


def _total_cells(totals: Total) -> list[str]:
    def cell(name: str, seconds: float | None) -> str:
        return or_unknown(seconds, lambda s: (">" if name in totals.lacking else "") + _time(s))

    return [
        "",
        "total, all launches",
        f"{totals.launches:,}",
        cell(MEASURED, totals.seconds),
        cell(COMPUTE, totals.compute_seconds),
        *(cell(level, totals.level_seconds[level]) for level in LEVELS),
        cell(LAUNCH, totals.launch_seconds),
        "",
        "",
        or_unknown(totals.of_bound, percent),
    ]


def _time(seconds: float) -> str:
    return duration(seconds) if seconds else "0"
