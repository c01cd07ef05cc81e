"""Kernels in a model, compared with a GPU: what ``report`` prints and ``plot`` draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from roofctl import advice
from roofctl.advice import Finding
from roofctl.core.levels import LEVEL_LABELS
from roofctl.core.notes import Note
from roofctl.core.short_names import Names, short_names
from roofctl.launches.aggregate import KernelTable
from roofctl.quantities import Chip
from roofctl.roofline import flop, instruction
from roofctl.roofline.assess import above_roof
from roofctl.roofline.evidence import evidence
from roofctl.roofline.flop import FlopResult
from roofctl.roofline.instruction import InstructionResult, Instructions
from roofctl.roofline.kernel import Kernel, kernels_of
from roofctl.roofline.limit_words import label, sentence
from roofctl.roofline.limits import KernelLimit, limit_of
from roofctl.roofline.machine import Machine
from roofctl.roofline.missing import Reasons
from roofctl.roofline.model import KernelPoints, Model, Roofline
from roofctl.roofline.naming import row_names
from roofctl.roofline.select import Selection, select


@dataclass(frozen=True)
class ModelChoice:
    """Which model, and what it counts: ``instructions`` of the instruction model, ``precisions`` of the FLOP model."""

    model: Model = "instruction"
    instructions: Instructions = "thread"
    precisions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explained:
    """A result with what limits its kernel; verdict and advice are None and empty where no advice was asked for."""

    result: InstructionResult | FlopResult
    limit: KernelLimit
    verdict: str | None = None
    advice: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class ModelResults:
    """The kernels that were asked for, longest total time first, and their results in the same order.

    In the FLOP model a kernel has a result per type of operation. ``notes`` hold for this model only, but for the
    ``capture_notes`` among them.
    """

    kernels: tuple[Kernel, ...]
    explained: tuple[Explained, ...]
    notes: tuple[Note, ...] = ()
    model: Model = "instruction"
    capture_notes: tuple[Note, ...] = ()

    @property
    def points(self) -> tuple[KernelPoints, ...]:
        """The points of each result."""
        return tuple(each.result.points for each in self.explained)


def analyse(
    table: KernelTable,
    machine: Machine | None,
    *,
    choice: ModelChoice | None = None,
    chip: Chip | None = None,
    selection: Selection | None = None,
    ranks: Mapping[str, int] | None = None,
    with_advice: bool = True,
    memory_label: str = LEVEL_LABELS["hbm"],
    incomplete: Mapping[str, str] | None = None,
    names: Names = "short",
) -> ModelResults:
    """Results of the selected kernels; with a machine also fractions, bounds, verdicts and advice.

    ``ranks`` are those of sources that belong to one of a job's processes. ``memory_label`` is how the level ``hbm``
    is printed. ``incomplete`` has the reason for each source whose run did not end as it should.
    ``names``: what kernels are called; a name rests on all kernels of the table, selected or not.
    Where only the other count of instructions was captured it is used, with a note.
    Kernels of several captures stay apart and carry their source; shares are of all kernels'
    time, selected or not. Raises InputError that lists the kernels when the selection is empty, and
    one that names the metric set where the FLOP model has nothing to count.
    """
    choice = choice or ModelChoice()
    shorts = short_names(table.frame["kernel"])
    rows, taken = select(table, selection or Selection(), shorts)
    called = row_names(table, shorts, names)
    kernels = kernels_of(table, rows, [called[row] for row in rows], ranks or {}, memory_label, incomplete)
    work = _Work(choice, machine, chip, several=len(table.captures) > 1, with_advice=with_advice)
    if choice.model == "flop":
        flop.check_counted(kernels)
        flop.note_sets(kernels, work.reasons)
    explained = [each for number, kernel in enumerate(kernels) for each in work.explained(kernel, number)]
    of_captures = (*(note for capture in table.captures for note in capture.notes), *taken)
    notes = [*of_captures, *work.reasons.notes(len(kernels))]
    notes += above_roof([(e.result.points, r) for e in explained if (r := work.roofline_of(e.result.kernel))])
    return ModelResults(tuple(kernels), tuple(explained), tuple(notes), choice.model, of_captures)


@dataclass
class _Work:
    """One analysis in progress: what was chosen, the machine, and the reasons for missing values so far."""

    choice: ModelChoice
    machine: Machine | None
    chip: Chip | None
    several: bool
    with_advice: bool
    reasons: Reasons = field(default_factory=Reasons)

    def roofline_of(self, kernel: Kernel) -> Roofline | None:
        """The roofline of the chosen model at the clock of the kernel's capture."""
        if self.machine is None:
            return None
        machine = self.machine.at_clock_of(kernel.sources)
        return machine.flop if self.choice.model == "flop" else machine.instruction

    def explained(self, kernel: Kernel, number: int) -> list[Explained]:
        """Results of the kernel with this number, with verdict and advice."""
        machine = self.machine.at_clock_of(kernel.sources) if self.machine else None
        note = kernel.files if self.several else ""
        if self.choice.model == "flop":
            return self._flop(kernel, machine, number, note)
        result = instruction.result(kernel, self.choice.instructions, self.chip, self.reasons, note=note)
        result = result.against(machine.instruction) if machine else result
        result = replace(result, points=replace(result.points, number=number))
        return [self._with_limit(result, result, machine)]

    def _flop(self, kernel: Kernel, machine: Machine | None, number: int, note: str) -> list[Explained]:
        moves = flop.moves_constants(kernel)
        results = flop.results(kernel, self.choice.precisions, self.chip, self.reasons, moves=moves, note=note)
        if machine and machine.flop:
            results = [result.against(machine.flop) for result in results]
        results = [replace(result, points=replace(result.points, number=number)) for result in results]
        # The limit rests on the instruction model whichever is shown; what that lacks is noted only where it is shown.
        own = instruction.result(kernel, self.choice.instructions, self.chip, Reasons())
        return [self._with_limit(result, own, machine) for result in results]

    def _with_limit(
        self, result: InstructionResult | FlopResult, own: InstructionResult, machine: Machine | None
    ) -> Explained:
        """A result with its kernel's limit, by ``own``, the kernel in the instruction model."""
        limit = limit_of(own.kernel, own.traffic, machine)
        if limit.name:
            result = replace(result, points=replace(result.points, limit=label(limit, own.kernel)))
        if not self.with_advice:
            return Explained(result, limit)
        findings = advice.advise(evidence(own, limit, machine))
        return Explained(result, limit, sentence(limit, own.kernel), findings)
