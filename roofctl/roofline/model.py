"""The roofline model, pure: ceilings, points, and what follows from both.

Two models share the mathematics. The instruction roofline follows Ding & Williams, "An Instruction
Roofline Model for GPUs" (PMBS 2019): performance is warp instructions per second, intensity is warp
instructions per 32-byte transaction at one memory level. In the FLOP roofline performance is
operations per second and intensity is operations per byte; each type of operation has a peak of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from roofctl.core.levels import LEVEL_LABELS, LEVELS, level_label
from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import SECTOR_BYTES
from roofctl.quantities import catalogue

Model = Literal["instruction", "flop"]
"""What a roofline counts: warp instructions per transaction, or operations per byte."""

TRAFFIC_BYTES: Final[Mapping[Model, int]] = {"instruction": SECTOR_BYTES, "flop": 1}
"""Bytes of one unit of traffic in each model: a transaction, or a byte."""

ISSUE: Final = "issue"
"""The work of the instruction roofline; in the FLOP roofline works are types of operations."""

WORK_LABELS: Final[Mapping[str, str]] = {
    ISSUE: "instructions",
    **{name: precision.label for name, precision in PRECISIONS.items()},
}

Basis = Literal["theoretical", "measured", "given"]
"""``given``: stated by the user."""

Bound = Literal["memory", "compute"]

ABOVE_ROOF: Final = 1.03
"""A point this far above its ceiling is reported: counters and clocks are good to about 3 %."""


CALIBRATE: Final = "calibrate"
"""Source of a measured ceiling."""

REPORT: Final = "report"
"""Source of a ceiling that follows from counters of the capture itself."""

TRUST: Final = (CALIBRATE, "vendor", REPORT, "driver", "derived", "third-party", "memory")
"""Sources of ceilings, the most trusted first; all but two are bases of the facts of a GPU profile."""

BOOST: Final = "boost"
"""Origin of a clock that is the GPU's boost clock."""


def all_levels() -> tuple[str, ...]:
    """The memory levels from the SM outwards, then those of the user's own."""
    return (*LEVELS, *catalogue().levels)


@dataclass(frozen=True)
class Clock:
    """The clock a ceiling is stated at: ``hz``, its ``domain`` (sm, l2, memory) and how it is known."""

    hz: float
    domain: Literal["sm", "l2", "memory"]
    origin: str = ""


@dataclass(frozen=True)
class Bandwidth:
    """The ceiling of one memory level, in bytes per second.

    ``origin`` says how it follows, ``source`` how far it is to be trusted: by the weakest of the facts behind it.
    """

    level: str
    bytes_per_second: float
    basis: Basis
    clock: Clock | None = None
    origin: str = ""
    source: str = ""

    @property
    def transactions_per_second(self) -> float:
        return self.bytes_per_second / SECTOR_BYTES

    def at_clock(self, clock: Clock) -> Bandwidth:
        """This ceiling at another clock of its own domain; clocks of other domains leave it as it is."""
        if self.clock is None or self.clock.domain != clock.domain:
            return self
        return replace(self, bytes_per_second=self.bytes_per_second * clock.hz / self.clock.hz, clock=clock)


@dataclass(frozen=True)
class Sustained:
    """A rate under the power limit, and the clock that the limit left."""

    per_second: float
    clock: Clock

    def at_clock(self, clock: Clock) -> Sustained:
        """The rate at another SM clock: a higher one than the power limit leaves does not raise it."""
        scale = clock.hz / self.clock.hz
        return self if scale > 1 else Sustained(self.per_second * scale, clock)


@dataclass(frozen=True)
class Peak:
    """A rate ceiling: warp instructions that the schedulers can issue, or operations of one type, per second.

    ``work`` is ``issue`` or a type of operation. ``per_second`` is what the units do while power does not bind;
    ``sustained`` is what is left of it under the power limit over seconds, None where that is not known or no less.
    """

    per_second: float
    basis: Basis
    clock: Clock | None = None
    origin: str = ""
    work: str = ISSUE
    sustained: Sustained | None = None
    source: str = ""

    def at_clock(self, clock: Clock) -> Peak:
        """This ceiling at another SM clock; clocks of other domains leave it as it is."""
        if self.clock is None or clock.domain != "sm":
            return self
        scale = clock.hz / self.clock.hz
        sustained = self.sustained.at_clock(clock) if self.sustained else None
        return replace(self, per_second=self.per_second * scale, clock=clock, sustained=sustained)


@dataclass(frozen=True)
class Wall:
    """An intensity that a known access pattern produces: memory instructions per transaction."""

    intensity: float
    name: str
    main: bool = True


