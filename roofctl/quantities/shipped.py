"""The shipped catalogue from the YAML of this folder, checked; the tables themselves are the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from roofctl.quantities.catalogue import DIMENSIONS, PROFILERS, Absence, Catalogue, Chip, Composition, Quantity, Recipe
from roofctl.quantities.documents import document, fault


@cache
def shipped() -> Catalogue:
    """The shipped catalogue, read once."""
    tables = {profiler: document(f"{profiler}.yaml") for profiler in PROFILERS}
    tree = document("quantities.yaml")
    chips = _chips()
    recipes: dict[str, list[Recipe]] = {}
    absences: list[Absence] = []
    patched: list[str] = []
    for profiler, table in tables.items():
        patched.extend(table["patched_prefixes"])
        absences.extend(
            Absence(profiler, tuple(entry["counters"]), frozenset(entry["chips"]), entry["why"])
            for entry in table["absent"]
        )
        for name, entries in table["quantities"].items():
            made = [_recipe(profiler, name, entry, chips, tree["quantities"]) for entry in entries]
            # Of derived ones rates are nearest to counts.
            rates = _of_rates(table.get("rates", {}), name, made)
            recipes.setdefault(name, []).extend(sorted([*rates, *made], key=lambda each: bool(each.derived)))
    sets = _sets(tree)
    quantities = {
        name: _quantity(name, entry, tuple(recipes.pop(name, ())), sets[name])
        for name, entry in tree["quantities"].items()
    }
    if recipes:
        raise fault(
            ", ".join(f"{profiler}.yaml" for profiler in PROFILERS),
            ", ".join(recipes),
            "names declared in quantities.yaml",
        )
    _check_compositions(quantities)
    ncu = tables["ncu"]
    return Catalogue(
        quantities, chips, tuple(patched), tuple(absences), labels=ncu["labels"], percentages=ncu["percentages"]
    )


def _sets(tree: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Metric sets of each quantity, those among them that are made of others."""
    sets = {name: list(entry["sets"]) for name, entry in tree["quantities"].items()}
    for combined, entry in tree["combined"].items():
        members = {name for name, of in sets.items() if set(of) & set(entry["sets"])} | set(entry["and"])
        if unknown := (members | set(entry["without"])) - sets.keys():
            raise fault("quantities.yaml", f"{combined}: {sorted(unknown)}", "names of quantities")
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


def _of_rates(rates: Mapping[str, Any], quantity: str, recipes: Sequence[Recipe]) -> Iterator[Recipe]:
    """The recipes of a quantity that take a rate of each counter instead of the counter itself."""
    for rate, entry in rates.items():
        for recipe in recipes if quantity in entry["of"] else ():
            names = {f"{name}.{rate}": weight for name, weight in recipe.counters.items()}
            if recipe.operation == "sum" and not (recipe.by or recipe.factors or recipe.derived):
                for by in entry["by"]:
                    counters, factors = _divided(by)
                    yield replace(
                        recipe, counters=names, optional={}, by=counters, factors=factors, derived=entry["derived"]
                    )


def _divided(by: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Counters and quantities among names: only those of counters have two underscores together."""
    return tuple(name for name in by if "__" in name), tuple(name for name in by if "__" not in name)


def _recipe(
    profiler: str, quantity: str, entry: dict[str, Any], chips: Mapping[str, Chip], known: Mapping[str, Any]
) -> Recipe:
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
        "derived",
        "rounded",
    }
    operations = [key for key in ("sum", "quotient", "product") if key in entry]
    if set(entry) - allowed or len(operations) != 1:
        raise fault(f"{profiler}.yaml", f"{quantity}: keys {sorted(entry)}", "one of sum, quotient, product")
    only = entry.get("chips", [])
    if unknown := [chip for chip in only if chip not in chips]:
        raise fault(f"{profiler}.yaml", f"{quantity}: chips {unknown}", "chips of chips.yaml")
    by, factors = _divided(entry.get("by", ()))
    if unknown := [name for name in factors if name not in known]:
        raise fault(f"{profiler}.yaml", f"{quantity}: by {unknown}", "counters, or names of quantities.yaml")
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
        by=by,
        factors=factors,
        derived=entry.get("derived", ""),
        rounded=entry.get("rounded", ""),
    )


def _quantity(name: str, entry: dict[str, Any], recipes: tuple[Recipe, ...], sets: tuple[str, ...]) -> Quantity:
    if entry["dimension"] not in DIMENSIONS:
        raise fault("quantities.yaml", f"{name}: dimension {entry['dimension']!r}", f"one of {sorted(DIMENSIONS)}")
    compositions = tuple(
        Composition(c["sum"], c.get("caveat", ""), c.get("optional", {})) for c in entry.get("compose", ())
    )
    if not recipes and not compositions:
        raise fault("quantities.yaml", f"{name} without a recipe", "one in ncu.yaml or nvprof.yaml")
    unless = tuple(entry.get("unless", ()))
    texts = entry.get("missing", ""), entry.get("less", "")
    counted = tuple(recipe for recipe in recipes if not recipe.derived)
    derived = tuple(recipe for recipe in recipes if recipe.derived)
    return Quantity(
        name, entry["dimension"], entry["meaning"], sets, unless, counted, compositions, *texts, derived=derived
    )


def _check_compositions(quantities: Mapping[str, Quantity]) -> None:
    for name, part in _parts(quantities):
        if part not in quantities or quantities[part].compositions:
            raise fault("quantities.yaml", f"{name} composed of {part}", "quantities made of counters")


def _parts(quantities: Mapping[str, Quantity]) -> Iterator[tuple[str, str]]:
    for quantity in quantities.values():
        for composition in quantity.compositions:
            for part in (*composition.quantities, *composition.optional):
                yield quantity.name, part
