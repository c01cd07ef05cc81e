"""Rooflines as figures for papers and slides, and their files.

Figures are plain ``matplotlib.figure.Figure`` objects: no window, no pyplot, no global
setting is changed, and the same input gives the same file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from roofctl.errors import InputError
from roofctl.files import whole
from roofctl.plots.axes import dress, empty_crowd, set_limits
from roofctl.plots.ceilings import draw_ceilings, label_ceilings
from roofctl.plots.crowd import Crowd
from roofctl.plots.legend import Table, draw_legend, lay_out_table
from roofctl.plots.points import Entry, add_markers, draw_hierarchical, draw_multi, label_levels, number_points
from roofctl.plots.scene import Scene, compose, footnotes, type_text
from roofctl.plots.sheet import INCH, Sheet, Words, settings
from roofctl.plots.style import KernelStyle, LevelStyle, PlotOptions, load_style
from roofctl.roofline import KernelPoints, Roofline

__all__ = ["KernelStyle", "LevelStyle", "PlotOptions", "hierarchical", "load_style", "multi", "save"]

MOST_COLORS: Final = 8
"""More kernels than this are numbered and listed in a table."""

_FORMATS: Final[dict[str, dict[str, Any]]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


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
        sheet = _blank(scene, title, subtitle, heights=issued if scene.points else [])
        draw_ceilings(sheet.ax, scene, colored=True)
        crowd = _furnish(sheet, scene, draw_hierarchical(sheet.ax, scene), colored=True)
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
        sheet = _blank(scene, title, scene.options.subtitle, table=table)
        draw_ceilings(sheet.ax, scene, colored=numbered)
        crowd = _furnish(sheet, scene, draw_multi(sheet.ax, scene, numbered=numbered), colored=numbered)
        if scene.many:
            number_points(sheet.ax, scene, crowd)
        return sheet.finish()


def _blank(scene: Scene, title: str, subtitle: str, heights: Sequence[float] = (), table: Table | None = None) -> Sheet:
    notes = footnotes(scene, numbered=table is not None)
    words = Words(title, subtitle, scene.measure.x_label, notes)
    sheet = Sheet.blank(words, scene.options.size, table, marks=len(scene.points))
    set_limits(sheet.ax, scene, heights)
    dress(sheet.ax, scene.measure.x_label, scene.measure.y_label)
    return sheet


def _furnish(sheet: Sheet, scene: Scene, entries: Sequence[Entry], *, colored: bool) -> Crowd:
    """Label the ceilings and place the legend; the crowd that comes back knows of both."""
    crowd = empty_crowd(sheet.ax)
    add_markers(sheet.ax, scene, crowd)
    label_ceilings(sheet.ax, scene, crowd, colored=colored)
    sheet.outside = draw_legend(sheet.ax, entries, crowd)
    return crowd


def check_suffix(path: Path) -> str:
    """The suffix of ``path`` in lower case. Raises InputError when no figure can be written under it."""
    kind = path.suffix.lower()
    if kind not in _FORMATS:
        raise InputError(
            f"{path}: cannot write a figure as {path.suffix or 'a file without suffix'!r}",
            hint="use a name that ends in .png, .svg or .pdf",
        )
    return kind


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` as PNG, SVG or PDF, by suffix. The file appears whole or not at all."""
    kind = check_suffix(path)
    try:
        with whole(path) as temporary, settings():
            figure.savefig(temporary, format=kind[1:], dpi=figure.dpi, facecolor="white", metadata=_FORMATS[kind])
    except OSError as error:
        raise InputError(
            f"{path}: cannot write the figure: {error.strerror or error}", hint="choose another place with -o"
        ) from error
