"""The FLOP roofline: operations per type, their own peaks, what is left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roofctl.cli.main import main
from roofctl.core.errors import InputError
from roofctl.gpus import find_measured, find_profile, flop_roofline, measured_roofline, theoretical_roofline
from roofctl.output.rows import COLUMNS
from roofctl.output.rows import rows as rows_of
from roofctl.quantities import catalogue
from roofctl.roofline.analyse import ModelChoice, ModelResults, analyse
from roofctl.roofline.evidence import Machine
from roofctl.roofline.flop import OPERATIONS
from roofctl.roofline.model import BOOST, Bandwidth, Clock, Peak, Roofline

from support.shapes import FULL, TIME, L, ncu_raw, parts, write
from support.tables import kernels as table_of

SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
NONE = {
    SASS.format(op): 0 for op in ("dadd", "dmul", "dfma", "fadd", "fmul", "ffma", "hadd", "hmul", "hfma", "integer")
}
TENSOR = {
    f"sm__ops_path_tensor_src_{name}.sum": 0
    for name in ("fp64", "tf32_dst_fp32", "bf16_dst_fp32", "fp16", "fp8", "int8")
}
BF16 = "sm__ops_path_tensor_src_bf16_dst_fp32.sum"

# Ridges at HBM (32 GB/s): FP32 2, BF16 tensor 16 operations per byte.
FLOP_ROOF = Roofline(
    "toy",
    Peak(512e9, "theoretical", work="bf16_tc"),
    (
        Bandwidth("l1", 256e9, "theoretical"),
        Bandwidth("l2", 128e9, "theoretical"),
        Bandwidth("hbm", 32e9, "theoretical"),
    ),
    model="flop",
    others=(Peak(128e9, "theoretical", work="fp16"), Peak(64e9, "theoretical", work="fp32")),
)
ROOF = Roofline("toy", Peak(8e9, "theoretical"), FLOP_ROOF.bandwidths)


def counters(**operations: int) -> dict[str, object]:
    return {**FULL, **NONE, **TENSOR, **{SASS.format(op): count for op, count in operations.items()}}


def analysed(
    *launches: Mapping[str, object], precisions: tuple[str, ...] = (), chip: str | None = "gh100"
) -> ModelResults:
    text = ncu_raw([L(f"k{i}(int)", each, id=str(i)) for i, each in enumerate(launches)])
    captures = table_of(parts(text), "kernel", chip)
    return analyse(
        captures,
        Machine(ROOF, FLOP_ROOF),
        choice=ModelChoice("flop", precisions=precisions),
        chip=catalogue().chips.get(chip or ""),
    )


def texts(results: ModelResults) -> str:
    return "\n".join(note.text for note in results.notes)


def works(results: ModelResults) -> list[str | None]:
    return [row["precision"] for row in rows_of(results)]


# --- counting ---------------------------------------------------------------------------------------------------------


def test_a_row_by_hand() -> None:
    # 100 add + 200 mul + 2 x 350 fma = 1000 operations a launch of 100 µs; L1 44,000 sectors.
    (found,) = rows_of(analysed(counters(fadd=100, fmul=200, ffma=350)))
    assert list(found) == list(COLUMNS["flop"])
    assert (found["precision"], found["flops"], found["flops_share"]) == ("fp32", 1000, 1.0)
    assert found["flops_per_second"] == pytest.approx(1e7)
    assert (found["l1_bytes"], found["l2_bytes"], found["hbm_bytes"]) == (44_000 * 32, 30_000 * 32, 20_000 * 32)
    assert found["hbm_intensity"] == pytest.approx(1000 / (20_000 * 32))
    assert found["of_peak"] == pytest.approx(1e7 / 64e9)


@pytest.mark.parametrize(
    ("operations", "work", "flops"),
    [
        ({"dadd": 1, "dmul": 10, "dfma": 100}, "fp64", 211),
        ({"fadd": 1, "fmul": 10, "ffma": 100}, "fp32", 211),
        ({"hadd": 1, "hmul": 10, "hfma": 100}, "fp16", 422),
    ],
)
def test_weights(operations: dict[str, int], work: str, flops: int) -> None:
    (found,) = rows_of(analysed(counters(**operations)))
    assert (found["precision"], found["flops"]) == (work, flops)


def test_half_precision_is_marked_as_an_upper_bound() -> None:
    results = analysed(counters(hadd=1_000, hfma=1_000_000))
    assert {point.caveat for point in results.points[0].points} == {"upper bound of the operations"}
    assert "packed pairs" in str(rows_of(results)[0]["flops_caveat"])


def test_a_mixed_kernel_shows_each_type_by_its_own_peak_the_largest_first() -> None:
    mixed = {**counters(ffma=1_000_000), BF16: 30_000_000}
    found = analysed(mixed)
    assert works(found) == ["bf16_tc", "fp32"]
    assert [row["flops_share"] for row in rows_of(found)] == [pytest.approx(30 / 32), pytest.approx(2 / 32)]
    assert rows_of(found)[0]["of_peak"] == pytest.approx(3e11 / 512e9)
    assert rows_of(found)[1]["of_peak"] == pytest.approx(2e10 / 64e9)
    assert [kernel.work for kernel in found.points] == ["bf16_tc", "fp32"]
    assert {point.work for point in found.points[1].points} == {"fp32"}


# --- what is left out -------------------------------------------------------------------------------------------------


def test_an_integer_kernel_is_listed_and_sent_to_the_instruction_model() -> None:
    found = analysed(counters(integer=5_000_000), counters(ffma=1))
    row = next(row for row in rows_of(found) if row["short_name"] == "k0")
    assert (row["precision"], row["flops"], row["integer_instructions"]) == (None, None, 5_000_000)
    kernel = found.points[rows_of(found).index(row)]
    assert kernel.points == ()
    assert set(kernel.missing.values()) == {"only integer and memory work; see --model instruction"}
    assert "not on a FLOP roofline: only integer and memory work; see --model instruction (k0)" in texts(found)


def test_a_type_of_less_than_a_percent_is_named_and_drawn_on_request() -> None:
    mixed = counters(ffma=1_000_000, dmul=1_000)
    assert works(analysed(mixed)) == ["fp32"]
    assert "FP64 is less than 1 % of the operations (--precision all draws it)" in texts(analysed(mixed))
    assert works(analysed(mixed, precisions=("all",))) == ["fp32", "fp64"]
    assert works(analysed(mixed, precisions=("fp64",))) == ["fp64"]


def test_moved_constants_are_no_half_precision_work_without_a_word() -> None:
    # 1.5 % of 3,200,000 thread instructions, all of them HFMA.
    moves = counters(ffma=1_000_000, hfma=48_000)
    assert works(analysed(moves)) == ["fp32"]
    assert (
        texts(analysed(moves)).count("constants being moved; where it is little it is not drawn (--precision fp16") == 1
    )
    assert works(analysed(moves, precisions=("fp16",))) == ["fp16"]
    real = counters(ffma=1_000_000, hfma=400_000, hadd=20_000)
    assert works(analysed(real)) == ["fp32", "fp16"]


def test_a_chosen_type_that_a_kernel_lacks_is_noted() -> None:
    found = analysed(counters(ffma=10), precisions=("bf16_tc",))
    assert works(found) == [None]
    assert "no BF16 tensor operations: none" in texts(found)
    assert set(found.points[0].missing.values()) == {"no BF16 tensor operations are known"}


def test_without_any_count_the_metric_set_is_named() -> None:
    with pytest.raises(InputError, match="the FLOP roofline needs counts of floating-point operations") as error:
        analysed(FULL)
    assert "--set flop --set tensor" in str(error.value.hint)


def test_a_missing_set_is_named_and_nothing_is_called_integer_only() -> None:
    found = analysed({**FULL, **NONE})
    assert "the metric set tensor is missing (roofctl profile --set tensor)" in texts(found)
    assert "no floating-point work is known: tensor operations were not counted" in texts(found)
    tensor_only = analysed({**FULL, **TENSOR})
    assert "the metric set flop is missing" in texts(tensor_only)
    assert "no floating-point work is known: FP16, FP32, FP64 operations were not counted" in texts(tensor_only)


def test_a_type_that_was_not_counted_is_named_and_leaves_the_share_unknown() -> None:
    lacking = {name: count for name, count in counters(dfma=100).items() if name != SASS.format("ffma")}
    found = analysed(lacking)
    assert "no FP32 operations: smsp__sass_thread_inst_executed_op_ffma_pred_on.sum not captured" in texts(found)
    assert (rows_of(found)[0]["precision"], rows_of(found)[0]["flops_share"]) == ("fp64", None)
    nothing = analysed({**lacking, SASS.format("dfma"): 0})
    assert "no floating-point work is known: FP32 operations were not counted" in texts(nothing)


def test_what_tensor_cores_of_the_chip_do_not_take_is_known_to_be_none() -> None:
    volta = {**FULL, **NONE, SASS.format("ffma"): 10, "sm__inst_executed_pipe_tensor.sum": 0}
    found = analysed(volta, chip="gv100")
    assert rows_of(found)[0]["flops_share"] == 1.0
    assert "was not" not in texts(found)
    assert "missing" not in texts(found)


def test_half_precision_that_may_be_moved_constants_has_a_caveat() -> None:
    # 200,000 of 3,200,000 thread instructions: too many to be taken for none, but all of the kind that moves constants.
    found = analysed(counters(hfma=200_000))
    assert works(found) == ["fp16"]
    assert {point.caveat for point in found.points[0].points} == {"HFMA2, which may only move constants"}
    assert texts(found).count("all HFMA2 may be constants being moved") == 1


def test_a_bulk_copying_kernel_has_no_l1_intensity_and_says_so() -> None:
    tma = {**counters(), BF16: 1_000, "l1tex__t_sectors_pipe_lsu.sum": 0, "lts__t_sectors_srcunit_tex.sum": 500_000}
    (row,) = rows_of(analysed(tma))
    assert (row["l1_bytes"], row["l1_intensity"], row["use"].get("l1")) == (None, None, None)
    assert row["l2_intensity"] == pytest.approx(1_000 / (500_000 * 32))


def test_the_estimate_for_volta_is_marked() -> None:
    volta = {**FULL, **NONE, "sm__inst_executed_pipe_tensor.sum": 100}
    (row,) = rows_of(analysed(volta, chip="gv100"))
    assert (row["precision"], row["flops"]) == ("fp16_tc", 51_200)
    assert "estimate" in str(row["flops_caveat"])
    elsewhere = analysed(volta, chip="ga100")
    assert works(elsewhere) == [None]
    assert "tensor operations were not counted" in texts(elsewhere)


def test_no_time_means_no_rate() -> None:
    (row,) = rows_of(analysed({**counters(ffma=10), TIME: "n/a"}))
    assert row["flops"] == 20
    assert (row["flops_per_second"], row["limit"], row["use"]) == (None, None, {})


# --- ceilings ---------------------------------------------------------------------------------------------------------


def test_theoretical_peaks_are_sms_times_rate_times_clock() -> None:
    profile = find_profile("h200").profile
    clock = Clock(1.5e9, "sm", "as captured")
    roofline = flop_roofline(profile, theoretical_roofline(profile, clock), None, clock)
    assert roofline is not None
    assert {p.work: p.per_second for p in roofline.peaks}["fp32"] == 132 * 256 * 1.5e9
    assert {p.work: p.per_second for p in roofline.peaks}["bf16_tc"] == 132 * 4096 * 1.5e9
    assert roofline.peak.per_second == max(p.per_second for p in roofline.peaks)
    assert roofline.ridge("hbm", "fp32") == pytest.approx(132 * 256 * 1.5e9 / 4.814304e12)


@pytest.mark.parametrize("clock", [None, Clock(1.98e9, "sm", BOOST)])
def test_at_boost_each_type_has_the_vendor_s_own_clock(clock: Clock | None) -> None:
    profile = find_profile("h200").profile
    roofline = flop_roofline(profile, theoretical_roofline(profile, clock), None, clock)
    assert roofline is not None
    assert roofline.peak_of("bf16_tc").per_second == 132 * 4096 * 1.83e9  # type: ignore[union-attr]
    assert roofline.peak_of("fp64_tc").per_second == 132 * 256 * 1.98e9  # type: ignore[union-attr]


def test_a_tensor_peak_at_boost_is_the_data_sheet_s_in_an_analysis(tmp_path: Path) -> None:
    from roofctl.study.analyse import AnalysisRequest, analyse_inputs

    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", {**counters(ffma=1), **H200})]))
    for clock in ("boost", 1.98e9):
        analysis = analyse_inputs(AnalysisRequest(inputs=(path,), ceilings="theoretical", model="flop", clock=clock))  # type: ignore[arg-type]
        hz = {"boost": 1.83e9}.get(clock, 1.98e9)  # type: ignore[call-overload]
        assert analysis.rooflines[0].peak_of("bf16_tc").per_second == pytest.approx(132 * 4096 * hz)  # type: ignore[union-attr]


def test_a_sustained_rate_does_not_rise_with_the_clock() -> None:
    found = find_profile("h200")
    measured = find_measured(found)
    assert measured is not None
    roofline = flop_roofline(found.profile, measured_roofline(found.profile, measured), measured, None)
    assert roofline is not None
    before, faster, slower = (
        {p.work: p for p in each.peaks}
        for each in (roofline, roofline.at_clock(Clock(2.5e9, "sm")), roofline.at_clock(Clock(1.0e9, "sm")))
    )

    def sustained(peaks: Mapping[str, Peak]) -> float:
        held = peaks["bf16_tc"].sustained
        assert held is not None
        return held.per_second

    assert sustained(faster) == sustained(before) == pytest.approx(863.5e12, rel=1e-3)
    assert sustained(slower) < sustained(before)
    for work in ("fp32", "bf16_tc"):
        assert faster[work].per_second > before[work].per_second > slower[work].per_second


def test_the_ceiling_is_what_units_do_while_power_does_not_bind() -> None:
    found = find_profile("h200")
    measured = find_measured(found)
    assert measured is not None
    roofline = flop_roofline(found.profile, measured_roofline(found.profile, measured), measured, None)
    assert roofline is not None
    at = roofline.at_clock(Clock(1.98e9, "sm"))
    for work, rate in (("bf16_tc", 4096), ("fp16_tc", 4096), ("tf32_tc", 2048), ("fp8_tc", 8192), ("int8_tc", 8192)):
        peak = at.peak_of(work)
        # Measured in bursts at 1.80 to 1.815 GHz, and within 0.3 % of what the units can do at 1.98 GHz.
        assert peak is not None
        assert peak.per_second == pytest.approx(132 * rate * 1.98e9, rel=0.003)
        assert (peak.basis, peak.sustained is not None) == ("measured", True)
    assert roofline.basis == "measured"


def test_a_measured_ceiling_without_bursts_leaves_the_theoretical_one() -> None:
    found = find_profile("h200")
    measured = find_measured(found)
    assert measured is not None
    only = measured.ceilings["bf16_tc"].model_copy(update={"mixes": {}})
    less = measured.model_copy(update={"ceilings": {**measured.ceilings, "bf16_tc": only}})
    roofline = flop_roofline(found.profile, measured_roofline(found.profile, less), less, None)
    peak = roofline.peak_of("bf16_tc") if roofline else None
    assert peak is not None
    assert (peak.basis, peak.per_second) == ("theoretical", 132 * 4096 * 1.83e9)
    assert peak.sustained is not None
    assert peak.sustained.per_second == only.value


def test_a_type_that_was_not_measured_is_absent_with_the_reason() -> None:
    found = find_profile("h200")
    measured = find_measured(found)
    assert measured is not None
    less = measured.model_copy(update={"ceilings": {k: v for k, v in measured.ceilings.items() if k != "fp32"}})
    roofline = flop_roofline(found.profile, measured_roofline(found.profile, less), less, None)
    assert roofline is not None
    assert roofline.peak_of("fp32") is None
    assert roofline.attainable("hbm", 1.0, "fp32") is None
    assert roofline.absent["fp32"] == "the FP32 peak was not measured on this GPU"


def test_every_type_has_its_quantity_in_the_catalogue() -> None:
    assert set(OPERATIONS.values()) <= set(catalogue().quantities)


# --- as a user --------------------------------------------------------------------------------------------------------

H200 = {"device__attribute_display_name": "NVIDIA H200", "launch__sm_count": 132}


def capture(folder: Path, **operations: int) -> str:
    (path,) = write(folder, a=ncu_raw([L("gemm(int)", {**counters(**operations), **H200})]))
    return str(path)


def test_report_and_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path, ffma=1_000_000)
    assert main(["report", path, "--model", "flop"]) == 0
    out = capsys.readouterr().out
    assert "type" in out.splitlines()[0]
    assert "rate GFLOP/s" in out.splitlines()[0]
    assert " 20.00 " in out.splitlines()[1]
    assert main(["plot", path, "--model", "flop", "-o", str(tmp_path / "a.svg")]) == 0
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "Performance (TFLOP/s)" in svg
    assert "gemm (FP32)" in svg
    assert ">FP32 " in svg
    assert "BF16" not in svg
    assert main(["plot", path, "--model", "flop", "--precision", "all", "-o", str(tmp_path / "b.svg")]) == 0
    assert "BF16, FP16 tensor" in (tmp_path / "b.svg").read_text(encoding="utf-8")


def test_precision_without_the_flop_model_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", capture(tmp_path, ffma=1), "--precision", "fp32"]) == 2
    assert "--precision fp32 belongs to --model flop" in capsys.readouterr().err


def test_json_holds_a_ridge_per_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    assert main(["report", capture(tmp_path, ffma=1), "--model", "flop", "--format", "json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["model"] == "flop"
    by_level = {entry["level"]: entry for entry in document["ceilings"]}
    fp32 = by_level["fp32"]["flops_per_second"]
    assert by_level["hbm"]["ridge_intensities"]["fp32"] == pytest.approx(fp32 / by_level["hbm"]["bytes_per_second"])


def test_launches_of_one_name_are_not_mixed_into_one_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = ({**counters(**ops), **H200} for ops in ({"ffma": 1_000_000}, {"dfma": 1_000_000}))
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", first), L("k(int)", second, id="1")]))
    target = tmp_path / "a.svg"
    options = ["--model", "flop", "--group", "launch", "--mode", "hierarchical", "-o", str(target)]
    assert main(["plot", str(path), *options]) == 0
    assert "note: 2 kernels; drawing the longest" in capsys.readouterr().err
    svg = target.read_text(encoding="utf-8")
    assert ("FP32" in svg) != ("FP64" in svg)


def test_a_kernel_without_operations_has_a_hint_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", capture(tmp_path, integer=5), "--model", "flop", "-o", str(tmp_path / "a.png")]) == 2
    err = capsys.readouterr().err
    assert "there is no point to draw (only integer and memory work; see --model instruction)" in err
    assert "--model instruction" in err.splitlines()[-1]
