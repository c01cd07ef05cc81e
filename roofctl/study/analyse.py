"""From input files to kernels compared with a GPU's ceilings: what ``report`` and ``plot`` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roofctl.core.errors import InputError, RoofctlError
from roofctl.core.levels import DRAM, level_label
from roofctl.core.notes import Note
from roofctl.core.short_names import Names
from roofctl.gpus import FoundProfile, GpuProfile
from roofctl.launches.aggregate import Group, KernelTable, aggregate
from roofctl.launches.evaluate import launch_table
from roofctl.quantities import Chip, catalogue
from roofctl.readers.numbers import DecimalSeparator
from roofctl.roofline.analyse import ModelChoice, ModelResults, analyse
from roofctl.roofline.instruction import Instructions
from roofctl.roofline.kernel_times import timings
from roofctl.roofline.machine import Machine
from roofctl.roofline.model import Clock, Model, Roofline
from roofctl.roofline.select import Selection
from roofctl.roofline.time_based import Timing
from roofctl.study import load as inputs
from roofctl.study.carried import carried
from roofctl.study.ceilings import CeilingChoice, choose_ceilings
from roofctl.study.clocks import ClockChoice, Clocks, choose_clocks
from roofctl.study.device import Device, captured_clocks, describe_device, one_device
from roofctl.study.given import Given, first_given, given_ceilings, with_given
from roofctl.study.load import Watch
from roofctl.study.profile_choice import CeilingsGpu, ceilings_gpu, choose_profile, with_own_ceilings
from roofctl.study.slices import on_slice

MEASURE_LAUNCH: Final = "roofctl calibrate --level launch measures it"


@dataclass(frozen=True)
class AnalysisRequest:
    """What to analyse, and how.

    No input means the newest capture. ``ceilings`` None means measured ones where they exist, else theoretical.
    ``clock`` None means the clock of the capture where it holds one, else the boost clock. ``given`` are ceilings of
    the user by name, in base units: they go before all others. ``hbm_mix`` is the mix of reads and writes whose
    measured rate is the ceiling of board memory.
    Without ``advice`` results have no verdict and no advice. ``names``: what kernels are called.
    """

    inputs: tuple[Path, ...]
    profile: str | None = None
    ceilings: CeilingChoice | None = None
    group: Group = "kernel"
    instructions: Instructions = "thread"
    decimal: DecimalSeparator | None = None
    selection: Selection = field(default_factory=Selection)
    model: Model = "instruction"
    precisions: tuple[str, ...] = ()
    clock: ClockChoice | None = None
    watch: Watch | None = None
    advice: bool = True
    given: Mapping[str, float] = field(default_factory=dict)
    hbm_mix: str | None = None
    names: Names = "short"


@dataclass(frozen=True)
class Analysis:
    """Results per kernel, the rooflines that they are compared with, and the notes on both.

    ``sources`` are the inputs as the user knows them, ``unread`` the errors of those that were left out.
    ``notes`` are all of them, ``capture_notes`` those that hold for every model.
    ``ceilings_gpu`` is the GPU of the ceilings. ``profile`` is made of the capture itself where no GPU profile has its
    GPU, and None where the capture does not hold enough. When then none are given either, ``unknown_gpu`` is the error
    that explains it, ``machine`` is None, and ``rooflines`` is empty. Fractions are of the first roofline.
    ``incomplete`` has a sentence for each capture whose run did not end as it should.
    ``clock`` is the SM clock that ceilings are scaled to, None when each is at its own; ``clocks`` hold all domains.
    """

    sources: tuple[str, ...]
    results: ModelResults
    device: Device
    profile: GpuProfile | None
    rooflines: tuple[Roofline, ...]
    clock: Clock | None
    notes: tuple[Note, ...]
    unknown_gpu: InputError | None = None
    clocks: Clocks = field(default_factory=Clocks)
    machine: Machine | None = None
    chip: Chip | None = None
    capture_notes: tuple[Note, ...] = ()
    unread: tuple[RoofctlError, ...] = ()
    incomplete: tuple[str, ...] = ()
    ceilings_gpu: CeilingsGpu | None = None

    def label(self, level: str) -> str:
        """A memory level as it is printed for this GPU: HBM for boards that have it, DRAM for others."""
        return level_label(level, self.machine.instruction.memory_label if self.machine else DRAM)


@dataclass(frozen=True)
class Loaded:
    """Kernels of the inputs and the GPU that they ran on, before a model, clocks and ceilings are chosen.

    ``found`` is the GPU profile, or the error that explains why there is none. ``given`` are ceilings of the user.
    ``incomplete`` has a sentence for each source whose run did not end as it should.
    """

    sources: tuple[inputs.Source, ...]
    reading: inputs.Reading
    device: Device
    found: FoundProfile | InputError
    chip_name: str | None
    kernels: KernelTable
    notes: tuple[Note, ...]
    given: Given
    incomplete: Mapping[str, str]

    @property
    def profile(self) -> GpuProfile | None:
        """The GPU profile, None where the GPU is not known."""
        return None if isinstance(self.found, InputError) else self.found.profile


def analyse_inputs(request: AnalysisRequest) -> Analysis:
    """Read the inputs, group their launches to kernels, and compare them with the ceilings of their GPU.

    Raises InputError (or CounterAccessError) for inputs that cannot be used.
    """
    return analyse_loaded(load_kernels(request), request)


def load_kernels(request: AnalysisRequest, sources: Sequence[inputs.Source] | None = None) -> Loaded:
    """Read the inputs of a request, or ``sources`` that were located before, and group their launches to kernels.

    Raises InputError (or CounterAccessError) for inputs that cannot be used.
    """
    sources = inputs.locate(request.inputs) if sources is None else sources
    reading = inputs.read_many(sources, request.decimal, request.watch)
    notes = [*reading.notes(), *(note for part in reading.parts for note in part.notes)]
    incomplete = {part.source: note.text for part in reading.parts for note in part.notes if note.incomplete}
    device = describe_device(reading.parts)
    one_device(device)
    given, light = given_ceilings(request.profile, request.given, device)
    found, profile_notes = (light, []) if light else choose_profile(request.profile, device)
    profile = None if isinstance(found, InputError) else found.profile
    capability = profile.compute_capability if profile else next(iter(device.compute_capabilities), "")
    chip_name = profile.chip if profile else catalogue().chip_of(capability or None, next(iter(device.names), ""))
    kernels = aggregate(launch_table(reading.parts, chip_name), request.group)
    own_notes: list[Note] = []
    if not light:
        chip = catalogue().chips.get(chip_name or "")
        own = carried(reading.parts, device, chip, captured_clocks(kernels.frame, device))
        found, own_notes = with_own_ceilings(found, own, device)
    notes += [*profile_notes, *own_notes, *_pascal_l1(capability)]
    return Loaded(tuple(sources), reading, device, found, chip_name, kernels, tuple(notes), given, incomplete)


def analyse_loaded(loaded: Loaded, request: AnalysisRequest) -> Analysis:
    """Compare kernels with the ceilings of their GPU, in the model and at the clock of the request.

    Raises InputError for ceilings, a clock or a selection that there is not.
    """
    device, found, profile = loaded.device, loaded.found, loaded.profile
    chip = catalogue().chips.get(loaded.chip_name or "")
    clocks, clock_notes = choose_clocks(loaded.kernels, device, profile, request.clock)
    machine, rooflines, ceiling_notes = _ceilings(request, loaded, clocks)
    notes = [*loaded.notes, *([] if loaded.given.file else clock_notes), *ceiling_notes]
    results = analyse(
        loaded.kernels,
        machine,
        choice=ModelChoice(request.model, request.instructions, request.precisions),
        chip=chip,
        selection=request.selection,
        ranks={source.label: source.rank for source in loaded.sources if source.rank is not None},
        with_advice=request.advice,
        incomplete=loaded.incomplete,
        memory_label=machine.instruction.memory_label if machine else DRAM,
        names=request.names,
    )
    return Analysis(
        sources=loaded.reading.labels,
        results=results,
        device=device,
        profile=profile,
        rooflines=rooflines,
        clock=clocks.sm,
        notes=(*notes, *results.notes),
        capture_notes=(*notes, *results.capture_notes),
        unknown_gpu=found if isinstance(found, InputError) and not loaded.given else None,
        clocks=clocks,
        machine=machine,
        chip=chip,
        unread=loaded.reading.unread,
        incomplete=tuple(loaded.incomplete.values()),
        ceilings_gpu=None if isinstance(found, InputError) else ceilings_gpu(found, device),
    )


def _ceilings(
    request: AnalysisRequest, loaded: Loaded, clocks: Clocks
) -> tuple[Machine | None, tuple[Roofline, ...], list[Note]]:
    """The machine, the rooflines to draw, and notes on them; None and () where no ceiling is known."""
    found, given = loaded.found, loaded.given
    rooflines: tuple[Roofline, ...] = ()
    machine: Machine | None = None
    notes: list[Note] = []
    if not isinstance(found, InputError):
        machine, rooflines, notes = choose_ceilings(found, request.ceilings, request.model, clocks, request.hbm_mix)
        machine, rooflines, slice_notes = on_slice(machine, rooflines, loaded.device, found.profile)
        notes = [*notes, *slice_notes]
    elif request.ceilings or request.clock:
        raise found
    if given or (machine and catalogue().levels):
        machine, given_notes = with_given(machine, given)
        rooflines = first_given(rooflines, machine, request.model)
        notes = [*notes, *given_notes]
    return machine, rooflines, notes


def timings_of(analysis: Analysis) -> tuple[tuple[Timing, ...], list[Note]]:
    """Measured time and time bounds of each kernel, in seconds per launch, by the first roofline; and notes on them.

    Raises InputError when the GPU is not known: times need ceilings.
    """
    if analysis.machine is None:
        raise analysis.unknown_gpu or InputError(
            "times need ceilings: the GPU is not known", hint="name it with --profile"
        )
    launch = analysis.machine.launch_seconds
    notes = []
    if launch is None:
        notes.append(Note(f"no bound by launches: the time of a launch was not measured on this GPU; {MEASURE_LAUNCH}"))
    if len(analysis.rooflines) > 1:
        notes.append(Note("times are by the measured ceilings"))
    kernels, each = analysis.results.kernels, analysis.clocks.each
    limits = {id(entry.result.kernel): entry.limit for entry in analysis.results.explained}
    of_kernels = [limits[id(kernel)] for kernel in kernels]
    return timings(kernels, analysis.rooflines[0], analysis.chip, launch, each, of_kernels), notes


def _pascal_l1(compute_capability: str) -> list[Note]:
    """A warning on L1 where users saw unit-stride loads that look like 8 bytes each (nvprof, GTX 1080)."""
    if not compute_capability.startswith("6."):
        return []
    text = "L1 transactions of compute capability 6 are not known to be of 32 bytes: the L1 intensity is not reliable"
    return [Note(text, warning=True)]
