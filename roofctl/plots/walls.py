"""Memory walls: accesses of kernels against the vertical lines of known access patterns.

After Ding & Williams (PMBS 2019). A panel each for global and for shared memory, because a
transaction is a 32-byte sector in one and a 128-byte wavefront in the other.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from roofctl.core.errors import InputError
from roofctl.core.units import SECTOR_BYTES, WAVEFRONT_BYTES
from roofctl.plots import text
from roofctl.plots.axes import dress, line_obstacles, log_axes, to_points, width_of
from roofctl.plots.axis_units import rate_text
from roofctl.plots.ceilings import Stroke, strokes
from roofctl.plots.data import PlotData, compose, for_whom, label_some
from roofctl.plots.frame import Frame, FrameText, Panel
from roofctl.plots.kernel_table import lay_out_table
from roofctl.plots.labels import add_markers, along_line, number_points, position_of, write_along
from roofctl.plots.legend import LegendEntry, filled
from roofctl.plots.page import settings
from roofctl.plots.placement import Obstacles
from roofctl.plots.points import draw_marker, group_entries, hollow_entries, remarks
from roofctl.plots.style import FAINT, INK, KERNEL_COLORS, REST, PlotOptions, group_hues, level_look
from roofctl.roofline.model import GLOBAL_WALLS, SHARED_WALLS, Bandwidth, KernelPoints, Point, Roofline, Wall

_ABOVE: Final = 46.0
"""Points above the axes for the panel's title and the names of the walls."""

_Y_NAME: Final = "Memory instructions (warp GIPS)"
_X_LIMITS: Final = (1 / 90, 2.6)
_WALL_SIZE: Final = 7.0
_REST_SIZE: Final = 4.0
_MARKER_SIZE: Final = 7.0
_NAME_CHARACTERS: Final = 11
_NARROW_PANEL: Final = 230.0
_NARROW_CHARACTERS: Final = 8
"""Characters in a line of a wall's name, and in panels of less width (points)."""

_REASONS: Final = 4
_MARKERS: Final[Mapping[str, str]] = {"load": "v", "store": "^"}


@dataclass(frozen=True)
class _Space:
    """An address space: the text of its panel, the level of its ceiling, the bytes of a transaction, its walls."""

    name: str
    panel: Panel
    level: str
    ceiling: str
    transaction_bytes: int
    walls: tuple[Wall, ...]

    def bandwidth(self, roofline: Roofline) -> Bandwidth | None:
        return roofline.shared if self.level == "shared" else roofline.bandwidth(self.level)

    def attainable(self, roofline: Roofline, bandwidth: Bandwidth, intensity: float) -> float:
        """Memory instructions per second below the roof."""
        slope = bandwidth.bytes_per_second / self.transaction_bytes * intensity
        return min(roofline.peak.per_second, slope) if roofline.peak else slope

    def ridge(self, roofline: Roofline, bandwidth: Bandwidth) -> float:
        """Intensity where the roof meets the peak; without a peak the right end of the axis."""
        if roofline.peak is None:
            return _X_LIMITS[1]
        return roofline.peak.per_second / (bandwidth.bytes_per_second / self.transaction_bytes)


_SPACES: Final = {
    "global": _Space(
        name="global",
        panel=Panel("Global requests per 32-byte sector", "Global memory at L1"),
        level="l1",
        ceiling="L1",
        transaction_bytes=SECTOR_BYTES,
        walls=GLOBAL_WALLS,
    ),
    "shared": _Space(
        name="shared",
        panel=Panel("Shared instructions per 128-byte wavefront", "Shared memory"),
        level="shared",
        ceiling="Shared",
        transaction_bytes=WAVEFRONT_BYTES,
        walls=SHARED_WALLS,
    ),
}


@dataclass(frozen=True)
class _WallData:
    """The data of the picture; ``drawn`` are indices of the kernels that have a point."""

    plot: PlotData
    spaces: tuple[_Space, ...]
    drawn: tuple[int, ...]

    def points(self, space: _Space) -> list[tuple[int, Point]]:
        """The points of a space, each with the index of its kernel."""
        return [(i, point) for i in self.drawn for point in self.plot.kernels[i].points if point.work == space.name]

    @property
    def labeled(self) -> tuple[int, ...]:
        """Indices of the kernels that get a number: of many the longest."""
        return label_some(self.drawn, self.plot.kernels, self.plot.options)

    def color(self, index: int) -> str:
        """The kernel's colour, grey without a number."""
        if own := self.plot.options.kernel_style(self.plot.kernels[index]).color:
            return own
        labeled = self.labeled
        return KERNEL_COLORS[labeled.index(index) % len(KERNEL_COLORS)] if index in labeled else REST


