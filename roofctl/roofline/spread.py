"""How far the launches of a kernel lie apart, as ranges of its rate and its intensities."""

from __future__ import annotations

from collections.abc import Sequence

from roofctl.roofline.kernel import Facts
from roofctl.roofline.model import Spread


def rates(facts: Facts, work: Sequence[str], per_second: float) -> tuple[Spread | None, str]:
    """Range of a rate whose work is made of the quantities ``work``, or None with the reason.

    Only where every launch did the same work is the time's range the rate's: a small launch
    beside a large one would give a range of nothing.
    """
    low, high = facts["seconds_min"], facts["seconds_max"]
    if facts.launches == 1:
        return None, "one launch"
    if not low or not high or not facts["seconds"]:
        return None, "no smallest and largest time"
    if not _same(facts, work):
        return None, "the launches differ in their work; --group kernel+grid tells sizes apart"
    return Spread(per_second * facts["seconds"] / high, per_second * facts["seconds"] / low), ""


def intensities(facts: Facts, work: Sequence[str], traffic: str, intensity: float) -> Spread | None:
    """Range of an intensity over launches that did the same work, by the range of the quantity ``traffic``."""
    spread, mean = facts.spreads.get(traffic), facts[traffic]
    if facts.launches == 1 or spread is None or not spread.low or not mean or not _same(facts, work):
        return None
    return Spread(intensity * mean / spread.high, intensity * mean / spread.low)


def _same(facts: Facts, work: Sequence[str]) -> bool:
    spreads = [facts.spreads.get(name) for name in work]
    return all(spread is not None and spread.low == spread.high for spread in spreads)
