"""Theoretical figures of ceilings by a GPU profile, and the gate that no true result can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roofctl.core.errors import VerificationError
from roofctl.core.levels import CeilingUnit
from roofctl.core.units import prefixed
from roofctl.gpus.schema import GpuProfile

_LOW: Final = 0.6
_MEMORY_SLACK: Final = 1.02
_CLOCK_SLACK: Final = 1.01
"""Ceilings of the SM clock are compared at the clock that was read; reading it is good to a percent."""


@dataclass(frozen=True)
class Limit:
    """A theoretical figure in the unit of its ceiling, and what it is made of.

    ``sm_clock_hz`` is the SM clock that it is stated at, None where it does not follow that clock. ``slack`` is the
    factor by which a true result may exceed it, None where the figure is too uncertain to bound anything.
    """

    value: float
    origin: str
    sm_clock_hz: float | None = None
    slack: float | None = _CLOCK_SLACK

    def at_most(self, sm_clock_hz: float | None) -> float | None:
        """What the hardware cannot exceed at the clock it ran at; None when that is not known."""
        if self.slack is None or self.sm_clock_hz is None:
            return None if self.slack is None else self.value * self.slack
        return None if sm_clock_hz is None else self.value / self.sm_clock_hz * sm_clock_hz * self.slack


def board_memory(profile: GpuProfile, _ceiling: str) -> Limit | None:
    """Bytes per second of the pins, else of the data sheet."""
    if profile.memory.pin_bytes_per_second:
        return Limit(profile.memory.pin_bytes_per_second, "pin rate", slack=_MEMORY_SLACK)
    printed = profile.memory.datasheet_bytes_per_second.value
    return Limit(printed, "data sheet", slack=_MEMORY_SLACK) if printed else None


def l2(profile: GpuProfile, _ceiling: str) -> Limit | None:
    """Bytes per second at the L2's own clock; at the SM boost clock it is a guess that bounds nothing."""
    value, boost = profile.l2_bytes_per_second, profile.clocks.sm_boost_hz.value
    origin = f"at {prefixed(profile.l2_hz or boost, 'Hz')}, {'the L2' if profile.l2_hz else 'the SM boost'} clock"
    return Limit(value, origin, slack=1.0 if profile.l2_hz else None) if value else None


def l1(profile: GpuProfile, _ceiling: str) -> Limit | None:
    """Bytes per second of all SMs."""
    return _at_clock(profile.l1_bytes_per_second, profile.clocks.sm_boost_hz.value)


def shared(profile: GpuProfile, _ceiling: str) -> Limit | None:
    """Bytes per second of all SMs."""
    return _at_clock(profile.shared_bytes_per_second, profile.clocks.sm_boost_hz.value)


def issue(profile: GpuProfile, _ceiling: str) -> Limit | None:
    """Warp instructions per second."""
    return _at_clock(profile.peak_instructions_per_second, profile.clocks.sm_boost_hz.value)


def arithmetic(profile: GpuProfile, ceiling: str) -> Limit | None:
    """Operations per second of the type that the ceiling is named after."""
    boost = profile.boost_hz(ceiling) or profile.clocks.sm_boost_hz.value
    return _at_clock(profile.flops_per_second(ceiling), boost)


def unlimited(_profile: GpuProfile, _ceiling: str) -> Limit | None:
    """None: no fact of a GPU gives the time of a launch, so it has no theoretical figure and passes every gate."""
    return None


def _at_clock(value: float | None, clock_hz: float) -> Limit | None:
    return Limit(value, f"at {prefixed(clock_hz, 'Hz', 3)}", clock_hz) if value else None


def gate(limit: Limit | None, value: float, unit: CeilingUnit, sm_clock_hz: float | None, what: str, gpu: str) -> str:
    """Raise VerificationError for a rate the hardware cannot have; a warning for one that is oddly low, else "".

    ``what`` and ``gpu`` (the GPU profile's name) are for the message.
    """
    highest = limit.at_most(sm_clock_hz) if limit else None
    if highest is not None and value > highest:
        raise VerificationError(
            f"{what}: {prefixed(value, unit)} is above the hardware's limit of {prefixed(highest, unit)}: "
            "the method or the GPU profile is wrong, so this is not reported",
            hint=f"compare roofctl gpus show {gpu} with nvidia-smi -q; report it if the facts agree",
        )
    if limit is not None and value < _LOW * limit.value:
        share = f"{value / limit.value:.0%} of the theoretical {prefixed(limit.value, unit)}"
        return f"only {share}: is the GPU busy or throttled?"
    return ""
