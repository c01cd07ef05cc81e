"""Tables in a terminal: what leaves, what is cut, and what never is."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from roofctl.output.columns import Column, headings_and_rows
from roofctl.output.table import to_table

HEADINGS = [">#", "kernel", *(f">column {n}" for n in range(6))]
NAME = "a_kernel_of_a_name_that_is_long_enough_to_cut"
ROWS = [["1", NAME, *["1045.4"] * 6], ["12", "短い名前の核函数をここに書いて長くする", *["2.0"] * 6]]


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 100, 120, 160])
def test_no_line_is_longer_than_the_terminal_and_no_number_is_cut(width: int) -> None:
    found = to_table(HEADINGS, ROWS, width=width)
    heading, *lines = found.text.splitlines()
    assert len(lines) == len(ROWS)
    shown = heading.count("column")
    assert lines[0].count("1045.4") == shown == 6 - len(found.left_out)
    assert found.left_out == tuple(f"column {n}" for n in range(shown, 6))
    if width >= 24:  # the number and the shortest name
        assert max(map(cell_len, (heading, *lines))) <= width


def test_names_are_cut_in_their_middle_before_columns_leave() -> None:
    found = to_table(HEADINGS, ROWS, width=100)
    assert found.left_out == ()
    assert "a_kernel_o…ong_enough_to_cut" not in found.text  # as much of it as there is room for
    name = found.text.splitlines()[1].split()[1]
    start, _, end = name.partition("…")
    assert NAME.startswith(start)
    assert NAME.endswith(end)
    assert abs(len(start) - len(end)) <= 1


def test_a_pipe_gets_everything() -> None:
    found = to_table(HEADINGS, ROWS)
    assert NAME in found.text
    assert found.left_out == ()


def test_sentences_wrap_at_words_in_their_column() -> None:
    text = to_table(["key", ">value", "~source"], [["k", "1", "one two three four five six seven"]], width=36).text
    assert text.splitlines() == [
        "key  value  source",
        "k        1  one two three four five",
        "            six seven",
    ]


def test_a_column_has_one_unit_and_its_numbers_one_decimal_separator() -> None:
    columns = [
        Column("kernel", "kernel", "text", ["a", "b", "c", None]),
        Column("time", "time", "seconds", [1.785e-3, 579.2e-6, 3.541e-6, None]),
        Column("share", "share", "percent", [0.754, 1.0, 0.0, None]),
        Column("rate", "HBM", "rate", [3.9e12, 21e9, 0, None], "B/s"),
        Column("n", "launches", "count", [12_345, 2, 1, 1]),
        Column("left", "headroom", "seconds", [1e-3, 2e-6, None, None], prefixes=["<", "", "", ""]),
    ]
    text = to_table(*headings_and_rows(columns)).text
    assert text.splitlines() == [
        "kernel   time µs  share %  HBM TB/s  launches  headroom ms",
        "a       1785         75.4   3.900      12,345    <1.000",
        "b        579.2      100.0   0.02100         2     0.002000",
        "c          3.541      0.0   0               1     –",
        "–          –          –     –               1     –",
    ]
