"""The kernels on the axes: markers, the lines that belong to them, and their legend."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from matplotlib.axes import Axes

from roofctl.plots.axes import to_data
from roofctl.plots.data import PlotData, caveats, held_down
from roofctl.plots.legend import LegendEntry, handle
from roofctl.plots.outliers import Outlier
from roofctl.plots.style import ALARM, INK, LevelLook, level_look, work_color
from roofctl.roofline.model import KernelPoints, Point

_PREDICATED_FROM: Final = 1.01
_RING: Final = 5.0


def draw_marker(
    ax: Axes, at: tuple[float, float], look: LevelLook, edge: str, *, hollow: bool, gid: str, zorder: float = 5.0
) -> None:
    """One marker at data coordinates."""
    ax.plot(
        [at[0]],
        [at[1]],
        marker=look.marker,
        markersize=look.size,
        markerfacecolor="white" if hollow else look.color,
        markeredgecolor=look.color if hollow else edge,
        markeredgewidth=1.3 if hollow else 0.6,
        linestyle="None",
        clip_on=False,
        gid=gid,
        zorder=zorder,
    )


def draw_outlier(ax: Axes, outlier: Outlier, color: str) -> None:
    """An arrow at the edge of the axes, towards a point that lies beyond."""
    x, y = to_data(ax, outlier.position(ax))
    look = {"markerfacecolor": color, "markeredgecolor": INK, "markeredgewidth": 0.6, "clip_on": False}
    ax.plot([x], [y], marker=outlier.marker, markersize=6.5, linestyle="None", gid="outlier", zorder=5, **look)  # type: ignore[arg-type]


def draw_point(ax: Axes, point: Point, look: LevelLook, edge: str, data: PlotData, *, zorder: float = 5.0) -> None:
    """A point's marker: hollow when its traffic is not exact, ringed when it is above its roof."""
    x, y = point.intensity, point.per_second / data.rate_unit
    draw_marker(ax, (x, y), look, edge, hollow=bool(point.caveat), gid=f"point-{point.level}", zorder=zorder)
    if _above(data, point):
        ax.plot(
            [x],
            [y],
            marker="o",
            markersize=look.size + _RING,
            markerfacecolor="none",
            markeredgecolor=ALARM,
            markeredgewidth=1.2,
            linestyle="None",
            clip_on=False,
            gid="above-roof",
            zorder=4,
        )


def _above(data: PlotData, point: Point) -> bool:
    assessment = data.assess(point)
    return assessment is not None and assessment.above_roof


def group_entries(data: PlotData) -> list[LegendEntry]:
    """The colour of each group of captures, where colours distinguish groups."""
    names = data.groups if data.hues else ()
    return [
        LegendEntry(handle(color=hue, linestyle="-", linewidth=1.3, marker="o", markersize=5), name)
        for hue, name in zip(data.hues, names, strict=True)
    ]


def hollow_entries(points: Sequence[Point]) -> list[LegendEntry]:
    """Why points are hollow: a legend entry per different caveat."""
    longest = 36
    hollow = handle(marker="o", markersize=6, markerfacecolor="white", markeredgewidth=1.3)
    texts = [textwrap.wrap(f"hollow: {caveat}", longest) for caveat in caveats(points)]
    return [LegendEntry(hollow, fixed="\n".join(lines)) for lines in texts]


def remarks(data: PlotData, measured: str = "") -> list[LegendEntry]:
    """Legend entries of special points and ceilings: two sets of ceilings, points above a roof, hollow points."""
    entries: list[LegendEntry] = []
    if len(data.rooflines) > 1 and not data.groups:
        solid, dashed = {"linestyle": "-", "linewidth": 1.4}, {"linestyle": (0, (4, 2)), "linewidth": 1.0}
        entries.append(LegendEntry(handle(**solid, color=INK), fixed=f"{data.rooflines[0].basis} ceilings{measured}"))
        entries.append(LegendEntry(handle(**dashed, color=INK, alpha=0.6), fixed="theoretical ceilings"))
    if data.options.spread and any(kernel.rates for kernel in data.kernels):
        whisker = handle(marker="|", markersize=6, markeredgewidth=0.9, linestyle="-", linewidth=0.9)
        entries.append(LegendEntry(whisker, fixed="slowest to fastest launch"))
    if held_down(data):
        entries.append(LegendEntry(handle(linestyle="-", linewidth=0.5), fixed="sustained (power limit)"))
    if any(_above(data, p) for p in data.points):
        ring = handle(marker="o", markersize=9, markerfacecolor="none", markeredgecolor=ALARM, markeredgewidth=1.2)
        entries.append(LegendEntry(ring, fixed="above the roof: see report"))
    return [*entries, *hollow_entries(data.points)]


