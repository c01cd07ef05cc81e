"""Advice on kernels whose behaviour is known, from our own captures of an H200."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from roofctl.advice import advise, verdict
from roofctl.output.rows import rows as rows_of
from roofctl.quantities import catalogue
from roofctl.readers.read import read_file
from roofctl.study.analyse import AnalysisRequest, analyse_inputs

from support.tables import captures

DATA = Path(__file__).parent.parent / "data"
VERIFY = DATA / "captures-h200" / "verify"
KNOWN = DATA / "ncu-2025.3-h200" / "known_counts-all-logfile.csv"
TORCH = DATA / "ncu-2025.3-h200" / "torch-gemm-all-logfile.csv"

PEAK_GIPS = 132 * 4 * 1.98
PEAK_FLOPS = {
    "fp64": 33.45e12,
    "fp32": 66.9e12,
    "fp16": 133.8e12,
    "fp64_tc": 66.9e12,
    "tf32_tc": 495e12,
    "bf16_tc": 989e12,
}
"""An H200 at 1.98 GHz: what a caller takes from its GPU profile."""  # fmt: skip


@cache
def kernels(path: Path) -> dict[str, dict[str, Any]]:
    """Facts per kernel: its counted quantities, and what its results show."""
    file = path / "capture.csv" if path.is_dir() else path
    (capture,) = captures(read_file(file))
    rows = {row["kernel"]: row for row in rows_of(analyse_inputs(AnalysisRequest(inputs=(path,))).results)}
    facts = {}
    for record, texts in zip(capture.frame.to_dict("records"), capture.caveats, strict=True):
        row = rows[record["kernel"]]
        counted = {n: record[n] for n in catalogue().quantities if n in record and not pd.isna(record[n])}
        levels = {name: row[name] for name in ("l1_transactions", "l2_transactions", "hbm_transactions")}
        rates = {name: counted[f"{name}_flops"] for name in ("fp64", "fp32", "fp16") if f"{name}_flops" in counted}
        rates |= {
            f"{n}_tc": counted[f"tensor_{n}_ops"] for n in ("fp64", "tf32", "bf16") if f"tensor_{n}_ops" in counted
        }
        seconds = counted["seconds"]
        facts[row["short_name"]] = {
            **row,
            **counted,
            **levels,
            "caveats": texts,
            "grid": tuple(int(n) for n in record["grid"].strip("()").split(",")),
            "of_roof": row["gips"] / row["attainable_gips"],
            "issued_gips": counted["issued_warp_instructions"] / seconds / 1e9,
            "peak_gips": PEAK_GIPS,
            "of_flop_peak": {name: flops / seconds / PEAK_FLOPS[name] for name, flops in rates.items()},
        }
    return facts


EXPECTED = {
    VERIFY: {
        "known_triad": {"dram_bound"},
        "known_copy": {"latency_bound"},
        "known_strided_1": {"latency_bound"},
        "known_strided_8": {"dram_bound", "uncoalesced_loads"},
        "known_strided_32": {"dram_bound", "uncoalesced_loads"},
        "known_transpose_naive": {"latency_bound", "uncoalesced_stores"},
        "known_transpose_conflicted": {"l1_bound", "bank_conflicts_loads"},
        "known_transpose_padded": {"dram_bound"},
        "known_fma_fp64": {"issue_bound"},
        "known_fma_fp32": {"issue_bound"},
        "known_divergent": {"issue_bound", "divergence"},
        "known_atomics": {"latency_bound", "atomics"},
        "known_shared": {"latency_bound"},
        "known_tensor_bf16": {"latency_bound"},
        "known_tensor_fp64": {"latency_bound"},
    },
    KNOWN: {
        "triad": {"dram_bound"},
        "copy1": {"latency_bound"},
        "strided_read<1>": {"latency_bound"},
        "strided_read<8>": {"dram_bound", "uncoalesced_loads"},
        "strided_read<32>": {"dram_bound", "uncoalesced_loads"},
        "transpose_naive": {"latency_bound", "uncoalesced_stores"},
        "transpose_smem<float, 0>": {"l1_bound", "bank_conflicts_loads"},
        "transpose_smem<float, 1>": {"dram_bound"},
        "fma64": {"arithmetic_bound"},
        "fma32": {"arithmetic_bound", "constant_moves"},
        "divergent": {"issue_bound", "divergence", "constant_moves"},
        "atomics": {"latency_bound", "atomics"},
    },
}
"""All findings on each kernel, and no others: no scattered triad, no conflict with padded rows."""


@pytest.mark.parametrize(("path", "kernel"), [(path, name) for path, found in EXPECTED.items() for name in found])
def test_known_kernels_get_the_advice_that_they_deserve(path: Path, kernel: str) -> None:
    assert {finding.kind for finding in advise(kernels(path)[kernel])} == EXPECTED[path][kernel]


def test_every_known_kernel_has_a_verdict() -> None:
    for path, found in EXPECTED.items():
        assert kernels(path).keys() == found.keys()


def test_the_figures_of_known_kernels() -> None:
    found = {f.kind: f for f in (*advise(kernels(KNOWN)["divergent"]), *advise(kernels(VERIFY)["known_strided_8"]))}
    assert found["divergence"].figures["active_lanes"] == pytest.approx(8.327, rel=1e-3)
    assert found["constant_moves"].figures["fp16_fma_instructions"] == 67_584
    assert found["uncoalesced_loads"].figures["sectors_per_request"] == 32
    (conflicts,) = [f for f in advise(kernels(VERIFY)["known_transpose_conflicted"]) if "conflicts" in f.kind]
    assert conflicts.figures["wavefronts_per_instruction"] == 32


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("sm90_xmma_gemm_f64", ["arithmetic_bound"]),
        ("nvjet", ["arithmetic_bound"]),
        ("Kernel2", ["arithmetic_bound", "tensor_unused"]),
    ],
)
def test_matrix_products_of_a_library(kernel: str, expected: list[str]) -> None:
    """Tensor cores are missed in the FP32 one only; its asynchronous copies are no conflicts."""
    (facts,) = [facts for name, facts in kernels(TORCH).items() if name.startswith(kernel)]
    assert [finding.kind for finding in advise(facts)] == expected


def test_verdicts_of_known_kernels() -> None:
    assert verdict(kernels(VERIFY)["known_triad"]).startswith("bound by HBM: 92% of its roof")
    assert verdict(kernels(VERIFY)["known_transpose_conflicted"]).startswith("bound by L1: 87% of its roof")
    assert "would bind first, but only <1% of its roof is reached" in verdict(kernels(VERIFY)["known_atomics"])
