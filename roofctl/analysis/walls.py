"""Memory walls: how many transactions an access needs, against what known access patterns need.

After Ding & Williams (PMBS 2019): x is memory instructions per transaction of their class, y is those
instructions per second. Global accesses count requests and 32-byte sectors at L1, shared ones
instructions and 128-byte wavefronts. Loads and stores stand apart: one kernel may read well and write badly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from roofctl.analysis.facts import Facts
from roofctl.analysis.gaps import Gaps
from roofctl.counts import Note
from roofctl.roofline import KernelPoints, Point, Spread

Space = Literal["global", "shared"]
SPACES: Final[tuple[Space, ...]] = ("global", "shared")

_MOST: Final = 1.005
"""One request moves at least one transaction; counters of different passes agree to better than this."""


@dataclass(frozen=True)
class Access:
    """One class of accesses: the quantities that count its instructions and its transactions."""

    space: Space
    name: str
    instructions: str
    transactions: str
    metric_set: str


ACCESSES: Final = (
    Access("global", "global load", "l1_global_load_requests", "l1_global_load_sectors", "walls"),
    Access("global", "global store", "l1_global_store_requests", "l1_global_store_sectors", "walls"),
    Access("shared", "shared load", "shared_load_instructions", "shared_load_wavefronts", "walls"),
    Access("shared", "shared store", "shared_store_instructions", "shared_store_wavefronts", "walls"),
)


def wall_points(kernels: Sequence[Facts], spaces: Sequence[Space]) -> tuple[list[KernelPoints], list[Note]]:
    """Every kernel with its points in ``spaces``, and why some are not there.

    A point's ``work`` is its space, its ``level`` the access, its ``traffic`` the transactions per launch.
    An intensity above 1 cannot be: a warp's access moves one transaction or more. It is said, not drawn.
    """
    gaps, impossible = Gaps(), Gaps()
    found = [
        KernelPoints(
            facts.kernel,
            facts.short_name,
            tuple(
                point
                for access in ACCESSES
                if access.space in spaces and (point := _point(facts, access, gaps, impossible)) is not None
            ),
            time_share=facts.time_share,
            launches=facts.launches,
        )
        for facts in kernels
    ]
    warnings = [Note(note.text, warning=True) for note in impossible.notes(len(kernels))]
    return found, [*warnings, *gaps.notes(len(kernels))]


def _point(facts: Facts, access: Access, gaps: Gaps, impossible: Gaps) -> Point | None:
    short = facts.short_name
    instructions, transactions = facts[access.instructions], facts[access.transactions]
    for value, name in ((instructions, access.instructions), (transactions, access.transactions)):
        if value is None:
            gaps.add(
                f"no {access.name} point: {facts.reason(name)}; the metric sets {access.metric_set} and requests "
                "bring it (roofctl profile --set walls --set requests)",
                short,
            )
            return None
    if not instructions or not transactions:
        return None
    if not facts["seconds"]:
        gaps.add(f"no {access.name} point: no time", short)
        return None
    intensity = instructions / transactions
    caveats = [text for name in (access.instructions, access.transactions) if (text := facts.caveats.get(name))]
    for text in caveats:
        gaps.add(f"{access.name}: {text}", short)
    if intensity > _MOST:
        impossible.add(
            f"not drawn: {intensity:.3g} {access.name} instructions per transaction, above the possible 1: "
            "the counters do not belong together, or count warps that access nothing",
            short,
        )
        return None
    rate = instructions / facts["seconds"]
    ends = facts.spreads.get(access.transactions)
    spread = Spread(instructions / ends.high, instructions / ends.low) if ends and ends.low else None
    return Point(
        access.name,
        transactions,
        intensity,
        rate,
        "the counts are not exact" if caveats else "",
        access.space,
        spread,
    )
