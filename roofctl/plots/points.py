"""The kernels on the axes: markers, the lines that belong to them, and the labels beside them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from roofctl.plots import text
from roofctl.plots.axes import to_data, to_points
from roofctl.plots.crowd import MARKER, Crowd, Spot, Tag, box, place
from roofctl.plots.scene import Scene, caveats, type_text
from roofctl.plots.style import ALARM, FAINT, INK, KERNEL_COLORS, LevelLook, level_look
from roofctl.roofline.model import WORK_LABELS, KernelPoints, Point

LABEL_SIZE: Final = 8.0
NUMBER_SIZE: Final = 7.0

_SAME_SPOT: Final = 4.0
"""Points nearer than this (markers more than half covered) share a label."""

_SAME_BLOCK: Final = 10.0
_PREDICATED_FROM: Final = 1.01
_RING: Final = 5.0
_LINE_HEIGHT: Final = 1.3


@dataclass(frozen=True)
class Entry:
    """One line of the legend: a name, cut to fit, and text that stays whole."""

    handle: Line2D
    name: str = ""
    fixed: str = ""


def handle(**look: object) -> Line2D:
    return Line2D([], [], **{"linestyle": "None", "color": FAINT, **look})  # type: ignore[arg-type]


def _mark(ax: Axes, point: Point, look: LevelLook, edge: str, scene: Scene) -> None:
    """One marker: hollow when its traffic is not exact, ringed when it is above its roof."""
    x, y = point.intensity, point.per_second / scene.unit
    hollow = bool(point.caveat)
    ax.plot(
        [x],
        [y],
        marker=look.marker,
        markersize=look.size,
        markerfacecolor="white" if hollow else look.color,
        markeredgecolor=look.color if hollow else edge,
        markeredgewidth=1.3 if hollow else 0.6,
        linestyle="None",
        clip_on=False,
        gid=f"point-{point.level}",
        zorder=5,
    )
    if _above(scene, point):
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


def _above(scene: Scene, point: Point) -> bool:
    assessment = scene.judge(point)
    return assessment is not None and assessment.above_roof


def _folded(words: str) -> str:
    longest = 36
    return "\n".join(textwrap.wrap(words, longest))


def remarks(scene: Scene, measured: str = "") -> list[Entry]:
    """Legend lines for what is special: two sets of ceilings, points above a roof, hollow points."""
    entries: list[Entry] = []
    if len(scene.rooflines) > 1:
        solid, dashed = {"linestyle": "-", "linewidth": 1.4}, {"linestyle": (0, (4, 2)), "linewidth": 1.0}
        entries.append(Entry(handle(**solid, color=INK), fixed=f"measured ceilings{measured}"))
        entries.append(Entry(handle(**dashed, color=INK, alpha=0.6), fixed="theoretical ceilings"))
    if any(_above(scene, p) for p in scene.points):
        ring = handle(marker="o", markersize=9, markerfacecolor="none", markeredgecolor=ALARM, markeredgewidth=1.2)
        entries.append(Entry(ring, fixed="above the roof: see report"))
    hollow = handle(marker="o", markersize=6, markerfacecolor="white", markeredgewidth=1.3)
    entries += [Entry(hollow, fixed=_folded(f"hollow: {caveat}")) for caveat in caveats(scene.points)]
    return entries


# --- one kernel, all levels -----------------------------------------------------------


def draw_hierarchical(ax: Axes, scene: Scene) -> list[Entry]:
    """One kernel's points on its levels, joined at their height; returns the legend."""
    entries = [entry for kernel in scene.kernels for entry in _draw_one(ax, kernel, scene)]
    if not scene.points:
        return remarks(scene)
    distinct = list({entry.fixed: entry for entry in entries}.values())
    if any(scene.judge(p) for p in scene.points):
        distinct.append(Entry(handle(linestyle=":", linewidth=0.9), fixed="distance to the roof"))
    return [*distinct, *remarks(scene, " (100 %)")]


