"""Label placement: a greedy search for free positions among axis-aligned boxes with weights.

Everything is in points (1/72 inch) from the lower left corner of the figure. A slanted
text or line is a chain of small boxes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Position = tuple[float, float]

# What it costs to cover something, in points of distance between a label and what it names.
LINE: Final = 5.0
MARKER: Final = 60.0
STRIKE: Final = 40.0
TEXT: Final = 1e5
OUTSIDE: Final = 1e6

LEADER_FROM: Final = 9.0
"""A label further than this from its point gets a leader line to it."""

_ANGLES: Final = np.deg2rad(np.array([45, 90, 0, 135, 315, 270, 180, 225, 22, 67, 112, 157, 202, 247, 292, 337]))
_RINGS: Final = 60
_STEP: Final = 3.5


@dataclass
class Obstacles:
    """What is in the picture already: boxes (x0, y0, x1, y1), each with the cost of covering it."""

    bounds: tuple[float, float, float, float]
    boxes: Array = field(default_factory=lambda: np.empty((0, 4)))
    weights: Array = field(default_factory=lambda: np.empty(0))

    def add(self, boxes: Array, weight: float) -> None:
        boxes = boxes.reshape(-1, 4)
        self.boxes = np.vstack([self.boxes, boxes])
        self.weights = np.concatenate([self.weights, np.full(len(boxes), weight)])

    def costs(self, boxes: Array) -> Array:
        """The cost of each box: the weights of what it covers, and the most for leaving the bounds."""
        x0, y0, x1, y1 = self.bounds
        low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
        near = ((self.boxes[:, :2] < high) & (self.boxes[:, 2:] > low)).all(axis=1)
        outside = (boxes[:, 0] < x0) | (boxes[:, 1] < y0) | (boxes[:, 2] > x1) | (boxes[:, 3] > y1)
        mine, theirs = boxes[:, None, :], self.boxes[None, near, :]
        touch = (
            (mine[..., 0] < theirs[..., 2])
            & (mine[..., 2] > theirs[..., 0])
            & (mine[..., 1] < theirs[..., 3])
            & (mine[..., 3] > theirs[..., 1])
        )
        total: Array = touch @ self.weights[near] + outside * OUTSIDE
        return total


def box(x: float, y: float, width: float, height: float) -> Array:
    """A box around its centre."""
    return np.array([[x - width / 2, y - height / 2, x + width / 2, y + height / 2]])


def chain(start: Position, end: Position, thickness: float) -> Array:
    """Square boxes along a line."""
    count = max(2, math.ceil(math.dist(start, end) / max(thickness, 2.0)) + 1)
    xs, ys = np.linspace(start[0], end[0], count), np.linspace(start[1], end[1], count)
    half = thickness / 2
    return np.column_stack([xs - half, ys - half, xs + half, ys + half])


@dataclass(frozen=True)
class Label:
    """A label to be placed beside ``at``; ``clear`` is the radius of what is drawn there."""

    at: Position
    width: float
    height: float
    clear: float = 4.0


@dataclass(frozen=True)
class Placement:
    """Where a label was placed: its centre, and the end of its leader line if it needs one.

    ``covers``: it lies on a marker or another text, or outside the bounds.
    """

    center: Position
    leader: Position | None
    covers: bool = False


def place(labels: Sequence[Label], obstacles: Obstacles) -> list[Placement]:
    """A free position for each label, as near to its point as the others allow.

    The labels with the most neighbours choose first. Each placed label becomes an obstacle.
    """
    near = 30.0
    points = np.array([label.at for label in labels]).reshape(-1, 2)
    neighbours = [int((np.hypot(*(points - point).T) < near).sum()) for point in points]
    placements: dict[int, Placement] = {}
    for index in sorted(range(len(labels)), key=lambda i: (-neighbours[i], i)):
        placements[index] = _place_one(labels[index], np.delete(points, index, axis=0), obstacles)
    return [placements[i] for i in range(len(labels))]


def _place_one(label: Label, others: Array, obstacles: Obstacles) -> Placement:
    best: tuple[float, Position, float] = (math.inf, label.at, 0.0)
    for ring in range(_RINGS):
        gap = label.clear + ring * _STEP
        if best[0] <= ring * _STEP:
            break
        # Outward by the label's own half size, so that wide labels do not cover their point.
        xs = label.at[0] + np.cos(_ANGLES) * (gap + label.width / 2)
        ys = label.at[1] + np.sin(_ANGLES) * (gap + label.height / 2)
        half_wide, half_high = label.width / 2, label.height / 2
        boxes = np.column_stack([xs - half_wide, ys - half_high, xs + half_wide, ys + half_high])
        costs = obstacles.costs(boxes) + ring * _STEP + np.arange(len(_ANGLES)) * 0.1
        if gap - label.clear >= LEADER_FROM:
            costs += _leader_costs(label, xs, ys, obstacles)
        else:
            costs += _misread(label, others, xs, ys) * STRIKE
        winner = int(np.argmin(costs))
        if costs[winner] < best[0]:
            best = (float(costs[winner]), (float(xs[winner]), float(ys[winner])), gap)
    _, center, gap = best
    covers = bool(obstacles.costs(box(*center, label.width, label.height))[0] >= MARKER)
    obstacles.add(box(*center, label.width, label.height), TEXT)
    if gap - label.clear < LEADER_FROM:
        return Placement(center, None, covers)
    end = _leader_end(label, center)
    obstacles.add(chain(label.at, end, 1.0), LINE)
    return Placement(center, end, covers)


def _misread(label: Label, others: Array, xs: Array, ys: Array) -> Array:
    """1.0 for each position at which a label without a leader would be nearer to another's point than to its own."""
    own = np.hypot(xs - label.at[0], ys - label.at[1])
    nearest = np.array([np.hypot(*(others - (x, y)).T).min(initial=np.inf) for x, y in zip(xs, ys, strict=True)])
    return (nearest < own).astype(np.float64)


def _leader_end(label: Label, center: Position) -> Position:
    """The point of the label's box nearest to what it labels."""
    x = min(max(label.at[0], center[0] - label.width / 2), center[0] + label.width / 2)
    y = min(max(label.at[1], center[1] - label.height / 2), center[1] + label.height / 2)
    return x, y


def _leader_costs(label: Label, xs: Array, ys: Array, obstacles: Obstacles) -> Array:
    """The cost of each leader: it may cross lines and markers, at a price, but must not strike through text."""
    ends = [_leader_end(label, (x, y)) for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]
    samples = 16
    steps = np.linspace(0, 1, samples + 1)[1:-1, None, None]
    dots = (np.array(label.at) + (np.array(ends) - np.array(label.at)) * steps).reshape(-1, 2)
    crossed = obstacles.costs(np.hstack([dots - 1.0, dots + 1.0])).reshape(samples - 1, -1)
    struck = (crossed >= TEXT).any(axis=0) * STRIKE
    total: Array = struck + np.minimum(crossed, MARKER).sum(axis=0) * 0.15
    return total
