"""Advice: each finding from its own numbers, none without all of them, the most important first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from roofctl.advice import Finding, advise


def limited(name: str, use: float, **facts: Any) -> dict[str, Any]:
    """Facts of a kernel that a resource limits."""
    return {"limit": name, "uses": {name: use}, **facts}


LATENCY = {"limit": "latency", "uses": {"l2": 0.2, "hbm": 0.1}}
SMALL = {"limit": "grid", "blocks": 64, "sm_count": 132}
LAUNCH = {"limit": "launch", "seconds": 3e-6, "launch_seconds": 2.3e-6, "launches": 40, "seconds_total": 120e-6}
SCATTERED = {"l1_global_{}_sectors": 3_200, "l1_global_{}_requests": 100, "l1_global_sectors": 4_000}
CONFLICTS = {"shared_{}_wavefronts": 3_200, "shared_{}_instructions": 100, "l1_transactions": 14_000}
MATRIX = {
    "function": "my_sgemm",
    "fp64_flops": 0,
    "fp32_flops": 180,
    "fp16_flops": 0,
    "thread_instructions": 100,
    "tensor_tf32_ops": 0,
    "of_flop_peak": {"fp32": 0.5},
}
MOVES = {"fp16_fma_instructions": 14, "fp16_other_instructions": 0, "thread_instructions": 1_000}


def of(way: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name.format(way): value for name, value in facts.items()}


CASES: dict[str, dict[str, Any]] = {
    "dram_bound": limited("hbm", 0.94),
    "l2_bound": limited("l2", 0.88),
    "l1_bound": limited("l1", 0.87),
    "shared_bound": limited("shared", 0.97),
    "arithmetic_bound": limited("fp64", 0.9),
    "alu_bound": limited("alu", 0.99),
    "xu_bound": limited("xu", 0.99),
    "lsu_bound": limited("lsu", 0.99),
    "issue_bound": limited("issue", 0.88),
    "host_memory": limited("system", 0.8),
    "atomics_contended": limited("atomics", 0.8),
    "launch_bound": LAUNCH,
    "too_small": SMALL,
    "tail": {"limit": "tail", "waves_per_sm": 2.1},
    "latency_bound": LATENCY,
    "unaligned_product": {"kernel": "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_64x64_nn_align2>"},
    "uncoalesced_loads": of("load", SCATTERED),
    "uncoalesced_stores": of("store", SCATTERED),
    "bank_conflicts_loads": of("load", CONFLICTS),
    "bank_conflicts_stores": of("store", CONFLICTS),
    "local_memory": {"l1_local_sectors": 30, "l1_global_sectors": 70, "l1_transactions": 100},
    "atomics": {"l1_global_atomic_sectors": 89, "l1_global_sectors": 100},
    "divergence": {"thread_instructions": 800, "issued_warp_instructions": 100},
    "predication": {"predicated_thread_instructions": 60, "thread_instructions": 100},
    "tensor_unused": MATRIX,
}
"""Facts that give just this finding, in the order of importance; each of them is needed."""

TEXTS = {
    "dram_bound": "at 94% of the HBM ceiling: move fewer bytes",
    "l2_bound": "at 88% of the L2 ceiling: keep what is used again",
    "l1_bound": "at 87% of the L1 ceiling: load wider words",
    "shared_bound": "at 97% of the shared memory ceiling: use wider accesses",
    "arithmetic_bound": "at 90% of the FP64 pipe: use FP32 where the precision allows it",
    "alu_bound": "at 99% of the ALU pipe: simplify index and bit arithmetic",
    "xu_bound": "at 99% of the XU pipe: use fewer or approximate transcendental functions",
    "lsu_bound": "at 99% of the LSU pipe: load wider words (float4)",
    "issue_bound": "at 88% of the issue slots: do more per instruction",
    "host_memory": "at 80% of the host link: copy the data to device memory once",
    "atomics_contended": "at 80% of one atomic unit: many atomics meet on few addresses",
    "latency_bound": "more warps in flight, or more independent work per thread",
    "launch_bound": "3.000 µs a launch, where launching alone takes 2.300 µs: 40 such launches take 120.0 µs",
    "too_small": "68 of 132 multiprocessors have nothing to do",
    "tail": "multiprocessors wait for the last blocks",
    "unaligned_product": "align2 in its name: a leading dimension is no multiple of 8 elements",
    "uncoalesced_loads": (
        "32.0 sectors per load request (4 is unit stride of 4-byte elements, 16 of 16-byte ones): "
        "neighbouring threads read far apart; let consecutive threads read consecutive addresses"
    ),
    "uncoalesced_stores": "let consecutive threads write consecutive addresses",
    "bank_conflicts_loads": "32.0 wavefronts per shared-memory load (1 for 4-byte elements without conflict",
    "bank_conflicts_stores": "32.0 wavefronts per shared-memory store",
    "local_memory": "30% of L1's global and local sectors are local memory",
    "atomics": "89% of L1's global sectors are atomics and reductions",
    "divergence": "8.0 of 32 lanes active, 75% of the issued work lost",
    "predication": "40% of the active lanes' instructions are predicated off",
    "tensor_unused": "90% of thread instructions are FP32 FMAs, 0 tensor operations), at 50% of the FP32 peak",
}
NEEDS = [(kind, name) for kind, facts in CASES.items() for name in facts if name != "function"]


def kinds(facts: Mapping[str, Any]) -> list[str]:
    return [finding.kind for finding in advise(facts)]


def only(facts: Mapping[str, Any]) -> Finding:
    (found,) = advise(facts)
    return found


@pytest.mark.parametrize("kind", CASES)
def test_a_finding_has_its_figures(kind: str) -> None:
    found = only(CASES[kind])
    assert found.kind == kind
    assert TEXTS[kind] in found.text
    assert found.text == found.text.strip().removesuffix(".")
    assert found.figures
    assert all(isinstance(value, int | float) and math.isfinite(value) for value in found.figures.values())


@pytest.mark.parametrize(("kind", "name"), NEEDS)
@pytest.mark.parametrize("unknown", [None, math.nan, "absent"])
def test_no_finding_without_all_of_its_numbers(kind: str, name: str, unknown: object) -> None:
    facts = {key: value for key, value in CASES[kind].items() if key != name}
    if unknown != "absent":
        facts[name] = unknown
    assert kind not in kinds(facts)


def test_no_facts_give_no_finding() -> None:
    assert advise({}) == ()
    assert advise({name: 0 for facts in CASES.values() for name in facts}) == ()


def test_the_limit_comes_first() -> None:
    facts = {**of("load", SCATTERED), **of("store", CONFLICTS), **limited("l1", 0.9)}
    assert kinds(facts) == ["l1_bound", "uncoalesced_loads", "bank_conflicts_stores"]


def test_a_kernel_shorter_than_two_launches_gets_that_advice_only() -> None:
    assert kinds({**of("load", SCATTERED), **LAUNCH}) == ["launch_bound"]
    assert "launches take" not in only({**LAUNCH, "launches": 1}).text


# The limit -----------------------------------------------------------------------------------------------------------


def test_the_share_of_shared_memory_in_l1() -> None:
    found = only(limited("l1", 0.9, shared_wavefronts=10, l1_transactions=400))
    assert "10% of the traffic are shared-memory wavefronts" in found.text
    assert found.figures["shared_share"] == 0.1


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"stalls": {"long_scoreboard": 0.7, "wait": 0.3}}, "loads wait for memory"),
        ({"stalls": {"barrier": 0.9}}, "warps wait at barriers"),
        ({"stalls": {"gmma": 0.9}}, "the tensor cores are waited for"),
        ({"limiter": "registers", "registers_per_thread": 128, "blocks_by_registers": 2, "block": (256, 1, 1)},
         "registers hold occupancy to 25%: at most 80 a thread (of 128) let one more block fit"),
        ({"limiter": "shared memory"}, "shared memory holds occupancy to 25%"),
        ({"limiter": "blocks"}, "small blocks hold occupancy to 25%"),
        ({"limiter": "warps", "occupancy_limit": 1.0}, "give each thread more independent work"),
    ],
)  # fmt: skip
def test_latency_names_what_hides_too_little(facts: dict[str, Any], words: str) -> None:
    assert words in only({**LATENCY, "occupancy": 0.2, "occupancy_limit": 0.25, **facts}).text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align1", "unaligned_product"),
        ("sm80_xmma_gemm_bf16bf16_tn_align8", None),
        ("void cublasLt::splitKreduce_kernel<32, 16, int>", "split_product"),
        ("void nchwToNhwcKernel<float>", "layout_change"),
        ("triad(float *)", None),
    ],
)
def test_what_a_library_s_name_says(name: str, kind: str | None) -> None:
    assert kinds({"kernel": name}) == ([kind] if kind else [])


# Access --------------------------------------------------------------------------------------------------------------


def test_bytes_used_decide_where_they_are_known() -> None:
    doubles_two_apart = {**of("load", SCATTERED), "l1_global_load_sectors": 1_600}
    assert kinds(doubles_two_apart) == []
    found = only({**doubles_two_apart, "global_load_used_bytes": 8 * 1_600})
    assert "16.0 sectors per load request" in found.text
    assert "8 of each sector's 32 bytes are used" in found.text
    assert kinds({**doubles_two_apart, "global_load_used_bytes": 32 * 1_600}) == []
    # One address for all lanes uses 4 bytes of its sector and touches no other.
    broadcast = {**of("load", SCATTERED), "l1_global_load_sectors": 100, "l1_global_sectors": 100}
    assert kinds({**broadcast, "global_load_used_bytes": 400}) == []


@pytest.mark.parametrize("used", [{"global_load_used_bytes": 0}, {"global_load_used_bytes": 400}])
def test_bytes_that_leave_some_out_decide_nothing(used: dict[str, int]) -> None:
    facts = {**of("load", SCATTERED), "l1_global_load_sectors": 1_600, **used}
    assert kinds({**facts, "caveats": {"global_load_used_bytes": "a lower bound"}}) == []


def test_instructions_used_for_requests_are_noted() -> None:
    caveats = {"caveats": {"l1_global_load_requests": "instructions, not requests"}}
    assert "per load instruction, asynchronous copies left out" in only({**of("load", SCATTERED), **caveats}).text
    # 4,096 instructions for 3,145,728 requests: no warp touches 12,288 sectors.
    assert kinds({**of("load", SCATTERED), "l1_global_load_requests": 1, **caveats}) == []


@pytest.mark.parametrize("sectors", [1_600, 1_700])
def test_the_widest_unit_stride_is_coalesced(sectors: int) -> None:
    assert kinds({**of("load", SCATTERED), "l1_global_load_sectors": sectors}) == []


def test_a_few_scattered_accesses_are_not_worth_a_word() -> None:
    assert kinds({**of("store", SCATTERED), "l1_global_sectors": 100_000}) == []
    assert kinds({**of("load", CONFLICTS), "l1_transactions": 1_000_000}) == []


def test_reductions_are_never_called_scattered() -> None:
    """They count one sector per lane whatever they touch."""
    facts: dict[str, Any] = {
        "l1_global_load_sectors": 400,
        "l1_global_load_requests": 100,
        "l1_global_store_sectors": 0,
    }
    facts |= {"l1_global_store_requests": 0, "l1_global_sectors": 3_600, "l1_global_atomic_sectors": 3_200}
    assert kinds(facts) == ["atomics"]


@pytest.mark.parametrize(("wavefronts", "expected"), [(400, []), (401, ["bank_conflicts_loads"]), (3_300, [])])
def test_up_to_four_wavefronts_may_be_wide_accesses(wavefronts: int, expected: list[str]) -> None:
    facts = {**of("load", CONFLICTS), "shared_load_wavefronts": wavefronts, "l1_transactions": 4 * wavefronts}
    assert kinds(facts) == expected


def test_the_hardware_counter_of_wavefronts_runs_over() -> None:
    caveat = {"caveats": {"shared_load_wavefronts": "runs 1-7 % above"}}
    facts = {**of("load", CONFLICTS), "l1_transactions": 2_000, **caveat}
    assert kinds({**facts, "shared_load_wavefronts": 430}) == []
    found = only({**facts, "shared_load_wavefronts": 440})
    assert "by a counter up to 8% too high" in found.text


@pytest.mark.parametrize(
    ("way", "facts"),
    [
        ("load", {"tensor_bf16_ops": 5}),
        ("load", {"function": "ampere_sgemm_128x64"}),
        ("store", {"l1_global_load_requests": 3_145_728, "global_load_instructions": 4_096}),
    ],
)
def test_wavefronts_of_other_instructions_are_no_conflicts(way: str, facts: dict[str, Any]) -> None:
    """Matrix loads and asynchronous copies make wavefronts without the instructions counted here."""
    assert kinds({**of(way, CONFLICTS), **facts}) == []


def test_a_library_s_unaligned_product_is_not_told_to_load_wider() -> None:
    assert kinds({**CASES["unaligned_product"], **limited("l1", 0.64)}) == ["unaligned_product"]


# Lanes and arithmetic ------------------------------------------------------------------------------------------------


def test_parts_of_warps_are_reported() -> None:
    found = only({**CASES["divergence"], "block": (16, 1, 1)})
    assert found.text.endswith("blocks of 16 threads leave part of a warp empty")
    assert "leave part" not in only({**CASES["divergence"], "block": (8, 8, 1)}).text


@pytest.mark.parametrize(("threads", "active"), [(1, 1), (8, 8), (16, 13), (33, 16)])
def test_small_blocks_are_not_called_divergent(threads: int, active: int) -> None:
    """All lanes that the blocks have are active: there are no branches to change."""
    facts = {"thread_instructions": 100 * active, "issued_warp_instructions": 100, "block": (threads, 1, 1)}
    found = only(facts)
    assert found.kind == "divergence"
    assert "diverge" not in found.text
    assert "multiples of 32" in found.text


@pytest.mark.parametrize("limit", ["hbm", "l2", "system", "peer"])
def test_lanes_switched_off_cost_nothing_where_memory_is_waited_for(limit: str) -> None:
    assert "predication" not in kinds({**CASES["predication"], **limited(limit, 0.85)})
    assert "predication" in kinds({**CASES["predication"], **limited("issue", 0.85)})


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"function": "convert_rows"}, False),
        ({"function": "implicit_convolve_sgemm"}, True),
        ({"function": "bmm"}, True),
        ({"function": "bm25_score"}, False),
        ({"function": "saxpy"}, False),
        ({"function": "Kernel2", "shared_wavefronts": 50, "l1_transactions": 400}, True),
        ({"function": "Kernel2", "shared_wavefronts": 0, "l1_transactions": 400}, False),
        ({"function": "Kernel2", "shared_wavefronts": 50, "l1_transactions": 400, "fp32_flops": 60}, False),
        ({"fp32_flops": 40}, False),
        ({"tensor_fp16_ops": 4_096}, False),
        ({"fp32_flops": 0, "fp64_flops": 180, "of_flop_peak": {"fp64": 0.8}}, False),
        ({"fp32_flops": 0, "fp64_flops": 180, "of_flop_peak": {"fp64": 0.5}, "tensor_fp64_ops": 0}, True),
    ],
)
def test_tensor_cores_are_missed_in_matrix_products_only(facts: dict[str, Any], expected: bool) -> None:
    assert ("tensor_unused" in kinds({**MATRIX, **facts})) == expected


def test_atomics_of_a_bulk_copying_kernel_s_scheduler_are_not_worth_a_word() -> None:
    facts = {"l1_global_atomic_sectors": 90, "l1_global_sectors": 100}
    assert kinds({**facts, "l1_transactions": 100}) == ["atomics"]
    assert kinds({**facts, "l1_transactions": 50_000_000}) == []
    # Bulk copies pass L1's counters by, so that its total is not known; L2 sees them.
    assert kinds({**facts, "l1_transactions": None, "l2_transactions": 50_000_000}) == []
    assert kinds({**facts, "l1_transactions": None, "l2_transactions": 100}) == ["atomics"]
