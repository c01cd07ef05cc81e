"""Numbers out of bytes: what numbers.parse_number and gather say of each cell, for a whole column at once."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofctl.readers.digits import MISSING, ODD, PAD, Plain, parse
from roofctl.readers.numbers import Mark, gather, parse_number

SWAPPED = str.maketrans(",.", ".,")


def read(cells: Sequence[str], mark: Mark) -> Plain:
    data = b"0" * PAD
    starts, ends = [], []
    for cell in cells:
        data += b'"'
        starts.append(len(data))
        data += cell.encode()
        ends.append(len(data))
        data += b'"'
    return parse(data, np.array([starts], dtype=np.int64), np.array([ends], dtype=np.int64), mark)


@pytest.mark.parametrize(
    ("cell", "digits", "decimals"),
    [
        ("0", 0, 0),
        ("7", 7, 0),
        ("16252928", 16_252_928, 0),
        ("16,252,928", 16_252_928, 0),
        ("1,234", 1_234, 0),
        ("9007199254740993", 9_007_199_254_740_993, 0),
        ("9,007,199,254,740,993", 9_007_199_254_740_993, 0),
        ("999,999,999,999,999,999", 999_999_999_999_999_999, 0),
        ("1,975,052,229.34", 197_505_222_934, 2),
        ("0.00", 0, 2),
        ("12.5", 125, 1),
        ("9.490", 9_490, 3),
        ("1234.567891", 1_234_567_891, 6),
        ("", 0, MISSING),
        ("9999999999999999999", 0, ODD),
        ("1,23", 0, ODD),
        ("1,2345", 0, ODD),
        ("12,34,567", 0, ODD),
        ("0,123", 0, ODD),
        ("1.2.3", 0, ODD),
        ("1.", 0, ODD),
        (".5", 0, ODD),
        ("-1", 0, ODD),
        ("n/a", 0, ODD),
        ("1e9", 0, ODD),
        (" 1", 0, ODD),
        ("1/2", 0, ODD),
        ("1:2", 0, ODD),
        ("é", 0, ODD),
    ],
)
def test_a_cell(cell: str, digits: int, decimals: int) -> None:
    for mark, text in (("point", cell), ("comma", cell.translate(SWAPPED))):
        found = read([text], mark)  # type: ignore[arg-type]
        assert (found.digits.tolist(), found.decimals.tolist()) == ([[digits]], [[decimals]])


CELLS = st.one_of(
    st.integers(0, 10**20).map(str),
    st.integers(0, 10**20).map("{:,}".format),
    st.builds("{:,}.{}".format, st.integers(0, 10**14), st.from_regex(r"\A[0-9]{1,10}\Z")),
    st.text("0123456789,.", max_size=26),
    st.text("0012,,..-+e n/a%é\x00", max_size=26),
)


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(cells=st.lists(CELLS, max_size=40), mark=st.sampled_from(["point", "comma"]))
def test_a_column_says_what_its_cells_say_one_by_one(cells: list[str], mark: Mark) -> None:
    cells = [cell.translate(SWAPPED) for cell in cells] if mark == "comma" else cells
    found = read(cells, mark)
    undecided = set(found.open.tolist())
    sure = False
    for place, cell in enumerate(cells):
        decimals = int(found.decimals[0, place])
        if decimals == MISSING:
            assert cell == ""
        elif decimals != ODD:
            assert parse_number(cell, mark) == Decimal(int(found.digits[0, place])).scaleb(-decimals)
            evidence = gather([cell])
            assert bool(evidence.ambiguous) == (place in undecided)
            assert not (evidence.comma if mark == "point" else evidence.point)
            sure = sure or bool(evidence.point or evidence.comma)
    assert found.sure == sure


def test_what_can_be_read_either_way_has_the_same_digits_under_both() -> None:
    for cell in ("181,600", "1.234"):
        point, comma = read([cell], "point"), read([cell], "comma")
        assert point.open.tolist() == comma.open.tolist() == [0]
        assert point.digits.tolist() == comma.digits.tolist()
        assert {int(point.decimals[0, 0]), int(comma.decimals[0, 0])} == {0, 3}
