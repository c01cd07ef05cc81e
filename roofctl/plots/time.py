"""The time-based roofline as a figure: compute time against memory time, per launch.

After the abstract of arXiv 2009.04598; ``roofctl.roofline.time_based`` defines the times. A kernel is drawn at its
two bounds. From there a line at 45 degrees, both times longer by the same factor, leads to a hollow marker where the
longer one is the measured time: its length is the headroom.
On the diagonal both bounds are equal: machine balance. In the grey corner both are shorter than a launch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from roofctl.core.units import duration, prefixed
from roofctl.plots.axes import dress, line_obstacles, to_data, to_points
from roofctl.plots.data import PlotData, for_whom, share_of
from roofctl.plots.frame import Frame, FrameText, Panel
from roofctl.plots.kernel_table import lay_out_table
from roofctl.plots.labels import Named, add_markers, along_line, name_points, number_points, write_along
from roofctl.plots.legend import LegendEntry, filled, handle
from roofctl.plots.many import sample
from roofctl.plots.page import settings
from roofctl.plots.placement import LINE, TEXT, Obstacles, Position, box
from roofctl.plots.style import ALARM, FAINT, INK, PlotOptions, level_look
from roofctl.plots.text import percent, plain, width
from roofctl.plots.time_data import SHORTEST, TimeData, TimePoint, set_limits, time_data
from roofctl.roofline.model import ISSUE, Model, Roofline
from roofctl.roofline.time_based import COMPUTE, LAUNCH, MEASURED, Timing, sums

_TITLE: Final = "Time-based roofline"
_X_NAME: Final = "Memory time per launch (bytes / bandwidth, slowest level)"
_Y_NAMES: Final[dict[Model, str]] = {
    "instruction": "Compute time per launch (instructions / peak)",
    "flop": "Compute time per launch (operations / peak)",
}
_CONTOUR: Final = "#DDDDDD"
_CONTOUR_SIZE: Final = 7.0
_BOX: Final = "#F3F3F3"


def time(roofline: Roofline, timings: Sequence[Timing], options: PlotOptions | None = None) -> Figure:
    """The kernels of ``timings`` by the ceilings of ``roofline``, in the manner of ``figure.multi``.

    ``options.levels`` are those that the memory time is taken from. Raises InputError when no kernel can be drawn.
    """
    options = options or PlotOptions()
    with settings(options.font):
        data = time_data(roofline, timings, options)
        plot = data.plot
        title = _TITLE if plot.many else f"{_TITLE}: {plot.names[0]}"
        title = title if options.title is None else options.title
        labels = FrameText(title, plot.options.subtitle, _footnotes(data))
        rest = [point.index for point in data.points if point.index not in data.labeled]
        table = lay_out_table(plot, data.labeled, rest, data.color) if data.numbered else None
        frame = Frame.blank(labels, [Panel(_X_NAME)], options, table=table, points=2 * len(data.labeled))
        set_limits(frame.ax, data)
        dress(frame.ax, _X_NAME, _Y_NAMES[roofline.model], _tick)
        frame.ax.grid(visible=False, which="both")
        # Tick labels carry a unit here and are wider than elsewhere.
        frame.ax.tick_params(axis="y", pad=2.0, labelsize=7.5)
        frame.ax.yaxis.labelpad = 1.5
        _draw_launch(frame.ax, data)
        _draw_balance(frame.ax)
        for point in data.points:
            _draw_point(frame.ax, point, data)
        obstacles = _obstacles(frame.ax, data)
        corner = _label_regions(frame.ax, data, obstacles)
        _draw_contours(frame.ax, obstacles)
        named = _label_kernels(frame.ax, data, obstacles)
        _reserve_corner(frame.ax, data, obstacles)
        frame.add_legend(_entries(data, corner=corner, kernels=not named), obstacles)
        return frame.finish()


def _label_kernels(ax: Axes, data: TimeData, obstacles: Obstacles) -> bool:
    """The name of each kernel beside it, else its number. Returns whether the legend need not name them."""
    plot = data.plot
    labeled = [point for point in data.points if point.index in data.labeled]
    positions = [to_points(ax, *point.at(ax)) for point in labeled]
    names = [
        Named(at, plot.names[point.index], data.color(point.index))
        for at, point in zip(positions, labeled, strict=True)
    ]
    if not plot.many or (not data.numbered and name_points(ax, names, obstacles)):
        return True
    number_points(ax, [(at, point.index + 1) for at, point in zip(positions, labeled, strict=True)], obstacles)
    return data.numbered


def _short(seconds: float) -> str:
    """A time in few digits: 2.2 µs."""
    number, unit = duration(seconds).split()
    return f"{float(number):.3g} {unit}"


def _tick(seconds: float) -> str:
    """A decade as a time without decimals: 10 µs."""
    number, unit = duration(seconds).split()
    return f"{float(number):g} {unit}"


# --- kernels and lines --------------------------------------------------------------------


def _draw_launch(ax: Axes, data: TimeData) -> None:
    """The corner where both bounds are shorter than a launch."""
    if data.launch is None:
        return
    left, bottom, launch = ax.get_xlim()[0], ax.get_ylim()[0], data.launch
    area = Rectangle((left, bottom), launch - left, launch - bottom, facecolor=_BOX, edgecolor="none", zorder=1)
    area.set_gid("launch-area")
    ax.add_patch(area)
    ax.plot([left, launch, launch], [launch, launch, bottom], color=INK, linewidth=1.2, gid="launch", zorder=2)


def _draw_balance(ax: Axes) -> None:
    """The diagonal, where both bounds are equal."""
    low = max(ax.get_xlim()[0], ax.get_ylim()[0])
    high = min(ax.get_xlim()[1], ax.get_ylim()[1])
    if low < high:
        ax.plot([low, high], [low, high], color=INK, linewidth=1.2, linestyle=(0, (5, 2)), gid="balance", zorder=2)


def _draw_point(ax: Axes, point: TimePoint, data: TimeData) -> None:
    """A kernel: filled at its bounds, hollow at the measured time, and the headroom between them."""
    color, labeled = data.color(point.index), point.index in data.labeled
    if point.stretch is not None and labeled:
        if factors := _stretch(point, data.launch):
            xs, ys = zip(*(point.at(ax, factor) for factor in factors), strict=True)
            ax.plot(xs, ys, color=color, linewidth=1.1, gid="headroom", zorder=3)
        measured = point.at(ax, point.stretch)
        _dot(ax, measured, "measured", 4.4, marker="o", markerfacecolor="white", markeredgecolor=color)
        if point.timing.too_fast:
            _dot(ax, measured, "too-fast", 10.0, marker="o", markerfacecolor="none", markeredgecolor=ALARM)
    marker = data.plot.options.kernel_style(data.plot.kernels[point.index]).marker
    shape = marker or level_look(point.level, data.plot.options).marker
    look = {"marker": shape, "markerfacecolor": color, "markeredgewidth": 0.6}
    edge, size, order = (INK, 6.0, 5.0) if labeled else ("white", 4.0, 4.0)
    _dot(ax, point.at(ax), "bounds", size, markeredgecolor=edge, zorder=order, **look)


def _dot(ax: Axes, at: Position, gid: str, size: float, **look: object) -> None:
    style = {"markeredgewidth": 1.2, "linestyle": "None", "clip_on": False, "zorder": 5, **look}
    ax.plot([at[0]], [at[1]], markersize=size, gid=gid, **style)  # type: ignore[arg-type]


def _stretch(point: TimePoint, launch: float | None) -> tuple[float, float] | None:
    """The line from the longest bound (of them the time of a launch) to the measured time, as factors of the bounds."""
    stretch = point.stretch or 1.0
    floor = max(launch / point.longer, 1.0) if launch else 1.0
    return (floor, stretch) if floor < stretch or floor == 1.0 else None


def _obstacles(ax: Axes, data: TimeData) -> Obstacles:
    """Every line so far, and the markers."""
    obstacles = line_obstacles(ax)
    positions = [point.at(ax) for point in data.points]
    positions += [point.at(ax, point.stretch) for point in data.points if point.stretch and point.index in data.labeled]
    add_markers([to_points(ax, *position) for position in positions], obstacles)
    return obstacles


def _label_regions(ax: Axes, data: TimeData, obstacles: Obstacles) -> str:
    """Name the corner of the launch and both sides of the diagonal. Returns the text of the corner."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    at = partial(to_points, ax)
    launch, named = data.launch or 0.0, ""
    if launch:
        upper, side = (at(left, launch), at(launch, launch)), (at(launch, bottom), at(launch, launch))
        names = (*_corner_texts(data), f"launch bound: under {_short(launch)}", f"launch {_short(launch)}")
        named = _label_region(
            ax, obstacles, [(name, *line) for name in names for line in ((*upper, -0.9), (*side, 0.9))]
        )
    low, high = max(left, bottom, launch), min(right, top)
    diagonal = [(at(low, low), at(high, high))] if low < high else []
    sides = (
        ("compute bound", 0.9, (at(left, top), at(max(left, high), top)), -1.0),
        ("memory bound", -0.9, (at(max(left, low), bottom), at(right, bottom)), 1.0),
    )
    for name, lift, edge, inward in sides:
        tries = [(name, *line, lift * times) for line in diagonal for times in (1, 2)]
        _label_region(ax, obstacles, [*tries, (name, *edge, inward), (name, *edge, 2.5 * inward)])
    return named


