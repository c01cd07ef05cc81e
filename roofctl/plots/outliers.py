"""Points so far from the others that showing them in place would squeeze the rest: they become arrows at the edge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes

from roofctl.core.units import significant
from roofctl.plots.data import PlotData
from roofctl.plots.placement import Position
from roofctl.roofline.model import Point

_GAP: Final = 1.5
"""Decades without a point, a ridge or a peak."""

_MOST_PART: Final = 0.1
"""Part of the points that may be outliers; more of them are a group of their own, and stay."""

_MOST_SHARE: Final = 0.05
"""Part of the time above which a kernel is shown in place."""

_FEWEST: Final = 5
_INSET: Final = 6.0


@dataclass(frozen=True)
class Outlier:
    """A point beyond the axes, at ``height`` in units of the y axis.

    ``across`` and ``up`` are -1, 0 or 1: towards which edges. ``text`` are the values that the axes do not show.
    """

    index: int
    point: Point
    height: float
    across: int
    up: int
    text: str
    hidden: bool = False

    @property
    def marker(self) -> str:
        """The arrow, as a marker of matplotlib."""
        return {-1: "<", 1: ">"}[self.across] if self.across else {-1: "v", 1: "^"}[self.up]

    def position(self, ax: Axes) -> Position:
        """Where the arrow is, in points from the figure's corner: at the edge, else where the point is."""
        area, scale = ax.get_window_extent(), 72 / ax.figure.dpi
        x, y = (float(value) * scale for value in ax.transData.transform((self.point.intensity, self.height)))
        left, right = area.x0 * scale + _INSET, area.x1 * scale - _INSET
        bottom, top = area.y0 * scale + _INSET, area.y1 * scale - _INSET
        return min(max(x, left), right), min(max(y, bottom), top)


def outliers(data: PlotData) -> tuple[list[Outlier], int]:
    """The outliers among the points of many kernels, on either axis.

    The number is of those without a label beyond the user's limits, which are not drawn.
    """
    points = [(index, point) for index in data.drawn for point in data.points_of(data.kernels[index])]
    x_limits, y_limits = data.options.xlim, data.options.ylim
    roofs = [(level, peak) for roofline in data.rooflines for peak in roofline.peaks for level in data.roof_levels]
    ridges = [r for roofline in data.rooflines for level, peak in roofs if (r := roofline.ridge(level, peak.work))]
    peaks = [peak.per_second for roofline in data.rooflines for peak in roofline.peaks]
    xs, ys = [point.intensity for _, point in points], [point.per_second / data.rate_unit for _, point in points]
    across = _beyond(xs, *x_limits) if x_limits else _sides(xs, ridges)
    up = _beyond(ys, *y_limits) if y_limits else _sides(ys, [peak / data.rate_unit for peak in peaks])
    found, hidden, labeled = list[Outlier](), 0, data.labeled
    for (index, point), one, other in zip(points, across, up, strict=True):
        chosen = (one and x_limits) or (other and y_limits)
        if chosen or ((one or other) and (data.kernels[index].time_share or 0.0) < _MOST_SHARE):
            height = point.per_second / data.rate_unit
            texts = [significant(point.intensity, 2)] if one else []
            texts += [f"{significant(height, 2)} {data.units.rate_name}"] if other else []
            hides = bool(chosen) and index not in labeled
            hidden += hides
            found.append(Outlier(index, point, height, one, other, ", ".join(texts), hides))
    return found, hidden


def _beyond(values: Sequence[float], low: float, high: float) -> list[int]:
    """-1 or 1 for each value beyond the limits of the user."""
    return [-1 if value < low else 1 if value > high else 0 for value in values]


def _sides(values: Sequence[float], anchors: Sequence[float]) -> list[int]:
    """-1 or 1 for each value that is far below or above all others and the ``anchors``, which stay in the picture."""
    if len(values) < _FEWEST:
        return [0] * len(values)
    most = max(1, int(len(values) * _MOST_PART))
    logs = [math.log10(value) for value in values]
    kept = sorted([*logs, *(math.log10(value) for value in anchors)])
    fixed = [math.log10(value) for value in anchors]
    least, greatest = min(fixed, default=math.inf), max(fixed, default=-math.inf)
    counts = range(min(most, len(kept) - 1), 0, -1)
    low = next((kept[n] for n in counts if kept[n] - kept[n - 1] > _GAP and kept[n - 1] < least), -math.inf)
    high = next((kept[-n - 1] for n in counts if kept[-n] - kept[-n - 1] > _GAP and kept[-n] > greatest), math.inf)
    return [-1 if value < low else 1 if value > high else 0 for value in logs]
