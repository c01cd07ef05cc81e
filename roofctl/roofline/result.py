"""One kernel in one model, with its points, and how it compares with a roofline: what both models share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from roofctl.core.levels import LEVELS
from roofctl.core.units import SECTOR_BYTES
from roofctl.roofline import spread
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.model import (
    TRAFFIC_BYTES,
    Assessment,
    KernelBound,
    KernelPoints,
    Model,
    Point,
    Roofline,
    assess,
    kernel_bound,
)
from roofctl.roofline.traffic import Traffic


@dataclass(frozen=True)
class Result:
    """One kernel in one model; in the FLOP model one for each type of operation.

    ``amount`` of work per launch (warp instructions, or operations) and ``per_second`` (that per second), None where
    not known. ``traffic`` per level in transactions. ``assessments`` per level and ``bound`` over all levels are
    empty and None until ``against`` a roofline.
    """

    kernel: Kernel
    amount: int | float | None
    per_second: float | None
    traffic: Mapping[str, Traffic]
    points: KernelPoints
    assessments: Mapping[str, Assessment] = field(default_factory=dict)
    bound: KernelBound | None = None

    def transactions(self, level: str) -> int | float | None:
        """32-byte transactions per launch at a level, None where not counted."""
        return self.traffic[level].transactions

    def intensity(self, level: str, model: Model) -> float | None:
        """Work per unit of the model's traffic at a level; None where there is no work or no traffic."""
        transactions = self.transactions(level)
        if self.amount is None or not transactions:
            return None
        return self.amount / (transactions * (SECTOR_BYTES // TRAFFIC_BYTES[model]))

    def of_roof(self, level: str) -> float | None:
        """Fraction of the level's roof that is reached, None where not known."""
        return self.assessments[level].fraction if level in self.assessments else None


def assessed(result: Result, roofline: Roofline) -> tuple[Mapping[str, Assessment], KernelBound | None]:
    """How each point compares with its level's roof, and what bounds the kernel; nothing where there is no rate."""
    if result.per_second is None:
        return {}, None
    compared = {point.level: assess(point, roofline) for point in result.points.points}
    idle = frozenset(level for level in LEVELS if result.transactions(level) == 0)
    known = {level: assessment for level, assessment in compared.items() if assessment}
    return known, kernel_bound(result.points, roofline, idle)


def points_of(
    kernel: Kernel,
    traffic: Mapping[str, Traffic],
    *,
    amount: float | None,
    rate: float,
    counted: Sequence[str],
    model: Model,
    work: str,
    inexact: str = "",
) -> tuple[Point, ...]:
    """A point per level with traffic, at ``rate`` (work per second); none where the rate is 0.

    ``counted`` are the quantities that make the work, ``inexact`` is why its count is not exact.
    """
    points: list[Point] = []
    if not rate or amount is None:
        return ()
    for level, moved in traffic.items():
        if moved.transactions:
            units = moved.transactions * (SECTOR_BYTES // TRAFFIC_BYTES[model])
            caveat = "; ".join(filter(None, (inexact, moved.exactness)))
            ends = spread.intensities(kernel, counted, f"{level}_transactions", amount / units)
            points.append(Point(level, units, amount / units, rate, caveat, work, ends))
    return tuple(points)