GLOBAL_WALLS: Final = (
    Wall(1, "stride 0"),
    Wall(1 / 4, "unit stride 4\u00a0B"),
    Wall(1 / 8, "8\u00a0B", main=False),
    Wall(1 / 16, "16\u00a0B", main=False),
    Wall(1 / 32, "stride ≥\u00a032\u00a0B"),
)
"""Full warps, sectors of 32 bytes: all lanes in one sector; neighbours of 4, 8 or 16 bytes; a sector for each lane."""

SHARED_WALLS: Final = (
    Wall(1, "no conflict"),
    Wall(1 / 2, "2-way", main=False),
    Wall(1 / 4, "4-way", main=False),
    Wall(1 / 8, "8-way", main=False),
    Wall(1 / 16, "16-way", main=False),
    Wall(1 / 32, "32-way conflict"),
)
"""Full warps of 4 bytes a lane; with 8 and 16 bytes a lane an access needs 2 and 4 wavefronts without any conflict."""


@dataclass(frozen=True)
class Roofline:
    """A set of ceilings of one GPU: a peak per type of work and at most one bandwidth per level.

    ``absent`` says, per level or type of work, why a ceiling is not known; a missing ceiling is never 0.
    ``peak`` is the highest of the peaks, None where no peak is known; ``others`` are the rest. ``shared`` is the
    bandwidth of shared memory, which is part of L1 and no level of its own. ``memory_label`` is the printed name of
    the level ``hbm``.
    """

    gpu: str
    peak: Peak | None
    bandwidths: tuple[Bandwidth, ...]
    absent: Mapping[str, str] = field(default_factory=dict)
    model: Model = "instruction"
    others: tuple[Peak, ...] = ()
    shared: Bandwidth | None = None
    memory_label: str = LEVEL_LABELS["hbm"]

    def label(self, level: str) -> str:
        """The printed name of a level: L1, L2, HBM or DRAM by the board's memory, or as the user's own is called."""
        return catalogue().levels.get(level) or level_label(level, self.memory_label)

    @property
    def basis(self) -> Basis:
        """``measured`` where any peak or bandwidth is; a peak that nothing measures is theoretical even then.

        ``given`` only where all of them are.
        """
        bases = {*(peak.basis for peak in self.peaks), *(bandwidth.basis for bandwidth in self.bandwidths)}
        own: tuple[Basis, ...] = ("measured", "theoretical", "given")
        return next((basis for basis in own if basis in bases), "theoretical")

    @property
    def given(self) -> tuple[Peak | Bandwidth, ...]:
        """The ceilings that the user stated."""
        ceilings: tuple[Peak | Bandwidth, ...] = (
            *self.bandwidths,
            *((self.shared,) if self.shared else ()),
            *self.peaks,
        )
        return tuple(ceiling for ceiling in ceilings if ceiling.basis == "given")

    @property
    def peaks(self) -> tuple[Peak, ...]:
        """Every peak, the highest first."""
        return (self.peak, *self.others) if self.peak else ()

    def peak_of(self, work: str) -> Peak | None:
        """The peak of one type of work, or None when it is not known."""
        return next((peak for peak in self.peaks if peak.work == work), None)

    def bandwidth(self, level: str) -> Bandwidth | None:
        """The ceiling of ``level``, or None when it is not known."""
        return next((b for b in self.bandwidths if b.level == level), None)

    def traffic_per_second(self, level: str) -> float | None:
        """The level's ceiling in the model's unit of traffic: transactions or bytes per second."""
        bandwidth = self.bandwidth(level)
        return bandwidth.bytes_per_second / TRAFFIC_BYTES[self.model] if bandwidth else None

    def ridge(self, level: str, work: str | None = None) -> float | None:
        """Intensity where the level's roof meets the peak of ``work`` (None: the highest peak)."""
        traffic = self.traffic_per_second(level)
        peak = self.peak if work is None else self.peak_of(work)
        return None if traffic is None or peak is None else peak.per_second / traffic

    def attainable(self, level: str, intensity: float, work: str | None = None) -> float | None:
        """Work per second that the level allows at this intensity: min(peak, BW x intensity).

        In a roofline without any peak it is BW x intensity.
        """
        traffic = self.traffic_per_second(level)
        if traffic is not None and self.peak is None:
            return traffic * intensity
        peak = self.peak if work is None else self.peak_of(work)
        return None if traffic is None or peak is None else min(peak.per_second, traffic * intensity)

    def only(self, works: Sequence[str]) -> Roofline:
        """The same roofline with the peaks of these types of work; with all of them where it has none of these."""
        kept = [peak for peak in self.peaks if peak.work in works]
        return replace(self, peak=kept[0], others=tuple(kept[1:])) if kept else self

    def on_sms(self, share: float, absent: Mapping[str, str]) -> Roofline:
        """The same roofline for a part of the SMs, without the levels that are ``absent`` there."""
        of_sms = ("l1", "shared")
        kept = [b for b in self.bandwidths if b.level not in absent]

        def part(bandwidth: Bandwidth) -> Bandwidth:
            scaled = bandwidth.bytes_per_second * share
            return replace(bandwidth, bytes_per_second=scaled) if bandwidth.level in of_sms else bandwidth

        return replace(
            self,
            peak=replace(self.peak, per_second=self.peak.per_second * share) if self.peak else None,
            others=tuple(replace(peak, per_second=peak.per_second * share) for peak in self.others),
            bandwidths=tuple(part(b) for b in kept),
            shared=part(self.shared) if self.shared else None,
            absent={**self.absent, **absent},
        )

    def at_clock(self, clock: Clock) -> Roofline:
        """The same roofline with every ceiling of that clock's domain scaled to it."""
        return replace(
            self,
            peak=self.peak.at_clock(clock) if self.peak else None,
            others=tuple(peak.at_clock(clock) for peak in self.others),
            bandwidths=tuple(b.at_clock(clock) for b in self.bandwidths),
            shared=self.shared.at_clock(clock) if self.shared else None,
        )


