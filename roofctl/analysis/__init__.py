"""Kernels to rows and points: the table that ``report`` prints and ``plot`` draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roofctl.analysis import flop, instruction
from roofctl.analysis.facts import Facts, gather, known, whole
from roofctl.analysis.gaps import Gaps
from roofctl.analysis.instruction import COLUMNS, Instructions
from roofctl.analysis.judge import above_roof
from roofctl.analysis.select import Selection, select
from roofctl.counts import Note
from roofctl.grouping import Kernels
from roofctl.names import short_names
from roofctl.quantities import Chip
from roofctl.roofline import KernelPoints, Model, Roofline

__all__ = ["COLUMNS", "Analysis", "Facts", "Instructions", "Selection", "Wanted", "analyse", "file_names", "whole"]

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
    """

    rows: tuple[Row, ...]
    kernels: tuple[KernelPoints, ...]
    notes: tuple[Note, ...] = ()
    facts: tuple[Facts, ...] = ()
    columns: tuple[str, ...] = COLUMNS
    model: Model = field(default="instruction")


def analyse(
    captures: Sequence[Kernels],
    roofline: Roofline | None,
    *,
    wanted: Wanted | None = None,
    chip: Chip | None = None,
    selection: Selection | None = None,
) -> Analysis:
    """Rows and points of the selected kernels; with a roofline also fractions, bounds and verdicts.

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
    gaps = Gaps()
    make, judge = _instruction(wanted, chip, gaps) if wanted.model == "instruction" else _flop(wanted, chip, gaps)
    if wanted.model == "flop":
        flop.check_counted(kernels)
        flop.note_sets(kernels, gaps)
    several = len(captures) > 1
    pairs = [pair for facts in kernels for pair in make(facts, file_names(facts.source) if several else "")]
    for row, points in pairs if roofline else ():
        judge(row, points, roofline)
    notes = [note for capture in captures for note in capture.notes]
    notes += gaps.notes(len(kernels))
    notes += above_roof([points for _, points in pairs], roofline) if roofline else []
    return Analysis(
        rows=tuple(row for row, _ in pairs),
        kernels=tuple(points for _, points in pairs),
        notes=tuple(notes),
        facts=tuple(kernels),
        columns=wanted.columns,
        model=wanted.model,
    )


Make = Callable[[Facts, str], list[tuple[Row, KernelPoints]]]
Judge = Callable[[Row, KernelPoints, Any], None]


def _instruction(wanted: Wanted, chip: Chip | None, gaps: Gaps) -> tuple[Make, Judge]:
    return (
        lambda facts, note: [instruction.entry(facts, wanted.instructions, chip, gaps, note=note)]
    ), instruction.against


def _flop(wanted: Wanted, chip: Chip | None, gaps: Gaps) -> tuple[Make, Judge]:
    return (
        lambda facts, note: flop.entries(facts, wanted.precisions, chip, gaps, moves=False, note=note)
    ), flop.against


def file_names(source: str) -> str:
    """The ``source`` of a row without folders."""
    return ", ".join(Path(path).name for path in source.split(", "))
