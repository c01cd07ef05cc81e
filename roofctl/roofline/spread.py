"""The range of a rate and of an intensity over the launches of a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from roofctl.roofline.kernel import Kernel
from roofctl.roofline.model import Spread


def rates(kernel: Kernel, work: Sequence[str], per_second: float) -> tuple[Spread | None, str]:
    """Range of a rate whose work is made of the quantities ``work``, or None with the reason.

    Only where every launch did the same work does the range of the time give that of the rate: a small launch
    beside a large one has another rate because it has other work.
    """
    low, high = kernel["seconds_min"], kernel["seconds_max"]
    if kernel.launches == 1:
        return None, "one launch"
    if not low or not high or not kernel["seconds"]:
        return None, "no smallest and largest time"
    if not _same(kernel, work):
        return None, "the launches differ in their work; --group kernel+grid tells sizes apart"
    return Spread(per_second * kernel["seconds"] / high, per_second * kernel["seconds"] / low), ""


def intensities(kernel: Kernel, work: Sequence[str], traffic: str, intensity: float) -> Spread | None:
    """Range of an intensity over launches that did the same work, by the range of the quantity ``traffic``."""
    spread, mean = kernel.spreads.get(traffic), kernel[traffic]
    if kernel.launches == 1 or spread is None or not spread.low or not mean or not _same(kernel, work):
        return None
    return Spread(intensity * mean / spread.high, intensity * mean / spread.low)


def _same(kernel: Kernel, work: Sequence[str]) -> bool:
    spreads = [kernel.spreads.get(name) for name in work]
    return all(spread is not None and spread.low == spread.high for spread in spreads)
