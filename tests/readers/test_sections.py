"""Sections of ncu as they are collected by ``--set basic``, ``detailed``, ``full`` and ``roofline``: rates, shares, labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from roofctl.output.rows import rows as rows_of
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

from support.shapes import CLOCK, TIME, L, line, ncu_raw

CORPUS = Path(__file__).parent.parent.parent.parent / "shared" / "corpus"
SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
Row = tuple[str, str, str, str]
"""Section, metric, unit and value as a details page prints them."""


def analysed(path: Path, **options: Any) -> Analysis:
    return analyse_inputs(AnalysisRequest(inputs=(path,), **options))


def kernels(path: Path, **options: Any) -> list[dict[str, Any]]:
    return rows_of(analysed(path, **options).results)


def texts(analysis: Analysis) -> str:
    return "\n".join(note.text for note in analysis.notes)


def details(folder: Path, rows: Sequence[Row], *, old: bool = False) -> Path:
    """A details page of one launch; ``old`` as of 2020, without shape, device and compute capability."""
    place = ["Kernel Time"] if old else []
    shape = [] if old else ["Block Size", "Grid Size", "Device", "CC"]
    header = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", *place, "Context", "Stream", *shape]
    lines = [line([*header, "Section Name", "Metric Name", "Metric Unit", "Metric Value"])]
    fixed = ["0", "77", "app", "127.0.0.1", "sweep(float *, int)", *(["2020-Aug-27 18:24:40"] if old else []), "1", "7"]
    fixed += [] if old else ["(256, 1, 1)", "(432, 1, 1)", "0", "8.0"]
    lines += [line([*fixed, *row]) for row in rows]
    path = folder / "sections.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


LIGHT = "GPU Speed Of Light Throughput"
BASIC: Sequence[Row] = (
    (LIGHT, "DRAM Frequency", "Ghz", "1.20"),
    (LIGHT, "SM Frequency", "Ghz", "1.00"),
    (LIGHT, "Elapsed Cycles", "cycle", "250,000"),
    (LIGHT, "Memory Throughput", "%", "50.00"),
    (LIGHT, "DRAM Throughput", "%", "40.00"),
    (LIGHT, "Duration", "usecond", "250.00"),
    (LIGHT, "SM Active Cycles", "cycle", "240,000.00"),
    ("Launch Statistics", "Waves Per SM", "", "1"),
    ("Launch Statistics", "# SMs", "SM", "100"),
    ("Occupancy", "Achieved Occupancy", "%", "75.00"),
)
WORK: Sequence[Row] = (
    ("Compute Workload Analysis", "Executed Ipc Active", "inst/cycle", "2.00"),
    ("Compute Workload Analysis", "Executed Ipc Elapsed", "inst/cycle", "1.92"),
    ("Memory Workload Analysis", "Memory Throughput", "Gbyte/second", "512.00"),
    ("Warp State Statistics", "Avg. Active Threads Per Warp", "", "16"),
)


def test_labels_of_the_basic_set_give_time_clock_and_occupancy(tmp_path: Path) -> None:
    (row,) = kernels(details(tmp_path, BASIC), profile="a100")
    assert row["seconds"] == pytest.approx(250e-6)
    assert row["sm_clock_hz"] == pytest.approx(1e9)


def test_labels_of_the_detailed_set_give_instructions_and_dram_traffic(tmp_path: Path) -> None:
    analysis = analysed(details(tmp_path, [*BASIC, *WORK]), profile="a100")
    (row,) = rows_of(analysis.results)
    # 2 per active cycle x 240,000 cycles x 100 SMs; half of the lanes are on.
    assert row["issued_warp_instructions"] == 48_000_000
    assert row["warp_instructions"] == 24_000_000
    assert row["gips"] == pytest.approx(24_000_000 / 250e-6 / 1e9)
    # 512 GB/s x 250 us, not 50 % of anything.
    assert row["hbm_transactions"] == pytest.approx(512e9 * 250e-6 / 32)
    assert "issued warp instructions: from instructions per cycle that are printed rounded" in texts(analysis)


def test_labels_of_2020_in_base_units_are_exact(tmp_path: Path) -> None:
    rows = [
        ("GPU Speed Of Light", "DRAM Frequency", "cycle/second", "879,563,702.50"),
        ("GPU Speed Of Light", "SM Frequency", "cycle/second", "1,314,130,119.00"),
        ("GPU Speed Of Light", "SOL DRAM", "%", "73.11"),
        ("GPU Speed Of Light", "Duration", "nsecond", "211,232"),
        ("Instruction Statistics", "Executed Instructions", "inst", "3,456,789"),
    ]
    analysis = analysed(details(tmp_path, rows, old=True), profile="v100")
    (row,) = rows_of(analysis.results)
    assert (row["seconds"], row["issued_warp_instructions"]) == (211_232e-9, 3_456_789)
    assert "decimals" not in texts(analysis)
    assert "rounded" not in texts(analysis)
    assert "few digits" not in texts(analysis)


def test_a_time_of_three_digits_is_marked(tmp_path: Path) -> None:
    rows = [(LIGHT, "Duration", "second", "1.23"), ("Instruction Statistics", "Executed Instructions", "inst", "5")]
    assert "the time is printed with few digits" in texts(analysed(details(tmp_path, rows), profile="a100"))


def test_a_page_with_all_details_gives_the_points_of_the_roofline_chart(tmp_path: Path) -> None:
    chart = "GPU Speed Of Light Roofline Chart"
    rows = [
        (LIGHT, "Duration", "usecond", "100.00"),
        (chart, "Predicated-On FADD Thread Instructions Executed Per Cycle", "inst/cycle", "10.00"),
        (chart, "Predicated-On FMUL Thread Instructions Executed Per Cycle", "inst/cycle", "20.00"),
        (chart, "Predicated-On FFMA Operations Per Cycle", "inst", "2,000.00"),
        (chart, "SM Frequency", "Ghz", "1.41"),
        (chart, "DRAM Bandwidth", "Tbyte/second", "1.00"),
    ]
    (row,) = kernels(details(tmp_path, rows), profile="a100", model="flop")
    assert row["flops_per_second"] == pytest.approx(2_030 * 1.41e9)
    assert row["hbm_intensity"] == pytest.approx(2_030 * 1.41e9 / 1e12)
    assert row["flops_caveat"] == "derived from rates per cycle; the SM clock is printed with few digits"


BASIC_REPORT: Mapping[str, object] = {
    TIME: 1_000_000,
    "gpc__cycles_elapsed.avg.per_second": 1_000_000_000,
    "device__attribute_multiprocessor_count": 80,
    "device__attribute_global_memory_bus_width": 384,
    "dram__cycles_elapsed.avg.per_second": 8_000_000_000,
    "sm__inst_executed.avg.pct_of_peak_sustained_elapsed": "25.0",
    "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": "12.5",
}


def test_shares_of_a_known_peak_give_instructions_and_dram_traffic(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    units = {name: "%" for name in BASIC_REPORT if "pct_of" in name}
    path.write_text(ncu_raw([L("k(int)", BASIC_REPORT, cc="8.6")], units))
    analysis = analysed(path)
    (row,) = rows_of(analysis.results)
    # A quarter of 4 per cycle and SM; an eighth of 2 x 48 bytes per cycle.
    assert row["issued_warp_instructions"] == 80_000_000
    assert row["hbm_transactions"] == 8_000_000 * 12 / 32
    assert "DRAM: from shares of the peak that are printed rounded" in texts(analysis)


def test_tensor_work_follows_from_rates_per_cycle(tmp_path: Path) -> None:
    rates = {f"sm__ops_path_tensor_src_{name}.sum.per_cycle_elapsed": 0 for name in ("fp64", "tf32_dst_fp32", "fp16")}
    rates["sm__ops_path_tensor_src_bf16_dst_fp32.sum.per_cycle_elapsed"] = 500_000
    path = tmp_path / "x.csv"
    path.write_text(ncu_raw([L("gemm(int)", {TIME: 1_000_000, CLOCK: 1_000_000_000, **rates})]))
    (row,) = kernels(path, profile="h200", model="flop")
    assert (row["precision"], row["flops_per_second"]) == ("bf16_tc", pytest.approx(5e14))
    assert row["flops_caveat"] == "derived from rates per cycle"


def test_a_rate_without_clock_or_cycles_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        ncu_raw([L("k(int)", {TIME: 1_000, "sm__inst_executed.sum.per_cycle_elapsed": "13.31"}, cc="10.0")])
    )
    (row,) = kernels(path)
    assert row["issued_warp_instructions"] is None


@pytest.mark.parametrize("name", ["cudacode-gemm-naive.ncu-rep", "cudacode-vec_add.ncu-rep"])
def test_full_reports_give_the_points_of_ncu_s_own_chart(name: str) -> None:
    reader = pytest.importorskip("ncu_report", reason="the extra ncu-rep is not installed")
    if not (CORPUS / name).exists():
        pytest.skip("the corpus of public captures is not beside the repository")
    rows = kernels(CORPUS / name, model="flop", group="launch", precisions=("fp32",))
    actions = [action for each in reader.load_report(str(CORPUS / name)) for action in each]
    actions.sort(key=lambda action: -action[TIME].value())
    assert len(rows) == len(actions) > 0
    for row, action in zip(rows, actions, strict=True):
        chart = {op: action[SASS.format(op)].value() for op in ("fadd", "fmul")}
        fused = action["derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2"].value()
        rate = (sum(chart.values()) + fused) * action["smsp__cycles_elapsed.avg.per_second"].value()
        assert row["flops_per_second"] == pytest.approx(rate, rel=1e-6)
        traffic = action["dram__bytes.sum.per_second"].value()
        assert row["hbm_intensity"] == pytest.approx(rate / traffic, rel=1e-6)
