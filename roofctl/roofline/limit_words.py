"""What limits a kernel, in words: one sentence per kernel, and short labels for tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roofctl.advice.thresholds import Thresholds, thresholds
from roofctl.core.units import duration, percent, prefixed
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.limits import KernelLimit, Use
from roofctl.roofline.model import ABOVE_ROOF

_LABELS: Final[Mapping[str, str]] = {
    "issue": "issue",
    "l2_input": "L2 input",
    "tensor": "tensor pipe",
    "fp64": "FP64 pipe",
    "fp16": "FP16 pipe",
    "fma": "FMA pipe",
    "alu": "ALU pipe",
    "xu": "XU pipe",
    "lsu": "LSU pipe",
    "tex": "texture pipe",
    "uniform": "uniform pipe",
    "shared": "shared memory",
    "system": "host memory",
    "peer": "peer memory",
    "atomics": "atomic unit",
    "launch": "launch",
}

_SENTENCES: Final[Mapping[str, str]] = {
    "issue": "instruction issue",
    "tensor": "the tensor pipe",
    "fp64": "the FP64 pipe",
    "fp16": "the FP16 pipe",
    "fma": "the FMA pipe (FP32 and integer multiply-add)",
    "alu": "the ALU pipe (integer, logic, comparisons)",
    "xu": "the XU pipe (transcendental functions, conversions)",
    "lsu": "the LSU pipe (load and store instructions)",
    "tex": "the texture pipe",
    "uniform": "the uniform datapath",
    "l1": "the L1 data stage",
    "l2_input": "the way into L2 (requests and writes of the multiprocessors)",
    "shared": "shared memory",
    "system": "the link to host memory",
    "peer": "the link to other GPUs",
    "atomics": "the atomic unit of one L2 slice",
}

STALLS: Final[Mapping[str, str]] = {
    "long_scoreboard": "global, local or texture memory",
    "short_scoreboard": "shared memory or a special function",
    "barrier": "other warps at a barrier",
    "math_pipe_throttle": "a busy arithmetic pipe",
    "lg_throttle": "the queue of global and local accesses",
    "mio_throttle": "the queue of memory instructions",
    "tex_throttle": "the queue of texture accesses",
    "wait": "the fixed latency of the instruction before",
    "no_instruction": "instruction fetch",
    "branch_resolving": "a branch target",
    "dispatch_stall": "the dispatcher",
    "drain": "memory writes at exit",
    "membar": "a memory fence",
    "imc_miss": "a constant",
    "sleeping": "the end of a sleep",
    "misc": "other reasons",
    "gmma": "a warpgroup matrix instruction",
}
"""What stalled warps wait for, by reason."""

_NOTHING_LEFT: Final = 0.97


def label(limit: KernelLimit, kernel: Kernel) -> str:
    """A limit for a table or a legend; ``unknown`` where it cannot be known."""
    return resource_label(limit.name, kernel) if limit.name else "unknown"


def resource_label(name: str, kernel: Kernel) -> str:
    """A resource or another limit, short."""
    return _LABELS.get(name, kernel.label(name))


def sentence(limit: KernelLimit, kernel: Kernel) -> str:
    """What limits a kernel, by how much, and what is left."""
    if limit.name is None:
        return _unknown(limit, kernel)
    if limit.name == "launch":
        launch = limit.uses["launch"].fraction * kernel["seconds"]
        return (
            f"launch: {duration(kernel['seconds'])} a launch, where launching alone takes {duration(launch)}"
            f"{_together(kernel)}"
        )
    if limit.name in ("grid", "tail"):
        return f"{_shape(limit)}; {_highest(limit, kernel)}{_waits(limit)}"
    if limit.name == "serialised":
        return f"serialised: {_serialised(limit)}; atomics on few addresses wait for each other"
    if limit.name == "latency":
        return f"latency: {_highest(limit, kernel)}{_way_into_l2(limit)}{_hidden(limit)}"
    return f"limited by {_resource(limit, kernel)}"


def _resource(limit: KernelLimit, kernel: Kernel) -> str:
    """A resource with its use, and what is left."""
    name, limits = str(limit.name), thresholds()
    what = _SENTENCES.get(name, kernel.label(name))
    if name == "tex" and (limit.fraction("tex") or 0.0) < limits.near_roof:
        return f"{what}: its queue is full{_waits(limit)}"
    use = limit.uses[name]
    if use.fraction > ABOVE_ROOF:
        why = "the clock, the GPU profile or the type of work does not fit"
        return f"{what}: {percent(use.fraction)} of its ceiling, above it, so {why}"
    return f"{what}: {percent(use.fraction)}{_rate(use)}; {_left(limit, kernel, limits)}"


def _unknown(limit: KernelLimit, kernel: Kernel) -> str:
    if not limit.uses:
        return f"unknown: {limit.unknown}"
    return f"unknown: {_highest(limit, kernel)}; {limit.unknown}{_remedy(limit)}"


def _remedy(limit: KernelLimit) -> str:
    return " (roofctl profile --set limits counts the pipes)" if "pipe" in limit.unknown else ""


def _rate(use: Use) -> str:
    if use.per_second is None:
        return " busy"
    if use.unit == "B/s":
        return f" of its ceiling ({prefixed(use.per_second, 'B/s', 3)})"
    return f" of the issue slots ({prefixed(use.per_second, 'IPS', 3)})"


def _left(limit: KernelLimit, kernel: Kernel, limits: Thresholds) -> str:
    if limit.use is not None and limit.use < limits.near_roof:
        return f"its queue is full{_waits(limit)}"
    if (limit.largest or 0.0) >= _NOTHING_LEFT:
        return "at its ceiling, only less of this work is faster"
    if limit.factor is None:
        return "pipes were not counted, so how much is left is not known"
    rest = limit.headroom_seconds
    saved = f", {duration(rest)} of the run" if rest and kernel.launches > 1 else ""
    return f"at most {limit.factor:.3g} times faster{saved}"


def _highest(limit: KernelLimit, kernel: Kernel) -> str:
    """``the busiest resource is L2 at 24%``."""
    resources = {name: use.fraction for name, use in limit.uses.items() if name != "launch"}
    if not resources:
        return "no resource was counted"
    name = max(resources, key=lambda each: resources[each])
    counted = "" if limit.counted else "counted "
    far = "far from every limit, " if limit.factor and limit.factor > thresholds().far_from_limits else ""
    return f"{far}the busiest {counted}resource is {resource_label(name, kernel)} at {percent(resources[name])}"


def _way_into_l2(limit: KernelLimit) -> str:
    """A remark where the way into L2 was not counted, and could be what binds."""
    most = (limit.fraction("l2") or 0.0) * thresholds().l2_input_per_l2
    if "l2_input" in limit.uses or most < thresholds().near_roof:
        return ""
    return "; the way into L2 could bind and was not counted (roofctl profile --set l2)"


def _hidden(limit: KernelLimit) -> str:
    """What hides too little latency: warps, what holds them down, and what they wait for."""
    size, parts = limit.size, list[str]()
    if size.occupancy is not None:
        parts.append(f"; occupancy {percent(size.occupancy)}{_of_possible(limit)}")
    return "".join(parts) + _waits(limit)


def _serialised(limit: KernelLimit) -> str:
    return f"{_SENTENCES['atomics']} is {percent(limit.uses['atomics'].fraction)} busy, the busiest resource"


def _waits(limit: KernelLimit) -> str:
    """The main reason why warps waited."""
    if not limit.stalls:
        return ""
    reason, share = next(iter(limit.stalls.items()))
    return f"; {percent(share)} of the stalls wait for {STALLS.get(reason, reason)}"


def _of_possible(limit: KernelLimit) -> str:
    size = limit.size
    if size.waves is not None and size.waves < 1:
        return " (the grid has too few blocks to fill the GPU)"
    if size.occupancy_limit is None or not size.limiter:
        return ""
    full = (size.occupancy or 0.0) >= thresholds().held_down * size.occupancy_limit
    held = f", held down by {size.limiter}" if full and size.limiter != "warps" else ""
    return f" of {percent(size.occupancy_limit)} possible{held}"


def _shape(limit: KernelLimit) -> str:
    size = limit.size
    if limit.name == "grid":
        filled = "" if size.occupancy is None else f", {percent(size.occupancy)} of the warps that fit on each"
        return f"grid: {size.blocks:,} {_blocks(size.blocks)} for {size.sm_count} multiprocessors{filled}"
    idle = "" if size.sm_active is None else f", multiprocessors idle {percent(1 - size.sm_active)} of the time"
    return f"tail: {size.waves:.3g} waves{idle}"


def _blocks(count: int | None) -> str:
    return "block" if count == 1 else "blocks"


def _together(kernel: Kernel) -> str:
    if kernel.launches == 1 or kernel["seconds_total"] is None:
        return ""
    return f"; {kernel.launches:,} launches take {duration(kernel['seconds_total'])}"