def _corner_texts(data: TimeData) -> list[str]:
    """``launch bound: 38 kernels, 45 % of the time``: those of which both bounds are shorter than a launch."""
    kernels = [data.plot.kernels[index] for index in data.in_corner]
    if not kernels or not data.plot.many or data.launch is None:
        return []
    share = share_of(kernels)
    count = f"{len(kernels)} kernel{'s' if len(kernels) > 1 else ''}"
    full = count if share is None else f"{count}, {percent(share)} of the time"
    return [f"launch bound (under {_short(data.launch)}): {full}", f"launch bound: {full}"]


def _label_region(ax: Axes, obstacles: Obstacles, tries: Sequence[tuple[str, Position, Position, float]]) -> str:
    """Write the first of the texts (with a line on paper and a distance from it) that covers nothing, and return it."""
    for name, start, end, lift in tries:
        placed = along_line(start, end, name, obstacles, backwards=True, lifts=(lift,)) if start != end else None
        if placed and placed.free:
            write_along(ax, placed, obstacles, color=FAINT, gid="region")
            return name
    return ""


def _draw_contours(ax: Axes, obstacles: Obstacles) -> None:
    """Where the longer bound is 1 µs, 10 µs, ...: no kernel there can take less time."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    for decade in range(math.ceil(math.log10(max(left, bottom))), math.floor(math.log10(max(right, top))) + 1):
        seconds = 10.0**decade
        path = ([left, seconds, seconds], [seconds, seconds, bottom])
        ax.plot(*path, color=_CONTOUR, linewidth=0.8, gid="contour", zorder=1.5)
        _label_contour(ax, seconds, obstacles)


def _label_contour(ax: Axes, seconds: float, obstacles: Obstacles) -> None:
    """The time beside its contour: below the corner, else further down, else left of the corner; else not at all."""
    name, corner = _tick(seconds), to_points(ax, seconds, seconds)
    wide, high = width(name, _CONTOUR_SIZE) + 3.0, _CONTOUR_SIZE * 1.2
    steps = [step * high for step in range(8)]
    positions = [(corner[0] + wide / 2 + 1.5, corner[1] - high / 2 - step) for step in steps]
    positions += [(corner[0] - wide / 2 - 2 * step, corner[1] + high / 2 + 1.0) for step in steps]
    for position in positions:
        area = box(*position, wide, high)
        if obstacles.costs(area)[0] < LINE:
            obstacles.add(area, TEXT)
            x, y = to_data(ax, position)
            style = {"fontsize": _CONTOUR_SIZE, "color": FAINT, "gid": "contour-label"}
            ax.text(x, y, name, ha="center", va="center", zorder=3, **style)  # type: ignore[arg-type]
            return


def _reserve_corner(ax: Axes, data: TimeData, obstacles: Obstacles) -> None:
    """Keep the legend off the corner of the launch: numbers may be there, a box would hide it."""
    if data.launch is not None:
        low, high = to_points(ax, ax.get_xlim()[0], ax.get_ylim()[0]), to_points(ax, data.launch, data.launch)
        obstacles.add(box((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, high[0] - low[0], high[1] - low[1]), LINE)


# --- legend and footnotes -------------------------------------------------------------------


def _entries(data: TimeData, *, corner: str, kernels: bool) -> list[LegendEntry]:
    """The legend, with or without the kernels; ``corner`` is what stands in the corner of the launch."""
    launch = data.launch
    entries = [*(_kernel_entries(data) if kernels else []), *_level_entries(data)]
    hollow = {"marker": "o", "markersize": 4.4, "markerfacecolor": "white", "markeredgewidth": 1.2}
    if any(point.stretch and point.index in data.labeled for point in data.points):
        line = handle(**hollow, linestyle="-", linewidth=1.1)
        entries.append(LegendEntry(line, fixed="measured time; line: headroom"))
    balance = handle(color=INK, linestyle=(0, (5, 2)), linewidth=1.2)
    entries.append(LegendEntry(balance, fixed="machine balance: compute = memory"))
    if launch and _short(launch) not in corner:
        entries.append(LegendEntry(handle(color=INK, linestyle="-", linewidth=1.2), fixed=f"launch {_short(launch)}"))
    if any(point.timing.too_fast for point in data.points):
        ring = handle(marker="o", markersize=9, markerfacecolor="none", markeredgecolor=ALARM, markeredgewidth=1.2)
        entries.append(LegendEntry(ring, fixed="faster than its bound: see report"))
    return entries


def _kernel_entries(data: TimeData) -> list[LegendEntry]:
    """An entry per kernel where the legend distinguishes them."""
    plot = data.plot
    return [
        LegendEntry(sample(data.color(index), plot.options.kernel_style(plot.kernels[index]).marker), name)
        for index in data.labeled
        for name in [f"{index + 1}  {plot.names[index]}"]
    ]


def _level_entries(data: TimeData) -> list[LegendEntry]:
    """An entry per level that is the slowest of a kernel, with its bandwidth."""
    plot, slowest, entries = data.plot, {point.level for point in data.points}, list[LegendEntry]()
    for level in plot.levels:
        if level in slowest:
            look, bandwidth = level_look(level, plot.options), plot.rooflines[0].bandwidth(level)
            rate = f", {prefixed(bandwidth.bytes_per_second, 'B/s', 3)}" if bandwidth else ""
            entries.append(LegendEntry(filled(look.marker, FAINT), fixed=f"memory time by {plot.label(level)}{rate}"))
    return entries


def _footnotes(data: TimeData) -> list[str]:
    """Remarks of the caller and the sums, then one line per thing that is missing or not exact, with its reason."""
    plot = data.plot
    absent = plot.rooflines[0].absent
    lines = [*plot.options.remarks, sums(data.timings, plot.levels), *_launch_notes(data)]
    lines += [
        f"no {plot.label(level)} ceiling: {absent.get(level, 'not known')}"
        for level in plot.levels
        if plot.rooflines[0].bandwidth(level) is None
    ]
    lines += [absent[ISSUE]] if ISSUE in absent else []
    groups: dict[tuple[str, str], list[int]] = {}
    for index, reason in data.undrawn:
        groups.setdefault(("not drawn", reason), []).append(index)
    for point in data.points:
        for remark in _remarks(point, plot):
            groups.setdefault(remark, []).append(point.index)
    lines += [f"{what}{for_whom(plot, members)}: {reason}" for (what, reason), members in groups.items()]
    return [plain(line) for line in lines]


def _launch_notes(data: TimeData) -> list[str]:
    """A note that a launch was not measured, or on the kernels that are shorter than one."""
    if data.launch is None:
        return ["no launch bound: the time of a launch was not measured (roofctl calibrate --level launch)"]
    shorter = [point.index for point in data.points if point.timing.limit == LAUNCH]
    who = for_whom(data.plot, shorter)
    why = f"they start {_short(data.launch)} apart, which a measured time leaves out"
    return [f"limited by launches{who}: {why}"] if shorter else []


def _remarks(point: TimePoint, plot: PlotData) -> list[tuple[str, str]]:
    """What is missing or not exact about one kernel, each with its reason."""
    missing, caveats = point.timing.missing, point.timing.caveats
    known = [level for level in plot.levels if plot.rooflines[0].bandwidth(level)]
    lines = [(f"no {plot.label(level)} time", missing[level]) for level in known if level in missing]
    lines += [(f"{plot.label(point.level)} time", caveats[point.level])] if point.level in caveats else []
    lines += [("compute time", caveats[COMPUTE])] if COMPUTE in caveats else []
    lines += [] if point.compute else [("compute time 0, at the lower edge", "no operations")]
    lines += [] if point.memory else [("memory time 0, at the left edge", "no traffic")]
    if 0 < min(point.compute or 1.0, point.memory or 1.0) < SHORTEST:
        lines.append((f"shorter than {_tick(SHORTEST)}, at the edge", "compute or memory time"))
    if point.timing.seconds is None:
        lines.append(("no measured time", missing.get(MEASURED, "not known")))
    return lines
