"""The sheet that a figure is made on: its size around the axes, title, footnotes, legend and table.

Axes keep their size: where a legend, a table or footnotes need room, the figure grows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from roofctl.plots import text
from roofctl.plots.axes import LABEL_SIZE, x_label
from roofctl.plots.legend import Table, draw_table
from roofctl.plots.style import FAINT, INK

DPI: Final = 220
INCH: Final = 72.0
"""Points."""

_TITLE_SIZE: Final = 10.0
_SUBTITLE_SIZE: Final = 8.0
_NOTE_SIZE: Final = 7.0
_NOTE_LONGEST: Final = 400

# Margins and the narrowest axes, in points.
_LEFT: Final = 46.0
_RIGHT: Final = 12.0
_PANEL_GAP: Final = 14.0
_NARROWEST: Final = 300.0
_ROOMY: Final = 50

_SETTINGS: Any = {
    "font.family": text.FONT,
    "font.size": 8.0,
    "axes.labelsize": LABEL_SIZE,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "roofctl",
    "pdf.fonttype": 42,
}


@contextmanager
def settings() -> Iterator[None]:
    """Our settings over matplotlib's own defaults, whatever the user's matplotlibrc says; undone afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


@dataclass(frozen=True)
class Words:
    """What is written around the axes: title, line under it, name of the x axis, footnotes."""

    title: str
    subtitle: str
    x_name: str
    footnotes: Sequence[str] = ()


@dataclass
class Sheet:
    """A figure being made. Lengths in points; ``outside`` is the legend's width right of the axes."""

    figure: Figure
    ax: Axes
    words: Words
    size: tuple[float, float]
    width: float
    height: float
    table: Table | None
    notes: list[str]
    outside: float = 0.0

    @classmethod
    def blank(cls, words: Words, size: tuple[float, float], table: Table | None = None, marks: int = 0) -> Sheet:
        """An empty sheet of about ``size`` inches; beside a table the axes grow with the number of ``marks``."""
        wide, high = (inches * INCH for inches in size)
        width, height = wide - _LEFT - _RIGHT, high - _top(words.subtitle)
        if table:
            # Numbers need ground to stand on: beyond some points the axes grow with them.
            growth = max(1.0, (marks / _ROOMY) ** 0.5)
            width, height = max(_NARROWEST * growth, width - _PANEL_GAP - table.width), height * growth
            wide, high = width + _LEFT + _RIGHT, height + _top(words.subtitle)
        bottom = _bottom(words.x_name, width)
        height -= bottom
        lines = [
            line
            for note in words.footnotes
            for line in text.wrap(
                textwrap.shorten(note, _NOTE_LONGEST, placeholder=text.ELLIPSIS), _NOTE_SIZE, width + _LEFT * 0.8
            )
        ]
        figure = Figure(figsize=(wide / INCH, high / INCH), dpi=DPI, facecolor="white")
        FigureCanvasAgg(figure)
        ax = figure.add_axes((_LEFT / wide, bottom / high, width / wide, height / high))
        return cls(figure, ax, words, size, width, height, table, lines)

    def finish(self) -> Figure:
        """Give the figure its final size around the axes, which keep theirs, and write around them."""
        bottom = _bottom(self.words.x_name, self.width)
        top, note_height = _top(self.words.subtitle), len(self.notes) * _NOTE_SIZE * text.LINE_HEIGHT
        side = max(self.outside, self.table.width + _PANEL_GAP if self.table else 0.0)
        legend_height = self._legend_height() if self.outside else 0.0
        panel = legend_height + (self.table.height if self.table else 0.0)
        wide = max(self.size[0] * INCH, _LEFT + self.width + side + _RIGHT)
        high = top + max(self.height + bottom + note_height, panel + _RIGHT)
        self.figure.set_size_inches(wide / INCH, high / INCH)
        base = high - top - self.height
        self.ax.set_position((_LEFT / wide, base / high, self.width / wide, self.height / high))
        if self.table:
            draw_table(self.figure, self.table, _LEFT + self.width + _PANEL_GAP, high - top - legend_height)
        room = wide - _LEFT - _RIGHT
        self._write(_LEFT, high - 18, self.words.title, room, size=_TITLE_SIZE, weight="bold", gid="title")
        if self.words.subtitle:
            self._write(_LEFT, high - 31, self.words.subtitle, room, size=_SUBTITLE_SIZE, color=FAINT, gid="subtitle")
        for index, line in enumerate(self.notes):
            y = base - bottom - (index + 0.5) * _NOTE_SIZE * text.LINE_HEIGHT
            self._write(_LEFT * 0.3, y, line, wide, size=_NOTE_SIZE, color=FAINT, gid="footnote")
        return self.figure

    def _legend_height(self) -> float:
        legend = self.ax.get_legend()
        assert legend is not None  # noqa: S101  only asked when it stands outside
        return float(legend.get_window_extent().height) * INCH / DPI + _PANEL_GAP

    def _write(self, x: float, y: float, words: str, room: float, **style: Any) -> None:
        wide, high = self.figure.get_size_inches() * INCH
        words = text.elide(text.plain(words), style["size"], room, style.get("weight", "normal"))
        self.figure.text(x / wide, y / high, words, parse_math=False, **{"color": INK, **style})


def _bottom(x_name: str, width: float) -> float:
    """Room below axes of this width: tick labels, the axis name, a margin."""
    return 24.0 + 12.0 * len(x_label(x_name, width).splitlines())


def _top(subtitle: str) -> float:
    return 40.0 if subtitle else 28.0
