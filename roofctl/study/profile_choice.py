"""Which GPU profile holds for the inputs, and the notes on that choice; where none does, the capture's own ceilings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.notes import Note
from roofctl.gpus import FoundProfile, GpuProfile, find_profile, match_device
from roofctl.gpus.carried import Carried, own_profile
from roofctl.gpus.complete import completed
from roofctl.study.device import Device


@dataclass(frozen=True)
class CeilingsGpu:
    """The GPU of the ceilings.

    ``name`` is its name for people, ``profile`` the GPU profile, None where the ceilings are from the report itself.
    ``of_capture``: whether the capture is of that GPU; None where that is not known.
    """

    name: str
    profile: str | None
    of_capture: bool | None


def ceilings_gpu(found: FoundProfile, device: Device) -> CeilingsGpu:
    """The GPU of a profile, and whether the capture's device is one."""
    profile = found.profile
    if found.layer == "report":
        return CeilingsGpu(profile.description, None, of_capture=True)
    same: bool | None = None
    if device.compute_capabilities and profile.compute_capability not in device.compute_capabilities:
        same = False
    elif device.names and profile.nvml_names.value:
        same = _matches_any(profile, device.names)
    return CeilingsGpu(profile.description, profile.name, same)


def with_own_ceilings(
    found: FoundProfile | InputError, carried: Carried, device: Device
) -> tuple[FoundProfile | InputError, list[Note]]:
    """The choice with what the capture carries: a profile completed by it, or the capture's own where none was found.

    What an error says stays in a note, as a GPU profile knows more. Where the capture does not say enough, the error
    stays, with what it lacks in its hint.
    """
    own = own_profile(carried)
    if isinstance(found, InputError):
        if own is None:
            lacking = " and ".join(carried.lacking)
            hint = f"{found.hint}. Ceilings of its own need what it does not hold: {lacking}"
            return InputError(found.message, hint=hint), []
        text = f"{found.message.removesuffix(_WHICH)}: ceilings are from the report{_better(found, device)}"
        return FoundProfile(own, Path(carried.source), "ceilings from the report", "report"), [Note(text)]
    foreign = ceilings_gpu(found, device).of_capture is False
    if own is None or foreign or own.sm_count.value != found.profile.sm_count.value:
        return found, []
    profile, differences = completed(found.profile, own)
    return FoundProfile(profile, found.path, found.how, found.layer), [Note(text) for text in differences]


def _better(error: InputError, device: Device) -> str:
    """How a user gets more than the report gives: by a profile that fits a GPU without a name, else by a new one."""
    if device.names:
        return "; roofctl gpus new NAME --from-report FILE makes a GPU profile of them"
    return f"; {error.hint}"


_WHICH: Final = ": which ceilings?"


def choose_profile(name: str | None, device: Device) -> tuple[FoundProfile | InputError, list[Note]]:
    """The GPU profile of this name, else the only one with the device name of the capture, and notes on it.

    An InputError is returned, not raised, when neither gives one: without ceilings a report is still useful.
    """
    if name:
        found = find_profile(name)
        return found, [*_alias_note(found), *mismatches(found.profile, device)]
    capability = next(iter(device.compute_capabilities), None)
    device_name = next(iter(device.names), None)
    candidates, reason = (
        match_device(device_name or "", capability, device.sm_count) if device_name or capability else ([], "")
    )
    if device_name and len(candidates) == 1 and reason.startswith("the device name"):
        found = find_profile(candidates[0].name)
        return found, mismatches(found.profile, device)
    return _unknown_gpu(device_name, capability, candidates), []


def _alias_note(found: FoundProfile) -> list[Note]:
    """A note on which profile was chosen by an alias; none for a profile's own name."""
    return [Note(f"GPU profile {found.profile.name} ({found.how})")] if found.how.startswith("alias") else []


def mismatches(profile: GpuProfile, device: Device) -> list[Note]:
    """A warning where compute capability or name of the capture contradict the GPU profile."""
    if device.compute_capabilities and profile.compute_capability not in device.compute_capabilities:
        text = (
            f"the capture is from compute capability {device.compute_capabilities[0]}, the GPU profile "
            f"{profile.name} is of {profile.compute_capability}: ceilings and fractions are not this GPU's"
        )
    elif device.names and profile.nvml_names.value and not _matches_any(profile, device.names):
        text = f"the capture is from {device.names[0]}, not from the GPU of profile {profile.name}"
    else:
        return []
    return [Note(text, warning=True)]


def _matches_any(profile: GpuProfile, names: Iterable[str]) -> bool:
    """Whether one of these device names is matched to the profile."""
    return any(profile.name in [p.name for p in match_device(name)[0]] for name in names)


def _unknown_gpu(device_name: str | None, capability: str | None, candidates: Sequence[GpuProfile]) -> InputError:
    """The error for a GPU that the capture does not identify; its hint lists the profiles that fit."""
    seen = f"names the GPU {device_name!r}, which no GPU profile has" if device_name else "does not name its GPU"
    if capability:
        seen += f" (compute capability {capability})"
    fitting = [profile.name for profile in candidates]
    if fitting:
        hint = f"say which: --profile {' | '.join(fitting)}; for another GPU: roofctl gpus new NAME"
    elif device_name or capability:
        hint = "write a GPU profile (roofctl gpus new NAME), or choose one with --profile (roofctl gpus list)"
    else:
        hint = "say which GPU it was: --profile NAME (roofctl gpus list)"
    return InputError(f"the capture {seen}{_WHICH}", hint=hint)
