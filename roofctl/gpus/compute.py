"""Compute ceilings of the FLOP roofline: a peak per type of operation, by arithmetic or as measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from roofctl.gpus.schema import GpuProfile, Measured, MeasuredCeiling, Precision
from roofctl.roofline.model import BOOST, WORK_LABELS, Clock, Peak, Roofline

PRECISIONS: Final[tuple[Precision, ...]] = (
    *("fp64", "fp32", "fp16"),
    *("fp64_tc", "tf32_tc", "bf16_tc", "fp16_tc", "fp8_tc", "int8_tc"),
)
"""Types of operation that a FLOP roofline has a peak for."""

_SUSTAINED: Final = "sustained"
_HELD_DOWN: Final = 0.97
"""A clock below this part of the highest one in the same calibration was held down."""


def flop_roofline(
    profile: GpuProfile, memory: Roofline, measured: Measured | None, clock: Clock | None
) -> Roofline | None:
    """The FLOP roofline over the bandwidths of ``memory``, an instruction roofline of the same basis.

    Theoretical peaks are SMs x operations per clock x clock: ``clock``, or where None the boost clock that
    the vendor states for that type. With ``measured`` the peaks are the measured ones, at the clock they ran at.
    None when no peak at all is known.
    """
    found: list[Peak] = []
    absent = {level: why for level, why in memory.absent.items() if level != "issue"}
    for precision in PRECISIONS:
        peak = _measured(precision, measured) if measured else _theoretical(profile, precision, clock)
        if peak:
            found.append(peak)
        else:
            how = "was not measured on this GPU" if measured else "is not known for this GPU"
            absent[precision] = f"the {WORK_LABELS[precision]} peak {how}"
    if not found:
        return None
    highest, *others = sorted(found, key=lambda peak: -peak.per_second)
    return replace(memory, peak=highest, others=tuple(others), absent=absent, model="flop")


def _theoretical(profile: GpuProfile, precision: Precision, clock: Clock | None) -> Peak | None:
    fact = profile.flops_per_clock_per_sm.get(precision)
    if fact is None or fact.value is None:
        return None
    # Vendors state tensor peaks at a boost clock of their own.
    own = _boost(profile, precision) if clock is None or clock.origin == BOOST else clock
    if own is None:
        return None
    sms = profile.sm_count.value
    origin = f"{sms} SMs x {fact.value} at {own.hz / 1e9:.4g} GHz"
    return Peak(sms * fact.value * own.hz, "theoretical", own, origin, precision)


def _boost(profile: GpuProfile, precision: Precision) -> Clock | None:
    tensor = precision.endswith("_tc") and precision != "fp64_tc"
    hz = profile.clocks.tensor_boost_hz.value if tensor else profile.clocks.sm_boost_hz.value
    return None if hz is None else Clock(hz, "sm", "tensor boost" if tensor else BOOST)


def _measured(precision: str, measured: Measured) -> Peak | None:
    ceiling: MeasuredCeiling | None = measured.ceilings.get(precision)
    if ceiling is None:
        return None
    clock = None if ceiling.sm_clock_hz is None else Clock(ceiling.sm_clock_hz, "sm", "while measured")
    # A sustained rate may be that of a clock held down by the power limit: then a higher clock does not raise it.
    free = max((c.sm_clock_hz or 0.0 for c in measured.ceilings.values()), default=0.0)
    limited = ceiling.method.startswith(_SUSTAINED) and (ceiling.sm_clock_hz or 0.0) < _HELD_DOWN * free
    return Peak(ceiling.value, "measured", clock, ceiling.method, precision, limited)
