"""The roofline model, pure: ceilings, points, and what follows from both.

Definitions follow Ding & Williams, "An Instruction Roofline Model for GPUs" (PMBS 2019):
performance is warp instructions per second, intensity is warp instructions per
32-byte transaction at one memory level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from roofctl.units import SECTOR_BYTES

LEVELS: Final = ("l1", "l2", "hbm")
LEVEL_LABELS: Final[Mapping[str, str]] = {"l1": "L1", "l2": "L2", "hbm": "HBM"}

Basis = Literal["theoretical", "measured"]
Bound = Literal["memory", "compute"]

ABOVE_ROOF: Final = 1.03
"""A point this far above its ceiling is reported: counters and clocks are good to about 3 %."""


@dataclass(frozen=True)
class Clock:
    """The clock a ceiling is stated at: ``hz``, its ``domain`` (sm, l2, memory) and how it is known."""

    hz: float
    domain: Literal["sm", "l2", "memory"]
    origin: str = ""


@dataclass(frozen=True)
class Bandwidth:
    """The ceiling of one memory level, in bytes per second. ``origin`` says where it comes from."""

    level: str
    bytes_per_second: float
    basis: Basis
    clock: Clock | None = None
    origin: str = ""

    @property
    def transactions_per_second(self) -> float:
        return self.bytes_per_second / SECTOR_BYTES

    def at_sm_clock(self, clock: Clock) -> Bandwidth:
        """This ceiling at another SM clock; ceilings of other clock domains stay as they are."""
        if self.clock is None or self.clock.domain != "sm":
            return self
        return replace(self, bytes_per_second=self.bytes_per_second * clock.hz / self.clock.hz, clock=clock)


@dataclass(frozen=True)
class Peak:
    """The rate ceiling: warp instructions per second that the schedulers can issue."""

    instructions_per_second: float
    basis: Basis
    clock: Clock | None = None
    origin: str = ""

    def at_sm_clock(self, clock: Clock) -> Peak:
        """This ceiling at another SM clock."""
        if self.clock is None:
            return self
        scale = clock.hz / self.clock.hz
        return replace(self, instructions_per_second=self.instructions_per_second * scale, clock=clock)


@dataclass(frozen=True)
class Roofline:
    """A set of ceilings of one GPU: one instruction peak and at most one bandwidth per level.

    ``absent`` says, per level, why a ceiling is not known; a missing ceiling is never 0.
    """

    gpu: str
    peak: Peak
    bandwidths: tuple[Bandwidth, ...]
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def basis(self) -> Basis:
        return self.peak.basis

    def bandwidth(self, level: str) -> Bandwidth | None:
        """The ceiling of ``level``, or None when it is not known."""
        return next((b for b in self.bandwidths if b.level == level), None)

    def ridge(self, level: str) -> float | None:
        """Intensity (warp instructions per transaction) where the level's roof meets the peak."""
        bandwidth = self.bandwidth(level)
        if bandwidth is None:
            return None
        return self.peak.instructions_per_second / bandwidth.transactions_per_second

    def attainable(self, level: str, intensity: float) -> float | None:
        """Warp instructions per second that the level allows at this intensity: min(peak, BW x intensity)."""
        bandwidth = self.bandwidth(level)
        if bandwidth is None:
            return None
        return min(self.peak.instructions_per_second, bandwidth.transactions_per_second * intensity)

    def at_sm_clock(self, clock: Clock) -> Roofline:
        """The same roofline with every ceiling of the SM clock domain scaled to ``clock``."""
        return replace(
            self,
            peak=self.peak.at_sm_clock(clock),
            bandwidths=tuple(b.at_sm_clock(clock) for b in self.bandwidths),
        )


@dataclass(frozen=True)
class Point:
    """One kernel at one level.

    ``transactions`` per launch (32-byte), ``instructions_per_second`` in warp instructions,
    ``intensity`` in warp instructions per transaction. ``caveat`` is empty when the counters
    are the right ones, else one phrase such as "upper bound of the traffic".
    """

    level: str
    transactions: float
    intensity: float
    instructions_per_second: float
    caveat: str = ""


@dataclass(frozen=True)
class KernelPoints:
    """A kernel with its points, ready to draw or to list.

    All points share one height. ``missing`` gives, per level without a point, the reason.
    ``issued_per_second`` is the rate of issued warp instructions (the predication line).
    ``note`` is shown with the kernel's name where several captures are drawn together.
    """

    kernel: str
    short_name: str
    points: tuple[Point, ...]
    seconds_total: float | None = None
    time_share: float | None = None
    launches: int = 1
    issued_per_second: float | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def point(self, level: str) -> Point | None:
        """The kernel's point at ``level``, or None."""
        return next((p for p in self.points if p.level == level), None)


@dataclass(frozen=True)
class Assessment:
    """What a roofline says of a point: attainable rate, fraction of it reached, bound, verdict."""

    attainable: float
    fraction: float
    bound: Bound
    verdict: str

    @property
    def above_roof(self) -> bool:
        return self.fraction > ABOVE_ROOF


def assess(point: Point, roofline: Roofline) -> Assessment | None:
    """Judge one point against its level's ceiling; None when it is not known, or allows nothing (intensity 0)."""
    attainable = roofline.attainable(point.level, point.intensity)
    ridge = roofline.ridge(point.level)
    if not attainable or ridge is None:
        return None
    fraction = point.instructions_per_second / attainable
    bound: Bound = "memory" if point.intensity < ridge else "compute"
    roof = f"the {LEVEL_LABELS.get(point.level, point.level)} roof" if bound == "memory" else "the instruction peak"
    if fraction > ABOVE_ROOF:
        verdict = f"{fraction:.0%} of {roof}: above it, so a clock, a counter or the GPU profile does not fit"
    else:
        verdict = f"{fraction:.0%} of {roof}; {1 / fraction:.3g}x headroom" if fraction > 0 else f"0 % of {roof}"
    return Assessment(attainable, fraction, bound, verdict)


@dataclass(frozen=True)
class KernelBound:
    """What limits a kernel over all its levels: ``bound``, the ``level`` whose roof is lowest, attainable rate."""

    bound: Bound
    level: str | None
    attainable: float


def kernel_bound(
    kernel: KernelPoints, roofline: Roofline, idle_levels: frozenset[str] = frozenset()
) -> KernelBound | None:
    """The lowest roof over the kernel's levels, or None when it cannot be known.

    ``idle_levels`` are levels known to carry no traffic: they cannot bind. A level that
    is unknown could bind, so with one missing the answer is given only when the known
    levels already say "memory": another level could then only lower the roof further.
    """
    lowest: tuple[float, str] | None = None
    unknown = False
    for level in LEVELS:
        if level in idle_levels:
            continue
        point = kernel.point(level)
        attainable = roofline.attainable(level, point.intensity) if point else None
        if attainable is None:
            unknown = True
        elif lowest is None or attainable < lowest[0]:
            lowest = (attainable, level)
    if lowest is None:
        # No traffic anywhere is compute bound; nothing known is not.
        peak = roofline.peak.instructions_per_second
        return None if unknown else KernelBound("compute", None, peak)
    attainable, level = lowest
    if attainable < roofline.peak.instructions_per_second:
        return KernelBound("memory", level, attainable)
    return None if unknown else KernelBound("compute", None, attainable)
