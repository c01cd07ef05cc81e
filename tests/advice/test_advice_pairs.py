"""Kernels as first written and after the advice, captured on an H200: what is said of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.roofline.analyse import Explained
from roofctl.study.analyse import AnalysisRequest, analyse_inputs

PAIRS = Path(__file__).parent.parent / "data" / "captures-h200" / "pairs"


@pytest.fixture(scope="module")
def kernels() -> dict[str, Explained]:
    explained = analyse_inputs(AnalysisRequest(inputs=(PAIRS,))).results.explained
    return {each.result.kernel.short_name: each for each in explained}


@pytest.mark.parametrize(
    ("name", "limit", "advice"),
    [
        ("histogram_global", "serialised", "combine values in the warp or block first"),
        ("gemm_naive", "l1", "let each thread compute a tile of them in registers"),
        ("transpose_naive", "l2_input", "let consecutive threads write consecutive addresses"),
        ("transpose_tile", "shared", "pad the rows by one element"),
        ("scale_float", "latency", "read 16 bytes at a time"),
    ],
)
def test_the_advice_names_the_change_that_made_it_faster(
    name: str, limit: str, advice: str, kernels: dict[str, Explained]
) -> None:
    assert kernels[name].limit.name == limit
    assert any(advice in finding.text for finding in kernels[name].advice)


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("histogram_shared", "atomics_contended"),
        ("transpose_tile", "uncoalesced_stores"),
        ("transpose_padded", "bank_conflicts_loads"),
        ("gemm_registers", "untiled_product"),
        ("scale_float4", "narrow_loads"),
    ],
)
def test_advice_that_was_followed_is_silent(name: str, gone: str, kernels: dict[str, Explained]) -> None:
    assert gone not in {finding.kind for finding in kernels[name].advice}


def test_an_unaligned_product_gets_the_padding_and_not_what_follows_from_it() -> None:
    capture = PAIRS.parent / "gpt2-50257"
    explained = analyse_inputs(AnalysisRequest(inputs=(capture,))).results.explained
    (product,) = [each for each in explained if each.result.kernel.short_name.endswith("align1")]
    assert [finding.kind for finding in product.advice] == ["unaligned_product"]
