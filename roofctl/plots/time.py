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
from roofctl.plots.data import PlotData, for_whom
from roofctl.plots.frame import Frame, FrameText, Panel
from roofctl.plots.kernel_table import lay_out_table
from roofctl.plots.labels import add_markers, along_line, number_points, write_along
from roofctl.plots.legend import LegendEntry, draw_legend, filled, handle
from roofctl.plots.page import settings
from roofctl.plots.placement import LINE, TEXT, Obstacles, Position, box
from roofctl.plots.points import kernel_sample
from roofctl.plots.style import ALARM, FAINT, INK, PlotOptions, level_look
from roofctl.plots.text import plain, width
from roofctl.plots.time_data import TimeData, TimePoint, set_limits, time_data
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
_DOTS: Final = (0, (1, 1.6))


def time(roofline: Roofline, timings: Sequence[Timing], options: PlotOptions | None = None) -> Figure:
    """The kernels of ``timings`` by the ceilings of ``roofline``, in the manner of ``figure.multi``.

    ``options.levels`` are those that the memory time is taken from. Raises InputError when no kernel can be drawn.
    """
    data = time_data(roofline, timings, options or PlotOptions())
    plot = data.plot
    with settings():
        title = plot.options.title or (_TITLE if plot.many else f"{_TITLE}: {plot.names[0]}")
        labels = FrameText(title, plot.options.subtitle, _footnotes(data))
        remarks = [""] * len(timings)
        table = lay_out_table(plot, remarks) if data.numbered else None
        frame = Frame.blank(labels, [Panel(_X_NAME)], plot.options.size, table=table, points=2 * len(data.points))
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
        named = _label_regions(frame.ax, data, obstacles)
        _draw_contours(frame.ax, obstacles)
        if plot.many:
            numbers = [(to_points(frame.ax, *point.at(frame.ax)), point.index + 1) for point in data.points]
            number_points(frame.ax, numbers, obstacles)
        _reserve_corner(frame.ax, data, obstacles)
        frame.outside = draw_legend(frame.ax, _entries(data, named=named), obstacles)
        return frame.finish()


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
    color = data.color(point)
    if point.stretch is not None:
        for factors, dashes in _stretches(point, data.launch):
            xs, ys = zip(*(point.at(ax, factor) for factor in factors), strict=True)
            ax.plot(xs, ys, color=color, linewidth=1.1, linestyle=dashes, gid="headroom", zorder=3)
        measured = point.at(ax, point.stretch)
        _dot(ax, measured, "measured", 4.4, marker="o", markerfacecolor="white", markeredgecolor=color)
        if point.timing.too_fast:
            _dot(ax, measured, "too-fast", 10.0, marker="o", markerfacecolor="none", markeredgecolor=ALARM)
    marker = data.plot.options.kernel_style(data.plot.kernels[point.index]).marker
    shape = marker or level_look(point.level, data.plot.options).marker
    look = {"marker": shape, "markerfacecolor": color, "markeredgecolor": INK, "markeredgewidth": 0.6}
    _dot(ax, point.at(ax), "bounds", 6.0, **look)


def _dot(ax: Axes, at: Position, gid: str, size: float, **look: object) -> None:
    style = {"markeredgewidth": 1.2, "linestyle": "None", "clip_on": False, "zorder": 5, **look}
    ax.plot([at[0]], [at[1]], markersize=size, gid=gid, **style)  # type: ignore[arg-type]


def _stretches(point: TimePoint, launch: float | None) -> list[tuple[tuple[float, float], object]]:
    """Parts of the line from the bounds to the measured time, as factors: dotted up to the time of a launch."""
    stretch = point.stretch or 1.0
    floor = min(launch / point.longer, stretch) if launch else 1.0
    if floor <= 1.0:
        return [((1.0, stretch), "-")]
    rest: list[tuple[tuple[float, float], object]] = [((floor, stretch), "-")] if floor < stretch else []
    return [((1.0, floor), _DOTS), *rest]


def _obstacles(ax: Axes, data: TimeData) -> Obstacles:
    """Every line so far, and the markers."""
    obstacles = line_obstacles(ax)
    positions = [point.at(ax, factor) for point in data.points for factor in (1.0, point.stretch or 1.0)]
    add_markers([to_points(ax, *position) for position in positions], obstacles)
    return obstacles


