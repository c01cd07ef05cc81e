"""What a GPU profile says is the most: the theoretical figure of each ceiling, and gates no true result can pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roofctl.core.errors import VerificationError
from roofctl.core.units import prefixed
from roofctl.gpus.schema import CeilingUnit, GpuProfile, Precision

_LOW: Final = 0.6
_HBM_SLACK: Final = 1.02
_CLOCK_SLACK: Final = 1.01
"""Ceilings of the SM clock are compared at the clock that was read; reading it is good to a percent."""

UNITS: Final[dict[str, CeilingUnit]] = {
    "hbm": "B/s",
    "l2": "B/s",
    "l1": "B/s",
    "shared": "B/s",
    "issue": "warp_inst/s",
    "launch": "s",
}


def unit_of(name: str) -> CeilingUnit:
    """The unit of a ceiling; what is not a memory level, the issue rate or a launch counts operations."""
    return UNITS.get(name, "FLOP/s")


@dataclass(frozen=True)
class Limit:
    """A theoretical figure and what it is made of."""

    value: float
    origin: str


def theoretical(profile: GpuProfile, name: str) -> Limit | None:
    """The figure that the measured one is divided by, or None when the profile's facts do not give it."""
    if name == "hbm":
        return _hbm(profile)
    if name == "launch":
        # No fact of a GPU gives the time of a launch: it is measured, and no gate applies to it.
        return None
    boost = profile.clocks.sm_boost_hz.value
    at = f"at {prefixed(boost, 'Hz', 3)}"
    if name == "l2":
        value = profile.l2_bytes_per_second
        origin = f"at {prefixed(profile.l2_hz or boost, 'Hz')}, {'the L2' if profile.l2_hz else 'the SM boost'} clock"
        return Limit(value, origin) if value else None
    if name in ("l1", "shared"):
        value = profile.l1_bytes_per_second if name == "l1" else profile.shared_bytes_per_second
        return Limit(value, at) if value else None
    if name == "issue":
        return Limit(profile.peak_instructions_per_second, at)
    precision: Precision = name  # type: ignore[assignment]
    value = profile.flops_per_second(precision)
    tensor = profile.clocks.tensor_boost_hz.value if name.endswith("_tc") and name != "fp64_tc" else boost
    return Limit(value, f"at {prefixed(tensor or boost, 'Hz', 3)}") if value else None


def _hbm(profile: GpuProfile) -> Limit | None:
    if profile.memory.pin_bytes_per_second:
        return Limit(profile.memory.pin_bytes_per_second, "pin rate")
    sheet = profile.memory.datasheet_bytes_per_second.value
    return Limit(sheet, "data sheet") if sheet else None


def most(profile: GpuProfile, name: str, sm_clock_hz: float | None) -> float | None:
    """What the hardware cannot exceed at the clock it ran at; None when that is not known."""
    limit = theoretical(profile, name)
    if limit is None:
        return None
    if name == "hbm":
        return limit.value * _HBM_SLACK
    if name == "l2":
        return limit.value if profile.l2_hz else None
    if sm_clock_hz is None:
        return None
    return _per_hz(profile, name, limit) * sm_clock_hz * _CLOCK_SLACK


def _per_hz(profile: GpuProfile, name: str, limit: Limit) -> float:
    """The limit for each hertz of the SM clock."""
    tensor = name.endswith("_tc") and name != "fp64_tc"
    clock = profile.clocks.tensor_boost_hz.value if tensor else None
    return limit.value / (clock or profile.clocks.sm_boost_hz.value)


def gate(profile: GpuProfile, name: str, value: float, sm_clock_hz: float | None, what: str) -> str:
    """Raise VerificationError for a rate the hardware cannot have; a warning for one that is oddly low, else ""."""
    ceiling = most(profile, name, sm_clock_hz)
    unit = unit_of(name)
    if ceiling is not None and value > ceiling:
        raise VerificationError(
            f"{what}: {prefixed(value, unit)} is above the hardware's limit of {prefixed(ceiling, unit)}: "
            "the method or the GPU profile is wrong, so this is not reported",
            hint=f"compare roofctl gpus show {profile.name} with nvidia-smi -q; report it if the facts agree",
        )
    limit = theoretical(profile, name)
    if limit is not None and value < _LOW * limit.value:
        share = f"{value / limit.value:.0%} of the theoretical {prefixed(limit.value, unit)}"
        return f"only {share}: is the GPU busy or throttled?"
    return ""
