"""Advice: each finding from its own numbers, none without all of them, the most important first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from roofctl.advice import Finding, advise, verdict

HBM = {"bound": "memory", "bound_level": "hbm", "hbm_of_roof": 0.94}
L2 = {"bound": "memory", "bound_level": "l2", "l2_of_roof": 0.88}
L1 = {"bound": "memory", "bound_level": "l1", "l1_of_roof": 0.87, "shared_wavefronts": 90, "l1_transactions": 400}
ISSUE = {"issued_gips": 919.0, "peak_gips": 1045.4}
TENSOR_ZERO = {f"tensor_{name}_ops": 0 for name in ("fp64", "tf32", "bf16", "fp16", "fp8", "int8")}
LATENCY = {
    **{f"{level}_of_roof": 0.2 for level in ("l1", "l2", "hbm")},
    "issued_gips": 100.0,
    "peak_gips": 1000.0,
    "fp64_flops": 0,
    "fp32_flops": 8,
    "fp16_flops": 0,
    "of_flop_peak": {"fp32": 0.1},
    "tensor_fp16_ops": 0,
}
SMALL = {"grid": (64, 1, 1), "sm_count": 132}
SCATTERED = {"l1_global_{}_sectors": 3_200, "l1_global_{}_requests": 100, "l1_global_sectors": 4_000}
CONFLICTS = {"shared_{}_wavefronts": 3_200, "shared_{}_instructions": 100, "l1_transactions": 14_000}
MATRIX = {
    "short_name": "my_sgemm",
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
    "dram_bound": HBM,
    "l2_bound": L2,
    "l1_bound": L1,
    "arithmetic_bound": {"of_flop_peak": {"fp64": 0.9}},
    "issue_bound": ISSUE,
    "launch_bound": {"seconds": 3e-6, "launch_seconds": 2.3e-6},
    "too_small": SMALL,
    "latency_bound": LATENCY,
    "tail": {"waves_per_sm": 2.1},
    "uncoalesced_loads": of("load", SCATTERED),
    "uncoalesced_stores": of("store", SCATTERED),
    "bank_conflicts_loads": of("load", CONFLICTS),
    "bank_conflicts_stores": of("store", CONFLICTS),
    "local_memory": {"l1_local_sectors": 30, "l1_global_sectors": 70, "l1_transactions": 100},
    "atomics": {"l1_global_atomic_sectors": 89, "l1_global_sectors": 100},
    "divergence": {"thread_instructions": 800, "issued_warp_instructions": 100},
    "predication": {"predicated_thread_instructions": 60, "thread_instructions": 100},
    "tensor_unused": MATRIX,
    "constant_moves": MOVES,
}
"""Facts that give just this finding, in the order of importance; each of them is needed."""

TEXTS = {
    "dram_bound": "at 94% of the HBM roof: device memory binds",
    "l2_bound": "at 88% of the L2 roof: L2 binds",
    "l1_bound": "at 87% of the L1 roof, 90% of the traffic in shared-memory wavefronts: shared memory binds",
    "arithmetic_bound": "at 90% of the FP64 peak: arithmetic binds",
    "issue_bound": "919 of 1045 GIPS issued (88%): instruction issue binds",
    "latency_bound": "at most 20% of any counted roof: latency binds, or a pipe that was not counted",
    "launch_bound": "3.000 µs a launch, where launching alone takes 2.300 µs",
    "too_small": "64 blocks for 132 multiprocessors: 68 of them have nothing to do",
    "tail": "2.1 waves: the last is filled to 10%, up to 30% of the time waits for it",
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
    "constant_moves": "14 HFMA and no HADD or HMUL, 1.4% of thread instructions",
}
NEEDS = [(kind, name) for kind, facts in CASES.items() for name in facts if name != "short_name"]


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


def test_the_most_important_comes_first() -> None:
    facts = {name: value for kind in reversed(CASES) for name, value in CASES[kind].items()}
    facts |= {"of_flop_peak": {"fp32": 0.5}, "fp32_flops": 180, "l1_global_sectors": 4_000, **MOVES, **HBM}
    facts |= {"fp32_flops": 1_800, "l1_local_sectors": 3_000, "l1_global_atomic_sectors": 3_000}
    facts |= {
        "predicated_thread_instructions": 500,
        "issued_gips": 100.0,
        "of_roof": 0.3,
        "issued_warp_instructions": 100,
    }
    found = kinds(facts)
    assert found == [kind for kind in CASES if kind in found]
    assert set(CASES) - set(found) == {"l2_bound", "l1_bound", "arithmetic_bound", "issue_bound", "latency_bound"}


# What binds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("facts", [HBM, L2, L1])
def test_a_level_far_below_its_roof_does_not_bind(facts: dict[str, Any]) -> None:
    assert kinds({**facts, f"{facts['bound_level']}_of_roof": 0.5}) == []


def test_l1_by_global_traffic_gets_other_advice() -> None:
    found = only({**L1, "shared_wavefronts": 10})
    assert "10% of the traffic" in found.text
    assert "load wider words" in found.text


def test_only_what_is_nearest_binds() -> None:
    near = {**HBM, "of_roof": 0.94}
    assert kinds({**near, **ISSUE}) == ["dram_bound"]
    assert kinds({**near, "of_flop_peak": {"fp32": 0.7}}) == ["dram_bound"]
    assert kinds({**ISSUE, "of_flop_peak": {"fp32": 0.86}}) == ["arithmetic_bound"]
    tensor = only({"of_flop_peak": {"fp32": 0.1, "bf16_tc": 0.68}})
    assert "at 68% of the BF16 tensor peak" in tensor.text
    assert "tensor cores where" not in tensor.text


def test_a_level_without_traffic_is_no_roof_that_was_not_counted() -> None:
    facts = {name: value for name, value in LATENCY.items() if name != "hbm_of_roof"}
    assert kinds({**facts, "hbm_transactions": 0}) == ["latency_bound"]
    assert kinds({**facts, "hbm_transactions": 5}) == []


@pytest.mark.parametrize(
    "facts",
    [
        {"of_flop_peak": {"fp32": 0.5, "fp64": 0.7}, "fp64_flops": 9},
        {"fp64_flops": 9},
        {"tensor_fp16_ops": 9},
        {"l1_of_roof": 0.7},
        {"issued_gips": 400.0},
        {"issued_gips": 500.0, "integer_instructions": 65, "thread_instructions": 100},
    ],
)
def test_latency_is_not_reported_where_something_else_may_bind(facts: dict[str, Any]) -> None:
    """Uncounted integers may fill their pipe at half of the issue rate; known ones are counted."""
    assert "latency_bound" not in kinds({**LATENCY, **facts})


def test_latency_with_few_integers_shape_and_moved_constants() -> None:
    facts = {"issued_gips": 500.0, "integer_instructions": 50, "thread_instructions": 1_000, "waves_per_sm": 7.76}
    moves = {"fp16_fma_instructions": 14, "fp16_other_instructions": 0, "fp16_flops": 56}
    found = advise({**LATENCY, **facts, **moves, "grid": (8_192, 1, 1)})
    assert [f.kind for f in found] == ["latency_bound", "constant_moves"]
    assert "at most 50% of any counted roof (launched in 7.76 waves of 8,192 blocks)" in found[0].text


# Size ----------------------------------------------------------------------------------------------------------------


def test_a_long_launch_is_not_bound_by_launching() -> None:
    assert kinds({"seconds": 5e-6, "launch_seconds": 2.3e-6}) == []
    assert kinds({"seconds": 0, "launch_seconds": 2.3e-6}) == []


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"grid": (128, 1, 1), "sm_count": 132}, []),
        ({"grid": (8, 4, 2), "sm_count": 132}, ["too_small"]),
        ({"grid": "(64, 1, 1)", "sm_count": 132}, []),
        ({"waves_per_sm": 0.52}, ["too_small"]),
        ({"waves_per_sm": 0.97}, []),
        ({"waves_per_sm": 1.0}, []),
        ({"waves_per_sm": 1.94}, []),
        ({"waves_per_sm": 1.05}, ["tail"]),
        ({"waves_per_sm": 4.05}, []),
        ({"waves_per_sm": 62.06}, []),
        ({"waves_per_sm": 1.05, "of_roof": 0.9}, []),
        ({**SMALL, "of_roof": 0.9}, []),
        ({**SMALL, "of_flop_peak": {"bf16_tc": 0.68}}, ["arithmetic_bound"]),
    ],
)
def test_size(facts: dict[str, Any], expected: list[str]) -> None:
    assert kinds(facts) == expected


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
    facts = {"l1_global_load_sectors": 400, "l1_global_load_requests": 100, "l1_global_store_sectors": 0}
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
        ("load", {"short_name": "ampere_sgemm_128x64"}),
        ("store", {"l1_global_load_requests": 3_145_728, "global_load_instructions": 4_096}),
    ],
)
def test_wavefronts_of_other_instructions_are_no_conflicts(way: str, facts: dict[str, Any]) -> None:
    """Matrix loads and asynchronous copies make wavefronts without the instructions counted here."""
    assert kinds({**of(way, CONFLICTS), **facts}) == []


# Lanes and arithmetic ------------------------------------------------------------------------------------------------


def test_parts_of_warps_are_reported() -> None:
    found = only({**CASES["divergence"], "block": (8, 1, 1)})
    assert found.text.endswith("blocks of 8 threads leave part of a warp empty")
    assert "leave part" not in only({**CASES["divergence"], "block": (8, 8, 1)}).text


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"short_name": "convert_rows"}, False),
        ({"short_name": "implicit_convolve_sgemm"}, True),
        ({"short_name": "bmm"}, True),
        ({"short_name": "bm25_score"}, False),
        ({"short_name": "saxpy"}, False),
        ({"short_name": "Kernel2", "shared_wavefronts": 50, "l1_transactions": 400}, True),
        ({"short_name": "Kernel2", "shared_wavefronts": 0, "l1_transactions": 400}, False),
        ({"short_name": "Kernel2", "shared_wavefronts": 50, "l1_transactions": 400, "fp32_flops": 60}, False),
        ({"fp32_flops": 40}, False),
        ({"tensor_fp16_ops": 4_096}, False),
        ({"fp32_flops": 0, "fp64_flops": 180, "of_flop_peak": {"fp64": 0.8}}, False),
        ({"fp32_flops": 0, "fp64_flops": 180, "of_flop_peak": {"fp64": 0.5}, "tensor_fp64_ops": 0}, True),
    ],
)
def test_tensor_cores_are_missed_in_matrix_products_only(facts: dict[str, Any], expected: bool) -> None:
    assert ("tensor_unused" in kinds({**MATRIX, **facts})) == expected


@pytest.mark.parametrize(
    "facts", [{"fp16_other_instructions": 1}, {"fp16_fma_instructions": 60}, {"fp16_fma_instructions": 0}]
)
def test_half_precision_work_is_no_moved_constant(facts: dict[str, int]) -> None:
    assert kinds({**MOVES, **facts}) == []


# Verdict -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"bound": "memory", "bound_level": "hbm", "of_roof": 0.92}, "bound by HBM: 92% of its roof, 1.09 times faster at the roof"),
        ({"bound": "compute", "gips": 900.0, "attainable_gips": 1000.0}, "bound by instruction issue: 90% of its roof, 1.11 times faster at the roof"),
        ({"bound": "memory", "bound_level": "l2", "of_roof": 0.25}, "L2 would bind first, but only 25% of its roof is reached: 4 times faster at the roof"),
        ({"bound": "memory", "bound_level": "l1", "of_roof": 1.02}, "bound by L1: 102% of its roof, nothing is left there"),
        ({"bound": "memory", "bound_level": "l1", "of_roof": 0.52, "of_flop_peak": {"fp64_tc": 0.93}}, "bound by FP64 tensor arithmetic, which the instruction model does not see: 93% of its peak, 1.08 times faster at the peak"),
        ({"bound": None, "of_flop_peak": {"bf16_tc": 0.8, "fp32": 0.01}}, "bound by BF16 tensor arithmetic, which the instruction model does not see: 80% of its peak, 1.25 times faster at the peak"),
        ({"seconds": 1e-3, "gips": 5.0, "peak_gips": 9.0, "l2_of_roof": 0.4, "hbm_of_roof": 0.1}, "unknown: L1 could bind, and was not counted"),
        ({}, "unknown: no time was captured"),
        ({"seconds": 1e-3}, "unknown: instructions were not counted"),
        ({"seconds": 1e-3, "gips": 5.0}, "unknown: there are no ceilings to compare with"),
        ({"seconds": 1e-3, "gips": 5.0, "peak_gips": 1000.0, "bound": None}, "unknown: no memory level was counted that has a ceiling"),
    ],
)  # fmt: skip
def test_verdict(facts: dict[str, Any], words: str) -> None:
    assert verdict(facts) == words


# Small launches ------------------------------------------------------------------------------------------------------


def test_waves_that_are_rounded_to_nothing_are_too_few() -> None:
    (found,) = advise({"waves_per_sm": 0.0, "seconds": 2e-6})
    assert found.kind == "too_small"
    assert "under 0.005 waves: the blocks fill <1% of the places" in found.text


def test_a_small_launch_is_not_called_latency_bound_besides() -> None:
    assert kinds({**LATENCY, "launch_seconds": 2.3e-6, "seconds": 3e-6}) == ["launch_bound"]


def test_a_guess_of_integers_holds_latency_back_but_is_no_figure() -> None:
    facts = {**LATENCY, "integer_instructions": None, "issued_gips": 200.0, "peak_gips": 1000.0}
    (found,) = [finding for finding in advise(facts) if finding.kind == "latency_bound"]
    assert found.figures["highest_fraction"] == 0.2
    assert "latency_bound" not in kinds({**facts, "issued_gips": 400.0})
