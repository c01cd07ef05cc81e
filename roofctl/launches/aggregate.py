"""From launches to kernels: aggregate the launch table by capture and kernel, keep the spread.

Counts and times are summed over launches, then divided: rates and ratios are never averaged.
Times of different captures are never put together.
"""

from __future__ import annotations

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
    frame = _complete_launches(frame, table, notes)
    by_part = _by_part(frame, keys, _quantities(table.parts))
    pieces: list[pd.DataFrame] = []
    caveats: list[Mapping[str, str]] = []
    infos: list[CaptureInfo] = []
    bounds = by_part["part"].to_numpy().searchsorted(range(len(table.parts) + 1))
    for capture, indices in enumerate(table.captures):
        members = [table.parts[index] for index in indices]
        tables = [by_part.iloc[bounds[index] : bounds[index + 1]] for index in indices]
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


def _complete_launches(frame: pd.DataFrame, table: LaunchTable, notes: Sequence[list[Note]]) -> pd.DataFrame:
    """Leave out launches that lack a quantity of the instruction set which others of the same kernel have.

    Counts summed over some launches and times over others would give a meaningless rate. A missing value of another
    set's counter leaves that quantity missing, and the launch in.
    """
    known = catalogue().quantities
    needed = [n for n in _quantities(table.parts) if "instruction" in known[n].sets and n not in OTHER_CLOCKS]
    empties = {name: empty for name in needed if (empty := frame[name].isna()).any()}
    if not empties:
        return frame
    kernels = [frame["part"], frame["kernel"]]
    lacking_by = {name: empty & ~empty.groupby(kernels).transform("all") for name, empty in empties.items()}
    lacking = pd.concat(lacking_by, axis=1).any(axis=1)
    if not lacking.any():
        return frame
    # A kernel none of whose launches has everything keeps its launches; its missing values stay missing.
    lacking &= (~lacking).groupby(kernels).transform("any")
    for part in sorted(frame.loc[lacking, "part"].unique()):
        rows = frame[lacking & (frame["part"] == part)]
        names = [name for name, of in lacking_by.items() if of[frame["part"] == part].any()]
        count = int(rows["launches"].sum())
        launches = "1 launch is" if count == 1 else f"{count} launches are"
        kernel_names = some(list(dict.fromkeys(map(base_name, rows["kernel"]))), 3)
        text = f"{table.parts[part].source}: {launches} left out: no value for {some(names, 3)} there ({kernel_names})"
        notes[int(rows["capture"].iloc[0])].append(Note(text, warning=True))
    return frame[~lacking]


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

    def common(self, name: str) -> Any:
        """The value that all rows of a group have in common, apart from missing ones; else missing."""
        codes, distinct = pd.factorize(self.frame[name])
        known = self.of(pd.DataFrame({"code": pd.arrays.IntegerArray(codes.astype("int64"), codes < 0)}))["code"]
        low, high = (ends.to_numpy(dtype="int64", na_value=-1) for ends in (known.min(), known.max()))
        # Where values differ the index is -1, which stands for a missing value.
        return pd.Series(distinct, dtype=self.frame[name].dtype).reindex(np.where(low == high, low, -1)).array


def _by_part(frame: pd.DataFrame, keys: Sequence[str], quantities: Sequence[str]) -> pd.DataFrame:
    """One row per part and key: mean per launch, total, median, smallest and largest value of each quantity."""
    rows = _Rows(frame, ["part", *keys])
    heads = frame[["capture", "part", *keys]].iloc[rows.firsts]
    columns: dict[str, Any] = {name: heads[name].array for name in heads}
    columns["launches"] = rows.launches
    columns.update({name: rows.common(name) for name in ("block", "grid")})
    columns.update(_statistics(frame, quantities, rows))
    return pd.DataFrame(columns, copy=False)


