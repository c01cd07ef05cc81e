"""Loads and checks the YAML of this folder; the tables themselves are the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

import yaml

from roofctl.core.errors import InputError

PROFILERS: Final = ("ncu", "nvprof")
DIMENSIONS: Final = frozenset({"seconds", "hertz", "count", "fraction", "ratio"})
"""A ``fraction`` is the used part of what a unit sustains: its mean over launches is weighted by their time."""
_SCHEMA: Final = 1
# The one in C takes a tenth of the time; a PyYAML built without it has only the other.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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
    counters of ``by``, such as the clocks of the launch. ``collect``: asked for instead of
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

    @property
    def needs(self) -> tuple[str, ...]:
        """All counters without which it cannot be made."""
        return (*self.counters, *self.by)

    def holds_on(self, chip: str | None) -> bool:
        """Whether it is right on ``chip``; on an unknown one (None) a recipe of certain chips is not."""
        return not self.chips or chip in self.chips

    def caveat(self, chip: str | None, *, patched: bool = False) -> str:
        """What a user must know when this recipe is used on ``chip``; empty when nothing."""
        return self.caveats.get(chip or "", self.caveats.get("default", self.patched_caveat if patched else ""))


@dataclass(frozen=True)
class Composition:
    """One way to make a quantity from other quantities: sum of weight x quantity; ``optional`` where counted."""

    quantities: Mapping[str, int]
    caveat: str
    optional: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Quantity:
    """What roofctl means by a name, and every known way to make it.

    ``unless``: quantities whose sum it is; a capture that has them all need not collect it.
    ``missing``: text in front of the names of counters that were not captured; may be empty.
    ``less``: a quantity that its counters hold too, and that is subtracted where it was counted; may be empty.
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

    @property
    def additive(self) -> bool:
        """Whether a sum over launches means anything: of times and counts, not of clocks and ratios."""
        return self.dimension in ("seconds", "count")


@dataclass(frozen=True)
class _Absence:
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
    absences: tuple[_Absence, ...]

    def counters(self) -> frozenset[str]:
        """Every counter that some quantity can use; readers need no other column."""
        return frozenset(
            name
            for quantity in self.quantities.values()
            for recipe in quantity.recipes
            for name in (*recipe.needs, *recipe.optional)
        )

    def counters_of(self, quantities: Iterable[str]) -> frozenset[str]:
        """Counters that the recipes of these quantities require."""
        return frozenset(
            counter for name in quantities for recipe in self.quantities[name].recipes for counter in recipe.counters
        )

    def dimension_of(self, counter: str) -> str | None:
        """Dimension that the unit of ``counter`` must have, or None for ratios and counters inside them."""
        for quantity in self.quantities.values():
            for recipe in quantity.recipes:
                whole = (recipe.operation == "sum" and not recipe.by) or quantity.dimension == "fraction"
                if whole and (counter in recipe.counters or counter in recipe.optional):
                    return None if quantity.dimension == "ratio" else quantity.dimension
        return None

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


@cache
def catalogue() -> Catalogue:
    """The shipped catalogue, read once. A fault in the shipped YAML raises InputError naming file and key."""
    tables = {profiler: document(f"{profiler}.yaml") for profiler in PROFILERS}
    chips = _chips()
    recipes: dict[str, list[Recipe]] = {}
    absences: list[_Absence] = []
    patched: list[str] = []
    for profiler, table in tables.items():
        patched.extend(table["patched_prefixes"])
        absences.extend(
            _Absence(profiler, tuple(entry["counters"]), frozenset(entry["chips"]), entry["why"])
            for entry in table["absent"]
        )
        for name, entries in table["quantities"].items():
            recipes.setdefault(name, []).extend(_recipe(profiler, name, entry, chips) for entry in entries)
    tree = document("quantities.yaml")
    sets = _sets(tree)
    quantities = {
        name: _quantity(name, entry, tuple(recipes.pop(name, ())), sets[name])
        for name, entry in tree["quantities"].items()
    }
    if recipes:
        raise _fault("ncu.yaml, nvprof.yaml", ", ".join(recipes), "names declared in quantities.yaml")
    _check_compositions(quantities)
    return Catalogue(quantities, chips, tuple(patched), tuple(absences))


