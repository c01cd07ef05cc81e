"""The ceilings: a slope per level, the peak, and a text along each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from matplotlib.axes import Axes

from roofctl.core.units import prefixed
from roofctl.plots.axes import to_points
from roofctl.plots.data import PlotData, held_down
from roofctl.plots.labels import along_line, write_along
from roofctl.plots.placement import Obstacles
from roofctl.plots.style import FAINT, INK, level_look
from roofctl.roofline.model import Peak, Roofline

_NEUTRAL: Final = "#444444"
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
    if len(data.rooflines) == 1:
        return [(data.rooflines[0], Stroke(1.0, 1.3, None))]
    looks = {"measured": Stroke(1.0, 1.4, "-"), "theoretical": Stroke(0.6, 1.0, (0, (4, 2)))}
    return [(r, looks[r.basis]) for r in data.rooflines]


def draw_ceilings(ax: Axes, data: PlotData, *, colored: bool) -> None:
    """A slope per level up to its ridge, and the peak from the leftmost ridge to the right edge."""
    left, right = ax.get_xlim()
    for roofline, stroke in strokes(data):
        for level in data.levels:
            ridge, start = roofline.ridge(level), roofline.attainable(level, left)
            if ridge is None or start is None:
                continue
            look = level_look(level, data.options)
            ax.plot(
                [left, ridge],
                [start / data.rate_unit, roofline.peak.per_second / data.rate_unit],
                color=ceiling_color(level, data, colored=colored),
                linestyle=stroke.dashes or look.dashes,
                linewidth=stroke.width,
                alpha=stroke.alpha,
                gid=f"ceiling-{roofline.basis}-{level}",
                zorder=2,
            )
        for peak in roofline.peaks:
            rate = peak.per_second / data.rate_unit
            ridges = [r for level in data.levels if (r := roofline.ridge(level, peak.work)) is not None]
            leftmost = min(ridges, default=left)
            ax.plot(
                [leftmost if leftmost < right else left, right],
                [rate, rate],
                color=INK,
                linestyle=stroke.dashes or "-",
                linewidth=stroke.width,
                alpha=stroke.alpha,
                gid=f"peak-{roofline.basis}" if peak is roofline.peak else f"peak-{roofline.basis}-{peak.work}",
                zorder=2,
            )
            _draw_ridges(ax, ridges, rate, roofline, stroke)
            if peak in held_down(data):
                _draw_sustained(ax, data, peak, leftmost, stroke)


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


def _draw_ridges(ax: Axes, ridges: list[float], rate: float, roofline: Roofline, stroke: Stroke) -> None:
    """A small dot where a level's roof meets a peak; hollow for theoretical ones."""
    ax.plot(
        ridges,
        [rate] * len(ridges),
        linestyle="None",
        marker="o",
        markersize=2.8,
        markerfacecolor=INK if roofline.basis == "measured" else "white",
        markeredgecolor=INK,
        markeredgewidth=0.7,
        alpha=stroke.alpha,
        gid=f"ridge-{roofline.basis}",
        zorder=2.2,
    )


def ceiling_color(level: str, data: PlotData, *, colored: bool) -> str:
    """The level's colour; grey where colour distinguishes kernels, unless the user chose one."""
    chosen = data.options.level_styles.get(level)
    if colored or (chosen and chosen.color):
        return level_look(level, data.options).color
    return _NEUTRAL


def peak_labels(data: PlotData) -> list[tuple[str, list[Peak]]]:
    """Text and peaks, one per text on paper: ``Peak 1045.4 GIPS``, with two rooflines ``Peak 965.2 of 1045.4 GIPS``.

    Types of work whose peaks lie closer than a line of text share one: ``FP32, FP64 tensor 66.0 TFLOP/s``,
    ``FP16, BF16 tensor 832.1–863.5 TFLOP/s``. The peaks that come with a text are those of its highest type.
    """
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


def label_ceilings(ax: Axes, data: PlotData, obstacles: Obstacles, *, colored: bool) -> None:
    """Each ceiling's name along its line, where nothing else is."""
    for label, peaks in peak_labels(data):
        _label_peak(ax, label, peaks, data, obstacles)
    for level in data.levels:
        labels = level_labels(level, data)
        if labels:
            _label_slope(ax, level, labels, data, obstacles, color=ceiling_color(level, data, colored=colored))


def _label_peak(ax: Axes, label: str, peaks: list[Peak], data: PlotData, obstacles: Obstacles) -> None:
    top = max(peak.per_second for peak in peaks) / data.rate_unit
    ridges = [r for roofline in data.rooflines for level in data.levels if (r := roofline.ridge(level, peaks[0].work))]
    left, right = ax.get_xlim()
    start, end = to_points(ax, min(ridges, default=left), top), to_points(ax, right, top)
    write_along(ax, along_line(start, end, label, obstacles, backwards=True), obstacles, gid="ceiling-label")


def _label_slope(ax: Axes, level: str, labels: list[str], data: PlotData, obstacles: Obstacles, *, color: str) -> None:
    uppermost = max(
        (r for r in data.rooflines if r.bandwidth(level)),
        key=lambda r: r.bandwidth(level).bytes_per_second,  # type: ignore[union-attr]
    )
    ridge = uppermost.ridge(level) or 1.0
    peak = uppermost.peak.per_second / data.rate_unit
    left = max(ax.get_xlim()[0], ax.get_ylim()[0] * ridge / peak)  # where the line enters the picture
    start, end = to_points(ax, left, peak * left / ridge), to_points(ax, ridge, peak)
    tries = [along_line(start, end, label, obstacles) for label in labels]
    # The fullest text that covers nothing; when none does, the cheapest.
    best = next((placed for placed in tries if placed.free), min(tries, key=lambda placed: placed.cost))
    write_along(ax, best, obstacles, color=color, gid="ceiling-label")
