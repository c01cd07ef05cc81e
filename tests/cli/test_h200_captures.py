"""Our own captures of ``roofctl profile`` on an H200, read as a user would read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofctl.cli.main import main
from roofctl.core.resources import demo_capture
from roofctl.output.rows import rows as rows_of
from roofctl.roofline.analyse import Selection
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

DATA = Path(__file__).parent.parent / "data" / "captures-h200"


def read(name: str, kernel: str = "") -> Analysis:
    return analyse_inputs(AnalysisRequest(inputs=(DATA / name,), selection=Selection(kernel=kernel)))


def row(analysis: Analysis) -> Any:
    (found,) = rows_of(analysis.results)
    return found


def test_every_count_of_the_known_kernels_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--from", str(DATA / "verify")]) == 0
    assert "NVIDIA H200, 15 kernels: 386 of 386 counts agree" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kernel", "l1", "l2"),
    [
        ("triad", 25_165_824, 25_165_824),
        ("copy1", 16_777_216, 16_777_216),
        ("transpose_naive", 75_497_472, 75_497_472),
        ("atomics", 75_497_472, 75_497_472),
        ("fma64", 67_584, 67_584),
    ],
)
def test_the_demo_s_traffic_is_the_known_one(kernel: str, l1: int, l2: int) -> None:
    found = row(analyse_inputs(AnalysisRequest(inputs=(demo_capture(),), selection=Selection(kernel=f"^{kernel}$"))))
    assert (found["l1_transactions"], found["l2_transactions"]) == (l1, l2)


def test_a_kernel_that_loads_by_tma_has_no_l1_point() -> None:
    analysis = read("torch", "nvjet")
    found = row(analysis)
    assert found["l1_transactions"] is None
    assert found["l2_intensity"] == pytest.approx(0.8167, rel=1e-3)
    assert any("not counted" in note.text for note in analysis.notes)


def test_base_clocks_lower_the_ceilings_with_them() -> None:
    locked, free = read("base-clock"), analyse_inputs(AnalysisRequest(inputs=(demo_capture(),)))
    assert locked.clock is not None
    assert free.clock is not None
    assert locked.clock.hz == pytest.approx(1.496e9, rel=1e-3)
    fractions = [
        next(r["use"]["l1"] for r in rows_of(analysis.results) if r["short_name"] == "transpose_smem<0>")
        for analysis in (locked, free)
    ]
    # The kernel is 28 % slower there; against ceilings at the captured clock it is no worse.
    assert fractions[0] == pytest.approx(fractions[1], abs=0.03)


def test_a_capture_cut_short_is_kept_with_a_warning() -> None:
    analysis = read("timeout")
    assert row(analysis)["launches"] == 27
    assert any(note.warning and "stopped after 8 s" in note.text for note in analysis.notes)


def test_an_application_that_failed_is_noted() -> None:
    analysis = read("app-exit-7")
    assert row(analysis)["launches"] == 3
    assert any(note.warning and "failed with code 7" in note.text for note in analysis.notes)
