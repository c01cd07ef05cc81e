"""From a kernel to the times that bound it: work over peak, bytes over bandwidth, and the launch.

``roofctl.roofline.time_based`` describes the model (after arXiv 2009.04598). Quantities are means per
launch. A mean of maxima is never below the maximum of means, so the bound also holds for launches that differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from roofctl.core.units import SECTOR_BYTES, WARP_THREADS
from roofctl.quantities import Chip
from roofctl.roofline.flop import IN_SETS, OPERATIONS, moves_constants
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.limit_words import label
from roofctl.roofline.limits import KernelLimit
from roofctl.roofline.model import ISSUE, WORK_LABELS, Clock, Roofline
from roofctl.roofline.time_based import COMPUTE, MEASURED, Timing
from roofctl.roofline.traffic import traffic_of


def timings(
    kernels: Sequence[Kernel],
    roofline: Roofline,
    chip: Chip | None = None,
    launch_seconds: float | None = None,
    clocks: Mapping[tuple[str, ...], Clock] | None = None,
    limits: Sequence[KernelLimit] = (),
) -> tuple[Timing, ...]:
    """One entry per kernel and capture, in the order given.

    Compute time in the instruction model is issued warp instructions / issue peak. In the FLOP model it is the
    largest of operations / peak over the types of operation, as pipes of different types run side by side.
    ``launch_seconds``: the least time between two launches on this GPU; None where it was not measured.
    ``clocks``: SM clocks of captures, by their sources, that ran at another one than the roofline's.
    ``limits``: what limits each kernel, in the same order.
    """
    several = len({kernel.sources for kernel in kernels}) > 1
    at = {sources: roofline.at_clock(clock) for sources, clock in (clocks or {}).items()}
    made = tuple(
        _timing(
            kernel,
            at.get(kernel.sources, roofline),
            chip,
            launch_seconds,
            note=kernel.files if several else "",
        )
        for kernel in kernels
    )
    if not limits:
        return made
    return tuple(
        replace(timing, limit=limit.name, limit_use=limit.use, limit_label=label(limit, kernel))
        for timing, kernel, limit in zip(made, kernels, limits, strict=True)
    )


def _timing(kernel: Kernel, roofline: Roofline, chip: Chip | None, launch_seconds: float | None, note: str) -> Timing:
    compute = _instructions(kernel, roofline) if roofline.model == "instruction" else _operations(kernel, roofline)
    levels, missing, caveats = _levels(kernel, roofline, chip)
    if compute.missing:
        missing[COMPUTE] = compute.missing
    if compute.caveat:
        caveats[COMPUTE] = compute.caveat
    if not kernel["seconds"]:
        missing[MEASURED] = "the time is 0" if kernel["seconds"] == 0 else kernel.reason("seconds")
    elif caveat := kernel.caveats.get("seconds"):
        caveats[MEASURED] = caveat
    return Timing(
        kernel=kernel.name,
        short_name=kernel.short_name,
        launches=kernel.launches,
        seconds=kernel["seconds"] or None,
        seconds_total=kernel["seconds_total"] or None,
        compute_seconds=compute.seconds,
        compute_work=compute.work,
        level_seconds=levels,
        launch_seconds=launch_seconds,
        time_share=kernel.time_share,
        missing=missing,
        caveats=caveats,
        source=kernel.source,
        memory_label=kernel.memory_label,
        note=note,
        incomplete=kernel.incomplete,
    )


def _levels(
    kernel: Kernel, roofline: Roofline, chip: Chip | None
) -> tuple[dict[str, float], dict[str, str], dict[str, str]]:
    """Seconds of the levels whose traffic and bandwidth are known; reasons for the others; what is not exact."""
    seconds: dict[str, float] = {}
    missing: dict[str, str] = {}
    caveats: dict[str, str] = {}
    for level, traffic in traffic_of(kernel, chip).items():
        bandwidth = roofline.bandwidth(level)
        if traffic.transactions is None:
            missing[level] = traffic.missing
        elif bandwidth is None:
            missing[level] = f"no ceiling: {roofline.absent.get(level, 'not known for this GPU')}"
        else:
            seconds[level] = traffic.transactions * SECTOR_BYTES / bandwidth.bytes_per_second
            if traffic.exactness:
                caveats[level] = traffic.exactness
    return seconds, missing, caveats


@dataclass(frozen=True)
class _Compute:
    """Seconds of compute per launch and the type of work that takes them, or why they are not known."""

    seconds: float | None
    work: str = ""
    missing: str = ""
    caveat: str = ""


def _instructions(kernel: Kernel, roofline: Roofline) -> _Compute:
    """Seconds to issue all warp instructions: each takes one issue slot, however many lanes are active."""
    issued, threads = kernel["issued_warp_instructions"], kernel["thread_instructions"]
    if roofline.peak is None:
        return _Compute(None, missing=f"no ceiling: {roofline.absent.get(ISSUE, 'not known for this GPU')}")
    if issued is not None:
        return _Compute(issued / roofline.peak.per_second, ISSUE)
    if threads is not None:
        why = "lower bound: from thread instructions / 32, as issued warp instructions were not captured"
        return _Compute(threads / WARP_THREADS / roofline.peak.per_second, ISSUE, caveat=why)
    return _Compute(None, missing=f"no instruction count: {kernel.reason('issued_warp_instructions')}")


def _operations(kernel: Kernel, roofline: Roofline) -> _Compute:
    """The slowest type of operation among those that are counted and have a known peak."""
    used = {work: kernel[name] for work, name in OPERATIONS.items() if kernel[name]}
    if moves_constants(kernel):
        used.pop("fp16", None)
    peaks = {work: peak.per_second for work in used if (peak := roofline.peak_of(work))}
    seconds = {work: used[work] / peak for work, peak in peaks.items()}
    without = [WORK_LABELS[work] for work in used if work not in peaks]
    missing = [f"no {' and '.join(without)} peak is known"] if without else []
    missing += [f"{what} operations were not counted" for what in _uncounted(kernel)]
    if not seconds:
        return _Compute(None, missing="; ".join(missing)) if missing else _Compute(0.0)
    work = max(seconds, key=lambda work: seconds[work])
    inexact = [f"lower bound: {'; '.join(missing)}"] if missing else []
    if caveat := kernel.caveats.get(OPERATIONS[work]):
        inexact.append(caveat)
    return _Compute(seconds[work], work, caveat="; ".join(inexact))


def _uncounted(kernel: Kernel) -> list[str]:
    """Kinds of operation that may have been done without being counted.

    A chip has each type that the set ``flop`` counts, but not each tensor type: one that is counted will do.
    """
    counted = {work for work, name in OPERATIONS.items() if kernel[name] is not None}
    plain = [] if counted.issuperset(IN_SETS["flop"]) else ["floating-point"]
    return plain if counted.intersection(IN_SETS["tensor"]) else [*plain, "tensor"]
