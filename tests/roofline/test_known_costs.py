"""Kernels of known cost on an H200 land where arithmetic says, and where ncu's own roofline charts put them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roofctl.output.rows import rows as rows_of
from roofctl.roofline.analyse import Selection
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

DATA = Path(__file__).parent.parent / "data" / "captures-h200"
GEMM = 2 * 2048**3


def flop(name: str, kernel: str = "", precisions: tuple[str, ...] = ("all",)) -> Analysis:
    request = AnalysisRequest(
        inputs=(DATA / name,), model="flop", precisions=precisions, selection=Selection(kernel=kernel)
    )
    return analyse_inputs(request)


def rows(analysis: Analysis) -> dict[tuple[str, str], Any]:
    return {(row["short_name"], row["precision"]): row for row in rows_of(analysis.results)}


@pytest.mark.parametrize(
    ("kernel", "work", "extra"),
    [
        ("f64f64", "fp64_tc", 0),
        ("Kernel2", "fp32", 2048**2),  # FFMA N^3 twice, and N^2 multiplications by alpha
        ("tf32", "tf32_tc", 0),
        ("tst_256x128.*_bz", "bf16_tc", 0),
        ("hsh_256x128.*_bz", "fp16_tc", 0),
        ("qqtst", "fp8_tc", 0),
        ("Kernel2", "int8_tc", 0),
    ],
)
def test_a_matrix_product_of_2048_is_17_179_869_184_operations(kernel: str, work: str, extra: int) -> None:
    found = [row for row in rows_of(flop("gemms", kernel).results) if row["precision"] == work]
    assert GEMM == 17_179_869_184
    assert [row["flops"] for row in found] == [GEMM + extra]


def test_a_chain_of_double_precision_fma_is_two_operations_each() -> None:
    # 1,056 blocks of 256 threads, 2,000 DFMA a thread.
    found = rows(flop("known", "fma_fp64"))[("known_fma_fp64", "fp64")]
    assert found["flops"] == 2 * 1_056 * 256 * 2_000
    assert found["l1_intensity"] == 250.0


def test_three_quarters_of_a_divergent_kernel_are_lost() -> None:
    analysis = analyse_inputs(AnalysisRequest(inputs=(DATA / "known",), selection=Selection(kernel="divergent")))
    (row,) = rows_of(analysis.results)
    assert row["lost_fraction"] == pytest.approx(0.75, abs=0.01)
    assert row["issued_gips"] == pytest.approx(4 * row["gips"], rel=0.03)


def test_a_memory_kernel_of_known_traffic_has_its_intensity_to_the_last_digit() -> None:
    # a + s * b in float: 2 operations for 12 bytes at L1 and L2.
    found = rows(flop("known", "triad"))[("known_triad", "fp32")]
    assert found["l1_intensity"] == found["l2_intensity"] == pytest.approx(2 / 12, rel=1e-12)


# --- against ncu's own charts -----------------------------------------------------------------------------------------

_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
_WEIGHTS = {
    "fp64": {"dadd": 1, "dmul": 1, "dfma": 2},
    "fp32": {"fadd": 1, "fmul": 1, "ffma": 2},
    "fp16": {"hadd": 2, "hmul": 2, "hfma": 4},
}


def charts(name: str) -> Iterator[dict[str, Any]]:
    """What ncu's roofline sections make of each launch: work and traffic per second, by their own expressions."""
    with (DATA / "roofline" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    for row in table[1:]:

        def number(counter: str, row: dict[str, str] = row) -> float:
            return float(row[counter].replace(",", ""))

        yield {
            "kernel": row["Kernel Name"],
            "dram": number("dram__bytes.sum.per_second"),
            "l2": 32 * number("lts__lts2xbar_cycles_active.sum.per_second"),
            **{
                work: sum(weight * number(_SASS.format(op)) for op, weight in weights.items())
                * number("smsp__cycles_elapsed.avg.per_second")
                for work, weights in _WEIGHTS.items()
            },
        }


@pytest.mark.parametrize("name", ["known", "gemms"])
def test_work_and_intensity_agree_with_ncu_s_charts_within_a_percent(name: str) -> None:
    request = AnalysisRequest(
        inputs=(DATA / "roofline" / f"{name}.csv",), model="flop", precisions=("all",), group="launch"
    )
    found = rows_of(analyse_inputs(request).results)
    compared = 0
    for chart in charts(name):
        for work in _WEIGHTS:
            mine = [r for r in found if r["kernel"] == chart["kernel"] and r["precision"] == work]
            near = [r for r in mine if r["flops_per_second"] == pytest.approx(chart[work], rel=0.01)]
            if chart[work] == 0:
                continue
            assert near, (chart["kernel"], work)
            assert any(r["hbm_intensity"] == pytest.approx(chart[work] / chart["dram"], rel=0.01) for r in near)
            compared += 1
    assert compared >= 5


@pytest.mark.parametrize(
    ("kernel", "ratio"), [("known_copy", 0.5), ("known_triad", 2 / 3), ("known_transpose_naive", 1 / 9)]
)
def test_ncu_s_l2_counts_what_the_slices_sent_and_no_stores(kernel: str, ratio: float) -> None:
    # 2025.3.1 takes cycles of the slices' output for L2 traffic; sectors from the SMs count reads and writes.
    (row,) = flop("roofline/known.csv", f"^{kernel}$", ()).results.kernels
    (chart,) = [chart for chart in charts("known") if chart["kernel"].startswith(kernel)]
    assert chart["l2"] / (row["l2_transactions"] * 32 / row["seconds"]) == pytest.approx(ratio, rel=0.01)
