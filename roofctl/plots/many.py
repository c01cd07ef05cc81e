"""Many kernels on one roofline: colours, marker sizes, labels and the legend.

Up to ``MOST_NAMED`` kernels have their names beside their points. Of more, the longest have a number, a colour and a
line of the table, and a marker whose area is their part of the time; the others are small and grey.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from roofctl.plots.axes import line_obstacles
from roofctl.plots.data import PlotData, type_text
from roofctl.plots.labels import Named, add_markers, label_points, name_points, position_of
from roofctl.plots.legend import LegendEntry, filled, handle
from roofctl.plots.outliers import Outlier
from roofctl.plots.placement import Obstacles
from roofctl.plots.points import (
    draw_outlier,
    draw_point,
    draw_spread,
    group_entries,
    issued_entry,
    other_count,
    remarks,
)
from roofctl.plots.style import FAINT, INK, KERNEL_COLORS, MOST_NAMED, REST, ceiling_look, level_look, work_color
from roofctl.roofline.model import KernelPoints, Point

_SIZE: Final = 6.5
_REST_SIZE: Final = 4.0
_SMALLEST: Final = 5.0
_LARGEST: Final = 15.0
"""Markers in points: of few kernels, of those without a label, and the range of those whose area is a share."""


def is_numbered(data: PlotData) -> bool:
    """Whether kernels are distinguished by numbers: there are too many for a name each."""
    return len(data.drawn) > MOST_NAMED


def color_of(data: PlotData, index: int) -> str:
    """A kernel's colour: the user's, else of several groups that of its group, else in the FLOP model that of its type.

    Else it is its own: the same for all kernels of one number, grey without a label.
    """
    kernel, labeled = data.kernels[index], data.labeled
    if own := data.options.kernel_style(kernel).color:
        return own
    if data.hues:
        return data.hues[data.owners[index]]
    if index not in labeled:
        return REST
    if data.colors:
        return data.colors[data.numbers[index]]
    if data.typed:
        return work_color(kernel.work)
    order = list(dict.fromkeys(data.numbers[each] for each in labeled))
    return KERNEL_COLORS[order.index(data.numbers[index]) % len(KERNEL_COLORS)]


def size_of(data: PlotData, index: int, level: str) -> float:
    """Diameter of a kernel's marker in points: of many kernels its area is the kernel's part of the time."""
    # Several levels may share a position: each is drawn smaller than the one below it.
    factor = level_look(level, data.options).size / 8.0 if len(data.levels) > 1 else 1.0
    if not is_numbered(data):
        return _SIZE * factor
    if index not in data.labeled:
        return _REST_SIZE * factor
    share = data.kernels[index].time_share
    return _SIZE * factor if share is None else min(max(_LARGEST * math.sqrt(2 * share), _SMALLEST), _LARGEST) * factor


def draw_multi(ax: Axes, data: PlotData, outliers: Sequence[Outlier]) -> None:
    """Every kernel's points: the shape is the level, the colour the kernel or the type of operation."""
    far = {id(outlier.point) for outlier in outliers}
    for index, kernel in enumerate(data.kernels):
        color, labeled = color_of(data, index), index in data.labeled
        points = [point for point in data.points_of(kernel) if id(point) not in far]
        if len(points) > 1 and labeled:
            height = points[0].per_second / data.rate_unit
            ends = [min(p.intensity for p in points), max(p.intensity for p in points)]
            ax.plot(ends, [height, height], color=color, linewidth=0.7, alpha=0.6, gid="join", zorder=3)
        for point in points:
            _draw_kernel(ax, kernel, point, index, data)
    for outlier in (each for each in outliers if not each.hidden):
        draw_outlier(ax, outlier, color_of(data, outlier.index))


def _draw_kernel(ax: Axes, kernel: KernelPoints, point: Point, index: int, data: PlotData) -> None:
    color, style, labeled = color_of(data, index), data.options.kernel_style(kernel), index in data.labeled
    level = level_look(point.level, data.options)
    look = replace(level, color=color, marker=style.marker or level.marker, size=size_of(data, index, point.level))
    if labeled:
        _draw_issued(ax, kernel, point, color, data)
        draw_spread(ax, kernel, point, color, data)
    draw_point(ax, point, look, INK if labeled else "white", data, zorder=5.0 if labeled else 4.0)


def _draw_issued(ax: Axes, kernel: KernelPoints, point: Point, color: str, data: PlotData) -> None:
    """A short dashed line above (or below) a point, at the rate of the other count of instructions."""
    if other := other_count(kernel):
        reach, rate = 1.35, other[0] / data.rate_unit
        ends = [point.intensity / reach, point.intensity * reach]
        ax.plot(ends, [rate, rate], color=color, linewidth=1.2, linestyle=(0, (3, 1.5)), gid="issued", zorder=3)


