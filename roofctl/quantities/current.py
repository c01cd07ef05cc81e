"""The catalogue in force: the shipped one, and quantities of the user's own from files that ``use`` names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from roofctl.quantities.catalogue import Catalogue, Quantity, Recipe
from roofctl.quantities.formula import Formula
from roofctl.quantities.own import SET, OwnQuantity, load_own
from roofctl.quantities.shipped import shipped

VARIABLE: Final = "ROOFCTL_QUANTITIES"
"""Names the files of the user's own quantities for this process and those that it starts."""


def use(paths: Iterable[Path]) -> None:
    """Take the user's own quantities from these files, and from no others, in every look-up from now on.

    Raises InputError for the first fault in them.
    """
    files = [str(path.absolute()) for path in paths]
    os.environ.pop(VARIABLE, None)
    if files:
        load_own(map(Path, files), shipped().quantities)
        os.environ[VARIABLE] = os.pathsep.join(files)


def catalogue() -> Catalogue:
    """The shipped catalogue and the user's own quantities. A fault in a file raises InputError naming file and key."""
    return _extended(os.environ.get(VARIABLE, ""))


@cache
def _extended(files: str) -> Catalogue:
    known = shipped()
    if not files:
        return known
    own = load_own([Path(file) for file in files.split(os.pathsep) if file], known.quantities)
    quantities = {each.name: each for quantity in own for each in _of_own(quantity)}
    levels = {quantity.name: quantity.level for quantity in own if quantity.level}
    return replace(known, quantities={**known.quantities, **quantities}, levels=levels)


def _of_own(own: OwnQuantity) -> Iterator[Quantity]:
    """The quantity, and those that are made for it: transactions of a level, and both sides of a quotient."""
    sides: dict[str, dict[str, Formula]] = {}
    if own.dimension == "ratio" and all(formula.quotient for formula in own.formulas.values()):
        for place, side in enumerate(("above", "below")):
            parts = {
                profiler: formula.quotient[place] for profiler, formula in own.formulas.items() if formula.quotient
            }
            sides[f"{own.name}:{side}"] = parts
    quotient = (f"{own.name}:above", f"{own.name}:below") if sides else None
    yield _own_quantity(own, own.name, own.dimension, own.formulas, quotient=quotient)
    if own.level:
        yield _own_quantity(own, f"{own.name}_transactions", "count", own.transactions(), hidden=True)
    for name, formulas in sides.items():
        yield _own_quantity(own, name, "count", formulas, hidden=True)


def _own_quantity(
    own: OwnQuantity,
    name: str,
    dimension: str,
    formulas: Mapping[str, Formula],
    *,
    hidden: bool = False,
    quotient: tuple[str, str] | None = None,
) -> Quantity:
    recipes = tuple(
        Recipe(profiler, "formula", dict.fromkeys(formula.counters, 1), {}, 1, {}, "", collect=False, formula=formula)
        for profiler, formula in formulas.items()
    )
    meaning = own.meaning or f"of {', '.join(str(formula) for formula in own.formulas.values())}"
    return Quantity(name, dimension, meaning, (SET,), (), recipes, (), unit=own.unit, hidden=hidden, quotient=quotient)
