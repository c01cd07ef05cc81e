"""Rows by group, and what a column comes to in each: counts, sums, ends, medians.

Rows are sorted by group once; from there whole numbers and ends of each column take one pass. Sums of floats are
pandas' own: it makes up for rounding, step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

_FEW: Final = 1_000
"""Up to as many groups, medians one by one are faster than pandas."""
_PLAIN: Final = 2
"""Up to as many floats add up to the same with and without care for rounding."""


class Groups:
    """Rows by the values of some columns together, missing ones among them; groups count from 0 as they appear."""

    def __init__(self, keys: Sequence[pd.Series]) -> None:
        self.codes: Any = np.zeros(len(keys[0]), np.int64)
        for key in keys:
            codes, distinct = pd.factorize(key, use_na_sentinel=False)
            self.codes = codes if key is keys[0] else pd.factorize(self.codes * len(distinct) + codes)[0]
        self.rows: Any = np.bincount(self.codes)
        self.starts: Any = np.cumsum(self.rows) - self.rows
        # Small types sort by radix, which takes a tenth of the time.
        self.order: Any = np.argsort(_small(self.codes, len(self.rows)), kind="stable")

    @cached_property
    def firsts(self) -> Any:
        """The first row of each group."""
        return self.order[self.starts]

    def places(self) -> Any:
        """Which of its group each row is, from 0."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(self.order)) - np.repeat(self.starts, self.rows)
        return places

    def total(self, numbers: Any) -> Any:
        """Sums of whole numbers of which none is missing."""
        return np.add.reduceat(numbers[self.order], self.starts)

    def common(self, values: pd.Series) -> pd.Series:
        """The value that all rows of a group share, those without one aside; else missing."""
        codes, distinct = pd.factorize(values)
        # Missing ones are -1: they count from below as 0, and from above behind all others.
        ordered = _small(codes + 1, len(distinct) + 1)[self.order]
        highest = np.maximum.reduceat(ordered, self.starts)
        if not ordered.all():
            ordered[ordered == 0] = len(distinct) + 1
        lowest = np.minimum.reduceat(ordered, self.starts)
        shared = np.where(lowest == highest, highest.astype(np.int64) - 1, -1)
        return pd.Series(distinct, dtype=values.dtype).reindex(shared).reset_index(drop=True)


class Column:
    """A column of Int64 or Float64 by group; results are arrays of the same type, one value per group."""

    def __init__(self, values: pd.Series, groups: Groups) -> None:
        self._values = values
        self._groups = groups

    @cached_property
    def _whole(self) -> bool:
        return bool(self._values.dtype == "Int64")

    @cached_property
    def _missing(self) -> Any:
        """Where values are missing, sorted by group; None where none is."""
        missing = np.asarray(self._values.isna())
        return missing[self._groups.order] if missing.any() else None

    @cached_property
    def _sorted(self) -> Any:
        """Values sorted by group, 0 for missing ones."""
        numbers = self._values.to_numpy(dtype=np.int64 if self._whole else np.float64, na_value=0)
        return numbers[self._groups.order]

    def gaps(self) -> Any:
        """Which groups lack a value in some row."""
        return self._reduced(np.logical_or, self._missing)

    def firsts(self) -> Any:
        """The value of the first row of each group."""
        return self._values.array.take(self._groups.firsts)

    def sums(self) -> Any:
        """Sums of what is not missing."""
        groups = self._groups
        if not self._whole and groups.rows.max(initial=0) > _PLAIN:
            return self._by_pandas("sum", min_count=1)
        # A sum of nothing but negative zeros is zero.
        return self._array(np.add.reduceat(self._sorted, groups.starts) + 0)

    def least(self) -> Any:
        """Smallest values."""
        return self._ends(np.minimum, np.iinfo(np.int64).max, np.inf)

    def most(self) -> Any:
        """Largest values."""
        return self._ends(np.maximum, np.iinfo(np.int64).min, -np.inf)

    def medians(self) -> Any:
        """Medians of what is not missing, as Float64."""
        groups = self._groups
        if len(groups.rows) > _FEW:
            return self._by_pandas("median").astype("Float64")
        values = self._sorted.astype(np.float64, copy=False)
        medians = np.zeros(len(groups.rows))
        for group, (begin, rows) in enumerate(zip(groups.starts.tolist(), groups.rows.tolist(), strict=True)):
            own = values[begin : begin + rows]
            own = own if self._missing is None else own[~self._missing[begin : begin + rows]]
            medians[group] = _median(own) if len(own) else 0.0
        return pd.arrays.FloatingArray(medians, self._empty())

    def _ends(self, end: Any, whole: int, real: float) -> Any:
        """Smallest or largest values by ``end``; ``whole`` and ``real`` stand in for missing ones."""
        values = self._sorted
        # Of zeros of either sign, and where there is no number, pandas says which comes first.
        if not self._whole and bool(np.any(np.signbit(values) | np.isnan(values))):
            return self._by_pandas("min" if end is np.minimum else "max")
        if self._missing is not None:
            values = np.where(self._missing, whole if self._whole else real, values)
        found = end.reduceat(values, self._groups.starts)
        empty = self._empty()
        return self._array(np.where(empty, np.zeros_like(found), found))

    def _empty(self) -> Any:
        """Which groups have no value at all."""
        return self._reduced(np.logical_and, self._missing)

    def _reduced(self, function: Any, rows: Any) -> Any:
        if rows is None:
            return np.zeros(len(self._groups.rows), np.bool_)
        return function.reduceat(rows, self._groups.starts)

    def _array(self, values: Any) -> Any:
        kind = pd.arrays.IntegerArray if self._whole else pd.arrays.FloatingArray
        return kind(values, self._empty())

    def _by_pandas(self, function: str, **options: Any) -> Any:
        grouped = self._values.groupby(self._groups.codes, sort=False)
        return getattr(grouped, function)(**options).array


def _median(values: Any) -> float:
    """Median of at least one number; the mean of the two in the middle of an even number of them."""
    middle = len(values) // 2
    halves = np.partition(values, middle)
    upper = halves[middle]
    return float(upper if len(values) % 2 else (upper + halves[:middle].max()) / 2)


def _small(codes: Any, highest: int) -> Any:
    """Codes up to ``highest`` in as few bytes as hold them."""
    return codes.astype(np.min_scalar_type(highest))
