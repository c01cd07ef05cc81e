"""Rows by group: what each column comes to is what pandas says, to the last bit and type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from roofctl.launches import groups as module
from roofctl.launches.groups import Column, Groups

ROWS = 400
DRAW = np.random.default_rng(7)
NAMES = DRAW.choice(["b", "a", "c d", "é"], ROWS)
ALONE = np.array([f"k{number}" for number in range(ROWS)])
PAIRS = np.arange(ROWS) // 2

WHOLE = {
    "small": DRAW.integers(0, 1000, ROWS),
    "negative": DRAW.integers(-1000, 1000, ROWS),
    "beyond what floats hold": DRAW.integers(2**54, 2**55, ROWS),
    "ends of the type": np.tile([np.iinfo(np.int64).max, np.iinfo(np.int64).min], ROWS // 2),
}
REAL = {
    "positive": DRAW.random(ROWS),
    "of all sizes": 10 ** DRAW.uniform(-300, 300, ROWS),
    "zeros of both signs": DRAW.choice([0.0, -0.0], ROWS),
    "infinite": DRAW.choice([1.0, np.inf], ROWS),
    "negative": DRAW.normal(size=ROWS),
}
MISSING = {
    "none": np.zeros(ROWS, bool),
    "some": DRAW.random(ROWS) < 0.5,
    "one group": NAMES == "a",
    "all": np.ones(ROWS, bool),
}


def columns() -> list[Any]:
    whole = [
        (name, missing, pd.arrays.IntegerArray(WHOLE[name], MISSING[missing])) for name in WHOLE for missing in MISSING
    ]
    real = [
        (name, missing, pd.arrays.FloatingArray(REAL[name], MISSING[missing])) for name in REAL for missing in MISSING
    ]
    return [
        pytest.param(pd.Series(array), id=f"{array.dtype} {name}, missing: {missing}")
        for name, missing, array in whole + real
    ]


def same(found: Any, expected: Any) -> None:
    pd.testing.assert_extension_array_equal(found, expected.array, check_exact=True)


def same_signs(found: Any, expected: Any) -> None:
    """Zeros too."""
    same(found, expected)
    numbers, wanted = (np.asarray(array.to_numpy(dtype=float, na_value=1.0)) for array in (found, expected.array))
    assert (np.signbit(numbers) == np.signbit(wanted)).all()


@pytest.mark.parametrize("keys", [NAMES, ALONE, PAIRS], ids=["names", "alone", "pairs"])
@pytest.mark.parametrize("values", columns())
def test_a_column_by_group_is_what_pandas_says(values: pd.Series, keys: Any) -> None:
    groups = Groups([pd.Series(keys)])
    column, by_pandas = Column(values, groups), values.groupby(keys, sort=False)
    same_signs(column.sums(), by_pandas.sum(min_count=1))
    same_signs(column.least(), by_pandas.min())
    same_signs(column.most(), by_pandas.max())
    assert column.gaps().tolist() == (by_pandas.count() < by_pandas.size()).tolist()
    assert column.firsts().equals(values[~pd.Series(keys).duplicated()].array)


@pytest.mark.parametrize("few", [0, 1_000])
@pytest.mark.parametrize("values", columns())
def test_medians_are_those_of_pandas_for_few_groups_and_for_many(
    values: pd.Series, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FEW", few)
    found = Column(values, Groups([pd.Series(NAMES)])).medians()
    same(found, values.groupby(NAMES, sort=False).median().astype("Float64"))


def test_groups_count_in_the_order_in_which_they_appear() -> None:
    names, numbers = pd.Series(["b", "a", "b", None, "a", None]), pd.Series([1, 1, 2, 1, 1, 1])
    groups = Groups([names, numbers])
    assert groups.codes.tolist() == [0, 1, 2, 3, 1, 3]
    assert groups.rows.tolist() == [1, 2, 1, 2]
    assert groups.firsts.tolist() == [0, 1, 2, 3]
    assert Groups([names]).places().tolist() == [0, 0, 1, 0, 1, 1]
    assert groups.total(np.array([1, 2, 3, 4, 5, 6])).tolist() == [1, 7, 3, 10]


def test_what_all_rows_of_a_group_have_in_common() -> None:
    shapes = pd.Series(["x", "y", "x", None, "z", None, None])
    groups = Groups([pd.Series(["a", "b", "a", "b", "c", "c", "d"])])
    assert groups.common(shapes).dropna().to_dict() == {0: "x", 1: "y", 2: "z"}
    assert groups.common(shapes).dtype == shapes.dtype
    assert groups.common(pd.Series(["x", "y", "z", None, "z", "w", None])).dropna().to_dict() == {1: "y"}
    assert groups.common(pd.Series([None] * 7, dtype=object)).isna().all()


def test_more_groups_than_a_byte_counts() -> None:
    numbers = pd.Series([*range(300), *range(300)])
    groups = Groups([numbers])
    assert Column(numbers.astype("Int64"), groups).sums().tolist() == [2 * number for number in range(300)]
    assert groups.common(numbers.astype(str)).tolist() == [str(number) for number in range(300)]
