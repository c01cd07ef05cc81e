"""What is on a time-based roofline: which kernels can be drawn and where, and the limits of the axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes

from roofctl.core.errors import InputError
from roofctl.plots.crowd import Spot
from roofctl.plots.figure import MOST_COLORS
from roofctl.plots.scene import Scene, compose
from roofctl.plots.style import KERNEL_COLORS, PlotOptions, level_look, level_name
from roofctl.roofline.model import KernelPoints, Roofline
from roofctl.roofline.time_based import COMPUTE, Timing

_PAD: Final = 0.4
"""Decades of room around what is drawn."""


@dataclass(frozen=True)
class Mark:
    """A kernel that can be drawn: its bounds in seconds (0 stands on the axis), and how far the measured time is off.

    ``level`` is the one that takes the memory time; ``stretch`` is measured time / longer bound, None without a time.
    """

    index: int
    timing: Timing
    level: str
    memory: float
    compute: float
    stretch: float | None

    def at(self, ax: Axes, factor: float = 1.0) -> Spot:
        """Where both bounds times ``factor`` are; a time of 0 is at the edge of the axes."""
        left, bottom = ax.get_xlim()[0], ax.get_ylim()[0]
        return self.memory * factor or left, self.compute * factor or bottom

    @property
    def longer(self) -> float:
        return max(self.memory, self.compute)


@dataclass(frozen=True)
class View:
    """What will be on the picture, and why the rest is not."""

    scene: Scene
    timings: tuple[Timing, ...]
    marks: tuple[Mark, ...]
    undrawn: tuple[tuple[int, str], ...]

    @property
    def launch(self) -> float | None:
        return self.timings[0].launch_seconds

    @property
    def numbered(self) -> bool:
        return len(self.timings) > MOST_COLORS

    def color(self, mark: Mark) -> str:
        """The kernel's colour; of many kernels the one of its slowest level."""
        own = self.scene.options.kernel_style(self.scene.kernels[mark.index]).color
        by_number = level_look(mark.level, self.scene.options).color
        return own or (by_number if self.numbered else KERNEL_COLORS[mark.index % len(KERNEL_COLORS)])


def view_of(roofline: Roofline, timings: Sequence[Timing], options: PlotOptions) -> View:
    kernels = [
        KernelPoints(t.kernel, t.short_name, (), t.seconds_total, t.time_share, t.launches, note=t.note)
        for t in timings
    ]
    scene = compose([roofline], kernels, options)
    placed = [_place(index, timing, scene.levels) for index, timing in enumerate(timings)]
    marks = tuple(found for found in placed if isinstance(found, Mark))
    undrawn = tuple((index, found) for index, found in enumerate(placed) if isinstance(found, str))
    if not marks:
        reasons = "; ".join(dict.fromkeys(reason for _, reason in undrawn)) or "no kernel"
        raise InputError(
            f"there is no kernel to draw ({reasons})",
            hint="capture instructions or operations, traffic and time: roofctl profile --set all ./app",
        )
    return View(scene, tuple(timings), marks, undrawn)


def _place(index: int, timing: Timing, levels: Sequence[str]) -> Mark | str:
    """Where a kernel goes, or why it goes nowhere."""
    memory, compute = timing.memory(levels), timing.compute_seconds
    if memory is None:
        reasons = [f"{level_name(level)} {timing.missing.get(level, 'not known')}" for level in levels]
        return f"no memory time: {'; '.join(reasons)}"
    if compute is None:
        return f"no compute time: {timing.missing.get(COMPUTE, 'not known')}"
    longer = max(memory[1], compute)
    if not longer:
        return "neither work nor traffic"
    return Mark(index, timing, *memory, compute, timing.seconds / longer if timing.seconds else None)


def set_limits(ax: Axes, view: View) -> None:
    """Both axes with the same length of a decade, so that 45 degrees are 45 degrees.

    The axis with room to spare gets it where the fewest kernels are: above the diagonal, or below it.
    """
    needs = (_need(view, lambda m: m.memory), _need(view, lambda m: m.compute))
    area = ax.get_window_extent()
    decade = min(area.width / (needs[0][1] - needs[0][0]), area.height / (needs[1][1] - needs[1][0]))
    above = sum(mark.compute > mark.memory for mark in view.marks) * 2 > len(view.marks)
    (left, right), (bottom, top) = needs
    wide, high = area.width / decade, area.height / decade
    left, right = (left, left + wide) if above else (right - wide, right)
    bottom, top = (top - high, top) if above else (bottom, bottom + high)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(10**left, 10**right)
    ax.set_ylim(10**bottom, 10**top)


def _need(view: View, time_of: Callable[[Mark], float]) -> tuple[float, float]:
    """Lowest and highest decade (as logarithms) that one axis must show; times of 0 stand at its edge."""
    found = [seconds * factor for m in view.marks if (seconds := time_of(m)) for factor in (1.0, m.stretch or 1.0)]
    found += [view.launch] if view.launch else []
    logs = [math.log10(seconds) for seconds in found or [m.longer for m in view.marks]]
    return min(logs) - _PAD, max(logs) + _PAD
