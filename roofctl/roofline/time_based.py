"""The time-based roofline, pure: the times that bound a launch, next to the one that was measured.

After Wang, Yang, Farrell, Zhang, Kurth and Williams, "Time-Based Roofline for Deep Learning Performance
Analysis" (arXiv 2009.04598, 2020). The paper's, as its abstract has it: a roofline whose formulae hold compute
complexity, bandwidth complexity and run time, used to study intensity, cache locality, launch overhead and
tensor cores. The formulae here are our own reading, not the paper's text: compute time is work / peak, the time
of a level is its bytes / bandwidth, a kernel takes at least the largest of them, and a launch takes at least
the interval at which the GPU can start kernels. Times add over kernels, which rates do not.

A profiler's time of a kernel starts when the kernel runs: it does not hold the launch. So a measured time may
be shorter than ``launch_seconds``; the kernel is launch bound then, since the next one cannot start earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from roofctl.core.levels import LEVEL_LABELS, LEVELS, level_label
from roofctl.core.units import duration
from roofctl.quantities import catalogue
from roofctl.roofline.model import ABOVE_ROOF, all_levels

COMPUTE: Final = "compute"
LAUNCH: Final = "launch"
MEASURED: Final = "seconds"


@dataclass(frozen=True)
class Timing:
    """One kernel, in seconds per launch; None where not known; 0 is a known zero.

    ``compute_work`` is the type of work that takes ``compute_seconds``, ``level_seconds`` holds the levels that
    are known, ``launch_seconds`` is the GPU's. ``missing`` has a reason and ``caveats`` a caveat per
    ``seconds``, ``compute`` or level. ``limit`` is what limits the kernel (``roofctl.roofline.limits``),
    ``limit_use`` the used part of it, ``limit_label`` its name as printed. ``note`` is printed after the name where
    several captures are shown together. ``incomplete``: why its capture is not complete; empty where it is.
    """

    kernel: str
    short_name: str
    launches: int
    seconds: float | None
    seconds_total: float | None
    compute_seconds: float | None
    level_seconds: Mapping[str, float]
    launch_seconds: float | None
    compute_work: str = ""
    time_share: float | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    caveats: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    note: str = ""
    memory_label: str = LEVEL_LABELS["hbm"]
    limit: str | None = None
    limit_use: float | None = None
    limit_label: str = ""
    incomplete: str = ""

    def label(self, bound: str) -> str:
        """A bound as it is printed: a level by its label for this GPU, ``compute`` and ``launch`` as they are."""
        return catalogue().levels.get(bound) or level_label(bound, self.memory_label)

    def memory(self, levels: Sequence[str] = LEVELS) -> tuple[str, float] | None:
        """The level among ``levels`` that takes longest, and its seconds; None when none of them is known."""
        known = [(level, self.level_seconds[level]) for level in levels if level in self.level_seconds]
        return max(known, key=lambda pair: pair[1]) if known else None

    @property
    def bounds(self) -> dict[str, float]:
        """Every known time that bounds the launch, by ``compute``, level and ``launch``."""
        times = {COMPUTE: self.compute_seconds, **self.level_seconds, LAUNCH: self.launch_seconds}
        return {name: seconds for name, seconds in times.items() if seconds is not None}

    @property
    def bound_seconds(self) -> float | None:
        """The least that a launch takes by all that is known."""
        return max(self.bounds.values(), default=None)

    @property
    def of_bound(self) -> float | None:
        """The bound as a fraction of the measured time: 1 is all that the GPU can do.

        Above 1 for a kernel shorter than a launch: the launches set the pace.
        """
        if not self.seconds or self.bound_seconds is None:
            return None
        return self.bound_seconds / self.seconds

    @property
    def too_fast(self) -> bool:
        """Whether the kernel beat the time of its own work: then a clock, a counter or the GPU profile does not fit."""
        work = [seconds for name, seconds in self.bounds.items() if name != LAUNCH]
        return bool(self.seconds and work and max(work) > self.seconds * ABOVE_ROOF)


@dataclass(frozen=True)
class Total:
    """Times of several kernels over all their launches, in seconds; None where no kernel has that time.

    ``memory_seconds`` adds each kernel's slowest level, ``bound_seconds`` each kernel's largest bound.
    ``lacking`` counts the kernels whose time is not in a sum, which is then too small.
    """

    kernels: int
    launches: int
    seconds: float | None
    compute_seconds: float | None
    memory_seconds: float | None
    level_seconds: Mapping[str, float | None]
    launch_seconds: float | None
    bound_seconds: float | None
    lacking: Mapping[str, int]

    @property
    def of_bound(self) -> float | None:
        """The bound as a fraction of the measured time, where both hold every kernel."""
        if not self.seconds or self.bound_seconds is None or {MEASURED, "bound"} & self.lacking.keys():
            return None
        return self.bound_seconds / self.seconds


def total(timings: Sequence[Timing], levels: Sequence[str] = LEVELS) -> Total:
    """Sum each time over kernels and launches, means per launch times launches; memory time is by ``levels``."""
    lacking: dict[str, int] = {}

    def add(name: str, time_of: Callable[[Timing], float | None]) -> float | None:
        times = [(timing.launches, time_of(timing)) for timing in timings]
        known = [launches * seconds for launches, seconds in times if seconds is not None]
        if len(known) < len(times):
            lacking[name] = len(times) - len(known)
        return sum(known) if known else None

    return Total(
        kernels=len(timings),
        launches=sum(timing.launches for timing in timings),
        seconds=add(MEASURED, lambda t: t.seconds),
        compute_seconds=add(COMPUTE, lambda t: t.compute_seconds),
        memory_seconds=add("memory", lambda t: slowest[1] if (slowest := t.memory(levels)) else None),
        level_seconds={level: add(level, lambda t, level=level: t.level_seconds.get(level)) for level in all_levels()},  # type: ignore[misc]
        launch_seconds=add(LAUNCH, lambda t: t.launch_seconds),
        bound_seconds=add("bound", lambda t: t.bound_seconds),
        lacking=lacking,
    )


def sums(timings: Sequence[Timing], levels: Sequence[str] = LEVELS) -> str:
    """One line for people: ``3 kernels, 9 launches: 1.2 ms measured; bounds: 800 µs by memory, 300 µs by compute``."""
    totals = total(timings, levels)
    kernels = "1 kernel" if totals.kernels == 1 else f"{totals.kernels} kernels"
    launches = "1 launch" if totals.launches == 1 else f"{totals.launches:,} launches"

    def part(seconds: float | None, name: str, words: str) -> str:
        if seconds is None:
            return ""
        without = f" (without {totals.lacking[name]} of {kernels})" if name in totals.lacking else ""
        return f"{duration(seconds)} {words}{without}"

    bounds = [
        part(totals.memory_seconds, "memory", "by memory"),
        part(totals.compute_seconds, COMPUTE, "by compute"),
        part(totals.launch_seconds, LAUNCH, "by launches"),
    ]
    measured = part(totals.seconds, MEASURED, "measured") or "no time measured"
    return f"{kernels}, {launches}: {measured}; bounds: {', '.join(filter(None, bounds)) or 'none known'}"
