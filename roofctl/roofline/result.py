"""One kernel in one model, with its points: what both models share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roofctl.core.units import SECTOR_BYTES
from roofctl.roofline import spread
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.model import TRAFFIC_BYTES, KernelPoints, Model, Point
from roofctl.roofline.traffic import Traffic


@dataclass(frozen=True)
class Result:
    """One kernel in one model; in the FLOP model one for each type of operation.

    ``amount`` of work per launch (warp instructions, or operations) and ``per_second`` (that per second), None where
    not known. ``traffic`` per level in transactions.
    """

    kernel: Kernel
    amount: int | float | None
    per_second: float | None
    traffic: Mapping[str, Traffic]
    points: KernelPoints

    def transactions(self, level: str) -> int | float | None:
        """32-byte transactions per launch at a level, None where not counted."""
        return self.traffic[level].transactions

    def intensity(self, level: str, model: Model) -> float | None:
        """Work per unit of the model's traffic at a level; None where there is no work or no traffic."""
        transactions = self.transactions(level)
        if self.amount is None or not transactions:
            return None
        return self.amount / (transactions * (SECTOR_BYTES // TRAFFIC_BYTES[model]))


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
