"""The instruction roofline: warp instructions per 32-byte transaction, one result per kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from roofctl.core.units import WARP_THREADS
from roofctl.quantities import Chip
from roofctl.roofline import spread
from roofctl.roofline.kernel import Kernel, rounded_count
from roofctl.roofline.missing import Reasons, is_derived
from roofctl.roofline.model import ISSUE, KernelPoints, Roofline
from roofctl.roofline.result import Result, points_of
from roofctl.roofline.traffic import Traffic, missing_levels, note_levels, note_time, traffic_of

_MOST_LANES: Final = 1.02
"""A thread efficiency above this cannot be: the counters are not of the same launches.

Passes of kernels that spin differ by less."""

Instructions = Literal["thread", "issued"]

_GIGA: Final = 1e9


@dataclass(frozen=True, kw_only=True)
class InstructionResult(Result):
    """``amount`` is in warp instructions: thread instructions / 32, or issued ones where these are wanted.

    ``gips`` are those per nanosecond, ``issued_gips`` the issued ones, ``issued_of_peak`` their fraction of the peak.
    ``thread_efficiency`` is thread instructions / 32 per issued warp instruction, ``lost_fraction`` what is missing
    to 1; ``predicated_on_fraction`` the part of the thread instructions that are not predicated off.
    """

    gips: float | None
    issued_gips: float | None
    thread_efficiency: float | None
    lost_fraction: float | None
    predicated_on_fraction: float | None
    issued_of_peak: float | None = None

    def against(self, roofline: Roofline) -> InstructionResult:
        """This result compared with a roofline; the issue peak bounds what was issued."""
        if self.per_second is None or roofline.peak is None:
            return self
        issued = None if self.issued_gips is None else self.issued_gips * _GIGA / roofline.peak.per_second
        return replace(self, issued_of_peak=issued)


def result(
    kernel: Kernel, instructions: Instructions, chip: Chip | None, reasons: Reasons, *, note: str = ""
) -> InstructionResult:
    """The result of one kernel, not yet compared with a roofline; ``note`` is shown with its name in pictures."""
    threads, issued = _threads(kernel), kernel["issued_warp_instructions"]
    seconds, predicated_on = kernel["counted_seconds"], kernel["predicated_thread_instructions"]
    note_time(kernel, reasons)
    amount = _amount(kernel, instructions, reasons)
    gips = amount / seconds / _GIGA if amount is not None and seconds else None
    issued_gips = issued / seconds / _GIGA if issued and seconds else None
    # Passes differ a little, and means per launch that are not integers leave rounding errors.
    efficiency = min(1.0, threads / (WARP_THREADS * issued)) if issued and threads is not None else None
    lost = None if efficiency is None else 1 - efficiency
    on = predicated_on / threads if threads and predicated_on is not None else None
    if on is not None and on > _MOST_LANES:
        reasons.add("more thread instructions with the predicate on than there are: left out", kernel.short_name)
        on = None
    traffic = traffic_of(kernel, chip)
    note_levels(kernel, traffic, reasons)
    return InstructionResult(
        kernel=kernel,
        amount=amount,
        per_second=None if gips is None else gips * _GIGA,
        traffic=traffic,
        points=_points(kernel, amount, (gips or 0.0) * _GIGA, issued_gips, traffic, instructions, note),
        gips=gips,
        issued_gips=issued_gips,
        thread_efficiency=efficiency,
        lost_fraction=lost,
        predicated_on_fraction=None if on is None else min(1.0, on),
    )


def _amount(kernel: Kernel, instructions: Instructions, reasons: Reasons) -> int | float | None:
    """Warp instructions by the wanted count or, with a note, the other one."""
    short = kernel.short_name
    threads, issued = _threads(kernel), kernel["issued_warp_instructions"]
    by_thread = None if threads is None else rounded_count(_per_warp(threads))
    wanted, other = (by_thread, issued) if instructions == "thread" else (issued, by_thread)
    amount = wanted if wanted is not None else other
    if amount is None:
        reasons.add(f"no instruction count: {kernel.reason('thread_instructions')}", short)
    elif amount == 0:
        reasons.add("no point: 0 instructions were counted", short)
    elif kernel["thread_instructions"] is not None and threads is None:
        reasons.add(
            "more than 32 thread instructions per warp instruction: the counters do not belong together, so points use "
            "issued warp instructions",
            short,
        )
    elif wanted is None:
        used = "issued warp instructions" if instructions == "thread" else "thread instructions / 32 (a lower bound)"
        lacking = "thread" if instructions == "thread" else "issued warp"
        reasons.add(f"points use {used}: {lacking} instructions were not captured", short)
    elif other is None and instructions == "thread":
        text = "issued warp instructions were not captured: thread instructions / 32 is a lower bound of them"
        reasons.add(text, short)
    names = {"thread_instructions": "thread", "issued_warp_instructions": "issued warp"}
    for name, label in names.items():
        if caveat := kernel.caveats.get(name):
            reasons.add(f"{label} instructions: {caveat}" if is_derived(caveat) else caveat, short)
    return amount


def _threads(kernel: Kernel) -> float | None:
    """Thread instructions, None where they are more than the warp instructions can have."""
    threads, issued = kernel["thread_instructions"], kernel["issued_warp_instructions"]
    impossible = threads is not None and issued is not None and threads > _MOST_LANES * WARP_THREADS * issued
    return None if impossible else threads


def _per_warp(threads: float) -> int | float:
    return threads / WARP_THREADS if threads % WARP_THREADS else threads // WARP_THREADS


def _points(
    kernel: Kernel,
    amount: float | None,
    rate: float,
    issued_gips: float | None,
    traffic: Mapping[str, Traffic],
    instructions: Instructions,
    note: str,
) -> KernelPoints:
    names = ("thread_instructions", "issued_warp_instructions")
    wanted, other = names if instructions == "thread" else names[::-1]
    counted = (wanted if kernel[wanted] is not None and (wanted == names[1] or _threads(kernel)) else other,)
    reason = "" if rate else "no time" if amount else "no instruction count"
    ends, why = spread.rates(kernel, counted, rate)
    threads = _threads(kernel)
    return KernelPoints(
        kernel=kernel.name,
        short_name=kernel.short_name,
        points=points_of(kernel, traffic, amount=amount, rate=rate, counted=counted, model="instruction", work=ISSUE),
        seconds_total=kernel["seconds_total"],
        time_share=kernel.time_share,
        launches=kernel.launches,
        issued_per_second=None if issued_gips is None else issued_gips * _GIGA,
        threads_per_second=None
        if not kernel["counted_seconds"] or threads is None
        else threads / WARP_THREADS / kernel["counted_seconds"],
        missing=missing_levels(traffic, reason),
        note=note,
        rates=ends,
        no_spread=why,
    )