def walls(
    rooflines: Sequence[Roofline],
    kernels: Sequence[KernelPoints],
    spaces: Sequence[str],
    options: PlotOptions,
    *,
    names: Sequence[str] = (),
) -> Figure:
    """The figure; a point's ``work`` is its space and its ``level`` the access, such as ``global load``.

    ``names`` are those of the rooflines where they are of one GPU at several clocks.
    Raises InputError when no kernel has a point.
    """
    check_accesses(kernels, spaces)
    drawn = tuple(index for index, kernel in enumerate(kernels) if kernel.points)
    with settings(options.font):
        plot = compose(rooflines[:1] if names else rooflines, kernels, options)
        if names:
            plot = replace(plot, rooflines=tuple(rooflines), groups=tuple(names), hues=group_hues(len(names)))
        wanted = tuple(_SPACES[name] for name in spaces)
        # A panel without a point would be an empty one: a footnote says why.
        seen = {point.work for kernel in kernels for point in kernel.points}
        data = _WallData(plot, tuple(space for space in wanted if space.name in seen), drawn)
        rest = [index for index in drawn if index not in data.labeled]
        table = lay_out_table(data.plot, data.labeled, rest, data.color)
        labels = FrameText(
            "Memory walls" if options.title is None else options.title, options.subtitle, _footnotes(data, wanted)
        )
        panels = [space.panel for space in data.spaces]
        frame = Frame.blank(labels, panels, options, table=table, above=_ABOVE)
        limits = _rate_limits(data)
        for ax, space in zip(frame.axes, data.spaces, strict=True):
            obstacles = _draw_panel(ax, space, data, limits)
            if ax is frame.axes[-1]:
                frame.add_legend(_entries(data), obstacles)
            numbers = [
                (position_of(ax, point, data.plot), data.plot.numbers[index])
                for index, point in data.points(space)
                if index in data.labeled
            ]
            number_points(ax, numbers, obstacles)
        return frame.finish()


def check_accesses(kernels: Sequence[KernelPoints], spaces: Sequence[str]) -> None:
    """Raise InputError with the reasons when no kernel has an access to draw."""
    if any(kernel.points for kernel in kernels):
        return
    reasons = list(dict.fromkeys(f"{access}: {why}" for k in kernels for access, why in k.missing.items()))
    raise InputError(
        f"no kernel has a {' or '.join(spaces)} memory access to draw ({'; '.join(reasons[:_REASONS])})",
        hint="capture what is missing (roofctl profile --set default ./app), or draw the rooflines instead",
    )


def _rate_limits(data: _WallData) -> tuple[float, float]:
    """Limits of the y axis, the same in every panel."""
    unit = data.plot.rate_unit
    rates = [point.per_second / unit for index in data.drawn for point in data.plot.kernels[index].points]
    peaks = [roofline.peak.per_second / unit for roofline in data.plot.rooflines if roofline.peak]
    tops = [max(peaks)] if peaks else []
    low = min([*(top / 1000 for top in tops), *(rate / 4 for rate in rates)])
    return low, max([*(top * 2 for top in tops), *(rate * 2 for rate in rates)])


def _draw_panel(ax: Axes, space: _Space, data: _WallData, limits: tuple[float, float]) -> Obstacles:
    """Roofs, walls and points of one space; the result holds them as obstacles."""
    plot = data.plot
    log_axes(ax, _X_LIMITS, limits)
    dress(ax, space.panel.x_name, _Y_NAME)
    roofs = [(roofline, b) for roofline in plot.rooflines if (b := space.bandwidth(roofline)) is not None]
    color = level_look(space.level, plot.options).color
    for index, (roofline, stroke) in enumerate(strokes(plot)):
        if bandwidth := space.bandwidth(roofline):
            _draw_roof(ax, space, roofline, bandwidth, stroke, plot, plot.hues[index] if plot.hues else color)
    for wall in space.walls:
        tops = [space.attainable(roofline, bandwidth, wall.intensity) / plot.rate_unit for roofline, bandwidth in roofs]
        _draw_wall(ax, space, wall, max(tops, default=limits[1]))
    obstacles = line_obstacles(ax)
    points = data.points(space)
    add_markers([position_of(ax, point, plot) for _, point in points], obstacles)
    _label_roofs(ax, space, roofs, plot, obstacles)
    for index, point in points:
        access = point.level.rpartition(" ")[2]
        marker = plot.options.kernel_style(plot.kernels[index]).marker or _MARKERS[access]
        look = replace(level_look(space.level, plot.options), color=data.color(index), marker=marker, size=_MARKER_SIZE)
        at, gid = (point.intensity, point.per_second / plot.rate_unit), f"point-{point.level.replace(' ', '-')}"
        labeled = index in data.labeled
        look = look if labeled else replace(look, size=_REST_SIZE)
        edge, order = (INK, 5.0) if labeled else ("white", 4.0)
        draw_marker(ax, at, look, edge, hollow=bool(point.caveat), gid=gid, zorder=order)
    return obstacles