def _statistics(frame: pd.DataFrame, names: Sequence[str], rows: _Rows) -> dict[str, Any]:
    """Columns of all quantities, as ``KernelTable`` has them."""
    most = int(rows.launches.sum())
    values = pd.DataFrame({name: _summable(frame, name, most) for name in names}, index=frame.index, copy=False)
    totals = lows = highs = each = rows.of(values)
    # Launches one by one, as nearly always: totals and ends are the values themselves.
    if not (frame["launches"] == 1).all() or any(f"{name}_{end}" in frame for name in names for end in _ENDS):
        by_launch = {name: frame.get(f"{name}_total", values[name] * frame["launches"]) for name in names}
        totals = rows.of(pd.DataFrame(by_launch, index=frame.index, copy=False))
        lows, highs = (
            rows.of(pd.DataFrame({name: _ends(frame, name, end) for name in names}, index=frame.index))
            for end in ("min", "max")
        )
    sums, low, high = totals.sum(min_count=1), lows.min(), highs.max()
    partly = [name for name in names if values[name].array.isna().any()]
    lacking = rows.of(values[partly].isna()).any()
    timed = [name for name in names if name in TIME_AND_CLOCK]
    medians = each[timed].median()
    # Of a summary the single launches are not known.
    unknown = rows.of(frame[["is_summary"]]).any()["is_summary"].to_numpy() & (rows.launches != 1)
    result: dict[str, Any] = {}
    for name in names:
        total = sums[name].array
        if name in partly:
            # A value missing in one launch of several is missing in the sum.
            total[lacking[name].to_numpy()] = pd.NA
        result[name] = _mean(total, values[name].array.take(rows.firsts), rows)
        if catalogue().quantities[name].additive:
            result[f"{name}_total"] = total
        if name in timed:
            median = medians[name].astype("Float64").array
            median[unknown] = pd.NA
            result[f"{name}_median"] = median
        result[f"{name}_min"], result[f"{name}_max"] = low[name].array, high[name].array
    return result


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


def _mean(total: Any, first: Any, rows: _Rows) -> Any:
    """Total over launches, Int64 where every mean is an integer; of a single row the value itself."""
    if rows.single.all():
        return first
    exact = total.dtype == "Int64" and not bool((total % rows.launches != 0).any())
    mean = total // rows.launches if exact else total.astype("Float64") / rows.launches
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


def _first_known(columns: Sequence[pd.Series]) -> pd.Series:
    """Values of the first column that has one, row by row."""
    result = columns[0]
    for series in columns[1:]:
        if series.notna().any():
            result = result.where(result.notna(), series) if result.notna().any() else series
    return result


def _is_of_time(column: str) -> bool:
    return column == "launches" or column.startswith((*TIME_AND_CLOCK, *OTHER_CLOCKS))


def _by_time(parts: Sequence[PartInfo]) -> list[int]:
    """Indices of parts, the one whose time is to be trusted first: unpatched before patched."""
    timed = [i for i, part in enumerate(parts) if "seconds" in part.quantities]
    rest = [i for i in range(len(parts)) if i not in timed]
    return [*sorted(timed, key=lambda i: (parts[i].patched, bool(parts[i].caveats.get("seconds")))), *rest]


def _by_caveat(parts: Sequence[PartInfo], column: str) -> list[int]:
    name = next((q for q in catalogue().quantities if column == q or column.startswith(q + "_")), column)
    return sorted(range(len(parts)), key=lambda i: bool(parts[i].caveats.get(name)))


def _notes_on_times(parts: Sequence[PartInfo], tables: Sequence[pd.DataFrame]) -> list[Note]:
    """Whose times are used, and where the files of one capture differ in launches."""
    notes = []
    chosen, *others = [i for i in _by_time(parts) if "seconds" in parts[i].quantities] or [-1]
    if others:
        patched = any(parts[i].patched for i in others) and not parts[chosen].patched
        why = ", without patched instructions" if patched else ""
        notes.append(Note(f"times are those of {parts[chosen].source}{why}; the other runs' times are left out"))
    counts = {part.source: table["launches"].sum() for part, table in zip(parts, tables, strict=True)}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count} in {source}" for source, count in counts.items())
        text = f"the files of one capture differ in launches ({listed}); means per launch are used"
        notes.append(Note(text, warning=True))
    return notes
