"""What the facts of a GPU allow at most, per ceiling, and the measured ceilings that are above it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.levels import unit_of
from roofctl.core.profile_files import is_measured
from roofctl.core.units import prefixed, rate
from roofctl.gpus.check import load_measured, load_profile
from roofctl.gpus.schema import GpuProfile, Measured
from roofctl.gpus.store import find_profile
from roofctl.gpus.yamlfile import KeyPath, read_document

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


_LIMITS: Final[Mapping[str, Callable[[GpuProfile, str], Limit | None]]] = {
    "hbm": board_memory,
    "l2": l2,
    "l1": l1,
    "shared": shared,
    "issue": issue,
    "launch": unlimited,
}


@dataclass(frozen=True)
class Excess:
    """A measured value that no GPU of its profile can have: its ``key`` in the file, and both rates."""

    key: KeyPath
    label: str
    value: str
    limit: str

    @property
    def text(self) -> str:
        """One clause for a warning."""
        return f"the measured {self.label} ceiling, {self.value}, is above what the hardware allows, {self.limit}"


def excesses(profile: GpuProfile, measured: Measured) -> Iterator[Excess]:
    """Measured ceilings above what the facts of the profile allow at the clock they were measured at."""
    for name, ceiling in measured.ceilings.items():
        limit = _LIMITS.get(name, arithmetic)(profile, name)
        highest = limit.at_most(ceiling.sm_clock_hz) if limit else None
        if limit is None or limit.slack is None or highest is None:
            continue
        at_clock = limit.sm_clock_hz is not None
        # The mixes of a ceiling that follows the SM clock ran at clocks of their own.
        mixes = {} if at_clock else ceiling.mixes
        values = {"value": ceiling.value} | {f"mixes.{mix}": value for mix, value in mixes.items()}
        origin = "at the SM clock while it was measured" if at_clock else limit.origin
        most = f"{rate(name, highest / limit.slack, unit_of(name))} ({origin})"
        for key, value in values.items():
            if value > highest:
                label = " ".join((profile.label(name), *key.split(".")[1:]))
                yield Excess(("ceilings", name, *key.split(".")), label, rate(name, value, unit_of(name)), most)


def excess_problems(path: Path) -> tuple[str, ...]:
    """Values of a measured result above what its GPU profile allows, one line each; empty where there is no profile."""
    if not is_measured(path):
        return ()
    try:
        measured = load_measured(path)
        profile = _profile_of(path, measured)
    except InputError:
        return ()
    document = read_document(path)
    return tuple(
        f"line {document.line(excess.key)}, {'.'.join(map(str, excess.key))}: seen {excess.value}, "
        f"expected at most {excess.limit} by the GPU profile {profile.name}"
        for excess in excesses(profile, measured)
    )


def _profile_of(path: Path, measured: Measured) -> GpuProfile:
    """The profile that lies beside a measured result, else the one of that name."""
    beside = path.with_name(f"{measured.profile}.yaml")
    return load_profile(beside) if beside.is_file() else find_profile(measured.profile).profile