# --- one kernel, all levels -----------------------------------------------------------


def draw_hierarchical(ax: Axes, data: PlotData) -> list[LegendEntry]:
    """One kernel's points on its levels, joined at their height; returns the legend."""
    entries = [entry for kernel in data.kernels for entry in _draw_one(ax, kernel, data)]
    if not data.points:
        return remarks(data)
    distinct = list({entry.fixed: entry for entry in entries}.values())
    if any(p.level in data.roof_levels and data.assess(p) for p in data.points):
        distinct.append(LegendEntry(handle(linestyle=":", linewidth=0.9), fixed="distance to the roof"))
    return [*distinct, *remarks(data, " (100 %)")]


def _draw_one(ax: Axes, kernel: KernelPoints, data: PlotData) -> list[LegendEntry]:
    """One kernel's (or one type's) points, joined, with issued instructions and the distances to the roofs.

    Of several types of operation the colour is the type's, which its peak has too.
    """
    points, entries = data.points_of(kernel), list[LegendEntry]()
    if not points:
        return entries
    height = points[0].per_second / data.rate_unit
    left, right = min(p.intensity for p in points), max(p.intensity for p in points)
    ax.plot([left, right], [height, height], color=INK, linewidth=0.8, gid="join", zorder=3)
    if other := other_count(kernel):
        margin = 1.5
        ends, rate = [left / margin, right * margin], other[0] / data.rate_unit
        ax.plot(ends, [rate, rate], color=INK, linewidth=1.2, linestyle=(0, (3, 1.5)), gid="issued", zorder=3)
        entries.append(issued_entry(f"{other[1]} ({other[2] * 100:.0f} % lost)"))
    for point in points:
        look = level_look(point.level, data.options)
        if data.many:
            look = replace(look, color=work_color(kernel.work))
        assessment = data.assess(point)
        if assessment is not None and point.level in data.roof_levels:
            roof = assessment.attainable / data.rate_unit
            x = [point.intensity, point.intensity]
            ax.plot(x, [height, roof], color=look.color, linewidth=0.9, linestyle=":", gid="headroom", zorder=2.5)
        draw_spread(ax, kernel, point, look.color, data)
        draw_point(ax, point, look, "white", data)
    return entries


def issued_entry(name: str) -> LegendEntry:
    return LegendEntry(handle(color=INK, linestyle=(0, (3, 1.5)), linewidth=1.2), fixed=name)


def draw_spread(ax: Axes, kernel: KernelPoints, point: Point, color: str, data: PlotData) -> None:
    """Error bars over the launches of a kernel, where the options ask for them and they are known."""
    if not data.options.spread or kernel.rates is None:
        return
    x, y = point.intensity, point.per_second / data.rate_unit
    across = point.intensities
    ax.errorbar(
        [x],
        [y],
        yerr=[[max(0.0, y - kernel.rates.low / data.rate_unit)], [max(0.0, kernel.rates.high / data.rate_unit - y)]],
        xerr=[[max(0.0, x - across.low)], [max(0.0, across.high - x)]] if across else None,
        fmt="none",
        ecolor=color,
        elinewidth=0.9,
        capsize=2.5,
        capthick=0.9,
        zorder=4.5,
    )[2][0].set_gid("spread")


def other_count(kernel: KernelPoints) -> tuple[float, str, float] | None:
    """The rate of the instructions that the points do not count, its name, and what is lost between the two.

    None where the two differ by less than 1 %: no divergence, and full warps.
    """
    if not kernel.points:
        return None
    rate, issued, threads = kernel.points[0].per_second, kernel.issued_per_second, kernel.threads_per_second
    if issued is not None and issued > rate * _PREDICATED_FROM:
        return issued, "issued warp instructions", 1 - rate / issued
    if threads is not None and threads * _PREDICATED_FROM < rate:
        return threads, "thread instructions / 32", 1 - threads / rate
    return None
