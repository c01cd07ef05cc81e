"""Labels beside points, and text along lines."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes

from roofctl.plots import text
from roofctl.plots.axes import to_data, to_points
from roofctl.plots.data import PlotData
from roofctl.plots.placement import MARKER, TEXT, Label, Obstacles, Placement, Position, box, chain, place
from roofctl.plots.style import FAINT, INK, level_look
from roofctl.roofline.model import WORK_LABELS, Point

LABEL_SIZE: Final = 8.0
NUMBER_SIZE: Final = 7.0
LINE_TEXT_SIZE: Final = 7.5

_SAME_POSITION: Final = 4.0
"""Points nearer than this (markers more than half covered) share a label."""

_SAME_BLOCK: Final = 10.0
_LINE_HEIGHT: Final = 1.3
_MARKER_SIZE: Final = 8.0
_LONGEST_NAME: Final = 150.0
_FARTHEST_NAME: Final = 50.0
"""Points: the longest name, and the longest way from a marker to its name."""


def add_markers(positions: Sequence[Position], obstacles: Obstacles, size: float = _MARKER_SIZE) -> None:
    """Make obstacles of the markers at ``positions``, of ``size`` points."""
    for position in positions:
        obstacles.add(box(*position, size, size), MARKER)


@dataclass(frozen=True)
class Named:
    """A name to be written beside a position, and the colour of what is drawn there."""

    at: Position
    name: str
    color: str


def position_of(ax: Axes, point: Point, data: PlotData) -> Position:
    """Where a point is drawn, in points from the figure's corner."""
    return to_points(ax, point.intensity, point.per_second / data.rate_unit)


def label_levels(ax: Axes, data: PlotData, obstacles: Obstacles) -> list[str]:
    """``HBM 82 %`` beside each point; points close together get one block of lines.

    Returns the lines that have no place beside their points.
    """
    lacking: list[str] = []
    blocks: list[list[Point]] = []
    for point in data.points:
        here = position_of(ax, point, data)
        near = (b for b in blocks if math.dist(position_of(ax, b[0], data), here) < _SAME_BLOCK)
        block = next(near, None)
        if block:
            block.append(point)
        else:
            blocks.append([point])
    texts = [[_fraction_label(p, data) for p in block] for block in blocks]
    labels = [
        _label(position_of(ax, block[0], data), lines, LABEL_SIZE, clear=8.0)
        for block, lines in zip(blocks, texts, strict=True)
    ]
    for block, lines, label, placed in zip(blocks, texts, labels, place(labels, obstacles), strict=True):
        if placed.covers:
            lacking += lines
            continue
        step = label.height / len(lines)
        for row, (point, line) in enumerate(zip(block, lines, strict=True)):
            center = (placed.center[0], placed.center[1] + label.height / 2 - (row + 0.5) * step)
            color = INK if data.many else level_look(point.level, data.options).color
            _write(ax, line, center, size=LABEL_SIZE, color=color, gid=f"label-{point.level}")
        if placed.leader:
            _leader(ax, (label.at, placed.leader))
    return lacking


def _fraction_label(point: Point, data: PlotData) -> str:
    name = data.label(point.level)
    if data.many:
        name = f"{WORK_LABELS.get(point.work, point.work)} {name}"
    assessment = data.assess(point)
    return f"{name} {text.percent(assessment.fraction)}" if assessment else name


def name_points(ax: Axes, names: Sequence[Named], obstacles: Obstacles) -> bool:
    """Write each name beside its position. False, and nothing is written, where one would be far away or cover text."""
    texts = [text.elide(named.name, LABEL_SIZE, _LONGEST_NAME) for named in names]
    labels = [_label(named.at, [line], LABEL_SIZE, clear=5.5) for named, line in zip(names, texts, strict=True)]
    tried = Obstacles(obstacles.bounds, obstacles.boxes, obstacles.weights)
    placements = place(labels, tried)
    distances = [_distance(label, placed) for label, placed in zip(labels, placements, strict=True)]
    if any(distance > _FARTHEST_NAME or placed.covers for distance, placed in zip(distances, placements, strict=True)):
        return False
    obstacles.boxes, obstacles.weights = tried.boxes, tried.weights
    for line, label, placed in zip(texts, labels, placements, strict=True):
        _write(ax, line, placed.center, size=LABEL_SIZE, color=INK, gid="name")
        if placed.leader:
            _leader(ax, (label.at, placed.leader))
    return True


def _distance(label: Label, placed: Placement) -> float:
    """Points between a position and the nearest point of its label."""
    across = abs(placed.center[0] - label.at[0]) - label.width / 2
    up = abs(placed.center[1] - label.at[1]) - label.height / 2
    return math.hypot(max(0.0, across), max(0.0, up))


def number_points(ax: Axes, numbered: Sequence[tuple[Position, int]], obstacles: Obstacles) -> None:
    """Each number beside its position; numbers of one position share a label."""
    label_points(ax, [(position, number, _MARKER_SIZE / 2) for position, number in numbered], (), obstacles)


