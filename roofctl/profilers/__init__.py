"""Run an application under NVIDIA's profilers and keep what they count."""

from roofctl.captures.manifest import Capture
from roofctl.profilers.capture import Plan, Profiled, plan, profile
from roofctl.profilers.request import Command, ProfileRequest, Progress
from roofctl.profilers.tools import Tool

__all__ = ["Capture", "Command", "Plan", "ProfileRequest", "Profiled", "Progress", "Tool", "plan", "profile"]
