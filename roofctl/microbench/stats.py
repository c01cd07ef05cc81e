"""Statistics of samples, pure: median, percentiles, spread, and reasons to doubt a figure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

CLOCK_TOLERANCE: Final = 0.01
SPREAD_TOLERANCE: Final = 0.03


@dataclass(frozen=True)
class Statistics:
    """Rates (or times) of equal samples: the median is what is reported as measured."""

    median: float
    best: float
    p5: float
    p95: float
    samples: int

    @property
    def spread(self) -> float:
        """(p95 - p5) / median."""
        return (self.p95 - self.p5) / self.median


def summarize(rates: Sequence[float], *, least: bool = False) -> Statistics:
    """Statistics of at least one rate; of times (``least``) the best is the smallest."""
    ordered = sorted(rates)
    return Statistics(
        median=statistics.median(ordered),
        best=ordered[0 if least else -1],
        p5=percentile(ordered, 0.05),
        p95=percentile(ordered, 0.95),
        samples=len(ordered),
    )


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """Linear interpolation between the two nearest of sorted values."""
    place = fraction * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def moved(clocks_hz: Sequence[float]) -> float:
    """How far clocks were apart during the samples, relative to their median; 0 when none were read."""
    return (max(clocks_hz) - min(clocks_hz)) / statistics.median(clocks_hz) if clocks_hz else 0.0


def slowed(clocks_hz: Sequence[float | None]) -> tuple[int, ...]:
    """Places of the samples whose clock was below the others' median by more than the tolerance, slowest first."""
    known = [clock for clock in clocks_hz if clock is not None]
    if not known:
        return ()
    least = statistics.median(known) * (1 - CLOCK_TOLERANCE)
    places = (i for i, clock in enumerate(clocks_hz) if clock is not None and clock < least)
    return tuple(sorted(places, key=lambda i: clocks_hz[i] or 0.0))


def reservations(
    result: Statistics, sm_clocks_hz: Sequence[float], memory_clocks_hz: Sequence[float], wanted: int
) -> tuple[str, ...]:
    """Reasons to doubt a figure from these samples, for the notes beside it; empty when there are none."""
    reasons = []
    for name, clocks in (("SM", sm_clocks_hz), ("memory", memory_clocks_hz)):
        change = moved(clocks)
        if change > CLOCK_TOLERANCE:
            low, high = min(clocks) / 1e6, max(clocks) / 1e6
            reasons.append(f"the {name} clock moved {change:.1%} ({low:.0f} to {high:.0f} MHz)")
    if result.spread > SPREAD_TOLERANCE:
        reasons.append(f"samples spread over {result.spread:.1%}")
    if result.samples < wanted:
        reasons.append(f"only {result.samples} samples of {wanted}")
    return tuple(reasons)
