"""``roofctl compare`` and ``roofctl history``: what a user sees, and the exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from roofctl.cli.main import main
from roofctl.output.comparison import columns

from support.before_after import AFTER, BEFORE, COPY, H200, REDUCE, SLOW, launches, pair
from support.capture_folders import capture
from support.shapes import CLOCK, L, ncu_raw

CAPTURES = Path(__file__).parents[1] / "data" / "captures-h200"


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the captures ``before`` and ``after``."""
    monkeypatch.chdir(tmp_path)
    pair(tmp_path)
    return tmp_path


def test_the_table_names_what_changed(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert "gemm bf16 128x128 tn → nvjet bf16 192x128x64 TNN" in lines[1]
    assert "-80.0" in lines[1]
    assert lines[2].split()[:5] == ["2", "gone_kernel", "400.0", "–", "gone"]
    assert "+20.0" in lines[3]
    assert "≈ +0.5" in lines[4]
    assert lines[-1].startswith("all kernels 5.206 ms → 2.706 ms (-48.0 %): 1 slower, 1 faster, 1 gone, 1 within noise")
    assert "before: before: NVIDIA H200, SM 1.980 GHz as captured, ncu 2025.3.1" in err
    assert "matched by share of time and shape, not by name" in err
    assert "spread of the time not known (one launch)" in err


def test_many_kernels_within_noise_are_one_line(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quiet = [each for i in range(9) for each in launches(f"quiet{i}()", 50_000)]
    pair(two / "more", [*BEFORE, *quiet], [*AFTER, *quiet])
    folders = [str(two / "more" / "roofctl-captures" / name) for name in ("before", "after")]
    assert main(["compare", *folders]) == 0
    out = capsys.readouterr().out
    assert "quiet1" not in out
    assert "≈ 10 kernels within noise (--all lists them)" in out
    assert main(["compare", *folders, "--all"]) == 0
    assert "quiet1" in capsys.readouterr().out


def test_json_and_csv_hold_the_same_rows(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["before"]["gpu"]["name"] == "NVIDIA H200"
    assert document["before"]["versions"] == ["ncu 2025.3.1", "roofctl 0.1.0", "clock control none"]
    (comparison,) = document["comparisons"]
    assert (comparison["same_gpu"], comparison["same_clock"], document["failed"]) == (True, True, [])
    assert main(["compare", "before", "after", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert tuple(rows[0]) == columns()
    assert [row["verdict"] for row in rows] == [row["verdict"] for row in comparison["kernels"]]
    assert rows[0]["matched"] == "share and shape"
    assert rows[1]["after_seconds"] == ""


def test_markdown_carries_gpu_clocks_ceilings_and_versions(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after", "--format", "md"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("**all kernels 5.206 ms → 2.706 ms")
    for text in ("NVIDIA H200, SM 1.980 GHz as captured, ncu 2025.3.1, roofctl 0.1.0", "ceilings: h200, measured"):
        assert text in out
    assert "| 1 | `" in out
    assert "`reduce_kernel`" in out.split("\n\n")[1]
    assert "taken for noise: gemm bf16" in out


def test_a_slower_kernel_fails_with_its_own_code(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after", "--fail-slower", "5%"]) == 10
    assert "error: reduce_kernel: 20.0% slower (501.0 µs → 601.0 µs)" in capsys.readouterr().err
    assert main(["compare", "before", "after", "--fail-slower", "25"]) == 0
    assert main(["compare", "before", "before", "--fail-slower", "0%", "--fail-new"]) == 0


def test_failures_stand_in_the_document_and_the_comment(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after", "--fail-slower", "5%", "--format", "json"]) == 10
    assert json.loads(capsys.readouterr().out)["failed"] == ["reduce_kernel: 20.0% slower (501.0 µs → 601.0 µs)"]
    assert main(["compare", "before", "after", "--fail-slower", "5%", "--format", "md"]) == 10
    assert "- fails: reduce\\_kernel: 20.0% slower" in capsys.readouterr().out


def test_a_new_kernel_and_one_below_its_limit_fail(capsys: pytest.CaptureFixture[str]) -> None:
    known, limits = str(CAPTURES / "known"), str(CAPTURES / "limits")
    assert main(["compare", known, limits, "--kernel", "limit_hbm", "--fail-new"]) == 10
    assert "error: limit_hbm: new" in capsys.readouterr().err
    assert main(["compare", limits, limits, "--kernel", "limit_tail", "--fail-below", "60%"]) == 10
    assert "limit_tail: 15% of the busiest resource, limited by tail, below 60%" in capsys.readouterr().err


def test_what_was_not_checked_is_named(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after", "--fail-below", "1%", "--min-share", "9%"]) in (0, 10)
    err = capsys.readouterr().err
    assert "not checked: 1 kernel below 9 % of the time (--min-share)" in err


@pytest.mark.parametrize("wrong", ["x", "-5%", "nan", "inf"])
def test_what_is_no_percentage(two: Path, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after", "--fail-slower", wrong]) == 2
    assert "is no percentage such as 5%" in capsys.readouterr().err


def test_one_input_is_not_enough(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before"]) == 2
    assert "two inputs or more" in capsys.readouterr().err


def test_other_clocks_and_gpus_are_stated(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = [L(each.kernel, {**each.counters, CLOCK: 1_500_000_000}, grid=each.grid) for each in AFTER]
    capture(two, "slow-clock", *slow, clock_control="base")
    other = {**H200, "device__attribute_display_name": "NVIDIA A100-SXM4-80GB"}
    capture(two, "other-gpu", L(COPY, {**slow[0].counters, **other}, cc="8.0"))
    assert main(["compare", "before", "slow-clock", "other-gpu"]) == 0
    err = capsys.readouterr().err
    assert "warning: the SM clocks differ (1.980 GHz, 1.500 GHz): times compare clocks too" in err
    assert "warning: the clock control of the captures differs: none, base" in err
    assert "warning: the GPUs differ (NVIDIA H200, NVIDIA A100-SXM4-80GB): times compare GPUs too" in err


def test_kernels_of_one_capture_are_compared_by_match(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "before", "--match", "gone=reduce"]) == 0
    out = capsys.readouterr().out
    assert "gone_kernel → reduce_kernel" in out
    assert out.splitlines()[-1] == "1 slower"


def test_the_picture_is_written_once(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after", "-o", "moves.png"]) == 0
    assert (two / "moves.png").read_bytes().startswith(b"\x89PNG")
    assert main(["compare", "before", "after", "-o", "moves.png"]) == 2
    assert "exists" in capsys.readouterr().err


def test_the_flop_model_has_a_row_per_type(capsys: pytest.CaptureFixture[str]) -> None:
    known, verify = str(CAPTURES / "known"), str(CAPTURES / "verify")
    assert main(["compare", known, verify, "--model", "flop", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {"fp32", "fp64"} <= {row["precision"] for row in rows}


def test_padding_the_vocabulary_of_gpt2(capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (str(CAPTURES / f"gpt2-{words}") for words in (50257, 50304))
    assert main(["compare", before, after, "--format", "json", "--fail-slower", "10%", "--fail-new"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    product, *others = comparison["kernels"]
    assert product["kernel"] == "gemm bf16 128x128 tn align1 → nvjet bf16 128x256x64 TNN"
    assert product["matched"] == "share and shape"
    assert product["ratio"] == pytest.approx(0.129, abs=0.001)
    assert (product["before_limit"], product["after_limit"]) == ("l1", "tensor")
    loud = [row["kernel"] for row in others if row["verdict"] != "within noise"]
    assert loud == ["log_softmax fwd f32", "log_softmax bwd f32"]


def test_one_program_twice_is_within_noise(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [str(CAPTURES / f"pairs-{number}") for number in (1, 2)]
    assert main(["compare", *pairs, "--fail-slower", "0%", "--fail-new", "-q"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "all kernels 52.81 ms → 52.81 ms (+0.0 %): 10 within noise (≈)"


def test_the_advice_is_worth_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = str(CAPTURES / "pairs")
    given = ["--match", "transpose_naive=transpose_padded", "--match", "scale_float=scale_float4"]
    assert main(["compare", pairs, pairs, *given, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["before_limit"], row["after_limit"]) for row in rows] == [("l2_input", "hbm"), ("latency", "hbm")]


# --- history --------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three captures of a kernel, the newest first by name, and one without it."""
    monkeypatch.chdir(tmp_path)
    for name, day, times in (("c", 1, (100, 101, 102)), ("b", 2, (100, 102, 103)), ("a", 3, (150, 151, 152))):
        counted = [each for time in times for each in launches(REDUCE, time * 1000)]
        capture(tmp_path, name, *counted, *launches(SLOW, 9_000), started=f"2026-11-0{day}T10:00:00+00:00")
    capture(tmp_path, "none", *launches(SLOW, 9_000), started="2026-11-04T10:00:00+00:00")
    return tmp_path


def test_history_is_in_the_order_of_time(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "roofctl-captures", "--kernel", "reduce", "--format", "json"]) == 0
    out = capsys.readouterr().out
    document = json.loads(out)
    assert document["kernel"] == "reduce_kernel"
    rows = document["captures"]
    assert [row["capture"] for row in rows] == ["c", "b", "a", "none"]
    assert [row["verdict"] for row in rows] == [None, "within noise", "slower", None]
    assert rows[3]["seconds"] is None
    assert "without this kernel: none" in document["notes"]


def test_history_takes_the_captures_here(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "--kernel", "reduce", "-o", "reduce.svg"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "reduce_kernel"
    assert "+48.0" in out
    assert "Wrote reduce.svg" in err
    assert "Time of a launch" in (runs / "reduce.svg").read_text(encoding="utf-8")


def test_history_is_of_one_kernel(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history"]) == 2
    assert "name it with --kernel" in capsys.readouterr().err
    assert main(["history", "--kernel", "."]) == 2
    assert "has 2 kernels that --kernel '.' keeps" in capsys.readouterr().err
    assert main(["history", "--kernel", "nothere"]) == 2
    assert "no capture has a kernel that --kernel 'nothere' keeps" in capsys.readouterr().err


def test_history_leaves_out_what_cannot_be_read(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "mixed").mkdir()
    (runs / "mixed" / "good.csv").write_text(ncu_raw(launches(REDUCE, 100_000)), encoding="utf-8")
    (runs / "mixed" / "bad.csv").write_text("no,table\n1,2\n", encoding="utf-8")
    assert main(["history", "mixed", "--kernel", "reduce"]) == 9
    err = capsys.readouterr().err
    assert "left out" in err
    assert "not every input says when it was captured" in err


def test_history_tells_clocks_apart_that_are_not_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(CAPTURES / name) for name in ("pairs", "pairs-1", "pairs-2", "pairs-base")]
    assert main(["history", *folders, "--kernel", "transpose_padded"]) == 0
    out, err = capsys.readouterr()
    assert [line.rsplit("NVIDIA H200, ")[-1] for line in out.splitlines()[3:]] == ["1.98 GHz"] * 3 + ["1.50 GHz"]
    assert "warning: the SM clocks differ" in err
