"""At which clocks the ceilings are drawn: those of the capture, or those that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from roofctl.counts import Note
from roofctl.device import Device, captured_clock, median_clock_hz
from roofctl.errors import InputError
from roofctl.gpus import GpuProfile
from roofctl.grouping import Kernels
from roofctl.roofline import BOOST, Clock
from roofctl.units import prefixed

ClockChoice = Literal["captured", "boost", "base"] | float
"""A clock by name, or in Hz."""

_APART: Final = 0.03
"""Clocks further apart than this are not the same clock: readings are good to about 1 %."""

_SLOWEST: Final = 0.5
"""A memory clock below this part of the profile's is counted in other units (GDDR), not slower memory."""


@dataclass(frozen=True)
class Clocks:
    """Clocks that ceilings are scaled to, per domain; None leaves a ceiling at its own.

    ``captured`` is the SM clock of the capture, whichever was chosen.
    """

    sm: Clock | None = None
    l2: Clock | None = None
    memory: Clock | None = None
    captured: Clock | None = None


def choose_clocks(
    captures: Sequence[Kernels], device: Device, profile: GpuProfile | None, choice: ClockChoice | None
) -> tuple[Clocks, list[Note]]:
    """Clocks of the ceilings, and a warning where the chosen SM clock is not the one the kernels ran at.

    Raises InputError for a captured clock that the capture does not hold, a base clock that nobody knows,
    and a clock that is not positive.
    """
    captured, remark = captured_clock(captures, device.max_sm_clock_hz)
    notes = [remark] if remark else []
    sm = _chosen(choice, captured, profile)
    if sm and captured and abs(sm.hz / captured.hz - 1) > _APART:
        notes.append(Note(_mismatch(sm, captured), warning=True))
    if captured is None and sm is not None:
        notes.append(Note("the capture does not say at which SM clock it ran: fractions may be off by its distance"))
    return Clocks(sm, _l2(captures, profile), _memory(captures, profile), captured), notes


def _chosen(choice: ClockChoice | None, captured: Clock | None, profile: GpuProfile | None) -> Clock | None:
    if choice is None or profile is None:
        return captured
    if choice == "captured":
        if captured is None:
            raise InputError(
                "the input does not hold the SM clock at which it was captured",
                hint="capture sm__cycles_elapsed.avg.per_second, or name a clock: --clock boost, base or MHz",
            )
        return captured
    if choice == "boost":
        return Clock(profile.clocks.sm_boost_hz.value, "sm", BOOST)
    if choice == "base":
        base = profile.clocks.sm_base_hz
        if base is None or base.value is None:
            raise InputError(
                f"the base clock of {profile.name} is not known",
                hint="give it in MHz: --clock 1095, or use --clock boost",
            )
        return Clock(base.value, "sm", "base")
    return Clock(choice, "sm", "as given")


def _mismatch(sm: Clock, captured: Clock) -> str:
    share = abs(1 - captured.hz / sm.hz)
    way = "lower" if captured.hz < sm.hz else "higher"
    return (
        f"ceilings are at {prefixed(sm.hz, 'Hz')} ({sm.origin}), the kernels ran at {prefixed(captured.hz, 'Hz')}: "
        f"fractions of compute, issue, L1 and shared roofs look {share:.0%} {way} for that alone; "
        "--clock captured takes it out"
    )


def _l2(captures: Sequence[Kernels], profile: GpuProfile | None) -> Clock | None:
    hz = median_clock_hz(captures, "l2_clock_hz")
    if hz is None or profile is None or (profile.l2_hz and abs(hz / profile.l2_hz - 1) <= _APART):
        return None
    return Clock(hz, "l2", "as captured")


def _memory(captures: Sequence[Kernels], profile: GpuProfile | None) -> Clock | None:
    hz = median_clock_hz(captures, "memory_clock_hz")
    own = profile.memory.clock_hz.value if profile else None
    if hz is None or own is None or not _SLOWEST <= hz / own < 1 - _APART:
        return None
    return Clock(hz, "memory", "as captured")