def _label_regions(ax: Axes, data: TimeData, obstacles: Obstacles) -> bool:
    """Name the corner of the launch and both sides of the diagonal. Returns whether the corner has its name."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    at = partial(to_points, ax)
    launch, named = data.launch or 0.0, False
    if launch:
        upper, side = (at(left, launch), at(launch, launch)), (at(launch, bottom), at(launch, launch))
        names = (f"launch bound: under {_short(launch)}", f"launch {_short(launch)}")
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


def _label_region(ax: Axes, obstacles: Obstacles, tries: Sequence[tuple[str, Position, Position, float]]) -> bool:
    """Write the first of the texts (with a line on paper and a distance from it) that covers nothing, or none."""
    for name, start, end, lift in tries:
        placed = along_line(start, end, name, obstacles, backwards=True, lifts=(lift,)) if start != end else None
        if placed and placed.free:
            write_along(ax, placed, obstacles, color=FAINT, gid="region")
            return True
    return False


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


def _entries(data: TimeData, *, named: bool) -> list[LegendEntry]:
    """The legend; ``named``: the corner of the launch has its name in the picture."""
    launch = data.launch
    entries = [*_kernel_entries(data), *_level_entries(data)]
    hollow = {"marker": "o", "markersize": 4.4, "markerfacecolor": "white", "markeredgewidth": 1.2}
    dashes = [dash for point in data.points if point.stretch for _, dash in _stretches(point, launch)]
    if dashes:
        line = handle(**hollow, linestyle="-", linewidth=1.1)
        entries.append(LegendEntry(line, fixed="measured time; line: headroom"))
    if _DOTS in dashes:
        entries.append(LegendEntry(handle(linestyle=_DOTS, linewidth=1.1), fixed="dotted: less than a launch"))
    balance = handle(color=INK, linestyle=(0, (5, 2)), linewidth=1.2)
    entries.append(LegendEntry(balance, fixed="machine balance: compute = memory"))
    if launch and not named:
        entries.append(LegendEntry(handle(color=INK, linestyle="-", linewidth=1.2), fixed=f"launch {_short(launch)}"))
    if any(point.timing.too_fast for point in data.points):
        ring = handle(marker="o", markersize=9, markerfacecolor="none", markeredgecolor=ALARM, markeredgewidth=1.2)
        entries.append(LegendEntry(ring, fixed="faster than its bound: see report"))
    return entries


def _kernel_entries(data: TimeData) -> list[LegendEntry]:
    """An entry per kernel where the legend distinguishes them."""
    plot, undrawn = data.plot, {index for index, _ in data.undrawn}
    if data.numbered or not plot.many:
        return []
    return [
        LegendEntry(
            kernel_sample(plot, kernel, index), f"{index + 1}  {name}", " – (not drawn)" if index in undrawn else ""
        )
        for index, (kernel, name) in enumerate(zip(plot.kernels, plot.names, strict=True))
    ]


def _level_entries(data: TimeData) -> list[LegendEntry]:
    """An entry per level that is the slowest of a kernel, with its bandwidth."""
    plot, slowest, entries = data.plot, {point.level for point in data.points}, list[LegendEntry]()
    for level in plot.levels:
        if level in slowest:
            look, bandwidth = level_look(level, plot.options), plot.rooflines[0].bandwidth(level)
            rate = f", {prefixed(bandwidth.bytes_per_second, 'B/s', 3)}" if bandwidth else ""
            shade = look.color if data.numbered else FAINT
            entries.append(LegendEntry(filled(look.marker, shade), fixed=f"memory time by {plot.label(level)}{rate}"))
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
    lines += [
        f"{what}{for_whom(plot, members, numbered=plot.many)}: {reason}" for (what, reason), members in groups.items()
    ]
    return [plain(line) for line in lines]


def _launch_notes(data: TimeData) -> list[str]:
    """A note that a launch was not measured, or on the kernels that are shorter than one."""
    if data.launch is None:
        return ["no launch bound: the time of a launch was not measured (roofctl calibrate --level launch)"]
    shorter = [point.index for point in data.points if point.timing.limit == LAUNCH]
    who = for_whom(data.plot, shorter, numbered=data.plot.many)
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
    if point.timing.seconds is None:
        lines.append(("no measured time", missing.get(MEASURED, "not known")))
    return lines
