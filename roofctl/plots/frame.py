"""A figure around its axes: the space for title, panel titles, footnotes, legend and table.

Axes keep their size: where a legend, a table or footnotes need space, the figure grows.
"""

from __future__ import annotations

import math
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
from roofctl.plots.legend import INCH, NARROW, LegendEntry, draw_legend, draw_legend_below
from roofctl.plots.page import NOTE_SIZE, PANEL_SIZE, SUBTITLE_LINE, SUBTITLE_SIZE, write, write_notes, write_title
from roofctl.plots.placement import Obstacles
from roofctl.plots.style import PlotOptions

_NOTE_LONGEST: Final = 400

# Margins and gaps, in points.
_LEFT: Final = 46.0
_RIGHT: Final = 12.0
_BETWEEN: Final = 54.0
_TABLE_GAP: Final = 14.0
_MOST_BESIDE: Final = 2
"""Panels for which a figure with a table grows."""

_LEAST_PANEL: Final = 110.0
"""Width of a panel below which panels stand on several rows."""

_PANEL_SHAPE: Final = 0.7
"""Height of panels on several rows, as a part of their width."""

_NARROWEST: Final = 0.6
"""Part of a figure's width that the axes keep beside a table."""

_SEPARATOR: Final = " · "

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

    ``beyond`` is what texts take right of the axes, ``above`` is the space between the title and the axes, for panel
    titles and labels. ``given`` axes are of a figure that keeps its layout.
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
    beyond: float = 0.0
    legend: str = "auto"
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
        options: PlotOptions,
        *,
        table: NumberedTable | None = None,
        points: int = 0,
        above: float = 0.0,
        beyond: float = 0.0,
    ) -> Frame:
        """An empty figure of about the size of the options; beside a table the axes grow with the number of ``points``.

        A table stands below the axes of a figure that is too narrow for both.
        """
        wide, high = (inches * INCH for inches in options.size)
        top = _top(labels, wide - _LEFT - _RIGHT) + above
        width, height = wide - _LEFT - _RIGHT - beyond, high - top
        if table and wide >= NARROW:
            growth = max(1.0, (points / _MANY_POINTS) ** 0.5)
            beside = min(len(panels), _MOST_BESIDE)
            least = _NARROWEST * wide * growth * beside + _BETWEEN * (beside - 1)
            width, height = max(least, width - _TABLE_GAP - table.width), height * growth
            wide, high = width + _LEFT + _RIGHT + beyond, height + top
        bottom, rows = _bottom(panels, width), _rows(panels, width)
        height -= bottom
        if rows > 1:
            height = min(height, max(_PANEL_SHAPE * _cells(panels, width)[0][1], _LEAST_PANEL))
            high = top - above + rows * (above + height + bottom)
        notes = [line for note in labels.footnotes for line in _wrapped(note, width)]
        figure = Figure(figsize=(wide / INCH, high / INCH), dpi=options.dpi, facecolor="white")
        FigureCanvasAgg(figure)
        axes = tuple(
            figure.add_axes(
                (
                    left / wide,
                    (bottom + (rows - 1 - row) * (above + height + bottom)) / high,
                    across / wide,
                    height / high,
                )
            )
            for left, across, row in _cells(panels, width)
        )
        return cls(
            *(figure, axes, tuple(panels), labels, options.size, width, height, above, table, notes),
            legend=options.legend,
            beyond=beyond,
        )

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
        top, note_height = (
            _top(self.text, self.size[0] * INCH - _LEFT - _RIGHT),
            len(self.notes) * NOTE_SIZE * text.LINE_HEIGHT,
        )
        table = None if self.legend == "none" else self.table
        beside = table if self.size[0] * INCH >= NARROW else None
        under = table if not beside else None
        legend = self._legend_height() + self.above if self.outside else 0.0
        side = self.beyond + max(self.outside, beside.width + _TABLE_GAP if beside else 0.0)
        below = under.height + _TABLE_GAP if under else 0.0
        below += self._legend_height() if self.legend == "below" else 0.0
        wide = max(self.size[0] * INCH, _LEFT + self.width + side + _RIGHT)
        rows, pitch = _rows(self.panels, self.width), self.above + self.height + bottom
        high = top + max(
            rows * pitch + below + note_height,
            legend + (beside.height if beside else 0.0) + _RIGHT,
        )
        self.figure.set_size_inches(wide / INCH, high / INCH)
        cells = _cells(self.panels, self.width)
        for ax, panel, (left, across, row) in zip(self.axes, self.panels, cells, strict=True):
            start = high - top - row * pitch
            position = (start - self.above - self.height) / high
            ax.set_position((left / wide, position, across / wide, self.height / high))
            if panel.title:
                write(self.figure, left, start - PANEL_SIZE, panel.title, across, size=PANEL_SIZE, gid="panel")
        base = high - top - rows * pitch + bottom
        if beside:
            draw_table(self.figure, beside, _LEFT + self.width + self.beyond + _TABLE_GAP, high - top - legend)
        if under:
            draw_table(self.figure, under, _LEFT * 0.3, base - bottom - below + under.height + _TABLE_GAP / 2)
        subtitle = _subtitle_lines(self.text, self.size[0] * INCH - _LEFT - _RIGHT)
        write_title(self.figure, _LEFT, wide - _LEFT - _RIGHT, self.text.title, subtitle)
        write_notes(self.figure, _LEFT * 0.3, base - bottom - below, self.notes, wide)
        return self.figure

    def add_note(self, note: str) -> None:
        """One more footnote."""
        self.notes += _wrapped(note, self.width)

    def add_legend(self, entries: Sequence[LegendEntry], obstacles: Obstacles, ax: Axes | None = None) -> None:
        """The legend of the last axes, or of ``ax``, where the options want it."""
        ax = ax or self.axes[-1]
        if self.legend == "below":
            draw_legend_below(ax, entries, _bottom(self.panels, self.width))
        elif self.legend != "none":
            right = self.legend == "right"
            self.outside = draw_legend(ax, entries, obstacles, outside=right, beyond=self.beyond)
            if self.outside and not right and self.size[0] * INCH < NARROW:
                self.outside, self.legend = 0.0, "below"
                draw_legend_below(ax, entries, _bottom(self.panels, self.width))

    def _legend_height(self) -> float:
        legend = self.axes[-1].get_legend()
        return float(legend.get_window_extent().height) * INCH / self.figure.dpi + _TABLE_GAP if legend else 0.0


