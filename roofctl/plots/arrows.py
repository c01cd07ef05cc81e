"""Kernels before and after a change on one roofline: hollow before, filled after, and an arrow between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from roofctl.core.errors import InputError
from roofctl.core.kernel_names import some
from roofctl.plots.axes import dress, line_obstacles, set_limits, to_points
from roofctl.plots.ceilings import draw_ceilings, label_ceilings, width_beside
from roofctl.plots.data import PlotData, compose, footnotes, type_text
from roofctl.plots.frame import Frame, FrameText, Panel
from roofctl.plots.labels import Named, add_markers, label_points, name_points, position_of
from roofctl.plots.legend import LegendEntry, filled, handle
from roofctl.plots.page import settings
from roofctl.plots.placement import LINE, Obstacles, chain
from roofctl.plots.points import draw_marker
from roofctl.plots.style import FAINT, INK, KERNEL_COLORS, MOST_NAMED, REST, PlotOptions, level_look
from roofctl.roofline.model import KernelPoints, Point, Roofline

_SAME_ROOF: Final = 0.01
_SIZE: Final = 7.0
_REST_SIZE: Final = 4.0
_BETWEEN_SIZE: Final = 5.0
_SHORTEST: Final = 9.0
"""Points: markers of labeled kernels, of others, and of captures between the first and the last; arrows shorter than
the last would lie under the markers."""


@dataclass(frozen=True)
class Move:
    """A kernel's points in the captures that are compared, in their order, None where one does not have it.

    ``labeled`` moves have a colour and a name, the others are small and grey. ``former`` is the name in the first
    capture, where it is another one.
    """

    name: str
    points: tuple[KernelPoints | None, ...]
    labeled: bool = True
    former: str = ""

    @property
    def one(self) -> KernelPoints:
        """The last points that there are."""
        return next(points for points in reversed(self.points) if points)


@dataclass(frozen=True)
class _Arrow:
    """What is drawn of a move: the point in each capture, and its colour; ``number`` is None without a label."""

    move: Move
    points: tuple[Point | None, ...]
    color: str
    number: int | None

    @property
    def ends(self) -> list[Point]:
        return [point for point in self.points if point]


def arrows(rooflines: Sequence[Roofline], labels: Sequence[str], moves: Sequence[Move], options: PlotOptions) -> Figure:
    """The moves under the roofline of the last capture; those of the others are drawn where they are not the same.

    ``rooflines`` and ``labels`` are one per capture. ``options`` hold one level. Raises InputError without a point.
    """
    with settings(options.font):
        kernels = [points for move in moves for points in move.points if points]
        data = compose([rooflines[-1]], kernels, options)
        drawn = _drawn(moves, options.levels[0])
        if not drawn:
            raise InputError(f"no kernel has a point at {data.label(options.levels[0])}", hint="choose another --level")
        notes = [*footnotes(replace(data, kernels=())), *_inexact(drawn)]
        labels_at = FrameText(options.title or " → ".join(dict.fromkeys(labels)), options.subtitle, notes)
        beyond = 0.0 if data.units.transactions else width_beside(data)
        frame = Frame.blank(labels_at, [Panel(data.units.x_label)], options, beyond=beyond)
        set_limits(frame.ax, data)
        dress(frame.ax, data.units.x_label, data.units.y_label)
        draw_ceilings(frame.ax, data, colored=False)
        others = _other_roofs(frame.ax, rooflines, labels, data)
        obstacles = line_obstacles(frame.ax)
        for arrow in reversed(drawn):
            _draw(frame.ax, arrow, data, obstacles)
        label_ceilings(frame.ax, data, obstacles, colored=False, beside=bool(frame.beyond))
        named = _write_names(frame.ax, drawn, data, obstacles)
        frame.add_legend([*_entries(drawn, labels, named=named), *others], obstacles)
        if not named:
            _write_numbers(frame.ax, drawn, data, obstacles)
        return frame.finish()


def _drawn(moves: Sequence[Move], level: str) -> list[_Arrow]:
    """Moves that have a point at the level, those with a label first and numbered."""
    found: list[_Arrow] = []
    for move in sorted(moves, key=lambda move: not move.labeled):
        points = tuple(each.point(level) if each else None for each in move.points)
        if any(points):
            number = len(found) if move.labeled else None
            color = REST if number is None else KERNEL_COLORS[number % len(KERNEL_COLORS)]
            found.append(_Arrow(move, points, color, None if number is None else number + 1))
    return found


def _other_roofs(ax: Axes, rooflines: Sequence[Roofline], labels: Sequence[str], data: PlotData) -> list[LegendEntry]:
    """The roofs of captures that have others than the last, each with its legend entry."""
    entries: list[LegendEntry] = []
    level, last = data.options.levels[0], rooflines[-1]
    left, right = ax.get_xlim()
    for index, (roofline, label) in enumerate(zip(rooflines[:-1], labels, strict=False)):
        ridge = roofline.ridge(level)
        xs = [left, *([ridge] if ridge and left < ridge < right else []), right]
        heights = [roofline.attainable(level, x) for x in xs]
        if None in heights or _alike(heights, [last.attainable(level, x) for x in xs]):
            continue
        look = {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (2 + index, 2))}
        ax.plot(xs, [height / data.rate_unit for height in heights if height], gid="other-roof", zorder=1.5, **look)  # type: ignore[arg-type]
        entries.append(LegendEntry(handle(**look), f"roof of {label}"))
    return entries


def _alike(heights: Sequence[float | None], others: Sequence[float | None]) -> bool:
    """Whether two roofs would lie on each other."""
    return all(one and other and abs(one / other - 1) < _SAME_ROOF for one, other in zip(heights, others, strict=True))


def _draw(ax: Axes, arrow: _Arrow, data: PlotData, obstacles: Obstacles) -> None:
    labeled = arrow.number is not None
    at = [(point.intensity, point.per_second / data.rate_unit) for point in arrow.ends]
    positions = [to_points(ax, *each) for each in at]
    for (start, end), (near, far) in zip(pairwise(at), pairwise(positions), strict=True):
        obstacles.add(chain(near, far, 1.0), LINE)
        if math.dist(near, far) >= _SHORTEST:
            style = {
                "arrowstyle": "-|>,head_length=0.5,head_width=0.22" if labeled else "-",
                "color": arrow.color,
                "linewidth": 1.3 if labeled else 0.7,
                "shrinkA": 3.5,
                "shrinkB": 3.5,
            }
            note = ax.annotate("", xy=end, xytext=start, arrowprops=style, zorder=4.5 if labeled else 3)
            note.set_gid("arrow")
    look = level_look(data.options.levels[0], data.options)
    sizes = [_BETWEEN_SIZE] * len(arrow.points)
    sizes[0] = sizes[-1] = _SIZE
    for index, point in enumerate(arrow.points):
        if point:
            size = sizes[index] if labeled else _REST_SIZE
            draw_marker(
                ax,
                (point.intensity, point.per_second / data.rate_unit),
                replace(look, marker="o", color=arrow.color, size=size),
                INK if labeled else "white",
                hollow=index == 0,
                gid="before" if index == 0 else "after",
                zorder=5 if labeled else 3.5,
            )
    add_markers(positions, obstacles, _SIZE + 1.5 if labeled else _REST_SIZE)


def _text(arrow: _Arrow, drawn: Sequence[_Arrow]) -> str:
    """The name, its type of operation where labeled kernels are of several, and whether it is new or gone."""
    fate = " (gone)" if not arrow.points[-1] else " (new)" if not arrow.points[0] else ""
    types = {each.move.one.work for each in drawn if each.number is not None}
    return arrow.move.name + (type_text(arrow.move.one) if len(types) > 1 else "") + fate


def _write_names(ax: Axes, drawn: Sequence[_Arrow], data: PlotData, obstacles: Obstacles) -> bool:
    """Each labeled kernel's name beside its last point, of a renamed one that of the first beside the first.

    False where there are too many, or no place.
    """
    labeled = [arrow for arrow in drawn if arrow.number is not None]
    if len(labeled) > MOST_NAMED:
        return False
    last = [Named(position_of(ax, arrow.ends[-1], data), _text(arrow, drawn), arrow.color) for arrow in labeled]
    first = [
        Named(position_of(ax, arrow.ends[0], data), arrow.move.former, arrow.color)
        for arrow in labeled
        if arrow.move.former and len(arrow.ends) > 1
    ]
    return name_points(ax, [*last, *first], obstacles) or (bool(first) and name_points(ax, last, obstacles))


def _write_numbers(ax: Axes, drawn: Sequence[_Arrow], data: PlotData, obstacles: Obstacles) -> None:
    numbered = [
        (position_of(ax, arrow.ends[-1], data), arrow.number, _SIZE / 2) for arrow in drawn if arrow.number is not None
    ]
    label_points(ax, numbered, (), obstacles)


def _entries(drawn: Sequence[_Arrow], labels: Sequence[str], *, named: bool) -> list[LegendEntry]:
    """What hollow and filled markers are, and where names have no place the kernels by number."""
    hollow = handle(marker="o", markersize=_SIZE - 1, markerfacecolor="white", markeredgewidth=1.3)
    first, last = ("", "") if len(set(labels)) == 1 else (f": {labels[0]}", f": {labels[-1]}")
    entries = [LegendEntry(hollow, f"before{first}"), LegendEntry(filled("o", FAINT), f"after{last}")]
    if len(labels) > 2:  # noqa: PLR2004 - more than the first and the last
        between = handle(marker="o", markersize=_BETWEEN_SIZE - 1, markerfacecolor=FAINT)
        entries.insert(1, LegendEntry(between, f"between: {', '.join(labels[1:-1])}"))
    if not named:
        entries += [
            LegendEntry(filled("o", arrow.color), f"{arrow.number}  {_text(arrow, drawn)}")
            for arrow in drawn
            if arrow.number is not None
        ]
    if rest := sum(arrow.number is None for arrow in drawn):
        entries.append(LegendEntry(filled("o", REST), fixed=f"{rest} others, within noise"))
    return entries


def _inexact(drawn: Sequence[_Arrow]) -> list[str]:
    """A footnote on counts that are not exact: markers are hollow for another reason here."""
    caveats: dict[str, list[str]] = {}
    for arrow in drawn:
        for caveat in dict.fromkeys(point.caveat for point in arrow.ends if point.caveat):
            caveats.setdefault(caveat, []).append(arrow.move.name)
    return [f"{caveat}: {some(names, 3)}" for caveat, names in caveats.items()]
