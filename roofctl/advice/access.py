"""How memory is accessed: coalescing, bank conflicts, atomics, local memory."""

from __future__ import annotations

from typing import Final

from roofctl.advice.finding import Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds
from roofctl.core.units import SECTOR_BYTES, WAVEFRONT_BYTES, percent

_REMEDY: Final = "let consecutive threads {} consecutive addresses"
_VERBS: Final = {"load": "read", "store": "write"}


def uncoalesced(facts: KernelFacts, limits: Thresholds, way: str) -> Finding | None:
    """Global loads or stores (``way``) that touch more sectors than they use.

    With the bytes used known, fewer than a threshold of each sector; without, only what
    even unit stride of the widest access cannot explain. Atomics are in neither class.
    """
    known = facts.numbers(f"l1_global_{way}_sectors", f"l1_global_{way}_requests", "l1_global_sectors")
    if known is None or not known[1] or known[0] < limits.finding_share * known[2]:
        return None
    sectors, per_request = known[0], known[0] / known[1]
    if per_request > limits.most_per_instruction:
        return None
    figures: dict[str, float | int] = {"sectors_per_request": per_request}
    used = _used_per_sector(facts, way, sectors)
    if used is None:
        if per_request <= limits.widest_unit_stride_sectors:
            return None
        how = "4 is unit stride of 4-byte elements, 16 of 16-byte ones"
    else:
        if per_request <= limits.unit_stride_sectors or used >= limits.used_bytes_per_sector:
            return None
        figures["used_bytes_per_sector"] = used
        how = f"4 is unit stride of 4-byte elements, and {used:.3g} of each sector's {SECTOR_BYTES} bytes are used"
    instructions = bool(facts.caveat(f"l1_global_{way}_requests"))
    unit = f"{way} instruction, asynchronous copies left out" if instructions else f"{way} request"
    text = (
        f"{per_request:.1f} sectors per {unit} ({how}): neighbouring threads {_VERBS[way]} far apart; "
        + _REMEDY.format(_VERBS[way])
    )
    return Finding(f"uncoalesced_{way}s", text, figures)


def _used_per_sector(facts: KernelFacts, way: str, sectors: float) -> float | None:
    """Bytes used per sector; None when unknown, or known to leave some out."""
    used = facts.number(f"global_{way}_used_bytes")
    return None if not used or "lower bound" in facts.caveat(f"global_{way}_used_bytes") else used / sectors


def bank_conflicts(facts: KernelFacts, limits: Thresholds, way: str) -> Finding | None:
    """Shared-memory loads or stores (``way``) with more wavefronts than any access without conflict needs."""
    names = (f"shared_{way}_wavefronts", f"shared_{way}_instructions", "l1_transactions")
    known = facts.numbers(*names)
    if known is None or not known[1] or _other_instructions(facts, limits, way):
        return None
    wavefronts, instructions, transactions = known
    hardware = bool(facts.caveat(names[0]))
    certain = wavefronts / (limits.wavefront_overcount if hardware else 1) / instructions
    share = WAVEFRONT_BYTES // SECTOR_BYTES * wavefronts / transactions if transactions else 0
    if not limits.widest_conflict_free_wavefronts < certain <= limits.most_per_instruction:
        return None
    if share < limits.finding_share:
        return None
    per_instruction = wavefronts / instructions
    counter = ", by a counter up to 8% too high" if hardware else ""
    text = (
        f"{per_instruction:.1f} wavefronts per shared-memory {way} (1 for 4-byte elements without conflict, "
        f"4 for 16-byte ones{counter}): bank conflicts; pad the rows by one element (tile[32][33]), "
        "or permute the columns"
    )
    return Finding(f"bank_conflicts_{way}s", text, {"wavefronts_per_instruction": per_instruction, "l1_share": share})


def _other_instructions(facts: KernelFacts, limits: Thresholds, way: str) -> bool:
    """Whether wavefronts come from instructions that were not counted beside them.

    Matrix loads (LDSM) of tensor kernels are no plain loads, and asynchronous copies store without a store
    instruction; requests above load instructions show those.
    """
    tensor = facts.tensor_operations()
    name = facts.text("function") or facts.text("kernel")
    if any(tensor.values()) or (not tensor and limits.matrix_names.search(name)):
        return True
    loads = facts.numbers("l1_global_load_requests", "global_load_instructions")
    return way == "store" and loads is not None and loads[0] > loads[1]


def atomics(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Atomics and reductions that make much of the global traffic at L1."""
    known = facts.numbers("l1_global_atomic_sectors", "l1_global_sectors")
    if known is None or not known[1] or known[0] < limits.atomics_share * known[1]:
        return None
    # A kernel whose data come by bulk copies has few global sectors, and those of its scheduler say nothing.
    # Where they pass L1's counters by, its total is not known and L2's stands for it.
    of_l1 = facts.number("l1_transactions")
    everything = facts.number("l2_transactions") if of_l1 is None else of_l1
    if everything is not None and known[0] < limits.finding_share * everything:
        return None
    share = known[0] / known[1]
    text = (
        f"{percent(share)} of L1's global sectors are atomics and reductions (a reduction counts one per lane, also on "
        "one address): combine values within the warp or block first, then update memory once"
    )
    return Finding("atomics", text, {"atomic_share": share})


def local_memory(facts: KernelFacts, limits: Thresholds) -> Finding | None:
    """Spilled registers and local arrays that make much of the traffic at L1."""
    # The total traffic of L1 is unknown where bulk copies bypass it: the sectors counted are no share of it.
    known = facts.numbers("l1_local_sectors", "l1_global_sectors", "l1_transactions")
    if known is None or not known[0] or known[0] < limits.local_share * sum(known[:2]):
        return None
    share = known[0] / sum(known[:2])
    text = (
        f"{percent(share)} of L1's global and local sectors are local memory: spilled registers, or arrays indexed at "
        "run time; allow more registers per thread, or unroll the loops that index them"
    )
    return Finding("local_memory", text, {"local_share": share})
