"""Tables: recognised by header, wherever it stands and whatever stands around it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from roofctl.readers.find_tables import Scan, Scanner
from roofctl.readers.split import Rows, split_fields
from roofctl.readers.tables import CsvTable, classify
from roofctl.readers.text import plain_text

from support.shapes import (
    FULL,
    L,
    line,
    ncu_details,
    ncu_raw,
    ncu_summary,
    nvprof_events,
    nvprof_metrics,
    nvprof_summary,
)


@dataclass
class Kept:
    """Keeps the rows of a table as lists, with the numbers of their lines."""

    table: CsvTable
    rows: list[tuple[int, list[str]]] = field(default_factory=list)

    def columns(self) -> list[int]:
        return list(range(len(self.table.header)))

    def take(self, rows: Rows) -> bool:
        cells = zip(*(rows.columns[place].to_pylist() for place in self.columns()), strict=True)
        self.rows += zip(rows.lines.tolist(), map(list, cells), strict=True)
        return True


def scan(lines: list[str]) -> Scan:
    scanner = Scanner(Kept)
    scanner.feed(scanner.lines(plain_text("\n".join([*lines, ""]).encode())))
    return scanner.found


def rows_of(table: CsvTable) -> list[tuple[int, list[str]]]:
    return table.reader.rows if isinstance(table.reader, Kept) else []


def test_a_nul_is_one_damaged_character_on_every_python() -> None:
    assert split_fields(plain_text(b'"a\0b",c').decode()) == ["a\ufffdb", "c"]


TWO = [L("k(int)"), L("k(int)", id="1")]


def kinds(text: str) -> list[str]:
    return [table.kind for table in scan(text.split("\n")).tables]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (ncu_raw(TWO), "ncu_raw"),
        (ncu_details(TWO, 12), "ncu_details"),
        (ncu_details(TWO, 15), "ncu_details"),
        (ncu_details(TWO, 20), "ncu_details"),
        (ncu_details(TWO, nvtx=True, body_item=True), "ncu_details"),
        (ncu_summary(TWO), "ncu_summary"),
        (ncu_summary(TWO, old=True), "ncu_summary"),
        (nvprof_metrics({"inst_executed": 1}), "nvprof_metrics"),
        (nvprof_events({"thread_inst_executed": 1}), "nvprof_events"),
        (nvprof_summary([]), "nvprof_summary"),
        ('"Time(%)","Time","Calls","Avg","Min","Max","Name"\n', "nvprof_summary"),
        ('"Device","Count","Avg Size","Min Size","Max Size","Total Size","Total Time",""\n', "nvprof_unified"),
        ('"Device","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n', "nvprof_device"),
        ('"Index","KernelName","gpu-id"\n', "foreign_rocprof"),
        ("Dispatch_ID,Kernel_Name,Counter_Name,Counter_Value\n", "foreign_rocprof"),
        ("Time (%),Total Time (ns),Instances,Avg (ns),Name\n", "nsys_summary"),
        ("Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n", "nsys_other"),
    ],
)
def test_kind_by_header(text: str, kind: str) -> None:
    assert kinds(text) == [kind]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_that_spreadsheets_write(delimiter: str) -> None:
    text = delimiter.join(("ID", "Process ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"))
    found = scan([text, delimiter.join(("0", "7", "k(int)", "m", "inst", "5"))])
    assert [row for _, row in rows_of(found.tables[0])] == [["0", "7", "k(int)", "m", "inst", "5"]]


def test_lines_around_and_between_rows_are_passed_over_and_counted() -> None:
    rows = ncu_details(TWO).split("\n")
    text = [
        "==PROF== Connected to process 5 (/opt/app)",
        'result, "Kernel Name", of, the, run',
        'an odd " quote, and another line',
        rows[0],
        *rows[1:4],
        'step 1, loss 0.5, "unfinished',
        "==WARNING== slow",
        *rows[4:],
        "========= Profiling done",
        "bye, bye",
    ]
    found = scan(text)
    assert len(found.tables) == 1
    assert found.tables[0].rows == 2 * len(FULL)
    assert found.foreign == [2, 3, 8, len(text)]
    assert found.banners == [
        "==PROF== Connected to process 5 (/opt/app)",
        "==WARNING== slow",
        "========= Profiling done",
    ]


def test_a_kernel_name_with_equals_signs_is_no_banner() -> None:
    found = scan(ncu_details([L("bool operator==(A const&, B)")]).split("\n"))
    assert found.tables[0].rows == len(FULL)
    assert found.banners == []


def test_units_row_of_a_raw_page() -> None:
    table = scan(ncu_raw(TWO).split("\n")).tables[0]
    assert table.units is not None
    assert table.units[table.header.index("smsp__inst_executed.sum")] == "inst"
    assert [number for number, _ in rows_of(table)] == [3, 4]


@pytest.mark.parametrize(
    ("row", "kept", "malformed"),
    [
        (["0", "7", "k", "m", "inst", "5"], 1, []),
        (["0", "7", "k", "m", "inst", "5", "", ""], 1, []),  # trailing empty fields
        (["0", "7", "k", "m", "inst", "5", "more"], 0, [2]),  # never shifted into other columns
        (["0", "7", "k", "m"], 0, [2]),  # cut off
        (["zero", "7", "k", "m", "inst", "5"], 0, []),  # not a row at all
    ],
)
def test_rows_that_do_not_fit_are_named(row: list[str], kept: int, malformed: list[int]) -> None:
    header = line(["ID", "Process ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"])
    table = scan([header, line(row)]).tables[0]
    assert (table.rows, table.malformed) == (kept, malformed)


def test_a_second_header_opens_a_second_table() -> None:
    text = nvprof_events({"thread_inst_executed": 5}) + "\n" + nvprof_metrics({"inst_executed": 3})
    tables = scan(text.split("\n")).tables
    assert [(table.kind, table.rows, table.line) for table in tables] == [
        ("nvprof_events", 1, 1),
        ("nvprof_metrics", 1, 4),
    ]


def test_fields_by_name() -> None:
    table = scan(nvprof_metrics({"inst_executed": 3}).split("\n")).tables[0]
    row = rows_of(table)[0][1]
    assert table.field(row, "Avg") == "3"
    assert table.field(row, "no such column") == ""
    assert table.field(row[:2], "Avg") == ""


def test_classify_needs_all_names() -> None:
    assert classify(["ID", "Process ID", "Kernel Name"]) is None
    assert classify(["Date", "Value"]) is None


def test_a_line_never_continues_on_the_next() -> None:
    assert split_fields('a,"b') == ["a", "b"]
    assert split_fields("") == []
    assert split_fields('"x ""y"", z",1') == ['x "y", z', "1"]