def document(name: str) -> dict[str, Any]:
    """One YAML file of this folder. Raises InputError when its schema is not the one known here."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    tree: dict[str, Any] = yaml.load(text, _LOADER)  # noqa: S506 - both are safe
    if tree.get("schema") != _SCHEMA:
        raise _fault(name, f"schema {tree.get('schema')!r}", f"schema {_SCHEMA}")
    return tree


def _fault(file: str, seen: str, expected: str) -> InputError:
    return InputError(f"{file}: {seen}; expected {expected}", hint="reinstall roofctl, or report this")


def _sets(tree: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Metric sets of each quantity, those among them that are made of others."""
    sets = {name: list(entry["sets"]) for name, entry in tree["quantities"].items()}
    for combined, entry in tree["combined"].items():
        members = {name for name, of in sets.items() if set(of) & set(entry["sets"])} | set(entry["and"])
        if unknown := (members | set(entry["without"])) - sets.keys():
            raise _fault("quantities.yaml", f"{combined}: {sorted(unknown)}", "names of quantities")
        for name in members - set(entry["without"]):
            sets[name].append(combined)
    return {name: tuple(of) for name, of in sets.items()}


def _chips() -> dict[str, Chip]:
    return {
        name: Chip(
            name,
            entry["generation"],
            tuple(entry["compute_capabilities"]),
            partitioned_l2=entry["partitioned_l2"],
            bulk_copy=entry["bulk_copy"],
            nvprof=entry["nvprof"],
            devices=entry.get("devices", ""),
        )
        for name, entry in document("chips.yaml")["chips"].items()
    }


def _recipe(profiler: str, quantity: str, entry: dict[str, Any], chips: Mapping[str, Chip]) -> Recipe:
    allowed = {
        "sum",
        "quotient",
        "product",
        "optional",
        "divisor",
        "caveat",
        "patched_caveat",
        "collect",
        "collect_in",
        "chips",
        "by",
    }
    operations = [key for key in ("sum", "quotient", "product") if key in entry]
    if set(entry) - allowed or len(operations) != 1:
        raise _fault(f"{profiler}.yaml", f"{quantity}: keys {sorted(entry)}", "one of sum, quotient, product")
    only = entry.get("chips", [])
    if unknown := [chip for chip in only if chip not in chips]:
        raise _fault(f"{profiler}.yaml", f"{quantity}: chips {unknown}", "chips of chips.yaml")
    operation = operations[0]
    counters = entry[operation]
    if operation != "sum":
        counters = dict.fromkeys(counters, 1)
    caveat = entry.get("caveat", {})
    return Recipe(
        profiler=profiler,
        operation=operation,
        counters=counters,
        optional=entry.get("optional", {}),
        divisor=entry.get("divisor", 1),
        caveats={"default": caveat} if isinstance(caveat, str) else caveat,
        patched_caveat=entry.get("patched_caveat", ""),
        collect=entry.get("collect", False),
        chips=frozenset(only),
        collect_in=frozenset(entry.get("collect_in", [])),
        by=tuple(entry.get("by", ())),
    )


def _quantity(name: str, entry: dict[str, Any], recipes: tuple[Recipe, ...], sets: tuple[str, ...]) -> Quantity:
    if entry["dimension"] not in DIMENSIONS:
        raise _fault("quantities.yaml", f"{name}: dimension {entry['dimension']!r}", f"one of {sorted(DIMENSIONS)}")
    compositions = tuple(
        Composition(c["sum"], c.get("caveat", ""), c.get("optional", {})) for c in entry.get("compose", ())
    )
    if not recipes and not compositions:
        raise _fault("quantities.yaml", f"{name} without a recipe", "one in ncu.yaml or nvprof.yaml")
    unless = tuple(entry.get("unless", ()))
    texts = entry.get("missing", ""), entry.get("less", "")
    return Quantity(name, entry["dimension"], entry["meaning"], sets, unless, recipes, compositions, *texts)


def _check_compositions(quantities: Mapping[str, Quantity]) -> None:
    for name, part in _parts(quantities):
        if part not in quantities or quantities[part].compositions:
            raise _fault("quantities.yaml", f"{name} composed of {part}", "quantities made of counters")


def _parts(quantities: Mapping[str, Quantity]) -> Iterator[tuple[str, str]]:
    for quantity in quantities.values():
        for composition in quantity.compositions:
            for part in (*composition.quantities, *composition.optional):
                yield quantity.name, part
