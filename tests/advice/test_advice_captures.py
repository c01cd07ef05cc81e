"""Advice on kernels whose behaviour is known, from our own captures of an H200."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from roofctl.roofline.analyse import Explained
from roofctl.study.analyse import AnalysisRequest, analyse_inputs

DATA = Path(__file__).parent.parent / "data"
VERIFY = DATA / "captures-h200" / "verify"
LIMITS = DATA / "captures-h200" / "limits"
KNOWN = DATA / "ncu-2025.3-h200" / "known_counts-all-logfile.csv"
TORCH = DATA / "ncu-2025.3-h200" / "torch-gemm-all-logfile.csv"


@cache
def kernels(path: Path) -> dict[str, Explained]:
    """The kernels of a capture by their short names."""
    explained = analyse_inputs(AnalysisRequest(inputs=(path,))).results.explained
    return {each.result.kernel.short_name: each for each in explained}


EXPECTED: dict[Path, dict[str, set[str]]] = {
    VERIFY: {
        "known_atomics": {"atomics"},
        "known_transpose_naive": {"uncoalesced_stores"},
        "known_transpose_conflicted": {"bank_conflicts_loads", "shared_bound"},
        "known_tensor_fp64": set(),
        "known_copy": set(),
        "known_triad": {"dram_bound"},
        "known_transpose_padded": {"dram_bound"},
        "known_tensor_bf16": set(),
        "known_fma_fp32": {"issue_bound"},
        "known_fma_fp64": set(),
        "known_divergent": {"divergence"},
        "known_strided_32": {"dram_bound", "uncoalesced_loads"},
        "known_strided_8": {"dram_bound", "uncoalesced_loads"},
        "known_shared": set(),
        "known_strided_1": set(),
    },
    KNOWN: {
        "atomics": {"atomics"},
        "transpose_naive": {"uncoalesced_stores"},
        "transpose_smem<0>": {"bank_conflicts_loads", "shared_bound"},
        "copy1": set(),
        "triad": {"dram_bound"},
        "transpose_smem<1>": {"dram_bound"},
        "fma64": {"arithmetic_bound"},
        "fma32": {"issue_bound"},
        "strided_read<32>": {"dram_bound", "uncoalesced_loads"},
        "strided_read<8>": {"dram_bound", "uncoalesced_loads"},
        "divergent": {"divergence"},
        "strided_read<1>": set(),
    },
    LIMITS: {
        "limit_one_address_atomics": {"atomics_contended"},
        "limit_tail": {"tail"},
        "limit_latency_occupancy": {"latency_bound", "uncoalesced_loads"},
        "limit_grid": {"too_small"},
        "limit_host_memory": {"host_memory"},
        "limit_barrier": {"latency_bound"},
        "limit_alu": {"alu_bound"},
        "limit_texture": set(),
        "limit_shared": {"shared_bound"},
        "limit_tensor": {"arithmetic_bound"},
        "limit_hbm": {"dram_bound"},
        "limit_issue": {"issue_bound"},
        "limit_fma": {"arithmetic_bound"},
        "limit_divergence": {"divergence", "issue_bound"},
        "limit_l1": {"l1_bound"},
        "limit_xu": {"xu_bound"},
        "limit_fp64": {"arithmetic_bound"},
        "limit_bank_conflicts": {"bank_conflicts_loads", "shared_bound"},
        "limit_lsu": {"lsu_bound"},
        "limit_latency_dependence": {"latency_bound"},
        "limit_l2": {"l2_bound"},
        "limit_shared_atomics": {"shared_bound"},
        "limit_launch": {"launch_bound"},
    },
    TORCH: {
        "gemm f32 256x128 nn align1": {"issue_bound", "tensor_unused"},
        "xmma gemm f64 128x64x16 nn": {"arithmetic_bound"},
        "random<normal, f32>": set(),
        "random<normal, f64>": set(),
        "softmax fwd f32": set(),
        "layer norm f32": {"dram_bound"},
        "random<normal, bf16>": set(),
        "nvjet bf16 256x128x64 NNT": {"arithmetic_bound"},
    },
}
"""All findings on each kernel, and no others: no scattered triad, no conflict with padded rows."""


@pytest.mark.parametrize(("path", "kernel"), [(path, name) for path, found in EXPECTED.items() for name in found])
def test_known_kernels_get_the_advice_that_they_deserve(path: Path, kernel: str) -> None:
    assert {finding.kind for finding in kernels(path)[kernel].advice} == EXPECTED[path][kernel]


def test_every_known_kernel_is_expected() -> None:
    for path, found in EXPECTED.items():
        assert kernels(path).keys() == found.keys()


def test_the_figures_of_known_kernels() -> None:
    found = {f.kind: f for f in (*kernels(KNOWN)["divergent"].advice, *kernels(VERIFY)["known_strided_8"].advice)}
    assert found["divergence"].figures["active_lanes"] == pytest.approx(8.327, rel=1e-3)
    assert found["uncoalesced_loads"].figures["sectors_per_request"] == 32
    (conflicts,) = [f for f in kernels(VERIFY)["known_transpose_conflicted"].advice if "conflicts" in f.kind]
    assert conflicts.figures["wavefronts_per_instruction"] == 32


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("known_triad", "limited by HBM: 92% of its ceiling"),
        ("known_transpose_conflicted", "limited by shared memory: 8"),
        ("known_atomics", "unknown: the busiest counted resource is"),
    ],
)
def test_verdicts_of_known_kernels(kernel: str, words: str) -> None:
    assert str(kernels(VERIFY)[kernel].verdict).startswith(words)
