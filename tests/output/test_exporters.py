"""One exporter per format: headings and rows, or a document, to text."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest

from roofctl.cli.common import EXPORTERS, show_as
from roofctl.output.csv import to_csv
from roofctl.output.json import to_json
from roofctl.output.markdown import code_span, to_markdown
from roofctl.output.table import to_table

HEADINGS = [">#", "kernel", ">time"]
ROWS = [["1", "triad", "181.6 µs"], ["12", "a|b", "4.01 ms"]]
ESCAPE = "evil\x1b[2Jname\u202e"


def test_a_table_aligns_numbers_right_and_ends_no_line_with_spaces() -> None:
    assert to_table(HEADINGS, ROWS).text.splitlines() == [
        " #  kernel      time",
        " 1  triad   181.6 µs",
        "12  a|b      4.01 ms",
    ]


def test_a_table_of_no_rows_is_its_headings() -> None:
    assert to_table(HEADINGS, []).text == "#  kernel  time"


def test_json_is_the_document_in_plain_characters() -> None:
    document = {"kernel": "核函数 µ", "values": [1, 2.5, None]}
    text = to_json(document)
    assert json.loads(text) == document
    assert "核函数 µ" in text
    assert text.splitlines()[1].startswith("  ")


def test_json_holds_no_value_that_other_readers_refuse() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json({"rate": float("nan")})


def test_csv_has_a_line_per_row_and_empty_cells() -> None:
    text = to_csv(["kernel", "seconds"], [['f<"a", b>', 1e-6], ["two\nlines", None]])
    assert text.startswith("kernel,seconds\n")
    assert list(csv.reader(io.StringIO(text))) == [["kernel", "seconds"], ['f<"a", b>', "1e-06"], ["two\nlines", ""]]


def test_markdown_is_a_pipe_table() -> None:
    assert to_markdown(HEADINGS, ROWS).splitlines() == [
        "| # | kernel | time |",
        "| ---: | --- | ---: |",
        "| 1 | triad | 181.6 µs |",
        "| 12 | a\\|b | 4.01 ms |",
    ]
    assert code_span("a`b") == "`a b`"


def test_no_exporter_hands_a_terminal_what_steers_it() -> None:
    for text in (
        to_table(["kernel"], [[ESCAPE]]).text,
        to_json({"kernel": ESCAPE}),
        to_csv(["kernel"], [[ESCAPE]], terminal=True),
        to_markdown(["kernel"], [[ESCAPE]]),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert json.loads(to_json(ESCAPE)) == ESCAPE
    assert ESCAPE in to_csv(["kernel"], [[ESCAPE]])


@pytest.mark.parametrize("form", EXPORTERS)
def test_every_format_ends_with_one_newline(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_as(form, HEADINGS, ROWS, document=ROWS)
    out = capsys.readouterr().out
    assert "triad" in out
    assert out.endswith("\n")
    assert not out.endswith("\n\n")


def test_csv_in_a_file_keeps_names_and_on_a_terminal_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show_as("csv", ["kernel"], [[ESCAPE]])
    assert ESCAPE in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    show_as("csv", ["kernel"], [[ESCAPE]])
    assert "evil\\x1b[2Jname\\u202e" in capsys.readouterr().out
