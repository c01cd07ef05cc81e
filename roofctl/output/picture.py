"""The pictures of an analysis: which kernels, levels and ceilings are drawn, and the notes that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from roofctl.core.levels import LEVELS
from roofctl.core.notes import Note
from roofctl.output.captions import subtitle
from roofctl.plots.figure import Axes, Figure, hierarchical, multi
from roofctl.plots.page import save
from roofctl.plots.select import check_drawable, longest, with_needed_peaks
from roofctl.plots.style import PlotOptions
from roofctl.plots.style_file import load_style, restyle
from roofctl.plots.time import time
from roofctl.plots.walls import walls
from roofctl.roofline.model import KernelPoints, Roofline
from roofctl.roofline.walls import Space, wall_points
from roofctl.study.analyse import Analysis, timings_of

Mode = Literal["hierarchical", "multi", "time"]

_MANY_LEVELS: Final = ("hbm",)
"""The levels of many kernels, where none are chosen."""


@dataclass(frozen=True)
class PictureRequest:
    """What a user asks for.

    ``mode`` None is one kernel on all its levels, or many kernels. No ``levels`` are all of them, of many kernels HBM.
    With ``walls`` the picture is of the memory walls of these address spaces. ``all_peaks`` draws the peaks of work
    that no kernel does. ``style`` is a YAML file; ``labels``, ``colors`` and ``markers`` are ``KERNEL=VALUE``.
    """

    mode: Mode | None = None
    levels: tuple[str, ...] = ()
    walls: tuple[Space, ...] = ()
    all_peaks: bool = False
    spread: bool = False
    title: str = ""
    style: Path | None = None
    labels: tuple[str, ...] = ()
    colors: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What is drawn, as part of a file name."""
        return "walls" if self.walls else "time-roofline" if self.mode == "time" else "roofline"


@dataclass(frozen=True)
class Picture:
    """A picture before it is drawn. ``figure`` raises InputError when there is nothing to draw."""

    notes: tuple[Note, ...]
    figure: Callable[[], Figure]

    def save(self, targets: Sequence[Path]) -> None:
        """Draw once and write every target, by suffix as PNG, SVG or PDF."""
        drawn = self.figure()
        for target in targets:
            save(drawn, target)


def default_target(analysis: Analysis, request: PictureRequest) -> Path:
    """The file of a picture without a name, in the working directory, named after the first input."""
    return Path(f"{Path(analysis.sources[0]).stem}-{request.kind}.png")


def picture(analysis: Analysis, request: PictureRequest) -> Picture:
    """The picture of an analysis whose GPU is known."""
    if request.walls:
        return _walls(analysis, request)
    if request.mode == "time":
        return _times(analysis, request)
    return _rates(analysis, request)


def draw(analysis: Analysis, request: PictureRequest, ax: Axes | None = None) -> Figure:
    """The roofline of an analysis as a figure, or in the axes ``ax`` of one that exists."""
    return _rates(analysis, request, ax).figure()


def _rates(analysis: Analysis, request: PictureRequest, ax: Axes | None = None) -> Picture:
    """A roofline of one kernel (of several the longest), or of many."""
    kernels, notes = analysis.results.points, analysis.notes
    mode = request.mode or ("hierarchical" if len(analysis.results.kernels) == 1 else "multi")
    if mode == "multi":
        return Picture(notes, partial(_rates_figure, analysis, request, kernels, partial(multi, ax=ax), _MANY_LEVELS))
    several, kernels = len({kernel.number for kernel in kernels}), longest(kernels)
    if several > 1:
        share = "" if kernels[0].time_share is None else f" ({kernels[0].time_share:.0%} of the time)"
        name = kernels[0].short_name
        notes = (*notes, Note(f"{several} kernels; drawing the longest, {name}{share}; choose with --kernel"))
    return Picture(notes, partial(_rates_figure, analysis, request, kernels, partial(hierarchical, ax=ax), LEVELS))


def _rates_figure(
    analysis: Analysis,
    request: PictureRequest,
    kernels: Sequence[KernelPoints],
    draw: Callable[[Sequence[Roofline], Sequence[KernelPoints], PlotOptions], Figure],
    levels: tuple[str, ...],
) -> Figure:
    levels = request.levels or levels
    check_drawable(kernels, levels)
    rooflines = with_needed_peaks(analysis.rooflines, kernels, common=request.all_peaks)
    return draw(rooflines, kernels, _options(analysis, request, analysis.rooflines, levels))


def _times(analysis: Analysis, request: PictureRequest) -> Picture:
    """Compute time against memory time, by the first of the rooflines."""
    timings, notes = timings_of(analysis)
    first = analysis.rooflines[:1]

    def draw() -> Figure:
        return time(first[0], timings, _options(analysis, request, first, request.levels or LEVELS))

    # Notes on what one model's rates leave out do not hold for times.
    return Picture((*analysis.capture_notes, *notes), draw)


def _walls(analysis: Analysis, request: PictureRequest) -> Picture:
    """Accesses against memory walls."""
    kernels, notes = wall_points(analysis.results.kernels, request.walls)

    def draw() -> Figure:
        return walls(
            analysis.rooflines, kernels, request.walls, _options(analysis, request, analysis.rooflines, LEVELS)
        )

    return Picture((*analysis.capture_notes, *notes), draw)


def _options(
    analysis: Analysis, request: PictureRequest, rooflines: Sequence[Roofline], levels: tuple[str, ...]
) -> PlotOptions:
    """Options from the style file, then from the request, which wins."""
    options = PlotOptions(levels=levels, subtitle=subtitle(analysis, rooflines), remarks=analysis.clocks.remarks)
    if request.style:
        options = load_style(request.style, options)
    for attribute, entries in (("label", request.labels), ("color", request.colors), ("marker", request.markers)):
        for entry in entries:
            options = restyle(options, attribute, entry, analysis.results.points)
    return replace(options, spread=request.spread, title=request.title or options.title)
