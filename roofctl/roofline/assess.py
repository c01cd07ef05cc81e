"""Points above a roof: which, by how much, and what can be the cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roofctl.core.kernel_names import some
from roofctl.core.notes import Note
from roofctl.roofline.model import KernelPoints, Point, Roofline, assess

_MOST_SINGLE: Final = 3
"""More kernels than this above a roof share one note."""


def above_roof(kernels: Sequence[KernelPoints], roofline: Roofline) -> list[Note]:
    """Points above a roof, level by level, with what can be the cause; many of them in one sentence."""
    above: dict[str, list[tuple[str, float, Point]]] = {}
    for kernel in kernels:
        for point in kernel.points:
            assessment = assess(point, roofline)
            if assessment and assessment.above_roof:
                above.setdefault(point.level, []).append((kernel.short_name, assessment.fraction, point))
    return [
        Note(text, warning=True)
        for level, entries in above.items()
        for text in _above_texts(roofline.label(level), entries)
    ]


def _above_texts(label: str, entries: Sequence[tuple[str, float, Point]]) -> list[str]:
    if len(entries) <= _MOST_SINGLE:
        return [
            f"{name} is {share:.0%} of its {label} roof, above it: {_above_cause([p])}" for name, share, p in entries
        ]
    worst = sorted(entries, key=lambda entry: -entry[1])
    names = some([f"{name} {share:.0%}" for name, share, _ in worst], _MOST_SINGLE)
    return [f"{len(entries)} kernels are above their {label} roof ({names}): {_above_cause([p for *_, p in worst])}"]


def _above_cause(points: Sequence[Point]) -> str:
    """What can put these points above a roof; less traffic than there was is no cause, as it only moves them right."""
    caveats = "; ".join(dict.fromkeys(point.caveat for point in points if point.caveat))
    causes = ["the GPU ran above the clock of the ceilings", "the GPU profile is not this GPU's"]
    works = {point.work for point in points}
    if any(work.endswith("_tc") for work in works):
        causes += ["the products are 2:4 sparse", "they add in a narrower type than the peak's"]
    inexact = f" ({caveats})" if caveats else ""
    return f"{', '.join(causes[:-1])} or {causes[-1]}{inexact}"
