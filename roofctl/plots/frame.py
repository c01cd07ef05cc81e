"""A figure around its axes: the room for title, footnotes, legend and table.

Axes keep their size: where a legend, a table or footnotes need room, the figure grows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from roofctl.plots import text
from roofctl.plots.axes import x_label
from roofctl.plots.legend import Table, draw_table
from roofctl.plots.sheet import DPI, INCH, NOTE_SIZE, write_notes, write_title

_NOTE_LONGEST: Final = 400

# Margins and the narrowest axes, in points.
_LEFT: Final = 46.0
_RIGHT: Final = 12.0
_PANEL_GAP: Final = 14.0
_NARROWEST: Final = 300.0
_ROOMY: Final = 50


@dataclass(frozen=True)
class Words:
    """What is written around the axes: title, line under it, name of the x axis, footnotes."""

    title: str
    subtitle: str
    x_name: str
    footnotes: Sequence[str] = ()


@dataclass
class Frame:
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
    def blank(cls, words: Words, size: tuple[float, float], table: Table | None = None, marks: int = 0) -> Frame:
        """An empty figure of about ``size`` inches; beside a table the axes grow with the number of ``marks``."""
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
                textwrap.shorten(note, _NOTE_LONGEST, placeholder=text.ELLIPSIS), NOTE_SIZE, width + _LEFT * 0.8
            )
        ]
        figure = Figure(figsize=(wide / INCH, high / INCH), dpi=DPI, facecolor="white")
        FigureCanvasAgg(figure)
        ax = figure.add_axes((_LEFT / wide, bottom / high, width / wide, height / high))
        return cls(figure, ax, words, size, width, height, table, lines)

    def finish(self) -> Figure:
        """Give the figure its final size around the axes, which keep theirs, and write around them."""
        bottom = _bottom(self.words.x_name, self.width)
        top, note_height = _top(self.words.subtitle), len(self.notes) * NOTE_SIZE * text.LINE_HEIGHT
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
        write_title(self.figure, _LEFT, room, self.words.title, self.words.subtitle)
        write_notes(self.figure, _LEFT * 0.3, base - bottom, self.notes, wide)
        return self.figure

    def _legend_height(self) -> float:
        legend = self.ax.get_legend()
        assert legend is not None  # noqa: S101  only asked when it stands outside
        return float(legend.get_window_extent().height) * INCH / DPI + _PANEL_GAP


def _bottom(x_name: str, width: float) -> float:
    """Room below axes of this width: tick labels, the axis name, a margin."""
    return 24.0 + 12.0 * len(x_label(x_name, width).splitlines())


def _top(subtitle: str) -> float:
    return 40.0 if subtitle else 28.0
