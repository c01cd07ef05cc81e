"""The clocks that ceilings are scaled to: those of the capture, or those that the user names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from roofctl.core.errors import InputError
from roofctl.core.notes import Note
from roofctl.core.units import prefixed
from roofctl.gpus import GpuProfile
from roofctl.launches.aggregate import KernelTable
from roofctl.roofline.model import BOOST, Clock
from roofctl.study.device import AS_CAPTURED, Device, captured_clock, median_clock_hz

ClockChoice = Literal["captured", "boost", "base"] | float
"""A clock by name, or in Hz."""

_APART: Final = 0.03
"""Clocks further apart than this are not the same clock: readings are good to about 1 %."""

_SLOWEST: Final = 0.5
"""A memory clock below this part of the profile's is counted in other units (GDDR), not slower memory."""


@dataclass(frozen=True)
class Clocks:
    """Clocks that ceilings are scaled to, per domain; None leaves a ceiling at its own.

    ``captured`` is the SM clock of the capture, whichever was chosen. ``each`` holds, by the sources of a capture,
    the clocks of several captures that ran at different ones: each is compared at its own, and ``sm`` and ``captured``
    are None. ``remarks`` are footnotes of a picture: why fractions look lower or higher than they are.
    """

    sm: Clock | None = None
    l2: Clock | None = None
    memory: Clock | None = None
    captured: Clock | None = None
    each: Mapping[tuple[str, ...], Clock] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def choose_clocks(
    table: KernelTable, device: Device, profile: GpuProfile | None, choice: ClockChoice | None
) -> tuple[Clocks, list[Note]]:
    """Clocks of the ceilings, and a warning where the chosen SM clock is not the one the kernels ran at.

    Raises InputError for a captured clock that the capture does not hold, an unknown base clock,
    and a clock that is not positive.
    """
    each = _each(table, device)
    if each and choice in (None, "captured"):
        hz = sorted(clock.hz for clock in each.values())
        text = (
            f"the captures ran at different SM clocks, {prefixed(hz[0], 'Hz')} to {prefixed(hz[-1], 'Hz')}: "
            "each is compared at its own"
        )
        return Clocks(None, _l2(table, profile), _memory(table, profile), None, each), [Note(text)]
    remarks: tuple[str, ...] = ()
    captured, remark = captured_clock(table.frame, device.max_sm_clock_hz)
    notes = [remark] if remark else []
    sm = _chosen(choice, captured, profile)
    if sm and captured and abs(sm.hz / captured.hz - 1) > _APART:
        remarks = (_mismatch(sm, captured),)
        notes += [Note(f"{remark}; --clock captured takes it out", warning=True) for remark in remarks]
    if captured is None and profile is not None:
        notes.append(Note("the input does not say at which SM clock it ran: fractions may be off by its distance"))
    return Clocks(sm, _l2(table, profile), _memory(table, profile), captured, remarks=remarks), notes


def alike(each: Mapping[tuple[str, ...], Clock]) -> list[tuple[Clock, tuple[tuple[str, ...], ...]]]:
    """Captures by clock, the lowest first: the clock, and the sources of the captures that ran at it."""
    groups: list[tuple[Clock, tuple[tuple[str, ...], ...]]] = []
    for sources, clock in sorted(each.items(), key=lambda entry: entry[1].hz):
        if groups and clock.hz / groups[-1][0].hz - 1 <= _APART:
            groups[-1] = (groups[-1][0], (*groups[-1][1], sources))
        else:
            groups.append((clock, (sources,)))
    return groups


def _each(table: KernelTable, device: Device) -> dict[tuple[str, ...], Clock]:
    """Clocks of several captures, where they are apart; empty otherwise."""
    if len(table.captures) < 2:  # noqa: PLR2004 - one clock has nothing to differ from
        return {}
    by_capture = table.frame.groupby("capture")
    clocks = {
        capture.sources: captured_clock(by_capture.get_group(number), device.max_sm_clock_hz)[0]
        for number, capture in enumerate(table.captures)
    }
    known = {sources: clock for sources, clock in clocks.items() if clock and clock.origin == AS_CAPTURED}
    rates = [clock.hz for clock in known.values()]
    return known if len(rates) > 1 and max(rates) / min(rates) - 1 > _APART else {}


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
    if not choice > 0:
        raise InputError(f"a clock of {choice:g} Hz draws no ceiling", hint="give it in MHz: --clock 1980")
    return Clock(choice, "sm", "as given")


def _mismatch(sm: Clock, captured: Clock) -> str:
    share = abs(1 - captured.hz / sm.hz)
    way = "lower" if captured.hz < sm.hz else "higher"
    return (
        f"ceilings are at {prefixed(sm.hz, 'Hz')} ({sm.origin}), the kernels ran at {prefixed(captured.hz, 'Hz')}: "
        f"fractions of compute, issue, L1 and shared roofs look {share:.0%} {way} for that alone"
    )


def _l2(table: KernelTable, profile: GpuProfile | None) -> Clock | None:
    hz = median_clock_hz(table.frame, "l2_clock_hz")
    if hz is None or profile is None or (profile.l2_hz and abs(hz / profile.l2_hz - 1) <= _APART):
        return None
    return Clock(hz, "l2", "as captured")


def _memory(table: KernelTable, profile: GpuProfile | None) -> Clock | None:
    hz = median_clock_hz(table.frame, "memory_clock_hz")
    own = profile.memory.clock_hz.value if profile else None
    if hz is None or own is None or not _SLOWEST <= hz / own < 1 - _APART:
        return None
    return Clock(hz, "memory", "as captured")
