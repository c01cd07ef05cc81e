"""The axes: limits, ticks, and conversion between data and points on paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Final

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from roofctl.plots import text
from roofctl.plots.data import PlotData
from roofctl.plots.placement import LINE, Obstacles, Position, chain
from roofctl.plots.style import FAINT
from roofctl.roofline.model import Point

LABEL_SIZE: Final = 9.0

_PEAK_TEXT: Final = 13.0
"""Points above the highest peak, for its name."""

_BESIDE: Final = 30.0
"""Points that the name of the y axis may be longer than the axis."""

_TICK_SIZE: Final = 8.0
_TICK_GAP: Final = 5.0
_FEWEST_TICKS: Final = 2
_MOST_TICKS: Final = 9


def set_limits(ax: Axes, data: PlotData, heights: Sequence[float] = (), without: Collection[Point] = ()) -> None:
    """Limits with space around points, ridges and roofs together; ``heights`` are other rates that are drawn.

    Points ``without`` which the limits are taken are drawn as arrows at the edge.
    """
    points = [point for point in data.points if point not in without]
    points += [point for access in data.accesses for point in access.points]
    ridges = [
        ridge
        for roofline in data.rooflines
        for level in data.roof_levels
        for peak in roofline.peaks
        if (ridge := roofline.ridge(level, peak.work)) is not None
    ]
    intensities = [p.intensity for p in points]
    ridges = ridges or (intensities if data.percent else [1.0])
    peaks = [peak.per_second / data.rate_unit for r in data.rooflines for peak in r.peaks] or _slopes(data, intensities)
    rates = [*(p.per_second / data.rate_unit for p in points), *(h / data.rate_unit for h in heights)]
    # The slope below the leftmost ridge carries the labels, so it gets most of two decades.
    left = min([min(ridges) / (4 if data.percent else 60), *(i / 4 for i in intensities)])
    # The text of an instruction peak stands on its line; those of types of operation stand right of the axes.
    decade, space = 10.0, 16.0
    right = (
        max(max(ridges) * space, max(intensities, default=0.0) * 5)
        if data.units.transactions
        else (max(*ridges, *intensities) * decade)
    )
    right = max(intensities) * 5 if data.percent else right
    bottom = min([min(peaks) / 300, *(r / 5 for r in rates)])
    text_share = _PEAK_TEXT / (ax.get_window_extent().height * 72 / ax.figure.dpi)
    above_peak = (max(peaks) / bottom) ** (text_share / (1 - text_share))
    top = max([max(peaks) * max(2.2, above_peak), *(r * 2.5 for r in rates)])
    log_axes(ax, data.options.xlim or (left, right), data.options.ylim or (bottom, top))


def _slopes(data: PlotData, intensities: Sequence[float]) -> list[float]:
    """Heights of the slopes at the points, or at intensity 1: what stands for peaks where none is known."""
    heights = (
        roofline.attainable(level, intensity)
        for roofline in data.rooflines
        for level in data.roof_levels
        for intensity in intensities or (1.0,)
    )
    return [height / data.rate_unit for height in heights if height] or [1.0]


def log_axes(ax: Axes, x_limits: tuple[float, float], y_limits: tuple[float, float]) -> None:
    """Logarithmic scales between these limits."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*x_limits)
    ax.set_ylim(*y_limits)


def dress(ax: Axes, x_name: str, y_name: str, tick: Callable[[float], str] | None = None) -> None:
    """Decade ticks (written by ``tick``, None: as plain numbers), axis names and grid."""
    _decade_ticks(ax.xaxis, ax.get_xlim(), tick, width_of(ax))
    _decade_ticks(ax.yaxis, ax.get_ylim(), tick)
    name_axes(ax, x_name, y_name)


