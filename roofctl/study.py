"""From input files to an analysis against a GPU's ceilings: the path that ``report`` and ``plot`` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from roofctl import inputs
from roofctl.analysis import Analysis, Instructions, Selection, analyse
from roofctl.counts import Note, complete
from roofctl.device import Device, captured_clock, describe_device, one_device
from roofctl.errors import InputError, RoofctlError
from roofctl.gpus import (
    Found,
    GpuProfile,
    find_measured,
    find_profile,
    match_device,
    measured_roofline,
    theoretical_roofline,
)
from roofctl.grouping import Group
from roofctl.inputs import Watch
from roofctl.quantities import catalogue
from roofctl.readers.numbers import Mark
from roofctl.roofline import Clock, Roofline
from roofctl.stacks import captures_of

CeilingChoice = Literal["theoretical", "measured", "both"]


@dataclass(frozen=True)
class Request:
    """What a user asks for.

    No input means the newest capture. ``ceilings`` None means measured ones where they exist, else theoretical.
    """

    inputs: tuple[Path, ...]
    profile: str | None = None
    ceilings: CeilingChoice | None = None
    group: Group = "kernel"
    instructions: Instructions = "thread"
    mark: Mark | None = None
    selection: Selection = field(default_factory=Selection)
    watch: Watch | None = None


@dataclass(frozen=True)
class Study:
    """The answer: rows and points, the rooflines (the one that judges first), and everything worth saying.

    ``profile`` and ``rooflines`` are empty when the GPU is not known; ``question`` then says
    what to answer. ``clock`` is the SM clock of the capture, None when it holds none.
    ``sources`` are the inputs as the user knows them, ``unread`` those of many that could not be read.
    """

    sources: tuple[str, ...]
    analysis: Analysis
    device: Device
    profile: GpuProfile | None
    rooflines: tuple[Roofline, ...]
    clock: Clock | None
    notes: tuple[Note, ...]
    question: InputError | None = None
    unread: tuple[RoofctlError, ...] = ()


def study(request: Request) -> Study:
    """Read, group and judge. Raises InputError (or CounterAccessError) for inputs that cannot be used."""
    sources = inputs.locate(request.inputs)
    reading = inputs.read_many(sources, request.mark, request.watch)
    parts = reading.parts
    notes = [*reading.notes(), *(note for part in parts for note in part.notes)]
    device = describe_device(parts)
    one_device(device)
    found, question, said = _profile(request.profile, device)
    notes += said
    profile = found.profile if found else None
    chip = profile.chip if profile else catalogue().chip_of(next(iter(device.compute_capabilities), None))
    captures = captures_of(complete(parts), chip, request.group)
    clock, remark = captured_clock(captures, device.max_sm_clock_hz)
    notes += [remark] if remark else []
    rooflines: tuple[Roofline, ...] = ()
    if found:
        rooflines, said = _rooflines(found, request.ceilings, clock)
        notes += said
    elif request.ceilings:
        raise question or InputError("the GPU is not known", hint="name it with --profile")
    analysis = analyse(
        captures,
        rooflines[0] if rooflines else None,
        instructions=request.instructions,
        chip=catalogue().chips.get(chip or ""),
        selection=request.selection,
    )
    return Study(
        reading.labels, analysis, device, profile, rooflines, clock, (*notes, *analysis.notes), question, reading.unread
    )


def _profile(name: str | None, device: Device) -> tuple[Found | None, InputError | None, list[Note]]:
    """The GPU profile: the one named, else the one that the capture's own device name gives, else a question."""
    capability = next(iter(device.compute_capabilities), None)
    if name:
        found = find_profile(name)
        return found, None, [*_how(found), *_misfits(found.profile, device)]
    device_name = next(iter(device.names), None)
    candidates, reason = (
        match_device(device_name or "", capability, device.sm_count) if device_name or capability else ([], "")
    )
    if device_name and len(candidates) == 1 and reason.startswith("the device name"):
        found = find_profile(candidates[0].name)
        return found, None, _misfits(found.profile, device)
    return None, _question(device_name, capability, candidates), []


def _how(found: Found) -> list[Note]:
    """Which profile an alias took; a name that was meant needs no word."""
    return [Note(f"GPU profile {found.profile.name} ({found.how})")] if found.how.startswith("alias") else []


def _misfits(profile: GpuProfile, device: Device) -> list[Note]:
    """Where the capture's own facts contradict the GPU profile."""
    notes = []
    if device.compute_capabilities and profile.compute_capability not in device.compute_capabilities:
        notes.append(
            Note(
                f"the capture is from compute capability {device.compute_capabilities[0]}, the GPU profile "
                f"{profile.name} is of {profile.compute_capability}: ceilings and fractions are not this GPU's",
                warning=True,
            )
        )
    elif device.names and profile.nvml_names.value and not match_named(profile, device.names):
        notes.append(
            Note(f"the capture is from {device.names[0]}, not from the GPU of profile {profile.name}", warning=True)
        )
    elif device.sm_count and device.sm_count != profile.sm_count.value:
        notes.append(
            Note(
                f"the capture ran on {device.sm_count} SMs, the GPU profile {profile.name} has "
                f"{profile.sm_count.value} (a MIG slice?): ceilings are those of the whole GPU",
                warning=True,
            )
        )
    return notes


def match_named(profile: GpuProfile, names: Iterable[str]) -> bool:
    """Whether one of the device names is the profile's."""
    return any(profile.name in [p.name for p in match_device(name)[0]] for name in names)


def _question(device_name: str | None, capability: str | None, candidates: Sequence[GpuProfile]) -> InputError:
    """The question to the user when the GPU cannot be known from the capture."""
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
    return InputError(f"the capture {seen}: which ceilings?", hint=hint)


def _rooflines(
    found: Found, choice: CeilingChoice | None, clock: Clock | None
) -> tuple[tuple[Roofline, ...], list[Note]]:
    """Rooflines in the order in which they are used: measured ones judge where they exist and are wanted."""
    theoretical = theoretical_roofline(found.profile, clock)
    if choice == "theoretical":
        return (theoretical,), []
    measured = find_measured(found)
    if measured is None:
        if choice is None:
            return (theoretical,), []
        raise InputError(
            f"there are no measured ceilings for {found.profile.name}",
            hint=f"measure them there: roofctl calibrate --profile {found.profile.name}; or use --ceilings theoretical",
        )
    real = measured_roofline(found.profile, measured)
    real = real.at_sm_clock(clock) if clock else real
    note = Note(f"ceilings measured on {measured.gpu_name}, {measured.measured_at}")
    return ((real, theoretical) if choice == "both" else (real,)), [note]
