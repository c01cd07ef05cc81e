"""The gate that no true measured result can fail."""

from __future__ import annotations

from typing import Final

from roofctl.core.errors import VerificationError
from roofctl.core.levels import CeilingUnit
from roofctl.core.units import prefixed
from roofctl.gpus.limits import Limit

_LOW: Final = 0.6


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
