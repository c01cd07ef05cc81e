"""From counters to quantities: the launch table, by the recipes of the catalogue."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np
import pandas as pd

from roofctl.core.notes import Note
from roofctl.launches.join import captures_of, complete
from roofctl.launches.table import IDENTITY, TIME_AND_CLOCK, LaunchTable, Part, PartInfo, check_frame, counts_work
from roofctl.quantities import Quantity, Recipe, catalogue
from roofctl.quantities.formula import Formula

PASSED_BY: Final = "not counted: L2 got more from the multiprocessors than L1 counted (bulk copies by TMA, or textures)"
"""Why L1 traffic is missing where ``l1_was_passed_by``."""

_STRAY_L2_SECTORS: Final = 100_000
"""Instruction and constant fetches that an all-sources L2 counter shows for a kernel without data traffic."""

_L1_TO_L2_TOLERANCE: Final = 1.05


def l1_was_passed_by(l1: float, l2: float, shared_wavefronts: float, *, exact: bool, bulk_copy: bool) -> bool:
    """Whether traffic went past L1's counters, as bulk copies (TMA) and textures do; all in transactions per launch.

    Sectors pass L1 at most once each, so on chips with a bulk copy engine an ``exact`` L2 count
    above L1's says that some traffic was not counted; on any chip, none at L1 with some at L2 does.
    """
    sectors = l1 - 4 * shared_wavefronts
    idle = sectors == 0 and l2 > (0 if exact else _STRAY_L2_SECTORS)
    return idle or (exact and bulk_copy and l2 > sectors * _L1_TO_L2_TOLERANCE + _STRAY_L2_SECTORS)


@dataclass(frozen=True)
class _Given:
    """What quantities are made of: counters by launch, those of them with a value, the chip, and who counted.

    ``columns`` and ``caveats`` are of the quantities that were made before.
    """

    frame: pd.DataFrame
    chip: str | None
    profiler: str
    valued: frozenset[str]
    columns: Mapping[str, pd.Series]
    caveats: Mapping[str, str]

    def has(self, counters: Iterable[str]) -> bool:
        """Whether each of the counters has a value in some launch."""
        return self.valued.issuperset(counters)

    def factors(self, recipe: Recipe) -> list[pd.Series]:
        """What a sum of rates is multiplied by."""
        return [*(self.frame[name] for name in recipe.by), *(self.columns[name] for name in recipe.factors)]

    def steps(self, names: Iterable[str]) -> dict[str, pd.Series]:
        """By how much counters may be off because they were printed with few digits."""
        none = pd.Series(0.0, index=self.frame.index)
        return {
            name: self.frame[f"step:{name}"].fillna(0.0) if f"step:{name}" in self.frame else none for name in names
        }


def _valued(frame: pd.DataFrame) -> frozenset[str]:
    return frozenset(str(name) for name, column in frame.items() if not column.array.isna().all())


def launch_table(parts: Sequence[Part], chip: str | None) -> LaunchTable:
    """The launch table of parts, by the best recipe that the counters of each allow on ``chip`` (None when unknown).

    The first recipe without a caveat is used, else the first that can be made. Parts with the same counters are
    evaluated together. Raises InputError when a frame breaks its contract.
    """
    parts = complete(parts)
    kinds: dict[tuple[object, ...], list[int]] = {}
    for index, part in enumerate(parts):
        check_frame(part.frame)
        kinds.setdefault((_columns(part.frame), part.names, _valued(part.frame)), []).append(index)
    frames: list[pd.DataFrame] = []
    infos: dict[int, PartInfo] = {}
    for members in kinds.values():
        frame, info = _evaluate([parts[index] for index in members], chip)
        rows = [len(parts[index].frame) for index in members]
        frames.append(frame.assign(part=np.repeat(np.array(members, dtype="int32"), rows)))
        infos.update({index: replace(info, source=parts[index].source) for index in members})
    table = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    if len(frames) > 1:
        table = table.iloc[np.argsort(table["part"].to_numpy(), kind="stable")].reset_index(drop=True)
    ordered = tuple(infos[index] for index in range(len(parts)))
    captures = captures_of(ordered)
    number = np.empty(len(parts), dtype="int32")
    for capture, indices in enumerate(captures):
        number[list(indices)] = capture
    return LaunchTable(table.assign(capture=number[table["part"].to_numpy()]), ordered, captures)


def _columns(frame: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    """Counters of a frame with their types: parts that have the same ones are evaluated together."""
    return tuple((str(name), str(dtype)) for name, dtype in frame.dtypes.items() if name not in IDENTITY)


def _evaluate(parts: Sequence[Part], chip: str | None) -> tuple[pd.DataFrame, PartInfo]:
    """Identity and quantities of parts that have the same counters, row by row, and what holds for all of them."""
    known = catalogue()
    counters = parts[0].frame if len(parts) == 1 else pd.concat([part.frame for part in parts], ignore_index=True)
    names = parts[0].names
    columns: dict[str, pd.Series] = {}
    caveats: dict[str, str] = {}
    missing: dict[str, str] = {}
    patched = any(known.patched(name) for name in names)
    counters, notes = _without_odd_means(counters)
    given = _Given(counters, chip, _profiler(names), _valued(counters), columns, caveats)
    # Those made of others come last: their parts may stand anywhere.
    for quantity in sorted(known.quantities.values(), key=lambda each: bool(each.compositions)):
        made = _from_counters(given, quantity, patched=patched) or _from_quantities(columns, caveats, quantity)
        if made is None:
            missing[quantity.name] = _why_missing(quantity, given)
            continue
        columns[quantity.name], caveat = made
        if caveat:
            caveats[quantity.name] = caveat
    for name in list(columns):
        if (less := known.quantities[name].less) in columns:
            columns[name] = columns[name] - columns[less]
    quantities = tuple(name for name in known.quantities if name in columns)
    columns = {name: columns[name] for name in quantities}
    if "seconds" in columns and (zero := (columns["seconds"] == 0).fillna(value=False)).any():
        # A profiler prints 0 for a launch that it did not measure.
        columns["seconds"] = columns["seconds"].mask(zero)
        missing["seconds"] = "its time is 0, which no launch takes"
    columns.update(_spread(given, known.quantities["seconds"], columns))
    fixed = {name: counters[name] for name in (*IDENTITY, "launches", "is_summary")}
    frame = pd.DataFrame({**fixed, **columns}, index=counters.index, copy=False).reset_index(drop=True)
    work = frozenset(filter(counts_work, names)) - known.counters_of(TIME_AND_CLOCK)
    return frame, PartInfo("", quantities, caveats, missing, patched, work, notes, given.profiler)


_OUTSIDE: Final = 1e-3
"""Part by which a mean may lie outside its ends: profilers round all three."""


def _without_odd_means(counters: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """Counters without the means of a summary that lie outside their own smallest and largest value, and a warning."""
    odd: dict[str, int] = {}
    for name in [str(column).removeprefix("min:") for column in counters if str(column).startswith("min:")]:
        if not {name, f"max:{name}"} <= set(counters.columns):
            continue
        low, mean, high = (counters[f"{end}{name}"].astype("Float64") for end in ("min:", "", "max:"))
        outside = ((mean < low * (1 - _OUTSIDE)) | (mean > high * (1 + _OUTSIDE))).fillna(value=False).astype(bool)
        if f"total:{name}" in counters:  # a sum that gives the mean says that the ends are wrong
            of_total = counters[f"total:{name}"].astype("Float64") / counters["launches"]
            outside &= ((of_total / mean - 1).abs() > _OUTSIDE).fillna(value=True).astype(bool)
        if outside.any():
            odd[name] = int(outside.sum())
            counters = counters.assign(**{name: counters[name].mask(outside)})
    if not odd:
        return counters, ()
    listed = ", ".join(f"{name} ({count})" for name, count in odd.items())
    text = f"means outside their own smallest and largest value are left out: {listed}"
    return counters, (Note(text, warning=True),)


def _from_counters(given: _Given, quantity: Quantity, *, patched: bool) -> tuple[pd.Series, str] | None:
    # Names of nvprof can stand in a file of ncu and mean something else: its source page has some of them.
    own = [r for r in quantity.ways if r.profiler == given.profiler]
    possible = [
        r for r in own if given.has(r.needs) and given.columns.keys() >= {*r.factors} and r.holds_on(given.chip)
    ]
    best: tuple[Recipe, str] | None = None
    for recipe in possible:
        caveat = _caveat(given, recipe, patched=patched)
        best = best if best and caveat else (recipe, caveat)
        if not caveat:
            break
    return best and (_apply(given, best[0], counted=quantity.dimension == "count"), best[1])


def _caveat(given: _Given, recipe: Recipe, *, patched: bool) -> str:
    rounded = bool(recipe.derived or recipe.rounded) and _is_rounded(given, recipe)
    inherited = [given.caveats[name] for name in recipe.factors if name in given.caveats]
    return "; ".join(filter(None, (recipe.caveat(given.chip, patched=patched, rounded=rounded), *inherited)))


_ROUNDED: Final = 1e-4
"""Part by which a value may be off for few digits that is worth a word."""


def _is_rounded(given: _Given, recipe: Recipe) -> bool:
    """Whether some value by a recipe is off by more than ``_ROUNDED`` because its counters were printed rounded."""
    if not any(f"step:{name}" in given.frame for name in recipe.needs):
        return False
    values = {name: given.frame[name].astype("Float64") for name in recipe.needs}
    steps = given.steps(recipe.needs)
    off = pd.Series(0.0, index=given.frame.index, dtype="Float64")
    alone = recipe.by
    if recipe.operation == "sum":
        total = weighted_sum({name: values[name] for name in recipe.counters}, recipe.counters)
        off = weighted_sum({name: steps[name] for name in recipe.counters}, recipe.counters) / total.where(total != 0)
    else:
        alone = (*recipe.counters, *recipe.by)
    for name in alone:
        off = off + steps[name] / values[name].where(values[name] != 0)
    return bool((off > _ROUNDED).fillna(value=False).any())


def _apply(given: _Given, recipe: Recipe, *, counted: bool) -> pd.Series:
    """The quantity by a recipe; one that is ``counted`` is an integer but for rounding."""
    frame = given.frame
    if recipe.formula:
        return _by_formula(frame, recipe.formula)
    first, *rest = recipe.counters
    if recipe.operation == "quotient":
        below = frame[rest[0]].astype("Float64")
        return frame[first].astype("Float64") / below.where(below != 0)
    if recipe.operation == "product":
        product = frame[first].astype("Float64") * frame[rest[0]].astype("Float64")
        return product.round() if counted else product
    weights = dict(recipe.counters)
    weights.update({name: weight for name, weight in recipe.optional.items() if name in given.valued})
    total = weighted_sum({name: frame[name] for name in weights}, weights)
    if factors := given.factors(recipe):
        for factor in factors:
            total = total.astype("Float64") * factor.astype("Float64")
        return (total / recipe.divisor).round()
    return total if recipe.divisor == 1 else divide_exactly(total, recipe.divisor)


def _by_formula(frame: pd.DataFrame, formula: Formula) -> pd.Series:
    """Row by row the result of a formula; missing where a counter is, and for a quotient by 0. Integers stay Int64."""

    def divide(above: Any, below: Any) -> Any:
        if not isinstance(below, pd.Series):
            if isinstance(above, pd.Series) and isinstance(below, int) and below > 0:
                return divide_exactly(above, below)
            return above / below if below else pd.Series(pd.NA, frame.index, dtype="Float64")
        whole = below.astype("Float64")
        return (above.astype("Float64") if isinstance(above, pd.Series) else above) / whole.where(whole != 0)

    return formula.value(lambda counter: frame[counter], divide)


def weighted_sum(columns: Mapping[str, pd.Series], weights: Mapping[str, int]) -> pd.Series:
    """Row by row: sum of weight x value; missing where any value is missing. Integers stay Int64."""
    terms = [columns[name] if weight == 1 else columns[name] * weight for name, weight in weights.items()]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def divide_exactly(values: pd.Series, divisor: int) -> pd.Series:
    """``values / divisor``, as Int64 when every quotient is an integer."""
    if values.dtype == "Int64" and bool((values.dropna() % divisor == 0).all()):
        return values // divisor
    return values.astype("Float64") / divisor


def _from_quantities(
    columns: Mapping[str, pd.Series], caveats: Mapping[str, str], quantity: Quantity
) -> tuple[pd.Series, str] | None:
    candidates: list[tuple[pd.Series, str]] = []
    for composition in quantity.compositions:
        if not all(name in columns for name in composition.quantities):
            continue
        inherited = [caveats[name] for name in composition.quantities if name in caveats]
        caveat = "; ".join(text for text in (composition.caveat, *inherited) if text)
        optional = {name: weight for name, weight in composition.optional.items() if name in columns}
        candidates.append((weighted_sum(columns, {**composition.quantities, **optional}), caveat))
    return next((c for c in candidates if not c[1]), candidates[0] if candidates else None)


def _spread(given: _Given, seconds: Quantity, columns: Mapping[str, pd.Series]) -> dict[str, pd.Series]:
    """Smallest, largest and total time of summary rows, where the time is a single counter."""
    if "seconds" not in columns:
        return {}
    frame = given.frame
    for recipe in seconds.recipes:
        counter = next(iter(recipe.counters))
        if recipe.operation == "sum" and f"min:{counter}" in frame.columns and counter in given.valued:
            low, high = (frame[f"{end}:{counter}"].astype("Float64") for end in ("min", "max"))
            # Each column of a summary may have its own unit; where they do not fit each other, none is trusted.
            ordered = (low <= columns["seconds"]) & (columns["seconds"] <= high)
            spread = {"seconds_min": low.where(ordered), "seconds_max": high.where(ordered)}
            if f"total:{counter}" in frame.columns:
                spread["seconds_total"] = frame[f"total:{counter}"].astype("Float64")
            return spread
    return {}


def _why_missing(quantity: Quantity, given: _Given) -> str:
    """One phrase: which counter is not there, on which chip, and what would give it."""
    if quantity.compositions:
        return _why_not_composed(quantity, given)
    known = catalogue()
    empty = [c for r in quantity.recipes for c in r.counters if c not in given.valued and c in given.frame.columns]
    if empty:
        return f"{empty[0]} has no value in any launch (n/a or nan)"
    recipes = [r for r in quantity.recipes if r.profiler == given.profiler]
    if not recipes:
        return f"{given.profiler} {'counts nothing' if given.profiler == 'nsys' else 'has no counter for it'}"
    wanted = next((r for r in recipes if known.available(r, given.chip)), None)
    if wanted is None:
        reasons = (known.absent(counter, given.chip or "", given.profiler) for counter in recipes[0].counters)
        return f"{given.chip} cannot count it: {next((why for why in reasons if why), '')}"
    lacking = f"{_listed([c for c in wanted.counters if c not in given.valued])} not captured"
    return f"{quantity.missing} ({lacking})" if quantity.missing else lacking


def _why_not_composed(quantity: Quantity, given: _Given) -> str:
    """The reason by the composition that lacks the fewest parts, of those that this profiler can make."""
    known = catalogue()

    def lacking(parts: Iterable[str]) -> list[str]:
        return [p for p in parts if not any(given.has(r.needs) for r in known.quantities[p].ways)]

    def countable(parts: Iterable[str]) -> bool:
        return all(any(r.profiler == given.profiler for r in known.quantities[p].recipes) for p in parts)

    possible = [c for c in quantity.compositions if countable(c.quantities)] or quantity.compositions
    fewest = min((lacking(c.quantities) for c in possible), key=len)
    return "; ".join(dict.fromkeys(_why_missing(known.quantities[name], given) for name in fewest))


def _listed(counters: Sequence[str]) -> str:
    """Counters as text; a family of ncu that differs in its last part only is named once."""
    stem = os.path.commonprefix(list(counters))
    if len(counters) > 1 and "_" in stem and all(counter.endswith(".sum") for counter in counters):
        cut = stem.rindex("_") + 1
        return stem[:cut] + "{" + ",".join(counter[cut:].removesuffix(".sum") for counter in counters) + "}.sum"
    *others, last = counters
    return f"{', '.join(others)} and {last}" if others else last


def _profiler(names: frozenset[str]) -> str:
    """Profiler whose spelling the counters have: ncu's hold a double underscore, or are labels of its pages."""
    if names and names <= _counters("nsys"):
        return "nsys"
    own = _counters("nvprof") - _counters("ncu")
    return "ncu" if any("__" in name or (" " in name and name not in own) for name in names) else "nvprof"


@cache
def _counters(profiler: str) -> frozenset[str]:
    """Counters of a profiler that the catalogue knows."""
    recipes = (recipe for quantity in catalogue().quantities.values() for recipe in quantity.ways)
    return frozenset(counter for recipe in recipes if recipe.profiler == profiler for counter in recipe.counters)
