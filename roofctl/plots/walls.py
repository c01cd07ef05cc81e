"""Memory walls: accesses of kernels against the vertical lines of known access patterns.

After Ding & Williams (PMBS 2019). A panel each for global and for shared memory, because a
transaction is a 32-byte sector in one and a 128-byte wavefront in the other.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from roofctl.core.errors import InputError
from roofctl.core.units import SECTOR_BYTES, WAVEFRONT_BYTES
from roofctl.plots import text
from roofctl.plots.axes import dress, empty_crowd, to_data, to_points
from roofctl.plots.crowd import MARKER, TEXT, Crowd, Tag, box, chain, place
from roofctl.plots.legend import Row, Table, draw_table, lay_out_rows
from roofctl.plots.points import NUMBER_SIZE, percent
from roofctl.plots.sheet import DPI, INCH, NOTE_SIZE, settings, write, write_notes, write_title
from roofctl.plots.style import FAINT, INK, KERNEL_COLORS, PlotOptions
from roofctl.roofline.model import GLOBAL_WALLS, SHARED_WALLS, Bandwidth, KernelPoints, Point, Roofline, Wall

_GIGA: Final = 1e9
_LEFT, _RIGHT, _TOP, _BOTTOM, _GAP = 46.0, 12.0, 86.0, 40.0, 54.0
_LABEL_SIZE: Final = 7.0
_X_LIMITS: Final = (1 / 90, 2.6)
_MARKERS: Final[Mapping[str, str]] = {"load": "v", "store": "^"}
_COLORS: Final[Mapping[str, str]] = {"load": KERNEL_COLORS[0], "store": KERNEL_COLORS[1]}
_COLORED: Final = 8
"""More kernels than this are told apart by number alone; colour then tells loads from stores."""

_NAME_CHARACTERS: Final = 11
_REASONS: Final = 4


@dataclass(frozen=True)
class _Space:
    """What one panel is about."""

    name: str
    title: str
    x_label: str
    bytes_each: int
    walls: tuple[Wall, ...]

    def bandwidth(self, roofline: Roofline) -> Bandwidth | None:
        return roofline.shared if self.name == "shared" else roofline.bandwidth("l1")


_SPACES: Final = {
    "global": _Space("global", "Global memory at L1", "Global requests per 32-byte sector", SECTOR_BYTES, GLOBAL_WALLS),
    "shared": _Space(
        "shared", "Shared memory", "Shared instructions per 128-byte wavefront", WAVEFRONT_BYTES, SHARED_WALLS
    ),
}


def walls(
    rooflines: Sequence[Roofline], kernels: Sequence[KernelPoints], spaces: Sequence[str], options: PlotOptions
) -> Figure:
    """The figure; a point's ``work`` is its space and its ``level`` the access, such as ``global load``.

    Raises InputError when no kernel has a point.
    """
    drawn = [(index, k) for index, k in enumerate(kernels) if k.points]
    if not drawn:
        reasons = list(dict.fromkeys(f"{access}: {why}" for k in kernels for access, why in k.missing.items()))
        raise InputError(
            f"no kernel has a {' or '.join(spaces)} memory access to draw ({'; '.join(reasons[:_REASONS])})",
            hint="capture what is missing (roofctl profile --set all ./app), or draw the rooflines instead",
        )
    panels = [_SPACES[name] for name in spaces]
    with settings():
        height = options.size[1] * INCH
        table = _table(drawn, options, height - 150)
        side = table.width + 14
        across = max(options.size[0] * INCH * 0.62, 300.0) if len(panels) == 1 else 300.0
        wide = _LEFT + len(panels) * across + (len(panels) - 1) * _GAP + side + _RIGHT
        notes = [line for note in _notes(kernels, panels, rooflines) for line in text.wrap(note, NOTE_SIZE, wide - 40)]
        high = height + len(notes) * NOTE_SIZE * text.LINE_HEIGHT
        figure = Figure(figsize=(wide / INCH, high / INCH), dpi=DPI, facecolor="white")
        FigureCanvasAgg(figure)
        base = high - height + _BOTTOM
        limits = _heights(rooflines, drawn)
        for index, space in enumerate(panels):
            left = _LEFT + index * (across + _GAP)
            ax = figure.add_axes((left / wide, base / high, across / wide, (height - _TOP - _BOTTOM) / high))
            _panel(ax, space, rooflines, drawn, limits, options)
            write(figure, left, high - 48, space.title, across, size=8.5, gid="panel")
        write_title(figure, _LEFT, wide - 2 * _LEFT, options.title or "Memory walls", options.subtitle)
        top = high - 46
        _key(figure, wide - side - _RIGHT + 14, top, colored=len(drawn) > _COLORED)
        draw_table(figure, table, wide - side - _RIGHT + 14, top - 34)
        write_notes(figure, _LEFT * 0.3, high - height + 4, notes, wide)
    return figure


def _heights(rooflines: Sequence[Roofline], drawn: Sequence[tuple[int, KernelPoints]]) -> tuple[float, float]:
    rates = [p.per_second / _GIGA for _, kernel in drawn for p in kernel.points]
    peak = max(r.peak.per_second for r in rooflines) / _GIGA
    return min([peak / 1000, *(rate / 4 for rate in rates)]), max([peak * 2, *(rate * 2 for rate in rates)])


def _panel(
    ax: Axes,
    space: _Space,
    rooflines: Sequence[Roofline],
    drawn: Sequence[tuple[int, KernelPoints]],
    limits: tuple[float, float],
    options: PlotOptions,
) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*_X_LIMITS)
    ax.set_ylim(*limits)
    dress(ax, space.x_label, "Memory instructions (warp GIPS)")
    roofs = [(r, b) for r in rooflines if (b := space.bandwidth(r)) is not None]
    for roofline, bandwidth in roofs:
        _draw_roof(ax, roofline, bandwidth, space, solid=len(rooflines) == 1 or roofline.basis == "measured")
    for wall in space.walls:
        tops = [_roof(r, b, space, wall.intensity) for r, b in roofs]
        ax.plot(
            [wall.intensity] * 2,
            [limits[0], max(tops, default=limits[1])],
            color=INK if wall.main else FAINT,
            linewidth=1.1 if wall.main else 0.6,
            linestyle="-" if wall.main else (0, (2, 2)),
            gid=f"wall-{space.name}",
            zorder=2,
        )
    crowd = empty_crowd(ax)
    points = [(index, p) for index, kernel in drawn for p in kernel.points if p.work == space.name]
    for _, point in points:
        crowd.add(box(*to_points(ax, point.intensity, point.per_second / _GIGA), 8.0, 8.0), MARKER)
    _label_walls(ax, space)
    _label_roofs(ax, space, roofs, crowd)
    numbered = len(drawn) > _COLORED
    styles = {index: options.kernel_style(kernel) for index, kernel in drawn}
    colors = {index: KERNEL_COLORS[i % len(KERNEL_COLORS)] for i, (index, _) in enumerate(drawn)}
    for index, point in points:
        kind = point.level.rpartition(" ")[2]
        chosen = styles[index]
        _mark(
            ax, point, chosen.color or (_COLORS[kind] if numbered else colors[index]), chosen.marker or _MARKERS[kind]
        )
    _number(ax, points, crowd)


def _roof(roofline: Roofline, bandwidth: Bandwidth, space: _Space, x: float) -> float:
    return min(roofline.peak.per_second, bandwidth.bytes_per_second / space.bytes_each * x) / _GIGA


def _draw_roof(ax: Axes, roofline: Roofline, bandwidth: Bandwidth, space: _Space, *, solid: bool) -> None:
    ridge = roofline.peak.per_second / (bandwidth.bytes_per_second / space.bytes_each)
    xs = sorted({_X_LIMITS[0], min(ridge, _X_LIMITS[1]), _X_LIMITS[1]})
    ax.plot(
        xs,
        [_roof(roofline, bandwidth, space, x) for x in xs],
        color="#0072B2" if space.name == "global" else "#CC79A7",
        linewidth=1.3 if solid else 1.0,
        linestyle="-" if solid else (0, (4, 2)),
        alpha=1.0 if solid else 0.6,
        gid=f"roof-{space.name}-{roofline.basis}",
        zorder=2.1,
    )


def _label_walls(ax: Axes, space: _Space) -> None:
    """Name and value of each wall above the axes: inside, the kernels want the room."""
    for wall in space.walls:
        name = "\n".join(textwrap.wrap(wall.name, _NAME_CHARACTERS))
        ax.annotate(
            f"{name}\n{_fraction(wall.intensity)}",
            (wall.intensity, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=_LABEL_SIZE,
            color=INK if wall.main else FAINT,
            gid="wall-label",
        )


def _fraction(value: float) -> str:
    """1, 1/4, 1/32."""
    return "1" if value == 1 else f"1/{round(1 / value)}"


def _label_roofs(ax: Axes, space: _Space, roofs: Sequence[tuple[Roofline, Bandwidth]], crowd: Crowd) -> None:
    if not roofs:
        return
    rates = [b.bytes_per_second / space.bytes_each / _GIGA for _, b in roofs]
    name = "Shared" if space.name == "shared" else "L1"
    label = f"{name} {' of '.join(f'{rate:.1f}' for rate in rates)} GTXN/s"
    roofline, bandwidth = max(roofs, key=lambda roof: roof[1].bytes_per_second)
    x = _X_LIMITS[0] * 1.15
    start = to_points(ax, x, _roof(roofline, bandwidth, space, x))
    length = text.width(label, _LABEL_SIZE)
    crowd.add(chain(start, (start[0] + length, start[1] + length), _LABEL_SIZE), TEXT)
    ax.annotate(
        label,
        (x, _roof(roofline, bandwidth, space, x)),
        xytext=(0, 5),
        textcoords="offset points",
        rotation=_slope(ax),
        rotation_mode="anchor",
        fontsize=_LABEL_SIZE,
        color="#0072B2" if space.name == "global" else "#CC79A7",
        gid="roof-label",
        zorder=3,
    )


def _slope(ax: Axes) -> float:
    """Angle on paper of a line of slope 1 on the logarithmic axes."""
    (x0, y0), (x1, y1) = to_points(ax, 0.01, 1.0), to_points(ax, 0.1, 10.0)
    return math.degrees(math.atan2(y1 - y0, x1 - x0))


def _mark(ax: Axes, point: Point, color: str, marker: str) -> None:
    ax.plot(
        [point.intensity],
        [point.per_second / _GIGA],
        marker=marker,
        markersize=7.0,
        markerfacecolor="white" if point.caveat else color,
        markeredgecolor=color if point.caveat else INK,
        markeredgewidth=1.3 if point.caveat else 0.6,
        linestyle="None",
        gid=f"point-{point.level.replace(' ', '-')}",
        zorder=5,
    )


def _number(ax: Axes, points: Sequence[tuple[int, Point]], crowd: Crowd) -> None:
    """Each point's kernel number beside it; points on one spot share a label."""
    near = 5.0
    groups: list[tuple[tuple[float, float], list[int]]] = []
    for index, point in points:
        spot = to_points(ax, point.intensity, point.per_second / _GIGA)
        home = next((g for g in groups if abs(g[0][0] - spot[0]) + abs(g[0][1] - spot[1]) < near), None)
        if home:
            home[1].append(index + 1)
        else:
            groups.append((spot, [index + 1]))
    labels = [text.listing(numbers) for _, numbers in groups]
    tags = [
        Tag(spot, text.width(label, NUMBER_SIZE) + 2.5, NUMBER_SIZE * 1.3, clear=4.0)
        for (spot, _), label in zip(groups, labels, strict=True)
    ]
    for label, tag, found in zip(labels, tags, place(tags, crowd), strict=True):
        x, y = to_data(ax, found.center)
        ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
        ax.text(x, y, label, ha="center", va="center", fontsize=NUMBER_SIZE, color=INK, gid="number", bbox=ground)
        if found.leader:
            (x0, y0), (x1, y1) = to_data(ax, tag.at), to_data(ax, found.leader)
            ax.plot([x0, x1], [y0, y1], color=FAINT, linewidth=0.4, gid="leader", zorder=3.5)


