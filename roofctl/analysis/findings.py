"""Verdict and advice of each kernel: what the analysis knows of it, handed to the room that judges in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roofctl.advice import advise, moves_constants, verdict
from roofctl.analysis.facts import Facts
from roofctl.analysis.flop import OPERATIONS
from roofctl.roofline import LEVEL_LABELS, LEVELS, WORK_LABELS, Roofline


@dataclass(frozen=True)
class Machine:
    """The GPU that kernels are judged against: both rooflines, and the time of an empty launch, where known."""

    instruction: Roofline
    flop: Roofline | None = None
    launch_seconds: float | None = None
    sm_count: int | None = None


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
    row["verdict"] = _flop_verdict(row) if "precision" in row else verdict(known)
    row["advice"] = [
        {"kind": finding.kind, "text": finding.text, "figures": dict(finding.figures)} for finding in advise(known)
    ]


def constant_moves(facts: Facts) -> bool:
    """Whether the FP16 instructions of a kernel are of the kind and number that compilers move constants with."""
    return moves_constants(facts.values)


def _flop_verdict(row: Mapping[str, Any]) -> str:
    work = row["precision"]
    if work is None:
        return "no floating-point work: see the instruction model"
    fraction = _of(row["flops_per_second"], row["attainable_flops_per_second"])
    if fraction is None or row["bound"] is None:
        lacking = [LEVEL_LABELS[level] for level in LEVELS if row[f"{level}_of_roof"] is None and row[f"{level}_bytes"]]
        reason = f"no ceiling or traffic for {', '.join(lacking)}" if lacking else "not every level was counted"
        share = "" if row["of_peak"] is None else f"; {row['of_peak']:.0%} of the {WORK_LABELS[work]} peak"
        return f"what binds is unknown: {reason}{share}"
    binding = LEVEL_LABELS[row["bound_level"]] if row["bound"] == "memory" else f"{WORK_LABELS[work]} arithmetic"
    headroom = f", {1 / fraction:.3g} times faster at the roof" if 0 < fraction < 1 else ""
    return f"{fraction:.0%} of the roof of {binding}{headroom}"


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
