"""The report as data: stable names, one truth in every form, unknown as null with a reason."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from roofctl.core.errors import InputError
from roofctl.output.csv import to_csv
from roofctl.output.kernel_table import markdown_table, table
from roofctl.output.markdown import to_markdown
from roofctl.output.report import (
    ceilings,
    csv_table,
    document,
    full_names,
)
from roofctl.output.rows import COLUMNS, L1_PARTS
from roofctl.output.rows import rows as rows_of
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

from support.shapes import DRAM_R, FULL, ISSUED, L2, LSU, SHARED_LD, SHARED_ST, TIME, L, ncu_raw, ncu_summary, write

H200 = {"device__attribute_display_name": "NVIDIA H200", "launch__sm_count": 132}

HEADINGS = [
    *(">#", "kernel", ">launches", ">time µs", ">share %", "limit", ">use %", ">headroom µs"),
    *(">issue %", ">L1 %", ">L2 %", ">HBM %", ">GIPS", ">lost %", ">L1 int.", ">L2 int.", ">HBM int."),
    *(">L1 GB/s", ">L2 GB/s", ">HBM GB/s"),
]

# Scripts rely on these names, in this order: change them and the schema number together.
STABLE = [
    "kernel",
    "short_name",
    "launches",
    "seconds",
    "seconds_median",
    "seconds_min",
    "seconds_max",
    "seconds_total",
    "time_share",
    "warp_instructions",
    "issued_warp_instructions",
    "l1_transactions",
    "l2_transactions",
    "hbm_transactions",
    "gips",
    "l1_intensity",
    "l2_intensity",
    "hbm_intensity",
    "limit",
    "limit_use",
    "headroom_seconds",
    "all_counted",
    "use",
    "l1_global_sectors",
    "l1_local_sectors",
    "l1_lsu_sectors",
    "shared_wavefronts",
    *L1_PARTS,
    "thread_instructions",
    "sm_clock_hz",
    "grid",
    "block",
    "source",
    "issued_gips",
    "issued_of_peak",
    "thread_efficiency",
    "lost_fraction",
    "predicated_on_fraction",
    "verdict",
    "advice",
    "rank",
    "counted_launches",
    "incomplete",
]


def analysed(folder: Path, *launches: L, **options: Any) -> Analysis:
    given = launches or (L("k(int)", {**FULL, **H200}), L("void f<1|2>(char)", {**FULL, **H200, DRAM_R: "n/a"}, id="1"))
    return analyse_inputs(AnalysisRequest(inputs=tuple(write(folder, a=ncu_raw(given))), **options))


def test_names_of_a_row_are_stable() -> None:
    assert list(COLUMNS["instruction"]) == STABLE


def test_the_document(tmp_path: Path) -> None:
    found = document(analysed(tmp_path))
    assert list(found) == [
        "schema",
        "model",
        "source",
        "incomplete",
        "gpu",
        "ceilings_gpu",
        "ceilings",
        "notes",
        "kernels",
    ]
    assert found["schema"] == 2
    assert [Path(source).name for source in found["source"]] == ["a.csv"]
    assert found["gpu"] == {
        "name": "NVIDIA H200",
        "profile": "h200",
        "chip": "gh100",
        "compute_capability": "9.0",
        "sm_clock_hz": 1.5e9,
        "sm_clock_origin": "as captured",
    }
    assert found["ceilings_gpu"] == {"name": "NVIDIA H200 SXM 141 GB", "profile": "h200", "of_capture": True}
    assert [list(row) for row in found["kernels"]] == [STABLE, STABLE]


def test_ceilings_state_rate_clock_origin_and_ridge(tmp_path: Path) -> None:
    found = document(analysed(tmp_path, ceilings="theoretical"))["ceilings"]
    assert [entry["level"] for entry in found] == ["issue", "l1", "l2", "hbm"]
    assert found[0] == {
        "level": "issue",
        "basis": "theoretical",
        "warp_instructions_per_second": 792e9,
        "clock_hz": 1.5e9,
        "origin": "132 SMs x 4 at 1.5 GHz",
        "source": "vendor",
    }
    hbm = found[3]
    assert hbm["transactions_per_second"] * 32 == hbm["bytes_per_second"] == 4.814304e12
    assert hbm["ridge_intensity"] == pytest.approx(792e9 * 32 / 4.814304e12)


def test_an_absent_ceiling_gives_the_reason(tmp_path: Path) -> None:
    roofline = analysed(tmp_path, ceilings="theoretical").rooflines[0]
    lame = type(roofline)(roofline.gpu, roofline.peak, roofline.bandwidths[1:], {"l1": "not known"})
    assert ceilings(lame)[-1] == {"level": "l1", "basis": "theoretical", "absent": "not known"}


def test_unknown_is_null_with_a_reason_in_the_notes(tmp_path: Path) -> None:
    found = json.loads(json.dumps(document(analysed(tmp_path)), allow_nan=False))
    incomplete = next(row for row in found["kernels"] if row["short_name"] == "f")
    assert incomplete["hbm_transactions"] is None
    assert incomplete["hbm_intensity"] is None
    assert "hbm" not in incomplete["use"]
    assert any("HBM" in note and "(f)" in note for note in found["notes"])


def test_details_are_not_in_the_document(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a="a line, of the application\n" + ncu_raw([L("k(int)", {**FULL, **H200})]))
    analysis = analyse_inputs(AnalysisRequest(inputs=(path,), ceilings="theoretical"))
    assert [note.detail for note in analysis.notes] == [True]
    assert document(analysis)["notes"] == []


def test_an_unknown_gpu_is_null(tmp_path: Path) -> None:
    found = document(analysed(tmp_path, L("k(int)", cc="")))
    assert set(found["gpu"].values()) == {None, 1.5e9, "as captured"}
    assert found["ceilings"] == []


def test_integer_counts_are_integers_in_json(tmp_path: Path) -> None:
    big = 2**53 + 1
    counters = {**FULL, **H200, ISSUED: big, LSU: big, SHARED_LD: 0, SHARED_ST: 0, L2: big}
    text = json.dumps(document(analysed(tmp_path, L("k(int)", counters))))
    assert text.count("9007199254740993") == 4  # issued, L1 and its part, L2
    assert '"launches": 1,' in text


def test_csv_holds_what_json_holds(tmp_path: Path) -> None:
    results = analysed(tmp_path).results
    read = list(csv.DictReader(io.StringIO(to_csv(*csv_table(results)))))
    assert [list(row) for row in read] == [STABLE, STABLE]
    for made, row in zip(read, rows_of(results), strict=True):
        advice = " | ".join(entry["text"] for entry in row["advice"] or ())
        use = "; ".join(f"{name}={fraction:.4g}" for name, fraction in row["use"].items())
        given = {**row, "advice": advice, "use": use}
        assert made == {name: "" if value is None else str(value) for name, value in given.items()}


def test_csv_quotes_names_with_commas_and_quotes(tmp_path: Path) -> None:
    name = 'void f<"x, y">(int, char)'
    (row,) = csv.DictReader(io.StringIO(to_csv(*csv_table(analysed(tmp_path, L(name)).results))))
    assert row["kernel"] == name


def test_markdown_is_a_table_whatever_the_names_hold(tmp_path: Path) -> None:
    text = to_markdown(*markdown_table(analysed(tmp_path, L("void f<1|2>(a)"), L("void f<3|`4`>(a)", id="1")).results))
    lines = text.splitlines()
    assert len(lines) == 4
    assert {line.replace("\\|", "").count("|") for line in lines} == {len(HEADINGS) + 1}
    assert "`f<1\\|2>`" in lines[2]
    assert "`f<3\\| 4 >`" in lines[3]
    assert set(lines[1]) <= set("| -:")


def test_cells_for_people(tmp_path: Path) -> None:
    headings, body = table(analysed(tmp_path).results)
    assert headings == HEADINGS
    rows = {cells[1]: cells for cells in body}
    common = ["1", "100.0", "50.0", "grid"]
    assert rows["k"][2:6] == rows["f"][2:6] == common
    assert rows["k"][7].startswith("<98.")  # pipes were not counted: the true headroom may be less
    common = ["0.1", "0.1", "0.1"]
    assert rows["k"][8:17] == [*common, "0.1", "1.000", "9.1", "2.273", "3.333", "5.000"]
    assert [cell.strip() for cell in rows["f"][8:17]] == [*common, "–", "1.000", "9.1", "2.273", "3.333", "–"]
    assert rows["k"][17:] == ["14.08", "9.600", "6.400"]  # 44,000, 30,000 and 20,000 sectors in 100 µs


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    results = analysed(tmp_path).results
    headings, body = table(results, ["kernel", "grid", "hbm-bandwidth", "kernel"])
    assert headings == ["kernel", "grid", ">HBM GB/s"]
    assert body[0] == ["k", "(64, 1, 1)", "6.400"]
    with pytest.raises(InputError, match="no column nonsense") as raised:
        table(results, ["nonsense"])
    assert "hbm-bandwidth" in str(raised.value.hint)


def test_launches_and_grids_are_told_apart(tmp_path: Path) -> None:
    launches = [L("k(int)", FULL, id=str(n), grid=f"({n + 1}, 1, 1)") for n in range(3)]
    by_launch, rows = table(analysed(tmp_path, *launches, group="launch").results)
    assert [(row[by_launch.index(">launch")], row[by_launch.index("grid")]) for row in rows] == [
        ("1", "(1, 1, 1)"),
        ("2", "(2, 1, 1)"),
        ("3", "(3, 1, 1)"),
    ]
    by_grid, rows = table(analysed(tmp_path, *launches, group="kernel+grid").results)
    assert {row[by_grid.index("grid")] for row in rows} == {"(1, 1, 1)", "(2, 1, 1)", "(3, 1, 1)"}
    assert "grid" not in table(analysed(tmp_path, *launches).results)[0]


def test_several_captures_have_a_source_column(tmp_path: Path) -> None:
    paths = write(tmp_path, a=ncu_raw([L("k(int)")]), b=ncu_raw([L("k(int)")]))
    headings, body = table(analyse_inputs(AnalysisRequest(inputs=tuple(paths))).results)
    assert headings[-1] == "source"
    assert [cells[-1] for cells in body] == ["a.csv", "b.csv"]


def test_the_number_of_a_row_has_its_full_name(tmp_path: Path) -> None:
    rows = rows_of(analysed(tmp_path).results)
    assert full_names([row["kernel"] for row in rows]) == "".join(
        f"{i}  {row['kernel']}\n" for i, row in enumerate(rows, 1)
    )


def test_boards_without_hbm_have_dram(tmp_path: Path) -> None:
    facts = {"device__attribute_display_name": "NVIDIA GeForce RTX 3090", "launch__sm_count": 82}
    launch = L("k(int)", {**FULL, **facts, DRAM_R: 10_000_000}, cc="8.6")
    found = analyse_inputs(AnalysisRequest(inputs=tuple(write(tmp_path, a=ncu_raw([launch])))))
    headings, ((*_, _last),) = table(found.results)
    assert [h for h in headings if "/s" not in h] == [h.replace("HBM", "DRAM") for h in HEADINGS if "/s" not in h]
    assert "DRAM" in str(found.results.explained[0].verdict)
    assert "HBM" not in str([*found.notes, *found.results.explained])
    assert "hbm_intensity" in document(found)["kernels"][0]


def test_every_null_time_and_fraction_has_its_reason(tmp_path: Path) -> None:
    summary = write(tmp_path, a=ncu_summary([L("k(int)", {**FULL, TIME: ("", "", 100_000)})]))
    analysis = analyse_inputs(AnalysisRequest(inputs=tuple(summary)))
    found = document(analysis)
    (row,) = found["kernels"]
    assert row["seconds"] == pytest.approx(100e-6)
    assert (row["seconds_median"], row["seconds_min"], row["seconds_max"], row["limit"]) == (None,) * 4
    assert found["notes"] == [
        f"fractions and bounds are not known: {analysis.unknown_gpu.message if analysis.unknown_gpu else ''}",
        "no median of the time: a summary does not hold the single launches (k)",
        "no smallest and largest time: the summary holds none, or none that enclose its mean (k)",
    ]
