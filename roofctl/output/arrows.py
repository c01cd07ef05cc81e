"""The picture of a comparison: which kernels move, and what is written around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from roofctl.output.captions import subtitle
from roofctl.plots.arrows import Move, arrows
from roofctl.plots.page import save
from roofctl.plots.select import with_needed_peaks
from roofctl.plots.style import MOST_LABELED, PlotOptions
from roofctl.quantities import catalogue
from roofctl.roofline.compare import KernelChange, KernelSample
from roofctl.roofline.model import KernelPoints
from roofctl.study.compare import Comparison, Side

_LEAST_SHARE: Final = 0.01
"""Part of the time of all kernels that are compared below which one is not drawn."""


def draw_moves(comparisons: Sequence[Comparison], level: str, target: Path) -> None:
    """Write the picture. Raises InputError where ceilings are not known, or no kernel has a point at the level."""
    sides = [comparisons[0].before, *(each.after for each in comparisons)]
    for side in sides:
        if side.analysis.unknown_gpu:
            raise side.analysis.unknown_gpu
    moves, short = _moves(comparisons)
    left_out = [f"not drawn: {short} kernels below {_LEAST_SHARE:.0%} of the time"] if short else []
    points = [each for move in moves for each in move.points if each]
    last = sides[-1].analysis
    options = PlotOptions(
        levels=(level,),
        own_levels=tuple(catalogue().levels),
        subtitle=subtitle(last, last.rooflines[:1]),
        remarks=(*(note.text for each in comparisons for note in each.notes if note.warning), *left_out),
        legend="below",
    )
    rooflines = [with_needed_peaks(side.analysis.rooflines[:1], points)[0] for side in sides]
    save(arrows(rooflines, _labels(sides), moves, options), target)


def _labels(sides: Sequence[Side]) -> list[str]:
    """The last parts of the paths, as many as distinguish the sides; of one input numbers."""
    paths = [Path(side.label) for side in sides]
    for count in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-count:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [paths[0].name] * len(paths) if len(set(paths)) == 1 else names


def _moves(comparisons: Sequence[Comparison]) -> tuple[list[Move], int]:
    """A move per kernel and type of operation, by the kernels of the first capture; then those that came later.

    Beside them the number of kernels that are too short to be drawn.
    """
    moves: list[Move] = []
    short: set[str] = set()
    of_first: dict[int, int] = {}
    total = len(comparisons) + 1
    for place, comparison in enumerate(comparisons, 1):
        least = _LEAST_SHARE * sum(change.share or 0.0 for change in comparison.changes)
        for change in comparison.changes:
            if change.share is not None and change.share < least:
                short.add(comparison.name(change))
                continue
            for before, after in _by_work(change):
                key = id(before) if before else None
                index = of_first.get(key) if key else None
                if index is None:
                    index = len(moves)
                    points: list[KernelPoints | None] = [before, *([None] * (total - 1))]
                    former, _, name = comparison.name(change).rpartition(" → ")
                    moves.append(Move(name, tuple(points), labeled=False, former=former))
                    if key:
                        of_first[key] = index
                moves[index] = _with(moves[index], place, after, labeled=change.verdict != "within noise")
    return _few_labels(moves), len(short)


def _with(move: Move, place: int, points: KernelPoints | None, *, labeled: bool) -> Move:
    every = (*move.points[:place], points, *move.points[place + 1 :])
    return replace(move, points=every, labeled=move.labeled or labeled)


def _few_labels(moves: Sequence[Move]) -> list[Move]:
    """At most ``MOST_LABELED`` labels, for the first; where nothing changed, for the longest kernels."""
    if not any(move.labeled for move in moves):
        moves = [replace(move, labeled=True) for move in moves]
    kept: list[Move] = []
    for move in moves:
        labeled = move.labeled and sum(each.labeled for each in kept) < MOST_LABELED
        kept.append(replace(move, labeled=labeled))
    return kept


def _by_work(change: KernelChange) -> list[tuple[KernelPoints | None, KernelPoints | None]]:
    before, after = (_points(side) for side in (change.before, change.after))
    return [(before.get(work), after.get(work)) for work in dict.fromkeys([*after, *before])]


def _points(sample: KernelSample | None) -> dict[str, KernelPoints]:
    return {each.result.points.work: each.result.points for each in sample.results} if sample else {}