def label_points(
    ax: Axes,
    numbered: Sequence[tuple[Position, int, float]],
    values: Sequence[tuple[Position, str]],
    obstacles: Obstacles,
) -> None:
    """Numbers beside their positions, of markers with these radii, and other texts beside theirs."""
    groups: list[tuple[Position, list[int], float]] = []
    for position, number, radius in numbered:
        same = next((g for g in groups if math.dist(g[0], position) < _SAME_POSITION), None)
        if same:
            same[1].append(number)
        else:
            groups.append((position, [number], radius))
    longest = 24
    texts = [textwrap.wrap(text.listing(numbers), longest) for _, numbers, _ in groups]
    labels = [
        _label(at, lines, NUMBER_SIZE, clear=max(4.0, radius))
        for (at, _, radius), lines in zip(groups, texts, strict=True)
    ]
    texts += [[value] for _, value in values]
    labels += [_label(at, [value], NUMBER_SIZE, clear=4.0) for at, value in values]
    for lines, label, placed in zip(texts, labels, place(labels, obstacles), strict=True):
        _write(ax, "\n".join(lines), placed.center, size=NUMBER_SIZE, color=INK, gid="number")
        if placed.leader:
            _leader(ax, (label.at, placed.leader))


def _label(position: Position, lines: Sequence[str], size: float, clear: float) -> Label:
    across = max(text.width(line, size) for line in lines)
    return Label(position, across + 2.5, len(lines) * size * _LINE_HEIGHT, clear)


def _write(ax: Axes, label: str, center: Position, *, size: float, color: str, gid: str) -> None:
    x, y = to_data(ax, center)
    background = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
    style = {"fontsize": size, "color": color, "gid": gid, "linespacing": 1.1, "bbox": background}
    ax.text(x, y, label, ha="center", va="center", parse_math=False, zorder=6, **style)  # type: ignore[arg-type]


def _leader(ax: Axes, ends: Sequence[Position]) -> None:
    xs, ys = zip(*(to_data(ax, end) for end in ends), strict=True)
    ax.plot(xs, ys, color=FAINT, linewidth=0.4, gid="leader", zorder=3.5)


# --- text along lines -------------------------------------------------------------------


@dataclass(frozen=True)
class LineText:
    """A text placed along a line: what it covers as a cost, and both ends of its middle line."""

    text: str
    cost: float
    start: Position
    end: Position
    angle: float

    @property
    def free(self) -> bool:
        """Whether it covers neither a marker nor another text."""
        return self.cost < MARKER


LIFTS: Final = (0.8, -0.8, 1.6, -1.6)
"""Distances of a text's middle from its line, in text heights: close above, close below, then further off."""


def along_line(
    start: Position,
    end: Position,
    line: str,
    obstacles: Obstacles,
    *,
    backwards: bool = False,
    lifts: Sequence[float] = LIFTS,
) -> LineText:
    """The cheapest placement of a text along a line, above it or else below it; ``lifts`` in order of preference."""
    length = math.dist(start, end)
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    across = (-along[1], along[0])
    angle = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
    long, margin, step = text.width(line, LINE_TEXT_SIZE), 6.0, 5.0
    slack = length - long - 2 * margin
    stops = [margin + i * step for i in range(int(slack / step) + 1)] if slack > 0 else [max(0.0, (length - long) / 2)]
    best: LineText | None = None
    for order, lifted in enumerate(lifts):
        for index, stop in enumerate(stops):
            at = length - long - stop if backwards else stop
            lift = lifted * LINE_TEXT_SIZE
            head = (start[0] + along[0] * at + across[0] * lift, start[1] + along[1] * at + across[1] * lift)
            tail = (head[0] + along[0] * long, head[1] + along[1] * long)
            covered = float(obstacles.costs(chain(head, tail, LINE_TEXT_SIZE)).sum())
            cost = covered + index * 0.05 + order * 1.5 + (slack <= 0) * MARKER
            if best is None or cost < best.cost:
                best = LineText(line, cost, head, tail, angle)
    assert best is not None  # noqa: S101  there is at least one stop
    return best


def write_along(ax: Axes, placed: LineText, obstacles: Obstacles, *, color: str = INK, gid: str) -> None:
    """Write a placed text and make it an obstacle."""
    obstacles.add(chain(placed.start, placed.end, LINE_TEXT_SIZE), TEXT)
    x, y = to_data(ax, ((placed.start[0] + placed.end[0]) / 2, (placed.start[1] + placed.end[1]) / 2))
    ax.text(
        x,
        y,
        placed.text,
        rotation=placed.angle,
        rotation_mode="anchor",
        ha="center",
        va="center_baseline",
        fontsize=LINE_TEXT_SIZE,
        color=color,
        parse_math=False,
        gid=gid,
        zorder=3,
    )