def _draw_one(ax: Axes, kernel: KernelPoints, scene: Scene) -> list[Entry]:
    """One kernel's (or one type's) points, joined, with the line of issued instructions and the way to the roofs."""
    points, entries = scene.points_of(kernel), list[Entry]()
    if not points:
        return entries
    height = points[0].per_second / scene.unit
    left, right = min(p.intensity for p in points), max(p.intensity for p in points)
    ax.plot([left, right], [height, height], color=INK, linewidth=0.8, gid="join", zorder=3)
    if other := _other_count(kernel):
        margin = 1.5
        ends, rate = [left / margin, right * margin], other[0] / scene.unit
        ax.plot(ends, [rate, rate], color=INK, linewidth=1.2, linestyle=(0, (3, 1.5)), gid="issued", zorder=3)
        entries.append(_issued_entry(f"{other[1]} ({other[2] * 100:.0f} % lost)"))
    for point in points:
        look = level_look(point.level, scene.options)
        assessment = scene.judge(point)
        if assessment is not None:
            roof = assessment.attainable / scene.unit
            x = [point.intensity, point.intensity]
            ax.plot(x, [height, roof], color=look.color, linewidth=0.9, linestyle=":", gid="headroom", zorder=2.5)
        _draw_spread(ax, kernel, point, look.color, scene)
        _mark(ax, point, look, "white", scene)
    return entries


def _issued_entry(words: str) -> Entry:
    return Entry(handle(color=INK, linestyle=(0, (3, 1.5)), linewidth=1.2), fixed=words)


def _draw_spread(ax: Axes, kernel: KernelPoints, point: Point, color: str, scene: Scene) -> None:
    """Error bars over the launches of a kernel, where they were asked for and are known."""
    if not scene.options.spread or kernel.rates is None:
        return
    x, y = point.intensity, point.per_second / scene.unit
    across = point.intensities
    ax.errorbar(
        [x],
        [y],
        yerr=[[max(0.0, y - kernel.rates.low / scene.unit)], [max(0.0, kernel.rates.high / scene.unit - y)]],
        xerr=[[max(0.0, x - across.low)], [max(0.0, across.high - x)]] if across else None,
        fmt="none",
        ecolor=color,
        elinewidth=0.9,
        capsize=2.5,
        capthick=0.9,
        zorder=4.5,
    )[2][0].set_gid("spread")


def label_levels(ax: Axes, scene: Scene, crowd: Crowd) -> None:
    """``HBM 82 %`` beside each point; points close together get one block of lines."""
    blocks: list[list[Point]] = []
    for point in scene.points:
        near = (b for b in blocks if math.dist(_spot(ax, b[0], scene), _spot(ax, point, scene)) < _SAME_BLOCK)
        block = next(near, None)
        if block:
            block.append(point)
        else:
            blocks.append([point])
    texts = [[_fraction_label(p, scene) for p in block] for block in blocks]
    tags = [_tag(_spot(ax, b[0], scene), t, LABEL_SIZE, clear=8.0) for b, t in zip(blocks, texts, strict=True)]
    for block, lines, tag, found in zip(blocks, texts, tags, place(tags, crowd), strict=True):
        step = tag.height / len(lines)
        for row, (point, line) in enumerate(zip(block, lines, strict=True)):
            center = (found.center[0], found.center[1] + tag.height / 2 - (row + 0.5) * step)
            color = level_look(point.level, scene.options).color
            _write(ax, line, center, size=LABEL_SIZE, color=color, gid=f"label-{point.level}")
        if found.leader:
            _leader(ax, (tag.at, found.leader))


def _fraction_label(point: Point, scene: Scene) -> str:
    name = text.plain(level_look(point.level, scene.options).name)
    if scene.many:
        name = f"{WORK_LABELS.get(point.work, point.work)} {name}"
    assessment = scene.judge(point)
    return f"{name} {percent(assessment.fraction)}" if assessment else name


