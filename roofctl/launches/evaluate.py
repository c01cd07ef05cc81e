"""The frame contract: one row per launch (or per summary of launches), one column per quantity.

Readers hand over *parts*: frames whose columns are counters in SI base units. ``evaluate``
turns counters into quantities as the catalogue says. A value that is missing stays
missing (``pd.NA``); nothing is 0 by default.

Columns of a part's frame:

========================  =========================================================
``kernel``                full demangled name, the identity
``process``               process that launched it, or None
``block``, ``grid``       launch shape as ``(x, y, z)``, or None
``device``                device name as the driver says it, or None
``compute_capability``    such as ``9.0``, or None
``launches``              launches that the row stands for (1, or a summary's count)
``is_summary``            whether the row is a summary
counters                  Int64 while whole, else Float64; mean per launch
``min:X`` ``max:X``       a summary's smallest and largest value of counter X
``total:X``               a summary's sum of counter X
========================  =========================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import pandas as pd

from roofctl.core.errors import InputError
from roofctl.quantities import Catalogue, Quantity, Recipe, catalogue

IDENTITY: Final = ("kernel", "process", "block", "grid", "device", "compute_capability")

SECTION_OF_TIME: Final = ("seconds", "sm_clock_hz")
"""Quantities that must come from one run together: a time belongs to its clock."""

CLOCKS_BESIDE: Final = ("l2_clock_hz", "memory_clock_hz")
"""Clocks that go with the run whose time is used, but that no time needs: a file without them is whole."""

_FACTS: Final = (
    *("gpu__time", "sm__cycles", "smsp__cycles", "sm__maximum_warps", "smsp__maximum_warps"),
    *("lts__cycles", "dram__cycles", "device__", "launch__", "profiler__", "numa__", "nvlink__", "c2clink__"),
)
"""Beginnings of columns that say when and where, not what: times, clocks, device and launch."""

PASSED_BY: Final = "not counted: L2 got more from the multiprocessors than L1 counted (bulk copies by TMA, or textures)"
"""Why L1 traffic is missing where ``l1_was_passed_by``."""

_STRAY_L2_SECTORS: Final = 100_000
"""Instruction and constant fetches that an all-sources L2 counter shows for a kernel without data traffic."""

_L1_TO_L2_TOLERANCE: Final = 1.05


@dataclass(frozen=True)
class Note:
    """Something the user should know: a ``warning``, or a ``detail`` shown only with -v."""

    text: str
    warning: bool = False
    detail: bool = False


@dataclass(frozen=True)
class Part:
    """Counters of one profiler run as one file holds them; ``names`` are all counters that had a value."""

    frame: pd.DataFrame
    source: str
    names: frozenset[str]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Evaluated:
    """A part with its quantities.

    ``frame`` has the identity columns, ``launches``, ``is_summary`` and one column per
    quantity that could be made (``seconds_min``, ``seconds_max``, ``seconds_total`` too,
    where a summary gives them). ``caveats`` and ``missing`` are texts per quantity.
    ``patched``: some counter of this part runs with patched instructions, so its time is suspect.
    ``counters`` are those that count work, known to roofctl or not.
    """

    frame: pd.DataFrame
    source: str
    caveats: Mapping[str, str]
    missing: Mapping[str, str]
    patched: bool
    counters: frozenset[str]

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantities that this part has, in the catalogue's order."""
        return tuple(name for name in catalogue().quantities if name in self.frame.columns)


def counts_work(counter: str) -> bool:
    """Whether a counter says what a kernel did, not only when, where, or on which device."""
    return not counter.startswith(_FACTS)


def l1_was_passed_by(l1: float, l2: float, shared_wavefronts: float, *, exact: bool, bulk_copy: bool) -> bool:
    """Whether traffic went past L1's counters, as bulk copies (TMA) and textures do; all in transactions per launch.

    Sectors pass L1 at most once each, so on chips with a bulk copy engine an ``exact`` L2 count
    above L1's says that some traffic was not counted; on any chip, none at L1 with some at L2 does.
    """
    sectors = l1 - 4 * shared_wavefronts
    idle = sectors == 0 and l2 > (0 if exact else _STRAY_L2_SECTORS)
    return idle or (exact and bulk_copy and l2 > sectors * _L1_TO_L2_TOLERANCE + _STRAY_L2_SECTORS)


