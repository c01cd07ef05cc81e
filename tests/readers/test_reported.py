"""Shapes of files over which users of such tools stumbled: each is read correctly, in files made up here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofctl.core.errors import InputError
from roofctl.output.report import document
from roofctl.output.rows import rows as rows_of
from roofctl.roofline.analyse import analyse
from roofctl.study.analyse import AnalysisRequest, analyse_inputs

from support.shapes import FULL, ISSUED, THREAD, TIME, L, line, ncu_details, ncu_raw, parts, write
from support.tables import kernels as table_of


def kernels(path: Path, **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = document(analyse_inputs(AnalysisRequest(inputs=(path,), **options)))["kernels"]
    return rows


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "x.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(("columns", "turned"), [(12, False), (12, True), (15, False), (15, True), (20, False)])
def test_columns_are_found_by_name_whatever_their_number_and_order(columns: int, turned: bool, tmp_path: Path) -> None:
    """A parser that wanted 12 columns skipped every row of a file of 15, without a word."""
    text = ncu_details([L("k(int)", id=str(i)) for i in range(40)], columns)
    if turned:
        rows = [row.strip('"').split('","') for row in text.splitlines() if "SpeedOfLight" not in row]
        middle = rows[0].index("Kernel Name")
        text = "\n".join(line([*row[middle:], *row[:middle]]) for row in rows) + "\n"
    (row,) = kernels(written(tmp_path, text))
    assert (row["launches"], row["warp_instructions"], row["hbm_transactions"]) == (40, 100_000, 20_000)


def test_rows_that_are_all_passed_over_are_an_error(tmp_path: Path) -> None:
    text = ncu_raw([L("k(int)", id=str(i)) for i in range(40)]).split("\n")
    short = "\n".join([text[0], text[1], *(row.rpartition(",")[0] for row in text[2:])])
    with pytest.raises(InputError, match="all 40 rows were passed over"):
        kernels(written(tmp_path, short))


def test_a_programs_own_lines_anywhere_are_told_and_harm_nothing(tmp_path: Path) -> None:
    lines = ncu_raw([L("k(int)", id=str(i)) for i in range(40)]).splitlines()
    noise = 'iteration 7, loss 0.25, "ok", 1,2,3'
    text = "\n".join([noise, *lines[:20], noise, noise, *lines[20:], noise]) + "\n"
    analysis = analyse_inputs(AnalysisRequest(inputs=(written(tmp_path, text),)))
    assert rows_of(analysis.results)[0]["launches"] == 40
    assert any("4 lines that belong to no table passed over, the first is line 1" in n.text for n in analysis.notes)


@pytest.mark.parametrize("page", [ncu_raw, ncu_details])
def test_a_european_time_is_not_a_thousand_times_too_short(page: Any, tmp_path: Path) -> None:
    european = {TIME: "117.344", ISSUED: "27.595.520", THREAD: "883.056.640", "sm__throughput.avg": "65,77"}
    (row,) = kernels(written(tmp_path, page([L("k(int)", european, id=str(i)) for i in range(40)])))
    assert row["seconds"] == pytest.approx(117.344e-6)
    assert row["issued_warp_instructions"] == 27_595_520


def test_kernels_of_one_base_name_stay_apart(tmp_path: Path) -> None:
    names = ["void strided<1>(float *)", "void strided<8>(float *)", "unnamed>::strided(float *)"]
    rows = kernels(written(tmp_path, ncu_raw([L(names[i % 3], id=str(i)) for i in range(42)])))
    assert sorted(row["kernel"] for row in rows) == sorted(names)
    assert len({row["short_name"] for row in rows}) == 3


def test_warp_counters_are_not_divided_by_32(tmp_path: Path) -> None:
    """nvprof's names typed into ncu's shape, saved by a spreadsheet: warp instructions stay as they are."""
    header = "ID,Process ID,Process Name,Host Name,Kernel Name,Kernel Time,Context,Stream,Section Name,Metric Name,Metric Unit,Metric Value"
    cells = {"inst_executed": ("inst", 279_498_240), "dram_read_transactions": ("transactions", 30_000_000)}
    cells |= {"dram_write_transactions": ("transactions", 10_000_000), "time": ("us", 4_010)}
    rows = [f"0,7,app,h,k,t,1,7,Command line profiler metrics,{n},{u},{v}" for n, (u, v) in cells.items()]
    text = "\ufeff" + "\r\n".join([header, *rows]) + "\r\n"
    (row,) = kernels(written(tmp_path, text.encode()))
    assert row["warp_instructions"] == 279_498_240
    assert row["gips"] == pytest.approx(69.70, abs=5e-3)
    assert row["hbm_transactions"] == 40_000_000


def test_divergent_threads_are_a_lower_bound_of_warps(tmp_path: Path) -> None:
    both = {**FULL, THREAD: 31_322_624, ISSUED: 1_107_736}
    (row,) = kernels(written(tmp_path, ncu_raw([L("k(int)", both)])))
    assert (row["warp_instructions"], row["issued_warp_instructions"]) == (978_832, 1_107_736)
    (row,) = kernels(written(tmp_path, ncu_raw([L("k(int)", both)])), instructions="issued")
    assert row["warp_instructions"] == 1_107_736
    lone = {name: value for name, value in both.items() if name != ISSUED}
    notes = analyse_inputs(AnalysisRequest(inputs=(written(tmp_path, ncu_raw([L("k(int)", lone)])),))).notes
    assert any("thread instructions / 32 is a lower bound" in note.text for note in notes)


def test_pascal_transactions_are_not_taken_for_sectors_without_a_word(tmp_path: Path) -> None:
    facts = {**FULL, "device__attribute_display_name": "NVIDIA TITAN Xp"}
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", facts, cc="6.1")]))
    analysis = analyse_inputs(AnalysisRequest(inputs=(path,)))
    assert any("the L1 intensity is not reliable" in note.text for note in analysis.notes if note.warning)
    (path,) = write(tmp_path, b=ncu_raw([L("k(int)", facts, cc="7.0")]))
    assert not any("L1 intensity" in note.text for note in analyse_inputs(AnalysisRequest(inputs=(path,))).notes)


def test_a_short_kernel_has_a_word_on_its_time() -> None:
    def notes(nanoseconds: int) -> str:
        read = parts(ncu_raw([L("k(int)", {**FULL, TIME: nanoseconds})]))
        results = analyse(table_of(read, "kernel", "gh100"), None)
        return "\n".join(note.text for note in results.notes)

    assert "shorter than 20 µs: ncu's time is 0.5 to 2 µs off there" in notes(7_000)
    assert "shorter" not in notes(70_000)
