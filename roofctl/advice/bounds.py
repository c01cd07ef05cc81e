"""What helps against the limit of a kernel, for each thing that can be the limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roofctl.advice import access
from roofctl.advice.finding import Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds
from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import percent

_HELPS: Final[Mapping[str, str]] = {
    "hbm": "move fewer bytes: narrower types, no array read twice, reuse in L2, L1 or registers",
    "l2": "keep what is used again in shared memory or registers, and use whole sectors",
    "l2_input": "write full sectors: neighbouring threads to consecutive addresses, gathered in shared memory first",
    "l1": "load wider words, and keep what is used again in registers",
    "shared": "use wider accesses, keep values in registers, or exchange them by shuffles",
    "issue": "do more per instruction: wider loads, fused multiply-adds, packed types, fewer index computations",
    "fma": "do fewer operations, move index arithmetic out of the loop, or use a narrower type",
    "alu": "simplify index and bit arithmetic: hoist it out of the loop, strength-reduce divisions and remainders",
    "fp64": "use FP32 where the precision allows it (many GPUs have few FP64 units), or FP64 tensor cores for products",
    "fp16": "use tensor cores where the work is a matrix product",
    "xu": "use fewer or approximate transcendental functions (__sinf, __expf, -use_fast_math), or a table",
    "lsu": "load wider words (float4), keep tiles in registers, and exchange values by shuffles less often",
    "tex": "fetch wider texels, or load through L1 where no filtering is needed",
    "uniform": "compute addresses and loop counts once outside the loop",
    "tensor": "use a narrower type, or 2:4 sparsity; the products themselves run at the hardware's limit",
    "system": "copy the data to device memory once, or prefetch managed memory (cudaMemPrefetchAsync)",
    "peer": "keep a copy of the data on this GPU, and exchange only what changes",
    "atomics": "many atomics meet on few addresses: combine values in the warp or block first, then update memory once",
}

_KINDS: Final[Mapping[str, str]] = {
    "hbm": "dram_bound",
    "system": "host_memory",
    "peer": "peer_memory",
    "atomics": "atomics_contended",
    **dict.fromkeys(("fp64", "fma", "fp16", "tensor"), "arithmetic_bound"),
}
"""Stable names of findings, where they are not ``RESOURCE_bound``."""

_PIPES: Final[Mapping[str, str]] = {
    **{name: name.upper() for name in ("fma", "alu", "fp64", "fp16", "xu", "lsu")},
    "tex": "texture",
    "tensor": "tensor",
}

_SMALLEST_STEP: Final = 8
"""Registers of a thread are given out in steps of eight."""

_REGISTERS: Final = 65_536
"""32-bit registers of a multiprocessor, on all GPUs from Kepler on."""


def resource(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """A resource near its ceiling, with the ways out."""
    limit = facts.text("limit")
    name = "atomics" if limit == "serialised" else limit
    use = facts.inside("uses", name)
    if name not in _HELPS or use is None:
        return None
    figures: dict[str, float | int] = {f"{name}_use": use}
    text = _HELPS[name]
    parts = facts.numbers("shared_wavefronts", "l1_transactions")
    share = min(1.0, 4 * parts[0] / parts[1]) if parts and parts[1] else 0.0
    if name == "l1" and share >= limits.finding_share:
        figures["shared_share"] = share
        text = f"{percent(share)} of the traffic are shared-memory wavefronts; {text}"
    if name == "shared":
        text = _of_shared(facts, limits, figures) or text
    full = use < limits.near_roof and name in _PIPES
    at = f"the queue of {_ceiling(facts, name)} is full" if full else f"at {percent(use)} of {_ceiling(facts, name)}"
    return Finding(_KINDS.get(name, f"{name}_bound"), f"{at}: {text}", figures)


def _of_shared(facts: KernelFacts, limits: Thresholds, figures: dict[str, float | int]) -> str:
    """What helps where one kind of access is most of shared memory's work: atomics, or conflicts; else empty."""
    atomics, everything = facts.number("shared_atomic_wavefronts"), facts.number("l1_data_wavefronts")
    if atomics and everything and atomics >= limits.shared_binds * everything:
        figures["atomic_share"] = share = min(1.0, atomics / everything)
        return (
            f"{percent(share)} of its work are atomics: give each warp a copy of its own (privatise) and add them up "
            "at the end, or combine equal addresses within the warp first (__match_any_sync)"
        )
    if any(access.bank_conflicts(facts, limits, way) for way in ("load", "store")):
        return "its wavefronts are bank conflicts for the most part: remove those first"
    return ""


