"""Lanes that do nothing: divergent warps, and instructions that are predicated off."""

from __future__ import annotations

import math
from typing import Final

from roofctl.advice.finding import Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds
from roofctl.core.units import WARP_THREADS, percent

_MEMORY: Final = ("hbm", "l2", "system", "peer")
"""Limits that issued instructions do not change: lanes switched off move no bytes."""


def divergence(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Warps of which few lanes are active."""
    known = facts.numbers("thread_instructions", "issued_warp_instructions")
    if known is None or not known[1]:
        return None
    active = known[0] / (WARP_THREADS * known[1])
    if active >= limits.active_lanes:
        return None
    threads = facts.size("block")
    full = threads / (WARP_THREADS * math.ceil(threads / WARP_THREADS)) if threads else 1.0
    small = f"blocks of {threads} {'thread' if threads == 1 else 'threads'} leave part of a warp empty"
    why = "warps diverge; let all threads of a warp take the same branch, and the same number of iterations"
    if active >= limits.active_lanes * full:  # nearly all lanes that the blocks have
        why = f"{small}; use blocks of multiples of {WARP_THREADS} threads"
    elif full < 1:
        why = f"{why}; {small}"
    lost = f"{percent(1 - active)} of the issued work lost"
    text = f"{WARP_THREADS * active:.1f} of {WARP_THREADS} lanes active, {lost}: {why}"
    return Finding("divergence", text, {"active_lanes": WARP_THREADS * active, "lost_share": 1 - active})


def predication(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Active lanes whose instructions are predicated off: short branches that the compiler flattened."""
    known = facts.numbers("predicated_thread_instructions", "thread_instructions")
    if known is None or not known[1] or facts.text("limit") in _MEMORY:
        return None
    on = known[0] / known[1]
    if on >= limits.predicated_on:
        return None
    text = (
        f"{percent(1 - on)} of the active lanes' instructions are predicated off: they are issued and do nothing; "
        "take conditions out of the inner loop, or handle the edges apart"
    )
    return Finding("predication", text, {"predicated_on": on, "lost_share": 1 - on})
