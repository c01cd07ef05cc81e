"""Compute ceilings of the FLOP roofline: a peak per type of operation, by arithmetic or as measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from roofctl.core.precisions import CHOOSABLE, PRECISIONS
from roofctl.gpus.ceilings import of_report, trusted
from roofctl.gpus.schema import Fact, GpuProfile, Measured, MeasuredCeiling
from roofctl.quantities import catalogue
from roofctl.roofline.model import BOOST, CALIBRATE, Clock, Peak, Roofline, Sustained

_SUSTAINED: Final = "sustained"
_BURST: Final = "issue"
_HELD_DOWN: Final = 0.97
"""A clock below this part of the highest one in the same calibration was held down."""


def flop_roofline(
    profile: GpuProfile, memory: Roofline, measured: Measured | None, clock: Clock | None
) -> Roofline | None:
    """The FLOP roofline over the bandwidths of ``memory``, an instruction roofline of the same basis.

    Theoretical peaks are SMs x operations per clock x clock: ``clock``, or where None the boost clock that
    the vendor states for that type. With ``measured`` the peaks are the measured ones, at the clock they ran at, and
    theoretical for types that no calibration measures. None when no peak at all is known.
    """
    peaks: list[Peak] = []
    absent = {level: why for level, why in memory.absent.items() if level != "issue"}
    for precision in CHOOSABLE:
        peak = _measured(profile, precision, measured) if measured else _theoretical(profile, precision, clock)
        if peak:
            peaks.append(peak)
        elif not PRECISIONS[precision].tensor or _exists(profile, precision):
            how = "was not measured on this GPU" if measured else "is not known for this GPU"
            absent[precision] = f"the {PRECISIONS[precision].label} peak {how}"
    if not peaks:
        return None
    highest, *others = sorted(peaks, key=lambda peak: -peak.per_second)
    return replace(memory, peak=highest, others=tuple(others), absent=absent, model="flop")


def per_clock(profile: GpuProfile, precision: str) -> int | None:
    """Operations of a type per SM and clock: as the profile states it, else from the type that it is ``like``."""
    fact = profile.flops_per_clock_per_sm.get(precision)
    if fact is not None:
        return fact.value
    like = PRECISIONS[precision].like
    rate = per_clock(profile, like) if like and _exists(profile, precision) else None
    return None if rate is None else PRECISIONS[precision].times * rate


def rate_fact(profile: GpuProfile, precision: str) -> Fact[int] | None:
    """The fact behind ``per_clock``: of the type itself, else of the one that it is ``like``."""
    like = PRECISIONS[precision].like
    return profile.flops_per_clock_per_sm.get(precision) or (rate_fact(profile, like) if like else None)


def _exists(profile: GpuProfile, precision: str) -> bool:
    """Whether the chip counts the type: it has what it counts."""
    recipes = catalogue().quantities[CHOOSABLE[precision]].recipes
    return any(recipe.profiler == "ncu" and catalogue().available(recipe, profile.chip) for recipe in recipes)


def _theoretical(profile: GpuProfile, precision: str, clock: Clock | None) -> Peak | None:
    rate = per_clock(profile, precision)
    if rate is None:
        return None
    # Vendors state tensor peaks at a boost clock of their own.
    own = _boost(profile, precision) if clock is None or clock.origin == BOOST else clock
    if own is None:
        return None
    sms = profile.sm_count.value
    fact = rate_fact(profile, precision)
    origin = f"{sms} SMs x {rate} at {own.hz / 1e9:.4g} GHz{of_report(fact)}"
    return Peak(sms * rate * own.hz, "theoretical", own, origin, precision, source=trusted(profile.sm_count, fact))


def _boost(profile: GpuProfile, precision: str) -> Clock | None:
    hz = profile.boost_hz(precision)
    return None if hz is None else Clock(hz, "sm", "tensor boost" if PRECISIONS[precision].at_tensor_clock else BOOST)


def _measured(profile: GpuProfile, precision: str, measured: Measured) -> Peak | None:
    ceiling = measured.ceilings.get(precision)
    if ceiling is not None:
        return _of_ceiling(profile, precision, ceiling, measured)
    kind = PRECISIONS[precision]
    if kind.measurable:
        return None
    if kind.like and kind.times == 1 and _exists(profile, precision):
        peak = _measured(profile, kind.like, measured)
        return replace(peak, work=precision) if peak else None
    return _theoretical(profile, precision, None)


def _of_ceiling(profile: GpuProfile, precision: str, ceiling: MeasuredCeiling, measured: Measured) -> Peak | None:
    """A measured peak. Where the power limit held it down, the peak is that of short bursts, else the theoretical."""
    clock = None if ceiling.sm_clock_hz is None else Clock(ceiling.sm_clock_hz, "sm", "while measured")
    # A sustained rate may be that of a clock held down by the power limit: then a higher clock does not raise it.
    free = max((c.sm_clock_hz or 0.0 for c in measured.ceilings.values()), default=0.0)
    if clock is None or not ceiling.method.startswith(_SUSTAINED) or clock.hz >= _HELD_DOWN * free:
        return Peak(ceiling.value, "measured", clock, ceiling.method, precision, source=CALIBRATE)
    sustained = Sustained(ceiling.value, clock)
    burst = ceiling.mixes.get(_BURST)
    if burst is None:
        theoretical = _theoretical(profile, precision, None)
        return replace(theoretical, sustained=sustained) if theoretical else None
    # A burst ends at the clock that its power allows; the rate is that of the highest one.
    highest = max(measured.clocks_of(precision, _BURST), default=None)
    own = None if highest is None else Clock(highest, "sm", "while measured")
    return Peak(burst, "measured", own, "in bursts that power does not limit", precision, sustained, CALIBRATE)
