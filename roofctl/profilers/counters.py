"""Which counters to ask for: from the quantities of the metric sets, on a chip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from roofctl.core.errors import InputError
from roofctl.quantities import Catalogue, Quantity, Recipe, catalogue

ALL_SETS: Final = "all"

ALWAYS: Final = frozenset({"seconds", "sm_clock_hz"})
"""Quantities that every set needs: counts say nothing without a time, and a time little without its clock."""


@dataclass(frozen=True)
class Selected:
    """Counters in the order of the catalogue, each once; why quantities were left out; the recipes."""

    counters: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    recipes: tuple[tuple[str, Recipe], ...]


def known_sets() -> tuple[str, ...]:
    """Names of the metric sets, in the catalogue's order."""
    return tuple(dict.fromkeys(name for quantity in catalogue().quantities.values() for name in quantity.sets))


def check_sets(sets: Sequence[str]) -> tuple[str, ...]:
    """The sets with ``all`` written out, each once. Raises InputError for one that does not exist."""
    known = known_sets()
    unknown = [name for name in sets if name not in (*known, ALL_SETS)]
    if unknown:
        raise InputError(f"no metric set called {unknown[0]!r}", hint=f"known sets: {', '.join(known)}, {ALL_SETS}")
    return known if ALL_SETS in sets else tuple(dict.fromkeys(sets))


def select(
    profiler: str,
    chip: str | None,
    sets: Sequence[str],
    askable: Callable[[str], bool],
    given: frozenset[str] = frozenset(),
) -> Selected:
    """Counters for the sets on a chip (None: nothing is known against any counter).

    Per quantity the recipe with ``collect``, else the first one that the chip has, with its optional counters.
    ``askable`` is False for titles of columns, which are no counters; ``given`` are columns that come unasked.
    """
    known = catalogue()
    wanted = set(check_sets(sets))
    names = [q.name for q in known.quantities.values() if wanted & set(q.sets) or q.name in ALWAYS]
    chooser = _Chooser(known, profiler, chip or "", askable, frozenset(wanted))
    possible = {name: recipe for name in known.quantities if (recipe := chooser.recipe(known.quantities[name]))}
    composed = [known.quantities[name] for name in names if known.quantities[name].compositions]
    chosen, spared = _with_parts([name for name in names if name in possible], composed, possible)
    left_out = tuple(
        (name, chooser.why_not(known.quantities[name]))
        for name in names
        if name not in possible
        and name not in spared
        and (chooser.known_to_profiler(known.quantities[name]) or known.quantities[name].unit)
        and not known.quantities[name].hidden
        and not known.quantities[name].compositions
        and not chooser.comes_anyway(known.quantities[name], given)
    )
    spare = {name for name in chosen if (others := known.quantities[name].unless) and chosen.issuperset(others)}
    recipes = tuple((name, possible[name]) for name in known.quantities if name in chosen - spare)
    counters = [name for _, recipe in recipes for name in recipe.counters]
    return Selected(tuple(dict.fromkeys(counters)), left_out, recipes)


def _with_parts(
    names: Sequence[str], composed: Sequence[Quantity], possible: Mapping[str, Recipe]
) -> tuple[set[str], set[str]]:
    """The names, and the parts that a composed quantity still lacks; and parts that are not missed.

    nvprof cannot count all L1 sectors at once, as ncu does: there L1 is made of their kinds.
    """
    chosen = set(names)
    spared: set[str] = set()
    for quantity in composed:
        ways = [c for c in quantity.compositions if possible.keys() >= c.quantities.keys()]
        if not ways:
            continue
        if not any(chosen >= c.quantities.keys() for c in ways):
            chosen |= ways[0].quantities.keys()
        spared |= {part for c in quantity.compositions for part in c.quantities}
    return chosen, spared


@dataclass(frozen=True)
class _Chooser:
    """Recipes of one profiler on one chip."""

    known: Catalogue
    profiler: str
    chip: str
    askable: Callable[[str], bool]
    sets: frozenset[str]

    def recipe(self, quantity: Quantity) -> Recipe | None:
        """The recipe to collect, or None when there is none here."""
        possible = [recipe for recipe in self._recipes(quantity) if self.known.available(recipe, self.chip)]
        preferred = (recipe for recipe in possible if recipe.collect or self.sets <= recipe.collect_in)
        return next(preferred, possible[0] if possible else None)

    def known_to_profiler(self, quantity: Quantity) -> bool:
        """Whether this profiler counts it on some chip."""
        return any(recipe.profiler == self.profiler for recipe in quantity.recipes)

    def why_not(self, quantity: Quantity) -> str:
        """Why there is no recipe here."""
        names = [name for recipe in self._recipes(quantity) for name in recipe.counters]
        reasons = (self.known.absent(name, self.chip, self.profiler) for name in names)
        return next((reason for reason in reasons if reason), f"{self.profiler} has no counter for it")

    def comes_anyway(self, quantity: Quantity, given: frozenset[str]) -> bool:
        """Whether the profiler gives it without being asked."""
        return any(r.profiler == self.profiler and given.issuperset(r.counters) for r in quantity.recipes)

    def _recipes(self, quantity: Quantity) -> list[Recipe]:
        return [r for r in quantity.recipes if r.profiler == self.profiler and all(map(self.askable, r.counters))]
