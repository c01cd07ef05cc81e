"""One kernel over captures: its time above, what it used of its limit below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from roofctl.core.errors import InputError
from roofctl.plots import text
from roofctl.plots.axes import name_axes
from roofctl.plots.legend import INCH, LEGEND_SIZE
from roofctl.plots.page import NOTE_SIZE, settings, write_notes, write_title
from roofctl.plots.style import FONT, INK, KERNEL_COLORS, PlotOptions

_LEFT: Final = 52.0
_RIGHT: Final = 14.0
_TOP: Final = 42.0
_TIME: Final = 150.0
_USE: Final = 95.0
_BETWEEN: Final = 16.0
_LONGEST: Final = 110.0
_TICK_SIZE: Final = 7.5
_MOST_TICKS: Final = 30
_SLANT: Final = 35
"""Lengths in points: margins, heights of both axes, the longest name of a capture; names slant by so many degrees."""

_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


@dataclass(frozen=True)
class HistoryPoint:
    """A capture: time of one launch with the fastest and the slowest, use of the limit; None where not known."""

    label: str
    seconds: float | None
    low: float | None
    high: float | None
    use: float | None
    limit: str
    machine: str


def draw_history(name: str, points: Sequence[HistoryPoint], notes: Sequence[str] = ()) -> Figure:
    """The points from left to right; GPUs and clocks have a colour each, and lines join points of one of them only."""
    times = [point.seconds for point in points if point.seconds]
    if not times:
        raise InputError(f"{name} has no time in these captures", hint="capture the time: roofctl profile does")
    options = PlotOptions()
    with settings(FONT):
        labels = [text.elide(text.plain(point.label), _TICK_SIZE, _LONGEST) for point in points]
        under = 12.0 + 0.62 * max(text.width(label, _TICK_SIZE) for label in labels)
        machines = list(dict.fromkeys(point.machine for point in points))
        wide = options.size[0] * INCH
        lines = [line for note in notes for line in text.wrap(note, NOTE_SIZE, wide - _LEFT)]
        legend = 14.0 * len(machines) if len(machines) > 1 else 0.0
        below = under + legend + len(lines) * NOTE_SIZE * text.LINE_HEIGHT + 8.0
        high = _TOP + _TIME + _BETWEEN + _USE + below
        figure = Figure(figsize=(wide / INCH, high / INCH), dpi=options.dpi, facecolor="white")
        FigureCanvasAgg(figure)
        box = (_LEFT / wide, (wide - _LEFT - _RIGHT) / wide)
        upper = figure.add_axes((box[0], (below + _USE + _BETWEEN) / high, box[1], _TIME / high))
        lower = figure.add_axes((box[0], below / high, box[1], _USE / high))
        unit, factor = next((each for each in _UNITS if max(times) >= each[1]), _UNITS[-1])
        _draw_times(upper, points, factor)
        _draw_uses(lower, points)
        name_axes(upper, "", f"Time of a launch ({unit})")
        name_axes(lower, "", "Of its limit (%)")
        _name_captures(upper, lower, labels)
        title = machines[0] if len(machines) == 1 else ""
        write_title(figure, _LEFT, wide - _LEFT - _RIGHT, name, [title] if title else [])
        if legend:
            _legend(figure, machines, (below - under) / high)
        write_notes(figure, _LEFT * 0.3, below - under - legend, lines, wide)
        return figure


def _color(points: Sequence[HistoryPoint], machine: str) -> str:
    machines = list(dict.fromkeys(point.machine for point in points))
    return KERNEL_COLORS[machines.index(machine) % len(KERNEL_COLORS)]


def _runs(points: Sequence[HistoryPoint]) -> Iterator[list[int]]:
    """Indices of neighbours on one machine."""
    run: list[int] = []
    for index, point in enumerate(points):
        if run and points[run[-1]].machine != point.machine:
            yield run
            run = []
        run.append(index)
    yield run


def _draw_times(ax: Axes, points: Sequence[HistoryPoint], factor: float) -> None:
    for run in _runs(points):
        known = [(index, seconds / factor) for index in run if (seconds := points[index].seconds)]
        _line(ax, known, _color(points, points[run[0]].machine), "time")
    for index, point in enumerate(points):
        if point.seconds and point.low is not None and point.high is not None:
            color = _color(points, point.machine)
            ends = [[(point.seconds - point.low) / factor], [(point.high - point.seconds) / factor]]
            ax.errorbar(
                [index], [point.seconds / factor], yerr=ends, fmt="none", ecolor=color, elinewidth=1.0, capsize=2.5
            )[2][0].set_gid("spread")
    highest = max((point.high or point.seconds or 0.0) / factor for point in points)
    ax.set_ylim(0, highest * 1.12)


def _draw_uses(ax: Axes, points: Sequence[HistoryPoint]) -> None:
    """Uses, with the name of the limit where it is another one than before."""
    for run in _runs(points):
        known = [(index, use * 100) for index in run if (use := points[index].use) is not None]
        _line(ax, known, _color(points, points[run[0]].machine), "use")
    highest = max([100.0, *(point.use * 100 for point in points if point.use is not None)])
    ax.set_ylim(0, highest * 1.08)
    before = ""
    for index, point in enumerate(points):
        if point.use is None or point.limit == before:
            continue
        before = point.limit
        above = point.use * 100 < highest * 0.75
        ax.annotate(
            text.plain(point.limit),
            (index, point.use * 100),
            xytext=(0, 6 if above else -6),
            textcoords="offset points",
            ha="center",
            va="bottom" if above else "top",
            fontsize=_TICK_SIZE,
            color=INK,
            parse_math=False,
        ).set_gid("limit")


def _line(ax: Axes, at: Sequence[tuple[int, float]], color: str, gid: str) -> None:
    xs, ys = [x for x, _ in at], [y for _, y in at]
    look = {"marker": "o", "markersize": 5.5, "markeredgecolor": INK, "markeredgewidth": 0.5, "clip_on": False}
    ax.plot(xs, ys, color=color, linewidth=1.0, gid=gid, zorder=5, **look)  # type: ignore[arg-type]


def _name_captures(upper: Axes, lower: Axes, labels: Sequence[str]) -> None:
    step = -(-len(labels) // _MOST_TICKS)
    ticks = range(0, len(labels), step)
    for ax in (upper, lower):
        ax.set_xlim(-0.5, len(labels) - 0.5)
        ax.xaxis.set_major_locator(FixedLocator(list(ticks)))
    upper.tick_params(axis="x", labelbottom=False)
    lower.set_xticks(list(ticks))
    for label, index in zip(lower.set_xticklabels([""] * len(ticks)), ticks, strict=True):
        label.set(rotation=_SLANT, ha="right", rotation_mode="anchor", fontsize=_TICK_SIZE, parse_math=False)
        label.set_text(labels[index])
    lower.xaxis.set_major_formatter(lambda value, _: labels[round(value)] if 0 <= round(value) < len(labels) else "")


def _legend(figure: Figure, machines: Sequence[str], top: float) -> None:
    handles = [
        figure.axes[0].plot([], [], "o-", color=KERNEL_COLORS[i % len(KERNEL_COLORS)])[0] for i in range(len(machines))
    ]
    legend = figure.legend(
        handles, list(machines), loc="upper left", fontsize=LEGEND_SIZE, frameon=False, borderaxespad=0
    )
    legend.set_bbox_to_anchor((0.06, top), transform=figure.transFigure)
    for line in legend.get_texts():
        line.set_parse_math(False)
