"""Rooflines as figures for papers and slides, and their files.

Figures are plain ``matplotlib.figure.Figure`` objects: no window, no pyplot, no global
setting is changed, and the same input gives the same file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.figure import Figure

from roofctl.core.errors import InputError
from roofctl.plots.axes import dress, empty_crowd, set_limits
from roofctl.plots.ceilings import draw_ceilings, label_ceilings
from roofctl.plots.crowd import Crowd
from roofctl.plots.frame import Frame, Words
from roofctl.plots.legend import Table, draw_legend, lay_out_table
from roofctl.plots.points import Entry, add_markers, draw_hierarchical, draw_multi, label_levels, number_points
from roofctl.plots.scene import Scene, compose, footnotes, type_text
from roofctl.plots.sheet import INCH, check_suffix, save, settings
from roofctl.plots.style import KernelStyle, LevelStyle, PlotOptions, load_style
from roofctl.roofline.model import KernelPoints, Roofline

__all__ = ["KernelStyle", "LevelStyle", "PlotOptions", "check_suffix", "hierarchical", "load_style", "multi", "save"]

MOST_COLORS: Final = 8
"""More kernels than this are numbered and listed in a table."""


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
        frame = _blank(scene, title, subtitle, heights=issued if scene.points else [])
        draw_ceilings(frame.ax, scene, colored=True)
        crowd = _furnish(frame, scene, draw_hierarchical(frame.ax, scene), colored=True)
        label_levels(frame.ax, scene, crowd)
        return frame.finish()


def multi(rooflines: Sequence[Roofline], kernels: Sequence[KernelPoints], options: PlotOptions | None = None) -> Figure:
    """Many kernels: up to eight told apart by colour, more by numbers with a table beside the axes."""
    if not kernels:
        raise InputError("no kernel to draw", hint="roofctl report lists the kernels of a capture")
    with settings():
        scene = compose(rooflines, kernels, options or PlotOptions())
        numbered = len(kernels) > MOST_COLORS
        table = lay_out_table(scene, scene.options.size[1] * INCH - 100) if numbered else None
        title = scene.options.title or scene.measure.title
        frame = _blank(scene, title, scene.options.subtitle, table=table)
        draw_ceilings(frame.ax, scene, colored=numbered)
        crowd = _furnish(frame, scene, draw_multi(frame.ax, scene, numbered=numbered), colored=numbered)
        if scene.many:
            number_points(frame.ax, scene, crowd)
        return frame.finish()


def _blank(scene: Scene, title: str, subtitle: str, heights: Sequence[float] = (), table: Table | None = None) -> Frame:
    notes = footnotes(scene, numbered=table is not None)
    words = Words(title, subtitle, scene.measure.x_label, notes)
    frame = Frame.blank(words, scene.options.size, table, marks=len(scene.points))
    set_limits(frame.ax, scene, heights)
    dress(frame.ax, scene.measure.x_label, scene.measure.y_label)
    return frame


def _furnish(frame: Frame, scene: Scene, entries: Sequence[Entry], *, colored: bool) -> Crowd:
    """Label the ceilings and place the legend; the crowd that comes back knows of both."""
    crowd = empty_crowd(frame.ax)
    add_markers(frame.ax, scene, crowd)
    label_ceilings(frame.ax, scene, crowd, colored=colored)
    frame.outside = draw_legend(frame.ax, entries, crowd)
    return crowd
