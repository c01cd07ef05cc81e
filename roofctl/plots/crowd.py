"""Find free places for labels: axis-aligned boxes with weights, and a greedy search.

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
Spot = tuple[float, float]

LINE: Final = 5.0
MARKER: Final = 60.0
STRIKE: Final = 40.0
TEXT: Final = 1e5
OUTSIDE: Final = 1e6

LEADER_FROM: Final = 9.0
"""A label further than this from its point gets a thin line to it."""

_ANGLES: Final = np.deg2rad(np.array([45, 90, 0, 135, 315, 270, 180, 225, 22, 67, 112, 157, 202, 247, 292, 337]))
_RINGS: Final = 60
_STEP: Final = 3.5


@dataclass
class Crowd:
    """What is on the picture already: boxes (x0, y0, x1, y1), each with what it costs to cover it."""

    bounds: tuple[float, float, float, float]
    boxes: Array = field(default_factory=lambda: np.empty((0, 4)))
    weights: Array = field(default_factory=lambda: np.empty(0))

    def add(self, boxes: Array, weight: float) -> None:
        boxes = boxes.reshape(-1, 4)
        self.boxes = np.vstack([self.boxes, boxes])
        self.weights = np.concatenate([self.weights, np.full(len(boxes), weight)])

    def costs(self, boxes: Array) -> Array:
        """What each box would cover, with leaving the bounds as the worst."""
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


def chain(start: Spot, end: Spot, thickness: float) -> Array:
    """Square boxes along a line."""
    count = max(2, math.ceil(math.dist(start, end) / max(thickness, 2.0)) + 1)
    xs, ys = np.linspace(start[0], end[0], count), np.linspace(start[1], end[1], count)
    half = thickness / 2
    return np.column_stack([xs - half, ys - half, xs + half, ys + half])


@dataclass(frozen=True)
class Tag:
    """A label that wants to be beside ``at``; ``clear`` is the radius of what is drawn there."""

    at: Spot
    width: float
    height: float
    clear: float = 4.0


@dataclass(frozen=True)
class Place:
    """Where a label went: its centre, and the end of its leader line if it needs one."""

    center: Spot
    leader: Spot | None


def place(tags: Sequence[Tag], crowd: Crowd) -> list[Place]:
    """A free place for each label, as near to its point as the others allow.

    The ones with the most neighbours choose first. Each result is added to the crowd.
    """
    near = 30.0
    spots = np.array([t.at for t in tags]).reshape(-1, 2)
    company = [int((np.hypot(*(spots - spot).T) < near).sum()) for spot in spots]
    found: dict[int, Place] = {}
    for index in sorted(range(len(tags)), key=lambda i: (-company[i], i)):
        found[index] = _place_one(tags[index], np.delete(spots, index, axis=0), crowd)
    return [found[i] for i in range(len(tags))]


def _place_one(tag: Tag, others: Array, crowd: Crowd) -> Place:
    best: tuple[float, Spot, float] = (math.inf, tag.at, 0.0)
    for ring in range(_RINGS):
        gap = tag.clear + ring * _STEP
        if best[0] <= ring * _STEP:
            break
        # Outward by the label's own half size, so that wide labels do not cover their point.
        xs = tag.at[0] + np.cos(_ANGLES) * (gap + tag.width / 2)
        ys = tag.at[1] + np.sin(_ANGLES) * (gap + tag.height / 2)
        boxes = np.column_stack([xs - tag.width / 2, ys - tag.height / 2, xs + tag.width / 2, ys + tag.height / 2])
        costs = crowd.costs(boxes) + ring * _STEP + np.arange(len(_ANGLES)) * 0.1
        if gap - tag.clear >= LEADER_FROM:
            costs += _leader_costs(tag, xs, ys, crowd)
        else:
            costs += _misread(tag, others, xs, ys) * STRIKE
        winner = int(np.argmin(costs))
        if costs[winner] < best[0]:
            best = (float(costs[winner]), (float(xs[winner]), float(ys[winner])), gap)
    _, center, gap = best
    crowd.add(box(*center, tag.width, tag.height), TEXT)
    if gap - tag.clear < LEADER_FROM:
        return Place(center, None)
    end = _leader_end(tag, center)
    crowd.add(chain(tag.at, end, 1.0), LINE)
    return Place(center, end)


def _misread(tag: Tag, others: Array, xs: Array, ys: Array) -> Array:
    """Whether a label without a leader would stand nearer to another's point than to its own."""
    own = np.hypot(xs - tag.at[0], ys - tag.at[1])
    nearest = np.array([np.hypot(*(others - (x, y)).T).min(initial=np.inf) for x, y in zip(xs, ys, strict=True)])
    return (nearest < own).astype(np.float64)


def _leader_end(tag: Tag, center: Spot) -> Spot:
    """The point of the label's box nearest to what it labels."""
    x = min(max(tag.at[0], center[0] - tag.width / 2), center[0] + tag.width / 2)
    y = min(max(tag.at[1], center[1] - tag.height / 2), center[1] + tag.height / 2)
    return x, y


def _leader_costs(tag: Tag, xs: Array, ys: Array, crowd: Crowd) -> Array:
    """A leader may cross lines and markers, at a price, but must not strike through text."""
    ends = [_leader_end(tag, (x, y)) for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]
    samples = 16
    steps = np.linspace(0, 1, samples + 1)[1:-1, None, None]
    dots = (np.array(tag.at) + (np.array(ends) - np.array(tag.at)) * steps).reshape(-1, 2)
    crossed = crowd.costs(np.hstack([dots - 1.0, dots + 1.0])).reshape(samples - 1, -1)
    struck = (crossed >= TEXT).any(axis=0) * STRIKE
    total: Array = struck + np.minimum(crossed, MARKER).sum(axis=0) * 0.15
    return total