def _wrapped(note: str, width: float) -> list[str]:
    """A footnote below axes of this width, in lines."""
    short = textwrap.shorten(note, _NOTE_LONGEST, placeholder=text.ELLIPSIS)
    return text.wrap(short, NOTE_SIZE, width + _LEFT * 0.8)


def _rows(panels: Sequence[Panel], width: float) -> int:
    """Rows of panels: one where each has the space."""
    beside = max(1, int((width + _BETWEEN) / (_LEAST_PANEL + _BETWEEN)))
    return math.ceil(len(panels) / beside)


def _cells(panels: Sequence[Panel], width: float) -> list[tuple[float, float, int]]:
    """Left end and width of each panel's axes, and its row."""
    columns = math.ceil(len(panels) / _rows(panels, width))
    free, total = width - _BETWEEN * (columns - 1), sum(panel.share for panel in panels[:columns])
    cells: list[tuple[float, float, int]] = []
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        across = free * panel.share / total
        left = _LEFT if column == 0 else cells[-1][0] + cells[-1][1] + _BETWEEN
        cells.append((left, across, row))
    return cells


def _bottom(panels: Sequence[Panel], width: float) -> float:
    """Space below axes of this width: tick labels, the axis name, a margin."""
    names = [x_label(panel.x_name, across) for panel, (_, across, _) in zip(panels, _cells(panels, width), strict=True)]
    return 24.0 + 12.0 * max(len(name.splitlines()) for name in names)


def _subtitle_lines(labels: FrameText, width: float) -> list[str]:
    """The subtitle, on several lines where one of ``width`` points does not hold it."""
    lines: list[str] = []
    for part in text.plain(labels.subtitle).split(_SEPARATOR):
        longer = f"{lines[-1]}{_SEPARATOR}{part}" if lines else part
        if lines and text.width(longer, SUBTITLE_SIZE) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return [line for line in lines if line]


def _top(labels: FrameText, width: float) -> float:
    """Space above the axes: title and subtitle, or a margin."""
    return (28.0 if labels.title else 12.0) + SUBTITLE_LINE * len(_subtitle_lines(labels, width))
