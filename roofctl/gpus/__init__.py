"""GPU profiles: facts of a GPU with their sources, and the ceilings that follow from them."""

from __future__ import annotations

from roofctl.gpus.ceilings import launch_seconds, measured_roofline, theoretical_roofline
from roofctl.gpus.check import load_measured, load_profile
from roofctl.gpus.compute import flop_roofline
from roofctl.gpus.light import LightFile
from roofctl.gpus.match import match_device
from roofctl.gpus.schema import Fact, GpuProfile, Measured, MeasuredCeiling
from roofctl.gpus.store import FoundProfile, all_profiles, find_light, find_measured, find_profile

__all__ = [
    "Fact",
    "FoundProfile",
    "GpuProfile",
    "LightFile",
    "Measured",
    "MeasuredCeiling",
    "all_profiles",
    "find_light",
    "find_measured",
    "find_profile",
    "flop_roofline",
    "launch_seconds",
    "load_measured",
    "load_profile",
    "match_device",
    "measured_roofline",
    "theoretical_roofline",
]
