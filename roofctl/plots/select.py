"""Which of the analysed kernels and ceilings a picture needs."""

from __future__ import annotations

from collections.abc import Sequence

from roofctl.core.errors import InputError
from roofctl.core.precisions import COUNTED, PRECISIONS
from roofctl.roofline.model import ISSUE, KernelPoints, Roofline


def longest(kernels: Sequence[KernelPoints]) -> tuple[KernelPoints, ...]:
    """The first kernel with points, else the first; in the FLOP model with an entry per type of operation.

    ``kernels`` are sorted by total time, the longest first.
    """
    chosen = next((kernel for kernel in kernels if kernel.points), kernels[0])
    return tuple(kernel for kernel in kernels if kernel.number == chosen.number)


def with_needed_peaks(
    rooflines: Sequence[Roofline], kernels: Sequence[KernelPoints], *, common: bool = False
) -> list[Roofline]:
    """The rooflines with the peaks of the work that is drawn; ``common``: also those of every type in common use."""
    works = [kernel.work for kernel in kernels if kernel.points]
    if common:
        works += [work for work in COUNTED if not PRECISIONS[work].rare and not PRECISIONS[work].like]
    return [roofline.only(works) for roofline in rooflines]


def check_drawable(kernels: Sequence[KernelPoints], levels: Sequence[str]) -> None:
    """Raise InputError with the reason when no kernel has a point at one of the levels."""
    if any(kernel.point(level) for kernel in kernels for level in levels):
        return
    elsewhere = sorted({point.level for kernel in kernels for point in kernel.points})
    if elsewhere:
        raise InputError(
            f"no kernel has a point at {', '.join(levels)}", hint=f"choose among --level {' | '.join(elsewhere)}"
        )
    reasons = sorted({why for kernel in kernels for level, why in kernel.missing.items() if level in levels})
    flops = any(kernel.work != ISSUE for kernel in kernels)
    raise InputError(
        f"there is no point to draw ({'; '.join(reasons) or 'no counters'})",
        hint="draw --model instruction, or capture operations: roofctl profile --set flop --set tensor ./app"
        if flops
        else "capture instructions, traffic and time: roofctl profile --set instruction ./app",
    )
