"""What a picture shows: checked rooflines and kernels, their names, and footnotes on what is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.levels import LEVELS
from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import prefixed
from roofctl.plots.axis_units import AXIS_UNITS, AxisUnits, percent_units
from roofctl.plots.style import KernelStyle, LevelStyle, PlotOptions
from roofctl.plots.text import elide, percent, plain
from roofctl.roofline.model import ISSUE, WORK_LABELS, Assessment, KernelPoints, Peak, Point, Roofline, assess

_NAME_WIDTH: Final = 160.0
"""Points that a kernel's name takes in a footnote."""

_MOST_LISTED: Final = 4
_DRAWABLE: Final = "a logarithmic axis needs a positive number"


@dataclass(frozen=True)
class PlotData:
    """Rooflines (measured first), kernels with drawable points only, and one name per kernel.

    ``numbers`` are those that kernels have in labels and in the table. Where captures are of several GPUs or clocks
    (``groups``, by name) there is one roofline for each: ``owners`` are the groups of the kernels, ``hues`` the colours
    of the groups where colour distinguishes them, and ``hue`` that of a single one. ``percent``: rates are percent of
    each point's own roof. ``colors`` are those of labeled kernels by number, where several pictures share them.
    ``accesses`` are the global loads and stores of the kernels, in their order, drawn against the memory walls.
    """

    rooflines: tuple[Roofline, ...]
    kernels: tuple[KernelPoints, ...]
    names: tuple[str, ...]
    options: PlotOptions
    numbers: tuple[int, ...]
    groups: tuple[str, ...] = ()
    owners: tuple[int, ...] = ()
    hues: tuple[str, ...] = ()
    hue: str = ""
    percent: bool = False
    colors: Mapping[int, str] = field(default_factory=dict)
    accesses: tuple[KernelPoints, ...] = ()

    @property
    def units(self) -> AxisUnits:
        """Units and axis names of the model that is drawn."""
        model = self.rooflines[0].model
        return percent_units(model) if self.percent else AXIS_UNITS[model]

    @cached_property
    def parts(self) -> tuple[PlotData, ...]:
        """The data of each group; without groups all in one."""
        return tuple(self._part(group) for group in range(len(self.groups))) or (self,)

    @property
    def roofs(self) -> tuple[PlotData, ...]:
        """The parts that have roofs of their own: in percent all have one."""
        return (self,) if self.percent else self.parts

    def _part(self, group: int) -> PlotData:
        chosen = [index for index, owner in enumerate(self.owners) if owner == group]
        return replace(
            self,
            rooflines=self.rooflines if self.percent else (self.rooflines[group],),
            kernels=tuple(self.kernels[index] for index in chosen),
            names=tuple(self.names[index] for index in chosen),
            numbers=tuple(self.numbers[index] for index in chosen),
            groups=(),
            owners=(),
            hues=(),
            hue=self.hues[group] if self.hues else "",
        )

    @property
    def rate_unit(self) -> float:
        """Work per second in one unit of the y axis."""
        return self.units.rate

    @property
    def works(self) -> tuple[str, ...]:
        """Types of work that have a peak in the picture, the highest first."""
        return tuple(dict.fromkeys(peak.work for roofline in self.rooflines for peak in roofline.peaks))

    @property
    def levels(self) -> tuple[str, ...]:
        """The chosen levels from the SM outward, whatever their order in the options: markers shrink in this order."""
        return self._in_order(self.options.levels)

    @property
    def roof_levels(self) -> tuple[str, ...]:
        """The levels whose ceilings are drawn, in the same order: those of the points where none are chosen."""
        return () if self.percent else self._in_order(self.options.ceiling_levels or self.options.levels)

    def _in_order(self, chosen: Sequence[str]) -> tuple[str, ...]:
        return tuple(level for level in (*LEVELS, *self.options.own_levels) if level in chosen)

    @property
    def points(self) -> list[Point]:
        """Every point that is drawn."""
        return [p for kernel in self.kernels for p in self.points_of(kernel)]

    @property
    def drawn(self) -> tuple[int, ...]:
        """Indices of the kernels that have a point."""
        return tuple(index for index, kernel in enumerate(self.kernels) if self.points_of(kernel))

    @property
    def labeled(self) -> tuple[int, ...]:
        """Indices of the kernels that are labeled: of many the longest, and those that the user styled."""
        if self.colors:
            return tuple(index for index in self.drawn if self.numbers[index] in self.colors)
        return label_some(self.drawn, self.kernels, self.options, self.numbers)

    @property
    def typed(self) -> bool:
        """Whether the colour of a point is that of its type of operation, as its peak's."""
        return self.rooflines[0].model == "flop" and self.many and not (self.hues or self.hue)

    @property
    def many(self) -> bool:
        """Whether the picture shows more than one kernel."""
        return len(self.kernels) > 1

    def points_of(self, kernel: KernelPoints) -> list[Point]:
        """A kernel's points on the chosen levels, in their order."""
        return [p for p in map(kernel.point, self.levels) if p is not None]

    def missing(self, kernel: KernelPoints) -> tuple[str, ...]:
        """The chosen levels on which a kernel has no point."""
        return tuple(level for level in self.levels if kernel.point(level) is None)

    def assess(self, point: Point) -> Assessment | None:
        """A point against its measured ceiling, or the theoretical one where none was measured."""
        if self.percent:
            return None
        rooflines = (self.rooflines[self._owner_of[id(point)]],) if self.owners else self.rooflines
        return next((result for r in rooflines if (result := assess(point, r)) is not None), None)

    @cached_property
    def _owner_of(self) -> dict[int, int]:
        """The group of each point, by its identity: equal points may be of different groups."""
        return {
            id(point): owner for kernel, owner in zip(self.kernels, self.owners, strict=True) for point in kernel.points
        }

    def label(self, level: str) -> str:
        """The printed name of a level: the user's label, else its own (``HBM/DRAM`` where GPUs differ)."""
        own = dict.fromkeys(roofline.label(level) for roofline in self.rooflines)
        return self.options.level_styles.get(level, LevelStyle()).label or "/".join(own)


