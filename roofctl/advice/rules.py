"""The rules of advice in their order. Pure: reads no file but the thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from roofctl.advice import access, arithmetic, bounds, lanes, library, loads, size
from roofctl.advice.finding import Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds, thresholds

_RULES: Final[tuple[Callable[[KernelFacts, Thresholds], Finding | None], ...]] = (
    library.names,
    bounds.resource,
    size.launch,
    size.grid,
    size.tail,
    bounds.latency,
    loads.untiled_product,
    loads.narrow_loads,
    loads.leaves_l2,
    partial(access.uncoalesced, way="load"),
    partial(access.uncoalesced, way="store"),
    partial(access.bank_conflicts, way="load"),
    partial(access.bank_conflicts, way="store"),
    access.local_memory,
    access.atomics,
    lanes.divergence,
    lanes.predication,
    arithmetic.tensor_unused,
)
"""Most important first: what the name says, the limit, access to memory, lanes, kind of arithmetic."""

_OF_ALIGNMENT: Final = frozenset(
    f"{kind}_{way}s" for kind in ("uncoalesced", "bank_conflicts") for way in ("load", "store")
) | {"l1_bound", "shared_bound", "lsu_bound"}
"""What follows from unaligned rows in a product of a library, whose code the user does not write."""


def advise(facts: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Findings on a kernel, most important first; none whose numbers are not all there.

    ``facts`` holds numbers per launch (means) by name, in SI units: quantities of the catalogue, and what the
    analysis knows beside them (``limit``, ``uses``, ``stalls``, ``of_flop_peak``, ``blocks``, ``caveats``, ...).
    None, nan and absence mean unknown. Raises InputError when the shipped thresholds are at fault.
    """
    known, limits = KernelFacts(facts), thresholds()
    # Of a kernel that ends before the next can start nothing else is worth changing.
    rules = (size.launch,) if known.text("limit") == "launch" else _RULES
    findings = [finding for rule in rules if (finding := rule(known, limits))]
    unaligned = any(finding.kind == "unaligned_product" for finding in findings)
    return tuple(finding for finding in findings if not (unaligned and finding.kind in _OF_ALIGNMENT))


def moves_constants(facts: Mapping[str, Any]) -> bool:
    """Whether the half-precision instructions are as few, and of the one kind, that compilers move constants with."""
    return KernelFacts(facts).is_constant_moves(thresholds().constant_moves_share)
