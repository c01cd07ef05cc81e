"""What the rules of ``roofctl.advice`` know of a kernel: its quantities, and how it compares with the rooflines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from roofctl import advice
from roofctl.core.levels import LEVELS
from roofctl.core.units import percent
from roofctl.roofline.flop import OPERATIONS, FlopResult
from roofctl.roofline.instruction import InstructionResult
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.model import WORK_LABELS, Clock, Roofline


@dataclass(frozen=True)
class Machine:
    """The GPU that kernels are compared with: both rooflines, and the time of an empty launch, where known.

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


def evidence(result: InstructionResult, machine: Machine | None) -> dict[str, Any]:
    """Numbers of a kernel by name, SI units, from its result in the instruction model; None where not known."""
    kernel, bound = result.kernel, result.bound
    known: dict[str, Any] = {
        **kernel.values,
        **{f"{level}_transactions": result.transactions(level) for level in LEVELS},
        **{f"{level}_of_roof": result.of_roof(level) for level in LEVELS},
        "gips": result.gips,
        "attainable_gips": result.attainable_gips,
        "issued_gips": result.issued_gips,
        "bound": bound.bound if bound else None,
        "bound_level": bound.level if bound else None,
        "kernel": kernel.name,
        "short_name": kernel.short_name,
        "memory_label": kernel.memory_label,
        "grid": _shape(kernel.grid),
        "block": _shape(kernel.block),
        "caveats": kernel.caveats,
        "sm_count": kernel["sm_count"] or (machine.sm_count if machine else None),
        "launch_seconds": machine.launch_seconds if machine else None,
    }
    if machine is None:
        return known
    known["peak_gips"] = machine.instruction.peak.per_second / 1e9
    level = bound.level if bound else None
    known["of_roof"] = result.of_roof(level) if level else _ratio(result.gips, result.attainable_gips)
    known["of_flop_peak"] = _of_peaks(kernel, machine.flop)
    return known


def moves_constants(kernel: Kernel) -> bool:
    """Whether the FP16 instructions of a kernel are of the kind and number that compilers move constants with."""
    return advice.moves_constants(kernel.values)


def flop_verdict(result: FlopResult, *, ceilings: bool) -> str:
    """One sentence on a type of operation: what bounds it and how near; ``ceilings``: whether any are known."""
    if result.work is None:
        return result.none
    kernel, work = result.kernel, WORK_LABELS[result.work]
    without = (
        (result.per_second is None, "no time was captured"),
        (not ceilings, "there are no ceilings to compare with"),
        (result.of_peak is None, f"there is no {work} ceiling"),
    )
    if reason := next((text for is_so, text in without if is_so), ""):
        return f"unknown: {reason}"
    bound, of_peak = result.bound, result.of_peak or 0.0
    fraction = _ratio(result.per_second, bound.attainable if bound else None)
    if bound is not None and fraction is not None:
        binding = kernel.label(bound.level) if bound.bound == "memory" and bound.level else f"{work} arithmetic"
        return f"{percent(fraction)} of the roof of {binding}, {_factor(fraction)}"
    lacking = [kernel.label(lv) for lv in LEVELS if result.of_roof(lv) is None and result.transactions(lv) != 0]
    share = f"{percent(of_peak)} of the {work} peak"
    if of_peak >= advice.near_roof():
        return f"bound by {work} arithmetic: {share}, {_factor(of_peak)} (not known: {', '.join(lacking)})"
    return f"unknown: {', '.join(lacking)} could bind, and has no traffic or no ceiling; {share}"


def _factor(fraction: float) -> str:
    """What is left up to a roof."""
    return f"{1 / fraction:.3g} times faster at the roof" if 0 < fraction < 1 else "nothing is left there"


def _of_peaks(kernel: Kernel, roofline: Roofline | None) -> dict[str, float]:
    """Fraction of each type's peak that the kernel reaches, of the types with operations and a known peak."""
    seconds, fractions = kernel["seconds"], {}
    for work, quantity in OPERATIONS.items() if roofline and seconds else ():
        peak = roofline.peak_of(work) if roofline else None
        # FP16 that moves constants is no work.
        if peak and kernel[quantity] and not (work == "fp16" and moves_constants(kernel)):
            fractions[work] = kernel[quantity] / seconds / peak.per_second
    return fractions


def _ratio(value: float | None, of: float | None) -> float | None:
    return value / of if value is not None and of else None


def _shape(text: str | None) -> tuple[int, ...] | None:
    """``(64, 1, 1)`` as numbers."""
    return tuple(map(int, re.findall(r"\d+", text or ""))) or None
