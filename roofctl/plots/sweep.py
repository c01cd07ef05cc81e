"""The picture of a calibration: bandwidth against working set, and against block size and access width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from roofctl.core.errors import InputError

Points = Sequence[tuple[float, float]]

_COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKERS: Final = ("o", "s", "^", "D")
_FAINT: Final = "#666666"
_SETTINGS: Final[Any] = {
    "font.size": 8.0,
    "axes.edgecolor": _FAINT,
    "axes.linewidth": 0.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "roofctl",
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class SweepPicture:
    """What is drawn: series as (x, bytes per second), ceilings by label, sizes of the caches in bytes by label."""

    title: str
    subtitle: str = ""
    working_set: Mapping[str, Points] = field(default_factory=dict)
    block: Mapping[str, Points] = field(default_factory=dict)
    width: Mapping[str, Points] = field(default_factory=dict)
    ceilings: Mapping[str, float] = field(default_factory=dict)
    capacities: Mapping[str, float] = field(default_factory=dict)


def draw(picture: SweepPicture) -> Figure:
    """The figure; only panels that have data. Raises InputError when none has."""
    panels = [
        (series, title)
        for series, title in (
            (picture.working_set, "working set"),
            (picture.block, "threads per block"),
            (picture.width, "bytes per access"),
        )
        if any(series.values())
    ]
    if not panels:
        raise InputError("there is no sweep to draw", hint="measure the hbm level, without --quick: --level hbm --plot")
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        ratios = [1.5 if series is picture.working_set else 1.0 for series, _ in panels]
        figure = Figure(figsize=(3.4 * sum(ratios), 3.6), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle("\n".join(filter(None, [picture.title, picture.subtitle])), fontsize=10)
        for ax, (series, title) in zip(
            figure.subplots(1, len(panels), squeeze=False, width_ratios=ratios)[0], panels, strict=True
        ):
            if series is picture.working_set:
                _working_set(ax, picture)
            else:
                _setting(ax, series, title)
        return figure


def _working_set(ax: Axes, picture: SweepPicture) -> None:
    _lines(ax, picture.working_set)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    rates = [rate for points in picture.working_set.values() for _, rate in points] + list(picture.ceilings.values())
    ax.set_ylim(min(rates) / 2, max(rates) * 1.4)
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_locator(LogLocator(base=4))
    ax.xaxis.set_minor_locator(NullLocator())
    for label, value in picture.ceilings.items():
        ax.axhline(value, color=_FAINT, linewidth=0.7, linestyle=(0, (4, 2)))
        ax.annotate(
            f"{label} {value / 1e12:.3g} TB/s", (1, value), xycoords=("axes fraction", "data"),
            xytext=(-3, 2), textcoords="offset points", ha="right", fontsize=7, color=_FAINT,
        )  # fmt: skip
    for label, size in picture.capacities.items():
        ax.axvline(size, color=_FAINT, linewidth=0.6, linestyle=":")
        ax.annotate(
            label, (size, 0), xycoords=("data", "axes fraction"),
            xytext=(2, 3), textcoords="offset points", va="bottom", fontsize=7, color=_FAINT,
        )  # fmt: skip
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _mebibytes(x)))
    ax.set_xlabel("working set of all SMs")
    _dress(ax)
    ax.legend(fontsize=7, frameon=False, loc="lower left")


def _setting(ax: Axes, series: Mapping[str, Points], title: str) -> None:
    _lines(ax, series)
    ax.set_xscale("log", base=2)
    ticks = sorted({x for points in series.values() for x, _ in points})
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(0, 1.12 * max(y for points in series.values() for _, y in points))
    ax.set_xlabel(title)
    _dress(ax)
    ax.legend(fontsize=7, frameon=False, loc="lower right")


def _lines(ax: Axes, series: Mapping[str, Points]) -> None:
    for index, (label, points) in enumerate(series.items()):
        if points:
            xs, ys = zip(*points, strict=True)
            color, marker = _COLORS[index % len(_COLORS)], _MARKERS[index % len(_MARKERS)]
            ax.plot(xs, ys, color=color, marker=marker, markersize=3.5, linewidth=1.2, label=label)


def _dress(ax: Axes) -> None:
    ax.set_ylabel("TB/s")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / 1e12:g}"))
    ax.grid(visible=True, which="major", color="#dddddd", linewidth=0.5)
    ax.spines[["top", "right"]].set_visible(False)


def _mebibytes(size: float) -> str:
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size:g} B"
