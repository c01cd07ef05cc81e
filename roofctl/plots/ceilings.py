"""The ceilings: a slope per level, the peak, and a text along each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.axes import Axes

from roofctl.core.units import prefixed
from roofctl.plots import text
from roofctl.plots.axes import to_data, to_points
from roofctl.plots.crowd import MARKER, TEXT, Crowd, Spot, chain
from roofctl.plots.scene import Scene
from roofctl.plots.style import INK, level_look, level_name
from roofctl.roofline.model import Peak, Roofline

CEILING_SIZE: Final = 7.5

_NEUTRAL: Final = "#444444"
_NO_ROOM: Final = 0.15
"""Between peaks nearer to each other than this a line of text finds no room."""


@dataclass(frozen=True)
class Stroke:
    """How the ceilings of one roofline are drawn."""

    alpha: float
    width: float
    dashes: Any  # None: each level's own


def strokes(scene: Scene) -> list[tuple[Roofline, Stroke]]:
    """Each roofline with its stroke: alone every level has its own dashes, of two the theoretical is dashed."""
    if len(scene.rooflines) == 1:
        return [(scene.rooflines[0], Stroke(1.0, 1.3, None))]
    looks = {"measured": Stroke(1.0, 1.4, "-"), "theoretical": Stroke(0.6, 1.0, (0, (4, 2)))}
    return [(r, looks[r.basis]) for r in scene.rooflines]


def draw_ceilings(ax: Axes, scene: Scene, *, colored: bool) -> None:
    """A slope per level up to its ridge, and the peak from the leftmost ridge to the right edge."""
    left, right = ax.get_xlim()
    for roofline, stroke in strokes(scene):
        for level in scene.levels:
            ridge, start = roofline.ridge(level), roofline.attainable(level, left)
            if ridge is None or start is None:
                continue
            look = level_look(level, scene.options)
            ax.plot(
                [left, ridge],
                [start / scene.unit, roofline.peak.per_second / scene.unit],
                color=ceiling_color(level, scene, colored=colored),
                linestyle=stroke.dashes or look.dashes,
                linewidth=stroke.width,
                alpha=stroke.alpha,
                gid=f"ceiling-{roofline.basis}-{level}",
                zorder=2,
            )
        for peak in roofline.peaks:
            rate = peak.per_second / scene.unit
            found = [r for level in scene.levels if (r := roofline.ridge(level, peak.work)) is not None]
            leftmost = min(found, default=left)
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
            _draw_ridges(ax, found, rate, roofline, stroke)


def _draw_ridges(ax: Axes, found: list[float], rate: float, roofline: Roofline, stroke: Stroke) -> None:
    """A small dot where a level's roof meets a peak; hollow for theoretical ones."""
    ax.plot(
        found,
        [rate] * len(found),
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


def ceiling_color(level: str, scene: Scene, *, colored: bool) -> str:
    """The level's colour; grey where colour tells kernels apart, unless the user chose one."""
    chosen = scene.options.level_styles.get(level)
    if colored or (chosen and chosen.color):
        return level_look(level, scene.options).color
    return _NEUTRAL


def peak_labels(scene: Scene) -> list[tuple[str, list[Peak]]]:
    """Text and peaks, one per text on paper: ``Peak 1045.4 GIPS``, with two rooflines ``Peak 965.2 of 1045.4 GIPS``.

    Types of work whose peaks lie closer than a line of text share one: ``FP32, FP64 tensor 66.0 TFLOP/s``,
    ``FP16, BF16 tensor 832.1–863.5 TFLOP/s``. The peaks that come with a text are those of its highest type.
    """
    found: list[list[list[Peak]]] = []
    for work in scene.works:
        peaks = [p for r in scene.rooflines if (p := r.peak_of(work)) is not None]
        group = next((group for group in found if _beside(group[0], peaks)), None)
        if group:
            group.append(peaks)
        else:
            found.append([peaks])
    return [(scene.measure.peak(group), group[0]) for group in found]


def _beside(one: list[Peak], two: list[Peak]) -> bool:
    return len(one) == len(two) and all(
        abs(a.per_second / b.per_second - 1) < _NO_ROOM for a, b in zip(one, two, strict=True)
    )


def level_labels(level: str, scene: Scene) -> list[str]:
    """Texts for one level's ceilings, the fullest first. Empty when no ceiling is known."""
    known = [(r, b) for r in scene.rooflines if (b := r.bandwidth(level)) is not None]
    if not known:
        return []
    name = text.plain(level_name(level))
    rate = f"{name} {scene.measure.bandwidth(known[0][1].bytes_per_second)}"
    bandwidths = [prefixed(b.bytes_per_second, "B/s", 3) for _, b in known]
    if len(bandwidths) > 1 and bandwidths[0].split()[1] == bandwidths[1].split()[1]:
        bandwidths[0] = bandwidths[0].split()[0]
    inside = " of ".join(bandwidths)
    if len(known) < len(scene.rooflines):
        inside += f", {known[0][0].basis}"
    if not scene.measure.transactions:
        return [f"{name} {inside}", *([name] if scene.many else [])]
    # In a picture of many kernels the legend repeats the rate, so there a bare name can stand where space is short.
    return [f"{rate} ({inside})", rate, *([name] if scene.many else [])]


def label_ceilings(ax: Axes, scene: Scene, crowd: Crowd, *, colored: bool) -> None:
    """Each ceiling's name along its line, on free ground."""
    for label, peaks in peak_labels(scene):
        _label_peak(ax, label, peaks, scene, crowd)
    for level in scene.levels:
        labels = level_labels(level, scene)
        if labels:
            _label_slope(ax, level, labels, scene, crowd, color=ceiling_color(level, scene, colored=colored))


def _label_peak(ax: Axes, label: str, peaks: list[Peak], scene: Scene, crowd: Crowd) -> None:
    top = max(peak.per_second for peak in peaks) / scene.unit
    ridges = [
        r for roofline in scene.rooflines for level in scene.levels if (r := roofline.ridge(level, peaks[0].work))
    ]
    left, right = ax.get_xlim()
    start, end = to_points(ax, min(ridges, default=left), top), to_points(ax, right, top)
    write_along(ax, label, best_stretch(start, end, label, crowd, backwards=True), crowd)


def _label_slope(ax: Axes, level: str, labels: list[str], scene: Scene, crowd: Crowd, *, color: str) -> None:
    uppermost = max(
        (r for r in scene.rooflines if r.bandwidth(level)),
        key=lambda r: r.bandwidth(level).bytes_per_second,  # type: ignore[union-attr]
    )
    ridge = uppermost.ridge(level) or 1.0
    peak = uppermost.peak.per_second / scene.unit
    left = max(ax.get_xlim()[0], ax.get_ylim()[0] * ridge / peak)  # where the line enters the picture
    start, end = to_points(ax, left, peak * left / ridge), to_points(ax, ridge, peak)
    tries = [(label, best_stretch(start, end, label, crowd)) for label in labels]
    # The fullest text that fits on free ground; when none does, the least harm.
    label, stretch = next(((t, s) for t, s in tries if s[0] < MARKER), min(tries, key=lambda t: t[1][0]))
    angle = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
    write_along(ax, label, stretch, crowd, angle=angle, color=color)


Stretch = tuple[float, Spot, Spot]
"""Cost, and both ends of a text's middle line."""


LIFTS: Final = (0.8, -0.8, 1.6, -1.6)
"""Distances of a text's middle from its line, in text heights: close above, close below, then further off."""


def best_stretch(
    start: Spot, end: Spot, label: str, crowd: Crowd, *, backwards: bool = False, lifts: Sequence[float] = LIFTS
) -> Stretch:
    """The cheapest place for a text along a line, above it or else below it; ``lifts`` in order of preference."""
    length = math.dist(start, end)
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    across = (-along[1], along[0])
    long, margin, step = text.width(label, CEILING_SIZE), 6.0, 5.0
    room = length - long - 2 * margin
    stops = [margin + i * step for i in range(int(room / step) + 1)] if room > 0 else [max(0.0, (length - long) / 2)]
    best: Stretch | None = None
    for lifted in lifts:
        for index, stop in enumerate(stops):
            at = length - long - stop if backwards else stop
            lift = lifted * CEILING_SIZE
            head = (start[0] + along[0] * at + across[0] * lift, start[1] + along[1] * at + across[1] * lift)
            tail = (head[0] + along[0] * long, head[1] + along[1] * long)
            covered = float(crowd.costs(chain(head, tail, CEILING_SIZE)).sum())
            cost = covered + index * 0.05 + lifts.index(lifted) * 1.5 + (room <= 0) * MARKER
            if best is None or cost < best[0]:
                best = (cost, head, tail)
    assert best is not None  # noqa: S101  there is at least one stop
    return best


def write_along(
    ax: Axes,
    label: str,
    stretch: Stretch,
    crowd: Crowd,
    *,
    angle: float = 0.0,
    color: str = INK,
    gid: str = "ceiling-label",
) -> None:
    """Write a text where ``best_stretch`` found room; ``angle`` in degrees on paper."""
    _, head, tail = stretch
    crowd.add(chain(head, tail, CEILING_SIZE), TEXT)
    x, y = to_data(ax, ((head[0] + tail[0]) / 2, (head[1] + tail[1]) / 2))
    ax.text(
        x,
        y,
        label,
        rotation=angle,
        rotation_mode="anchor",
        ha="center",
        va="center_baseline",
        fontsize=CEILING_SIZE,
        color=color,
        parse_math=False,
        gid=gid,
        zorder=3,
    )
