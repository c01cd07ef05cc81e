"""Statistics of launches by groups: totals, means, medians and ends of every quantity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from roofctl.launches.table import TIME_AND_CLOCK
from roofctl.quantities import catalogue

_ENDS: Final = ("min", "max", "total")

_SAFE_SUM: Final = 2**61
"""Integer sums below this fit 64 bits, however an estimate by floats is rounded; larger ones are summed as floats."""


class GroupedRows:
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


def statistics(frame: pd.DataFrame, names: Sequence[str], rows: GroupedRows, counted: Any) -> dict[str, Any]:
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
        if known[name].dimension == "fraction" or (known[name].unit and known[name].dimension == "ratio"):
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


def _row_ends(frame: pd.DataFrame, values: pd.DataFrame, rows: GroupedRows) -> dict[str, Any]:
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
        end: rows.of(pd.DataFrame({n: column.where(there[n]) for n, column in columns.items()}, index=frame.index))
        for end, columns in by_end.items()
    }


def _weighted_mean(frame: pd.DataFrame, values: pd.Series, rows: GroupedRows) -> Any:
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


def _mean(total: Any, launches: Any, first: Any, rows: GroupedRows) -> Any:
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
