"""A calibration as text for people: table cells, lines about board memory, mixes and notes, and the history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from roofctl.core.units import prefixed, rate
from roofctl.gpus import GpuProfile
from roofctl.microbench.outcomes import Absent, Ceiling, Outcome
from roofctl.microbench.results import Run
from roofctl.microbench.store import Change

COLUMNS: Final = ("ceiling", ">measured", ">theoretical", ">factor", ">best", ">spread", ">SM clock", "~how")


def heading(run: Run) -> str:
    """What is measured, with what, and for which GPU profile."""
    return (
        f"GPU {run.facts.index}: {run.facts.name}, driver {run.facts.driver_version or 'unknown'}, "
        f"CUDA {run.facts.cuda_version}, nvcc {run.nvcc} for {run.arch}; "
        f"GPU profile {run.found.profile.name} ({run.found.how})"
    )


def label(profile: GpuProfile, ceiling: str) -> str:
    """A ceiling's name as it is printed: the board's memory by its kind."""
    return profile.memory_label if ceiling == "hbm" else ceiling


def cells(outcome: Outcome, profile: GpuProfile) -> list[str]:
    """One line under ``COLUMNS``; empty for a sweep. ``!``: a note gives a reason to doubt the ceiling."""
    if isinstance(outcome, Absent):
        return [outcome.name, "", "", "", "", "", "", outcome.reason]
    if not isinstance(outcome, Ceiling):
        return []
    result, limit = outcome.sampled.result, outcome.theoretical
    doubtful = "!" if outcome.sampled.reservations or outcome.warnings else ""
    factor = doubtful if outcome.factor is None else f"{outcome.factor:.3f}{doubtful}"
    clock = "" if outcome.sm_clock_hz is None else f"{outcome.sm_clock_hz / 1e6:.0f} MHz"
    # A launch is a time: nothing gives a theoretical one.
    theory = _rate(outcome, limit.value) if limit else "none" if outcome.unit == "s" else "unknown"
    return [
        label(profile, outcome.name), _rate(outcome, outcome.value), theory, factor, _rate(outcome, result.best),
        f"{result.spread:.1%}", clock, outcome.method,
    ]  # fmt: skip


def rows(run: Run) -> list[list[str]]:
    """The table's lines of all that was measured."""
    return [line for outcome in run.outcomes if (line := cells(outcome, run.found.profile))]


def lines(run: Run) -> Iterator[str]:
    """The lines below the table: board memory in full, every mix, every note."""
    profile = run.found.profile
    yield from _memory_lines(run)
    for ceiling in run.ceilings:
        if len(ceiling.mixes) > 1:
            mixes = "  ".join(f"{mix} {_rate(ceiling, s.result.median)}" for mix, s in ceiling.mixes.items())
            yield f"{label(profile, ceiling.name)}: {mixes}"
    for ceiling in run.ceilings:
        for mix, sampled in ceiling.mixes.items():
            name = label(profile, ceiling.name) + (f" {mix}" if len(ceiling.mixes) > 1 else "")
            warnings = ceiling.warnings if mix == ceiling.chosen else ()
            yield from (f"! {name}: {reason}" for reason in (*sampled.reservations, *warnings))


def _memory_lines(run: Run) -> Iterator[str]:
    memory = next((ceiling for ceiling in run.ceilings if ceiling.name == "hbm"), None)
    if memory is None or memory.theoretical is None or memory.factor is None:
        return
    printed = run.found.profile.memory.datasheet_bytes_per_second.value
    beside = f"; data sheet {prefixed(printed, 'B/s')}, ratio {memory.value / printed:.3f}" if printed else ""
    yield f"\nMeasured peak: {memory.value / 1e9:.1f} GB/s ({memory.chosen})"
    yield f"Theoretical:   {memory.theoretical.value / 1e9:.1f} GB/s ({memory.theoretical.origin}{beside})"
    yield f"Calibration:   {memory.factor:.4f}"


def change_lines(changes: Sequence[Change], profile: GpuProfile) -> Iterator[str]:
    """One line for each ceiling: by how much it differs from the earlier result."""
    for change in changes:
        if change.relative is None:
            difference = "new" if change.before is None else "no longer measured"
        else:
            difference = f"{change.relative:+.2%}"
        yield f"  {label(profile, change.name)}: {difference}"


def history_table(results: Sequence[Mapping[str, Any]], profile: GpuProfile) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of ``store.history_rows``: one row per calibration, one column per ceiling."""
    names = list(dict.fromkeys(name for result in results for name in result["ceilings"]))
    columns = ["measured at", "driver", *(f">{label(profile, name)}" for name in names)]
    return columns, [_history_cells(result, names) for result in results]


def _history_cells(result: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    when = result["measured_at"] + (" quick" if result["quick"] else "")
    values, units = result["ceilings"], result["units"]
    return [when, result["driver"] or "", *(rate(n, values[n], units[n]) if n in values else "" for n in names)]


def _rate(ceiling: Ceiling, value: float) -> str:
    return rate(ceiling.name, value, ceiling.unit)
