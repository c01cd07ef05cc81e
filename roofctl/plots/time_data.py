"""What a time-based roofline shows: which kernels can be drawn and where, and the limits of the axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes

from roofctl.core.errors import InputError
from roofctl.plots.axes import log_axes
from roofctl.plots.data import PlotData, compose, label_some
from roofctl.plots.placement import Position
from roofctl.plots.style import KERNEL_COLORS, MOST_NAMED, REST, PlotOptions
from roofctl.roofline.model import KernelPoints, Roofline
from roofctl.roofline.time_based import COMPUTE, Timing

_PAD: Final = 0.4
"""Decades of space around what is drawn."""

SHORTEST: Final = 1e-8
"""Seconds at which the axes begin at the earliest: shorter bounds are drawn at the edge."""


@dataclass(frozen=True)
class TimePoint:
    """A kernel that can be drawn, with its bounds in seconds; one of 0 is drawn at the edge of the axes.

    ``level`` is the one with the longest memory time; ``stretch`` is measured time / longer bound, None without a time.
    """

    index: int
    timing: Timing
    level: str
    memory: float
    compute: float
    stretch: float | None

    def at(self, ax: Axes, factor: float = 1.0) -> Position:
        """Where both bounds times ``factor`` are; a time shorter than the axes show is at their edge."""
        left, bottom = ax.get_xlim()[0], ax.get_ylim()[0]
        return max(self.memory * factor, left), max(self.compute * factor, bottom)

    @property
    def longer(self) -> float:
        return max(self.memory, self.compute)


@dataclass(frozen=True)
class TimeData:
    """The kernels of the picture; ``undrawn`` are indices of the others, each with the reason."""

    plot: PlotData
    timings: tuple[Timing, ...]
    points: tuple[TimePoint, ...]
    undrawn: tuple[tuple[int, str], ...]

    @property
    def launch(self) -> float | None:
        """Seconds of a launch, None where they were not measured."""
        return self.timings[0].launch_seconds

    @property
    def numbered(self) -> bool:
        """Whether kernels are distinguished by numbers: there are too many for a name each."""
        return len(self.points) > MOST_NAMED

    @property
    def labeled(self) -> tuple[int, ...]:
        """Indices of the kernels that get a name or number and a colour: of many the longest."""
        return label_some([point.index for point in self.points], self.plot.kernels, self.plot.options)

    @property
    def in_corner(self) -> tuple[int, ...]:
        """Indices of the kernels of which both bounds are shorter than a launch."""
        return tuple(point.index for point in self.points if self.launch and point.longer < self.launch)

    def color(self, index: int) -> str:
        """The kernel's colour, grey without a label."""
        if own := self.plot.options.kernel_style(self.plot.kernels[index]).color:
            return own
        labeled = self.labeled
        return KERNEL_COLORS[labeled.index(index) % len(KERNEL_COLORS)] if index in labeled else REST


def time_data(roofline: Roofline, timings: Sequence[Timing], options: PlotOptions) -> TimeData:
    """The data of the picture. Raises InputError with the reasons when no kernel can be drawn."""
    kernels = [
        KernelPoints(t.kernel, t.short_name, (), t.seconds_total, t.time_share, t.launches, note=t.note)
        for t in timings
    ]
    plot = compose([roofline], kernels, options)
    results = [_point(index, timing, plot) for index, timing in enumerate(timings)]
    points = tuple(result for result in results if isinstance(result, TimePoint))
    undrawn = tuple((index, result) for index, result in enumerate(results) if isinstance(result, str))
    if not points:
        reasons = "; ".join(dict.fromkeys(reason for _, reason in undrawn)) or "no kernel"
        raise InputError(
            f"there is no kernel to draw ({reasons})",
            hint="capture instructions or operations, traffic and time: roofctl profile --set default ./app",
        )
    return TimeData(plot, tuple(timings), points, undrawn)


def _point(index: int, timing: Timing, plot: PlotData) -> TimePoint | str:
    """A kernel's point, or why it has none."""
    memory, compute = timing.memory(plot.levels), timing.compute_seconds
    if memory is None:
        reasons = [f"{plot.label(level)} {timing.missing.get(level, 'not known')}" for level in plot.levels]
        return f"no memory time: {'; '.join(reasons)}"
    if compute is None:
        return f"no compute time: {timing.missing.get(COMPUTE, 'not known')}"
    longer = max(memory[1], compute)
    if not longer:
        return "neither work nor traffic"
    return TimePoint(index, timing, *memory, compute, timing.seconds / longer if timing.seconds else None)


def set_limits(ax: Axes, data: TimeData) -> None:
    """Both axes with the same length of a decade, so that 45 degrees are 45 degrees.

    The axis with space to spare gets it where the fewest kernels are: above the diagonal, or below it.
    """
    needs = (_need(data, lambda point: point.memory), _need(data, lambda point: point.compute))
    area = ax.get_window_extent()
    decade = min(area.width / (needs[0][1] - needs[0][0]), area.height / (needs[1][1] - needs[1][0]))
    above = sum(point.compute > point.memory for point in data.points) * 2 > len(data.points)
    (left, right), (bottom, top) = needs
    wide, high = area.width / decade, area.height / decade
    shortest = math.log10(SHORTEST)
    if not above:  # to the left, as far as an axis may go, and the rest to the right
        left = max(right - wide, min(left, shortest))
    bottom = max(top - high, min(bottom, shortest)) if above else bottom
    right, top = left + wide, bottom + high
    log_axes(ax, (10**left, 10**right), (10**bottom, 10**top))


def _need(data: TimeData, time_of: Callable[[TimePoint], float]) -> tuple[float, float]:
    """Lowest and highest decade (as logarithms) that one axis must show; times of 0 are drawn at its edge."""
    times = [seconds * factor for p in data.points if (seconds := time_of(p)) for factor in (1.0, p.stretch or 1.0)]
    times += [data.launch] if data.launch else []
    logs = [math.log10(max(seconds, SHORTEST)) for seconds in times or [p.longer for p in data.points]]
    return max(min(logs) - _PAD, math.log10(SHORTEST)), max(logs) + _PAD
