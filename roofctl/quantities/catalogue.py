"""What the catalogue holds: chips, recipes, quantities, and which counters make each quantity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from roofctl.core.errors import InputError
from roofctl.quantities.device import device_counters
from roofctl.quantities.formula import Formula

PROFILERS: Final = ("ncu", "nvprof", "nsys")
DIMENSIONS: Final = frozenset({"seconds", "hertz", "count", "fraction", "ratio"})
"""A ``fraction`` is the used part of what a unit sustains: its mean over launches is weighted by their time."""


@dataclass(frozen=True)
class Chip:
    """A chip under the profiler's name, such as ``gh100``.

    ``devices``: a regular expression for names of devices that have it, where the compute capability does not
    tell it from another chip; empty elsewhere.
    """

    name: str
    generation: str
    compute_capabilities: tuple[str, ...]
    partitioned_l2: bool
    bulk_copy: bool
    nvprof: bool
    devices: str = ""


@dataclass(frozen=True)
class Recipe:
    """One way to make a quantity from counters of one profiler.

    ``counters`` maps names to weights; the weighted sum is divided by ``divisor``.
    ``operation`` is ``sum``, or ``quotient``/``product`` of exactly two counters. A sum of rates is multiplied by the
    counters of ``by`` and the quantities of ``factors``, such as the cycles of the launch. ``derived``: what it is made
    of where it is not counted; ``rounded``: the caveat where that is printed rounded. ``formula`` is that of the
    operation of this name, which the user's own quantities have. ``collect``: asked for instead of
    the first recipe that the chip has; ``collect_in``: the same in these metric sets only.
    ``chips``: the only ones on which it is right; empty where it is on all.
    """

    profiler: str
    operation: str
    counters: Mapping[str, int]
    optional: Mapping[str, int]
    divisor: int
    caveats: Mapping[str, str]
    patched_caveat: str
    collect: bool
    chips: frozenset[str] = frozenset()
    collect_in: frozenset[str] = frozenset()
    by: tuple[str, ...] = ()
    formula: Formula | None = None
    factors: tuple[str, ...] = ()
    derived: str = ""
    rounded: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """All counters without which it cannot be made."""
        return (*self.counters, *self.by)

    def holds_on(self, chip: str | None) -> bool:
        """Whether it is right on ``chip``; on an unknown one (None) a recipe of certain chips is not."""
        return not self.chips or chip in self.chips

    def caveat(self, chip: str | None, *, patched: bool = False, rounded: bool = False) -> str:
        """What a user must know when this recipe is used on ``chip``, ``rounded`` or not; empty when nothing."""
        derived = f"derived from {self.derived}" if self.derived else ""
        if rounded:
            derived = f"from {self.derived} that are printed rounded" if self.derived else self.rounded
        text = self.caveats.get(chip or "", self.caveats.get("default", self.patched_caveat if patched else ""))
        return "; ".join(filter(None, (derived, text)))


@dataclass(frozen=True)
class Composition:
    """One way to make a quantity from other quantities: sum of weight x quantity; ``optional`` where counted."""

    quantities: Mapping[str, int]
    caveat: str
    optional: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Quantity:
    """What roofctl means by a name, and every known way to make it.

    ``recipes`` are of what is counted; ``derived`` follow from rates and shares that a report holds instead.
    ``unless``: quantities whose sum it is; a capture that has them all need not collect it.
    ``missing``: text in front of the names of counters that were not captured; may be empty.
    ``less``: a quantity that its counters hold too, and that is subtracted where it was counted; may be empty.
    ``unit`` is that of a quantity of the user's own, empty for others. ``hidden``: made for others, in no output.
    ``quotient``: the quantities whose sums over launches are divided; of a ratio without, the mean is over time.
    """

    name: str
    dimension: str
    meaning: str
    sets: tuple[str, ...]
    unless: tuple[str, ...]
    recipes: tuple[Recipe, ...]
    compositions: tuple[Composition, ...]
    missing: str = ""
    less: str = ""
    unit: str = ""
    hidden: bool = False
    quotient: tuple[str, str] | None = None
    derived: tuple[Recipe, ...] = ()

    @property
    def ways(self) -> tuple[Recipe, ...]:
        """All recipes, those of what is counted first."""
        return (*self.recipes, *self.derived)

    @property
    def additive(self) -> bool:
        """Whether a sum over launches means anything: of times and counts, not of clocks and ratios."""
        return self.dimension in ("seconds", "count")


@dataclass(frozen=True)
class Absence:
    profiler: str
    counters: tuple[str, ...]
    chips: frozenset[str]
    why: str

    def covers(self, counter: str) -> bool:
        counter = counter.removesuffix(".peak_sustained")
        return any(
            counter.startswith(pattern[:-1]) if pattern.endswith("*") else counter == pattern
            for pattern in self.counters
        )


@dataclass(frozen=True)
class Catalogue:
    """All quantities, chips and absences."""

    quantities: Mapping[str, Quantity]
    chips: Mapping[str, Chip]
    patched_prefixes: tuple[str, ...]
    absences: tuple[Absence, ...]
    levels: Mapping[str, str] = field(default_factory=dict)
    """Memory levels of the user's own: the quantity of each, which has its name, and its label."""

    @property
    def own(self) -> tuple[Quantity, ...]:
        """Quantities of the user's own, in the order of the files."""
        return tuple(each for each in self.quantities.values() if each.unit and not each.hidden)

    @property
    def shown(self) -> Mapping[str, Quantity]:
        """All but those that are made for others."""
        return {name: each for name, each in self.quantities.items() if not each.hidden}

    labels: Mapping[str, str] = field(default_factory=dict)
    percentages: Mapping[str, str] = field(default_factory=dict)
    """What pages call a metric, and its name; the second where the unit is a percentage."""

    def counters(self) -> frozenset[str]:
        """Every counter that some quantity can use, or that describes the GPU; readers need no other column."""
        return frozenset(device_counters().dimensions).union(
            name
            for quantity in self.quantities.values()
            for recipe in quantity.ways
            for name in (*recipe.needs, *recipe.optional)
        )

    def rounded(self) -> frozenset[str]:
        """Counters of which a user must know where they are printed with few digits."""
        recipes = (recipe for quantity in self.quantities.values() for recipe in quantity.ways)
        return frozenset(name for recipe in recipes if recipe.derived or recipe.rounded for name in recipe.needs)

    def counters_of(self, quantities: Iterable[str]) -> frozenset[str]:
        """Counters that the recipes of these quantities require."""
        return frozenset(
            counter for name in quantities for recipe in self.quantities[name].recipes for counter in recipe.counters
        )

    def dimension_of(self, counter: str) -> str | None:
        """Dimension that the unit of ``counter`` must have, or None for ratios and counters inside them."""
        for quantity in self.quantities.values():
            for recipe in () if quantity.unit else quantity.recipes:
                whole = recipe.operation == "sum" or quantity.dimension == "fraction"
                if whole and (counter in recipe.counters or counter in recipe.optional):
                    return None if quantity.dimension == "ratio" else quantity.dimension
        return device_counters().dimensions.get(counter)

    def absent(self, counter: str, chip: str, profiler: str) -> str | None:
        """Why ``chip`` lacks ``counter``, or None when it has it (or nothing is known against it)."""
        return next(
            (a.why for a in self.absences if a.profiler == profiler and chip in a.chips and a.covers(counter)), None
        )

    def available(self, recipe: Recipe, chip: str | None) -> bool:
        """Whether the recipe holds on ``chip`` (None when unknown) and nothing is known against its counters there."""
        return recipe.holds_on(chip) and all(
            self.absent(name, chip or "", recipe.profiler) is None for name in recipe.counters
        )

    def chip_of(self, compute_capability: str | None, device: str = "") -> str | None:
        """Chip of a compute capability such as ``9.0`` and a device's name; None when unknown or not given.

        Of several chips it is the one whose ``devices`` fit the name, else the first.
        """
        fitting = [chip for chip in self.chips.values() if compute_capability in chip.compute_capabilities]
        named = [chip for chip in fitting if chip.devices and re.search(chip.devices, device)]
        return next((chip.name for chip in (*named, *fitting)), None)

    def chip(self, name: str) -> Chip:
        """A chip by name, in any case. Raises InputError that lists the known ones."""
        chip = self.chips.get(name.strip().lower())
        if chip is None:
            raise InputError(f"no chip called {name!r}", hint=f"known chips: {', '.join(self.chips)}")
        return chip

    def patched(self, counter: str) -> bool:
        """Whether ``counter`` needs a pass with patched instructions."""
        return counter.startswith(self.patched_prefixes)
