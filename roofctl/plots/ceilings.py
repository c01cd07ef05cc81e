"""The ceilings: a slope per level, the peak, and a text along each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.axes import Axes

from roofctl.core.units import prefixed
from roofctl.plots.axes import to_data, to_points, width_of
from roofctl.plots.data import PlotData, held_down
from roofctl.plots.labels import LINE_TEXT_SIZE, along_line, write_along
from roofctl.plots.placement import Obstacles
from roofctl.plots.style import FAINT, INK, ceiling_look, level_look, work_color
from roofctl.plots.text import width
from roofctl.roofline.model import Peak, Roofline

_LEADER: Final = 10.0
"""Points between the axes and the names of peaks beside them."""

_NARROW_AXES: Final = 250.0
"""Points of width below which names of slopes are short."""

_CLOSE: Final = 0.15
"""Between peaks nearer to each other than this there is no space for a line of text."""


@dataclass(frozen=True)
class Stroke:
    """How the ceilings of one roofline are drawn."""

    alpha: float
    width: float
    dashes: Any  # None: each level's own


def strokes(data: PlotData) -> list[tuple[Roofline, Stroke]]:
    """Each roofline with its stroke: alone every level has its own dashes, of two the theoretical is dashed."""
    if len(data.rooflines) == 1 or data.groups:
        return [(roofline, Stroke(1.0, 1.3, None)) for roofline in data.rooflines]
    solid, dashed = Stroke(1.0, 1.4, "-"), Stroke(0.6, 1.0, (0, (4, 2)))
    return [(r, dashed if r.basis == "theoretical" else solid) for r in data.rooflines]


def draw_ceilings(ax: Axes, data: PlotData, *, colored: bool) -> None:
    """A slope per level up to its ridge, and the peak from the leftmost ridge to the right edge; of each group."""
    shared = [level for level in data.roof_levels if len(data.roofs) > 1 and _is_shared(level, data)]
    for part in data.roofs:
        _draw_ceilings(ax, part, shared, colored=colored)


def _is_shared(level: str, data: PlotData) -> bool:
    """Whether all groups have the same slope: memory runs at its own clock."""
    rates = [b.bytes_per_second for roofline in data.rooflines if (b := roofline.bandwidth(level))]
    return len(rates) == len(data.rooflines) and max(rates) == min(rates)


def _draw_ceilings(ax: Axes, data: PlotData, shared: Sequence[str], *, colored: bool) -> None:
    left, right = ax.get_xlim()
    for roofline, stroke in strokes(data):
        for level in data.roof_levels:
            start, end = roofline.attainable(level, left), _slope_end(roofline, level, right)
            if start is None or end is None:
                continue
            look = level_look(level, data.options)
            ax.plot(
                [left, end[0]],
                [start / data.rate_unit, end[1] / data.rate_unit],
                color=(level not in shared and data.hue) or ceiling_look(level, data.options, colored=colored).color,
                linestyle=stroke.dashes or look.dashes,
                linewidth=stroke.width,
                alpha=stroke.alpha,
                gid=f"ceiling-{roofline.basis}-{level}",
                zorder=2,
            )
        for peak in roofline.peaks:
            rate = peak.per_second / data.rate_unit
            ridges = [r for level in data.roof_levels if (r := roofline.ridge(level, peak.work)) is not None]
            leftmost = min(ridges, default=left)
            ax.plot(
                [leftmost if leftmost < right else left, right],
                [rate, rate],
                color=data.hue or (work_color(peak.work) if data.typed else INK),
                linestyle=stroke.dashes or "-",
                linewidth=stroke.width,
                alpha=stroke.alpha,
                gid=f"peak-{roofline.basis}" if peak is roofline.peak else f"peak-{roofline.basis}-{peak.work}",
                zorder=2,
            )
            _draw_ridges(ax, ridges, rate, roofline, stroke, data.hue or INK)
            if peak in held_down(data):
                _draw_sustained(ax, data, peak, leftmost, stroke)


def draw_zones(ax: Axes, data: PlotData) -> None:
    """Shade what memory limits, left of the outermost level's ridge, and what the highest peak limits, right of it."""
    for name, xs, tops, color in _zones(ax, data):
        bottoms = [ax.get_ylim()[0]] * len(xs)
        area = ax.fill_between(xs, bottoms, tops, color=color, alpha=0.07, linewidth=0, zorder=0.5)
        area.set_gid(f"zone-{name}")


def _zones(ax: Axes, data: PlotData) -> list[tuple[str, list[float], list[float], str]]:
    """Name, x and height of the upper edge, and colour of each zone; none where the ridge is not in the picture."""
    roofline, level = data.rooflines[0], data.roof_levels[-1]
    ridge, peak = roofline.ridge(level), roofline.peak
    (left, right), bottom = ax.get_xlim(), ax.get_ylim()[0]
    if ridge is None or peak is None or not left < ridge < right:
        return []
    top, start = peak.per_second / data.rate_unit, (roofline.attainable(level, left) or 0.0) / data.rate_unit
    return [
        ("memory bound", [left, ridge], [max(start, bottom), top], "#0072B2"),
        ("compute bound", [ridge, right], [top, top], "#E69F00"),
    ]


