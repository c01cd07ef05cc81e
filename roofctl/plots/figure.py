"""Rooflines as figures for papers and slides, and their files.

Figures are plain ``matplotlib.figure.Figure`` objects: no window, no pyplot, no global
setting is changed, and the same input gives the same file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from roofctl.core.errors import InputError
from roofctl.plots import inner_walls, many
from roofctl.plots.axes import dress, line_obstacles, set_limits
from roofctl.plots.ceilings import draw_ceilings, draw_zones, label_ceilings, width_beside
from roofctl.plots.data import PlotData, compose, footnotes, type_text
from roofctl.plots.frame import Frame, FrameText, Panel
from roofctl.plots.kernel_table import NumberedTable, lay_out_table
from roofctl.plots.labels import add_markers, label_levels, position_of
from roofctl.plots.legend import LegendEntry
from roofctl.plots.outliers import Outlier, outliers
from roofctl.plots.page import check_suffix, save, settings
from roofctl.plots.placement import Obstacles
from roofctl.plots.points import draw_hierarchical
from roofctl.plots.style import KernelStyle, LevelStyle, PlotOptions, level_look
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
    accesses: Sequence[KernelPoints] = (),
    ax: Axes | None = None,
) -> Figure:
    """One kernel on all its levels under one roofline, or under a measured and a theoretical one.

    In the FLOP model ``kernels`` are the types of operation of that kernel. ``accesses``: its global loads and stores,
    drawn against the memory walls. ``ax``: axes of an existing figure.
    """
    if len(kernels) != len({kernel.work for kernel in kernels}) or len({kernel.kernel for kernel in kernels}) != 1:
        raise InputError(
            f"a hierarchical roofline shows one kernel; {len(kernels)} were chosen",
            hint="name one with --kernel, or use --mode multi",
        )
    options = options or PlotOptions()
    with settings(options.font):
        data = inner_walls.with_accesses(compose(rooflines, kernels, options), accesses)
        issued = [kernel.issued_per_second for kernel in data.kernels if kernel.issued_per_second]
        name = data.names[0] + (type_text(kernels[0]) if len(kernels) == 1 else "")
        title, subtitle = name if data.options.title is None else data.options.title, data.options.subtitle
        if data.options.title:  # the kernel's name moves a line down
            subtitle = " · ".join(filter(None, [name, subtitle]))
        frame = _blank(data, title, subtitle, heights=issued if data.points else [], ax=ax)
        draw_ceilings(frame.ax, data, colored=True)
        inner_walls.draw_walls(frame.ax, data)
        entries = [*draw_hierarchical(frame.ax, data), *inner_walls.entries(data)]
        inner_walls.draw_accesses(frame.ax, data, [level_look("l1", options).color] * len(accesses))
        obstacles = _annotate(frame, data, entries, colored=True)
        if lacking := label_levels(frame.ax, data, obstacles):
            frame.add_note(f"of the roof: {', '.join(lacking)}")
        return frame.finish()


def multi(
    rooflines: Sequence[Roofline],
    kernels: Sequence[KernelPoints],
    options: PlotOptions | None = None,
    *,
    accesses: Sequence[KernelPoints] = (),
    ax: Axes | None = None,
) -> Figure:
    """Many kernels: up to eight with their names, of more the longest with numbers and a table beside the axes.

    ``accesses``: their global loads and stores, in their order, drawn against the memory walls.
    In the axes ``ax`` of an existing figure there is no table.
    """
    if not kernels:
        raise InputError("no kernel to draw", hint="roofctl report lists the kernels of a capture")
    options = options or PlotOptions()
    with settings(options.font):
        return draw_many(inner_walls.with_accesses(compose(rooflines, kernels, options), accesses), ax)


def draw_many(data: PlotData, ax: Axes | None = None) -> Figure:
    """The figure of many kernels, or the figure of ``ax``."""
    table, far, hidden = None, *outliers(data)
    if hidden:
        note = f"{hidden} point{'s' if hidden > 1 else ''} without a label beyond the limits of the axes"
        data = replace(data, options=replace(data.options, remarks=(*data.options.remarks, note)))
    if many.is_numbered(data) and ax is None:
        rest = [index for index in data.drawn if index not in data.labeled]
        table = lay_out_table(data, many.first_of_numbers(data), rest, partial(many.color_of, data))
    title = data.units.title if data.options.title is None else data.options.title
    frame = _blank(data, title, data.options.subtitle, table=table, ax=ax, far=far)
    draw_ceilings(frame.ax, data, colored=False)
    inner_walls.draw_walls(frame.ax, data)
    many.draw_multi(frame.ax, data, far)
    inner_walls.draw_accesses(frame.ax, data, [many.color_of(data, index) for index in range(len(data.accesses))])
    obstacles = many.marker_obstacles(frame.ax, data, far)
    inner_walls.add_accesses(frame.ax, data, obstacles)
    label_ceilings(frame.ax, data, obstacles, colored=False, beside=bool(frame.beyond))
    inner_walls.label_walls(frame.ax, data, obstacles)
    named = not many.is_numbered(data) and many.write_names(frame.ax, data, obstacles)
    entries = [*many.entries(data, kernels=not named and table is None), *inner_walls.entries(data)]
    frame.add_legend(entries, obstacles)
    if not named:
        many.write_numbers(frame.ax, data, far, obstacles)
    return frame.finish()


def _blank(
    data: PlotData,
    title: str,
    subtitle: str,
    heights: Sequence[float] = (),
    *,
    table: NumberedTable | None = None,
    ax: Axes | None = None,
    far: Sequence[Outlier] = (),
) -> Frame:
    labels = FrameText(title, subtitle, footnotes(data))
    panels = [Panel(data.units.x_label)]
    if ax is None:
        beyond = 0.0 if data.units.transactions else width_beside(data)
        frame = Frame.blank(
            labels, panels, data.options, table=table, points=len(data.labeled) * len(data.levels), beyond=beyond
        )
    else:
        frame = Frame.within(ax, labels, panels)
    set_limits(frame.ax, data, heights, [outlier.point for outlier in far])
    if data.options.zones:
        draw_zones(frame.ax, data)
    dress(frame.ax, data.units.x_label, data.units.y_label)
    return frame


def _annotate(frame: Frame, data: PlotData, entries: Sequence[LegendEntry], *, colored: bool) -> Obstacles:
    """Label the ceilings and place the legend; the result holds both as obstacles."""
    obstacles = line_obstacles(frame.ax)
    add_markers([position_of(frame.ax, point, data) for point in data.points], obstacles)
    inner_walls.add_accesses(frame.ax, data, obstacles)
    label_ceilings(frame.ax, data, obstacles, colored=colored, beside=bool(frame.beyond))
    inner_walls.label_walls(frame.ax, data, obstacles)
    frame.add_legend(entries, obstacles)
    return obstacles