def check_frame(frame: pd.DataFrame) -> None:
    """Raise InputError when a frame breaks the contract above (a reader's fault, named)."""
    lacking = [name for name in (*IDENTITY, "launches", "is_summary") if name not in frame.columns]
    if lacking:
        raise InputError(f"the frame lacks {', '.join(lacking)}", hint="this is a fault of roofctl's reader: report it")
    if frame["kernel"].isna().any() or (frame["launches"] < 1).any():
        raise InputError("a row has no kernel name or no launches", hint="the file may be damaged: capture again")


def complete(parts: Sequence[Part]) -> list[Part]:
    """Parts with those put together that hold different counters of the same launches, as runs of a few counters do.

    What a quantity is made of may then stand in several files. Parts with a time or a clock stay
    as they are: times of different runs are told apart, never mixed.
    """
    timed = _counters_of(catalogue(), SECTION_OF_TIME)
    result: list[Part] = []
    homes: dict[tuple[tuple[str, ...], ...], list[int]] = {}  # by the launches, so that a thousand files are no million
    for part in parts:
        if timed & part.names or not _work(part):
            result.append(part)
            continue
        candidates = homes.setdefault(tuple(sorted(_rows(part.frame))), [])
        index = next((i for i in candidates if not _work(result[i]) & _work(part)), None)
        if index is None:
            candidates.append(len(result))
            result.append(part)
        else:
            result[index] = _joined(result[index], part)
    return result


def _work(part: Part) -> frozenset[str]:
    return frozenset(filter(counts_work, part.names))


