"""Rooflines as figures for papers and slides, and their files.

Figures are plain ``matplotlib.figure.Figure`` objects: no window, no pyplot, no global
setting is changed, and the same input gives the same file.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from roofctl.errors import InputError
from roofctl.plots import text
from roofctl.plots.axes import dress, empty_crowd, set_limits, x_label
from roofctl.plots.ceilings import draw_ceilings, label_ceilings
from roofctl.plots.crowd import Crowd
from roofctl.plots.legend import Table, draw_legend, draw_table, lay_out_table
from roofctl.plots.points import Entry, add_markers, draw_hierarchical, draw_multi, label_levels, number_points
from roofctl.plots.scene import Scene, compose, footnotes, type_text
from roofctl.plots.sheet import DPI, INCH, NOTE_SIZE, check_suffix, save, settings, write_notes, write_title
from roofctl.plots.style import KernelStyle, LevelStyle, PlotOptions, load_style
from roofctl.roofline import KernelPoints, Roofline

__all__ = ["KernelStyle", "LevelStyle", "PlotOptions", "check_suffix", "hierarchical", "load_style", "multi", "save"]

MOST_COLORS: Final = 8
"""More kernels than this are numbered and listed in a table."""

_NOTE_LONGEST: Final = 400

# Margins and the narrowest axes, in points.
_LEFT: Final = 46.0
_RIGHT: Final = 12.0
_PANEL_GAP: Final = 14.0
_NARROWEST: Final = 300.0
_ROOMY: Final = 50


def hierarchical(
    rooflines: Sequence[Roofline], kernels: Sequence[KernelPoints], options: PlotOptions | None = None
) -> Figure:
    """One kernel on all its levels under one roofline, or under a measured and a theoretical one.

    In the FLOP model ``kernels`` are the types of operation of that kernel.
    """
    if len(kernels) != len({kernel.work for kernel in kernels}) or len({kernel.kernel for kernel in kernels}) != 1:
        raise InputError(
            f"a hierarchical roofline shows one kernel; {len(kernels)} were chosen",
            hint="name one with --kernel, or use --mode multi",
        )
    with settings():
        scene = compose(rooflines, kernels, options or PlotOptions())
        issued = [kernel.issued_per_second for kernel in scene.kernels if kernel.issued_per_second]
        name = scene.names[0] + (type_text(kernels[0]) if len(kernels) == 1 else "")
        title, subtitle = scene.options.title or name, scene.options.subtitle
        if scene.options.title:  # the kernel's name moves a line down
            subtitle = " · ".join(filter(None, [name, subtitle]))
        sheet = _Sheet.blank(scene, title, subtitle, heights=issued if scene.points else [])
        draw_ceilings(sheet.ax, scene, colored=True)
        crowd = sheet.furnish(draw_hierarchical(sheet.ax, scene), colored=True)
        label_levels(sheet.ax, scene, crowd)
        return sheet.finish()


def multi(rooflines: Sequence[Roofline], kernels: Sequence[KernelPoints], options: PlotOptions | None = None) -> Figure:
    """Many kernels: up to eight told apart by colour, more by numbers with a table beside the axes."""
    if not kernels:
        raise InputError("no kernel to draw", hint="roofctl report lists the kernels of a capture")
    with settings():
        scene = compose(rooflines, kernels, options or PlotOptions())
        numbered = len(kernels) > MOST_COLORS
        table = lay_out_table(scene, scene.options.size[1] * INCH - 100) if numbered else None
        title = scene.options.title or scene.measure.title
        sheet = _Sheet.blank(scene, title, scene.options.subtitle, table=table)
        draw_ceilings(sheet.ax, scene, colored=numbered)
        crowd = sheet.furnish(draw_multi(sheet.ax, scene, numbered=numbered), colored=numbered)
        if scene.many:
            number_points(sheet.ax, scene, crowd)
        return sheet.finish()


@dataclass
class _Sheet:
    """A figure being made. Lengths in points; ``outside`` is the legend's width right of the axes."""

    figure: Figure
    ax: Axes
    scene: Scene
    title: str
    subtitle: str
    width: float
    height: float
    table: Table | None
    notes: list[str]
    outside: float = 0.0

    @classmethod
    def blank(
        cls, scene: Scene, title: str, subtitle: str, heights: Sequence[float] = (), table: Table | None = None
    ) -> _Sheet:
        wide, high = (inches * INCH for inches in scene.options.size)
        width, height = wide - _LEFT - _RIGHT, high - _top(subtitle)
        if table:
            # Numbers need ground to stand on: beyond some points the axes grow with them.
            growth = max(1.0, (len(scene.points) / _ROOMY) ** 0.5)
            width, height = max(_NARROWEST * growth, width - _PANEL_GAP - table.width), height * growth
            wide, high = width + _LEFT + _RIGHT, height + _top(subtitle)
        bottom = _bottom(scene, width)
        height -= bottom
        lines = [
            line
            for note in footnotes(scene, numbered=table is not None)
            for line in text.wrap(
                textwrap.shorten(note, _NOTE_LONGEST, placeholder=text.ELLIPSIS), NOTE_SIZE, width + _LEFT * 0.8
            )
        ]
        figure = Figure(figsize=(wide / INCH, high / INCH), dpi=DPI, facecolor="white")
        FigureCanvasAgg(figure)
        ax = figure.add_axes((_LEFT / wide, bottom / high, width / wide, height / high))
        set_limits(ax, scene, heights)
        dress(ax, scene.measure.x_label, scene.measure.y_label)
        return cls(figure, ax, scene, title, subtitle, width, height, table, lines)

    def furnish(self, entries: Sequence[Entry], *, colored: bool) -> Crowd:
        """Label the ceilings and place the legend; the crowd that comes back knows of both."""
        crowd = empty_crowd(self.ax)
        add_markers(self.ax, self.scene, crowd)
        label_ceilings(self.ax, self.scene, crowd, colored=colored)
        self.outside = draw_legend(self.ax, entries, crowd)
        return crowd

    def finish(self) -> Figure:
        """Give the figure its final size around the axes, which keep theirs, and write around them."""
        bottom = _bottom(self.scene, self.width)
        top, note_height = _top(self.subtitle), len(self.notes) * NOTE_SIZE * text.LINE_HEIGHT
        side = max(self.outside, self.table.width + _PANEL_GAP if self.table else 0.0)
        legend_height = self._legend_height() if self.outside else 0.0
        panel = legend_height + (self.table.height if self.table else 0.0)
        wide = max(self.scene.options.size[0] * INCH, _LEFT + self.width + side + _RIGHT)
        high = top + max(self.height + bottom + note_height, panel + _RIGHT)
        self.figure.set_size_inches(wide / INCH, high / INCH)
        base = high - top - self.height
        self.ax.set_position((_LEFT / wide, base / high, self.width / wide, self.height / high))
        if self.table:
            draw_table(self.figure, self.table, _LEFT + self.width + _PANEL_GAP, high - top - legend_height)
        room = wide - _LEFT - _RIGHT
        write_title(self.figure, _LEFT, room, self.title, self.subtitle)
        write_notes(self.figure, _LEFT * 0.3, base - bottom, self.notes, wide)
        return self.figure

    def _legend_height(self) -> float:
        legend = self.ax.get_legend()
        assert legend is not None  # noqa: S101  only asked when it stands outside
        return float(legend.get_window_extent().height) * INCH / DPI + _PANEL_GAP


def _bottom(scene: Scene, width: float) -> float:
    """Room below axes of this width: tick labels, the axis name, a margin."""
    return 24.0 + 12.0 * len(x_label(scene.measure.x_label, width).splitlines())


def _top(subtitle: str) -> float:
    return 40.0 if subtitle else 28.0