def _ceiling(facts: KernelFacts, name: str) -> str:
    if name in _PIPES:
        return f"the {_PIPES[name]} pipe"
    words = {
        "issue": "the issue slots",
        "atomics": "one atomic unit",
        "system": "the host link",
        "peer": "the peer link",
        "l2_input": "the way into L2",
    }
    return words.get(name, f"the {facts.label(name)} ceiling")


def latency(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Nothing near its ceiling, and everything was counted: too little work in flight, by what holds it down."""
    uses = facts.table("uses")
    if facts.text("limit") != "latency" or not uses:
        return None
    figures: dict[str, float | int] = {"highest_use": max(uses.values())}
    stalls = facts.table("stalls")
    reason = max(stalls, key=lambda name: stalls[name]) if stalls else ""
    if reason == "gmma":
        # Kernels of producer and consumer warps give their registers out on purpose.
        text = "the tensor cores are waited for: larger tiles, or more of them in flight (stages, a second consumer)"
        return Finding("latency_bound", text, {**figures, "stall_gmma": stalls[reason]})
    text = _more_in_flight(facts, figures, limits)
    if reason:
        figures[f"stall_{reason}"] = stalls[reason]
    return Finding("latency_bound", f"{_against(reason)}{text}", figures)


_AGAINST: Final[Mapping[str, str]] = {
    "long_scoreboard": "loads wait for memory: issue more before the first use (unroll), prefetch, or reuse data; ",
    "short_scoreboard": "shared memory or special functions are waited for: interleave independent work; ",
    "barrier": "warps wait at barriers: balance the work between them, use smaller blocks, or fewer barriers; ",
    "wait": "each instruction waits for the one before: unroll, or give each thread several independent chains; ",
    "no_instruction": "instructions are fetched too slowly: smaller loop bodies, less unrolling; ",
    "lg_throttle": "the queue of memory accesses is full: fewer and wider accesses; ",
    "mio_throttle": "the queue of shared-memory instructions is full: fewer and wider accesses; ",
    "math_pipe_throttle": "one pipe is waited for in bursts: mix other work between its instructions; ",
    "membar": "memory fences are waited for: fewer of them, or a narrower scope; ",
    "branch_resolving": "branches are waited for: fewer and more predictable ones; ",
    "drain": "writes at the end of the blocks are waited for: coalesce them, or longer blocks; ",
}


def _against(reason: str) -> str:
    return _AGAINST.get(reason, "")


def _more_in_flight(facts: KernelFacts, figures: dict[str, float | int], limits: Thresholds) -> str:
    occupancy = facts.numbers("occupancy", "occupancy_limit")
    if occupancy is None:
        return "more warps in flight, or more independent work per thread"
    figures["occupancy"], figures["occupancy_limit"] = occupancy
    waves, limiter = facts.number("waves_per_sm"), facts.text("limiter")
    if waves is not None and waves < 1 and occupancy[0] < limits.held_down * occupancy[1]:
        return "the grid does not fill the GPU: split the work into more blocks, or give each thread independent work"
    if occupancy[0] < limits.held_down * occupancy[1]:
        limiter = ""  # the warps that there are do not reach what it allows
    if occupancy[1] < limits.full_occupancy and limiter == "registers" and (step := _fewer_registers(facts)):
        figures["registers_per_thread"] = step[0]
        now, most = step
        held = f"registers hold occupancy to {percent(occupancy[1])}"
        return f"{held}: at most {most} a thread (of {now:.0f}) let one more block fit"
    if occupancy[1] < limits.full_occupancy and limiter == "shared memory":
        return f"shared memory holds occupancy to {percent(occupancy[1])}: use less of it per block"
    if occupancy[1] < limits.full_occupancy and limiter == "blocks":
        return f"small blocks hold occupancy to {percent(occupancy[1])}: use more threads per block"
    return "give each thread more independent work"


def _fewer_registers(facts: KernelFacts) -> tuple[float, int] | None:
    """Registers per thread now, and the most with which one more block fits on a multiprocessor."""
    known, threads = facts.numbers("registers_per_thread", "blocks_by_registers"), facts.size("block")
    if known is None or not threads:
        return None
    fewer = int(_REGISTERS / ((known[1] + 1) * threads)) // _SMALLEST_STEP * _SMALLEST_STEP
    return (known[0], fewer) if 0 < fewer < known[0] else None


def label(name: str) -> str:
    """A type of arithmetic as people write it: ``fp64_tc`` is FP64 tensor."""
    return PRECISIONS[name].label