def _rows(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """What each row stands for: kernel, launch shape, launches, and which of several alike it is."""
    alike = frame[["kernel", "block", "grid", "launches"]].astype(str)
    order = alike.groupby(list(alike.columns), sort=False).cumcount().astype(str)
    return list(alike.assign(order=order).itertuples(index=False, name=None))


def _joined(one: Part, two: Part) -> Part:
    position = {row: index for index, row in enumerate(_rows(two.frame))}
    more = two.frame.iloc[[position[row] for row in _rows(one.frame)]].set_index(one.frame.index)
    frame = pd.concat([one.frame, more[[name for name in more.columns if name not in one.frame.columns]]], axis=1)
    for name in ("device", "compute_capability"):
        frame[name] = frame[name].where(frame[name].notna(), more[name])
    sources = ", ".join(dict.fromkeys((*one.source.split(", "), *two.source.split(", "))))
    return Part(frame, sources, one.names | two.names, (*one.notes, *two.notes))


@dataclass(frozen=True)
class _Given:
    """What quantities are made of: counters by launch, those of them with a value, the chip, and who counted."""

    frame: pd.DataFrame
    chip: str | None
    profiler: str
    valued: frozenset[str]

    def has(self, counters: Iterable[str]) -> bool:
        """Whether each of the counters has a value in some launch."""
        return self.valued.issuperset(counters)


def _valued(frame: pd.DataFrame) -> frozenset[str]:
    return frozenset(str(name) for name, column in frame.items() if not column.array.isna().all())


def evaluate(part: Part, chip: str | None) -> Evaluated:
    """Quantities of a part, on a chip (None when unknown), by the best recipe that its counters allow.

    The first recipe without a caveat wins, else the first that can be made. Raises
    InputError when the frame breaks its contract.
    """
    check_frame(part.frame)
    known = catalogue()
    columns: dict[str, pd.Series] = {}
    caveats: dict[str, str] = {}
    missing: dict[str, str] = {}
    patched = any(known.patched(name) for name in part.names)
    given = _Given(part.frame, chip, _profiler(part.names), _valued(part.frame))
    for quantity in known.quantities.values():
        made = _from_counters(given, quantity, patched=patched) or _from_quantities(columns, caveats, quantity)
        if made is None:
            missing[quantity.name] = _why_missing(quantity, given)
            continue
        values, caveat = made
        columns[quantity.name] = values
        if caveat:
            caveats[quantity.name] = caveat
    columns.update(_spread(given, known.quantities["seconds"], columns))
    fixed = {name: part.frame[name] for name in (*IDENTITY, "launches", "is_summary")}
    return Evaluated(
        frame=pd.DataFrame({**fixed, **columns}, index=part.frame.index, copy=False),
        source=part.source,
        caveats=caveats,
        missing=missing,
        patched=patched,
        counters=frozenset(filter(counts_work, part.names)) - _counters_of(known, SECTION_OF_TIME),
    )


def _counters_of(known: Catalogue, names: Sequence[str]) -> frozenset[str]:
    return frozenset(c for name in names for recipe in known.quantities[name].recipes for c in recipe.counters)


def _from_counters(given: _Given, quantity: Quantity, *, patched: bool) -> tuple[pd.Series, str] | None:
    possible = [r for r in quantity.recipes if given.has(r.counters) and r.holds_on(given.chip)]
    if not possible:
        return None
    recipe = next((r for r in possible if not r.caveat(given.chip, patched=patched)), possible[0])
    return _apply(given, recipe), recipe.caveat(given.chip, patched=patched)


def _apply(given: _Given, recipe: Recipe) -> pd.Series:
    frame = given.frame
    first, *rest = recipe.counters
    if recipe.operation == "quotient":
        below = frame[rest[0]].astype("Float64")
        return frame[first].astype("Float64") / below.where(below != 0)
    if recipe.operation == "product":
        return (frame[first].astype("Float64") * frame[rest[0]].astype("Float64")).round()
    weights = dict(recipe.counters)
    weights.update({name: weight for name, weight in recipe.optional.items() if name in given.valued})
    total = weighted_sum({name: frame[name] for name in weights}, weights)
    return total if recipe.divisor == 1 else divide_exactly(total, recipe.divisor)


def weighted_sum(columns: Mapping[str, pd.Series], weights: Mapping[str, int]) -> pd.Series:
    """Row by row: sum of weight x value; missing where any value is missing. Whole numbers stay Int64."""
    terms = [columns[name] if weight == 1 else columns[name] * weight for name, weight in weights.items()]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def divide_exactly(values: pd.Series, divisor: int) -> pd.Series:
    """``values / divisor``, as Int64 when every one is whole and divisible."""
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
        candidates.append((weighted_sum(columns, composition.quantities), caveat))
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
        return f"{given.profiler} has no counter for it"
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
        return [p for p in parts if not any(given.has(r.counters) for r in known.quantities[p].recipes)]

    def countable(parts: Iterable[str]) -> bool:
        return all(any(r.profiler == given.profiler for r in known.quantities[p].recipes) for p in parts)

    possible = [c for c in quantity.compositions if countable(c.quantities)] or quantity.compositions
    fewest = min((lacking(c.quantities) for c in possible), key=len)
    return "; ".join(_why_missing(known.quantities[name], given) for name in fewest)


def _listed(counters: Sequence[str]) -> str:
    """Counters in words; a family of ncu that differs in its last part only is named once."""
    stem = os.path.commonprefix(list(counters))
    if len(counters) > 1 and "_" in stem and all(counter.endswith(".sum") for counter in counters):
        cut = stem.rindex("_") + 1
        return stem[:cut] + "{" + ",".join(counter[cut:].removesuffix(".sum") for counter in counters) + "}.sum"
    *others, last = counters
    return f"{', '.join(others)} and {last}" if others else last


def _profiler(names: frozenset[str]) -> str:
    """Profiler whose spelling the counters have: ncu's hold a double underscore or are labels of its details page."""
    return "ncu" if names & _labels() or any("__" in name for name in names) else "nvprof"


@cache
def _labels() -> frozenset[str]:
    """Counters of ncu that the catalogue knows."""
    recipes = (recipe for quantity in catalogue().quantities.values() for recipe in quantity.recipes)
    return frozenset(counter for recipe in recipes if recipe.profiler == "ncu" for counter in recipe.counters)
