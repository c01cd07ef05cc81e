"""From launches to kernels: aggregate the launch table by capture and kernel, keep the spread.

Counts and times are summed over launches, then divided: rates and ratios are never averaged.
Times of different captures are never put together.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from roofctl.core.errors import InputError
from roofctl.core.kernel_names import base_name, some
from roofctl.core.notes import Note
from roofctl.launches.table import OTHER_CLOCKS, TIME_AND_CLOCK, LaunchTable, PartInfo
from roofctl.quantities import catalogue

Group = Literal["kernel", "kernel+grid", "launch"]

_ENDS: Final = ("min", "max", "total")

_SAFE_SUM: Final = 2**61
"""Integer sums below this fit 64 bits, however an estimate by floats is rounded; larger ones are summed as floats."""


@dataclass(frozen=True)
class CaptureInfo:
    """What holds for all kernels of a capture: its files, per quantity why no kernel has it, and notes."""

    sources: tuple[str, ...]
    missing: Mapping[str, str]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class KernelTable:
    """Kernels of all captures.

    ``frame``: one row per kernel of a capture, rows of a capture together and in order of appearance, with the columns
    ``capture`` (index into ``captures``), ``kernel``, ``block``, ``grid``, ``launches``, and per quantity X
    ``X`` (mean per launch), ``X_min``, ``X_max``, for times and counts ``X_total``, for the time and its clock
    ``X_median``. A median that cannot be known (of a summary of several launches) is missing.
    Times and clocks are those of all launches that have them; all else is of the ``counted_launches`` (see
    ``_counted``), whose mean time is ``counted_seconds``: rates are counts over this time.
    ``caveats``: per row, texts per quantity of what is not exact.
    """

    frame: pd.DataFrame
    captures: tuple[CaptureInfo, ...]
    caveats: tuple[Mapping[str, str], ...]

    def has(self, quantity: str) -> bool:
        """Whether some kernel may have ``quantity``."""
        return quantity in self.frame.columns


def aggregate(table: LaunchTable, group: Group) -> KernelTable:
    """Kernels of each capture, by kernel, by kernel and grid, or launch by launch.

    Parts of one capture are joined by kernel: each value comes from the part that is most exact.
    Raises InputError where launches are asked for and the input is a summary.
    """
    _check_launches(table, group)
    notes: list[list[Note]] = [[] for _ in table.captures]
    keys, frame = _keys(table, group, notes)
    by_part = _by_part(frame, keys, _quantities(table.parts), _counted(frame, keys, table, notes))
    pieces: list[pd.DataFrame] = []
    caveats: list[Mapping[str, str]] = []
    infos: list[CaptureInfo] = []
    bounds = by_part["part"].to_numpy().searchsorted(range(len(table.parts) + 1))
    for capture, indices in enumerate(table.captures):
        members = [table.parts[index] for index in indices]
        tables = [by_part.iloc[bounds[index] : bounds[index + 1]] for index in indices]
        notes[capture] += [note for member in members for note in member.notes]
        notes[capture] += _notes_on_times(members, tables)
        if len(members) > 1:
            joined, texts = _joined(members, tables, keys)
            pieces.append(joined.assign(capture=capture))
            caveats += texts
        else:
            caveats += [members[0].caveats] * len(tables[0])
        infos.append(CaptureInfo(_sources(members), _missing(members), tuple(notes[capture])))
    if pieces:
        alone = [indices[0] for indices in table.captures if len(indices) == 1]
        by_part = pd.concat([by_part[by_part["part"].isin(alone)], *pieces])
        by_part = by_part.sort_values("capture", kind="stable")
    return KernelTable(by_part.drop(columns="part").reset_index(drop=True), tuple(infos), tuple(caveats))


def _quantities(parts: Sequence[PartInfo]) -> list[str]:
    return [name for name in catalogue().quantities if any(name in part.quantities for part in parts)]


def _sources(parts: Sequence[PartInfo]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.source for part in parts))


def _missing(parts: Sequence[PartInfo]) -> dict[str, str]:
    """Reasons for the quantities that no part has, by the part that counted most."""
    richest = max(parts, key=lambda part: len(part.counters))
    missing = {name: why for name, why in richest.missing.items() if all(name in part.missing for part in parts)}
    for part in parts:
        missing.update({n: why for n, why in part.missing.items() if n in missing and "has no value" in why})
    return missing


def _check_launches(table: LaunchTable, group: Group) -> None:
    if group == "launch" and table.frame["is_summary"].any():
        summary = int(table.frame.loc[table.frame["is_summary"], "capture"].iloc[0])
        source = table.parts[table.captures[summary][0]].source
        raise InputError(
            f"{source} is a summary: single launches cannot be told apart in it",
            hint="use --group kernel, or capture without --print-summary (nvprof: --print-gpu-trace)",
        )


def _keys(table: LaunchTable, group: Group, notes: Sequence[list[Note]]) -> tuple[list[str], pd.DataFrame]:
    """Columns that a row of the result is unique by within its part, and the frame that has them."""
    frame = table.frame
    if group == "launch":
        return ["kernel", "occurrence"], frame.assign(occurrence=frame.groupby(["part", "kernel"]).cumcount())
    if group == "kernel":
        return ["kernel"], frame
    shaped = frame["grid"].notna().groupby(frame["capture"]).all()
    without = shaped.index[~shaped]
    for capture in without:
        text = "launch shapes are not in every file, so launches are grouped by kernel only"
        notes[capture].append(Note(text, warning=True))
    by_shape = ~frame["capture"].isin(without)
    shapes = {f"by_{name}": frame[name].where(by_shape) for name in ("grid", "block")}
    return ["kernel", *shapes], frame.assign(**shapes)


def _counted(frame: pd.DataFrame, keys: Sequence[str], table: LaunchTable, notes: Sequence[list[Note]]) -> Any:
    """Which rows the counts of their kernel come from: those with a time and all counts of the instruction set.

    Counts summed over some launches and times over others would give a meaningless rate. A kernel none of whose
    launches has everything keeps them all; its missing values stay missing.
    """
    known = catalogue().quantities
    needed = [
        name
        for name in _quantities(table.parts)
        if name == "seconds" or (known[name].dimension == "count" and "instruction" in known[name].sets)
    ]
    empties = {name: empty for name in needed if (empty := frame[name].isna()).any()}
    groups = [frame["part"], *(frame[key] for key in keys)]
    lacking_by = {
        name: empty & ~empty.groupby(groups, dropna=False).transform("all") for name, empty in empties.items()
    }
    if not any(lacking.any() for lacking in lacking_by.values()):
        return np.ones(len(frame), np.bool_)
    lacking = pd.concat(lacking_by, axis=1).any(axis=1)
    lacking &= (~lacking).groupby(groups, dropna=False).transform("any")
    for part in sorted(frame.loc[lacking, "part"].unique()):
        of_part = frame["part"] == part
        rows = frame[lacking & of_part]
        names = [name for name, of in lacking_by.items() if of[of_part].any()]
        kernels = list(dict.fromkeys(rows["kernel"]))
        total = int(frame.loc[of_part & frame["kernel"].isin(kernels), "launches"].sum())
        text = (
            f"{table.parts[part].source}: counts of {some(list(map(base_name, kernels)), 3)} are from "
            f"{total - int(rows['launches'].sum())} of {total} launches: no value for {some(names, 3)} in the others"
        )
        notes[int(rows["capture"].iloc[0])].append(Note(text, warning=True))
    return (~lacking).to_numpy()


class _Rows:
    """Rows of a frame by the values of some columns together, missing ones included, in order of appearance."""

    def __init__(self, frame: pd.DataFrame, keys: Sequence[str]) -> None:
        self.frame = frame
        self.codes: Any = frame.groupby(list(keys), sort=False, dropna=False, observed=True).ngroup().to_numpy()
        self.firsts: Any = np.unique(self.codes, return_index=True)[1]
        self.single: Any = np.bincount(self.codes) == 1
        self.launches: Any = self.of(frame[["launches"]]).sum()["launches"].to_numpy()

    def of(self, columns: pd.DataFrame) -> Any:
        """``columns`` grouped; results are in order of appearance."""
        return columns.groupby(self.codes, sort=False)

    def sum_of(self, values: pd.Series) -> Any:
        """Sums of integers as a numpy array."""
        return self.of(values.to_frame("value")).sum()["value"].to_numpy(dtype="int64")

    def common(self, name: str) -> Any:
        """The value that all rows of a group have in common, apart from missing ones; else missing."""
        codes, distinct = pd.factorize(self.frame[name])
        known = self.of(pd.DataFrame({"code": pd.arrays.IntegerArray(codes.astype("int64"), codes < 0)}))["code"]
        low, high = (ends.to_numpy(dtype="int64", na_value=-1) for ends in (known.min(), known.max()))
        # Where values differ the index is -1, which stands for a missing value.
        return pd.Series(distinct, dtype=self.frame[name].dtype).reindex(np.where(low == high, low, -1)).array


def _by_part(frame: pd.DataFrame, keys: Sequence[str], quantities: Sequence[str], counted: Any) -> pd.DataFrame:
    """One row per part and key: mean per launch, total, median, smallest and largest value of each quantity."""
    rows = _Rows(frame, ["part", *keys])
    heads = frame[["capture", "part", *keys]].iloc[rows.firsts]
    columns: dict[str, Any] = {name: heads[name].array for name in heads}
    columns["launches"] = rows.launches
    columns.update({name: rows.common(name) for name in ("block", "grid")})
    columns.update(_statistics(frame, quantities, rows, counted))
    return pd.DataFrame(columns, copy=False)


def _statistics(frame: pd.DataFrame, names: Sequence[str], rows: _Rows, counted: Any) -> dict[str, Any]:
    """Columns of all quantities, as ``KernelTable`` has them; counts are those of ``counted`` rows."""
    known = catalogue().quantities
    most = int(rows.launches.sum())
    values = pd.DataFrame({name: _summable(frame, name, most) for name in names}, index=frame.index, copy=False)
    times = [name for name in names if known[name].dimension in ("seconds", "hertz")]
    if not counted.all():
        values = values.assign(**{n: values[n].where(counted) for n in names if n not in times})
    each = rows.of(values)
    ends = _row_ends(frame, values, rows)
    sums, low, high = (ends["total"].sum(min_count=1), ends["min"].min(), ends["max"].max())
    missing = values.isna()
    lacking = rows.of(missing & counted[:, None]).any()
    timed = [name for name in names if name in TIME_AND_CLOCK]
    medians = each[timed].median()
    # Of a summary the single launches are not known.
    unknown = rows.of(frame[["is_summary"]]).any()["is_summary"].to_numpy() & (rows.launches != 1)
    counted_launches = rows.sum_of(frame["launches"].where(counted, 0))
    result: dict[str, Any] = {"counted_launches": counted_launches}
    for name in names:
        total, launches = sums[name].array, counted_launches
        if name in times:
            launches = rows.sum_of(frame["launches"].where(~missing[name], 0))
        elif lacking[name].any():
            # A value missing in one launch of several is missing in the sum.
            total[lacking[name].to_numpy()] = pd.NA
        if known[name].dimension == "fraction":
            result[name] = _weighted_mean(frame, values[name], rows)
        else:
            result[name] = _mean(total, launches, values[name].array.take(rows.firsts), rows)
        if known[name].additive:
            result[f"{name}_total"] = total
        if name in timed:
            median = medians[name].astype("Float64").array
            median[unknown] = pd.NA
            result[f"{name}_median"] = median
        result[f"{name}_min"], result[f"{name}_max"] = low[name].array, high[name].array
    if "seconds" in names:
        own = values["seconds"] * frame["launches"]
        total = rows.of(pd.DataFrame({"own": own.where(counted)})).sum(min_count=1)["own"].array
        result["counted_seconds"] = _mean(total, counted_launches, values["seconds"].array.take(rows.firsts), rows)
    return result


def _row_ends(frame: pd.DataFrame, values: pd.DataFrame, rows: _Rows) -> dict[str, Any]:
    """Total, smallest and largest value of each row, grouped; of single launches these are the values themselves."""
    names = [str(name) for name in values]
    if (frame["launches"] == 1).all() and not any(f"{name}_{end}" in frame for name in names for end in _ENDS):
        return dict.fromkeys(_ENDS, rows.of(values))
    there = values.notna()
    by_end = {
        "total": {name: frame.get(f"{name}_total", values[name] * frame["launches"]) for name in names},
        **{end: {name: _ends(frame, name, end) for name in names} for end in ("min", "max")},
    }
    return {
        end: rows.of(pd.DataFrame({name: column.where(there[name]) for name, column in columns.items()}))
        for end, columns in by_end.items()
    }


def _weighted_mean(frame: pd.DataFrame, values: pd.Series, rows: _Rows) -> Any:
    """Mean of a use over launches, weighted by their time: a short launch says little about the sum."""
    seconds = frame["seconds"] if "seconds" in frame else pd.Series(1.0, frame.index)
    weights = (seconds * frame["launches"]).where(values.notna())
    sums = rows.of(pd.DataFrame({"value": values * weights, "weight": weights})).sum(min_count=1)
    return (sums["value"] / sums["weight"]).astype("Float64").array


def _summable(frame: pd.DataFrame, name: str, launches: int) -> pd.Series:
    """Values as they are, or as floats where their sum would not fit 64 bits."""
    values = frame[name]
    if values.dtype != "Int64":
        return values
    highest = int(values.to_numpy(dtype="int64", na_value=0).max(initial=0))
    if highest * launches < _SAFE_SUM:
        return values
    largest = float((values.astype("Float64") * frame["launches"]).sum())
    return values.astype("Float64") if largest >= 2 * _SAFE_SUM else values


def _mean(total: Any, launches: Any, first: Any, rows: _Rows) -> Any:
    """Total over launches, Int64 where every mean is an integer; of a single row the value itself."""
    if rows.single.all():
        return first
    launches = np.maximum(launches, 1)  # without launches there is no total either
    exact = total.dtype == "Int64" and not bool((total % launches != 0).any())
    mean = total // launches if exact else total.astype("Float64") / launches
    mean[rows.single] = first[rows.single]
    return mean


def _ends(frame: pd.DataFrame, name: str, end: str) -> pd.Series:
    """Smallest or largest value of each row: a summary's own, a launch's value, else missing."""
    own = frame[name].where(frame["launches"] == 1)
    given = frame.get(f"{name}_{end}")
    return own if given is None else given.where(given.notna(), own)


def _joined(
    parts: Sequence[PartInfo], tables: Sequence[pd.DataFrame], keys: Sequence[str]
) -> tuple[pd.DataFrame, list[Mapping[str, str]]]:
    """The tables of several parts as one, each value from the part to trust most; and the caveats of each row."""
    heads = pd.concat([table[list(keys)] for table in tables]).drop_duplicates(ignore_index=True)
    rows = [heads.merge(table, on=list(keys), how="left") for table in tables]
    _check_grids(parts, rows)
    timed = _by_time(parts)
    columns: dict[str, pd.Series] = {name: heads[name] for name in keys}
    for name in (column for column in tables[0].columns if column not in ("capture", "part", *keys)):
        order = timed if _is_of_time(name) else _by_caveat(parts, name)
        columns[name] = _first_known([rows[i][name] for i in order])
    present = [row["part"].notna().tolist() for row in rows]
    caveats: list[dict[str, str]] = [{} for _ in range(len(heads))]
    for name in _quantities(parts):
        order = timed if _is_of_time(name) else _by_caveat(parts, name)
        texts = [(present[i], parts[i].caveats.get(name, "")) for i in order if name in parts[i].quantities]
        for row, of_row in enumerate(caveats):
            of_row[name] = next((text for here, text in texts if here[row]), "")
    return pd.DataFrame(columns).assign(part=-1), [{n: t for n, t in of_row.items() if t} for of_row in caveats]


def _check_grids(parts: Sequence[PartInfo], rows: Sequence[pd.DataFrame]) -> None:
    """Raise InputError where files that complete each other launched a kernel with different grids."""
    for one, two in itertools.combinations(range(len(parts)), 2):
        grids = rows[one]["grid"], rows[two]["grid"]
        differ = (grids[0] != grids[1]) & grids[0].notna() & grids[1].notna()
        if differ.any():
            row = int(np.flatnonzero(differ.to_numpy(dtype=bool))[0])
            raise InputError(
                f"{parts[one].source} and {parts[two].source} are of different runs: "
                f"{base_name(rows[one]['kernel'].iloc[row])} has the grid {grids[0].iloc[row]} in one and "
                f"{grids[1].iloc[row]} in the other, so counts of one do not belong to times of the other",
                hint="give one of them at a time, or capture all counters with the same input",
            )


def _first_known(columns: Sequence[pd.Series]) -> pd.Series:
    """Values of the first column that has one, row by row."""
    result = columns[0]
    for series in columns[1:]:
        if series.notna().any():
            result = result.where(result.notna(), series) if result.notna().any() else series
    return result


def _is_of_time(column: str) -> bool:
    return column == "launches" or column.startswith((*TIME_AND_CLOCK, *OTHER_CLOCKS, "counted_"))


def _by_time(parts: Sequence[PartInfo]) -> list[int]:
    """Indices of parts, the one whose time is to be trusted first: unpatched before patched."""
    timed = [i for i, part in enumerate(parts) if "seconds" in part.quantities]
    rest = [i for i in range(len(parts)) if i not in timed]
    return [*sorted(timed, key=lambda i: (parts[i].patched, bool(parts[i].caveats.get("seconds")))), *rest]


def _by_caveat(parts: Sequence[PartInfo], column: str) -> list[int]:
    name = next((q for q in catalogue().quantities if column == q or column.startswith(q + "_")), column)
    return sorted(range(len(parts)), key=lambda i: bool(parts[i].caveats.get(name)))


_TIMES_APART: Final = 1.2
"""Factor between the times of two runs of one kernel from which on they did not do the same."""


def _times_apart(parts: Sequence[PartInfo], tables: Sequence[pd.DataFrame]) -> str:
    """Which kernel took much longer in one file of a capture than in another; empty where none did."""
    timed = [i for i, part in enumerate(parts) if "seconds" in part.quantities and not part.patched]
    for one, two in itertools.combinations(timed, 2):
        both = tables[one].merge(tables[two], on="kernel", suffixes=("_one", "_two"))
        ratio = (both["seconds_one"] / both["seconds_two"]).astype("Float64")
        far = ((ratio > _TIMES_APART) | (ratio < 1 / _TIMES_APART)).fillna(value=False).astype(bool)
        if far.any():
            kernel = base_name(both.loc[far, "kernel"].iloc[0])
            factor = max(float(ratio[far].iloc[0]), 1 / float(ratio[far].iloc[0]))
            return (
                f"{kernel} took {factor:.2g} times as long in one of {parts[one].source} and {parts[two].source}: "
                "the files may be of different runs"
            )
    return ""


def _notes_on_times(parts: Sequence[PartInfo], tables: Sequence[pd.DataFrame]) -> list[Note]:
    """Whose times are used, and where the files of one capture differ in launches."""
    notes = []
    chosen, *others = [i for i in _by_time(parts) if "seconds" in parts[i].quantities] or [-1]
    if others:
        patched = any(parts[i].patched for i in others) and not parts[chosen].patched
        why = ", without patched instructions" if patched else ""
        notes.append(Note(f"times are those of {parts[chosen].source}{why}; the other runs' times are left out"))
    apart = _times_apart(parts, tables)
    notes += [Note(apart, warning=True)] if apart else []
    counts = {part.source: table["launches"].sum() for part, table in zip(parts, tables, strict=True)}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count} in {source}" for source, count in counts.items())
        text = f"the files of one capture differ in launches ({listed}); means per launch are used"
        notes.append(Note(text, warning=True))
    return notes