def _label_zones(ax: Axes, data: PlotData, obstacles: Obstacles) -> None:
    """The name of each zone above the x axis, where it covers nothing."""
    bottom = ax.get_ylim()[0]
    for name, xs, _, _ in _zones(ax, data):
        start, end = (to_points(ax, x, bottom) for x in xs)
        for lift in (0.9, 2.2, 3.5):
            placed = along_line(start, end, name, obstacles, lifts=(lift,))
            if placed.free:
                write_along(ax, placed, obstacles, color=FAINT, gid="zone")
                break


def _slope_end(roofline: Roofline, level: str, right: float) -> tuple[float, float] | None:
    """Intensity and work per second where a level's slope ends: at its ridge, or without a peak at the right edge."""
    ridge = roofline.ridge(level)
    if ridge is not None and roofline.peak:
        return ridge, roofline.peak.per_second
    top = roofline.attainable(level, right)
    return None if top is None else (right, top)


def _draw_sustained(ax: Axes, data: PlotData, peak: Peak, start: float, stroke: Stroke) -> None:
    """A second, thinner line: the rate that the power limit leaves. The legend names it."""
    left, right = ax.get_xlim()
    rate = peak.sustained.per_second / data.rate_unit if peak.sustained else 0.0
    ax.plot(
        [start if start < right else left, right],
        [rate, rate],
        color=FAINT,
        linestyle="-",
        linewidth=0.4 * stroke.width,
        alpha=stroke.alpha,
        gid=f"sustained-{peak.work}",
        zorder=1.9,
    )


def _draw_ridges(ax: Axes, ridges: list[float], rate: float, roofline: Roofline, stroke: Stroke, color: str) -> None:
    """A small dot where a level's roof meets a peak; hollow for theoretical ones."""
    ax.plot(
        ridges,
        [rate] * len(ridges),
        linestyle="None",
        marker="o",
        markersize=2.8,
        markerfacecolor="white" if roofline.basis == "theoretical" else color,
        markeredgecolor=color,
        markeredgewidth=0.7,
        alpha=stroke.alpha,
        gid=f"ridge-{roofline.basis}",
        zorder=2.2,
    )


def peak_labels(data: PlotData) -> list[tuple[str, list[Peak]]]:
    """Text and peaks, one per text on paper: ``Peak 1045.4 GIPS``, with two rooflines ``Peak 965.2 of 1045.4 GIPS``.

    Types of work whose peaks lie closer than a line of text share one: ``FP32, FP64 tensor 66.0 TFLOP/s``,
    ``FP16, BF16 tensor 832.1–863.5 TFLOP/s``. The peaks that come with a text are those of its highest type.
    """
    if data.percent:
        return [("100 %: the kernel's own roof", list(data.rooflines[0].peaks))]
    groups: list[list[list[Peak]]] = []
    for work in data.works:
        peaks = [p for r in data.rooflines if (p := r.peak_of(work)) is not None]
        group = next((group for group in groups if _close(group[0], peaks)), None)
        if group:
            group.append(peaks)
        else:
            groups.append([peaks])
    return [(data.units.peak(group), group[0]) for group in groups]


def _close(one: list[Peak], two: list[Peak]) -> bool:
    return len(one) == len(two) and all(
        abs(a.per_second / b.per_second - 1) < _CLOSE for a, b in zip(one, two, strict=True)
    )


def level_labels(level: str, data: PlotData) -> list[str]:
    """Texts for one level's ceilings, the fullest first. Empty when no ceiling is known."""
    known = [(r, b) for r in data.rooflines if (b := r.bandwidth(level)) is not None]
    if not known:
        return []
    name = data.label(level)
    rate = f"{name} {data.units.bandwidth(known[0][1].bytes_per_second)}"
    bandwidths = [prefixed(b.bytes_per_second, "B/s", 3) for _, b in known]
    if len(bandwidths) > 1 and bandwidths[0].split()[1] == bandwidths[1].split()[1]:
        bandwidths[0] = bandwidths[0].split()[0]
    inside = " of ".join(bandwidths)
    if len(known) < len(data.rooflines):
        inside += f", {known[0][0].basis}"
    if not data.units.transactions:
        return [f"{name} {inside}", *([name] if data.many else [])]
    # In a picture of many kernels the legend repeats the rate, so there a bare name is enough where space is short.
    return [f"{rate} ({inside})", rate, *([name] if data.many else [])]


