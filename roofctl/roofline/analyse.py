"""Kernels to rows and points: the table that ``report`` prints and ``plot`` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from roofctl.core.kernel_names import short_names
from roofctl.launches.aggregate import Kernels
from roofctl.launches.evaluate import Note
from roofctl.quantities import Chip
from roofctl.roofline import findings, flop, instruction
from roofctl.roofline.assess import above_roof
from roofctl.roofline.findings import Machine
from roofctl.roofline.instruction import COLUMNS, Instructions
from roofctl.roofline.kernel import Facts, gather, known, whole
from roofctl.roofline.missing import Gaps
from roofctl.roofline.model import KernelPoints, Model, Roofline
from roofctl.roofline.select import Selection, select

__all__ = [
    "COLUMNS",
    "Analysis",
    "Facts",
    "Instructions",
    "Machine",
    "Selection",
    "Wanted",
    "analyse",
    "file_names",
    "whole",
]

Row = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """Which model, and what it counts: ``instructions`` of the instruction model, ``precisions`` of the FLOP model."""

    model: Model = "instruction"
    instructions: Instructions = "thread"
    precisions: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of a row of this model, in order."""
        return flop.COLUMNS if self.model == "flop" else COLUMNS


@dataclass(frozen=True)
class Analysis:
    """Rows (by ``columns``) and points that belong to each other, longest total time first; notes on all of them.

    ``facts`` are those of the kernels, in the same order; in the FLOP model a kernel has a row per type of operation.
    ``notes`` hold for this model only, but for the ``capture_notes`` among them.
    """

    rows: tuple[Row, ...]
    kernels: tuple[KernelPoints, ...]
    notes: tuple[Note, ...] = ()
    facts: tuple[Facts, ...] = ()
    columns: tuple[str, ...] = COLUMNS
    model: Model = field(default="instruction")
    capture_notes: tuple[Note, ...] = ()


def analyse(
    captures: Sequence[Kernels],
    machine: Machine | None,
    *,
    wanted: Wanted | None = None,
    chip: Chip | None = None,
    selection: Selection | None = None,
    ranks: Mapping[str, int] | None = None,
    advice: bool = True,
) -> Analysis:
    """Rows and points of the selected kernels; with a machine also fractions, bounds, verdicts and advice.

    ``ranks`` are those of sources that belong to one of a job's processes. Without ``advice`` rows have no verdict.
    Where only the other count of instructions was captured it stands in, with a note.
    Kernels of several captures stay apart and carry their source; shares are of all kernels'
    time, selected or not. Raises InputError that lists the kernels when the selection is empty, and
    one that names the metric set where the FLOP model has nothing to count.
    """
    wanted = wanted or Wanted()
    records = select(captures, selection or Selection())
    shorts = short_names(record["kernel"] for _, record in records)
    totals = {id(c): known(c.frame["seconds_total"].sum()) if c.has("seconds") else None for c in captures}
    kernels = [gather(record, c, shorts[record["kernel"]], totals[id(c)]) for c, record in records]
    job = _Job(wanted, machine, chip, several=len(captures) > 1, ranks=ranks or {}, advice=advice)
    if wanted.model == "flop":
        flop.check_counted(kernels)
        flop.note_sets(kernels, job.gaps)
    pairs = [pair for number, facts in enumerate(kernels) for pair in job.entries(facts, number)]
    of_captures = tuple(note for capture in captures for note in capture.notes)
    notes = [*of_captures, *job.gaps.notes(len(kernels))]
    notes += above_roof([points for _, points in pairs], job.roofline) if job.roofline else []
    return Analysis(
        rows=tuple(row for row, _ in pairs),
        kernels=tuple(points for _, points in pairs),
        notes=tuple(notes),
        facts=tuple(kernels),
        columns=wanted.columns,
        model=wanted.model,
        capture_notes=of_captures,
    )


@dataclass
class _Job:
    """One analysis at work: what is wanted, against which machine, and the gaps that were met."""

    wanted: Wanted
    machine: Machine | None
    chip: Chip | None
    several: bool
    ranks: Mapping[str, int]
    advice: bool
    gaps: Gaps = field(default_factory=Gaps)

    @property
    def roofline(self) -> Roofline | None:
        """The roofline of the wanted model."""
        if self.machine is None:
            return None
        return self.machine.flop if self.wanted.model == "flop" else self.machine.instruction

    def entries(self, facts: Facts, number: int) -> list[tuple[Row, KernelPoints]]:
        """Rows and points of the kernel with this number, judged, with verdict and advice."""
        machine = self.machine.at_clock_of(facts.sources) if self.machine else None
        note = file_names(facts.source) if self.several else ""
        # Advice rests on the instruction model whichever is shown; what it lacks is said only where it is shown.
        flops = self.wanted.model == "flop"
        row, points = instruction.entry(
            facts, self.wanted.instructions, self.chip, Gaps() if flops else self.gaps, note=note
        )
        if machine:
            instruction.against(row, points, machine.instruction)
        everything = findings.known_of(facts, row, machine) if self.advice else None
        pairs = [(row, points)]
        if flops:
            moves = findings.constant_moves(facts)
            pairs = flop.entries(facts, self.wanted.precisions, self.chip, self.gaps, moves=moves, note=note)
            for flop_row, flop_points in pairs:
                if machine and machine.flop:
                    flop.against(flop_row, flop_points, machine.flop)
        for each, _ in pairs:
            if everything:
                findings.fill(each, everything)
            each["rank"] = self.ranks.get(facts.source)
        return [(each, replace(drawn, number=number)) for each, drawn in pairs]


def file_names(source: str) -> str:
    """The ``source`` of a row without folders."""
    return ", ".join(Path(path).name for path in source.split(", "))