def _draw_roof(
    ax: Axes, space: _Space, roofline: Roofline, bandwidth: Bandwidth, stroke: Stroke, plot: PlotData, color: str
) -> None:
    ridge = space.ridge(roofline, bandwidth)
    xs = sorted({_X_LIMITS[0], min(ridge, _X_LIMITS[1]), _X_LIMITS[1]})
    ax.plot(
        xs,
        [space.attainable(roofline, bandwidth, x) / plot.rate_unit for x in xs],
        color=color,
        linewidth=stroke.width,
        linestyle=stroke.dashes or "-",
        alpha=stroke.alpha,
        gid=f"roof-{space.name}-{roofline.basis}",
        zorder=2.1,
    )


def _draw_wall(ax: Axes, space: _Space, wall: Wall, top: float) -> None:
    """A wall up to the roof, its name and value above the axes: inside, numbers of kernels need the space."""
    ax.plot(
        [wall.intensity] * 2,
        [ax.get_ylim()[0], top],
        color=INK if wall.main else FAINT,
        linewidth=1.1 if wall.main else 0.6,
        linestyle="-" if wall.main else (0, (2, 2)),
        gid=f"wall-{space.name}",
        zorder=2,
    )
    narrow = width_of(ax) < _NARROW_PANEL
    lines = textwrap.wrap(wall.name, _NARROW_CHARACTERS if narrow else _NAME_CHARACTERS)
    lines = [] if narrow and not wall.main else lines  # its value says enough
    ax.annotate(
        "\n".join([*lines, _fraction_text(wall.intensity)]),
        (wall.intensity, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=_WALL_SIZE,
        color=INK if wall.main else FAINT,
        gid="wall-label",
    )


def _fraction_text(value: float) -> str:
    """1, 1/4, 1/32."""
    return "1" if value == 1 else f"1/{round(1 / value)}"


def _label_roofs(
    ax: Axes, space: _Space, roofs: Sequence[tuple[Roofline, Bandwidth]], plot: PlotData, obstacles: Obstacles
) -> None:
    """The bandwidth along the upper roof."""
    if not roofs:
        return
    rates = [bandwidth.bytes_per_second / space.transaction_bytes / plot.rate_unit for _, bandwidth in roofs]
    several = f"{rate_text(min(rates))}–{rate_text(max(rates))}" if plot.groups else ""
    label = f"{space.ceiling} {several or ' of '.join(map(rate_text, rates))} GTXN/s"
    roofline, bandwidth = max(roofs, key=lambda roof: roof[1].bytes_per_second)
    ridge = space.ridge(roofline, bandwidth)
    start, end = (
        to_points(ax, x, space.attainable(roofline, bandwidth, x) / plot.rate_unit)
        for x in (_X_LIMITS[0], min(ridge, _X_LIMITS[1]))
    )
    color = level_look(space.level, plot.options).color
    write_along(ax, along_line(start, end, label, obstacles), obstacles, color=color, gid="roof-label")


def _entries(data: _WallData) -> list[LegendEntry]:
    """The legend: markers of loads and stores, kinds of ceilings, hollow points."""
    accesses = [LegendEntry(filled(marker, FAINT), fixed=f"{access}s") for access, marker in _MARKERS.items()]
    points = [point for space in data.spaces for _, point in data.points(space)]
    return [*group_entries(data.plot), *accesses, *remarks(data.plot), *hollow_entries(points)]


def _footnotes(data: _WallData, wanted: Sequence[_Space]) -> list[str]:
    """Remarks of the caller, a line per missing ceiling, then one per space and reason for kernels without a point."""
    plot = data.plot
    lines = [
        f"no {roofline.basis} {space.ceiling} ceiling: {roofline.absent.get(space.level, 'not known for this GPU')}"
        for space in data.spaces
        for roofline in (plot.rooflines[:1] if plot.groups else plot.rooflines)
        if space.bandwidth(roofline) is None
    ]
    groups: dict[tuple[str, str], list[int]] = {}
    for index, kernel in enumerate(plot.kernels):
        for space in wanted:
            reasons = {why for access, why in kernel.missing.items() if access.startswith(space.name)}
            if reasons and not any(point.work == space.name for point in kernel.points):
                groups.setdefault((space.name, "; ".join(sorted(reasons))), []).append(index)
    lines += [f"no {name} point{for_whom(plot, members)}: {why}" for (name, why), members in groups.items()]
    return [text.plain(line) for line in (*plot.options.remarks, *lines)]
