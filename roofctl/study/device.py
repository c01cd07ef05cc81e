"""Facts about the GPU that the inputs hold: its name, size, and the clock it ran at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from roofctl.core.errors import InputError
from roofctl.core.notes import Note
from roofctl.launches.table import Part
from roofctl.roofline.model import Clock

LONG_LAUNCH_SECONDS: Final = 40e-6
"""Clocks derived from shorter launches are unreliable: 1.76-2.03 GHz seen at a constant 1.98 GHz (H200)."""

AS_CAPTURED: Final = "as captured"
"""Origin of a clock that the capture itself gives."""

_CLOCK_SPREAD: Final = 0.05
"""Clocks of long launches that differ by more than this are worth a warning."""


@dataclass(frozen=True)
class Device:
    """Facts about the GPU that the inputs hold; None or empty where they hold none.

    ``sm_count`` are the SMs that launches could use, ``multiprocessors`` those of the device: of a MIG slice both.
    """

    names: tuple[str, ...] = ()
    compute_capabilities: tuple[str, ...] = ()
    sm_count: int | None = None
    max_sm_clock_hz: float | None = None
    multiprocessors: int | None = None


def describe_device(parts: Sequence[Part]) -> Device:
    """Device facts over all parts: names, compute capabilities, SM count, highest SM clock."""
    names: dict[str, None] = {}
    capabilities: dict[str, None] = {}
    for part in parts:
        names.update(dict.fromkeys(part.frame["device"].dropna().unique()))
        capabilities.update(dict.fromkeys(part.frame["compute_capability"].dropna().unique()))
    own = _attribute(parts, "device__attribute_multiprocessor_count")
    sms = _attribute(parts, "launch__sm_count") or own
    return Device(tuple(names), tuple(capabilities), sms, _max_clock(parts), own)


def _attribute(parts: Sequence[Part], counter: str) -> int | None:
    values = [int(v) for part in parts if counter in part.frame for v in part.frame[counter].dropna().unique()]
    return max(values) if values else None


def _max_clock(parts: Sequence[Part]) -> float | None:
    for counter in ("device__attribute_max_gpu_frequency_khz", "device__attribute_clock_rate"):
        value = _attribute(parts, counter)
        if value:
            return value * 1e3
    return None


def captured_clock(kernels: pd.DataFrame, max_hz: float | None) -> tuple[Clock | None, Note | None]:
    """SM clock of kernels: the median over launches of at least 40 µs, never above the device's maximum.

    ``kernels`` are rows of a ``KernelTable``. Where only shorter launches have a clock, the maximum is used, with a
    note. None when nothing is known.
    """
    if not {"sm_clock_hz", "seconds"} <= set(kernels.columns):
        return None, None
    medians = kernels["sm_clock_hz_median"].fillna(kernels["sm_clock_hz"])
    long_hz = medians[_is_long(kernels)].dropna().astype(float)
    if len(long_hz):
        hz, spread = float(long_hz.median()), float(long_hz.max() / long_hz.min() - 1)
        text = f"SM clocks of the launches differ by {spread:.0%}; ceilings are drawn at their median"
        note = Note(text, warning=True) if spread > _CLOCK_SPREAD else None
        return Clock(min(hz, max_hz) if max_hz else hz, "sm", AS_CAPTURED), note
    if kernels["sm_clock_hz"].notna().any() and max_hz:
        text = (
            "every launch is shorter than 40 µs, too short to derive the SM clock: ceilings are at the device's maximum"
        )
        return Clock(max_hz, "sm", "device maximum"), Note(text)
    return None, None


def median_clock_hz(kernels: pd.DataFrame, quantity: str) -> float | None:
    """Median over kernels of at least 40 µs of a clock such as ``l2_clock_hz``; None when none of them has it."""
    if not {quantity, "seconds"} <= set(kernels.columns):
        return None
    hz = kernels.loc[_is_long(kernels), quantity].dropna().astype(float)
    return float(hz.median()) if len(hz) else None


def captured_clocks(kernels: pd.DataFrame, device: Device) -> tuple[float | None, float | None, float | None]:
    """Clocks of SMs, L2 and device memory in Hz at which long kernels ran, None where a capture does not say."""
    sm, _ = captured_clock(kernels, device.max_sm_clock_hz)
    l2, memory = (median_clock_hz(kernels, quantity) for quantity in ("l2_clock_hz", "memory_clock_hz"))
    return (sm.hz if sm else None), l2, memory


def _is_long(kernels: pd.DataFrame) -> pd.Series:
    """Which kernels take long enough to derive a clock from them."""
    return (kernels["seconds"] >= LONG_LAUNCH_SECONDS).fillna(value=False).astype(bool)


def one_device(device: Device) -> None:
    """Raise InputError when the inputs come from different GPUs: one roofline cannot serve both."""
    for what, values in (("GPUs", device.names), ("compute capabilities", device.compute_capabilities)):
        if len(values) > 1:
            raise InputError(
                f"the inputs come from different {what}: {', '.join(values)}",
                hint="give the captures of one GPU at a time; roofctl plot draws several that all name theirs",
            )
