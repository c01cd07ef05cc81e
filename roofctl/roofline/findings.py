"""Verdict and advice of each kernel: what the analysis knows of it, handed to the room that judges in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from roofctl.advice import advise, moves_constants, near_roof, verdict
from roofctl.core.units import percent
from roofctl.roofline.flop import OPERATIONS
from roofctl.roofline.kernel import Facts
from roofctl.roofline.model import LEVEL_LABELS, LEVELS, WORK_LABELS, Clock, Roofline


@dataclass(frozen=True)
class Machine:
    """The GPU that kernels are judged against: both rooflines, and the time of an empty launch, where known.

    ``clocks`` are the SM clocks of captures (by their sources) that ran at another one than the rooflines'.
    """

    instruction: Roofline
    flop: Roofline | None = None
    launch_seconds: float | None = None
    sm_count: int | None = None
    clocks: Mapping[tuple[str, ...], Clock] = field(default_factory=dict)

    def at_clock_of(self, sources: tuple[str, ...]) -> Machine:
        """The machine at the clock of one capture."""
        clock = self.clocks.get(sources)
        if clock is None:
            return self
        flop = self.flop.at_clock(clock) if self.flop else None
        return replace(self, instruction=self.instruction.at_clock(clock), flop=flop)


def known_of(facts: Facts, row: Mapping[str, Any] | None, machine: Machine | None) -> dict[str, Any]:
    """Everything known of a kernel by name, SI units; ``row`` is its judged row of the instruction model."""
    known: dict[str, Any] = {**facts.values, **(row or {})}
    known.update(
        kernel=facts.kernel,
        short_name=facts.short_name,
        grid=_shape(facts.grid),
        block=_shape(facts.block),
        caveats=facts.caveats,
        sm_count=facts["sm_count"] or (machine.sm_count if machine else None),
        launch_seconds=machine.launch_seconds if machine else None,
    )
    if machine is None or row is None:
        return known
    level = row["bound_level"]
    known["peak_gips"] = machine.instruction.peak.per_second / 1e9
    known["of_roof"] = row[f"{level}_of_roof"] if level else _of(row["gips"], row["attainable_gips"])
    known["of_flop_peak"] = _of_peaks(facts, machine.flop)
    return known


def fill(row: dict[str, Any], known: Mapping[str, Any]) -> None:
    """Put verdict and advice into a row of either model."""
    row["verdict"] = _flop_verdict(row, known) if "precision" in row else verdict(known)
    row["advice"] = [
        {"kind": finding.kind, "text": finding.text, "figures": dict(finding.figures)} for finding in advise(known)
    ]


def constant_moves(facts: Facts) -> bool:
    """Whether the FP16 instructions of a kernel are of the kind and number that compilers move constants with."""
    return moves_constants(facts.values)


def _flop_verdict(row: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    if row["precision"] is None:
        return str(row["verdict"])
    work = WORK_LABELS[row["precision"]]
    without = (
        (row["flops_per_second"] is None, "no time was captured"),
        ("peak_gips" not in known, "there are no ceilings to compare with"),
        (row["of_peak"] is None, f"there is no {work} ceiling"),
    )
    if reason := next((text for is_so, text in without if is_so), ""):
        return f"unknown: {reason}"
    fraction = _of(row["flops_per_second"], row["attainable_flops_per_second"])
    if fraction is not None and row["bound"] is not None:
        binding = LEVEL_LABELS[row["bound_level"]] if row["bound"] == "memory" else f"{work} arithmetic"
        return f"{percent(fraction)} of the roof of {binding}, {_factor(fraction)}"
    lacking = [
        LEVEL_LABELS[level] for level in LEVELS if row[f"{level}_of_roof"] is None and row[f"{level}_bytes"] != 0
    ]
    share = f"{percent(row['of_peak'])} of the {work} peak"
    if row["of_peak"] >= near_roof():
        return f"bound by {work} arithmetic: {share}, {_factor(row['of_peak'])} (not known: {', '.join(lacking)})"
    return f"unknown: {', '.join(lacking)} could bind, and has no traffic or no ceiling; {share}"


def _factor(fraction: float) -> str:
    """What is left up to a roof."""
    return f"{1 / fraction:.3g} times faster at the roof" if 0 < fraction < 1 else "nothing is left there"


def _of_peaks(facts: Facts, roofline: Roofline | None) -> dict[str, float]:
    """Fraction of each type's peak that the kernel reaches, of the types with operations and a known peak."""
    seconds, found = facts["seconds"], {}
    for work, quantity in OPERATIONS.items() if roofline and seconds else ():
        peak = roofline.peak_of(work) if roofline else None
        # FP16 that moves constants is no work.
        if peak and facts[quantity] and not (work == "fp16" and constant_moves(facts)):
            found[work] = facts[quantity] / seconds / peak.per_second
    return found


def _of(value: float | None, whole: float | None) -> float | None:
    return value / whole if value is not None and whole else None


def _shape(given: Any) -> tuple[int, ...] | None:
    """``(64, 1, 1)`` as numbers, whether the profiler gave text or numbers."""
    numbers = re.findall(r"\d+", str(given)) if given is not None else []
    return tuple(map(int, numbers)) or None