def compose(rooflines: Sequence[Roofline], kernels: Sequence[KernelPoints], options: PlotOptions) -> PlotData:
    """The data of a picture, without what a logarithmic axis cannot hold. Raises InputError for impossible choices."""
    if not options.levels:
        raise InputError("no memory level to draw", hint="choose one or more of l1, l2, hbm")
    bases = [r.basis for r in rooflines]
    if not rooflines or len(set(bases)) < len(bases):
        seen = ", ".join(bases) or "none"
        raise InputError(f"a figure takes one theoretical roofline, one measured, or one of each; seen: {seen}")
    ordered = sorted(rooflines, key=lambda r: r.basis == "theoretical")
    return PlotData(
        rooflines=tuple(_usable_roofline(r) for r in ordered),
        kernels=tuple(_usable_kernel(k) for k in kernels),
        names=_names(kernels, options),
        options=options,
        numbers=tuple(range(1, len(kernels) + 1)),
    )


def label_some(
    drawn: Sequence[int], kernels: Sequence[KernelPoints], options: PlotOptions, numbers: Sequence[int] = ()
) -> tuple[int, ...]:
    """The first of ``drawn``, which are sorted by time, and those that have a style of the user's.

    Kernels with the same of ``numbers`` count once.
    """
    distinct = dict.fromkeys(numbers[index] if numbers else index for index in drawn)
    first = set(list(distinct)[: options.labeled])
    return tuple(
        index
        for index in drawn
        if (numbers[index] if numbers else index) in first or options.kernel_style(kernels[index]) != KernelStyle()
    )


def positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _usable_roofline(roofline: Roofline) -> Roofline:
    for peak in roofline.peaks:
        if not positive(peak.per_second):
            name = "an instruction peak" if peak.work == ISSUE else f"a peak ({peak.work})"
            raise InputError(f"{roofline.gpu}: {name} of {peak.per_second:g} per second cannot be drawn")
    bad = {b.level: f"seen {b.bytes_per_second:g} B/s" for b in roofline.bandwidths if not positive(b.bytes_per_second)}
    kept = tuple(b for b in roofline.bandwidths if b.level not in bad)
    return replace(roofline, bandwidths=kept, absent={**roofline.absent, **bad}) if bad else roofline


def _usable_kernel(kernel: KernelPoints) -> KernelPoints:
    bad = {
        p.level: f"intensity {p.intensity:g}, {p.per_second:g} per second: {_DRAWABLE}"
        for p in kernel.points
        if not (positive(p.intensity) and positive(p.per_second))
    }
    kept = tuple(p for p in kernel.points if p.level not in bad)
    issued = kernel.issued_per_second if positive(kernel.issued_per_second or 0.0) else None
    share = kernel.time_share if math.isfinite(kernel.time_share or 0.0) else None
    missing = {**kernel.missing, **bad}
    return replace(kernel, points=kept, missing=missing, issued_per_second=issued, time_share=share)


def _names(kernels: Sequence[KernelPoints], options: PlotOptions) -> tuple[str, ...]:
    """A name per kernel: the user's label, else the short name, else (where two share it) the full one."""

    def short(kernel: KernelPoints) -> str:
        return options.kernel_style(kernel).label or kernel.short_name

    def noted(name: str, kernel: KernelPoints) -> str:
        return plain(f"{name} ({kernel.note})" if kernel.note else name)

    first = [noted(short(k), k) for k in kernels]
    # Types of operation of one kernel share its name: the type is written beside it.
    keys = [(name, k.work) for k, name in zip(kernels, first, strict=True)]
    return tuple(
        noted(options.kernel_style(k).label or k.kernel, k) if keys.count(key) > 1 else name
        for k, name, key in zip(kernels, first, keys, strict=True)
    )


def type_text(kernel: KernelPoints) -> str:
    """`` (FP32)`` for a kernel of the FLOP model."""
    return "" if kernel.work in (ISSUE, "") else f" ({WORK_LABELS.get(kernel.work, kernel.work)})"


