"""What binds: a memory level, a pipe, instruction issue, or none of them."""

from __future__ import annotations

from typing import Final

from roofctl.advice.finding import FP_TYPES, Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds
from roofctl.core.levels import LEVELS
from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import percent

_HELPS: Final = {
    "hbm": "device memory binds; move fewer bytes: narrower types, no array read twice, reuse in L2, L1 or registers",
    "l2": "L2 binds; keep what is used again in shared memory or registers, and use whole sectors",
    "l1": "L1 binds; load wider words, and keep what is used again in registers",
    "shared": "shared memory binds; use wider accesses, or keep values in registers and exchange them by shuffles",
}


def verdict(facts: KernelFacts, limits: Thresholds) -> str:
    """One sentence: what binds, the fraction of its roof that is reached, and the factor up to the roof."""
    if binding_type := _binding_type(facts, limits):
        name, share = binding_type
        rest = f"{1 / share:.3g} times faster at the peak" if share < 1 else "nothing is left there"
        unseen = ", which the instruction model does not see" if name.endswith("_tc") else ""
        return f"bound by {label(name)} arithmetic{unseen}: {percent(share)} of its peak, {rest}"
    bound = facts.text("bound")
    fraction = reached(facts)
    if not bound or not fraction:
        return f"unknown: {_why_unknown(facts)}"
    level = facts.text("bound_level")
    binding = facts.label(level) if bound == "memory" else "instruction issue"
    if fraction >= 1:
        return f"bound by {binding}: {percent(fraction)} of its roof, nothing is left there"
    headroom = f"{1 / fraction:.3g} times faster at the roof"
    if fraction < limits.near_roof:
        return f"{binding} would bind first, but only {percent(fraction)} of its roof is reached: {headroom}"
    return f"bound by {binding}: {percent(fraction)} of its roof, {headroom}"


def reached(facts: KernelFacts) -> float | None:
    """Fraction of the binding roof, as given or from the rates; None when unknown."""
    given = facts.number("of_roof")
    if given is not None:
        return given
    rates = facts.numbers("gips", "attainable_gips")
    return rates[0] / rates[1] if rates and rates[1] > 0 else None


def _why_unknown(facts: KernelFacts) -> str:
    if not facts.number("seconds"):
        return "no time was captured"
    if facts.number("gips") is None:
        return "instructions were not counted"
    if facts.number("peak_gips") is None:
        return "there are no ceilings to compare with"
    unknown = [
        facts.label(level)
        for level in LEVELS
        if facts.number(f"{level}_of_roof") is None and facts.number(f"{level}_transactions") != 0
    ]
    if len(unknown) < len(LEVELS):
        return f"{' and '.join(unknown)} could bind, and {'was' if len(unknown) == 1 else 'were'} not counted"
    return "no memory level was counted that has a ceiling"


def near_roof(facts: KernelFacts, limits: Thresholds) -> bool:
    """Whether the kernel is known to be near a roof or a peak, so that its shape costs it little."""
    fraction = reached(facts)
    near = fraction is not None and fraction >= limits.near_roof
    return near or arithmetic(facts, limits) is not None or issue(facts, limits) is not None


