"""The time-based roofline as a figure: compute time against memory time, per launch.

The idea is that of arXiv 2009.04598, of which only the abstract was at hand: what is drawn is our own reading
(see ``roofctl.roofline.time_based``). A kernel stands at its two bounds. From there a line at 45 degrees, both
times longer by the same factor, leads to a hollow marker where the longer one is the measured time: its length is
the headroom.
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
from roofctl.plots.axes import dress, empty_crowd, to_data, to_points
from roofctl.plots.ceilings import best_stretch, write_along
from roofctl.plots.crowd import LINE, MARKER, TEXT, Crowd, Spot, box
from roofctl.plots.frame import Frame, Words
from roofctl.plots.legend import draw_legend, lay_out_table
from roofctl.plots.points import Entry, filled, handle, kernel_sample, number_spots
from roofctl.plots.scene import Scene, for_whom
from roofctl.plots.sheet import INCH, settings
from roofctl.plots.style import ALARM, FAINT, INK, PlotOptions, level_look, level_name
from roofctl.plots.text import plain, width
from roofctl.plots.timing_view import Mark, View, set_limits, view_of
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
    view = view_of(roofline, timings, options or PlotOptions())
    with settings():
        scene = view.scene
        title = scene.options.title or (_TITLE if scene.many else f"{_TITLE}: {scene.names[0]}")
        words = Words(title, scene.options.subtitle, _X_NAME, _footnotes(view))
        remarks = [""] * len(timings)
        table = lay_out_table(scene, scene.options.size[1] * INCH - 100, remarks) if view.numbered else None
        frame = Frame.blank(words, scene.options.size, table, marks=2 * len(view.marks))
        set_limits(frame.ax, view)
        dress(frame.ax, _X_NAME, _Y_NAMES[roofline.model], _tick)
        frame.ax.grid(visible=False, which="both")
        # Tick labels carry a unit here and are wider than elsewhere.
        frame.ax.tick_params(axis="y", pad=2.0, labelsize=7.5)
        frame.ax.yaxis.labelpad = 1.5
        _draw_launch(frame.ax, view)
        _draw_balance(frame.ax)
        for mark in view.marks:
            _draw(frame.ax, mark, view)
        crowd = _crowd(frame.ax, view)
        named = _label(frame.ax, view, crowd)
        _draw_contours(frame.ax, crowd)
        if scene.many:
            number_spots(frame.ax, [(to_points(frame.ax, *m.at(frame.ax)), m.index + 1) for m in view.marks], crowd)
        _reserve_corner(frame.ax, view, crowd)
        frame.outside = draw_legend(frame.ax, _entries(view, named=named), crowd)
        return frame.finish()


def _short(seconds: float) -> str:
    """A time in few digits: 2.2 µs."""
    number, unit = duration(seconds).split()
    return f"{float(number):.3g} {unit}"


def _tick(seconds: float) -> str:
    """A decade as a time without decimals: 10 µs."""
    number, unit = duration(seconds).split()
    return f"{float(number):g} {unit}"


# --- what is drawn ------------------------------------------------------------------------


def _draw_launch(ax: Axes, view: View) -> None:
    """The corner where both bounds are shorter than a launch."""
    if view.launch is None:
        return
    left, bottom, launch = ax.get_xlim()[0], ax.get_ylim()[0], view.launch
    area = Rectangle((left, bottom), launch - left, launch - bottom, facecolor=_BOX, edgecolor="none", zorder=1)
    area.set_gid("launch-area")
    ax.add_patch(area)
    ax.plot([left, launch, launch], [launch, launch, bottom], color=INK, linewidth=1.2, gid="launch", zorder=2)


def _draw_balance(ax: Axes) -> None:
    low = max(ax.get_xlim()[0], ax.get_ylim()[0])
    high = min(ax.get_xlim()[1], ax.get_ylim()[1])
    if low < high:
        ax.plot([low, high], [low, high], color=INK, linewidth=1.2, linestyle=(0, (5, 2)), gid="balance", zorder=2)


def _draw(ax: Axes, mark: Mark, view: View) -> None:
    """A kernel: filled at its bounds, hollow at the measured time, and the headroom between them."""
    color = view.color(mark)
    if mark.stretch is not None:
        for factors, dashes in _stretches(mark, view.launch):
            xs, ys = zip(*(mark.at(ax, factor) for factor in factors), strict=True)
            ax.plot(xs, ys, color=color, linewidth=1.1, linestyle=dashes, gid="headroom", zorder=3)
        measured = mark.at(ax, mark.stretch)
        _dot(ax, measured, "measured", 4.4, marker="o", markerfacecolor="white", markeredgecolor=color)
        if mark.timing.too_fast:
            _dot(ax, measured, "too-fast", 10.0, marker="o", markerfacecolor="none", markeredgecolor=ALARM)
    marker = view.scene.options.kernel_style(view.scene.kernels[mark.index]).marker
    shape = marker or level_look(mark.level, view.scene.options).marker
    look = {"marker": shape, "markerfacecolor": color, "markeredgecolor": INK, "markeredgewidth": 0.6}
    _dot(ax, mark.at(ax), "bounds", 6.0, **look)


def _dot(ax: Axes, at: Spot, gid: str, size: float, **look: object) -> None:
    style = {"markeredgewidth": 1.2, "linestyle": "None", "clip_on": False, "zorder": 5, **look}
    ax.plot([at[0]], [at[1]], markersize=size, gid=gid, **style)  # type: ignore[arg-type]


def _stretches(mark: Mark, launch: float | None) -> list[tuple[tuple[float, float], object]]:
    """The way from the bounds to the measured time, as factors: dotted as far as launches make it no headroom."""
    stretch = mark.stretch or 1.0
    floor = min(launch / mark.longer, stretch) if launch else 1.0
    if floor <= 1.0:
        return [((1.0, stretch), "-")]
    rest: list[tuple[tuple[float, float], object]] = [((floor, stretch), "-")] if floor < stretch else []
    return [((1.0, floor), _DOTS), *rest]


def _crowd(ax: Axes, view: View) -> Crowd:
    """What labels have to keep clear of: every line so far, and the markers."""
    crowd, size = empty_crowd(ax), 8.0
    for mark in view.marks:
        for factor in (1.0, mark.stretch or 1.0):
            crowd.add(box(*to_points(ax, *mark.at(ax, factor)), size, size), MARKER)
    return crowd


def _label(ax: Axes, view: View, crowd: Crowd) -> bool:
    """The names of the regions: the corner of the launch (whether it found room), and both sides of the diagonal."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    at = partial(to_points, ax)
    launch, named = view.launch or 0.0, False
    if launch:
        upper, side = (at(left, launch), at(launch, launch)), (at(launch, bottom), at(launch, launch))
        names = (f"launch bound: under {_short(launch)}", f"launch {_short(launch)}")
        named = _region(ax, crowd, [(name, *line) for name in names for line in ((*upper, -0.9), (*side, 0.9))])
    low, high = max(left, bottom, launch), min(right, top)
    diagonal = [(at(low, low), at(high, high))] if low < high else []
    sides = (
        ("compute bound", 0.9, (at(left, top), at(max(left, high), top)), -1.0),
        ("memory bound", -0.9, (at(max(left, low), bottom), at(right, bottom)), 1.0),
    )
    for name, lift, edge, inward in sides:
        tries = [(name, *line, lift * times) for line in diagonal for times in (1, 2)]
        _region(ax, crowd, [*tries, (name, *edge, inward), (name, *edge, 2.5 * inward)])
    return named


