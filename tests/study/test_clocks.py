"""At which clocks ceilings are drawn, and that a mismatch is never taken for lost performance without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.cli.main import main
from roofctl.core.errors import InputError
from roofctl.output.rows import rows as rows_of
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

from support.shapes import CLOCK, FULL, TIME, L, ncu_raw, write

H200 = {
    "device__attribute_display_name": "NVIDIA H200",
    "device__attribute_max_gpu_frequency_khz": 1_980_000,
    "launch__sm_count": 132,
}
L2_CLOCK = "lts__cycles_elapsed.avg.per_second"
MEMORY_CLOCK = "dram__cycles_elapsed.avg.per_second"
PEAK = 132 * 4


def asked(folder: Path, clock: str | float | None = None, **counters: object) -> Analysis:
    facts = {**FULL, **H200, **{name.replace("__DOT__", "."): value for name, value in counters.items()}}
    (path,) = write(folder, a=ncu_raw([L("k(int)", facts)]))
    return analyse_inputs(AnalysisRequest(inputs=(path,), ceilings="theoretical", clock=clock))  # type: ignore[arg-type]


def warnings(analysis: Analysis) -> list[str]:
    return [note.text for note in analysis.notes if note.warning]


@pytest.mark.parametrize(
    ("clock", "hz", "origin"),
    [(None, 1.5e9, "as captured"), ("captured", 1.5e9, "as captured"), ("boost", 1.98e9, "boost"), ("base", 1.5e9, "base"), (1.2e9, 1.2e9, "as given")],
)  # fmt: skip
def test_the_clock_of_the_ceilings(tmp_path: Path, clock: str | float | None, hz: float, origin: str) -> None:
    analysis = asked(tmp_path, clock)
    assert analysis.clock is not None
    assert (analysis.clock.hz, analysis.clock.origin) == (hz, origin)
    assert analysis.rooflines[0].peak.per_second == pytest.approx(PEAK * hz)
    assert analysis.clocks.captured is not None
    assert analysis.clocks.captured.hz == 1.5e9


def test_boost_ceilings_over_a_base_clock_capture_give_a_warning_with_the_cost(tmp_path: Path) -> None:
    (warning,) = warnings(asked(tmp_path, "boost"))
    assert "ceilings are at 1.980 GHz (boost), the kernels ran at 1.500 GHz" in warning
    assert "look 24% lower for that alone; --clock captured takes it out" in warning
    assert warnings(asked(tmp_path, "captured")) == []
    assert warnings(asked(tmp_path, "base")) == []


def test_the_picture_states_both_clocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", {**FULL, **H200})]))
    target = tmp_path / "a.svg"
    assert main(["plot", str(path), "--clock", "boost", "-o", str(target)]) == 0
    assert "SM 1.980 GHz boost · captured at 1.500 GHz" in target.read_text(encoding="utf-8")
    assert main(["report", str(path), "--clock", "1400"]) == 0
    assert "SM 1.400 GHz as given, captured at 1.500 GHz" in capsys.readouterr().err


def test_captured_needs_a_capture_that_knows_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not hold the SM clock"):
        asked(tmp_path, "captured", **{CLOCK: "n/a"})


def test_without_a_captured_clock_a_note_names_the_choice_a_guess(tmp_path: Path) -> None:
    analysis = asked(tmp_path, "boost", **{CLOCK: "n/a"})
    assert any("does not say at which SM clock it ran" in note.text for note in analysis.notes)
    silent = asked(tmp_path, **{CLOCK: "n/a"})
    assert any("does not say at which SM clock it ran" in note.text for note in silent.notes)


def test_an_unknown_base_clock_is_an_error(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", FULL)]))
    with pytest.raises(InputError, match="the base clock of h100-sxm is not known"):
        analyse_inputs(AnalysisRequest(inputs=(path,), profile="h100-sxm", clock="base"))


@pytest.mark.parametrize("text", ["fast", "0", "-5", "20000", "nan", "inf", "1e99", ""])
def test_a_clock_that_is_none_is_refused(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", {**FULL, **H200})]))
    assert main(["report", str(path), f"--clock={text}"]) == 2
    assert "is not captured, boost, base, or a clock in MHz" in capsys.readouterr().err


@pytest.mark.parametrize("clock", [0.0, -1.5e9, float("nan")])
def test_a_clock_that_draws_nothing_is_refused(tmp_path: Path, clock: float) -> None:
    with pytest.raises(InputError, match="draws no ceiling"):
        asked(tmp_path, clock)


def test_l2_and_memory_follow_their_own_clocks(tmp_path: Path) -> None:
    plain = asked(tmp_path)
    slow = asked(tmp_path, **{L2_CLOCK: 1_000_000_000, MEMORY_CLOCK: 2_600_000_000})
    ratio = {
        level: slow.rooflines[0].bandwidth(level).bytes_per_second
        / plain.rooflines[0].bandwidth(level).bytes_per_second  # type: ignore[union-attr]
        for level in ("l1", "l2", "hbm")
    }
    assert ratio == {"l1": 1.0, "l2": pytest.approx(1.0 / 1.709), "hbm": pytest.approx(2.6 / 3.201)}


@pytest.mark.parametrize(
    "counters",
    [
        {L2_CLOCK: 1_700_000_000, MEMORY_CLOCK: 3_150_000_000},  # a reading's noise
        {MEMORY_CLOCK: 810_000_000},  # counted in other units
        {L2_CLOCK: 1_000_000_000, TIME: 20_000},  # too short to derive a clock
    ],
)
def test_noise_other_units_and_short_launches_move_no_ceiling(tmp_path: Path, counters: dict[str, object]) -> None:
    plain, found = asked(tmp_path), asked(tmp_path, **counters)
    for level in ("l2", "hbm"):
        assert (
            found.rooflines[0].bandwidth(level).bytes_per_second == plain.rooflines[0].bandwidth(level).bytes_per_second
        )  # type: ignore[union-attr]


def test_captures_of_different_clocks_are_compared_each_at_its_own(tmp_path: Path) -> None:
    slow, fast = {**FULL, **H200}, {**FULL, **H200, CLOCK: 1_900_000_000}
    paths = write(tmp_path, slow=ncu_raw([L("k(int)", slow)]), fast=ncu_raw([L("k(int)", fast)]))
    both = analyse_inputs(AnalysisRequest(inputs=tuple(paths), ceilings="theoretical"))
    assert both.clock is None  # nothing ran at a clock between the two
    assert sorted(clock.hz for clock in both.clocks.each.values()) == [1.5e9, 1.9e9]
    text = "the captures ran at different SM clocks, 1.500 GHz to 1.900 GHz: each is compared at its own"
    assert text in [note.text for note in both.notes]
    alone = [
        rows_of(analyse_inputs(AnalysisRequest(inputs=(path,), ceilings="theoretical")).results)[0] for path in paths
    ]
    by_source = {Path(row["source"]).name: row for row in rows_of(both.results)}
    for path, row in zip(paths, alone, strict=True):
        assert by_source[path.name]["issued_of_peak"] == pytest.approx(row["issued_of_peak"])
        assert by_source[path.name]["use"] == pytest.approx(row["use"])
    chosen = analyse_inputs(AnalysisRequest(inputs=tuple(paths), ceilings="theoretical", clock="boost"))
    assert chosen.clock is not None
    assert chosen.clock.hz == 1.98e9


def test_a_picture_at_another_clock_says_what_that_costs(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", {**FULL, **H200})]))
    target = tmp_path / "a.svg"
    assert main(["plot", str(path), "--clock", "boost", "-o", str(target)]) == 0
    assert "ceilings are at 1.980 GHz (boost), the kernels ran at 1.500 GHz" in target.read_text(encoding="utf-8")
