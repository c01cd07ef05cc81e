"""Find the GPU profile of a device by the name that the driver or a profiler reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from roofctl.gpus.schema import GpuProfile
from roofctl.gpus.store import all_profiles, profiles_with_text


def match_device(
    device_name: str,
    compute_capability: str | None = None,
    sm_count: int | None = None,
    *,
    cwd: Path | None = None,
) -> tuple[list[GpuProfile], str]:
    """GPU profiles that fit a device, best first, and the reason in one sentence.

    One profile means: the name is known. Several from one compute capability are
    candidates to choose from; none means that a profile has to be written.
    """
    plain = plain_name(device_name)
    likely = [found.profile for found in profiles_with_text(plain, cwd)] if plain else []
    named = [profile for profile in likely if plain in map(plain_name, _names(profile))]
    if not named:
        profiles = [found.profile for found in all_profiles(cwd)]
        named = [profile for profile in profiles if plain in map(plain_name, _names(profile))]
    if named:
        return named, f"the device name {device_name}" + _sm_remark(named, sm_count)
    if compute_capability is None:
        return [], f"no GPU profile has the device name {device_name}, and its compute capability is not known"
    similar = [profile for profile in profiles if profile.compute_capability == compute_capability]
    if not similar:
        return [], f"no GPU profile has the device name {device_name} or compute capability {compute_capability}"
    reason = f"no GPU profile has the device name {device_name}; these have compute capability {compute_capability}"
    same_size = [profile for profile in similar if profile.sm_count.value == sm_count]
    if same_size:
        return same_size, f"{reason} and {sm_count} SMs"
    return similar, reason


def plain_name(device_name: str) -> str:
    """A device name without what tools add or drop: case, "NVIDIA", "Tesla", nvprof's " (0)", MIG's " MIG 1g.18gb"."""
    text = re.sub(r"( mig \S+)?\s*(\(\d+\))?$", "", " ".join(device_name.split()).casefold())
    return text.removeprefix("nvidia ").removeprefix("tesla ")


def _names(profile: GpuProfile) -> tuple[str, ...]:
    return profile.nvml_names.value or ()


def _sm_remark(profiles: Sequence[GpuProfile], sm_count: int | None) -> str:
    """A remark where the device has fewer SMs than its profile: a MIG slice or a cut-down card has lower ceilings."""
    if sm_count is None or any(profile.sm_count.value == sm_count for profile in profiles):
        return ""
    return f", although the device has {sm_count} SMs and the GPU profile {profiles[0].sm_count.value}"
