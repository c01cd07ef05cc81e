"""How many loads the work needs: narrow loads, products without register tiles, data that leave L2 before reuse."""

from __future__ import annotations

from typing import Final

from roofctl.advice.bounds import label
from roofctl.advice.finding import FP_TYPES, Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds
from roofctl.core.units import SECTOR_BYTES, WARP_THREADS, percent, prefixed

_OPERATIONS_OF_FMA: Final = {"fp64": 2, "fp32": 2, "fp16": 4}
_NARROW: Final = 4
_WIDE: Final = 16
_WAITS: Final = ("long_scoreboard", "lg_throttle")


def narrow_loads(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """A stream from memory by coalesced 4-byte loads, in a kernel that issues too many of them or waits for them."""
    known = facts.numbers(
        *("l1_global_load_sectors", "l1_global_load_requests", "global_load_used_bytes"),
        *("l1_global_store_requests", "issued_warp_instructions"),
    )
    streams = (facts.inside("uses", "hbm") or 0.0) >= limits.stream_hbm
    if known is None or not known[1] or not streams or facts.caveat("global_load_used_bytes"):
        return None
    sectors, requests, used, stores, issued = known
    per_thread, per_request, share = used / requests / WARP_THREADS, sectors / requests, (requests + stores) / issued
    if not (0.9 * _NARROW <= per_thread <= _NARROW and per_request <= limits.unit_stride_sectors * 1.1):
        return None
    text = (
        f"{per_thread:.0f}-byte loads ({per_request:.1f} sectors per request), {percent(share)} of the instructions "
        f"load or store: read {_WIDE} bytes at a time (float4, int4)"
    )
    figures = {"bytes_per_thread": per_thread, "sectors_per_request": per_request, "memory_instruction_share": share}
    limit = facts.text("limit")
    if limit in ("issue", "lsu") and share >= limits.memory_instructions:
        return Finding("narrow_loads", f"{text}, which takes a quarter of them", figures)
    if limit == "latency" and _waits_for_loads(facts):
        return Finding("narrow_loads", f"{text}, so that each load in flight brings four times as much", figures)
    return None


def _waits_for_loads(facts: KernelFacts) -> bool:
    """Whether memory is the busiest resource, and waiting for it the main stall."""
    uses, stalls = facts.table("uses"), facts.table("stalls")
    busiest = max(uses, key=lambda name: uses[name], default="")
    return busiest == "hbm" and max(stalls, key=lambda name: stalls[name], default="") in _WAITS


def untiled_product(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Multiply-adds that each need a load of their own, where loads are what limits the kernel."""
    if facts.text("limit") not in ("lsu", "l1", "shared"):
        return None
    work = facts.numbers(*(f"{name}_flops" for name in FP_TYPES), "thread_instructions")
    loads = facts.numbers("l1_global_load_sectors", "l1_global_load_requests", "shared_load_instructions")
    if work is None or loads is None or not work[-1]:
        return None
    fmas = {name: amount / _OPERATIONS_OF_FMA[name] for name, amount in zip(FP_TYPES, work, strict=False)}
    name, most = max(fmas.items(), key=lambda entry: entry[1])
    sectors, requests, shared = loads
    # Rows and columns of a product are read by neighbours or by all threads at one address: nothing is scattered.
    scattered = bool(requests) and sectors / requests > limits.unit_stride_sectors * 1.1
    if scattered or most < limits.untiled_fma_share * work[-1]:
        return None
    per_fma = (requests + shared) * WARP_THREADS / most
    if not limits.loads_per_fma <= per_fma <= _MOST_LOADS:
        return None
    text = (
        f"{per_fma:.2g} loads for each {label(name)} multiply-add: where results share operands, as in a product of "
        "matrices, let each thread compute a tile of them in registers (4 x 4: 8 loads serve 16 multiply-adds)"
    )
    return Finding("untiled_product", text, {"loads_per_fma": per_fma, "fma_share": most / work[-1]})


_MOST_LOADS: Final = 4
"""More loads than this for a multiply-add are no product of matrices."""


def leaves_l2(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Reads that miss L2, of many times its size, in a kernel that memory limits and whose other reads are reuse."""
    known = facts.numbers("l2_read_sectors", "l2_read_misses", "l2_bytes")
    memory = facts.text("limit") == "hbm" or (facts.text("limit") == "latency" and _waits_for_loads(facts))
    if known is None or not known[1] or not memory:
        return None
    reads, misses, size = known
    volume = misses * SECTOR_BYTES
    if misses < limits.l2_misses * reads or volume < limits.l2_volume * size or reads < limits.l2_reuse * misses:
        return None
    text = (
        f"{percent(misses / reads)} of L2's reads miss: {prefixed(volume, 'B', 3)} a launch, {volume / size:.0f} times "
        f"the L2 of {prefixed(size, 'B', 3)}; what is used again after so much has left it: work in blocks that fit, "
        "order accesses by address, or keep what is used most (cudaAccessPolicyWindow)"
    )
    return Finding("l2_thrash", text, {"read_miss_share": misses / reads, "missed_bytes": volume, "l2_bytes": size})
