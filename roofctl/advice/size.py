"""Launches that are too small or too short for the GPU."""

from __future__ import annotations

import math
from typing import Final

from roofctl.advice.bounds import near_roof
from roofctl.advice.finding import Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds
from roofctl.core.units import duration, percent


def launch(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """A time per launch that is not much more than what launching takes."""
    known = facts.numbers("seconds", "launch_seconds")
    if known is None or not 0 < known[0] <= limits.launch_close * known[1]:
        return None
    text = (
        f"{duration(known[0])} a launch, where launching alone takes {duration(known[1])}: launch overhead binds; "
        "fuse it with its neighbours, give it more work, or launch through a CUDA graph"
    )
    return Finding("launch_bound", text, {"seconds": known[0], "launch_seconds": known[1]})


def too_small(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Fewer blocks than multiprocessors, or than fit on the GPU at once; not reported near a roof."""
    if near_roof(facts, limits):
        return None
    blocks, sms, waves = facts.size("grid"), facts.number("sm_count"), facts.number("waves_per_sm")
    if blocks is not None and sms is not None and sms - blocks >= limits.idle_share * sms:
        text = (
            f"{blocks:,} blocks for {sms:.0f} multiprocessors: {sms - blocks:.0f} of them have nothing to do; "
            "use smaller blocks, or split the work further"
        )
        return Finding("too_small", text, {"blocks": blocks, "sm_count": sms})
    # The profiler rounds to hundredths: a launch of 0 waves is one of a few blocks.
    launched = waves is not None and (waves > 0 or bool(facts.number("seconds")))
    if waves is not None and launched and waves <= 1 - limits.idle_share:
        share = percent(waves or _ROUNDED_TO_0)
        text = (
            f"{waves_text(waves)}: the blocks fill {share} of the places for them, so little hides latency; "
            "split the work further, or give each thread more independent work"
        )
        return Finding("too_small", text, {"waves_per_sm": waves})
    return None


_ROUNDED_TO_0: Final = 0.004
"""Waves that a profiler prints as 0."""


def waves_text(waves: float) -> str:
    """``2.1 waves``, and ``under 0.005 waves`` for what the profiler rounds to 0."""
    return f"{waves:.3g} waves" if waves else "under 0.005 waves"


def tail(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Few waves, the last of them nearly empty; not reported near a roof."""
    waves = facts.number("waves_per_sm")
    if waves is None or not 1 < waves < limits.tail_waves + 1 or near_roof(facts, limits):
        return None
    part, lost = waves - math.floor(waves), 1 - waves / math.ceil(waves)
    if not 0 < part <= limits.tail_part or lost < limits.tail_lost:
        return None
    text = (
        f"{waves:.3g} waves: the last is filled to {percent(part)}, up to {percent(lost)} of the time waits for it; "
        "choose a grid of whole waves, or blocks that take several pieces of work"
    )
    return Finding("tail", text, {"waves_per_sm": waves, "lost_share": lost})
