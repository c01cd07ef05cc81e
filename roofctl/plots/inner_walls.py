"""Memory walls inside the instruction roofline, after Ding & Williams (PMBS 2019).

Global accesses count requests against 32-byte sectors at L1, in the units of both axes, so loads and stores of a kernel
stand in the same picture as its instructions. Wavefronts of shared memory are of 128 bytes and do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from matplotlib.axes import Axes

from roofctl.plots.axes import to_points
from roofctl.plots.data import PlotData, positive
from roofctl.plots.labels import LINE_TEXT_SIZE, add_markers, along_line, position_of, write_along
from roofctl.plots.legend import LegendEntry, filled, handle
from roofctl.plots.placement import Obstacles
from roofctl.plots.points import draw_marker
from roofctl.plots.style import FAINT, INK, REST, level_look
from roofctl.roofline.model import GLOBAL_WALLS, KernelPoints, Point, Wall

_MARKERS: Final = {"load": "v", "store": "D"}
_SIZES: Final = {"load": 6.5, "store": 5.0}
_REST_SIZE: Final = 3.5
_LABEL_GAPS: Final = (0.8, -0.8)
"""Text heights between a wall and its name."""


def with_accesses(data: PlotData, accesses: Sequence[KernelPoints]) -> PlotData:
    """The data with the global accesses of its kernels, in their order."""
    drawable = tuple(
        replace(each, points=tuple(p for p in each.points if positive(p.intensity) and positive(p.per_second)))
        for each in accesses
    )
    return replace(data, accesses=drawable)


def draw_walls(ax: Axes, data: PlotData) -> None:
    """Each wall from the bottom up to the roof of L1, where that is known."""
    for wall in GLOBAL_WALLS if data.accesses else ():
        ax.plot(
            [wall.intensity] * 2,
            [ax.get_ylim()[0], _top(ax, wall, data)],
            color=INK if wall.main else FAINT,
            linewidth=0.9 if wall.main else 0.6,
            linestyle="-" if wall.main else (0, (2, 2)),
            gid="wall-global",
            zorder=1.8,
        )


def _top(ax: Axes, wall: Wall, data: PlotData) -> float:
    roof = data.rooflines[0].attainable("l1", wall.intensity)
    return min(roof / data.rate_unit if roof else ax.get_ylim()[1], ax.get_ylim()[1])


def draw_accesses(ax: Axes, data: PlotData, colors: Sequence[str]) -> None:
    """Loads and stores of each kernel, in its colour; small and grey those of kernels without a label."""
    for each, color in zip(data.accesses, colors, strict=True):
        for point in each.points:
            access = point.level.rpartition(" ")[2]
            look = replace(level_look("l1", data.options), color=color, marker=_MARKERS[access], size=_SIZES[access])
            at, gid = (point.intensity, point.per_second / data.rate_unit), f"access-{access}"
            if color == REST:
                draw_marker(ax, at, replace(look, size=_REST_SIZE), "white", hollow=False, gid=gid, zorder=4.0)
            else:
                draw_marker(ax, at, look, INK, hollow=bool(point.caveat), gid=gid, zorder=4.8)


def add_accesses(ax: Axes, data: PlotData, obstacles: Obstacles) -> None:
    """Make obstacles of the markers of loads and stores."""
    add_markers([position_of(ax, point, data) for point in access_points(data)], obstacles)


def access_points(data: PlotData) -> list[Point]:
    """All loads and stores that are drawn."""
    return [point for each in data.accesses for point in each.points]


def label_walls(ax: Axes, data: PlotData, obstacles: Obstacles) -> None:
    """The name of each wall along it, from the bottom, where it covers nothing."""
    for wall in GLOBAL_WALLS if data.accesses else ():
        start = to_points(ax, wall.intensity, ax.get_ylim()[0])
        end = to_points(ax, wall.intensity, _top(ax, wall, data))
        name = wall.name.replace("\u00a0", " ")
        placed = along_line(start, end, name, obstacles, lifts=_LABEL_GAPS)
        if placed.free and end[1] - start[1] > LINE_TEXT_SIZE:
            write_along(ax, placed, obstacles, color=INK if wall.main else FAINT, gid="wall-label")


def entries(data: PlotData) -> list[LegendEntry]:
    """The legend of loads, stores and walls."""
    seen = {point.level for point in access_points(data)}
    found = [
        LegendEntry(filled(marker, FAINT), fixed=f"global {access}s")
        for access, marker in _MARKERS.items()
        if f"global {access}" in seen
    ]
    return [*found, LegendEntry(handle(linestyle="-", linewidth=0.9, color=INK), fixed="memory walls")] if found else []
