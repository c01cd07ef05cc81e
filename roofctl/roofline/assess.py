"""Points above a roof: which, by how much, and what can be the cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from roofctl.core.kernel_names import some
from roofctl.core.notes import Note
from roofctl.core.precisions import PRECISIONS
from roofctl.roofline.model import WORK_LABELS, KernelPoints, Point, Roofline, assess, peak_words

_MOST_SINGLE: Final = 3
"""More kernels than this above a roof share one note."""

_CLOCK: Final = "the GPU ran above the clock of the ceilings"
_PROFILE: Final = "the GPU profile is not this GPU's"


@dataclass(frozen=True)
class _Above:
    """A kernel's point that is ``fraction`` of its roof, above 1, with the causes that fit it."""

    name: str
    fraction: float
    causes: tuple[str, ...]


def above_roof(kernels: Sequence[tuple[KernelPoints, Roofline]]) -> list[Note]:
    """Kernels above a memory roof or a peak of their roofline, with what can be the cause; many in one sentence."""
    above: dict[str, list[_Above]] = {}
    for kernel, roofline in kernels:
        seen: set[str] = set()
        for point in kernel.points:
            assessment = assess(point, roofline)
            if assessment is None or not assessment.above_roof:
                continue
            memory = assessment.bound == "memory"
            roof = f"{roofline.label(point.level)} roof" if memory else peak_words(point.work).removeprefix("the ")
            # All points of a kernel are at one height, so above a peak one says it for all.
            if roof in seen:
                continue
            seen.add(roof)
            causes = _memory_causes(point) if memory else tuple(_peak_causes(kernel, point, roofline))
            above.setdefault(roof, []).append(_Above(kernel.short_name, assessment.fraction, causes))
    return [Note(text, warning=True) for roof, entries in above.items() for text in _texts(roof, entries)]


def _texts(roof: str, entries: Sequence[_Above]) -> list[str]:
    if len(entries) <= _MOST_SINGLE:
        return [f"{e.name} is {e.fraction:.0%} of its {roof}, above it: {_listed(e.causes)}" for e in entries]
    worst = sorted(entries, key=lambda entry: -entry.fraction)
    names = some([f"{entry.name} {entry.fraction:.0%}" for entry in worst], _MOST_SINGLE)
    causes = dict.fromkeys(cause for entry in worst for cause in entry.causes)
    return [f"{len(entries)} kernels are above their {roof} ({names}): {_listed(tuple(causes))}"]


def _listed(causes: Sequence[str]) -> str:
    *others, last = causes
    return f"{', '.join(others)}, or {last}" if others else last


def _memory_causes(point: Point) -> tuple[str, ...]:
    return (_CLOCK, _PROFILE, *([f"a count is not exact ({point.caveat})"] if point.caveat else []))


def _peak_causes(kernel: KernelPoints, point: Point, roofline: Roofline) -> Iterator[str]:
    """What can put a rate above its peak, the causes of its own type first."""
    peak = roofline.peak_of(point.work)
    for work in kernel.may_hold:
        other = roofline.peak_of(work)
        if peak and other and other.per_second > peak.per_second:
            counted = (
                "which --set tensor-rare counts apart" if PRECISIONS[work].sparse else "which the chip counts with it"
            )
            yield f"some of it may be {WORK_LABELS[work]}, {counted}"
    if point.work == "int32":
        yield "multiply-adds (IMAD) run beside other integer instructions, in another pipe"
    if peak and peak.sustained:
        yield "the power limit held the clock down while the ceiling was measured"
    yield _CLOCK
    yield _PROFILE
    if point.caveat:
        yield f"a count is not exact ({point.caveat})"
