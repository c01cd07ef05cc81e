"""The catalogue as rows: what makes each quantity on one chip, and what is missing there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roofctl.quantities.catalogue import Catalogue, Quantity, Recipe
from roofctl.quantities.documents import document


def listing(known: Catalogue, chip: str, profiler: str, sets: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One row per quantity of the sets (all without sets).

    A row has name, meaning, sets, counters, a formula as text, whether it can be had, and a remark.
    """
    return [
        _row(known, quantity, chip, profiler)
        for quantity in known.shown.values()
        if not sets or set(sets) & set(quantity.sets)
    ]


def passes(chip: str, sets: Sequence[str]) -> str:
    """How often ncu replays each kernel for these sets on ``chip``, as text, with how that is known."""
    table = document("passes.yaml")
    measured = table["measured"].get(chip)
    seen = _of_sets(measured["passes"], sets) if measured else None
    if seen is not None:
        return f"{seen} (measured on {measured['gpu']} with ncu {measured['ncu']})"
    bound = _of_sets(table["at_least"].get(chip, {}), sets)
    if bound is None:
        return "not known for these sets on this chip"
    return f"at least {bound} (computed from NVIDIA's counter library; an H200 needed one more)"


def _of_sets(table: Mapping[str, int], sets: Sequence[str]) -> int | None:
    """The entry of ``table`` whose key joins just these sets, in any order."""
    return next((count for key, count in table.items() if set(key.split("+")) == set(sets)), None)


def _row(known: Catalogue, quantity: Quantity, chip: str, profiler: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "quantity": quantity.name,
        "meaning": quantity.meaning,
        "sets": list(quantity.sets),
        "counters": [],
        "formula": "",
        "available": True,
        "remark": "",
    }
    if quantity.compositions:
        row["formula"] = " or ".join(_formula(c.quantities) for c in quantity.compositions[:2])
        return row
    recipes = [recipe for recipe in quantity.recipes if recipe.profiler == profiler]
    recipe = next((r for r in recipes if known.available(r, chip)), None)
    if recipe is None:
        row.update(available=False, remark=_why_not(known, recipes, chip, profiler))
        return row
    row.update(counters=[*recipe.counters], formula=formula(recipe), remark=recipe.caveat(chip))
    return row


def _why_not(known: Catalogue, recipes: list[Recipe], chip: str, profiler: str) -> str:
    if not recipes:
        return f"{profiler} has no counter for it"
    reasons = (known.absent(counter, chip, profiler) for recipe in recipes for counter in recipe.counters)
    return "missing: " + next((reason for reason in reasons if reason), "")


def formula(recipe: Recipe) -> str:
    """A recipe as text: ``a + 4 x b``, ``(a + b) / 32``, ``a / b``."""
    if recipe.formula:
        return str(recipe.formula)
    if recipe.operation != "sum":
        return {"quotient": " / ", "product": " x "}[recipe.operation].join(recipe.counters)
    text = _formula(recipe.counters)
    if recipe.by:
        return " x ".join((f"({text})", *recipe.by))
    return text if recipe.divisor == 1 else f"({text}) / {recipe.divisor}"


def _formula(weights: Any) -> str:
    return " + ".join(name if weight == 1 else f"{weight} x {name}" for name, weight in weights.items())
