"""Run an application under NVIDIA's profilers and keep what they count."""

from roofctl.captures.manifest import Capture
from roofctl.cuda.tools import Tool
from roofctl.profilers.capture import commands, plan, profile
from roofctl.profilers.request import Command, ProfileRequest, Progress
from roofctl.profilers.run import ProfilePlan, ProfilerRun

__all__ = [
    "Capture",
    "Command",
    "ProfilePlan",
    "ProfileRequest",
    "ProfilerRun",
    "Progress",
    "Tool",
    "commands",
    "plan",
    "profile",
]
