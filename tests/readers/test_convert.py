"""Numbers of a column at once: what ``numbers`` says of each cell, to the last bit and type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofctl.core.errors import InputError
from roofctl.quantities import catalogue
from roofctl.readers import convert
from roofctl.readers.cells import Cell, Cells
from roofctl.readers.convert import Converter, all_plain, array
from roofctl.readers.decimals import first_examples
from roofctl.readers.numbers import PLAIN, DecimalSeparator, gather

from support.shapes import CLOCK, ISSUED, TIME

SWAPPED = str.maketrans(",.", ".,")
DRAM = "dram__bytes.sum"
UNITS = {ISSUED: "inst", TIME: "ns", CLOCK: "hz", DRAM: "Kbyte"}


@pytest.fixture(autouse=True)
def _columns_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "FEW_CELLS", -1)


def column(texts: Sequence[str | None], counter: str, decimal: DecimalSeparator) -> Any:
    cells = Cells(pa.array(texts, pa.string()), np.arange(len(texts)), [UNITS[counter]])
    return Converter("x.csv", decimal, catalogue()).columns([(counter, cells)])[0]


def one_by_one(texts: Sequence[str | None], counter: str, decimal: DecimalSeparator) -> Any:
    converter = Converter("x.csv", decimal, catalogue())
    cells = enumerate(texts)
    return array([None if t is None else converter.number(counter, Cell(t, UNITS[counter], n)) for n, t in cells])


def outcome(read: Any, *given: Any) -> Any:
    try:
        return read(*given)
    except InputError as error:
        return error.message


def check_same(texts: Sequence[str | None], counter: str, decimal: DecimalSeparator) -> None:
    ours, theirs = (outcome(read, texts, counter, decimal) for read in (column, one_by_one))
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        pd.testing.assert_extension_array_equal(ours, theirs, check_exact=True)


@pytest.mark.parametrize("counter", UNITS)
@pytest.mark.parametrize(
    "text",
    [
        *("0", "7", "16252928", "16,252,928", "1,234", "9007199254740993", "9,007,199,254,740,993", "0.00", "12.5"),
        *("999,999,999,999,999", "1,975,052,229.34", "9.490", "1234.567891", "", None, "n/a", "N/A", ".5", "1.", "007"),
        *("1e9", " 1", "1 234.5", "1'234", "0.000001", "123456789012345.5", "1234567890123456.5", "0,123"),
    ],
)
def test_a_cell(text: str | None, counter: str) -> None:
    check_same([text, "5"], counter, "point")
    check_same([text and text.translate(SWAPPED), "5"], counter, "comma")


CELLS = st.one_of(
    st.none(),
    st.integers(0, 10**17).map(str),
    st.integers(0, 10**17).map("{:,}".format),
    st.builds("{:,}.{}".format, st.integers(0, 10**14), st.from_regex(r"\A[0-9]{1,10}\Z")),
    st.text("0123456789,.", max_size=26),
    st.text("0012,,..-+e n/a%é\x00", max_size=26),
)


@settings(
    max_examples=300,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    cells=st.lists(CELLS, max_size=20),
    decimal=st.sampled_from(["point", "comma"]),
    counter=st.sampled_from([*UNITS]),
)
def test_a_column_says_what_its_cells_say_one_by_one(
    cells: list[str | None], decimal: DecimalSeparator, counter: str
) -> None:
    check_same([cell and cell.translate(SWAPPED) for cell in cells] if decimal == "comma" else cells, counter, decimal)


@settings(
    max_examples=300,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cells=st.lists(CELLS, max_size=20), european=st.booleans())
def test_evidence_is_that_of_the_cells_one_by_one(cells: list[str | None], european: bool) -> None:
    texts = [cell.translate(SWAPPED) if european else cell for cell in cells if cell is not None]
    assert first_examples([pa.array(texts, pa.string())]) == gather(texts)


@pytest.mark.parametrize("decimal", ["point", "comma"])
@pytest.mark.parametrize(
    "texts",
    [[], [""], ["", "1"], ["1", ""], ["1", "", "2"], ["12", "345"], ["1,234", "5.5"], ["1.234", "5,5"], ["1,23"], ["1\t"], ["x"]],
)  # fmt: skip
def test_plain_cells_are_plain_one_by_one(texts: list[str], decimal: DecimalSeparator) -> None:
    expected = all(re.fullmatch(PLAIN[decimal], text) for text in texts)
    assert all_plain(pa.array(texts, pa.string()), decimal) is expected
    assert all_plain(pa.array(["x", *texts, "y"], pa.string())[1:-1], decimal) is expected
