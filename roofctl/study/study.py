"""From input files to an analysis against a GPU's ceilings: the path that ``report`` and ``plot`` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from roofctl.core.errors import InputError, RoofctlError
from roofctl.core.levels import DRAM, level_label
from roofctl.core.notes import Note
from roofctl.gpus import (
    FoundProfile,
    GpuProfile,
    find_measured,
    find_profile,
    flop_roofline,
    launch_seconds,
    match_device,
    measured_roofline,
    theoretical_roofline,
)
from roofctl.launches.aggregate import Group, aggregate
from roofctl.launches.evaluate import launch_table
from roofctl.quantities import Chip, catalogue
from roofctl.readers.numbers import DecimalSeparator
from roofctl.roofline.analyse import Analysis, ModelChoice, analyse
from roofctl.roofline.evidence import Machine
from roofctl.roofline.instruction import Instructions
from roofctl.roofline.kernel_times import timings
from roofctl.roofline.model import Clock, Model, Roofline
from roofctl.roofline.select import Selection
from roofctl.roofline.time_based import Timing
from roofctl.study import load as inputs
from roofctl.study.clocks import ClockChoice, Clocks, choose_clocks
from roofctl.study.device import Device, describe_device, one_device
from roofctl.study.load import Watch

MEASURE_LAUNCH: Final = "roofctl calibrate --level launch measures it"

CeilingChoice = Literal["theoretical", "measured", "both"]


@dataclass(frozen=True)
class Request:
    """What a user asks for.

    No input means the newest capture. ``ceilings`` None means measured ones where they exist, else theoretical.
    ``clock`` None means the clock of the capture where it holds one, else the boost clock.
    Without ``advice`` rows have no verdict and no advice.
    """

    inputs: tuple[Path, ...]
    profile: str | None = None
    ceilings: CeilingChoice | None = None
    group: Group = "kernel"
    instructions: Instructions = "thread"
    mark: DecimalSeparator | None = None
    selection: Selection = field(default_factory=Selection)
    model: Model = "instruction"
    precisions: tuple[str, ...] = ()
    clock: ClockChoice | None = None
    watch: Watch | None = None
    advice: bool = True


@dataclass(frozen=True)
class Study:
    """The answer: rows and points, the rooflines (the one that judges first), and everything worth saying.

    ``general`` are those of the notes that hold for any view of the input, not for one model alone.

    ``profile`` and ``rooflines`` are empty when the GPU is not known; ``question`` then says
    what to answer. ``clock`` is the SM clock of the ceilings that scale with it, None when it is each ceiling's own;
    ``clocks`` are those that the capture held.
    ``sources`` are the inputs as the user knows them, ``unread`` those of many that could not be read.
    ``found`` and ``chip`` are what ``timings_of`` goes by.
    """

    sources: tuple[str, ...]
    analysis: Analysis
    device: Device
    profile: GpuProfile | None
    rooflines: tuple[Roofline, ...]
    clock: Clock | None
    notes: tuple[Note, ...]
    question: InputError | None = None
    clocks: Clocks = field(default_factory=Clocks)
    found: FoundProfile | None = None
    chip: Chip | None = None
    general: tuple[Note, ...] = ()
    unread: tuple[RoofctlError, ...] = ()

    def label(self, level: str) -> str:
        """A memory level as it is printed for this GPU: HBM for boards that have it, DRAM for others."""
        return level_label(level, self.profile.memory_label if self.profile else DRAM)


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
    name = profile.chip if profile else catalogue().chip_of(next(iter(device.compute_capabilities), None))
    chip = catalogue().chips.get(name or "")
    notes += _pascal(profile.compute_capability if profile else next(iter(device.compute_capabilities), ""))
    memory_label = profile.memory_label if profile else DRAM
    kernels = aggregate(launch_table(parts, name), request.group)
    clocks, said = choose_clocks(kernels, device, profile, request.clock)
    notes += said
    rooflines: tuple[Roofline, ...] = ()
    machine: Machine | None = None
    if found:
        chosen, said = _rooflines(found, request, clocks)
        rooflines = tuple(pair.of(request.model) for pair in chosen)
        machine = _machine(found, chosen[0], clocks)
        notes += said
    elif request.ceilings or request.clock:
        raise question or InputError("the GPU is not known", hint="name it with --profile")
    analysis = analyse(
        kernels,
        machine,
        choice=ModelChoice(request.model, request.instructions, request.precisions),
        chip=chip,
        selection=request.selection,
        ranks={source.label: source.rank for source in sources if source.rank is not None},
        with_advice=request.advice,
        memory_label=memory_label,
    )
    return Study(
        sources=reading.labels,
        analysis=analysis,
        device=device,
        profile=profile,
        rooflines=rooflines,
        clock=clocks.sm,
        notes=(*notes, *analysis.notes),
        general=(*notes, *analysis.capture_notes),
        question=question,
        clocks=clocks,
        found=found,
        chip=chip,
        unread=reading.unread,
    )


def timings_of(answer: Study) -> tuple[tuple[Timing, ...], list[Note]]:
    """The time-based view of a study: a timing per kernel, in the order of its facts, by the roofline that judges.

    Raises InputError when the GPU is not known: times need ceilings.
    """
    if answer.found is None or not answer.rooflines:
        raise answer.question or InputError("times need ceilings: the GPU is not known", hint="name it with --profile")
    launch = launch_seconds(find_measured(answer.found))
    notes = []
    if launch is None:
        notes.append(Note(f"no bound by launches: the time of a launch was not measured on this GPU; {MEASURE_LAUNCH}"))
    if len(answer.rooflines) > 1:
        notes.append(Note("times are by the measured ceilings"))
    kernels, each = answer.analysis.kernels, answer.clocks.each
    return timings(kernels, answer.rooflines[0], answer.chip, launch, each), notes


def _pascal(compute_capability: str) -> list[Note]:
    """A word on L1 where users saw unit-stride loads that look like 8 bytes each (nvprof, GTX 1080)."""
    if not compute_capability.startswith("6."):
        return []
    text = "L1 transactions of compute capability 6 are not known to be of 32 bytes: the L1 intensity is not reliable"
    return [Note(text, warning=True)]


def _profile(name: str | None, device: Device) -> tuple[FoundProfile | None, InputError | None, list[Note]]:
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


def _how(found: FoundProfile) -> list[Note]:
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


@dataclass(frozen=True)
class _Pair:
    """Both rooflines of one basis; ``flop`` is None where no peak of floating-point work is known."""

    instruction: Roofline
    flop: Roofline | None

    def of(self, model: Model) -> Roofline:
        """The roofline of a model. Raises InputError when it is not known."""
        roofline = self.flop if model == "flop" else self.instruction
        if roofline is None:
            raise InputError(
                f"no {self.instruction.basis} floating-point peak of {self.instruction.gpu} is known",
                hint="measure it there (roofctl calibrate), use --ceilings theoretical, or complete the GPU profile "
                "(flops_per_clock_per_sm)",
            )
        return roofline


def _rooflines(found: FoundProfile, request: Request, clocks: Clocks) -> tuple[list[_Pair], list[Note]]:
    """Rooflines in the order in which they are used: measured ones judge where they exist and are wanted."""
    choice, profile = request.ceilings, found.profile
    plain = theoretical_roofline(profile, clocks.sm)
    plain = _at(plain, clocks)
    # Made at its clock already: vendors state tensor peaks at a boost clock of their own.
    theoretical = _Pair(plain, flop_roofline(profile, plain, None, clocks.sm))
    if choice == "theoretical":
        return [theoretical], []
    measured = find_measured(found)
    if measured is None:
        if choice is None:
            return [theoretical], []
        raise InputError(
            f"there are no measured ceilings for {profile.name}",
            hint=f"measure them there: roofctl calibrate --profile {profile.name}; or use --ceilings theoretical",
        )
    own = measured_roofline(profile, measured)
    real = _Pair(_at(own, clocks), _at_each(flop_roofline(profile, own, measured, None), clocks))
    if real.flop is None and request.model == "flop" and choice is None:
        return [theoretical], [Note("no floating-point peak was measured on this GPU: ceilings are theoretical")]
    note = Note(f"ceilings measured on {measured.gpu_name}, {measured.measured_at}")
    return ([real, theoretical] if choice == "both" else [real]), [note]


def _machine(found: FoundProfile, judge: _Pair, clocks: Clocks) -> Machine:
    launch = launch_seconds(find_measured(found))
    return Machine(judge.instruction, judge.flop, launch, found.profile.sm_count.value, clocks.each)


def _at_each(roofline: Roofline | None, clocks: Clocks) -> Roofline | None:
    return _at(roofline, clocks) if roofline else None


def _at(roofline: Roofline, clocks: Clocks) -> Roofline:
    """The roofline with each ceiling at the clock of its own domain, where that is known."""
    for clock in (clocks.sm, clocks.l2, clocks.memory):
        roofline = roofline.at_clock(clock) if clock else roofline
    return roofline
