"""A figure around its axes: the space for title, panel titles, footnotes, legend and table.

Axes keep their size: where a legend, a table or footnotes need space, the figure grows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from roofctl.core.errors import InputError
from roofctl.plots import text
from roofctl.plots.axes import x_label
from roofctl.plots.kernel_table import NumberedTable, draw_table
from roofctl.plots.page import DPI, INCH, NOTE_SIZE, PANEL_SIZE, SUBTITLE_SIZE, write, write_notes, write_title

_NOTE_LONGEST: Final = 400

# Margins, gaps and the narrowest axes, in points.
_LEFT: Final = 46.0
_RIGHT: Final = 12.0
_BETWEEN: Final = 54.0
_TABLE_GAP: Final = 14.0
_NARROWEST: Final = 300.0

_MANY_POINTS: Final = 50
"""Beside a table, axes grow with more points than this, so that every number finds a free position."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes: the name of its x axis, its title, and its part of the width relative to the others."""

    x_name: str
    title: str = ""
    share: float = 1.0


@dataclass(frozen=True)
class FrameText:
    """What is written around the axes."""

    title: str
    subtitle: str
    footnotes: Sequence[str] = ()


@dataclass
class Frame:
    """A figure being made. Lengths in points; ``outside`` is the legend's width right of the last axes.

    ``above`` is the space between the title and the axes, for panel titles and labels. ``given`` axes are of a figure
    that keeps its layout.
    """

    figure: Figure
    axes: tuple[Axes, ...]
    panels: tuple[Panel, ...]
    text: FrameText
    size: tuple[float, float]
    width: float
    height: float
    above: float
    table: NumberedTable | None
    notes: list[str]
    outside: float = 0.0
    given: bool = False

    @classmethod
    def within(cls, ax: Axes, labels: FrameText, panels: Sequence[Panel]) -> Frame:
        """Axes of a figure that somebody else lays out: only the axes and their title are drawn on."""
        figure = ax.get_figure(root=True)
        if not isinstance(figure, Figure):
            raise InputError("the axes belong to no figure", hint="make them with matplotlib.pyplot.subplots()")
        area = ax.get_window_extent()
        width, height = (length * INCH / figure.dpi for length in (area.width, area.height))
        size = (width / INCH, height / INCH)
        return cls(figure, (ax,), tuple(panels), labels, size, width, height, 0.0, None, [], given=True)

    @classmethod
    def blank(
        cls,
        labels: FrameText,
        panels: Sequence[Panel],
        size: tuple[float, float],
        *,
        table: NumberedTable | None = None,
        points: int = 0,
        above: float = 0.0,
    ) -> Frame:
        """An empty figure of about ``size`` inches; beside a table the axes grow with the number of ``points``."""
        wide, high = (inches * INCH for inches in size)
        top = _top(labels.subtitle) + above
        width, height = wide - _LEFT - _RIGHT, high - top
        if table:
            growth = max(1.0, (points / _MANY_POINTS) ** 0.5)
            least = _NARROWEST * growth * len(panels) + _BETWEEN * (len(panels) - 1)
            width, height = max(least, width - _TABLE_GAP - table.width), height * growth
            wide, high = width + _LEFT + _RIGHT, height + top
        bottom = _bottom(panels, width)
        height -= bottom
        notes = [
            line
            for note in labels.footnotes
            for line in text.wrap(
                textwrap.shorten(note, _NOTE_LONGEST, placeholder=text.ELLIPSIS), NOTE_SIZE, width + _LEFT * 0.8
            )
        ]
        figure = Figure(figsize=(wide / INCH, high / INCH), dpi=DPI, facecolor="white")
        FigureCanvasAgg(figure)
        axes = tuple(
            figure.add_axes((left / wide, bottom / high, across / wide, height / high))
            for left, across in _columns(panels, width)
        )
        return cls(figure, axes, tuple(panels), labels, size, width, height, above, table, notes)

    @property
    def ax(self) -> Axes:
        """The axes of a figure with one panel."""
        (ax,) = self.axes
        return ax

    def finish(self) -> Figure:
        """Give the figure its final size around the axes, which keep theirs, and write around them."""
        if self.given:
            title = "\n".join(text.plain(line) for line in (self.text.title, self.text.subtitle) if line)
            self.ax.set_title(title, loc="left", fontsize=SUBTITLE_SIZE, parse_math=False)
            return self.figure
        bottom = _bottom(self.panels, self.width)
        top, note_height = _top(self.text.subtitle), len(self.notes) * NOTE_SIZE * text.LINE_HEIGHT
        side = max(self.outside, self.table.width + _TABLE_GAP if self.table else 0.0)
        legend_height = self._legend_height() if self.outside else 0.0
        beside = legend_height + (self.table.height if self.table else 0.0)
        wide = max(self.size[0] * INCH, _LEFT + self.width + side + _RIGHT)
        high = top + max(self.above + self.height + bottom + note_height, beside + _RIGHT)
        self.figure.set_size_inches(wide / INCH, high / INCH)
        base = high - top - self.above - self.height
        for ax, panel, (left, across) in zip(self.axes, self.panels, _columns(self.panels, self.width), strict=True):
            ax.set_position((left / wide, base / high, across / wide, self.height / high))
            if panel.title:
                write(self.figure, left, high - top - PANEL_SIZE, panel.title, across, size=PANEL_SIZE, gid="panel")
        if self.table:
            draw_table(self.figure, self.table, _LEFT + self.width + _TABLE_GAP, high - top - legend_height)
        write_title(self.figure, _LEFT, wide - _LEFT - _RIGHT, self.text.title, self.text.subtitle)
        write_notes(self.figure, _LEFT * 0.3, base - bottom, self.notes, wide)
        return self.figure

    def _legend_height(self) -> float:
        legend = self.axes[-1].get_legend()
        assert legend is not None  # noqa: S101  only asked when it is outside
        return float(legend.get_window_extent().height) * INCH / DPI + _TABLE_GAP


def _columns(panels: Sequence[Panel], width: float) -> list[tuple[float, float]]:
    """Left end and width of each panel's axes."""
    free, total = width - _BETWEEN * (len(panels) - 1), sum(panel.share for panel in panels)
    widths = [free * panel.share / total for panel in panels]
    return [(_LEFT + sum(widths[:i]) + _BETWEEN * i, across) for i, across in enumerate(widths)]


def _bottom(panels: Sequence[Panel], width: float) -> float:
    """Space below axes of this width: tick labels, the axis name, a margin."""
    names = [x_label(panel.x_name, across) for panel, (_, across) in zip(panels, _columns(panels, width), strict=True)]
    return 24.0 + 12.0 * max(len(name.splitlines()) for name in names)


def _top(subtitle: str) -> float:
    return 40.0 if subtitle else 28.0
