"""The size of a launch against the GPU: too few blocks, a last wave that is nearly empty, and the occupancy."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from roofctl.advice.thresholds import Thresholds
from roofctl.roofline.kernel import Kernel

_LIMITERS: Final = {
    "blocks_by_warps": "warps",
    "blocks_by_registers": "registers",
    "blocks_by_shared": "shared memory",
    "blocks_by_count": "blocks",
}
"""What holds the resident blocks down; ``warps`` means that the multiprocessor is full."""


@dataclass(frozen=True)
class LaunchSize:
    """Blocks, waves and occupancy of a launch; None where not known.

    ``fault`` is ``grid`` (fewer blocks than multiprocessors), ``tail`` (a last wave that is nearly empty, or blocks
    of unequal work: multiprocessors are idle for much of the time), or empty. ``limiter`` is what holds the resident
    blocks down.
    """

    blocks: int | None = None
    sm_count: int | None = None
    waves: float | None = None
    sm_active: float | None = None
    occupancy: float | None = None
    occupancy_limit: float | None = None
    limiter: str = ""
    fault: str = ""


def launch_size(kernel: Kernel, sm_count: int | None, limits: Thresholds) -> LaunchSize:
    """The size of a kernel's launches; ``sm_count`` is that of the GPU profile, used where the capture has none."""
    blocks = blocks_of(kernel.grid)
    sms = kernel["sm_count"] or sm_count
    waves, active = kernel["waves_per_sm"], kernel["sm_active"]
    return LaunchSize(
        blocks,
        sms,
        waves,
        active,
        kernel["occupancy"],
        kernel["occupancy_limit"],
        _limiter(kernel),
        _fault(blocks, sms, waves, active, limits),
    )


def blocks_of(grid: str | None) -> int | None:
    """Blocks of a grid such as ``(64, 1, 1)``; None where the launches have several."""
    sizes = [int(digits) for digits in re.findall(r"\d+", grid or "")]
    return math.prod(sizes) if sizes else None


def _limiter(kernel: Kernel) -> str:
    known = {name: kernel[name] for name in _LIMITERS if kernel[name] is not None}
    return _LIMITERS[min(known, key=lambda name: known[name])] if len(known) == len(_LIMITERS) else ""


def _fault(blocks: int | None, sms: int | None, waves: float | None, active: float | None, limits: Thresholds) -> str:
    if blocks is not None and sms and sms - blocks >= limits.idle_share * sms:
        return "grid"
    idle = None if active is None else 1 - active
    if waves is not None and 1 < waves < limits.tail_waves + 1:
        part, lost = waves - math.floor(waves), 1 - waves / math.ceil(waves)
        if 0 < part <= limits.tail_part and lost >= limits.tail_lost and (idle is None or idle >= limits.tail_lost / 2):
            return "tail"
    # Blocks of equal work keep all multiprocessors busy; those of unequal work leave some idle at the end.
    return "tail" if waves is not None and waves > 1 and idle is not None and idle >= limits.unequal_blocks else ""