def marker_obstacles(ax: Axes, data: PlotData, outliers: Sequence[Outlier]) -> Obstacles:
    """Every line drawn so far, and the markers."""
    obstacles, far = line_obstacles(ax), {id(outlier.point) for outlier in outliers}
    for index in data.drawn:
        for point in data.points_of(data.kernels[index]):
            if id(point) not in far:
                add_markers([position_of(ax, point, data)], obstacles, size_of(data, index, point.level) + 1.5)
    add_markers([outlier.position(ax) for outlier in outliers if not outlier.hidden], obstacles)
    return obstacles


def write_names(ax: Axes, data: PlotData, obstacles: Obstacles) -> bool:
    """Write each kernel's name beside its rightmost point; False, and nothing written, where a name has no place."""
    names: list[Named] = []
    for index in data.drawn:
        kernel = data.kernels[index]
        right = max(data.points_of(kernel), key=lambda point: point.intensity)
        names.append(Named(position_of(ax, right, data), data.names[index] + type_text(kernel), color_of(data, index)))
    return name_points(ax, names, obstacles)


def write_numbers(ax: Axes, data: PlotData, outliers: Sequence[Outlier], obstacles: Obstacles) -> None:
    """The number of each labeled kernel beside its points, and the values of points at the edge."""
    far = {id(outlier.point): outlier for outlier in outliers}
    numbered = [
        (position_of(ax, point, data), data.numbers[index], _radius(data, index, point))
        for index in data.labeled
        for point in (*data.points_of(data.kernels[index]), *(data.accesses[index].points if data.accesses else ()))
        if id(point) not in far
    ]
    values = [
        (
            outlier.position(ax),
            ": ".join(filter(None, [_number(data, outlier.index), outlier.text])),
        )
        for outlier in outliers
        if not outlier.hidden
    ]
    label_points(ax, numbered, values, obstacles)


def _radius(data: PlotData, index: int, point: Point) -> float:
    """Of a marker, in points: those of accesses have all one size."""
    return size_of(data, index, point.level) / 2 if point.level in data.levels else _SIZE / 2


def _number(data: PlotData, index: int) -> str:
    return str(data.numbers[index]) if index in data.labeled else ""


def entries(data: PlotData, *, kernels: bool) -> list[LegendEntry]:
    """The legend: ``kernels`` with a line per kernel, and what colours, shapes, lines and sizes mean."""
    found = [*group_entries(data), *(_kernel_entries(data) if kernels else [])]
    for name in data.levels:
        marker = filled(level_look(name, data.options).marker, FAINT)
        if len(data.levels) > 1 or name in data.roof_levels or data.percent:
            found.append(LegendEntry(marker, fixed=level_text(name, data)))
    found += [_roof_entry(name, data) for name in data.roof_levels if name not in data.levels]
    lines = dict.fromkeys(other[1] for i in data.labeled if (other := other_count(data.kernels[i])))
    found += [issued_entry(name) for name in lines]
    if is_numbered(data) and any(data.kernels[i].time_share is not None for i in data.labeled):
        whose = "of its capture's time" if data.owners or data.colors else "of the time"
        found.append(LegendEntry(filled("o", "white"), fixed=f"area: share {whose}"))
    return [*found, *remarks(data)]


def level_text(level: str, data: PlotData) -> str:
    """A level's name with its rate: along its line there may be no space for the rate."""
    bandwidth, name = data.rooflines[0].bandwidth(level), data.label(level)
    if level not in data.roof_levels or data.groups:
        return name
    return f"{name}, {data.units.bandwidth(bandwidth.bytes_per_second)}" if bandwidth else name


def _roof_entry(level: str, data: PlotData) -> LegendEntry:
    """The line of a level that has no points in the picture."""
    look = ceiling_look(level, data.options, colored=False)
    return LegendEntry(handle(color=look.color, linestyle=look.dashes, linewidth=1.3), fixed=level_text(level, data))


def _kernel_entries(data: PlotData) -> list[LegendEntry]:
    """Colour and number of each labeled kernel: the number serves readers in grey."""
    return [
        LegendEntry(
            sample(color_of(data, index), data.options.kernel_style(data.kernels[index]).marker),
            f"{data.numbers[index]}  {data.names[index]}",
            type_text(data.kernels[index]),
        )
        for index in first_of_numbers(data)
    ]


def first_of_numbers(data: PlotData) -> tuple[int, ...]:
    """Indices of the labeled kernels, of those with one number the first."""
    first: dict[int, int] = {}
    for index in data.labeled:
        first.setdefault(data.numbers[index], index)
    return tuple(first.values())


def sample(color: str, marker: str | None) -> Line2D:
    """A kernel's symbol in the legend: a patch of its colour, or its own marker."""
    if marker:
        return filled(marker, color)
    return handle(color=color, linestyle="-", linewidth=5, solid_capstyle="butt")
