"""From launches to kernels: join the parts of one capture, aggregate launches, keep the spread.

Sum counts and times over launches, then divide: rates and ratios are never averaged.
Times of different captures are never put together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import pandas as pd

from roofctl.core.errors import InputError
from roofctl.core.kernel_names import base_name, some
from roofctl.launches.evaluate import CLOCKS_BESIDE, SECTION_OF_TIME, Evaluated, Note
from roofctl.launches.groups import Column, Groups
from roofctl.quantities import catalogue

Group = Literal["kernel", "kernel+grid", "launch"]

_ENDS: Final = ("min", "max", "total")

_FITS: Final = 2.0**62
"""Sums above this leave Int64 for Float64."""

_SURELY_FITS: Final = 2**61
"""Below this, however a sum of floats is rounded."""


@dataclass(frozen=True)
class Kernels:
    """One capture, aggregated.

    ``frame``: ``kernel``, ``block``, ``grid``, ``launches``, and per quantity X the columns
    ``X`` (mean per launch), ``X_min``, ``X_max`` and ``caveat:X``, ``X_total`` of times and counts, ``X_median``
    of the time and its clock.
    A median that cannot be known (from a summary of several launches) is missing.
    ``missing`` says per quantity why no kernel has it.
    """

    frame: pd.DataFrame
    sources: tuple[str, ...]
    missing: dict[str, str]
    notes: tuple[Note, ...]

    def has(self, quantity: str) -> bool:
        """Whether some kernel has ``quantity``."""
        return quantity in self.frame.columns


def group_captures(parts: Sequence[Evaluated], group: Group) -> list[Kernels]:
    """Captures among ``parts`` (several files may hold one), each aggregated by ``group``.

    Parts are put together when they complete each other (nvprof's metrics, events and
    timing); parts that count the same thing are separate captures.
    """
    return [_merge(members, group) for members in capture_members(parts)]


def stands_alone(part: Evaluated) -> bool:
    """Whether a part has a time and instructions: with another such part it never makes one capture."""
    names = part.quantities
    return "seconds" in names and ("thread_instructions" in names or "issued_warp_instructions" in names)


def _conflict(one: Evaluated, two: Evaluated) -> bool:
    """Whether two parts count the same thing and so belong to different captures."""
    if stands_alone(one) and stands_alone(two):
        return True
    known = catalogue().quantities
    counted = [{n for n in part.quantities if known[n].dimension == "count"} - {"sm_count"} for part in (one, two)]
    if counted[0] or counted[1]:
        # A better recipe beside a worse one completes it; two of the same worth are two captures.
        return any(bool(one.caveats.get(n)) == bool(two.caveats.get(n)) for n in counted[0] & counted[1])
    if one.counters or two.counters:
        return bool(one.counters & two.counters)
    return "seconds" in one.quantities and "seconds" in two.quantities


def capture_members(parts: Sequence[Evaluated]) -> list[list[Evaluated]]:
    """Parts by capture: each joins the first that it has no conflict with.

    Whether two parts conflict follows from what they count. Parts of one kind go on where the last of them ended,
    and each two kinds are compared once: a thousand files of one kind are no million comparisons.
    """
    captures: list[list[Evaluated]] = []
    kinds_in: list[set[int]] = []
    number: dict[tuple[frozenset[str], frozenset[str], frozenset[str]], int] = {}
    example: list[Evaluated] = []
    begin: list[int] = []  # per kind: all captures before this one conflict with it, and will
    conflicts: dict[tuple[int, int], bool] = {}

    def conflict(one: int, two: int) -> bool:
        if (one, two) not in conflicts:
            conflicts[one, two] = _conflict(example[one], example[two])
        return conflicts[one, two]

    for part in parts:
        kind = number.setdefault(_kind(part), len(number))
        if kind == len(example):
            example.append(part)
            begin.append(0)
        while begin[kind] < len(captures) and any(conflict(kind, other) for other in kinds_in[begin[kind]]):
            begin[kind] += 1
        if begin[kind] == len(captures):
            captures.append([])
            kinds_in.append(set())
        captures[begin[kind]].append(part)
        kinds_in[begin[kind]].add(kind)
    return captures


def _kind(part: Evaluated) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """All that ``_conflict`` looks at."""
    caveats = frozenset(name for name, text in part.caveats.items() if text)
    return frozenset(part.quantities), caveats, part.counters


def group_stack(part: Evaluated, capture: pd.Series, sources: Sequence[str], group: Group) -> list[Kernels]:
    """As ``group_captures`` for many captures in one part, each of one file and all alike: in one go.

    ``capture`` numbers the captures, row by row in their order; ``sources`` name them. No value may be missing,
    and no sum of counts beyond what a float holds exactly.
    """
    notes: list[Note] = []
    keys = _keys([part], group, notes)
    frame = part.frame.assign(capture=capture.to_numpy())
    table = _aggregate(replace(part, frame=frame), ["capture", *keys], notes).reset_index()
    bounds = table["capture"].searchsorted(range(len(sources) + 1))
    table = table.drop(columns="capture")
    return [
        Kernels(table.iloc[begin:end].reset_index(drop=True), (source,), dict(part.missing), tuple(notes))
        for source, begin, end in zip(sources, bounds, bounds[1:], strict=False)
    ]


def _merge(parts: Sequence[Evaluated], group: Group) -> Kernels:
    notes: list[Note] = []
    keys = _keys(parts, group, notes)
    tables = [_aggregate(part, keys, notes) for part in parts]
    timed = _time_order(parts)
    frame = tables[0] if len(tables) == 1 else _joined(parts, tables, timed)
    _note_times(parts, timed, tables, notes)
    # The file that counted most knows best what is not there.
    richest = max(parts, key=lambda part: len(part.counters))
    missing = {name: reason for name, reason in richest.missing.items() if all(name in part.missing for part in parts)}
    for part in parts:
        missing.update({n: r for n, r in part.missing.items() if n in missing and "has no value" in r})
    sources = tuple(dict.fromkeys(part.source for part in parts))
    return Kernels(frame.reset_index(), sources, missing, tuple(notes))


def _joined(parts: Sequence[Evaluated], tables: Sequence[pd.DataFrame], timed: Sequence[int]) -> pd.DataFrame:
    """The tables of several parts as one: each value from the part that is to be trusted most."""
    index = tables[0].index
    for table in tables[1:]:
        index = index.union(table.index, sort=False)
    columns = {}
    for name in _all_columns(tables):
        order = timed if _belongs_to_time(name) else _caveat_order(parts, name)
        columns[name] = _first_known([tables[i] for i in order], name, index)
    return pd.DataFrame(columns, index=index)


def _keys(parts: Sequence[Evaluated], group: Group, notes: list[Note]) -> list[str]:
    if group == "launch" and any(bool(part.frame["is_summary"].any()) for part in parts):
        raise InputError(
            f"{parts[0].source} is a summary: single launches cannot be told apart in it",
            hint="use --group kernel, or capture without --print-summary (nvprof: --print-gpu-trace)",
        )
    shaped = all(bool(part.frame["grid"].notna().all()) for part in parts)
    if group == "kernel+grid" and not shaped:
        notes.append(Note("launch shapes are not in every file, so launches are grouped by kernel only", warning=True))
    if group == "launch":
        return ["kernel", "occurrence"]
    return ["kernel", "grid", "block"] if group == "kernel+grid" and shaped else ["kernel"]


def _belongs_to_time(column: str) -> bool:
    return column == "launches" or column.removeprefix("caveat:").startswith((*SECTION_OF_TIME, *CLOCKS_BESIDE))


def _time_order(parts: Sequence[Evaluated]) -> list[int]:
    """Indices of parts, the one whose time is to be trusted first: unpatched before patched."""
    timed = [i for i, part in enumerate(parts) if "seconds" in part.quantities]
    rest = [i for i in range(len(parts)) if i not in timed]
    return [*sorted(timed, key=lambda i: (parts[i].patched, bool(parts[i].caveats.get("seconds")))), *rest]


def _caveat_order(parts: Sequence[Evaluated], column: str) -> list[int]:
    stem = column.removeprefix("caveat:")
    name = next((q for q in catalogue().quantities if stem == q or stem.startswith(q + "_")), stem)
    return sorted(range(len(parts)), key=lambda i: bool(parts[i].caveats.get(name)))


def _all_columns(tables: Sequence[pd.DataFrame]) -> list[str]:
    return list(dict.fromkeys(column for table in tables for column in table.columns))


def _first_known(tables: Sequence[pd.DataFrame], name: str, index: pd.Index) -> pd.Series:
    """``name`` from the first table that has a value for a kernel, then from the next."""
    having = [table[name].reindex(index) for table in tables if name in table.columns]
    result = having[0]
    for series in having[1:]:
        if series.notna().any():
            result = result.where(result.notna(), series) if result.notna().any() else series
    return result


def _note_times(
    parts: Sequence[Evaluated], timed: Sequence[int], tables: Sequence[pd.DataFrame], notes: list[Note]
) -> None:
    with_time = [i for i in timed if "seconds" in parts[i].quantities]
    if len(with_time) > 1:
        chosen, *others = with_time
        why = (
            ", without patched instructions"
            if any(parts[i].patched for i in others) and not parts[chosen].patched
            else ""
        )
        notes.append(Note(f"times are those of {parts[chosen].source}{why}; the other runs' times are left out"))
    counts = {part.source: table["launches"].sum() for part, table in zip(parts, tables, strict=True)}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count} in {source}" for source, count in counts.items())
        notes.append(
            Note(f"the files of one capture differ in launches ({listed}); means per launch are used", warning=True)
        )


def _aggregate(part: Evaluated, keys: Sequence[str], notes: list[Note]) -> pd.DataFrame:
    """One row per key: means per launch, totals, medians, minima and maxima of every quantity."""
    frame = part.frame
    if "occurrence" in keys:
        within = Groups([frame[key] for key in ("capture", "kernel") if key in keys])
        frame = frame.assign(occurrence=within.places())
    frame = _complete_rows(frame, part, notes)
    # Names are compared once; from here on a kernel is a number, in order of appearance.
    groups = Groups([frame[key] for key in keys])
    launches = groups.total(frame["launches"].to_numpy())
    columns: dict[str, Any] = {"launches": launches}
    columns.update({name: groups.common(frame[name]).array for name in ("block", "grid") if name not in keys})
    columns.update(_statistics(frame, part.quantities, groups, launches))
    # Empty, not missing: the caveat must come from the part that gives the value.
    caveats = {name: part.caveats.get(name, "") for name in part.quantities}
    texts = {text: pd.Series([text] * len(launches)).array for text in caveats.values()}
    columns.update({f"caveat:{name}": texts[text] for name, text in caveats.items()})
    heads = [frame[key].iloc[groups.firsts] for key in keys]
    index = pd.Index(heads[0]) if len(keys) == 1 else pd.MultiIndex.from_arrays(heads)
    return pd.DataFrame(columns, index=index, copy=False)


def _complete_rows(frame: pd.DataFrame, part: Evaluated, notes: list[Note]) -> pd.DataFrame:
    """Leave out launches that lack a quantity of the instruction set which others of the same kernel have.

    Summing counts over some launches and times over others would give a rate of nothing. A gap in
    another set's counter leaves that quantity missing, and the launch in.
    """
    known = catalogue().quantities
    needed = [name for name in part.quantities if "instruction" in known[name].sets and name not in CLOCKS_BESIDE]
    empties = {name: frame[name].isna() for name in needed if frame[name].array.isna().any()}
    if not empties:
        return frame
    lacking = pd.Series(data=False, index=frame.index)
    gaps: list[str] = []
    for name, empty in empties.items():
        having = frame["kernel"].isin(frame.loc[~empty, "kernel"])
        lacking |= empty & having
        gaps += [name] if bool((empty & having).any()) else []
    if not lacking.any():
        return frame
    kept = frame[~lacking]
    # A kernel whose launches complete each other only in parts keeps its rows; its gaps stay missing.
    whole = frame["kernel"].isin(kept["kernel"])
    left_out = int(frame.loc[lacking & whole, "launches"].sum())
    if left_out:
        launches = "1 launch is" if left_out == 1 else f"{left_out} launches are"
        kernels = some(list(dict.fromkeys(map(base_name, frame.loc[lacking & whole, "kernel"]))), 3)
        notes.append(
            Note(f"{part.source}: {launches} left out: no value for {some(gaps, 3)} there ({kernels})", warning=True)
        )
    return frame[~(lacking & whole)]


def _statistics(frame: pd.DataFrame, names: Sequence[str], groups: Groups, launches: Any) -> dict[str, Any]:
    """Mean per launch, total, median, minimum and maximum of each quantity, as the columns of ``Kernels``."""
    # Launches one by one, as nearly always: totals and ends are the values themselves.
    single = bool((frame["launches"] == 1).all()) and not any(f"{n}_{end}" in frame for n in names for end in _ENDS)
    summaries = bool(frame["is_summary"].any())
    count = int(launches.sum())
    result: dict[str, Any] = {}
    for name in names:
        values = _summable(frame, name, count)
        each = total = low = high = Column(values, groups)
        if not single:
            total = Column(frame.get(f"{name}_total", values * frame["launches"]), groups)
            low, high = (Column(_ends(frame, name, end), groups) for end in ("min", "max"))
        sums = total.sums()
        # A gap in one launch of several is a gap in the sum.
        sums[each.gaps()] = pd.NA
        result[name] = _mean(sums, each.firsts(), groups.rows == 1, launches)
        if catalogue().quantities[name].additive:
            result[f"{name}_total"] = sums
        if name in SECTION_OF_TIME:
            result[f"{name}_median"] = each.medians()
            if summaries:
                result[f"{name}_median"][launches != 1] = pd.NA
        result[f"{name}_min"], result[f"{name}_max"] = low.least(), high.most()
    return result


def _summable(frame: pd.DataFrame, name: str, launches: int) -> pd.Series:
    """Values as they are, or as floats where their sum would not fit 64 bits."""
    values = frame[name]
    if values.dtype != "Int64":
        return values
    highest = int(values.to_numpy(dtype="int64", na_value=0).max(initial=0))
    if highest * launches < _SURELY_FITS:
        return values
    largest = float((values.astype("Float64") * frame["launches"]).sum())
    return values.astype("Float64") if largest >= _FITS else values


def _mean(total: Any, first: Any, alone: Any, launches: Any) -> Any:
    """Total over launches, Int64 where every mean is whole; of a single row (``alone``) the value itself."""
    if alone.all():
        return first
    whole = total.dtype == "Int64" and not bool((total % launches != 0).any())
    mean = total // launches if whole else total.astype("Float64") / launches
    mean[alone] = first[alone]
    return mean


def _ends(frame: pd.DataFrame, name: str, end: str) -> pd.Series:
    """Smallest or largest value of each row: a summary's own, a launch's value, else missing."""
    own = frame[name].where(frame["launches"] == 1)
    given = frame.get(f"{name}_{end}")
    return own if given is None else given.where(given.notna(), own)
