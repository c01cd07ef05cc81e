"""What the first lines of a page say: where the time goes, how much of it could be saved, and where to begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from roofctl.core.kernel_names import some
from roofctl.core.units import duration, percent
from roofctl.roofline.analyse import Explained, ModelResults
from roofctl.roofline.limit_words import label

ADVISED: Final = 5
"""Kernels that the page begins with: those that could save most time."""

_MOST: Final = 0.8
"""Part of the time whose kernels are counted: few of many, or many."""


def verdict(results: ModelResults) -> dict[str, Any]:
    """Sentences on all kernels, their time by limit, and the rows to begin with.

    ``limits`` are entries of label, limit, seconds and number of kernels, the longest first; ``rows`` are indices into
    the results. Times are those of all launches.
    """
    indices = _one_row_each(results)
    kernels = [results.explained[index] for index in indices]
    rows = sorted(indices, key=lambda index: -(results.explained[index].limit.headroom_seconds or 0.0))
    return {
        "time": _time(kernels),
        "headroom": _headroom(kernels),
        "seconds": _total(kernels),
        "limits": _by_limit(kernels),
        "rows": [row for row in rows if results.explained[row].limit.headroom_seconds][:ADVISED],
    }


def _one_row_each(results: ModelResults) -> list[int]:
    """The first row of each kernel: in the FLOP model a kernel has one per type of operation."""
    first: dict[int, int] = {}
    for index, each in enumerate(results.explained):
        first.setdefault(each.result.points.number, index)
    return list(first.values())


def _seconds(each: Explained) -> float | None:
    value: float | None = each.result.kernel["seconds_total"]
    return value


def _total(kernels: Sequence[Explained]) -> float | None:
    """Time of the kernels; None where none has one."""
    known = [seconds for each in kernels if (seconds := _seconds(each)) is not None]
    return sum(known) if known else None


def _time(kernels: Sequence[Explained]) -> str:
    total = _total(kernels)
    launches = sum(each.result.kernel.launches for each in kernels)
    counts = f"{_count(launches, 'launch', 'launches')} of {_count(len(kernels), 'kernel', 'kernels')}"
    if not total:
        return f"{counts}; no time was captured"
    text = f"{duration(total)} in {counts}"
    shares = [each.result.kernel.time_share for each in kernels if each.result.kernel.time_share is not None]
    if shares and sum(shares) < 1 - 1e-9:
        text += f", {percent(sum(shares))} of the kernel time of the capture"
    ordered = sorted((seconds for each in kernels if (seconds := _seconds(each)) is not None), reverse=True)
    needed, reached = 0, 0.0
    while reached < _MOST * total:
        reached += ordered[needed]
        needed += 1
    if len(kernels) > 1:
        text += f". {_count(needed, 'kernel takes', 'kernels take')} {percent(reached / total)} of it"
    return f"{text}."


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _headroom(kernels: Sequence[Explained]) -> str:
    """Time above the longest known bounds, as a sentence that says how sure it is."""
    known = [(each, each.limit.headroom_seconds) for each in kernels if each.limit.headroom_seconds is not None]
    total = _total(kernels)
    if not known or not total:
        return "How much could be saved is not known: no kernel has a known bound."
    saved = sum(seconds for _, seconds in known)
    upper = [each for each, _ in known if not each.limit.counted]
    text = f"{'Less than' if upper else 'At most'} {duration(saved)} ({percent(saved / total)}) could be saved"
    text += ": the time above the longest known bound of each kernel"
    if upper:
        text += f". Not every level and pipe was counted in {_named(upper, len(kernels))}, so it may be much less"
    unknown = [each for each in kernels if each.limit.headroom_seconds is None]
    if unknown:
        text += f". It is not known for {_named(unknown, len(kernels))}"
    return f"{text}."


def _named(kernels: Sequence[Explained], of: int) -> str:
    """Kernels by name, or by number where they are many."""
    if len(kernels) == of:
        return "any kernel"
    names = [each.result.kernel.short_name for each in kernels]
    return some(names, 3) if len(names) <= 3 else f"{len(names):,} kernels"  # noqa: PLR2004 - more are not read


def _by_limit(kernels: Sequence[Explained]) -> list[dict[str, Any]]:
    """Time and number of kernels by what limits them, the longest first."""
    sums: dict[str, dict[str, Any]] = {}
    for each in kernels:
        name = label(each.limit, each.result.kernel)
        entry = sums.setdefault(name, {"label": name, "limit": each.limit.name, "seconds": 0.0, "kernels": 0})
        entry["seconds"] += _seconds(each) or 0.0
        entry["kernels"] += 1
    return sorted(sums.values(), key=lambda entry: -entry["seconds"])
