"""Launches that are too small or too short for the GPU."""

from __future__ import annotations

from roofctl.advice.finding import Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds
from roofctl.core.units import duration, percent


def launch(facts: KernelFacts, _limits: Thresholds) -> Finding | None:
    """A time per launch that is not much more than what launching takes."""
    known = facts.numbers("seconds", "launch_seconds", "launches", "seconds_total")
    if facts.text("limit") != "launch" or known is None:
        return None
    together = f"{known[2]:,.0f} such launches take {duration(known[3])}; " if known[2] > 1 else ""
    text = (
        f"{duration(known[0])} a launch, where launching alone takes {duration(known[1])}: {together}"
        "fuse them with their neighbours, give each more work, or launch them through a CUDA graph"
    )
    return Finding("launch_bound", text, {"seconds": known[0], "launch_seconds": known[1], "launches": known[2]})


def grid(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Fewer blocks than multiprocessors."""
    known = facts.numbers("blocks", "sm_count")
    if facts.text("limit") != "grid" or known is None:
        return None
    blocks, sms = known
    figures: dict[str, float | int] = {"blocks": blocks, "sm_count": sms}
    others = ""
    if (occupancy := facts.number("occupancy")) is not None and occupancy < limits.full_occupancy:
        figures["occupancy"] = occupancy
        others = f", and the others hold {percent(occupancy)} of the warps they could"
    text = (
        f"{sms - blocks:.0f} of {sms:.0f} multiprocessors have nothing to do{others}: split the work further, or "
        "run it beside other kernels (streams)"
    )
    return Finding("too_small", text, figures)


def tail(facts: KernelFacts, _limits: Thresholds) -> Finding | None:
    """Few waves, the last of them nearly empty, or blocks of unequal work."""
    waves = facts.number("waves_per_sm")
    if facts.text("limit") != "tail" or waves is None:
        return None
    figures: dict[str, float | int] = {"waves_per_sm": waves}
    if (active := facts.number("sm_active")) is not None:
        figures["sm_active"] = active
    text = "choose a grid of whole waves, or blocks that take several pieces of work of equal size"
    return Finding("tail", f"multiprocessors wait for the last blocks: {text}", figures)
