"""One kernel over captures, oldest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from roofctl.core.errors import InputError, RoofctlError
from roofctl.core.kernel_filter import NameFilter
from roofctl.core.kernel_names import some
from roofctl.core.notes import Note
from roofctl.core.units import prefixed
from roofctl.roofline.compare import NOISE, KernelChange, KernelSample, change_of, samples
from roofctl.study.analyse import AnalysisRequest
from roofctl.study.compare import Side, clocks_are_one, side_of
from roofctl.study.load import Source, check_enough, left_out, locate


@dataclass(frozen=True)
class Entry:
    """A capture, with its start as the manifest has it, and the kernel in it, None where it is not there.

    ``change`` compares it with the capture before that has the kernel. ``machine`` tells GPUs and clocks apart.
    """

    side: Side
    started: str
    sample: KernelSample | None
    change: KernelChange | None
    machine: str


@dataclass(frozen=True)
class History:
    """A kernel over captures: by their start where all have one, else in the order given.

    ``unread`` are the errors of captures that were left out.
    """

    name: str
    entries: tuple[Entry, ...]
    notes: tuple[Note, ...]
    unread: tuple[RoofctlError, ...] = ()


def history(inputs: Sequence[Path], request: AnalysisRequest, selection: NameFilter, noise: float = NOISE) -> History:
    """The kernel that the selection keeps, in each of the captures.

    Raises InputError where no capture has it, or one has several that the selection keeps.
    """
    selection.check()
    sources = locate(inputs)
    sides: list[tuple[Source, Side]] = []
    unread: list[RoofctlError] = []
    for source in sources:
        try:
            sides.append((source, side_of(source.label, request, [source])))
        except RoofctlError as error:
            unread.append(error)
            check_enough(source, unread, len(sources))
    dated = all(source.manifest and source.manifest.started for source, _ in sides)
    if dated:
        sides.sort(key=lambda pair: pair[0].manifest.started if pair[0].manifest else "")
    kept = [_kept(side, selection) for _, side in sides]
    found = [sample for sample in kept if sample]
    if not found:
        every = dict.fromkeys(each.short_name for _, side in sides for each in side.analysis.results.kernels)
        raise InputError(f"no capture has a kernel that {selection.given()} keeps; they have: {some(list(every), 12)}")
    notes = [*left_out(unread), *_notes([side for _, side in sides], kept, dated=dated)]
    entries = tuple(_entries(sides, kept, noise))
    name = ", ".join(dict.fromkeys(sample.kernel.short_name for sample in found))
    return History(name, entries, tuple(notes), tuple(unread))


def _kept(side: Side, selection: NameFilter) -> KernelSample | None:
    results = side.analysis.results.explained
    found = [each for each in samples(results) if selection.keeps(each.kernel.name, each.kernel.short_name)]
    if len(found) > 1:
        names = [each.kernel.short_name for each in found]
        exact = [each for each in found if selection.kernel in (each.kernel.short_name, each.kernel.name)]
        if len(exact) == 1:
            return exact[0]
        raise InputError(
            f"{side.label} has {len(found)} kernels that {selection.given()} keeps: {some(names, 8)}",
            hint="history is of one kernel: give a longer pattern, or ^name$",
        )
    return found[0] if found else None


def _entries(
    sides: Sequence[tuple[Source, Side]], kept: Sequence[KernelSample | None], noise: float
) -> Iterator[Entry]:
    last: KernelSample | None = None
    machines = _machines([side for _, side in sides])
    for (source, side), sample, machine in zip(sides, kept, machines, strict=True):
        change = change_of(last, sample, noise=noise) if last and sample else None
        started = source.manifest.started if source.manifest else ""
        yield Entry(side, started, sample, change, machine)
        last = sample or last


def _machines(sides: Sequence[Side]) -> list[str]:
    """GPU and clock of each side; sides whose clocks are as far as readings say the same have the first one's text."""
    known: list[tuple[Side, str]] = []
    for side in sides:
        clock = prefixed(side.clock.hz, "Hz", 3) if side.clock else "clock not known"
        own = f"{side.gpu or 'GPU not named'}, {clock}"
        alike = (text for other, text in known if other.gpu == side.gpu and _same_clock(other, side))
        known.append((side, next(alike, own)))
    return [text for _, text in known]


def _same_clock(one: Side, other: Side) -> bool:
    return clocks_are_one(one.clock, other.clock) or one.clock is other.clock is None


def _notes(sides: Sequence[Side], kept: Sequence[KernelSample | None], *, dated: bool) -> Iterator[Note]:
    if not dated:
        yield Note("not every input says when it was captured: they are in the order given")
    if without := [side.label for side, sample in zip(sides, kept, strict=True) if sample is None]:
        yield Note(f"without this kernel: {some(without, 5)}", warning=True)
    gpus = dict.fromkeys(side.gpu or "not named" for side in sides)
    if len(gpus) > 1:
        yield Note(f"the GPUs differ ({some(list(gpus), 4)}): times compare GPUs too", warning=True)
    clocks = [side.clock for side in sides if side.clock]
    if clocks and not all(clocks_are_one(clocks[0], clock) for clock in clocks):
        yield Note(
            "the SM clocks differ: times compare clocks too, uses are of ceilings at each own clock", warning=True
        )
    names = dict.fromkeys(sample.kernel.short_name for sample in kept if sample)
    if len(names) > 1:
        yield Note(f"the name differs over the captures: {some(list(names), 4)}")
    reasons = dict.fromkeys(sample.times.unknown for sample in kept if sample and sample.times and sample.times.unknown)
    if reasons:
        yield Note(f"spread of the time not known in some captures: {'; '.join(reasons)}")