def percent(fraction: float) -> str:
    """82 %, 4.1 %, <0.1 %."""
    whole_from, least = 0.0995, 0.0005
    if 0 < fraction < least:
        return "<0.1 %"
    return f"{fraction * 100:.0f} %" if fraction >= whole_from else f"{fraction * 100:.1f} %"


# --- many kernels -----------------------------------------------------------------------


def draw_multi(ax: Axes, scene: Scene, *, numbered: bool) -> list[Entry]:
    """Every kernel's points: the shape is the level; the colour, or else a number, is the kernel."""
    looks = [level_look(level, scene.options) for level in scene.levels]
    for index, kernel in enumerate(scene.kernels):
        style = scene.options.kernel_style(kernel)
        points = scene.points_of(kernel)
        color = style.color or (None if numbered else KERNEL_COLORS[index % len(KERNEL_COLORS)])
        if len(points) > 1 and not numbered:
            height = points[0].per_second / scene.unit
            ends = [min(p.intensity for p in points), max(p.intensity for p in points)]
            ax.plot(ends, [height, height], color=color or FAINT, linewidth=0.7, alpha=0.6, gid="join", zorder=3)
        for point in points:
            _draw_issued(ax, kernel, point, color or FAINT, scene)
            level = level_look(point.level, scene.options)
            # Several levels may stand on one spot: each is drawn smaller than the one below it.
            size = level.size * 0.85 if len(looks) > 1 else 6.5
            look = LevelLook(level.name, color or level.color, style.marker or level.marker, size, None)
            _draw_spread(ax, kernel, point, color or level.color, scene)
            _mark(ax, point, look, INK, scene)
    entries: list[Entry] = []
    for level in looks:
        face = level.color if numbered else FAINT
        entries.append(Entry(filled(level.marker, face), fixed=_level_entry(level.name, scene)))
    lines = dict.fromkeys(other[1] for kernel in scene.kernels if (other := _other_count(kernel)))
    entries += [_issued_entry(name) for name in lines]
    return [*([] if numbered else _kernel_entries(scene)), *entries, *remarks(scene)]


def _other_count(kernel: KernelPoints) -> tuple[float, str, float] | None:
    """The rate of the instructions that the points do not count, its name, and what is lost between the two.

    None where they are the same to what can be seen: no divergence, and full warps.
    """
    if not kernel.points:
        return None
    rate, issued, threads = kernel.points[0].per_second, kernel.issued_per_second, kernel.threads_per_second
    if issued is not None and issued > rate * _PREDICATED_FROM:
        return issued, "issued warp instructions", 1 - rate / issued
    if threads is not None and threads * _PREDICATED_FROM < rate:
        return threads, "thread instructions / 32", 1 - threads / rate
    return None


def _draw_issued(ax: Axes, kernel: KernelPoints, point: Point, color: str, scene: Scene) -> None:
    """A short dashed line above (or below) a point, at the rate of the other count of instructions."""
    if other := _other_count(kernel):
        reach, rate = 1.35, other[0] / scene.unit
        ends = [point.intensity / reach, point.intensity * reach]
        ax.plot(ends, [rate, rate], color=color, linewidth=1.2, linestyle=(0, (3, 1.5)), gid="issued", zorder=3)


def _level_entry(name: str, scene: Scene) -> str:
    """A level's name with its rate: along a crowded line the rate may find no room."""
    level = next((level for level in scene.levels if level_look(level, scene.options).name == name), "")
    bandwidth = scene.rooflines[0].bandwidth(level)
    words = text.plain(name)
    return f"{words}, {scene.measure.bandwidth(bandwidth.bytes_per_second)}" if bandwidth else words


def _kernel_entries(scene: Scene) -> list[Entry]:
    """Colour and number of each kernel: the number serves readers in grey."""
    entries: list[Entry] = []
    for index, (kernel, short) in enumerate(zip(scene.kernels, scene.names, strict=True)):
        name = f"{index + 1}  {short}" if scene.many else short
        entries.append(Entry(kernel_sample(scene, kernel, index), name, missing_text(scene, index)))
    return entries


