"""Traffic of a kernel at each level, or the reason why it is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from roofctl.launches.evaluate import PASSED_BY, l1_was_passed_by
from roofctl.quantities import Chip
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.missing import Reasons
from roofctl.roofline.model import all_levels

_SHORT_SECONDS: Final = 20e-6
"""Of shorter kernels a profiler's time is not good to 10 %: 11.15 µs were seen for one of 7.0 µs, and stamps differ."""


@dataclass(frozen=True)
class Traffic:
    """32-byte transactions per launch at one level: None where not counted, with the reason in ``missing``."""

    level: str
    transactions: int | float | None
    caveat: str = ""
    missing: str = ""

    @property
    def exactness(self) -> str:
        """The caveat, short enough for a legend; empty when the count is exact."""
        for word in ("lower bound", "upper bound"):
            if word in self.caveat:
                return f"{word} of the traffic"
        if self.caveat.startswith("derived"):
            return "traffic derived"
        return "traffic not exact" if self.caveat else ""


def traffic_of(kernel: Kernel, chip: Chip | None) -> dict[str, Traffic]:
    """Traffic per level. L1 traffic is None where bulk copies or textures bypassed L1."""
    traffic = {level: _level(kernel, level) for level in all_levels()}
    if _l1_was_passed_by(kernel, traffic, chip):
        traffic["l1"] = Traffic("l1", None, missing=PASSED_BY)
    return traffic


def missing_levels(traffic: Mapping[str, Traffic], otherwise: str = "") -> dict[str, str]:
    """Why levels have no point. ``otherwise``, where given, holds for each level without a reason of its own."""
    reasons = {level: each.missing for level, each in traffic.items() if each.missing}
    return {level: reasons.get(level, otherwise) for level in all_levels()} if otherwise else reasons


def _level(kernel: Kernel, level: str) -> Traffic:
    name = f"{level}_transactions"
    value = kernel[name]
    caveat = kernel.caveats.get(name, "")
    if value is None:
        return Traffic(level, None, caveat, kernel.reason(name))
    return Traffic(level, value, caveat, "no traffic at this level" if value == 0 else "")


def _l1_was_passed_by(kernel: Kernel, traffic: dict[str, Traffic], chip: Chip | None) -> bool:
    """Whether the counts of L1 and L2 show that some traffic bypassed L1."""
    l1, l2 = traffic["l1"].transactions, traffic["l2"].transactions
    if l1 is None or l2 is None:
        return False
    bulk_copy = chip is not None and chip.bulk_copy
    return l1_was_passed_by(
        l1, l2, kernel["shared_wavefronts"] or 0, exact=not traffic["l2"].caveat, bulk_copy=bulk_copy
    )


def note_levels(kernel: Kernel, traffic: dict[str, Traffic], reasons: Reasons) -> None:
    """Add why levels have no point, and which counts are not exact."""
    for level, each in traffic.items():
        label = kernel.label(level)
        if each.missing:
            reasons.add(f"no {label} point: {each.missing}", kernel.short_name)
        elif each.caveat:
            reasons.add(f"{label}: {each.caveat}", kernel.short_name)


def note_time(kernel: Kernel, reasons: Reasons) -> None:
    """Add why there is no time, or why it is not exact."""
    if caveat := kernel.caveats.get("seconds"):
        reasons.add(caveat, kernel.short_name)
    if kernel["seconds"] is None:
        reasons.add(f"no time: {kernel.reason('seconds')}", kernel.short_name)
    elif kernel["seconds"] == 0:
        reasons.add("no rate: the time is 0", kernel.short_name)
    elif kernel["seconds"] < _SHORT_SECONDS and kernel.timed_by == "ncu":
        reasons.add(
            "shorter than 20 µs: ncu's time is 0.5 to 2 µs off there, and its caches are cold unless kept "
            "(profile --cache-control none)",
            kernel.short_name,
        )
