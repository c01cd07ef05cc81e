"""The picture of a calibration: bandwidth against working set, and against block size and access width."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from roofctl.core.errors import InputError
from roofctl.core.units import BINARY_PREFIXES, DECIMAL_PREFIXES, prefixed
from roofctl.plots.axes import line_obstacles, name_axes, to_points
from roofctl.plots.frame import Frame, FrameText, Panel
from roofctl.plots.labels import add_markers, along_line, write_along
from roofctl.plots.legend import LegendEntry, draw_legend, handle
from roofctl.plots.page import settings
from roofctl.plots.placement import Obstacles
from roofctl.plots.style import FAINT, KERNEL_COLORS, PlotOptions

Points = Sequence[tuple[float, float]]

_SIZE: Final = (3.2, 3.6)
"""Inches of a panel whose share of the width is 1."""

_WIDER: Final = 1.5
_Y_NAME: Final = "Bandwidth (TB/s)"
_MARKERS: Final = ("o", "s", "^", "D")
_TERA: Final = DECIMAL_PREFIXES["T"]
_MARGIN: Final = 2**0.5
"""Free space at both ends of an x axis, as a factor."""


@dataclass(frozen=True)
class SweepPicture:
    """What is drawn: series as (x, bytes per second), ceilings by label, sizes of the caches in bytes by label."""

    title: str
    subtitle: str = ""
    working_set: Mapping[str, Points] = field(default_factory=dict)
    block: Mapping[str, Points] = field(default_factory=dict)
    width: Mapping[str, Points] = field(default_factory=dict)
    size: Mapping[str, Points] = field(default_factory=dict)
    ceilings: Mapping[str, float] = field(default_factory=dict)
    capacities: Mapping[str, float] = field(default_factory=dict)


def draw(picture: SweepPicture) -> Figure:
    """The figure; only panels that have data. Raises InputError when none has."""
    choices = (
        (picture.working_set, Panel("working set of all SMs", share=_WIDER)),
        (picture.block, Panel("threads per block")),
        (picture.width, Panel("bytes per access")),
        (picture.size, Panel("working set of a mix")),
    )
    chosen = [(series, panel) for series, panel in choices if any(series.values())]
    if not chosen:
        raise InputError("there is no sweep to draw", hint="measure the hbm level, without --quick: --level hbm --plot")
    panels = [panel for _, panel in chosen]
    with settings():
        size = (_SIZE[0] * sum(panel.share for panel in panels), _SIZE[1])
        frame = Frame.blank(FrameText(picture.title, picture.subtitle), panels, PlotOptions(size=size))
        for ax, (series, panel) in zip(frame.axes, chosen, strict=True):
            if series is picture.working_set:
                _draw_working_set(ax, picture, panel.x_name)
            else:
                _draw_setting(ax, series, panel.x_name, _size_text if series is picture.size else "{:g}".format)
        return frame.finish()


def _draw_working_set(ax: Axes, picture: SweepPicture, x_name: str) -> None:
    """Bandwidth against working set, with the ceilings of the levels and the sizes of the caches."""
    sizes = [x for points in picture.working_set.values() for x, _ in points] + list(picture.capacities.values())
    rates = [rate for points in picture.working_set.values() for _, rate in points] + list(picture.ceilings.values())
    left, right = min(sizes) / _MARGIN, max(sizes) * _MARGIN
    bottom, top = min(rates) / 2, max(rates) * 1.4
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    _set_ticks(ax.xaxis, [4.0**n for n in range(25) if left <= 4.0**n <= right], _size_text)
    _set_ticks(
        ax.yaxis, [n * 10.0**d for d in range(16) for n in (1, 2, 5) if bottom <= n * 10.0**d <= top], _rate_text
    )
    name_axes(ax, x_name, _Y_NAME)
    entries = _draw_series(ax, picture.working_set)
    for value in picture.ceilings.values():
        ax.plot([left, right], [value, value], color=FAINT, linewidth=0.7, linestyle=(0, (4, 2)), gid="ceiling")
    for size in picture.capacities.values():
        ax.plot([size, size], [bottom, top], color=FAINT, linewidth=0.6, linestyle=":", gid="capacity")
    obstacles = _obstacles(ax, picture.working_set)
    for label, value in picture.ceilings.items():
        ends = to_points(ax, left, value), to_points(ax, right, value)
        placed = along_line(*ends, f"{label} {prefixed(value, 'B/s', 3)}", obstacles, backwards=True)
        write_along(ax, placed, obstacles, color=FAINT, gid="ceiling-label")
    for label, size in picture.capacities.items():
        placed = along_line(to_points(ax, size, bottom), to_points(ax, size, top), label, obstacles)
        write_along(ax, placed, obstacles, color=FAINT, gid="capacity-label")
    draw_legend(ax, entries, obstacles, inside=True)


def _draw_setting(ax: Axes, series: Mapping[str, Points], x_name: str, tick: Callable[[float], str]) -> None:
    """Bandwidth against one setting of the kernel, whose values ``tick`` writes, from 0."""
    values = sorted({x for points in series.values() for x, _ in points})
    ax.set_xscale("log", base=2)
    ax.set_xlim(values[0] / _MARGIN, values[-1] * _MARGIN)
    ax.set_ylim(0, 1.12 * max(y for points in series.values() for _, y in points))
    _set_ticks(ax.xaxis, values, tick)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: _rate_text(rate)))
    name_axes(ax, x_name, _Y_NAME)
    entries = _draw_series(ax, series)
    draw_legend(ax, entries, _obstacles(ax, series), inside=True)


def _draw_series(ax: Axes, series: Mapping[str, Points]) -> list[LegendEntry]:
    """A line per series that has data; returns the legend."""
    entries: list[LegendEntry] = []
    for index, (name, points) in enumerate(series.items()):
        if points:
            xs, ys = zip(*points, strict=True)
            look = {
                "color": KERNEL_COLORS[index % len(KERNEL_COLORS)],
                "marker": _MARKERS[index % len(_MARKERS)],
                "markersize": 3.5,
                "linewidth": 1.2,
            }
            ax.plot(xs, ys, **look, gid="series")  # type: ignore[arg-type]
            entries.append(LegendEntry(handle(**look, linestyle="-"), name))
    return entries


def _obstacles(ax: Axes, series: Mapping[str, Points]) -> Obstacles:
    """The lines and the markers of the series."""
    obstacles = line_obstacles(ax)
    add_markers([to_points(ax, x, y) for points in series.values() for x, y in points], obstacles)
    return obstacles


def _set_ticks(axis: Axis, values: Sequence[float], text: Callable[[float], str]) -> None:
    axis.set_major_locator(FixedLocator(values))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_locator(NullLocator())


def _rate_text(rate: float) -> str:
    """A rate in units of the y axis: 0.5, 10."""
    return f"{rate / _TERA:g}"


def _size_text(size: float) -> str:
    """A power of two in bytes: 4 KiB, 64 MiB."""
    for prefix, factor in reversed(BINARY_PREFIXES.items()):
        if size >= factor:
            return f"{size / factor:g} {prefix}B"
    return f"{size:g} B"