def kernel_sample(scene: Scene, kernel: KernelPoints, index: int) -> Line2D:
    """What stands for a kernel in the legend: a patch of its colour, or its own marker."""
    style = scene.options.kernel_style(kernel)
    color = style.color or KERNEL_COLORS[index % len(KERNEL_COLORS)]
    if style.marker:
        return filled(style.marker, color)
    return handle(color=color, linestyle="-", linewidth=5, solid_capstyle="butt")


def filled(marker: str, color: str) -> Line2D:
    """A filled marker of the legend."""
    return handle(marker=marker, markersize=6.5, color=color, markeredgecolor=INK, markeredgewidth=0.6)


def missing_text(scene: Scene, index: int) -> str:
    """`` (FP32)`` for a type of operation, `` – (no HBM point)`` for a kernel that lacks a chosen level."""
    kernel = scene.kernels[index]
    levels = [level_look(level, scene.options).name for level in scene.missing(kernel)]
    return type_text(kernel) + (f" – (no {', '.join(levels)} point)" if levels else "")


def number_points(ax: Axes, scene: Scene, crowd: Crowd) -> None:
    """Each kernel's number beside its points."""
    spots = [
        (_spot(ax, point, scene), number)
        for number, kernel in enumerate(scene.kernels, 1)
        for point in scene.points_of(kernel)
    ]
    number_spots(ax, spots, crowd)


def number_spots(ax: Axes, spots: Sequence[tuple[Spot, int]], crowd: Crowd) -> None:
    """Each number beside its spot; numbers of one spot share a label."""
    groups: list[tuple[Spot, list[int]]] = []
    for spot, number in spots:
        same = next((g for g in groups if math.dist(g[0], spot) < _SAME_SPOT), None)
        if same:
            same[1].append(number)
        else:
            groups.append((spot, [number]))
    longest = 24
    labels = [textwrap.wrap(text.listing(numbers), longest) for _, numbers in groups]
    tags = [_tag(spot, lines, NUMBER_SIZE, clear=4.0) for (spot, _), lines in zip(groups, labels, strict=True)]
    for lines, tag, found in zip(labels, tags, place(tags, crowd), strict=True):
        _write(ax, "\n".join(lines), found.center, size=NUMBER_SIZE, color=INK, gid="number")
        if found.leader:
            _leader(ax, (tag.at, found.leader))


# --- both ---------------------------------------------------------------------------------


def add_markers(ax: Axes, scene: Scene, crowd: Crowd) -> None:
    """Tell the crowd where the markers are."""
    size = 8.0
    for point in scene.points:
        crowd.add(box(*_spot(ax, point, scene), size, size), MARKER)


def _spot(ax: Axes, point: Point, scene: Scene) -> Spot:
    return to_points(ax, point.intensity, point.per_second / scene.unit)


def _tag(spot: Spot, lines: Sequence[str], size: float, clear: float) -> Tag:
    across = max(text.width(line, size) for line in lines)
    return Tag(spot, across + 2.5, len(lines) * size * _LINE_HEIGHT, clear)


def _write(ax: Axes, label: str, center: Spot, *, size: float, color: str, gid: str) -> None:
    x, y = to_data(ax, center)
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
    style = {"fontsize": size, "color": color, "gid": gid, "linespacing": 1.1, "bbox": ground}
    ax.text(x, y, label, ha="center", va="center", parse_math=False, zorder=6, **style)  # type: ignore[arg-type]


def _leader(ax: Axes, ends: Sequence[Spot]) -> None:
    xs, ys = zip(*(to_data(ax, end) for end in ends), strict=True)
    ax.plot(xs, ys, color=FAINT, linewidth=0.4, gid="leader", zorder=3.5)
