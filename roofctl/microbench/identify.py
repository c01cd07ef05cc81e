"""Which GPU profile belongs to this machine's GPU, and what about the GPU makes figures doubtful."""

from __future__ import annotations

from pathlib import Path

from roofctl.core.errors import DeviceError, InputError
from roofctl.gpus import FoundProfile, GpuProfile, find_profile, match_device
from roofctl.gpus.match import plain_name
from roofctl.microbench.device import ComputeDevice, DeviceFacts

AUTO = "auto"


def choose_profile(name: str, facts: DeviceFacts, *, cwd: Path | None = None) -> FoundProfile:
    """The profile called ``name``, or the one of this GPU for "auto"; refuses one that is another GPU's."""
    if name == AUTO:
        return _recognise(facts, cwd)
    found = find_profile(name, cwd=cwd)
    problem = misfit(found.profile, facts)
    if problem:
        raise InputError(
            f"the GPU here is {facts.name}, not the one of profile {found.profile.name} "
            f"({', '.join(found.profile.nvml_names.value or ()) or found.profile.description}): {problem}",
            hint="leave --profile out to recognise the GPU; roofctl gpus list shows the profiles",
        )
    return found


def misfit(profile: GpuProfile, facts: DeviceFacts) -> str:
    """Why a profile cannot be this GPU's; empty when it can."""
    names = profile.nvml_names.value or ()
    if names and plain_name(facts.name) not in map(plain_name, names):
        return "the names differ"
    if profile.compute_capability != facts.capability_text:
        return f"compute capability {facts.capability_text}, the profile has {profile.compute_capability}"
    if not names and profile.sm_count.value != facts.sm_count:
        return f"{facts.sm_count} SMs, the profile has {profile.sm_count.value}"
    return ""


def _recognise(facts: DeviceFacts, cwd: Path | None) -> FoundProfile:
    profiles, reason = match_device(facts.name, facts.capability_text, facts.sm_count, cwd=cwd)
    fitting = [profile for profile in profiles if profile.nvml_names.value and not misfit(profile, facts)]
    if len(fitting) == 1:
        return find_profile(fitting[0].name, cwd=cwd)
    if len(fitting) > 1:
        # One name can be sold with two memories: the bus width distinguishes them where it is known.
        buses = [profile for profile in fitting if profile.memory.bus_bits.value == facts.bus_bits]
        if len(buses) == 1:
            return find_profile(buses[0].name, cwd=cwd)
        names = ", ".join(profile.name for profile in fitting)
        raise InputError(f"several GPU profiles fit {facts.name}: {names}", hint="choose one with --profile")
    near = ", ".join(profile.name for profile in profiles)
    origin = f" --from {profiles[0].name}" if profiles else ""
    hint = f"roofctl gpus new my-gpu{origin}, fill in nvml_names, then --profile my-gpu"
    raise InputError(f"{reason}{f': {near}' if near else ''}", hint=hint)


def refuse_slice(facts: DeviceFacts) -> None:
    """Raise DeviceError on a MIG slice: its ceilings are not the GPU's."""
    if facts.mig or " MIG " in f" {facts.name} ":
        raise DeviceError(
            f"{facts.name} (GPU {facts.index}) is cut into MIG slices: a slice's ceilings are not the GPU's",
            hint="measure on a GPU without MIG, or have it switched off by whoever runs the machine",
        )


def doubts(device: ComputeDevice, profile: GpuProfile) -> tuple[str, ...]:
    """Reasons to doubt figures from this GPU: other processes, facts that differ from the profile."""
    facts, reasons = device.facts, []
    others = device.processes()
    if others:
        names = ", ".join(f"{process.name} ({process.pid})" for process in others)
        reasons.append(f"other processes use this GPU and take part of what is measured: {names}")
    if facts.sm_count != profile.sm_count.value:
        reasons.append(f"the GPU has {facts.sm_count} SMs, the profile has {profile.sm_count.value}")
    for what, driver, stated in (
        ("a memory bus of", facts.bus_bits, profile.memory.bus_bits.value),
        ("a memory clock (MHz) of", _mhz(facts.memory_clock_hz), _mhz(profile.memory.clock_hz.value)),
    ):
        if driver and stated and driver != stated:
            reasons.append(f"the driver reports {what} {driver}, the profile has {stated}")
    return tuple(reasons)


def _mhz(hz: float | None) -> int | None:
    return round(hz / 1e6) if hz else None