def _region(ax: Axes, crowd: Crowd, tries: Sequence[tuple[str, Spot, Spot, float]]) -> bool:
    """Write the first of the texts (with a line on paper and a distance from it) that fits on free ground, or none."""
    for name, start, end, lift in tries:
        stretch = best_stretch(start, end, name, crowd, backwards=True, lifts=(lift,)) if start != end else None
        if stretch and stretch[0] < MARKER:
            angle = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
            write_along(ax, name, stretch, crowd, angle=angle, color=FAINT, gid="region")
            return True
    return False


def _draw_contours(ax: Axes, crowd: Crowd) -> None:
    """Where the longer bound is 1 µs, 10 µs, ...: no kernel there can take less time."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    for decade in range(math.ceil(math.log10(max(left, bottom))), math.floor(math.log10(max(right, top))) + 1):
        seconds = 10.0**decade
        path = ([left, seconds, seconds], [seconds, seconds, bottom])
        ax.plot(*path, color=_CONTOUR, linewidth=0.8, gid="contour", zorder=1.5)
        _label_contour(ax, seconds, crowd)


def _label_contour(ax: Axes, seconds: float, crowd: Crowd) -> None:
    """The time beside its contour: below the corner, else further down, else left of the corner; or nowhere."""
    name, corner = _tick(seconds), to_points(ax, seconds, seconds)
    wide, high = width(name, _CONTOUR_SIZE) + 3.0, _CONTOUR_SIZE * 1.2
    steps = [step * high for step in range(8)]
    spots = [(corner[0] + wide / 2 + 1.5, corner[1] - high / 2 - step) for step in steps]
    spots += [(corner[0] - wide / 2 - 2 * step, corner[1] + high / 2 + 1.0) for step in steps]
    for spot in spots:
        area = box(*spot, wide, high)
        if crowd.costs(area)[0] < LINE:
            crowd.add(area, TEXT)
            x, y = to_data(ax, spot)
            style = {"fontsize": _CONTOUR_SIZE, "color": FAINT, "gid": "contour-label"}
            ax.text(x, y, name, ha="center", va="center", zorder=3, **style)  # type: ignore[arg-type]
            return


def _reserve_corner(ax: Axes, view: View, crowd: Crowd) -> None:
    """Keep the legend off the corner of the launch: numbers may stand there, a box would hide it."""
    if view.launch is not None:
        low, high = to_points(ax, ax.get_xlim()[0], ax.get_ylim()[0]), to_points(ax, view.launch, view.launch)
        crowd.add(box((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, high[0] - low[0], high[1] - low[1]), LINE)


# --- words ----------------------------------------------------------------------------------


def _entries(view: View, *, named: bool) -> list[Entry]:
    """The legend; ``named``: the corner of the launch has its name on the picture."""
    scene, launch = view.scene, view.launch
    entries: list[Entry] = []
    for index, (kernel, name) in enumerate(zip(scene.kernels, scene.names, strict=True)):
        if scene.many and not view.numbered:
            absent = index in {i for i, _ in view.undrawn}
            entries.append(
                Entry(kernel_sample(scene, kernel, index), f"{index + 1}  {name}", " – (not drawn)" * absent)
            )
    for level in dict.fromkeys(mark.level for mark in sorted(view.marks, key=lambda m: scene.levels.index(m.level))):
        look, bandwidth = level_look(level, scene.options), scene.rooflines[0].bandwidth(level)
        rate = f", {prefixed(bandwidth.bytes_per_second, 'B/s', 3)}" if bandwidth else ""
        shade = look.color if view.numbered else FAINT
        entries.append(Entry(filled(look.marker, shade), fixed=f"memory time by {plain(look.name)}{rate}"))
    hollow = {"marker": "o", "markersize": 4.4, "markerfacecolor": "white", "markeredgewidth": 1.2}
    ways = [dashes for m in view.marks if m.stretch for _, dashes in _stretches(m, launch)]
    if ways:
        entries.append(Entry(handle(**hollow, linestyle="-", linewidth=1.1), fixed="measured time; line: headroom"))
    if _DOTS in ways:
        entries.append(Entry(handle(linestyle=_DOTS, linewidth=1.1), fixed="dotted: less than a launch"))
    balance = handle(color=INK, linestyle=(0, (5, 2)), linewidth=1.2)
    entries.append(Entry(balance, fixed="machine balance: compute = memory"))
    if launch and not named:
        entries.append(Entry(handle(color=INK, linestyle="-", linewidth=1.2), fixed=f"launch {_short(launch)}"))
    if any(mark.timing.too_fast for mark in view.marks):
        ring = handle(marker="o", markersize=9, markerfacecolor="none", markeredgecolor=ALARM, markeredgewidth=1.2)
        entries.append(Entry(ring, fixed="faster than its bound: see report"))
    return entries


def _footnotes(view: View) -> list[str]:
    """The sums, then one line per thing that is not on the picture or not exact, with its reason."""
    scene = view.scene
    absent = scene.rooflines[0].absent
    bare = [level for level in scene.levels if scene.rooflines[0].bandwidth(level) is None]
    lines = [sums(view.timings, scene.levels), *_launch_words(view)]
    lines += [f"no {level_name(level)} ceiling: {absent.get(level, 'not known')}" for level in bare]
    lines += [absent[ISSUE]] if ISSUE in absent else []
    groups: dict[tuple[str, str], list[int]] = {}
    for index, reason in view.undrawn:
        groups.setdefault(("not drawn", reason), []).append(index)
    for mark in view.marks:
        for remark in _remarks(mark, scene):
            groups.setdefault(remark, []).append(mark.index)
    lines += [
        f"{what}{for_whom(scene, members, numbered=scene.many)}: {reason}" for (what, reason), members in groups.items()
    ]
    return [plain(line) for line in lines]


def _launch_words(view: View) -> list[str]:
    """That a launch was not measured, or what it means for kernels that are shorter."""
    if view.launch is None:
        return ["no launch bound: the time of a launch was not measured (roofctl calibrate --level launch)"]
    bound = [mark.index for mark in view.marks if mark.timing.bound == LAUNCH]
    who = for_whom(view.scene, bound, numbered=view.scene.many)
    why = f"launches start {_short(view.launch)} apart, which a measured time leaves out"
    return [f"a launch is the longest bound{who}: {why}"] if bound else []


def _remarks(mark: Mark, scene: Scene) -> list[tuple[str, str]]:
    """What is missing or not exact about one kernel, and why."""
    missing, caveats = mark.timing.missing, mark.timing.caveats
    known = [level for level in scene.levels if scene.rooflines[0].bandwidth(level)]
    lines = [(f"no {level_name(level)} time", missing[level]) for level in known if level in missing]
    lines += [(f"{level_name(mark.level)} time", caveats[mark.level])] if mark.level in caveats else []
    lines += [("compute time", caveats[COMPUTE])] if COMPUTE in caveats else []
    lines += [] if mark.compute else [("compute time 0, at the lower edge", "no operations")]
    lines += [] if mark.memory else [("memory time 0, at the left edge", "no traffic")]
    if mark.timing.seconds is None:
        lines.append(("no measured time", missing.get(MEASURED, "not known")))
    return lines