def footnotes(data: PlotData) -> list[str]:
    """One line per ceiling, point or spread that is missing from the picture, with its reason."""
    lines = (
        *data.options.remarks,
        *_power_limited(data),
        *_not_measured(data),
        *_absent_ceilings(data),
        *_missing_points(data),
        *_missing_spreads(data),
    )
    return [plain(line) for line in lines]


def _power_limited(data: PlotData) -> list[str]:
    """The rates of the thin lines below peaks, and the clocks that the power limit held them at."""
    limits = [
        f"{WORK_LABELS.get(peak.work, peak.work)} {prefixed(peak.sustained.per_second, PRECISIONS[peak.work].unit, 3)} "
        f"at {peak.sustained.clock.hz / 1e9:.2f} GHz"
        for peak in held_down(data)
        if peak.sustained
    ]
    return [f"sustained (power limit): {', '.join(limits)}"] if limits else []


def held_down(data: PlotData) -> list[Peak]:
    """The peaks of which the power limit leaves visibly less than short kernels reach."""
    visible = 0.97
    return [
        peak
        for roofline in data.rooflines
        for peak in roofline.peaks
        if peak.sustained and peak.sustained.per_second < visible * peak.per_second
    ]


def _not_measured(data: PlotData) -> list[str]:
    """Theoretical peaks among measured ones."""
    names = dict.fromkeys(
        WORK_LABELS.get(peak.work, peak.work)
        for roofline in data.rooflines
        for peak in roofline.peaks
        if peak.work != ISSUE and peak.basis != roofline.basis
    )
    return [f"{', '.join(names)}: theoretical peak, no calibration measures it"] if names else []


def _absent_ceilings(data: PlotData) -> list[str]:
    if data.percent:
        return []
    lines: list[str] = []
    for part, name in zip(data.parts, data.groups or ("",), strict=True):
        lines += [f"{name}: {line}" if name else line for line in _absent_of(part)]
    return lines


def _absent_of(data: PlotData) -> list[str]:
    """The ceilings that are missing from the picture of one GPU at one clock."""
    lines: list[str] = []
    for roofline in data.rooflines:
        kind = f"{roofline.basis} " if len(data.rooflines) > 1 else ""
        for level in data.roof_levels:
            if roofline.bandwidth(level) is None:
                reason = roofline.absent.get(level, "not known for this GPU")
                lines.append(f"no {kind}{data.label(level)} ceiling: {reason}")
        for work in dict.fromkeys(kernel.work for kernel in data.kernels if kernel.points):
            if roofline.peak_of(work) is None:
                reason = roofline.absent.get(work, "not known for this GPU")
                name = "instruction" if work == ISSUE else WORK_LABELS.get(work, work)
                lines.append(f"no {kind}{name} ceiling: {reason}")
    return lines


def _missing_points(data: PlotData) -> list[str]:
    """Kernels without a point, those that share level and reason on one line."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, kernel in enumerate(data.kernels):
        for level in data.missing(kernel):
            reason = kernel.missing.get(level, "not counted")
            groups.setdefault((level, reason), []).append(index)
    lines: list[str] = []
    for (level, reason), members in groups.items():
        lines.append(f"no {data.label(level)} point{for_whom(data, members)}: {reason}")
    return lines


def for_whom(data: PlotData, members: Sequence[int]) -> str:
    """`` for triad, copy and 5 others (12 % of the time)``: the kernels of a footnote; empty for a single kernel."""
    return f" for {listed(data, members)}" if data.many else ""


def listed(data: PlotData, members: Sequence[int]) -> str:
    """The longest of some kernels by name, the number of the others, and the time of all where it is known."""
    names = [elide(data.names[i], 7.0, _NAME_WIDTH) + type_text(data.kernels[i]) for i in members]
    if len(names) <= _MOST_LISTED:
        return ", ".join(names)
    share = share_of([data.kernels[i] for i in members])
    others = f"{', '.join(names[: _MOST_LISTED - 1])} and {len(names) - _MOST_LISTED + 1} others"
    return f"{others} ({percent(share)} of the time)" if share else others


def share_of(kernels: Sequence[KernelPoints]) -> float | None:
    """Their part of the time, each kernel once whatever its types of operation.

    None where one is not known, and where they are of several captures: each has a time of its own.
    """
    if len({kernel.note for kernel in kernels}) > 1:
        return None
    shares = {(k.number, k.kernel, k.note): k.time_share for k in kernels}.values()
    known = [share for share in shares if share is not None]
    return sum(known) if len(known) == len(shares) else None


def caveats(points: Sequence[Point]) -> list[str]:
    """The different caveats among points, in order of appearance."""
    return list(dict.fromkeys(plain(p.caveat) for p in points if p.caveat))


def _missing_spreads(data: PlotData) -> list[str]:
    """Kernels without error bars where the options ask for them, those that share a reason on one line."""
    groups: dict[str, list[int]] = {}
    for index, kernel in enumerate(data.kernels):
        if data.options.spread and kernel.points and kernel.rates is None and kernel.no_spread:
            groups.setdefault(kernel.no_spread, []).append(index)
    lines: list[str] = []
    for reason, members in groups.items():
        lines.append(f"no spread for {listed(data, members)}: {reason}")
    return lines
