"""The pictures of an analysis: which kernels, levels and ceilings are drawn, and the notes that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from roofctl.core.errors import InputError
from roofctl.core.levels import LEVELS
from roofctl.core.notes import Note
from roofctl.output import several
from roofctl.output.captions import incomplete_lines, subtitle
from roofctl.plots.figure import Axes, Figure, hierarchical, multi
from roofctl.plots.look import LOOKS
from roofctl.plots.page import save
from roofctl.plots.select import check_drawable, longest, with_needed_peaks
from roofctl.plots.several import Group, normalized, overlay, panels
from roofctl.plots.style import PlotOptions
from roofctl.plots.style_file import load_look, restyle, set_look
from roofctl.plots.terminal import terminal
from roofctl.plots.time import time
from roofctl.plots.walls import check_accesses, walls
from roofctl.quantities import catalogue
from roofctl.roofline.model import KernelPoints, Roofline, all_levels
from roofctl.roofline.walls import Space, wall_points
from roofctl.study.analyse import Analysis, timings_of

Drawing = TypeVar("Drawing")
Mode = Literal["hierarchical", "multi", "time"]

_MANY_LEVELS: Final = ("hbm",)
"""The levels of many kernels, where none are chosen."""


@dataclass(frozen=True)
class PictureRequest:
    """What a user asks for.

    ``mode`` None is one kernel on all its levels, or many kernels. No ``levels`` are all of them, of many kernels HBM.
    ``ceiling_levels`` are those whose ceilings are drawn; none are the levels of the points. With ``walls`` the picture
    is of the memory walls of these address spaces, with a ``mode`` they are inside its roofline. ``all_peaks`` draws
    the peaks of work that no kernel does. ``normalize`` draws percent of each kernel's own roof, ``panels`` one panel
    per GPU and clock, or per capture. ``styles`` are presets or YAML files, ``look`` are values by the keys
    ``plots.look.LOOKS``; ``labels``, ``colors`` and ``markers`` are ``NAME=VALUE``, of a kernel or a level.
    """

    mode: Mode | None = None
    levels: tuple[str, ...] = ()
    ceiling_levels: tuple[str, ...] = ()
    walls: tuple[Space, ...] = ()
    all_peaks: bool = False
    spread: bool = False
    normalize: bool = False
    panels: bool = False
    title: str | None = None
    styles: tuple[str, ...] = ()
    look: Mapping[str, Any] = field(default_factory=dict)
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


def picture(analysis: Analysis, request: PictureRequest, others: Sequence[Analysis] = ()) -> Picture:
    """The picture of an analysis whose GPU is known; ``others`` are those of other GPUs, drawn with it."""
    if others and (request.walls or request.mode in ("time", "hierarchical")):
        kind = "memory walls" if request.walls else "times" if request.mode == "time" else "one kernel on all levels"
        raise InputError(f"a picture of {kind} is of one GPU", hint="give the captures of one GPU at a time")
    if request.walls and request.mode is None:
        return _walls(analysis, request)
    if request.mode == "time":
        return _times(analysis, request)
    return _rates(analysis, request, others)


def draw(analysis: Analysis, request: PictureRequest, ax: Axes | None = None) -> Figure:
    """The roofline of an analysis as a figure, or in the axes ``ax`` of one that exists."""
    return _rates(analysis, request, ax=ax).figure()


def in_terminal(
    analysis: Analysis,
    request: PictureRequest,
    others: Sequence[Analysis] = (),
    *,
    width: int,
    colored: bool,
    ascii_only: bool,
) -> tuple[str, tuple[Note, ...]]:
    """The roofline as text of at most ``width`` columns, and the notes on it. Raises InputError without a point.

    Of several GPUs or clocks one below the other.
    """
    draw = partial(terminal, width=width, colored=colored, ascii_only=ascii_only)
    if request.mode == "hierarchical":
        analysis = several.group_of_longest(analysis)
    groups = several.groups_of([analysis, *others])
    if len(groups) == 1:
        kernels, levels, notes, _ = _shown(analysis, request)
        return _drawn(analysis, request, kernels, draw, levels), notes
    texts = []
    for group in several.drawn(groups, common=request.all_peaks):
        levels = request.levels or _MANY_LEVELS
        options = _options(analysis, request, [group.roofline], levels, group.name)
        texts.append(draw([group.roofline], group.kernels, options))
    return "\n\n".join(texts), several.notes_of([analysis, *others])


def _rates(
    analysis: Analysis, request: PictureRequest, others: Sequence[Analysis] = (), ax: Axes | None = None
) -> Picture:
    """A roofline of one kernel (of several the longest), or of many; of several GPUs or clocks one for each."""
    if request.mode == "hierarchical":
        analysis = several.group_of_longest(analysis)
    groups = several.groups_of([analysis, *others], per_capture=request.panels)
    if request.walls and len(groups) > 1:
        raise InputError(
            "memory walls inside a roofline are of one GPU at one clock",
            hint="give the captures of one clock, or leave --mode out for the walls alone",
        )
    if len(groups) > 1 or request.normalize:
        notes = several.notes_of([analysis, *others])
        return Picture(notes, partial(_grouped, (analysis, *others), groups, request, ax))
    kernels, levels, notes, one = _shown(analysis, request)
    draw = partial(hierarchical if one else multi, ax=ax)
    if request.walls:
        accesses, more = wall_points(analysis.results.kernels, request.walls)
        by_number = dict(zip((each.number for each in analysis.results.points), accesses, strict=True))
        accesses = [by_number[kernel.number] for kernel in kernels]
        check_accesses(accesses, request.walls)
        draw, notes = partial(draw, accesses=accesses), (*notes, *more)
        request = replace(request, ceiling_levels=request.ceiling_levels or ("l1", *(request.levels or levels)))
    return Picture(notes, partial(_drawn, analysis, request, kernels, draw, levels))


def _grouped(analyses: Sequence[Analysis], groups: Sequence[Group], request: PictureRequest, ax: Axes | None) -> Figure:
    """Several GPUs, clocks or captures: a roof each, percent of their own, or panels."""
    levels = request.levels or _MANY_LEVELS
    check_drawable([kernel for group in groups for kernel in group.kernels], levels)
    groups = several.drawn(groups, common=request.all_peaks)
    options = _options(analyses[0], request, analyses[0].rooflines, levels, several.subtitle(analyses, groups))
    others = [line for each in analyses[1:] for line in (*incomplete_lines(each), *each.clocks.remarks)]
    options = replace(options, remarks=(*options.remarks, *others))
    if request.panels and len(groups) > 1:
        return panels(groups, options, percent=request.normalize)
    return normalized(groups, options, ax=ax) if request.normalize else overlay(groups, options, ax=ax)


def _shown(
    analysis: Analysis, request: PictureRequest
) -> tuple[Sequence[KernelPoints], tuple[str, ...], tuple[Note, ...], bool]:
    """The kernels and levels of a roofline, the notes on it, and whether it is of one kernel."""
    kernels, notes = analysis.results.points, analysis.notes
    mode = request.mode or ("hierarchical" if len(analysis.results.kernels) == 1 else "multi")
    if mode == "multi":
        return kernels, _MANY_LEVELS, notes, False
    several, kernels = len({kernel.number for kernel in kernels}), longest(kernels)
    if several > 1:
        share = "" if kernels[0].time_share is None else f" ({kernels[0].time_share:.0%} of the time)"
        name = kernels[0].short_name
        notes = (*notes, Note(f"{several} kernels; drawing the longest, {name}{share}; choose with --kernel"))
    return kernels, all_levels(), notes, True


def _drawn(
    analysis: Analysis,
    request: PictureRequest,
    kernels: Sequence[KernelPoints],
    draw: Callable[[Sequence[Roofline], Sequence[KernelPoints], PlotOptions], Drawing],
    levels: tuple[str, ...],
) -> Drawing:
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

    roofs = several.groups_of([analysis]) if analysis.clocks.each else []
    rooflines = [group.roofline for group in roofs] or analysis.rooflines

    def draw() -> Figure:
        options = _options(analysis, request, analysis.rooflines, LEVELS)
        return walls(rooflines, kernels, request.walls, options, names=[group.name for group in roofs])

    return Picture((*analysis.capture_notes, *notes), draw)


def _options(
    analysis: Analysis,
    request: PictureRequest,
    rooflines: Sequence[Roofline],
    levels: tuple[str, ...],
    under_title: str = "",
) -> PlotOptions:
    """Options from the style file, then from the request, which wins; ``under_title`` replaces the subtitle."""
    options = PlotOptions(
        levels=levels,
        ceiling_levels=request.ceiling_levels,
        own_levels=tuple(catalogue().levels),
        subtitle=under_title or subtitle(analysis, rooflines),
        remarks=(*incomplete_lines(analysis), *analysis.clocks.remarks),
    )
    for style in request.styles:
        options = load_look(style, options)
    for key in LOOKS:
        if key in request.look:
            options = set_look(options, key, request.look[key])
    for attribute, entries in (("label", request.labels), ("color", request.colors), ("marker", request.markers)):
        for entry in entries:
            options = restyle(options, attribute, entry, analysis.results.points)
    return replace(options, spread=request.spread, title=options.title if request.title is None else request.title)
