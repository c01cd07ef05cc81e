"""Other people's captures, where they are at hand: values derived by hand, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofctl.core.errors import RoofctlError
from roofctl.output.report import document
from roofctl.study.analyse import AnalysisRequest, analyse_inputs

from fuzz.mutation import compared

CORPUS = Path(__file__).parent.parent.parent.parent / "shared" / "corpus"
FILES = sorted(CORPUS.iterdir()) if CORPUS.is_dir() else []

pytestmark = pytest.mark.skipif(not FILES, reason="the corpus of public captures is not beside the repository")


def kernels(*names: str, **options: Any) -> list[dict[str, Any]]:
    paths = tuple(CORPUS / name for name in names)
    text = json.dumps(document(analyse_inputs(AnalysisRequest(inputs=paths, **options))), allow_nan=False)
    rows: list[dict[str, Any]] = json.loads(text)["kernels"]
    return rows


def kernel(base: str, *names: str, **options: Any) -> dict[str, Any]:
    return next(row for row in kernels(*names, **options) if row["short_name"] == base)


def values(row: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in expected}


V100S = ("giotyp-nvprof-v100s-metrics.csv", "giotyp-nvprof-v100s-timing.csv", "giotyp-nvprof-v100s-events.csv")
A100 = tuple(f"giotyp-ncu-a100-persummary-{kind}.csv" for kind in ("metrics", "timing", "events"))


@pytest.mark.parametrize(
    ("name", "files", "options", "expected"),
    [
        (
            "transposeNaive",
            V100S,
            {"profile": "v100s"},
            {
                "launches": 101,
                "warp_instructions": 524_288,
                "l1_global_sectors": 655_360,
                "shared_wavefronts": 0,
                "l1_transactions": 655_360,
                "l2_transactions": 676_801,
                "hbm_transactions": 272_360,
                "seconds": pytest.approx(26.445e-6),
                "seconds_min": pytest.approx(25.983e-6),
                "seconds_max": pytest.approx(27.104e-6),
                "seconds_total": pytest.approx(2.670947e-3),
                "gips": pytest.approx(19.8256, rel=1e-5),
                "l1_intensity": 0.8,
                "l2_intensity": pytest.approx(0.7747, abs=1e-4),
                "hbm_intensity": pytest.approx(1.925, abs=1e-3),
            },
        ),
        (
            "transposeNaive",
            ("giotyp-nvprof-v100s-events+metrics-2tables.csv",),
            {},
            {"launches": 101, "warp_instructions": 524_288, "l1_transactions": 655_360, "seconds": None},
        ),
        (
            "kernel_B",
            A100,
            {},
            {
                "launches": 100,
                "warp_instructions": pytest.approx(2_337_000.47, abs=5e-3),
                "l1_global_sectors": 375_000,
                "shared_wavefronts": pytest.approx(83_411.23 + 82_944),
                "l1_transactions": pytest.approx(375_000 + 4 * (83_411.23 + 82_944)),
                "l2_transactions": pytest.approx(3_270_512.65),
                "hbm_transactions": pytest.approx(402_339.36),
                "seconds": pytest.approx(93.18816e-6),
            },
        ),
        (
            "kernel_A",
            A100,
            {},
            {
                "warp_instructions": 1_346_184,
                "l1_global_sectors": pytest.approx(3_571_289.82 + 375_000),
                "l2_transactions": pytest.approx(3_978_598.37 + 561_636.89),
                "hbm_transactions": pytest.approx(806_261.76 + 15_106.60),
                "seconds": pytest.approx(76.95296e-6),
            },
        ),
        ("ij_deriv_kernel", ("gene-summit-v100-rank0-dram.csv",), {}, {"launches": 4, "warp_instructions": None, "l1_transactions": None}),
        (
            "ComputeCurrent",
            ("picongpu-v100-lw_cc_inst.csv",),
            {},
            {
                "warp_instructions": 279_498_240,
                "l1_global_sectors": 63_841_712,
                "shared_wavefronts": 10_541_569 + 8_225_280,
                "l2_transactions": 246_530_436,
                "hbm_transactions": 49_083_909,
                "seconds": pytest.approx(4_010e-6),
                "gips": pytest.approx(69.70, abs=5e-3),
            },
        ),
        (
            "saxpy_kernel",
            ("olajide-rtx5070-win-saxpy.csv",),
            {},
            {
                "launches": 1,
                "l1_global_sectors": 6_291_456,
                # shared wavefronts were not captured, so L1 as a whole is not known
                "l1_transactions": None,
                "hbm_transactions": 5_557_896,
                "seconds": pytest.approx(292.928e-6),
                "warp_instructions": None,
                "l2_transactions": None,
            },
        ),
        (
            "sgemm 128x64 nn",
            ("european-locale-ncu2025-windows.csv",),
            {},
            {"launches": 2, "seconds_min": pytest.approx(117.344e-6), "seconds_max": pytest.approx(120.416e-6), "hbm_transactions": (862_360 + 963_092) // 2},
        ),
        ("reduce_kernel", ("european-locale-ncu2025-windows.csv",), {}, {"seconds": pytest.approx(14.912e-6), "hbm_transactions": 73_392}),
    ],
)  # fmt: skip
def test_values_derived_by_hand(
    name: str, files: tuple[str, ...], options: dict[str, Any], expected: dict[str, Any]
) -> None:
    row = kernel(name, *files, **options)
    assert values(row, expected) == expected


REPORTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cudacode-gemm-naive.ncu-rep": (
        "naive_gemm",
        {
            "launches": 2,
            "issued_warp_instructions": 154_632_192,
            "l1_global_sectors": 167_903_232 + 131_072,
            "l1_local_sectors": 0,
            "shared_wavefronts": 0,
            "seconds_min": pytest.approx(4_789.792e-6),
        },
    ),
    "csl-tiled_gemm.ncu-rep": ("matmul_tiled", {"launches": 1, "seconds": pytest.approx(3.831701824), "l2_transactions": None}),
    "nsight-training-manual_nvtx.ncu-rep": ("daxpy_kernel", {"issued_warp_instructions": 1_966_080, "hbm_transactions": 3_121_724}),
    "gene-summit-v100-rank0-flops.ncu-rep": ("ij_deriv_kernel", {"launches": 4, "hbm_transactions": None}),
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTS)
def test_values_of_reports(name: str) -> None:
    pytest.importorskip("ncu_report", reason="the extra ncu-rep is not installed")
    base, expected = REPORTS[name]
    row = kernel(base, name)
    assert values(row, expected) == expected


@pytest.mark.parametrize("name", ["gene-summit-v100-rank0-dram.csv", "gene-summit-v100-rank0-2020.ncu-rep"])
def test_first_launch_of_gene(name: str) -> None:
    if name.endswith(".ncu-rep"):
        pytest.importorskip("ncu_report", reason="the extra ncu-rep is not installed")
    rows = [r for r in kernels(name, group="launch") if r["kernel"].startswith("ij_deriv")]
    assert len(rows) == 4
    first = next(r for r in rows if r["hbm_transactions"] == 21_592_947)
    assert first["seconds"] == pytest.approx(1_209_826.20 / 1_309_471_763.30)


@pytest.mark.parametrize(
    "files",
    [
        ("gene-summit-v100-merged-dram-flops.csv",),
        ("gene-summit-v100-rank0-dram.csv", "gene-summit-v100-rank0-flops.csv"),
    ],
)
def test_patched_runs_do_not_give_the_time(files: tuple[str, ...]) -> None:
    rows = kernels(*files)
    assert [r["launches"] for r in rows] == [4, 4]
    assert all(0.9e-3 < r["seconds"] < 1.1e-3 for r in rows)
    assert all(r["hbm_transactions"] > 21_000_000 for r in rows)


def test_first_launch_of_picongpu() -> None:
    first = next(
        r for r in kernels("picongpu-v100-lw_cc_ncu2020.csv", group="launch") if r["hbm_transactions"] == 4_346_936
    )
    expected = {
        "l1_lsu_sectors": 11_460_570,
        "l2_transactions": 7_003_326,
        "seconds": pytest.approx(211.232e-6, rel=1e-5),
    }
    assert values(first, expected) == expected


def test_gpu_trace() -> None:
    rows = kernels("nvprof-titanxp-gpu-trace-head400.csv")
    assert {r["short_name"]: (r["launches"], round(r["seconds_total"] * 1e3, 6)) for r in rows} == {
        "cuda_compute_flux": (59, 4.937121),
        "cuda_time_step": (58, 0.863881),
        "cuda_compute_step_factor": (20, 0.51602),
        "cuda_initialize_variables": (3, 0.819585),
    }
    analysis = analyse_inputs(AnalysisRequest(inputs=(CORPUS / "nvprof-titanxp-gpu-trace-head400.csv",)))
    assert any("255 rows that are no kernels" in note.text for note in analysis.notes)


def test_b200_pages_hold_time_only() -> None:
    rows = kernels("b200-raw-flashinfer-fp8.csv")
    assert [r["launches"] for r in rows] == [8, 8]
    counts = [r[n] for r in rows for n in r if n.endswith(("_transactions", "_instructions", "_sectors"))]
    assert set(counts) == {None}
    launches = kernels("b200-raw-flashinfer-fp8.csv", group="launch")
    assert any(r["seconds"] == pytest.approx(12.736e-6) and r["grid"] == "(148, 1, 1)" for r in launches)


def test_a_summary_with_api_calls_holds_four_kernels() -> None:
    rows = kernels("nvprof-titanxp-summary-with-api.csv")
    assert {r["short_name"]: (r["launches"], round(r["seconds"] * 1e6, 3)) for r in rows} == {
        "cuda_compute_flux": (6_000, 50.392),
        "cuda_time_step": (6_000, 14.816),
        "cuda_compute_step_factor": (2_000, 7.705),
        "cuda_initialize_variables": (3, 278.198),
    }
    flux = next(r for r in rows if r["short_name"] == "cuda_compute_flux")
    assert (flux["seconds_min"], flux["seconds_max"]) == (pytest.approx(43.49e-6), pytest.approx(1.989134e-3))


def test_64_launches_of_b200_are_32_of_each() -> None:
    assert [r["launches"] for r in kernels("b200-raw-flashinfer-64launches.csv")] == [32, 32]


@pytest.mark.parametrize(
    ("name", "column"), [("metrics", "hbm_transactions"), ("timing", "seconds"), ("events", "warp_instructions")]
)
def test_each_file_of_a_summary_stands_alone_too(name: str, column: str) -> None:
    rows = kernels(f"giotyp-ncu-a100-persummary-{name}.csv")
    assert [r["launches"] for r in rows] == [100, 100]
    assert all(r[column] is not None for r in rows)


def test_every_table_reads_as_the_plain_reader_reads_it() -> None:
    found = {path.name: compared(path) for path in FILES if path.suffix == ".csv"}
    assert "same" in found.values()
    assert found["b200-raw-flashinfer-64launches.csv"] == found["gene-summit-v100-merged-dram-flops.csv"] == "same"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NOT-NVIDIA-picongpu-mi100-rocprof.csv", "AMD counters"),
        ("b200-fail-app-error.csv", "failed with code 1"),
        ("b200-fail-no-kernels-silent.csv", "0 kernels were profiled"),
        ("clima-a100-ncu-stdout.log", "console output without a table"),
        ("deepbench-v100-ncu-fail.log", "ncu failed while profiling"),
        ("nvprof-p100-no-kernels.csv", "no kernels were profiled"),
        ("nvprof-p100x-nvlink-aggregate-off-ragged.csv", "belong to the device, not to a kernel"),
    ],
)
def test_files_that_hold_no_kernels_say_why(name: str, words: str) -> None:
    with pytest.raises(RoofctlError) as caught:
        kernels(name)
    assert words in caught.value.message
    assert caught.value.hint


TEXTS = {
    "nvprof-cfd-gpu-summary-text.txt": {
        "cuda_compute_flux": (6_000, 50.606e-6),
        "cuda_time_step": (6_000, 14.593e-6),
        "cuda_compute_step_factor": (2_000, 7.900e-6),
        "cuda_initialize_variables": (3, 316.28e-6),
    },
    "nvprof-gtx1070-gol-text.txt": dict.fromkeys(("GOL", "ghostCols", "ghostRows"), (2, None)),
    "t4-sgemm-ncu-text-clocklocked.txt": {"sgemm_naive_dmalt": (1, 6.07)},
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_tables_give_launches_and_times(name: str) -> None:
    found = {row["short_name"]: (row["launches"], row["seconds"]) for row in kernels(name)}
    assert found == TEXTS[name]


SHARES_ONLY = {"nvprof-gtx1070-gol-text.txt"}
"""Files without times and counts, which hold occupancy and efficiencies."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("group", ["kernel", "launch"])
def test_every_file_gives_numbers_or_our_error(path: Path, group: Any) -> None:
    try:
        rows = kernels(path.name, group=group)
    except RoofctlError as error:
        assert path.name in error.message  # noqa: PT017
    else:
        known = ("seconds", "warp_instructions", "hbm_transactions")
        assert any(row[name] for row in rows for name in known) == (path.name not in SHARES_ONLY)