def _table(drawn: Sequence[tuple[int, KernelPoints]], options: PlotOptions, height: float) -> Table:
    room = 130.0
    rows = [
        Row(
            str(index + 1),
            text.elide(text.plain(options.kernel_style(k).label or k.short_name), 7.5, room),
            f" ({text.elide(text.plain(k.note), 7.5, room)})" if k.note else "",
            "" if k.time_share is None else percent(k.time_share),
        )
        for index, k in drawn
    ]
    return lay_out_rows(rows, height, options.legend_rows)


def _key(figure: Figure, left: float, top: float, *, colored: bool) -> None:
    """What the two markers are, above the table."""
    wide, high = figure.get_size_inches() * INCH
    for index, (word, marker) in enumerate(_MARKERS.items()):
        y = (top - 6 - index * 12) / high
        figure.text(left / wide + 10 / wide, y, f"{word}s", fontsize=8, va="center", color=INK, gid="key")
        color = _COLORS[word] if colored else FAINT
        figure.add_artist(_symbol(figure, left / wide, y, marker, color))


def _symbol(figure: Figure, x: float, y: float, marker: str, color: str) -> Line2D:
    return Line2D([x], [y], marker=marker, markersize=6, color=color, linestyle="None", transform=figure.transFigure)


def _notes(kernels: Sequence[KernelPoints], panels: Sequence[_Space], rooflines: Sequence[Roofline]) -> list[str]:
    lines = [
        f"no {r.basis} {'shared-memory' if space.name == 'shared' else 'L1'} ceiling: "
        f"{r.absent.get('l1' if space.name == 'global' else 'shared', 'not known for this GPU')}"
        for space in panels
        for r in rooflines
        if space.bandwidth(r) is None
    ]
    if any(point.caveat for kernel in kernels for point in kernel.points):
        lines.append("hollow: the counts are not exact (see the notes of the report)")
    groups: dict[tuple[str, str], list[int]] = {}
    for number, kernel in enumerate(kernels, 1):
        for space in panels:
            reasons = {why for access, why in kernel.missing.items() if access.startswith(space.name)}
            if reasons and not any(point.work == space.name for point in kernel.points):
                groups.setdefault((space.name, "; ".join(sorted(reasons))), []).append(number)
    lines += [f"no {name} point for {text.listing(numbers)}: {why}" for (name, why), numbers in groups.items()]
    return [text.plain(line) for line in lines]
