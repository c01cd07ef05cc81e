"""Types of operation of the FLOP roofline: which counter counts each on which chip, and the peak that each has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roofctl.core.precisions import CHOOSABLE, COUNTED, PRECISIONS
from roofctl.gpus import find_profile, flop_roofline, theoretical_roofline
from roofctl.gpus.compute import per_clock
from roofctl.output.rows import rows as rows_of
from roofctl.roofline.flop import results
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.missing import Reasons
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

from support.shapes import FULL, TIME, L, ncu_raw, write

SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
NO_FLOPS = {
    SASS.format(op): 0 for op in ("dadd", "dmul", "dfma", "fadd", "fmul", "ffma", "hadd", "hmul", "hfma", "integer")
}
TENSOR = "sm__ops_path_tensor_{}.sum"
AMPERE = ("fp64", "tf32_dst_fp32", "bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "int8")
HOPPER = ("fp64", "tf32_dst_fp32", "bf16_dst_fp32", "fp16", "fp8", "int8")
MILLISECOND = 1_000_000


def capture(
    folder: Path, device: str, capability: str, none: tuple[str, ...], operations: Mapping[str, int], **more: object
) -> Analysis:
    """The FLOP model of one launch of a millisecond: types of ``none`` were counted as 0, ``operations`` as given."""
    counters: dict[str, object] = {
        **FULL,
        TIME: MILLISECOND,
        "device__attribute_display_name": device,
        **NO_FLOPS,
        **{TENSOR.format(f"src_{name}"): 0 for name in none},
        **{TENSOR.format(name): count for name, count in operations.items()},
        **more,
    }
    (path,) = write(folder, a=ncu_raw([L("gemm(int)", counters, cc=capability)]))
    return analyse_inputs(AnalysisRequest(inputs=(path,), model="flop", ceilings="theoretical" if device else None))


def found(analysis: Analysis) -> list[dict[str, Any]]:
    return rows_of(analysis.results)


def texts(analysis: Analysis) -> str:
    return "\n".join(note.text for note in analysis.notes)


# --- one type each ----------------------------------------------------------------------------------------------------


def test_pure_fp4_of_a_b200_has_its_own_peak(tmp_path: Path) -> None:
    none = (*AMPERE, "fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32")
    analysis = capture(tmp_path, "NVIDIA B200", "10.0", none, {"src_fp4_dst_fp32": 7_000_000_000_000})
    (row,) = found(analysis)
    assert (row["precision"], row["flops"], row["flops_share"]) == ("fp4_tc", 7_000_000_000_000, 1.0)
    assert row["of_peak"] == pytest.approx(7e15 / (148 * 32768 * 1.5e9))


def test_fp4_fp6_and_fp8_that_a_chip_counts_as_one_are_compared_with_the_fp8_peak(tmp_path: Path) -> None:
    operations = {"src_fp4_fp6_fp8_dst_fp16": 1_000_000_000, "src_fp4_fp6_fp8_dst_fp32": 2_000_000_000_000}
    analysis = capture(tmp_path, "NVIDIA B200", "10.0", (*AMPERE, "fp4_dst_fp32"), operations)
    (row,) = found(analysis)
    assert (row["precision"], row["flops"]) == ("fp4_fp6_fp8_tc", 2_001_000_000_000)
    assert row["of_peak"] == pytest.approx(2.001e15 / (148 * 16384 * 1.5e9))
    assert "FP4/FP6/FP8 tensor: FP4, FP6 and FP8 are one counter on this chip" in texts(analysis)
    assert row["flops_caveat"] is None


@pytest.mark.parametrize(("device", "capability"), [("NVIDIA B300", "10.3"), ("NVIDIA GB10", "12.1")])
def test_fp8_of_newer_blackwell_is_counted_by_accumulation(device: str, capability: str, tmp_path: Path) -> None:
    operations = {"src_fp8_dst_fp32": 3_000_000, "src_fp8_dst_fp16": 2_000_000}
    analysis = capture(tmp_path, "", capability, (*AMPERE, "fp4_dst_fp32"), operations)
    assert [(row["precision"], row["flops"]) for row in found(analysis)] == [
        ("fp8_tc", 3_000_000),
        ("fp8_acc16_tc", 2_000_000),
    ]
    assert "not counted" not in texts(analysis)


def test_accumulation_in_fp16_has_its_own_peak_and_point_on_a_geforce(tmp_path: Path) -> None:
    operations = {"src_fp16_dst_fp16": 150_000_000_000, "src_fp16_dst_fp32": 50_000_000_000}
    none = ("fp64", "tf32_dst_fp32", "bf16_dst_fp32", "fp8", "int8")
    analysis = capture(tmp_path, "NVIDIA GeForce RTX 4090", "8.9", none, operations)
    acc16, acc32 = found(analysis)
    assert (acc16["precision"], acc32["precision"]) == ("fp16_acc16_tc", "fp16_tc")
    assert acc16["of_peak"] == pytest.approx(150e12 / (128 * 1024 * 1.5e9))
    assert acc32["of_peak"] == pytest.approx(50e12 / (128 * 512 * 1.5e9))
    assert acc16["flops_share"] == 0.75


@pytest.mark.parametrize(
    ("kind", "peak"), [("int4", 4096), ("int1", None)], ids=["INT4 of a 4090", "INT1, whose rate is not known there"]
)
def test_integer_types_that_few_programs_use(kind: str, peak: int | None, tmp_path: Path) -> None:
    none = (*AMPERE, "fp8")
    analysis = capture(tmp_path, "NVIDIA GeForce RTX 4090", "8.9", none, {f"src_{kind}": 100_000_000_000})
    (row,) = found(analysis)
    assert row["precision"] == f"{kind}_tc"
    assert row["of_peak"] == (None if peak is None else pytest.approx(100e12 / (128 * peak * 1.5e9)))


def test_types_that_few_programs_use_are_taken_for_none_where_they_were_not_counted(tmp_path: Path) -> None:
    analysis = capture(tmp_path, "NVIDIA H200", "9.0", HOPPER, {"src_bf16_dst_fp32": 1_000_000})
    (row,) = found(analysis)
    assert (row["precision"], row["flops_share"]) == ("bf16_tc", 1.0)
    assert "INT1" not in texts(analysis)
    assert "2:4" not in texts(analysis)


def test_many_types_that_were_not_counted_share_one_note(tmp_path: Path) -> None:
    analysis = capture(tmp_path, "NVIDIA H200", "9.0", ("bf16_dst_fp32",), {"src_fp8": 1_000_000})
    assert found(analysis)[0]["flops_share"] is None
    assert (
        "operations not counted: FP64 tensor, TF32 tensor, FP16 tensor, INT8 tensor (roofctl profile --set tensor)"
        in texts(analysis)
    )


def test_a_chip_without_tensor_cores_lacks_no_tensor_counts(tmp_path: Path) -> None:
    more = {SASS.format("ffma"): 100, "device__attribute_display_name": "NVIDIA GeForce GTX 1660 SUPER"}
    analysis = capture(tmp_path, "", "7.5", (), {}, **more)
    (row,) = found(analysis)
    assert (row["precision"], row["flops_share"]) == ("fp32", 1.0)
    assert "tensor" not in texts(analysis)


# --- sparsity ---------------------------------------------------------------------------------------------------------

SPARSE = [TENSOR.format(f"{name}_sparsity_on").removesuffix(".sum") for name in (
    "op_hgmma_src_fp16", "op_hmma_src_fp16_dst_fp16", "op_hmma_src_fp16_dst_fp32"
)]  # fmt: skip


def test_sparse_operations_are_compared_with_twice_the_dense_peak(tmp_path: Path) -> None:
    # Dense-equivalent: the total holds the sparse ones.
    sparse = dict(zip((f"{name}.sum" for name in SPARSE), (700_000_000_000, 0, 100_000_000_000), strict=True))
    analysis = capture(tmp_path, "NVIDIA H200", "9.0", HOPPER, {"src_fp16": 1_000_000_000_000}, **sparse)
    two_of_four, dense = found(analysis)
    assert (two_of_four["precision"], two_of_four["flops"]) == ("fp16_sparse_tc", 800_000_000_000)
    assert (dense["precision"], dense["flops"]) == ("fp16_tc", 200_000_000_000)
    assert two_of_four["of_peak"] == pytest.approx(800e12 / (132 * 2 * 4096 * 1.5e9))
    assert dense["of_peak"] == pytest.approx(200e12 / (132 * 4096 * 1.5e9))
    assert two_of_four["flops_share"] == 0.8


def test_all_sparse_leaves_no_dense_row(tmp_path: Path) -> None:
    sparse = {f"{SPARSE[0]}.sum": 0, f"{SPARSE[1]}.sum": 0, f"{SPARSE[2]}.sum": 500_000}
    analysis = capture(tmp_path, "NVIDIA H200", "9.0", HOPPER, {"src_fp16": 500_000}, **sparse)
    assert [row["precision"] for row in found(analysis)] == ["fp16_sparse_tc"]


# --- above a peak -----------------------------------------------------------------------------------------------------


def warning(analysis: Analysis) -> str:
    (text,) = [note.text for note in analysis.notes if note.warning and "above it" in note.text]
    return text


def test_above_a_dense_peak_sparsity_is_named_once_for_all_levels(tmp_path: Path) -> None:
    # 107 % of the dense peak at 1.5 GHz.
    count = round(1.07 * 132 * 4096 * 1.5e9 * 1e-3)
    text = warning(capture(tmp_path, "NVIDIA H200", "9.0", HOPPER, {"src_fp16": count}))
    assert text.startswith("gemm is 107% of its FP16 tensor peak, above it: some of it may be FP16 2:4 tensor")
    assert "--set tensor-rare counts apart" in text
    assert "FP16 acc." not in text
    assert "leaves traffic out" not in text


def test_sparsity_that_was_counted_is_no_cause(tmp_path: Path) -> None:
    count = round(1.07 * 132 * 4096 * 1.5e9 * 1e-3)
    none = dict.fromkeys((f"{name}.sum" for name in SPARSE), 0)
    text = warning(capture(tmp_path, "NVIDIA H200", "9.0", HOPPER, {"src_fp16": count}, **none))
    assert text.endswith("above it: the GPU ran above the clock of the ceilings, or the GPU profile is not this GPU's")


def test_fp8_of_a_geforce_names_the_accumulation_that_its_chip_counts_with_it(tmp_path: Path) -> None:
    none = ("fp64", "tf32_dst_fp32", "bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "int8")
    count = round(1.82 * 128 * 1024 * 1.5e9 * 1e-3)
    text = warning(capture(tmp_path, "NVIDIA GeForce RTX 4090", "8.9", none, {"src_fp8": count}))
    assert "some of it may be FP8 (FP16 acc.) tensor, which the chip counts with it" in text


def test_integer_operations_above_their_peak_may_run_in_two_pipes(tmp_path: Path) -> None:
    count = round(1.5 * 132 * 64 * 1.5e9 * 1e-3)
    (path,) = write(
        tmp_path,
        a=ncu_raw([L("hash(int)", {
            **FULL, TIME: MILLISECOND, "device__attribute_display_name": "NVIDIA H200", **NO_FLOPS,
            SASS.format("integer"): count, **{TENSOR.format(f"src_{name}"): 0 for name in HOPPER},
        })]),
    )  # fmt: skip
    request = AnalysisRequest(inputs=(path,), model="flop", ceilings="theoretical", precisions=("int32",))
    analysis = analyse_inputs(request)
    (row,) = found(analysis)
    assert (row["precision"], row["of_peak"]) == ("int32", pytest.approx(1.5))
    assert "IMAD" in warning(analysis)


# --- rates per cycle --------------------------------------------------------------------------------------------------

RATE = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"


@pytest.mark.parametrize(
    "cycles",
    [
        {"smsp__cycles_elapsed.avg": 141_000},
        {"smsp__cycles_elapsed.avg.per_second": 1_410_000_000, TIME: 100_000},
    ],
)
def test_operations_from_ncu_s_own_rates_per_cycle(cycles: dict[str, int], tmp_path: Path) -> None:
    # ncu draws 2 x 1000 per cycle x 1.41 GHz = 2.82 TFLOP/s, at 1e8 bytes of DRAM 2.82 operations per byte.
    counters = {
        RATE.format("fadd"): 0,
        RATE.format("fmul"): 0,
        RATE.format("ffma"): 1_000,
        TIME: 100_000,
        "dram__bytes.sum": 100_000_000,
        **cycles,
    }
    (path,) = write(tmp_path, a=ncu_raw([L("axpy(int)", counters, cc="8.0")]))
    (row,) = found(analyse_inputs(AnalysisRequest(inputs=(path,), profile="a100", model="flop")))
    assert (row["precision"], row["flops"]) == ("fp32", 282_000_000)
    assert row["flops_per_second"] == pytest.approx(2.82e12)
    assert row["hbm_intensity"] == pytest.approx(2.82)
    assert row["flops_caveat"] == "derived from rates per cycle"


def test_rates_with_two_decimals_are_marked_as_rounded(tmp_path: Path) -> None:
    counters = {TIME: 100_000, "smsp__cycles_elapsed.avg.per_second": "1,410,000,000.00"}
    counters |= {RATE.format("fadd"): "0.00", RATE.format("fmul"): "0.00", RATE.format("ffma"): "4.13"}
    (path,) = write(tmp_path, a=ncu_raw([L("axpy(int)", counters, cc="8.0")]))
    (row,) = found(analyse_inputs(AnalysisRequest(inputs=(path,), profile="a100", model="flop")))
    assert row["flops_caveat"] == "from rates per cycle that are printed rounded"


def test_a_count_is_used_before_a_rate(tmp_path: Path) -> None:
    rates = {RATE.format(op): 5 for op in ("fadd", "fmul", "ffma")}
    analysis = capture(
        tmp_path, "NVIDIA H200", "9.0", HOPPER, {}, **rates, **{SASS.format("ffma"): 7, "smsp__cycles_elapsed.avg": 9}
    )
    (row,) = found(analysis)
    assert (row["flops"], row["flops_caveat"]) == (14, None)


# --- work that is none of the types -----------------------------------------------------------------------------------


def kernel(**values: object) -> Kernel:
    zero = dict.fromkeys(COUNTED.values(), 0)
    return Kernel("k", "k", 1, None, None, ("a",), None, {**zero, "seconds": 1e-3, **values}, {}, {}, {})


@pytest.mark.parametrize(
    ("transcendental", "words"),
    [
        (200, "transcendental (MUFU) work: 20% of its warp instructions; see --model instruction"),
        (50, "only integer and memory work; see --model instruction"),
        (None, "only integer and memory work; see --model instruction"),
    ],
)
def test_a_kernel_of_transcendentals_is_no_integer_kernel(transcendental: int | None, words: str) -> None:
    given = kernel(integer_instructions=9, issued_warp_instructions=1_000, xu_instructions=transcendental)
    (result,) = results(given, (), None, Reasons(), moves=False)
    assert (result.work, result.none) == (None, words)


def test_addresses_are_no_work_unless_asked_for() -> None:
    given = kernel(integer_instructions=900, fp32_flops=100, l1_transactions=1)
    assert [each.work for each in results(given, (), None, Reasons(), moves=False)] == ["fp32"]
    assert [each.work for each in results(given, ("int32",), None, Reasons(), moves=False)] == ["int32"]
    assert [each.share for each in results(given, ("int32",), None, Reasons(), moves=False)] == [None]
    assert [each.work for each in results(given, ("all",), None, Reasons(), moves=False)] == ["int32", "fp32"]


# --- peaks of GPU profiles --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "work", "rate"),
    [
        ("h200", "bf16_sparse_tc", 8192),
        ("h200", "int32", 64),
        ("h200", "fp4_fp6_fp8_tc", None),
        ("h200", "fp16_acc16_tc", None),
        ("v100", "fp16_acc16_tc", 1024),
        ("v100", "fp16_sparse_tc", None),
        ("v100", "int32", 64),
        ("v100", "fp64", 64),
        ("t4", "int8_sparse_tc", None),
        ("a100", "int1_tc", 32768),
        ("a100", "fp64_tc", 128),
        ("a100", "int4_sparse_tc", 16384),
        ("rtx4090", "fp16_acc16_sparse_tc", 2048),
        ("rtx4090", "fp64", 4),
        ("rtx5090", "fp6_tc", 1024),
        ("rtx5090", "fp6_acc16_tc", 2048),
        ("rtx5090", "fp4_sparse_tc", 8192),
        ("rtx5090", "int32", None),
        ("b200", "fp4_fp6_fp8_tc", 16384),
        ("b200", "fp4_sparse_tc", 65536),
        ("b200", "fp6_tc", None),
    ],
)
def test_operations_per_sm_and_clock(gpu: str, work: str, rate: int | None) -> None:
    assert per_clock(find_profile(gpu).profile, work) == rate


def test_every_type_has_its_own_name_label_and_quantity() -> None:
    assert len({p.label for p in PRECISIONS.values()}) == len(PRECISIONS)
    assert len(set(CHOOSABLE.values())) == len(CHOOSABLE)
    assert {p.like for p in PRECISIONS.values()} - {""} <= set(PRECISIONS)
    assert all(p.name.endswith("_tc") == p.tensor for p in PRECISIONS.values())


def test_peaks_are_those_of_types_that_the_chip_has() -> None:
    profile = find_profile("h200").profile
    roofline = flop_roofline(profile, theoretical_roofline(profile), None, None)
    assert roofline is not None
    works = {peak.work for peak in roofline.peaks} | set(roofline.absent)
    assert not {"fp4_tc", "fp6_tc", "fp4_fp6_fp8_tc", "fp8_acc16_tc", "int4_tc"} & works
    assert "int1_tc" in roofline.absent
