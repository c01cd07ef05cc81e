"""What the rules of ``roofctl.advice`` know of a kernel: its quantities, its limit, and how near its peaks it is."""

from __future__ import annotations

import re
from typing import Any

from roofctl.core.kernel_names import base_name
from roofctl.core.levels import LEVELS
from roofctl.roofline.flop import operations_of
from roofctl.roofline.instruction import InstructionResult
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.limits import KernelLimit
from roofctl.roofline.machine import Machine
from roofctl.roofline.model import Roofline


def evidence(result: InstructionResult, limit: KernelLimit, machine: Machine | None) -> dict[str, Any]:
    """Numbers of a kernel by name, SI units, from its result in the instruction model; None where not known."""
    kernel = result.kernel
    return {
        **kernel.values,
        **{f"{level}_transactions": result.transactions(level) for level in LEVELS},
        "limit": limit.name,
        "limit_use": limit.use,
        "uses": {name: use.fraction for name, use in limit.uses.items()},
        "stalls": dict(limit.stalls),
        "limiter": limit.size.limiter,
        "blocks": limit.size.blocks,
        "headroom_seconds": limit.headroom_seconds,
        "kernel": kernel.name,
        "function": base_name(kernel.name),
        "launches": kernel.launches,
        "memory_label": kernel.memory_label,
        "block": _shape(kernel.block),
        "caveats": kernel.caveats,
        "sm_count": limit.size.sm_count,
        "l2_bytes": machine.l2_bytes if machine else None,
        "launch_seconds": machine.launch_seconds if machine else None,
        "of_flop_peak": _of_peaks(kernel, machine.flop if machine else None),
    }


def _of_peaks(kernel: Kernel, roofline: Roofline | None) -> dict[str, float]:
    """Fraction of each type's peak that the kernel reaches, of the types with operations and a known peak."""
    seconds = kernel["counted_seconds"]
    if not roofline or not seconds:
        return {}
    peaks = {work: peak.per_second for work in operations_of(kernel) if (peak := roofline.peak_of(work))}
    return {work: operations_of(kernel)[work] / seconds / peak for work, peak in peaks.items()}


def _shape(text: str | None) -> tuple[int, ...] | None:
    """``(64, 1, 1)`` as numbers."""
    return tuple(map(int, re.findall(r"\d+", text or ""))) or None
