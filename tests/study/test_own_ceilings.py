"""Ceilings from the capture itself: of a GPU without a profile, and where a profile lacks one or differs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from roofctl.cli.main import main
from roofctl.gpus import find_profile
from roofctl.output.captions import describe_ceilings, subtitle
from roofctl.output.report import document
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

from support.own import ATTRIBUTES, L2_CLOCK, OPS, PEAK, PEAKS, SMS, capture
from support.shapes import CLOCK


def analysed(path: Path, **options: object) -> Analysis:
    return analyse_inputs(AnalysisRequest(inputs=(path,), **options))  # type: ignore[arg-type]


def bandwidths(analysis: Analysis) -> dict[str, float]:
    return {each.level: each.bytes_per_second for each in analysis.rooflines[0].bandwidths}


def texts(analysis: Analysis) -> str:
    return "\n".join(note.text for note in analysis.notes)


def test_peaks_of_counters_times_the_clock_of_their_unit(tmp_path: Path) -> None:
    analysis = analysed(capture(tmp_path, ATTRIBUTES, PEAKS, L2_CLOCK))
    assert analysis.rooflines[0].peak.per_second == pytest.approx(4 * SMS * 1.5e9)
    assert bandwidths(analysis) == {
        "l1": pytest.approx(128 * SMS * 1.5e9),
        "l2": pytest.approx(64 * 32 * 1.6e9),
        "hbm": pytest.approx(64 * 8.001e9),
    }
    assert [each.source for each in analysis.rooflines[0].bandwidths] == ["driver", "report", "driver"]
    assert "derived from the report" in analysis.rooflines[0].bandwidths[1].origin
    assert analysis.unknown_gpu is None
    assert "no GPU profile has (compute capability 8.6): ceilings are from the report" in texts(analysis)


def test_tensor_peaks_are_halved_where_the_chip_has_sparsity(tmp_path: Path) -> None:
    peaks = {
        each.work: each for each in analysed(capture(tmp_path, ATTRIBUTES, PEAKS, OPS), model="flop").rooflines[0].peaks
    }
    assert peaks["bf16_tc"].per_second == pytest.approx(1024 * SMS * 1.5e9)
    assert peaks["bf16_sparse_tc"].per_second == pytest.approx(2048 * SMS * 1.5e9)
    assert peaks["fp64_tc"].per_second == pytest.approx(64 * SMS * 1.5e9)
    assert peaks["fp32"].per_second == pytest.approx(256 * SMS * 1.5e9)
    assert peaks["fp32"].source == "driver"


def test_a_turing_chip_has_no_sparsity_and_a_narrow_l1(tmp_path: Path) -> None:
    path = capture(tmp_path, ATTRIBUTES, PEAKS, OPS, cc="7.5")
    peaks = {each.work: each.per_second for each in analysed(path, model="flop").rooflines[0].peaks}
    assert peaks["bf16_tc"] == pytest.approx(2048 * SMS * 1.5e9)
    assert bandwidths(analysed(path))["l1"] == pytest.approx(64 * SMS * 1.5e9)


def test_without_the_clock_of_l2_there_is_no_l2_ceiling(tmp_path: Path) -> None:
    roofline = analysed(capture(tmp_path, ATTRIBUTES, PEAKS)).rooflines[0]
    assert roofline.bandwidth("l2") is None
    assert "the report does not give the clock of the L2" in roofline.absent["l2"]


@pytest.mark.parametrize(
    "facts",
    [
        {"lts__cycles_elapsed.avg": 160_000},
        {
            "lts__t_sectors_srcunit_tex.sum.per_second": 64 * 1.6e9 / 5,
            "lts__t_sectors_srcunit_tex.sum.pct_of_peak_sustained_elapsed": 20,
        },
    ],
    ids=["cycles over time", "rate over its part of the peak"],
)
def test_the_clock_of_l2_from_what_else_there_is(facts: Mapping[str, object], tmp_path: Path) -> None:
    assert bandwidths(analysed(capture(tmp_path, ATTRIBUTES, PEAKS, facts)))["l2"] == pytest.approx(64 * 32 * 1.6e9)


def test_a_peak_per_slice_is_multiplied_by_slices_that_counted(tmp_path: Path) -> None:
    facts = {
        "lts__t_sectors_srcunit_tex.avg.peak_sustained": 1,
        "lts__t_sectors_srcunit_tex.avg": 30_000 / 12,
        "device__attribute_l2s_count": 16,
    }
    analysis = analysed(capture(tmp_path, ATTRIBUTES, L2_CLOCK, facts))
    assert bandwidths(analysis)["l2"] == pytest.approx(12 * 32 * 1.6e9)
    assert analysis.profile is not None
    assert analysis.profile.l2.slices.value == 12


def test_attributes_alone_give_issue_l1_and_memory(tmp_path: Path) -> None:
    roofline = analysed(capture(tmp_path, ATTRIBUTES)).rooflines[0]
    assert roofline.peak.per_second == pytest.approx(4 * SMS * 1.5e9)
    assert roofline.bandwidth("hbm") is not None
    assert roofline.bandwidth("l2") is None
    assert "does not say what its slices deliver" in roofline.absent["l2"]


def test_memory_by_a_rate_over_its_part_of_the_peak(tmp_path: Path) -> None:
    facts = {"dram__bytes_read.sum.per_second": 2e11, "dram__bytes_read.sum.pct_of_peak_sustained_elapsed": 50}
    path = capture(tmp_path, ATTRIBUTES, facts, device__attribute_memory_clock_rate="")
    hbm = analysed(path).rooflines[0].bandwidth("hbm")
    assert hbm is not None
    assert hbm.bytes_per_second == pytest.approx(4e11)
    assert hbm.source == "report"


def test_units_that_counted_are_the_sms_of_a_file_without_attributes(tmp_path: Path) -> None:
    facts = {"sm__inst_executed.sum": 110_000, "sm__inst_executed.avg": 110_000 / SMS}
    analysis = analysed(capture(tmp_path, facts))
    assert analysis.profile is not None
    assert (analysis.profile.sm_count.value, analysis.profile.clocks.sm_boost_hz.value) == (SMS, 1.5e9)
    assert analysis.rooflines[0].peak.source == "report"


@pytest.mark.parametrize(
    ("facts", "lacks"),
    [({CLOCK: ""}, "number of multiprocessors and SM clock"), ({}, "number of multiprocessors")],
)
def test_what_a_capture_lacks_for_ceilings_of_its_own(facts: Mapping[str, object], lacks: str, tmp_path: Path) -> None:
    analysis = analysed(capture(tmp_path, facts))
    assert analysis.unknown_gpu is not None
    assert analysis.unknown_gpu.hint.endswith(f"need what it does not hold: {lacks}")


def test_a_profile_that_lacks_l2_takes_that_of_the_report(tmp_path: Path) -> None:
    facts = {
        "device__attribute_display_name": "NVIDIA A10",
        "launch__sm_count": 72,
        f"lts__t_sectors_srcunit_tex{PEAK}": 96,
    }
    analysis = analysed(capture(tmp_path, facts, L2_CLOCK))
    l2 = analysis.rooflines[0].bandwidth("l2")
    profile = find_profile("a10").profile
    if profile.l2.bytes_per_clock.value is None:
        assert l2 is not None
        assert (l2.bytes_per_second, l2.source) == (pytest.approx(96 * 32 * 1.6e9), "report")
        assert "report: L2" in describe_ceilings(analysis)


def test_a_vendors_fact_stays_where_the_report_differs(tmp_path: Path) -> None:
    facts = {
        "device__attribute_display_name": "NVIDIA H200",
        "launch__sm_count": 132,
        f"sm__sass_thread_inst_executed_op_ffma_pred_on{PEAK}": 132 * 64,
    }
    analysis = analysed(capture(tmp_path, facts, OPS, cc="9.0"), ceilings="theoretical", model="flop")
    assert "FP32: the capture gives 128 operations per clock and SM, the GPU profile h200 has 256 (vendor)" in texts(
        analysis
    )
    peak = analysis.rooflines[0].peak_of("fp32")
    assert peak is not None
    assert peak.per_second == pytest.approx(132 * 256 * 1.5e9)


def test_the_gpu_of_the_ceilings_is_always_named(tmp_path: Path) -> None:
    own = analysed(capture(tmp_path, ATTRIBUTES))
    assert subtitle(own, own.rooflines) == "NVIDIA Toy · SM 1.500 GHz as captured · ceilings from the report"
    assert describe_ceilings(own).startswith("ceilings: NVIDIA Toy, from the report, SM 1.500 GHz as captured; ")
    assert document(own)["ceilings_gpu"] == {"name": "NVIDIA Toy", "profile": None, "of_capture": True}
    assert document(own)["gpu"]["profile"] is None

    other = analysed(capture(tmp_path, ATTRIBUTES), profile="rtx3090")
    assert subtitle(other, other.rooflines).startswith("captured on NVIDIA Toy · SM 1.500 GHz as captured · ")
    assert subtitle(other, other.rooflines).endswith("theoretical ceilings of rtx3090")
    assert "not the GPU of the capture (NVIDIA Toy)" in describe_ceilings(other)
    assert document(other)["ceilings_gpu"]["of_capture"] is False


def test_markdown_names_the_gpu_of_the_ceilings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(capture(tmp_path, ATTRIBUTES))
    for options in (["--no-advice"], ["--times"]):
        assert main(["report", path, "--format", "md", "-q", *options]) == 0
        assert "\n\nCeilings: NVIDIA Toy, from the report, " in capsys.readouterr().out


def test_a_gpu_without_a_name_shows_the_profiles_that_fit(tmp_path: Path) -> None:
    analysis = analysed(capture(tmp_path, ATTRIBUTES, device__attribute_display_name=""))
    assert (
        "does not name its GPU (compute capability 8.6): ceilings are from the report; say which: --profile a10"
        in texts(analysis)
    )
    assert subtitle(analysis, analysis.rooflines).endswith("ceilings of GPU of compute capability 8.6, from the report")


def test_measured_ceilings_of_a_gpu_without_a_profile_are_refused(tmp_path: Path) -> None:
    path = capture(tmp_path, ATTRIBUTES)
    assert main(["report", str(path), "--ceilings", "measured"]) == 2
