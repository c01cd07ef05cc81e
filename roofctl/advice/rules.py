"""The rules of advice in their order, and the verdict on a kernel. Pure: reads no file but the thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from roofctl.advice import access, arithmetic, bounds, lanes, size
from roofctl.advice.finding import Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds, thresholds

_RULES: Final[tuple[Callable[[KernelFacts, Thresholds], Finding | None], ...]] = (
    bounds.memory_level,
    bounds.arithmetic,
    bounds.issue,
    size.launch,
    size.too_small,
    bounds.latency,
    size.tail,
    partial(access.uncoalesced, way="load"),
    partial(access.uncoalesced, way="store"),
    partial(access.bank_conflicts, way="load"),
    partial(access.bank_conflicts, way="store"),
    access.local_memory,
    access.atomics,
    lanes.divergence,
    lanes.predication,
    arithmetic.tensor_unused,
    arithmetic.constant_moves,
)
"""Most important first: what binds, the size of the launch, access to memory, lanes, kind of arithmetic."""


_SMALL: Final = frozenset({"launch_bound", "too_small"})


def advise(facts: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Findings on a kernel, most important first; none whose numbers are not all there.

    ``facts`` holds numbers per launch (means) by name, in SI units: quantities of the catalogue, and what the
    analysis knows beside them (``bound``, ``l1_of_roof``, ``gips``, ``of_flop_peak``, ``grid``, ``caveats``, ...).
    None, nan and absence mean unknown. Raises InputError when the shipped thresholds are at fault.
    """
    known, limits = KernelFacts(facts), thresholds()
    findings = tuple(finding for rule in _RULES if (finding := rule(known, limits)))
    # A launch too small for the GPU is why it is near no roof: one finding is enough.
    small = any(finding.kind in _SMALL for finding in findings)
    return tuple(finding for finding in findings if not (small and finding.kind == "latency_bound"))


def verdict(facts: Mapping[str, Any]) -> str:
    """One sentence on a kernel: what binds, how near its roof it is, and what is left; or why that is unknown."""
    return bounds.verdict(KernelFacts(facts), thresholds())


def moves_constants(facts: Mapping[str, Any]) -> bool:
    """Whether the half-precision instructions are as few, and of the one kind, that compilers move constants with."""
    return KernelFacts(facts).is_constant_moves(thresholds().constant_moves_share)


def near_roof() -> float:
    """The least fraction of a roof at which it counts as binding."""
    return thresholds().near_roof
