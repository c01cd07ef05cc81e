"""The Parquet dataset: every launch with what is known of it; written atomically."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from roofctl.cli.main import main
from roofctl.core import parallel
from roofctl.core.errors import InputError
from roofctl.launches.evaluate import PASSED_BY
from roofctl.launches.table import LaunchTable
from roofctl.output import parquet as export
from roofctl.output.parquet import MARKER, capture_names, schema, to_parquet
from roofctl.quantities import catalogue
from roofctl.study import load as inputs
from roofctl.study.load import locate

from support.capture_folders import capture
from support.shapes import (
    FULL,
    L2,
    L2_ALL,
    THREAD,
    TIME,
    L,
    ncu_raw,
    ncu_summary,
    nvprof_events,
    nvprof_metrics,
    nvprof_summary,
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def table(*inputs: Path, folder: str = "out", **options: Any) -> list[dict[str, Any]]:
    to_parquet(locate(inputs), Path(folder), None, **options)
    rows: list[dict[str, Any]] = ds.dataset(folder, partitioning="hive").to_table().to_pylist()
    return rows


def test_a_row_per_launch_with_its_quantities(here: Path) -> None:
    counters = {**FULL, THREAD: 2**59 + 1}
    write(here / "app.rank3.csv", ncu_raw([L("a(int)", counters), L("b(int)", {TIME: 7_000}, id="1")]))
    one, two = table(Path("app.rank3.csv"))
    assert {name: one[name] for name in ("file", "rank", "capture", "kernel", "launches", "is_summary")} == {
        "file": "app.rank3.csv",
        "rank": 3,
        "capture": "app.rank3",
        "kernel": "a(int)",
        "launches": 1,
        "is_summary": False,
    }
    assert (one["thread_instructions"], one["l1_transactions"], one["hbm_transactions"]) == (2**59 + 1, 44_000, 20_000)
    assert (one["seconds"], one["sm_clock_hz"]) == (pytest.approx(100e-6), 1.5e9)
    assert (one["grid"], one["block"], one["compute_capability"]) == ("(64, 1, 1)", "(256, 1, 1)", "9.0")
    assert (two["kernel"], two["seconds"], two["thread_instructions"]) == ("b(int)", pytest.approx(7e-6), None)


def test_every_file_has_the_same_columns(here: Path) -> None:
    write(here / "a.csv", ncu_raw([L("a(int)")]))
    write(here / "b.csv", ncu_summary([L("a(int)", {L2: "402,339.36"})]))
    table(Path("a.csv"), Path("b.csv"))
    files = sorted((here / "out").glob("*/*.parquet"))
    assert [pq.read_schema(file) for file in files] == [schema()] * 2
    assert set(catalogue().quantities) <= set(schema().names)


def test_a_summary_gives_sums_with_a_caveat(here: Path) -> None:
    write(here / "s.csv", ncu_summary([L("a(int)", {L2: "402,339.36", TIME: "93,188.16"})], 100))
    (row,) = table(Path("s.csv"))
    assert (row["launches"], row["is_summary"], row["l2_transactions"]) == (100, True, 40_233_936)
    assert row["seconds"] == pytest.approx(93_188.16e-9 * 100)
    assert "means times 100 launches" in row["caveats"]


def test_what_is_not_exact_has_a_caveat_where_it_is(here: Path) -> None:
    write(here / "a.csv", ncu_raw([L("a(int)", {L2_ALL: 5, TIME: 1}, cc="9.0"), L("b(int)", {TIME: 1}, id="1")]))
    one, two = table(Path("a.csv"))
    assert one["caveats"].startswith("l2_transactions: ")
    assert two["caveats"] is None


def test_l1_traffic_that_report_does_not_count_is_null(here: Path, data: Path) -> None:
    rows = table(data / "captures-h200" / "gemms")
    copied = [row for row in rows if row["kernel"].startswith("nvjet")]
    assert copied
    assert {row["l1_transactions"] for row in copied} == {None}
    assert all(f"l1_transactions: {PASSED_BY}" in row["caveats"] for row in copied)
    others = [row for row in rows if row["l1_transactions"] is not None]
    assert all(PASSED_BY not in (row["caveats"] or "") for row in others)


def test_l1_traffic_is_null_for_that_kernel_alone(here: Path) -> None:
    write(here / "a.csv", ncu_raw([L("a(int)", {**FULL, L2: 10_000_000}), L("b(int)", FULL, id="1")]))
    one, two = table(Path("a.csv"))
    assert (one["l1_transactions"], two["l1_transactions"]) == (None, 44_000)
    assert one["caveats"].startswith(f"l1_transactions: {PASSED_BY}; ")
    assert PASSED_BY not in two["caveats"]


def test_files_of_one_capture_are_joined(here: Path) -> None:
    folder = capture(here, "mine", data=["m.csv", "e.csv", "t.csv"], rank=5)
    kernel = "k(int)"
    (folder / "m.csv").write_text(nvprof_metrics({"l2_read_transactions": 4, "l2_write_transactions": 6}, kernel))
    (folder / "e.csv").write_text(nvprof_events({"thread_inst_executed": 3200}, kernel))
    (folder / "t.csv").write_text(nvprof_summary([f'"GPU activities",100,20,10,2,1,3,"{kernel}"']))
    rows = table(folder)
    assert [(row["kernel"], row["capture"], row["rank"], row["launches"]) for row in rows] == [(kernel, "mine", 5, 10)]
    assert (rows[0]["thread_instructions"], rows[0]["l2_transactions"]) == (32_000, 100)
    assert rows[0]["seconds"] == pytest.approx(20e-6)


def test_captures_are_partitions_under_their_own_names(here: Path) -> None:
    for name in ("a/x.csv", "b/x.csv", "b/x.ncu.csv"):
        write(here / "runs" / name, ncu_raw([L("a(int)")]))
    assert {row["capture"] for row in table(Path("runs"))} == {"a/x", "b/x", "b/x.ncu"}


def test_names_that_are_taken_are_numbered(here: Path) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    write(here / "x.txt", ncu_raw([L("b(int)")]))
    sources = locate([Path("x.csv"), Path("x.txt")])
    assert capture_names(sources) == ["x", "x-2"]
    rows = table(Path("x.csv"), Path("x.txt"))
    assert sorted((row["file"], row["capture"]) for row in rows) == [("x.csv", "x"), ("x.txt", "x-2")]


def test_a_number_does_not_take_the_name_of_another(here: Path) -> None:
    for name in ("x.csv", "x.txt", "x-2.csv"):
        write(here / name, ncu_raw([L("a(int)")]))
    sources = locate([Path("x.csv"), Path("x.txt"), Path("x-2.csv")])
    assert capture_names(sources) == ["x", "x-3", "x-2"]


def test_captures_of_one_file_do_not_take_the_name_of_another(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = export.launch_table

    def twice(parts: Any, chip: str | None) -> LaunchTable:
        table = real(parts, chip)
        frame = pd.concat([table.frame, table.frame.assign(capture=1)], ignore_index=True)
        return LaunchTable(frame, table.parts, (*table.captures, *table.captures))

    monkeypatch.setattr(export, "launch_table", twice)
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    write(here / "x-2.csv", ncu_raw([L("b(int)")]))
    rows = table(Path("x.csv"), Path("x-2.csv"))
    assert sorted((row["capture"], row["kernel"]) for row in rows) == [
        ("x", "a(int)"),
        ("x-2", "b(int)"),
        ("x-2-2", "b(int)"),
        ("x-3", "a(int)"),
    ]


def test_a_folder_is_not_replaced_unasked(here: Path) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    table(Path("x.csv"))
    with pytest.raises(InputError, match="out exists") as caught:
        table(Path("x.csv"))
    assert "--force" in caught.value.hint
    write(here / "x.csv", ncu_raw([L("b(int)")]))
    assert [row["kernel"] for row in table(Path("x.csv"), force=True)] == ["b(int)"]
    assert sorted(path.name for path in here.iterdir()) == ["out", "x.csv"]


def test_a_folder_of_somebody_else_is_never_replaced(here: Path) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    write(here / "out" / "thesis.tex", "years of work")
    with pytest.raises(InputError, match="is no export of roofctl"):
        table(Path("x.csv"), force=True)
    assert (here / "out" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("name", ["notes.txt", "capture=x/figure.png", "mine", "part-0.parquet"])
def test_an_export_that_holds_a_user_s_files_is_not_replaced(here: Path, name: str) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    table(Path("x.csv"))
    write(here / "out" / name, "years of work")
    with pytest.raises(InputError, match=f"out holds {name}, which is no part of an export"):
        table(Path("x.csv"), force=True)
    assert (here / "out" / name).read_text() == "years of work"


def test_an_export_that_holds_an_input_is_not_replaced(here: Path) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    table(Path("x.csv"))
    # As if it were a part of one: the name alone does not identify an input.
    inside = write(here / "out" / "capture=x" / "part-1.parquet", ncu_raw([L("a(int)")]))
    with pytest.raises(InputError, match=r"part-1\.parquet lies in the folder that is to be replaced"):
        table(inside, force=True)
    assert inside.is_file()


def test_a_link_to_an_export_stays_one(here: Path) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    (here / "big").mkdir()
    (here / "out").symlink_to("big/data")
    table(Path("x.csv"))
    table(Path("x.csv"), force=True)
    assert (here / "out").is_symlink()
    assert [path.name for path in (here / "big").iterdir()] == ["data"]


def test_an_old_export_that_cannot_be_removed_is_a_warning(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    table(Path("x.csv"))
    remove = export.shutil.rmtree

    def busy(path: Path, **how: Any) -> None:
        if path.suffix == ".old":
            raise OSError(16, "Device or resource busy")
        remove(path, **how)

    monkeypatch.setattr(export.shutil, "rmtree", busy)
    done = to_parquet(locate([Path("x.csv")]), Path("out"), None, force=True)
    (note,) = [note for note in done.notes if note.warning]
    assert "the earlier export could not be removed (Device or resource busy): it is now" in note.text
    assert ds.dataset("out", partitioning="hive").count_rows() == 1


@pytest.mark.parametrize("folder", [".", "..", "/"])
def test_the_folder_that_one_is_in_is_not_replaced(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    (here / "empty").mkdir()
    monkeypatch.chdir(here / "empty")
    assert main(["export", "../x.csv", "--parquet", folder]) == 2
    assert "is the folder that you are in, or above it" in capsys.readouterr().err


def test_a_name_that_is_not_utf8_is_told_by_its_bytes(here: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    try:
        write(here / name, ncu_raw([L("a(int)")]))
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    (row,) = table(Path(name))
    assert (row["file"], row["capture"]) == ("caf\\xe9.csv", "caf\\xe9")


def test_what_fails_leaves_nothing_and_takes_nothing_away(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    table(Path("x.csv"))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export.pq, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        table(Path("x.csv"), force=True)
    assert [path.name for path in sorted(here.iterdir())] == ["out", "x.csv"]
    assert ds.dataset("out", partitioning="hive").count_rows() == 1


def test_one_that_cannot_be_read_of_few_is_an_error(here: Path) -> None:
    write(here / "x.csv", ncu_raw([L("a(int)")]))
    write(here / "y.csv", "garbage")
    with pytest.raises(InputError, match=r"y\.csv holds no table"):
        table(Path("x.csv"), Path("y.csv"))
    assert not (here / "out").exists()


def test_one_that_cannot_be_read_of_many_is_left_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(12):
        text = "garbage" if number == 5 else ncu_raw([L("a(int)")])
        write(here / "ranks" / f"rank{number}.csv", text)
    assert main(["export", "ranks", "--parquet", "out"]) == 9
    printed = capsys.readouterr().err
    assert "warning: left out: ranks/rank5.csv holds no table" in printed
    assert "Wrote out: 11 captures, 11 rows" in printed
    assert "error: 1 of 12 inputs could not be read; what is written is without them" in printed
    rows = ds.dataset("out", partitioning="hive").to_table(columns=["rank"]).to_pylist()
    assert sorted(row["rank"] for row in rows) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]


def test_many_files_go_through_processes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_WORTH_SECONDS", 0.0)
    monkeypatch.setattr(parallel, "processors", lambda: 2)
    for number in range(70):
        write(here / "ranks" / f"rank{number}.csv", ncu_raw([L("a(int)", {**FULL, TIME: 1000 + number})]))
    seen: list[tuple[int, int]] = []
    done = to_parquet(locate([Path("ranks")]), Path("out"), None, watch=lambda *step: seen.append(step))
    assert (done.captures, done.rows) == (70, 70)
    assert seen[-1] == (70, 70)
    rows = ds.dataset("out", partitioning="hive").to_table().to_pylist()
    assert sorted(round(row["seconds"] * 1e9) for row in rows) == list(range(1000, 1070))
    assert json.loads((here / "out" / MARKER).read_text()) | {"roofctl": ""} == {
        "schema": 1,
        "roofctl": "",
        "captures": 70,
        "rows": 70,
    }


def test_counts_are_integers() -> None:
    kinds = {field.name: field.type for field in schema()}
    assert kinds["seconds"] == kinds["sm_clock_hz"] == pa.float64()
    assert {kinds[name] for name in ("l1_transactions", "thread_instructions", "launches")} == {pa.int64()}
