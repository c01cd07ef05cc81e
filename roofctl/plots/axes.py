"""The log-log axes: limits, decade ticks, and the way between data and points on paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from roofctl.plots import text
from roofctl.plots.crowd import LINE, Crowd, Spot, chain
from roofctl.plots.scene import Scene
from roofctl.plots.style import FAINT

LABEL_SIZE: Final = 9.0

_STACKED: Final = 2
"""More types of work than this are a stack of peaks."""

_TEXT_ROOM: Final = 165.0
"""Points that the text of a peak takes, with some margin."""

_MOST_TICKS: Final = 9


def set_limits(ax: Axes, scene: Scene, heights: Sequence[float] = ()) -> None:
    """Limits with room around points, ridges and roofs together; ``heights`` are other rates that are drawn."""
    ridges = ridges_of(scene) or [1.0]
    peaks = [peak.per_second / scene.unit for r in scene.rooflines for peak in r.peaks]
    intensities = [p.intensity for p in scene.points]
    rates = [*(p.per_second / scene.unit for p in scene.points), *(h / scene.unit for h in heights)]
    # The slope below the leftmost ridge carries the labels, so it gets most of two decades.
    left = min([min(ridges) / 60, *(i / 4 for i in intensities)])
    right = max([max(ridges) * 16, *(i * 5 for i in intensities)])
    if len(scene.works) > _STACKED:
        right = max(right, _beyond(ax, left, max([max(ridges), *intensities])))
    bottom = min([min(peaks) / 300, *(r / 5 for r in rates)])
    top = max([max(peaks) * 2.2, *(r * 2.5 for r in rates)])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)


def _beyond(ax: Axes, left: float, last: float) -> float:
    """The right end that leaves room for a text beyond ``last``, where no point and no slope is."""
    width, most = ax.get_window_extent().width * 72 / ax.figure.dpi, 0.6
    share = min(_TEXT_ROOM / width, most)
    return float(last * (last / left) ** (share / (1 - share)))


def ridges_of(scene: Scene) -> list[float]:
    """Every ridge on the picture: each level of each roofline with each peak."""
    return [
        ridge
        for roofline in scene.rooflines
        for level in scene.levels
        for peak in roofline.peaks
        if (ridge := roofline.ridge(level, peak.work)) is not None
    ]


def dress(ax: Axes, x_name: str, y_name: str, tick: Callable[[float], str] | None = None) -> None:
    """Axis names, decade ticks (written by ``tick``, None: as plain numbers) and a light grid."""
    ax.set_xlabel(x_label(x_name, ax.get_window_extent().width * 72 / ax.figure.dpi))
    ax.set_ylabel(y_name)
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        step = math.ceil((last - first + 1) / _MOST_TICKS)
        axis.set_major_locator(FixedLocator([10.0**d for d in range(first, last + 1, step)]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: (tick or tick_text)(value)))
        minor = [10.0**d * n for d in range(first - 1, last + 1) for n in range(2, 10)] if step == 1 else []
        axis.set_minor_locator(FixedLocator([m for m in minor if low < m < high]))
        axis.set_minor_formatter(NullFormatter())
    ax.grid(which="major", color="#D8D8D8", linewidth=0.6)
    ax.grid(which="minor", color="#EFEFEF", linewidth=0.4)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", direction="out", color=FAINT)
    ax.spines[["top", "right"]].set_visible(False)


def x_label(name: str, room: float) -> str:
    """The name of the x axis, on two lines where ``room`` points are too few."""
    return name if text.width(name, LABEL_SIZE) <= room else name.replace(" (", "\n(")


def tick_text(value: float) -> str:
    """A decade as people write it: 0.01, 1, 1000, then 1e4."""
    decade = round(math.log10(value))
    if -3 <= decade <= 3:  # noqa: PLR2004  plain numbers that stay short
        return f"{10.0**decade:.{max(0, -decade)}f}"
    return f"1e{decade}"


# --- positions --------------------------------------------------------------------------


def to_points(ax: Axes, x: float, y: float) -> Spot:
    """Data coordinates to points from the figure's corner."""
    across, up = ax.transData.transform((x, y)) * 72 / ax.figure.dpi
    return float(across), float(up)


def to_data(ax: Axes, spot: Spot) -> Spot:
    """The reverse of ``to_points``."""
    x, y = ax.transData.inverted().transform((spot[0] * ax.figure.dpi / 72, spot[1] * ax.figure.dpi / 72))
    return float(x), float(y)


def empty_crowd(ax: Axes) -> Crowd:
    """A crowd bounded by the axes that knows every line drawn so far."""
    area, point = ax.get_window_extent(), ax.figure.dpi / 72
    inset = 0.5
    low, high = (area.x0 / point + inset, area.y0 / point + inset), (area.x1 / point - inset, area.y1 / point - inset)
    crowd = Crowd((*low, *high))
    for line in ax.get_lines():
        if line.get_linestyle() == "None":
            continue
        ends = [to_points(ax, x, y) for x, y in line.get_xydata().tolist()]  # type: ignore[union-attr]
        for start, end in pairwise(ends):
            crowd.add(chain(start, end, 1.0), LINE)
    return crowd