def memory_level(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """A memory level that binds, with what helps there. L1 also needs the parts of its traffic."""
    level = facts.text("bound_level")
    fraction = facts.number(f"{level}_of_roof") if level in LEVELS else None
    if facts.text("bound") != "memory" or fraction is None or fraction < limits.near_roof:
        return None
    figures: dict[str, float | int] = {f"{level}_of_roof": fraction}
    kind = "dram_bound" if level == "hbm" else f"{level}_bound"
    where = f"at {percent(fraction)} of the {facts.label(level)} roof"
    if level != "l1":
        return Finding(kind, f"{where}: {_HELPS[level]}", figures)
    parts = facts.numbers("shared_wavefronts", "l1_transactions")
    if parts is None or not parts[1]:
        return None
    share = 4 * parts[0] / parts[1]
    figures["shared_share"] = share
    helps = _HELPS["shared" if share >= limits.shared_binds else "l1"]
    return Finding(kind, f"{where}, {percent(share)} of the traffic in shared-memory wavefronts: {helps}", figures)


def arithmetic(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """The type of arithmetic whose peak is near, where memory is not nearer."""
    binding = _binding_type(facts, limits)
    if binding is None:
        return None
    name, fraction = binding
    other = "" if name.endswith("_tc") else ", or tensor cores where the work is a matrix product"
    at = f"at {percent(fraction)} of the {label(name)} peak"
    text = f"{at}: arithmetic binds; do fewer operations, or use a narrower type"
    return Finding("arithmetic_bound", text + other, {"of_flop_peak": fraction})


def _binding_type(facts: KernelFacts, limits: Thresholds) -> tuple[str, float] | None:
    """The type of arithmetic that binds, and the fraction of its peak that is reached."""
    known = facts.table("of_flop_peak")
    if not known:
        return None
    name, fraction = max(known.items(), key=lambda entry: entry[1])
    return None if fraction < limits.near_roof or _memory_is_nearer(facts, fraction) else (name, fraction)


def label(name: str) -> str:
    """A type of arithmetic as people write it: ``fp64_tc`` is FP64 tensor."""
    return PRECISIONS[name].label


def _memory_is_nearer(facts: KernelFacts, fraction: float) -> bool:
    memory = reached(facts)
    return facts.text("bound") == "memory" and memory is not None and memory > fraction


def issue(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Instruction issue that binds, where neither memory nor the arithmetic itself does."""
    rates = facts.numbers("issued_gips", "peak_gips")
    if rates is None or not rates[1]:
        return None
    fraction = rates[0] / rates[1]
    if fraction < limits.near_roof or _memory_is_nearer(facts, fraction) or arithmetic(facts, limits):
        return None
    text = (
        f"{rates[0]:.0f} of {rates[1]:.0f} GIPS issued ({percent(fraction)}): instruction issue binds; "
        "do more per instruction: wider loads, fused multiply-adds, packed types, fewer index computations"
    )
    return Finding("issue_bound", text, {"issued_gips": rates[0], "peak_gips": rates[1], "issued_share": fraction})


def latency(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Latency: near no roof, where every level, issue and all arithmetic were counted; else None."""
    highest = _highest(facts, limits)
    if highest is None or max(highest, _worst_issue(facts, limits)) >= limits.near_roof:
        return None
    figures: dict[str, float | int] = {"highest_fraction": highest}
    shape = []
    if (waves := facts.number("waves_per_sm")) is not None:
        figures["waves_per_sm"] = waves
        shape.append(f"{waves:.3g} waves" if waves else "under 0.005 waves")
    if (blocks := facts.size("grid")) is not None:
        figures["blocks"] = blocks
        shape.append(f"{blocks:,} blocks")
    launched = f" (launched in {' of '.join(shape)})" if shape else ""
    text = (
        f"at most {percent(highest)} of any counted roof{launched}: latency binds, or a pipe that was not counted; "
        "more warps in flight, more independent work per thread, fewer barriers"
    )
    return Finding("latency_bound", text, figures)


def _highest(facts: KernelFacts, limits: Thresholds) -> float | None:
    """The largest fraction of all roofs; None where one that could be near was not counted.

    Where integers were not counted all instructions may be some: that they could be near their pipe's limit
    holds the advice back, and is no figure to report.
    """
    fractions = [_level(facts, level) for level in LEVELS]
    fractions += [_arithmetic(facts, limits), _issue(facts, limits)]
    known = [fraction for fraction in fractions if fraction is not None]
    return max(known) if len(known) == len(fractions) else None


def _level(facts: KernelFacts, level: str) -> float | None:
    """Fraction of a level's roof; 0 where the level is known to be idle."""
    return 0.0 if facts.number(f"{level}_transactions") == 0 else facts.number(f"{level}_of_roof")


def _arithmetic(facts: KernelFacts, limits: Thresholds) -> float | None:
    """The largest fraction of the peaks of all types that do any work; None when a type is unknown."""
    work = {name: facts.number(f"{name}_flops") for name in FP_TYPES}
    tensor = facts.tensor_operations()
    if None in work.values() or not tensor:
        return None
    if facts.is_constant_moves(limits.constant_moves_share):
        work["fp16"] = 0
    work.update({f"{name}_tc": operations for name, operations in tensor.items()})
    fractions = [facts.inside("of_flop_peak", name) for name, operations in work.items() if operations]
    known = [fraction for fraction in fractions if fraction is not None]
    return max(known, default=0.0) if len(known) == len(fractions) else None


def _issue(facts: KernelFacts, limits: Thresholds) -> float | None:
    """Fraction of the issue slots, or of the integer pipe where that is nearer and integers were counted."""
    rates = facts.numbers("issued_gips", "peak_gips")
    if rates is None or not rates[1]:
        return None
    issued = rates[0] / rates[1]
    integers = facts.numbers("integer_instructions", "thread_instructions")
    share = integers[0] / integers[1] if integers and integers[1] else 0.0
    return max(issued, issued * share / limits.integer_rate)


def _worst_issue(facts: KernelFacts, limits: Thresholds) -> float:
    """Fraction of the integer pipe's limit if all instructions were integers; 0 where these were counted."""
    rates = facts.numbers("issued_gips", "peak_gips")
    if facts.number("integer_instructions") is not None or rates is None or not rates[1]:
        return 0.0
    return rates[0] / rates[1] / limits.integer_rate