@dataclass(frozen=True)
class Spread:
    """Smallest and largest value over the launches of a kernel, around the one that is drawn."""

    low: float
    high: float


@dataclass(frozen=True)
class Point:
    """One kernel at one level.

    ``traffic`` per launch in the model's unit (transactions of 32 bytes, or bytes), ``per_second`` in
    work of the type ``work``, ``intensity`` in work per unit of traffic. ``caveat`` is empty when the
    counters are the right ones, else one phrase such as "upper bound of the traffic".
    ``intensities`` is the spread of the intensity over launches, where it is known.
    """

    level: str
    traffic: float
    intensity: float
    per_second: float
    caveat: str = ""
    work: str = ISSUE
    intensities: Spread | None = None


@dataclass(frozen=True)
class KernelPoints:
    """A kernel with its points of one type of work, ready to draw or to list.

    All points share one height. ``missing`` gives, per level without a point, the reason.
    ``issued_per_second`` is the rate of issued warp instructions (the predication line), ``threads_per_second``
    that of thread instructions / 32; one of them is the height of the points.
    ``note`` is shown with the kernel's name where several captures are drawn together.
    ``rates`` is the spread of the height over launches, or None with the reason in ``no_spread``.
    ``number`` distinguishes kernels that share a name; types of operation of one kernel have the same number.
    ``may_hold`` are types with a peak of their own that the counter of ``work`` may have counted with it.
    ``limit`` is what limits the kernel, as it is printed; empty where that is not known.
    """

    kernel: str
    short_name: str
    points: tuple[Point, ...]
    seconds_total: float | None = None
    time_share: float | None = None
    launches: int = 1
    issued_per_second: float | None = None
    threads_per_second: float | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    work: str = ISSUE
    rates: Spread | None = None
    no_spread: str = ""
    number: int = 0
    may_hold: tuple[str, ...] = ()
    limit: str = ""

    def point(self, level: str) -> Point | None:
        """The kernel's point at ``level``, or None."""
        return next((p for p in self.points if p.level == level), None)


@dataclass(frozen=True)
class Assessment:
    """A point compared with a roofline: attainable rate, fraction of it reached, bound, verdict."""

    attainable: float
    fraction: float
    bound: Bound
    verdict: str

    @property
    def above_roof(self) -> bool:
        return self.fraction > ABOVE_ROOF


def assess(point: Point, roofline: Roofline) -> Assessment | None:
    """A point compared with its level's ceiling; None when that is not known, or allows nothing (intensity 0)."""
    attainable = roofline.attainable(point.level, point.intensity, point.work)
    ridge = roofline.ridge(point.level, point.work)
    if not attainable:
        return None
    fraction = point.per_second / attainable
    bound: Bound = "memory" if ridge is None or point.intensity < ridge else "compute"
    roof = f"the {roofline.label(point.level)} roof" if bound == "memory" else peak_words(point.work)
    if fraction > ABOVE_ROOF:
        verdict = f"{fraction:.0%} of {roof}: above it, so a clock, a counter or the GPU profile does not fit"
    else:
        verdict = f"{fraction:.0%} of {roof}; {1 / fraction:.3g}x headroom" if fraction > 0 else f"0 % of {roof}"
    return Assessment(attainable, fraction, bound, verdict)


def peak_words(work: str) -> str:
    """``the instruction peak``, ``the FP32 peak``."""
    return "the instruction peak" if work == ISSUE else f"the {WORK_LABELS.get(work, work)} peak"