def name_axes(ax: Axes, x_name: str, y_name: str) -> None:
    """Axis names and a light grid, without the lines at the top and on the right."""
    ax.set_xlabel(x_label(x_name, width_of(ax)))
    ax.set_ylabel(y_name if text.width(y_name, LABEL_SIZE) <= height_of(ax) + _BESIDE else y_name.partition(" (")[0])
    ax.grid(which="major", color="#D8D8D8", linewidth=0.6)
    ax.grid(which="minor", color="#EFEFEF", linewidth=0.4)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", direction="out", color=FAINT)
    ax.spines[["top", "right"]].set_visible(False)


def _decade_ticks(
    axis: Axis, limits: tuple[float, float], tick: Callable[[float], str] | None, length: float | None = None
) -> None:
    """Ticks at decades, as many as their labels have space for on ``length`` points (None: any number)."""
    low, high = limits
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / _MOST_TICKS))
    if tick and length:
        widest = max((text.width(tick(10.0**d), _TICK_SIZE) for d in range(first, last + 1)), default=0.0)
        step = max(step, math.ceil((widest + _TICK_GAP) * math.log10(high / low) / length))
    decades = range(first, last + 1, step)
    ticks = [10.0**d for d in decades]
    for steps in ((1, 2, 5), range(1, 10)):
        if len(ticks) < _FEWEST_TICKS:  # limits of the user within a decade or two
            ticks = [n * 10.0**d for d in range(first - 1, last + 1) for n in steps if low <= n * 10.0**d <= high]
    write = tick or tick_writer(decades)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    minor = [10.0**d * n for d in range(first - 1, last + 1) for n in range(2, 10)] if step == 1 else []
    axis.set_minor_locator(FixedLocator([m for m in minor if low < m < high]))
    axis.set_minor_formatter(NullFormatter())


def x_label(name: str, limit: float) -> str:
    """The name of the x axis, on two lines where it is wider than ``limit`` points."""
    return name if text.width(name, LABEL_SIZE) <= limit else name.replace(" (", "\n(")


_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def tick_writer(decades: Sequence[int]) -> Callable[[float], str]:
    """How the ticks of one axis are written: all as 0.01, 1, 100, or where one would be long all as 10⁻², 10⁰, 10²."""
    short = all(-3 <= decade <= 3 for decade in decades)  # noqa: PLR2004  plain numbers of at most five characters

    def write(value: float) -> str:
        decade = round(math.log10(value), 6)
        if short or decade != round(decade):
            return f"{value:.6g}"
        return f"10{str(round(decade)).translate(_SUPERSCRIPTS)}"

    return write


# --- positions --------------------------------------------------------------------------


def width_of(ax: Axes) -> float:
    """Width of the axes in points."""
    return float(ax.get_window_extent().width * 72 / ax.figure.dpi)


def height_of(ax: Axes) -> float:
    """Height of the axes in points."""
    return float(ax.get_window_extent().height * 72 / ax.figure.dpi)


def to_points(ax: Axes, x: float, y: float) -> Position:
    """Data coordinates to points from the figure's corner."""
    across, up = ax.transData.transform((x, y)) * 72 / ax.figure.dpi
    return float(across), float(up)


def to_data(ax: Axes, position: Position) -> Position:
    """The reverse of ``to_points``."""
    x, y = ax.transData.inverted().transform((position[0] * ax.figure.dpi / 72, position[1] * ax.figure.dpi / 72))
    return float(x), float(y)


def line_obstacles(ax: Axes) -> Obstacles:
    """Every line drawn so far, within the bounds of the axes."""
    area, point = ax.get_window_extent(), ax.figure.dpi / 72
    inset = 0.5
    low, high = (area.x0 / point + inset, area.y0 / point + inset), (area.x1 / point - inset, area.y1 / point - inset)
    obstacles = Obstacles((*low, *high))
    for line in ax.get_lines():
        if line.get_linestyle() == "None":
            continue
        ends = [to_points(ax, x, y) for x, y in line.get_xydata().tolist()]  # type: ignore[union-attr]
        for start, end in pairwise(ends):
            obstacles.add(chain(start, end, 1.0), LINE)
    return obstacles