def label_ceilings(ax: Axes, data: PlotData, obstacles: Obstacles, *, colored: bool, beside: bool = False) -> None:
    """Each ceiling's name along its line, where nothing else is; ``beside``: those of peaks right of the axes."""
    if beside:
        _label_peaks_beside(ax, data)
    if data.options.zones:
        _label_zones(ax, data, obstacles)
    for part in data.roofs:
        for label, peaks in [] if beside else peak_labels(part):
            _label_peak(ax, label, peaks, part, obstacles)
    for level in data.roof_levels:
        own = ceiling_look(level, data.options, colored=colored).color
        shared = _is_shared(level, data)
        for part in data.roofs[:1] if shared else data.roofs:
            if labels := level_labels(level, part):
                _label_slope(ax, level, labels, part, obstacles, color=own if shared else part.hue or own)


def width_beside(data: PlotData) -> float:
    """Points that the names of the peaks take right of the axes."""
    lines = [line for part in data.roofs for label, _ in peak_labels(part) for line in _two_lines(label)]
    return max((width(line, LINE_TEXT_SIZE) for line in lines), default=0.0) + _LEADER + 2.0


def _two_lines(label: str) -> list[str]:
    """``FP32, FP64 tensor`` and ``66.0 TFLOP/s``: the types, and the rate with its unit."""
    names, rate = re.fullmatch(r"(.*?) ([0-9].* \S+)", label).groups()  # type: ignore[union-attr]
    return [names, rate]


def _label_peaks_beside(ax: Axes, data: PlotData) -> None:
    """The name of each peak right of its line, moved apart where two lie close, with a leader to its line."""
    labels = [
        (max(p.per_second for p in peaks), text, part) for part in data.roofs for text, peaks in peak_labels(part)
    ]
    labels.sort(key=lambda label: -label[0])
    heights = [to_points(ax, ax.get_xlim()[1], rate / data.rate_unit) for rate, _, _ in labels]
    wide = width_of(ax)
    positions = spread_out([up for _, up in heights], 2.3 * LINE_TEXT_SIZE)
    for (_, label, part), (right, up), at in zip(labels, heights, positions, strict=True):
        start, end = to_data(ax, (right, up)), to_data(ax, (right + _LEADER - 2.0, at))
        line = {"color": FAINT, "linewidth": 0.5, "clip_on": False, "gid": "peak-leader", "zorder": 2}
        ax.plot([start[0], end[0]], [start[1], end[1]], **line)  # type: ignore[arg-type]
        ax.text(
            1 + _LEADER / wide,
            end[1],
            "\n".join(_two_lines(label)),
            transform=ax.get_yaxis_transform(),
            va="center",
            linespacing=1.05,
            fontsize=LINE_TEXT_SIZE,
            color=part.hue or INK,
            parse_math=False,
            gid="ceiling-label",
            clip_on=False,
        )


def spread_out(heights: Sequence[float], apart: float) -> list[float]:
    """Positions near ``heights`` (descending) that are at least ``apart`` from each other, moved as little as can be.

    Neighbours that are too close form a group around their mean (the pool-adjacent-violators algorithm).
    """
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _lowest(groups[-2], apart) - apart < _highest(groups[-1], apart):
            last = groups.pop()
            groups[-1] += last
    return [_highest(group, apart) - index * apart for group in groups for index in range(len(group))]


def _highest(group: Sequence[float], apart: float) -> float:
    return sum(group) / len(group) + (len(group) - 1) * apart / 2


def _lowest(group: Sequence[float], apart: float) -> float:
    return sum(group) / len(group) - (len(group) - 1) * apart / 2


def _label_peak(ax: Axes, label: str, peaks: list[Peak], data: PlotData, obstacles: Obstacles) -> None:
    top = max(peak.per_second for peak in peaks) / data.rate_unit
    ridges = [
        r for roofline in data.rooflines for level in data.roof_levels if (r := roofline.ridge(level, peaks[0].work))
    ]
    left, right = ax.get_xlim()
    start, end = to_points(ax, min(ridges, default=left), top), to_points(ax, right, top)
    placed = along_line(start, end, label, obstacles, backwards=True)
    write_along(ax, placed, obstacles, color=data.hue or INK, gid="ceiling-label")


def _label_slope(
    ax: Axes, level: str, labels: Sequence[str], data: PlotData, obstacles: Obstacles, *, color: str
) -> None:
    uppermost = max(
        (r for r in data.rooflines if r.bandwidth(level)),
        key=lambda r: r.bandwidth(level).bytes_per_second,  # type: ignore[union-attr]
    )
    ridge, peak = _slope_end(uppermost, level, ax.get_xlim()[1]) or (1.0, 1.0)
    peak /= data.rate_unit
    left = max(ax.get_xlim()[0], ax.get_ylim()[0] * ridge / peak)  # where the line enters the picture
    start, end = to_points(ax, left, peak * left / ridge), to_points(ax, ridge, peak)
    name = data.label(level)
    # The fullest text that covers nothing; where even the name has no space, no text is better than one on another.
    shorter = data.units.transactions and width_of(ax) < _NARROW_AXES  # no rate in bytes beside that in transactions
    for label in dict.fromkeys((*labels[1 if shorter else 0 :], name)):
        placed = along_line(start, end, label, obstacles)
        if placed.free:
            write_along(ax, placed, obstacles, color=color, gid="ceiling-label")
            break
