"""Captures of several GPUs or at several clocks in one picture: a roof each, one scale in percent, or panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from roofctl.core.errors import InputError
from roofctl.plots import many
from roofctl.plots.axes import dress, set_limits
from roofctl.plots.ceilings import draw_ceilings, draw_zones, label_ceilings
from roofctl.plots.data import PlotData, compose, footnotes
from roofctl.plots.figure import draw_many
from roofctl.plots.frame import Frame, FrameText, Panel
from roofctl.plots.kernel_table import lay_out_table
from roofctl.plots.outliers import Outlier, outliers
from roofctl.plots.page import settings
from roofctl.plots.style import PlotOptions, group_hues
from roofctl.plots.text import plain
from roofctl.roofline.model import KernelPoints, Peak, Point, Roofline

_PANEL_ABOVE: Final = 16.0
"""Points above the axes for a panel's title."""


@dataclass(frozen=True)
class Group:
    """Captures of one GPU at one clock: their name, their roofline, and their kernels, the longest first."""

    name: str
    roofline: Roofline
    kernels: tuple[KernelPoints, ...]


def overlay(groups: Sequence[Group], options: PlotOptions, *, ax: Axes | None = None) -> Figure:
    """All groups in one pair of axes: a roof each, and its points in the same colour."""
    if options.zones:
        raise InputError("zones are those of one roof, and there are several", hint="use --panels, or no --zones")
    with settings(options.font):
        return draw_many(_composed(groups, options, group_hues(len(groups))), ax)


def normalized(groups: Sequence[Group], options: PlotOptions, *, ax: Axes | None = None) -> Figure:
    """Points at their intensity and at the percentage that they reach of their own roof."""
    if options.spread:
        raise InputError("whiskers are of rates, not of percentages", hint="leave --spread or --normalize out")
    with settings(options.font):
        hues = group_hues(len(groups)) if len(groups) > 1 else ()
        return draw_many(_percent(_composed(groups, options, hues)), ax)


def panels(groups: Sequence[Group], options: PlotOptions, *, percent: bool = False) -> Figure:
    """A panel for each group, with the same limits; a kernel has the same number and colour in all of them."""
    with settings(options.font):
        data = _composed(groups, options, ())
        data = _percent(data) if percent else data
        far, _ = outliers(data)
        rest = [index for index in data.drawn if index not in data.labeled]
        table = lay_out_table(data, many.first_of_numbers(data), rest, partial(many.color_of, data))
        title = data.units.title if options.title is None else options.title
        frame = Frame.blank(
            FrameText(title, options.subtitle, footnotes(data)),
            [Panel(data.units.x_label, group.name) for group in groups],
            options,
            table=table,
            above=_PANEL_ABOVE,
        )
        set_limits(frame.axes[0], data, without=[outlier.point for outlier in far])
        limits = replace(options, xlim=frame.axes[0].get_xlim(), ylim=frame.axes[0].get_ylim())
        colors = {data.numbers[index]: many.color_of(data, index) for index in data.labeled}
        for group, (ax, part) in enumerate(zip(frame.axes, data.parts, strict=True)):
            own = replace(part, options=limits, colors=colors)
            _draw_panel(frame, ax, own, _of_group(data, group, far))
        return frame.finish()


def _of_group(data: PlotData, group: int, far: Sequence[Outlier]) -> list[Outlier]:
    """The outliers of one group, by the indices of its own kernels."""
    own = [index for index, owner in enumerate(data.owners) if owner == group]
    return [replace(outlier, index=own.index(outlier.index)) for outlier in far if outlier.index in own]


def _draw_panel(frame: Frame, ax: Axes, data: PlotData, far: Sequence[Outlier]) -> None:
    set_limits(ax, data)
    if data.options.zones:
        draw_zones(ax, data)
    dress(ax, data.units.x_label, data.units.y_label)
    draw_ceilings(ax, data, colored=False)
    many.draw_multi(ax, data, far)
    obstacles = many.marker_obstacles(ax, data, far)
    label_ceilings(ax, data, obstacles, colored=False)
    if ax is frame.axes[-1]:
        frame.add_legend(many.entries(data, kernels=False), obstacles)
    many.write_numbers(ax, data, far, obstacles)


def _composed(groups: Sequence[Group], options: PlotOptions, hues: Sequence[str]) -> PlotData:
    """The data of all groups, the longest kernels first; kernels of the same name and type have one number."""
    each = [compose([group.roofline], group.kernels, options) for group in groups]
    # Names without those of captures: one name is one kernel, whichever captures it is in.
    entries = [
        (kernel, name.removesuffix(plain(f" ({kernel.note})")), owner)
        for owner, data in enumerate(each)
        for kernel, name in zip(data.kernels, data.names, strict=True)
    ]
    entries.sort(key=lambda entry: -(entry[0].seconds_total or 0.0))
    with_points = [entry for entry in entries if any(entry[0].point(level) for level in options.levels)]
    keys = list(dict.fromkeys((name, kernel.work) for kernel, name, _ in (*with_points, *entries)))
    return PlotData(
        rooflines=tuple(data.rooflines[0] for data in each),
        kernels=tuple(kernel for kernel, _, _ in entries),
        names=tuple(name for _, name, _ in entries),
        options=options,
        numbers=tuple(keys.index((name, kernel.work)) + 1 for kernel, name, _ in entries),
        groups=tuple(group.name for group in groups) if len(groups) > 1 else (),
        owners=tuple(owner for _, _, owner in entries) if len(groups) > 1 else (),
        hues=tuple(hues),
    )


def _percent(data: PlotData) -> PlotData:
    """The same points in percent of their own roofs, under one line at 100 %."""
    kernels = tuple(_kernel_percent(kernel, data) for kernel in data.kernels)
    first = data.rooflines[0]
    roof = replace(first, peak=Peak(100.0, first.basis), others=(), bandwidths=(), shared=None)
    return replace(data, rooflines=(roof,), kernels=kernels, percent=True)


def _kernel_percent(kernel: KernelPoints, data: PlotData) -> KernelPoints:
    points: list[Point] = []
    missing = dict(kernel.missing)
    for point in kernel.points:
        assessment = data.assess(point)
        if assessment is None:
            missing[point.level] = "its roof is not known"
        else:
            points.append(replace(point, per_second=100 * assessment.fraction))
    return replace(
        kernel, points=tuple(points), missing=missing, issued_per_second=None, threads_per_second=None, rates=None
    )
