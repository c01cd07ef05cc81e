"""Rooflines as figures for papers and slides, and their files.

Figures are plain ``matplotlib.figure.Figure`` objects: no window, no pyplot, no global
setting is changed, and the same input gives the same file.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from roofctl.core.errors import InputError
from roofctl.plots.axes import dress, line_obstacles, set_limits
from roofctl.plots.ceilings import draw_ceilings, label_ceilings
from roofctl.plots.data import PlotData, compose, footnotes, type_text
from roofctl.plots.frame import Frame, FrameText, Panel
from roofctl.plots.kernel_table import NumberedTable, lay_out_table
from roofctl.plots.labels import add_markers, label_levels, number_points, position_of
from roofctl.plots.legend import LegendEntry, draw_legend
from roofctl.plots.page import check_suffix, save, settings
from roofctl.plots.placement import Obstacles
from roofctl.plots.points import draw_hierarchical, draw_multi
from roofctl.plots.style import MOST_COLORS, KernelStyle, LevelStyle, PlotOptions
from roofctl.roofline.model import KernelPoints, Roofline

__all__ = [
    "Axes",
    "Figure",
    "KernelStyle",
    "LevelStyle",
    "PlotOptions",
    "check_suffix",
    "hierarchical",
    "multi",
    "save",
]


def hierarchical(
    rooflines: Sequence[Roofline],
    kernels: Sequence[KernelPoints],
    options: PlotOptions | None = None,
    *,
    ax: Axes | None = None,
) -> Figure:
    """One kernel on all its levels under one roofline, or under a measured and a theoretical one.

    In the FLOP model ``kernels`` are the types of operation of that kernel. ``ax``: axes of an existing figure.
    """
    if len(kernels) != len({kernel.work for kernel in kernels}) or len({kernel.kernel for kernel in kernels}) != 1:
        raise InputError(
            f"a hierarchical roofline shows one kernel; {len(kernels)} were chosen",
            hint="name one with --kernel, or use --mode multi",
        )
    with settings():
        data = compose(rooflines, kernels, options or PlotOptions())
        issued = [kernel.issued_per_second for kernel in data.kernels if kernel.issued_per_second]
        name = data.names[0] + (type_text(kernels[0]) if len(kernels) == 1 else "")
        title, subtitle = data.options.title or name, data.options.subtitle
        if data.options.title:  # the kernel's name moves a line down
            subtitle = " · ".join(filter(None, [name, subtitle]))
        frame = _blank(data, title, subtitle, heights=issued if data.points else [], ax=ax)
        draw_ceilings(frame.ax, data, colored=True)
        obstacles = _annotate(frame, data, draw_hierarchical(frame.ax, data), colored=True)
        label_levels(frame.ax, data, obstacles)
        return frame.finish()


def multi(
    rooflines: Sequence[Roofline],
    kernels: Sequence[KernelPoints],
    options: PlotOptions | None = None,
    *,
    ax: Axes | None = None,
) -> Figure:
    """Many kernels: up to eight distinguished by colour, more by numbers with a table beside the axes.

    In the axes ``ax`` of an existing figure there is no table.
    """
    if not kernels:
        raise InputError("no kernel to draw", hint="roofctl report lists the kernels of a capture")
    with settings():
        data = compose(rooflines, kernels, options or PlotOptions())
        numbered = len(kernels) > MOST_COLORS
        table = lay_out_table(data) if numbered and ax is None else None
        title = data.options.title or data.units.title
        frame = _blank(data, title, data.options.subtitle, table=table, ax=ax)
        draw_ceilings(frame.ax, data, colored=numbered)
        obstacles = _annotate(frame, data, draw_multi(frame.ax, data, numbered=numbered), colored=numbered)
        if data.many:
            numbers = [
                (position_of(frame.ax, point, data), number)
                for number, kernel in enumerate(data.kernels, 1)
                for point in data.points_of(kernel)
            ]
            number_points(frame.ax, numbers, obstacles)
        return frame.finish()


def _blank(
    data: PlotData,
    title: str,
    subtitle: str,
    heights: Sequence[float] = (),
    *,
    table: NumberedTable | None = None,
    ax: Axes | None = None,
) -> Frame:
    labels = FrameText(title, subtitle, footnotes(data, numbered=table is not None))
    panels = [Panel(data.units.x_label)]
    if ax is None:
        frame = Frame.blank(labels, panels, data.options.size, table=table, points=len(data.points))
    else:
        frame = Frame.within(ax, labels, panels)
    set_limits(frame.ax, data, heights)
    dress(frame.ax, data.units.x_label, data.units.y_label)
    return frame


def _annotate(frame: Frame, data: PlotData, entries: Sequence[LegendEntry], *, colored: bool) -> Obstacles:
    """Label the ceilings and place the legend; the result holds both as obstacles."""
    obstacles = line_obstacles(frame.ax)
    add_markers([position_of(frame.ax, point, data) for point in data.points], obstacles)
    label_ceilings(frame.ax, data, obstacles, colored=colored)
    frame.outside = draw_legend(frame.ax, entries, obstacles)
    return obstacles
