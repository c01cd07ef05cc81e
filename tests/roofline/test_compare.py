"""Kernels before and after a change: what is noise, what is slower, and what a gate lets pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.roofline.compare import Gate, KernelChange, LaunchTimes, compare_kernels, faults, unassessed, within_noise
from roofctl.study.analyse import AnalysisRequest, analyse_inputs

from support.before_after import AFTER, BEFORE, COPY, launches, pair
from support.shapes import L, ncu_summary


def changes(root: Path, before: list[L] = BEFORE, after: list[L] = AFTER) -> dict[str, KernelChange]:
    ones, others = (
        analyse_inputs(AnalysisRequest((folder,), group="kernel+grid")).results.explained
        for folder in pair(root, before, after)
    )
    return {change.sample.kernel.short_name: change for change in compare_kernels(ones, others)}


def test_every_kernel_has_a_verdict(tmp_path: Path) -> None:
    found = changes(tmp_path)
    verdicts = {name: change.verdict for name, change in found.items()}
    assert verdicts.pop("copy_kernel") == "within noise"
    assert verdicts.pop("reduce_kernel") == "slower"
    assert verdicts.pop("gone_kernel") == "gone"
    assert list(verdicts.values()) == ["faster"]
    assert found["reduce_kernel"].ratio == pytest.approx(601 / 501)
    assert found["reduce_kernel"].spread == pytest.approx(1 / 501)


def test_what_gained_or_lost_most_comes_first_and_noise_last(tmp_path: Path) -> None:
    saved = [change.seconds_saved for change in changes(tmp_path).values()]
    assert saved[:3] == pytest.approx([2.4e-3, 0.4e-3, -0.3e-3])
    assert list(changes(tmp_path / "again"))[-1] == "copy_kernel"


def test_a_single_launch_has_no_spread_and_says_so(tmp_path: Path) -> None:
    (change,) = changes(tmp_path, launches(COPY, 100_000), launches(COPY, 110_000)).values()
    assert (change.verdict, change.spread, change.no_spread) == ("slower", None, "one launch")


@pytest.mark.parametrize(("after", "verdict"), [(101_900, "within noise"), (102_300, "slower"), (97_000, "faster")])
def test_of_a_single_launch_changes_up_to_the_noise_are_none(tmp_path: Path, after: int, verdict: str) -> None:
    (change,) = changes(tmp_path, launches(COPY, 100_000), launches(COPY, after)).values()
    assert change.verdict == verdict


def test_a_short_launch_varies_by_microseconds(tmp_path: Path) -> None:
    (change,) = changes(tmp_path, launches(COPY, 6_000), launches(COPY, 8_000)).values()
    assert change.verdict == "within noise"


def test_launches_of_different_work_are_no_spread(tmp_path: Path) -> None:
    mixed = [*launches(COPY, 100_000, 100_000), *launches(COPY, 900_000, **{"smsp__inst_executed.sum": 990_000})]
    (change,) = changes(tmp_path, mixed, mixed).values()
    assert (change.no_spread, change.verdict) == ("the launches differ in their work", "within noise")


def test_a_summary_has_no_spread(tmp_path: Path) -> None:
    file = tmp_path / "summary.csv"
    file.write_text(ncu_summary(launches(COPY, 100_000)), encoding="utf-8")
    results = analyse_inputs(AnalysisRequest((file,))).results.explained
    (change,) = compare_kernels(results, results)
    assert change.no_spread == "a summary does not hold the single launches"


def test_a_kernel_without_a_time_is_not_judged_by_time(tmp_path: Path) -> None:
    untimed = [L(COPY, {k: v for k, v in launches(COPY, 1)[0].counters.items() if not k.startswith("gpu__time")})]
    (change,) = changes(tmp_path, untimed, launches(COPY, 9_000)).values()
    assert (change.verdict, change.ratio, change.seconds_saved) == ("unknown", None, None)


def times(seconds: float, low: float, high: float) -> LaunchTimes:
    return LaunchTimes(seconds, median=True, low=low, high=high)


@pytest.mark.parametrize(
    ("before", "after", "noise"),
    [
        (times(100, 95, 110), times(106, 98, 112), True),
        (times(100, 99, 101), times(106, 105, 107), False),
        # One slow launch among many does not hide that all others became slower.
        (times(100, 99, 150), times(120, 119, 121), False),
        (times(100, 99.9, 100.1), times(101, 100.9, 101.1), True),
    ],
)
def test_noise_is_where_neither_half_is_beyond_the_other(before: LaunchTimes, after: LaunchTimes, noise: bool) -> None:
    assert within_noise(before, after, 0.02) is noise
    assert within_noise(after, before, 0.02) is noise


def test_times_of_several_captures_are_not_averaged(tmp_path: Path) -> None:
    for name, time in (("run1", 100_000), ("run2", 104_000), ("run3", 130_000)):
        pair(tmp_path / name, launches(COPY, time), launches(COPY, time + 60_000))
    sides = [tmp_path / name / "roofctl-captures" for name in ("run1", "run2", "run3")]
    befores, afters = (
        analyse_inputs(AnalysisRequest(tuple(side / end for side in sides))).results.explained
        for end in ("before", "after")
    )
    (change,) = compare_kernels(befores, afters)
    assert change.before
    assert change.before.times == LaunchTimes(104e-6, median=True, low=100e-6, high=130e-6, captures=3)
    assert change.verdict == "slower"


# --- the gate -----------------------------------------------------------------------------


def failing(root: Path, gate: Gate, before: list[L] = BEFORE, after: list[L] = AFTER) -> list[str]:
    found = changes(root, before, after)
    return faults(list(found.values()), gate, {change: name for name, change in found.items()})


def test_slower_fails_beyond_its_threshold(tmp_path: Path) -> None:
    assert failing(tmp_path / "a", Gate(slower=0.05)) == ["reduce_kernel: 20.0% slower (501.0 µs → 601.0 µs)"]
    assert failing(tmp_path / "b", Gate(slower=0.25)) == []


def test_slower_of_a_single_launch_says_that_the_spread_is_not_known(tmp_path: Path) -> None:
    (text,) = failing(tmp_path, Gate(slower=0.05), launches(COPY, 100_000), launches(COPY, 120_000))
    assert text.endswith("(100.0 µs → 120.0 µs; spread not known: one launch)")


def test_noise_never_fails(tmp_path: Path) -> None:
    assert failing(tmp_path, Gate(slower=0.0), launches(COPY, 100_000), launches(COPY, 101_000)) == []


def test_new_fails_and_renamed_does_not(tmp_path: Path) -> None:
    assert failing(tmp_path / "a", Gate(new=True)) == []
    added = [*AFTER, *launches("added<float>()", 300_000, grid="(9999, 1, 1)", **{"dram__sectors_read.sum": 1})]
    assert failing(tmp_path / "b", Gate(new=True), BEFORE[:-1], added) == ["added: new"]


def test_short_kernels_are_not_checked(tmp_path: Path) -> None:
    before = [*launches(COPY, 9_000), *launches("long()", 5_000_000)]
    after = [*launches(COPY, 19_000), *launches("long()", 5_000_000)]
    assert failing(tmp_path / "a", Gate(slower=0.05), before, after) == []
    assert failing(tmp_path / "b", Gate(slower=0.05, share=0.0), before, after) != []


def test_below_is_of_a_known_limit_only(tmp_path: Path) -> None:
    gate = Gate(below=0.9)
    unknown = launches(COPY, 100_000, grid="(9999, 1, 1)")
    assert failing(tmp_path / "a", gate, unknown, unknown) == []
    found = changes(tmp_path / "b", unknown, unknown)
    assert unassessed(list(found.values()), gate) == list(found.values())
    assert failing(tmp_path / "c", gate, launches(COPY, 100_000), launches(COPY, 100_000)) == [
        "copy_kernel: <1% of the busiest resource, limited by grid, below 90%"
    ]
