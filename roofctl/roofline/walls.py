"""Memory walls: how many transactions an access needs, against what known access patterns need.

After Ding & Williams (PMBS 2019): x is memory instructions per transaction of their class, y is those
instructions per second. Wide global accesses are counted as the 4-byte accesses that use the same bytes, where those
were counted: a coalesced 16-byte load is at unit stride. Global accesses count requests and 32-byte sectors at L1,
shared ones instructions and 128-byte wavefronts. Loads and stores stand apart: one kernel may read well and write
badly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from roofctl.core.notes import Note
from roofctl.quantities import catalogue
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.missing import Reasons
from roofctl.roofline.model import KernelPoints, Point

Space = Literal["global", "shared"]

NONE: Final = "no such access"
BULK: Final = "no request at L1: bulk copies (TMA) pass it by"

_MOST: Final = 1.005
"""One request moves at least one transaction; counters of one launch agree to better than this."""

_STRAY_SECTORS: Final = 100_000
"""Instruction and constant fetches that L2 shows for a kernel without data traffic."""


@dataclass(frozen=True)
class Access:
    """One class of accesses: the quantities that count its instructions, its transactions and the bytes used."""

    space: Space
    name: str
    instructions: str
    transactions: str
    used_bytes: str = ""


ACCESSES: Final = (
    Access("global", "global load", "l1_global_load_requests", "l1_global_load_sectors", "global_load_used_bytes"),
    Access("global", "global store", "l1_global_store_requests", "l1_global_store_sectors", "global_store_used_bytes"),
    Access("shared", "shared load", "shared_load_instructions", "shared_load_wavefronts"),
    Access("shared", "shared store", "shared_store_instructions", "shared_store_wavefronts"),
)


def wall_points(kernels: Sequence[Kernel], spaces: Sequence[Space]) -> tuple[list[KernelPoints], list[Note]]:
    """Every kernel with its points in ``spaces``, and why some are not there.

    A point's ``work`` is its space, its ``level`` the access, its ``traffic`` the transactions per launch.
    ``missing`` of a kernel gives, per access, why it has no point. An intensity above 1 cannot be: a warp's access
    moves one transaction or more. Such a point gets a note, and is not drawn.
    """
    reasons, impossible = Reasons(), Reasons()
    several = len({kernel.sources for kernel in kernels}) > 1
    points = [_walls(kernel, spaces, reasons, impossible, several=several) for kernel in kernels]
    return points, [*impossible.notes(len(kernels), warning=True), *reasons.notes(len(kernels))]


def _walls(
    kernel: Kernel, spaces: Sequence[Space], reasons: Reasons, impossible: Reasons, *, several: bool
) -> KernelPoints:
    points: list[Point] = []
    missing: dict[str, str] = {}
    for access in ACCESSES:
        if access.space not in spaces:
            continue
        why = _why_not(kernel, access)
        if not why:
            points.append(_point(kernel, access, reasons))
            continue
        missing[access.name] = why
        if why not in (NONE, BULK):
            (impossible if why.startswith("not drawn") else reasons).add(f"{access.name}: {why}", kernel.short_name)
    return KernelPoints(
        kernel.name,
        kernel.short_name,
        tuple(points),
        time_share=kernel.time_share,
        launches=kernel.launches,
        missing=missing,
        note=kernel.files if several else "",
    )


def _why_not(kernel: Kernel, access: Access) -> str:
    """Why a kernel has no point of this access; empty when it has one."""
    instructions, transactions = kernel[access.instructions], kernel[access.transactions]
    for value, name in ((instructions, access.instructions), (transactions, access.transactions)):
        if value is None:
            sets = catalogue().quantities[name].sets[0]
            return f"{kernel.reason(name)}; the metric set {sets} brings it (roofctl profile --set {sets})"
    if not instructions or not transactions:
        moved = access.space == "global" and (kernel["l2_transactions"] or 0) > _STRAY_SECTORS
        nothing = not any(kernel[a.instructions] for a in ACCESSES if a.space == "global")
        return BULK if moved and nothing else NONE
    if not kernel["counted_seconds"]:
        return "no time"
    if instructions > _MOST * transactions:
        cause = kernel.caveats.get(access.instructions) or "the counters do not belong together"
        ratio = f"{instructions / transactions:.3g}"
        return f"not drawn: {ratio} instructions per transaction, above the possible 1: {cause}"
    return ""


def _point(kernel: Kernel, access: Access, reasons: Reasons) -> Point:
    instructions, transactions = kernel[access.instructions], kernel[access.transactions]
    caveats = [text for name in (access.instructions, access.transactions) if (text := kernel.caveats.get(name))]
    for text in caveats:
        reasons.add(f"{access.name}: {text}", kernel.short_name)
    inexact = "the counts are not exact" if caveats else ""
    rate = instructions / kernel["counted_seconds"]
    intensity = max(instructions / transactions, _as_words(kernel, access))
    return Point(access.name, transactions, intensity, rate, inexact, access.space)


_FULL_REQUEST_BYTES: Final = 128
"""Bytes of a request of 32 lanes with 4 bytes each."""


def _as_words(kernel: Kernel, access: Access) -> float:
    """The intensity that 4-byte accesses of the same bytes have; 0 where the bytes used are not known.

    Wide accesses need more sectors a request and use all of each: they are as coalesced as narrow ones.
    """
    used = kernel[access.used_bytes] if access.used_bytes else None
    if not used or kernel.caveats.get(access.used_bytes):
        return 0.0
    return float(used / (_FULL_REQUEST_BYTES * kernel[access.transactions]))
