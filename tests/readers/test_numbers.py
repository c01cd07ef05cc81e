"""Numbers: one reading per file, exact, and never an invented zero."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofctl.core.errors import InputError
from roofctl.core.units import Unit, parse_unit
from roofctl.readers.numbers import (
    DecimalSeparator,
    Evidence,
    decide,
    gather,
    is_missing,
    lost_digits,
    parse_number,
    split_glued,
    to_base,
)

PROPERTY = settings(max_examples=200, derandomize=True, deadline=None, database=None)


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("16,252,928", "point", "16252928"),
        ("1965000", "point", "1965000"),
        ("402,316.00", "point", "402316.00"),
        ("1,975,052,229.34", "point", "1975052229.34"),
        ("181,600", "point", "181600"),
        ("1 234 567.5", "point", "1234567.5"),
        ("1\u00a0234\u202f567", "point", "1234567"),
        ("1'234'567", "point", "1234567"),
        ("1’234", "point", "1234"),
        ("27.595.520", "comma", "27595520"),
        ("117.344", "comma", "117344"),
        ("117.344", "point", "117.344"),
        ("65,77", "comma", "65.77"),
        ("9,00", "comma", "9.00"),
        ("1.234.567,5", "comma", "1234567.5"),
        ("1 234,5", "comma", "1234.5"),
        ("2.12761E+11", "point", "212761000000"),
        ("1.5e-3", "point", "0.0015"),
        ("-1,5", "comma", "-1.5"),
        (".5", "point", "0.5"),
        ("(!) 1.5", "point", "1.5"),
        ("0", "point", "0"),
        ("0.00", "point", "0"),
    ],
)
def test_spellings(text: str, mark: DecimalSeparator, value: str) -> None:
    assert parse_number(text, mark) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "n/a",
        "N/A",
        "nan",
        "-nan",
        "nan(0x8)",
        "(!) nan",
        "(!) n/a",
        "inf",
        "-inf",
        "no data",
        "None",
        "-",
        "<OVERFLOW>",
    ],
)
def test_missing_is_never_zero(text: str) -> None:
    assert is_missing(text)
    assert parse_number(text, "point") is None


@pytest.mark.parametrize("text", ["0", "0.00", "0,00", "nano", "1"])
def test_zero_and_words_are_not_missing(text: str) -> None:
    assert not is_missing(text)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("12,34", "point"),
        ("1,2345", "point"),
        ("1.234,5", "point"),
        ("1.2.3", "point"),
        ("1,234.5", "comma"),
        ("12.34", "comma"),
        ("all", "point"),
        ("0x10", "point"),
        ("1_000", "point"),
        ("1;2", "point"),
        ("٣", "point"),
        ("Infinity2", "point"),
        ("--1", "point"),
        ("sNaN", "point"),
    ],
)
def test_not_a_number_under_this_mark(text: str, mark: DecimalSeparator) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_number(text, mark)


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1", "22", "1965000"], "point"),
        (["1,234,567", "181,600"], "point"),
        (["1,234.5"], "point"),
        (["65.77"], "point"),
        (["0.123"], "point"),
        (["1234.567"], "point"),
        (["2.1E+11", "181,600"], "point"),
        (["1.234.567", "181.600"], "comma"),
        (["1.234,5"], "comma"),
        (["9,00", "117.344"], "comma"),
        (["0,123"], "comma"),
        (["12345,678"], "comma"),
        (["1'234.25"], "point"),
        (["1 234,5"], "comma"),
        (["n/a", "all", "(256, 1, 1)"], "point"),
    ],
)
def test_unambiguous_values_settle_the_mark(cells: list[str], mark: DecimalSeparator) -> None:
    assert decide(gather(cells), "f.csv") == mark


@pytest.mark.parametrize("cells", [["117.344"], ["181,600", "7"], ["1.234", "12,345"]])
def test_only_ambiguous_values_are_refused_with_the_way_out(cells: list[str]) -> None:
    with pytest.raises(InputError, match=r"f\.csv: .* may hold a thousands separator or a decimal separator") as caught:
        decide(gather(cells), "f.csv")
    assert "--decimal point" in caught.value.hint
    assert "--decimal comma" in caught.value.hint


def test_mixed_marks_are_refused() -> None:
    with pytest.raises(InputError, match=r"mixes decimal separators: '1,234,567' and '1\.234\.567'"):
        decide(gather(["1,234,567", "1.234.567"]), "f.csv")


def test_evidence_keeps_the_first_example_of_each() -> None:
    assert gather(["5", "117.344", "118.344", "1.5", "2.5", "1,5"]) == Evidence("1.5", "1,5", "117.344")


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        ("16252928", "inst", 16_252_928),
        ("9007199254740993", "inst", 9_007_199_254_740_993),
        ("40.114816", "Mbyte", 40_114_816),
        ("17.77", "Kbyte", 17_770),
        ("402339.36", "sector", 402_339.36),
        ("181600", "ns", 181_600e-9),
        ("1.309", "cycle/nsecond", 1.309e9),
        ("0", "sector", 0),
        ("2.5", "ms", 2.5e-3),
    ],
)
def test_to_base(value: str, unit: str, expected: float) -> None:
    parsed = parse_unit(unit)
    assert isinstance(parsed, Unit)
    made = to_base(Decimal(value), parsed)
    assert made == pytest.approx(expected, rel=1e-15)
    assert isinstance(made, int) == isinstance(expected, int)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("81.498514%", ("81.498514", "%")),
        ("40.860352KB", ("40.860352", "KB")),
        ("64.607GB/s", ("64.607", "GB/s")),
        ("131072", ("131072", "")),
        ("1.5e+09B", ("1.5e+09", "B")),
        ("Low (1)", ("Low (1)", "")),
    ],
)
def test_split_glued(text: str, parts: tuple[str, str]) -> None:
    assert split_glued(text) == parts


@pytest.mark.parametrize(
    ("text", "lost"), [("2.12761E+11", True), ("2,1E+11", True), ("2E+9", True), ("1.5e-3", False), ("212761", False)]
)
def test_lost_digits(text: str, lost: bool) -> None:
    assert lost_digits(text) is lost


LOCALES = {"point": (",", "."), "comma": (".", ",")}


def printed(value: Decimal, group: str, decimal: str) -> str:
    """``value`` as a profiler prints it under a locale."""
    return f"{value:,}".translate(str.maketrans({",": group, ".": decimal}))


@PROPERTY
@given(
    value=st.integers(0, 10**18),
    mark=st.sampled_from(get_args(DecimalSeparator)),
    spaced=st.sampled_from(["", "\u00a0", "'"]),
)
def test_printed_counts_come_back(value: int, mark: DecimalSeparator, spaced: str) -> None:
    group, decimal = LOCALES[mark]
    assert parse_number(printed(Decimal(value), spaced or group, decimal), mark) == value


@PROPERTY
@given(value=st.decimals(0, 10**12, places=2), mark=st.sampled_from(get_args(DecimalSeparator)))
def test_printed_decimals_come_back_and_tell_their_mark(value: Decimal, mark: DecimalSeparator) -> None:
    text = printed(value, *LOCALES[mark])
    assert parse_number(text, mark) == value
    assert decide(gather([text]), "f.csv") == mark
