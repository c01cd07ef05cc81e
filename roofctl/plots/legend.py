"""The legend, in a free area of the axes or to their right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from roofctl.plots import text
from roofctl.plots.placement import TEXT, Array, Obstacles
from roofctl.plots.style import FAINT, INK

LEGEND_SIZE: Final = 8.0

_TEXT_WIDTHS: Final = (165.0, 120.0)
"""Points to which names are shortened: the second where the first leaves no free area."""

_MOST_COLUMNS: Final = 4
INCH: Final = 72.0
"""Points of an inch."""

NARROW: Final = 360.0
"""Figures of less width (points) have no space for a table or a legend beside the axes."""

_NAME_LEAST: Final = 70.0
_PAD: Final = 5.0

# Roofs leave the lower right and the upper left free, so the search for a free area starts there.
_GRID: Final = [i / 10 for i in range(11)]
_POSITIONS: Final = np.array(
    sorted(
        ((right, up) for right in _GRID for up in _GRID),
        key=lambda p: min(math.hypot(1 - p[0], p[1]), 0.2 + math.hypot(p[0], 1 - p[1])),
    )
)


@dataclass(frozen=True)
class LegendEntry:
    """One line of the legend: a name, shortened to fit, and text that is never shortened."""

    handle: Line2D
    name: str = ""
    fixed: str = ""


def handle(**look: object) -> Line2D:
    return Line2D([], [], **{"linestyle": "None", "color": FAINT, **look})  # type: ignore[arg-type]


def filled(marker: str, color: str) -> Line2D:
    """A filled marker of the legend."""
    return handle(marker=marker, markersize=6.5, color=color, markeredgecolor=INK, markeredgewidth=0.6)


def draw_legend(
    ax: Axes,
    entries: Sequence[LegendEntry],
    obstacles: Obstacles,
    *,
    inside: bool = False,
    outside: bool = False,
    beyond: float = 0.0,
) -> float:
    """Put the legend on a free area, else right of the axes (``inside``: where it covers least; ``outside``: there).

    Returns the width in points that it needs right of the axes, or 0; ``beyond`` points there are taken.
    """
    if not entries:
        return 0.0
    legend = _legend(ax, entries)
    x0, y0, x1, y1 = obstacles.bounds
    for limit in () if outside else _TEXT_WIDTHS:
        _fill(legend, entries, limit)
        cost, area = _cheapest(*_size(ax, legend), obstacles)
        if cost == 0 or (inside and limit == _TEXT_WIDTHS[-1]):
            obstacles.add(area, TEXT)
            legend.set_loc("lower left")
            across, up = (area[0, 0] - x0) / (x1 - x0), (area[0, 1] - y0) / (y1 - y0)
            legend.set_bbox_to_anchor((across, up), transform=ax.transAxes)
            return 0.0
    _fill(legend, entries, _TEXT_WIDTHS[0])
    legend.set_loc("upper left")
    legend.set_bbox_to_anchor((1.0 + (beyond + _PAD) / (x1 - x0), 1.0), transform=ax.transAxes)
    return _size(ax, legend)[0] + 2 * _PAD


def draw_legend_below(ax: Axes, entries: Sequence[LegendEntry], gap: float) -> None:
    """Put the legend ``gap`` points below the axes, in as many columns as fit."""
    if not entries:
        return
    wide, high = (length * INCH / ax.figure.dpi for length in ax.get_window_extent().size)
    for columns in range(min(len(entries), _MOST_COLUMNS), 0, -1):
        legend = _legend(ax, entries, columns)
        _fill(legend, entries, _TEXT_WIDTHS[0])
        if _size(ax, legend)[0] <= wide or columns == 1:
            break
    legend.set_loc("upper left")
    legend.set_bbox_to_anchor((0.0, -gap / high), transform=ax.transAxes)


def _size(ax: Axes, legend: Legend) -> tuple[float, float]:
    extent, point = legend.get_window_extent(), ax.figure.dpi / 72
    return extent.width / point, extent.height / point


def _cheapest(wide: float, high: float, obstacles: Obstacles) -> tuple[float, Array]:
    """The box of this size that covers least, with its cost: the first of the positions that cover nothing."""
    x0, y0, x1, y1 = obstacles.bounds
    lefts = x0 + _PAD + _POSITIONS[:, 0] * (x1 - x0 - wide - 2 * _PAD)
    lows = y0 + _PAD + _POSITIONS[:, 1] * (y1 - y0 - high - 2 * _PAD)
    areas = np.column_stack([lefts, lows, lefts + wide, lows + high])
    costs = obstacles.costs(areas)
    best = int(np.argmin(costs))
    return float(costs[best]), areas[best : best + 1]


def _legend(ax: Axes, entries: Sequence[LegendEntry], columns: int = 1) -> Legend:
    # A name may begin with "_", which as a label would take it out of the legend: names go in afterwards.
    legend = ax.legend(
        handles=[e.handle for e in entries],
        labels=["entry"] * len(entries),
        loc="upper left",  # placed afterwards; the default searches the picture for a place
        fontsize=LEGEND_SIZE,
        borderaxespad=0,
        framealpha=0.95,
        edgecolor="#CCCCCC",
        fancybox=False,
        labelspacing=0.35,
        handlelength=2.0,
        ncols=columns,
    )
    legend.get_frame().set_linewidth(0.6)
    legend.set_zorder(5.5)
    return legend


def _fill(legend: Legend, entries: Sequence[LegendEntry], limit: float) -> None:
    """Write the entries, names shortened so that a line stays within ``limit`` points."""
    for artist, entry in zip(legend.get_texts(), entries, strict=True):
        name = entry.name and text.elide(
            entry.name, LEGEND_SIZE, max(_NAME_LEAST, limit - text.width(entry.fixed, LEGEND_SIZE))
        )
        artist.set_parse_math(False)
        artist.set_text(name + entry.fixed)
