"""Compute ceilings of the FLOP roofline: a peak per type of operation, by arithmetic or as measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from roofctl.core.precisions import COUNTED, PRECISIONS
from roofctl.gpus.schema import GpuProfile, Measured, MeasuredCeiling
from roofctl.roofline.model import BOOST, Clock, Peak, Roofline

_SAME_RATE: Final = {"fp16_tc_fp16acc": "fp16_tc", "fp8_tc_fp16acc": "fp8_tc", "fp6_tc": "fp8_tc"}
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
    peaks: list[Peak] = []
    absent = {level: why for level, why in memory.absent.items() if level != "issue"}
    for precision in COUNTED:
        peak = _measured(precision, measured) if measured else _theoretical(profile, precision, clock)
        if peak:
            peaks.append(peak)
        else:
            how = "was not measured on this GPU" if measured else "is not known for this GPU"
            absent[precision] = f"the {PRECISIONS[precision].label} peak {how}"
    if not peaks:
        return None
    highest, *others = sorted(peaks, key=lambda peak: -peak.per_second)
    return replace(memory, peak=highest, others=tuple(others), absent=absent, model="flop")


def _theoretical(profile: GpuProfile, precision: str, clock: Clock | None) -> Peak | None:
    facts = profile.flops_per_clock_per_sm
    fact = facts.get(precision)
    if fact is None and not profile.description.startswith("NVIDIA GeForce"):
        # Data-centre boards add in FP16 and FP32 at one rate; FP6 runs at that of FP8.
        fact = facts.get(_SAME_RATE.get(precision, ""))
    if fact is None or fact.value is None:
        return None
    # Vendors state tensor peaks at a boost clock of their own.
    own = _boost(profile, precision) if clock is None or clock.origin == BOOST else clock
    if own is None:
        return None
    sms = profile.sm_count.value
    origin = f"{sms} SMs x {fact.value} at {own.hz / 1e9:.4g} GHz"
    return Peak(sms * fact.value * own.hz, "theoretical", own, origin, precision)


def _boost(profile: GpuProfile, precision: str) -> Clock | None:
    hz = profile.boost_hz(precision)
    return None if hz is None else Clock(hz, "sm", "tensor boost" if PRECISIONS[precision].at_tensor_clock else BOOST)


def _measured(precision: str, measured: Measured) -> Peak | None:
    ceiling: MeasuredCeiling | None = measured.ceilings.get(precision)
    if ceiling is None:
        return None
    clock = None if ceiling.sm_clock_hz is None else Clock(ceiling.sm_clock_hz, "sm", "while measured")
    # A sustained rate may be that of a clock held down by the power limit: then a higher clock does not raise it.
    free = max((c.sm_clock_hz or 0.0 for c in measured.ceilings.values()), default=0.0)
    limited = ceiling.method.startswith(_SUSTAINED) and (ceiling.sm_clock_hz or 0.0) < _HELD_DOWN * free
    return Peak(ceiling.value, "measured", clock, ceiling.method, precision, limited)
