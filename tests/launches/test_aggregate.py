"""From launches to kernels: which files belong together, and sums before quotients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from roofctl.core.errors import InputError
from roofctl.launches.aggregate import Group
from roofctl.launches.join import complete
from roofctl.readers.read import read_file

from support.shapes import (
    CLOCK,
    CYCLES,
    DRAM_R,
    DRAM_W,
    FULL,
    ISSUED,
    L2,
    L2_ALL,
    PATCHED,
    THREAD,
    TIME,
    L,
    ncu_details,
    ncu_raw,
    ncu_summary,
    nvprof_events,
    nvprof_metrics,
    nvprof_summary,
    parts,
)
from support.tables import OneCapture, captures, plain

WITHOUT_TIME = {name: n for name, n in FULL.items() if name not in (TIME, CLOCK)}
PAGE_FACTS = {
    "device__attribute_warp_size": 32,
    "launch__sm_count": 132,
    "nvlink__count": 0,
    "c2clink__present": 0,
    "sm__maximum_warps_avg_per_active_cycle": 64,
}


def grouped(*texts: str, group: Group = "kernel") -> list[OneCapture]:
    read = [part for i, text in enumerate(texts) for part in parts(text, source=f"{'abcdef'[i]}.csv")]
    return captures(read, group)


def one(*texts: str, group: Group = "kernel") -> OneCapture:
    (capture,) = grouped(*texts, group=group)
    return capture


def row(capture: OneCapture, index: int = 0) -> dict[str, Any]:
    return plain(capture.frame, index)


def notes(capture: OneCapture) -> list[str]:
    return [note.text for note in capture.notes]


def launches(*times: int, **counters: Sequence[object]) -> list[L]:
    return [
        L("k(int)", {**FULL, TIME: t, **{c: v[i] for c, v in counters.items()}}, id=str(i)) for i, t in enumerate(times)
    ]


# --- aggregation ------------------------------------------------------------------------------------------------------


def test_count_total_median_minimum_and_maximum() -> None:
    capture = one(ncu_raw(launches(100_000, 110_000, 180_000, **{DRAM_R: (1_000, 2_000, 6_001)})))
    found = row(capture)
    assert found["launches"] == 3
    assert found["seconds"] == pytest.approx(130e-6)
    assert [found[f"seconds_{end}"] for end in ("total", "median", "min", "max")] == [
        pytest.approx(t) for t in (390e-6, 110e-6, 100e-6, 180e-6)
    ]
    assert [found[f"hbm_transactions_{end}"] for end in ("total", "min", "max")] == [24_001, 6_000, 11_001]
    assert found["hbm_transactions"] == pytest.approx(24_001 / 3)
    assert found["l2_transactions"] == 30_000
    assert notes(capture) == []


WAVES = "launch__waves_per_multiprocessor"
L2_CLOCK = "lts__cycles_elapsed.avg.per_second"


def test_ratios_and_clocks_have_no_total() -> None:
    found = row(one(ncu_raw(launches(100_000, 110_000, 180_000, **{WAVES: ("0.25", "62.06", "1")}))))
    ends = [found[name] for name in ("waves_per_sm_min", "waves_per_sm_max")]
    assert ends == [0.25, 62.06]
    assert {"seconds_total", "l2_transactions_total"} <= found.keys()
    assert not {"waves_per_sm_total", "sm_clock_hz_total"} & found.keys()


def test_a_clock_beside_the_time_neither_parts_files_nor_costs_a_launch() -> None:
    clock = {L2_CLOCK: "1,709,000,000.00"}
    instructions = {TIME: 100_000, THREAD: 3_200_000, **clock}
    traffic = {TIME: 101_000, L2: 30_000, **clock}
    texts = [ncu_raw([L("k(int)", counters)]) for counters in (instructions, traffic)]
    assert row(one(*texts))["l2_clock_hz"] == 1.709e9
    incomplete = one(ncu_raw(launches(100_000, 110_000, **{L2_CLOCK: ("1,709,000,000.00", "n/a")})))
    assert row(incomplete)["launches"] == 2
    assert notes(incomplete) == []


def test_clocks_are_those_of_the_run_whose_time_is_used() -> None:
    patched = ncu_raw([L("k(int)", {TIME: 200_000, PATCHED: 5, L2_CLOCK: "1,000,000,000.00"})])
    plain = ncu_raw([L("k(int)", {TIME: 100_000, THREAD: 3_200_000, L2_CLOCK: "1,709,000,000.00"})])
    found = row(one(patched, plain))
    assert found["seconds"] == pytest.approx(100e-6)
    assert found["l2_clock_hz"] == 1.709e9


def test_rates_come_from_sums_never_from_rates() -> None:
    found = row(one(ncu_raw(launches(100_000, 300_000, **{THREAD: (3_200, 320)}))))
    assert found["thread_instructions_total"] / found["seconds_total"] == pytest.approx(3_520 / 400e-6)
    assert found["thread_instructions"] / found["seconds"] == pytest.approx(3_520 / 400e-6)


def test_group_by_kernel_grid_and_launch() -> None:
    each = launches(100_000, 110_000, 180_000)
    text = ncu_raw([each[0], each[1], L("k(int)", each[2].counters, id="2", grid="(8, 1, 1)"), L("j(int)", id="3")])
    by_kernel, by_grid, by_launch = (one(text, group=g).frame for g in ("kernel", "kernel+grid", "launch"))  # type: ignore[arg-type]
    assert by_kernel[["kernel", "launches"]].to_numpy().tolist() == [["k(int)", 3], ["j(int)", 1]]
    assert by_kernel["grid"].isna().tolist() == [True, False]
    assert by_kernel["block"].tolist() == ["(256, 1, 1)"] * 2
    assert by_grid[["kernel", "grid", "launches"]].to_numpy().tolist() == [
        ["k(int)", "(64, 1, 1)", 2],
        ["k(int)", "(8, 1, 1)", 1],
        ["j(int)", "(64, 1, 1)", 1],
    ]
    assert by_launch["launches"].tolist() == [1, 1, 1, 1]
    assert by_launch["seconds"].tolist() == [pytest.approx(t) for t in (100e-6, 110e-6, 180e-6, 100e-6)]
    assert by_launch["grid"].tolist() == ["(64, 1, 1)", "(64, 1, 1)", "(8, 1, 1)", "(64, 1, 1)"]


def test_grid_grouping_without_shapes_says_so() -> None:
    capture = one(ncu_details(launches(100_000, 110_000), 12), group="kernel+grid")
    assert capture.frame["launches"].tolist() == [2]
    assert notes(capture) == ["launch shapes are not in every file, so launches are grouped by kernel only"]


def test_a_summary_has_no_launches_to_tell_apart() -> None:
    with pytest.raises(InputError, match=r"a\.csv is a summary: single launches cannot be told apart"):
        grouped(ncu_summary([L("k(int)")]), group="launch")


def test_counts_come_from_complete_launches_and_times_from_all() -> None:
    capture = one(ncu_raw(launches(100_000, 900_000, 120_000, **{L2: (30_000, "n/a", 60_000)})))
    found = row(capture)
    assert (found["launches"], found["counted_launches"]) == (3, 2)
    assert found["seconds_total"] == pytest.approx(1_120e-6)
    assert found["seconds"] == pytest.approx(1_120e-6 / 3)
    assert found["counted_seconds"] == pytest.approx(110e-6)
    assert found["l2_transactions"] == 45_000
    assert notes(capture) == ["a.csv: counts of k are from 2 of 3 launches: no value for l2_transactions in the others"]


def test_each_launch_alone_keeps_its_time() -> None:
    text = ncu_raw(launches(100_000, 90_000_000, **{L2: (30_000, "n/a")}))
    frame = one(text, group="launch").frame
    assert frame["seconds"].tolist() == [pytest.approx(1e-4), pytest.approx(0.09)]
    assert frame["l2_transactions"].isna().tolist() == [False, True]


def test_a_missing_clock_leaves_nothing_out() -> None:
    found = row(one(ncu_raw(launches(100_000, 300_000, **{CLOCK: (1_500_000_000, "nan")}))))
    assert (found["counted_launches"], found["sm_clock_hz"]) == (2, 1.5e9)
    assert found["counted_seconds"] == pytest.approx(2e-4)


def test_a_time_of_0_is_no_time_and_changes_no_other() -> None:
    found = row(one(ncu_raw(launches(90_000, 0, 90_000))))
    assert (found["launches"], found["counted_launches"]) == (3, 2)
    assert found["seconds"] == pytest.approx(90e-6)
    assert found["seconds_total"] == pytest.approx(180e-6)


def test_a_use_is_weighted_by_time() -> None:
    use = "smsp__issue_active.avg.pct_of_peak_sustained_elapsed"
    found = row(one(ncu_raw(launches(100_000, 300_000, **{use: (80, 40)}))))
    assert found["issue_active"] == pytest.approx(0.5)
    assert (found["issue_active_min"], found["issue_active_max"]) == (pytest.approx(0.4), pytest.approx(0.8))


def test_a_counter_without_any_value_leaves_nothing_out() -> None:
    capture = one(ncu_raw(launches(100_000, 120_000, **{L2: ("n/a", "nan")})))
    assert capture.frame["launches"].tolist() == [2]
    assert not capture.has("l2_transactions")
    assert capture.missing["l2_transactions"] == f"{L2} has no value in any launch (n/a or nan)"


def test_values_missing_in_every_launch_stay_missing() -> None:
    capture = one(ncu_raw(launches(100_000, 120_000, **{L2: (30_000, "n/a"), DRAM_R: ("n/a", 5)})))
    found = row(capture)
    assert found["launches"] == 2
    assert pd.isna(found["l2_transactions"])
    assert pd.isna(found["hbm_transactions"])


def test_summaries_weigh_by_their_launches() -> None:
    text = ncu_summary([L("k(int)", {TIME: ("50.00", "70.00", "60.00"), ISSUED: 1_000})], 4)
    text += ncu_summary([L("k(int)", {TIME: ("10.00", "30.00", "20.00"), ISSUED: 500}, grid="(1, 1, 1)")], 12).split(
        "\n", 1
    )[1]
    found = row(one(text))
    assert found["launches"] == 16
    assert found["seconds"] == pytest.approx(30e-9)
    assert found["seconds_total"] == pytest.approx(480e-9)
    assert found["issued_warp_instructions"] == 625
    assert (found["seconds_min"], found["seconds_max"]) == (pytest.approx(10e-9), pytest.approx(70e-9))
    assert pd.isna(found["seconds_median"])


def test_a_summary_of_one_launch_is_that_launch() -> None:
    found = row(one(ncu_summary([L("k(int)")], 1)))
    assert found["seconds_median"] == pytest.approx(100e-6)


def test_totals_beyond_64_bits_become_floats_and_never_wrap() -> None:
    found = row(one(ncu_summary([L("k(int)", {ISSUED: 10**17, TIME: "10.00"})], 1_000)))
    assert found["issued_warp_instructions_total"] == 1e20
    assert found["issued_warp_instructions"] == 1e17


def test_counts_of_one_launch_stay_exact() -> None:
    big = 2**53 + 1
    found = row(one(ncu_raw([L("k(int)", {**FULL, ISSUED: big})])))
    assert found["issued_warp_instructions"] == big
    assert found["issued_warp_instructions_total"] == big


# --- which parts belong together --------------------------------------------------------------------------------------


def test_three_nvprof_files_are_one_capture(data: Path) -> None:
    folder = data / "nvprof-11.8-v100s"
    read = [part for name in ("timing", "metrics", "events") for part in read_file(folder / f"{name}.csv")]
    (capture,) = captures(read, "kernel", "gv100")
    found = row(capture)
    assert found["launches"] == 50
    assert found["thread_instructions"] == 9_000_000
    assert found["issued_warp_instructions"] == 300_000
    assert found["l1_transactions"] == 180_000 + 4 * 1_500
    assert found["l2_transactions"] == 150_010
    assert found["hbm_transactions"] == 120_020
    assert found["seconds"] == pytest.approx(25e-6)
    assert found["seconds_total"] == pytest.approx(1.25e-3)
    assert len(", ".join(capture.sources).split(", ")) == 3
    assert notes(capture) == []


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (0, 3, 1, 4, 2, 5), (5, 4, 3, 2, 1, 0)])
def test_two_runs_of_three_files_are_two_captures(order: Sequence[int]) -> None:
    texts = [
        nvprof_metrics({"dram_read_transactions": 5, "dram_write_transactions": 7}),
        nvprof_events({"thread_inst_executed": 64}),
        nvprof_summary(['"GPU activities",100.0,250.0,10,25.0,24.0,26.0,"k(int)"']),
        nvprof_metrics({"dram_read_transactions": 50, "dram_write_transactions": 70}),
        nvprof_events({"thread_inst_executed": 640}),
        nvprof_summary(['"GPU activities",100.0,500.0,10,50.0,49.0,51.0,"k(int)"']),
    ]
    captures = grouped(*(texts[i] for i in order))
    assert sorted(tuple(row(c)[n] for n in ("hbm_transactions", "thread_instructions")) for c in captures) == [
        (12, 64),
        (120, 640),
    ]
    assert sorted(round(row(c)["seconds"] * 1e6) for c in captures) == [25, 50]


SAME: dict[str, dict[str, object]] = {
    "everything": dict(FULL),
    "time and instructions": {TIME: 100_000, THREAD: 3_200},
    "time and memory": {TIME: 100_000, DRAM_R: 5, DRAM_W: 7},
    "time and a counter with a caveat": {TIME: 100_000, L2_ALL: 5},
    "time and counters that roofctl does not use": {TIME: 100_000, "sm__throughput.avg": 5},
    "time only": {TIME: 100_000},
    "time only, raw page": {TIME: 100_000, **PAGE_FACTS},
}


@pytest.mark.parametrize("case", SAME)
@pytest.mark.parametrize("page", [ncu_raw, ncu_details, ncu_summary])
def test_before_and_after_are_two_captures_and_times_are_never_averaged(case: str, page: Any) -> None:
    counters = SAME[case]
    before, after = grouped(page([L("k(int)", counters)]), page([L("k(int)", {**counters, TIME: 300_000})]))
    assert [row(c)["seconds"] for c in (before, after)] == [pytest.approx(100e-6), pytest.approx(300e-6)]
    assert [c.sources for c in (before, after)] == [("a.csv",), ("b.csv",)]


def test_ranks_stay_apart() -> None:
    captures = grouped(*(ncu_raw([L("k(int)", process=str(rank))]) for rank in range(3)))
    assert [c.sources for c in captures] == [("a.csv",), ("b.csv",), ("c.csv",)]


def test_runs_with_different_counters_complete_each_other() -> None:
    captures = grouped(
        ncu_raw([L("k(int)", {TIME: 100_000, THREAD: 3_200, **PAGE_FACTS})]),
        ncu_raw([L("k(int)", {TIME: 120_000, L2: 5, **PAGE_FACTS})]),
    )
    (capture,) = captures
    found = row(capture)
    assert (found["thread_instructions"], found["l2_transactions"]) == (3_200, 5)
    assert found["seconds"] == pytest.approx(100e-6)
    assert notes(capture) == ["times are those of a.csv; the other runs' times are left out"]


def test_a_better_recipe_completes_a_worse_one() -> None:
    worse = {**{n: v for n, v in FULL.items() if n != L2}, L2_ALL: 46_000}
    for texts in ((worse, {TIME: 90_000, L2: 30_000}), ({TIME: 90_000, L2: 30_000}, worse)):
        capture = one(*(ncu_raw([L("k(int)", counters)]) for counters in texts))
        assert row(capture)["l2_transactions"] == 30_000
        assert capture.caveats[0].get("l2_transactions", "") == ""


@pytest.mark.parametrize("flip", [False, True])
def test_the_time_is_that_of_the_run_without_patched_instructions(flip: bool) -> None:
    plain, patched = ncu_raw([L("k(int)", FULL)]), ncu_raw([L("k(int)", {TIME: 9_000_000, PATCHED: 5})])
    texts = (patched, plain) if flip else (plain, patched)
    capture = one(*texts)
    source = "b.csv" if flip else "a.csv"
    assert row(capture)["seconds"] == pytest.approx(100e-6)
    assert notes(capture) == [
        f"times are those of {source}, without patched instructions; the other runs' times are left out"
    ]


@pytest.mark.parametrize("page", [ncu_raw, ncu_details])
def test_one_file_of_two_runs(page: Any) -> None:
    """Two processes with different counters, in one table or in two: the time is that of the unpatched one."""
    plain = L("k(int)", {**PAGE_FACTS, CYCLES: 150_000, CLOCK: 1_500_000_000, DRAM_R: 5, DRAM_W: 7}, process="1")
    patched = L("k(int)", {**PAGE_FACTS, CYCLES: 30_000_000, CLOCK: 1_500_000_000, PATCHED: 5}, process="2")
    for text in (page([patched, plain]), page([patched]) + page([plain])):
        capture = one(text)
        assert row(capture)["seconds"] == pytest.approx(100e-6)
        assert row(capture)["launches"] == 1
        assert capture.caveats[0].get("seconds", "") == ""
        assert "without patched instructions" in notes(capture)[0]


def test_hand_written_file_of_two_runs(data: Path) -> None:
    read = read_file(data / "ncu-2020.2-v100" / "two-captures.csv")
    (capture,) = captures(read, "launch", "gv100")
    assert capture.frame["seconds"].tolist() == [pytest.approx(100e-6), pytest.approx(120e-6)]
    assert capture.frame["hbm_transactions"].tolist() == [2_000_000, 2_000_002]


def test_files_of_one_capture_that_differ_in_launches_are_noted() -> None:
    one_call = nvprof_metrics({"dram_read_transactions": 5, "dram_write_transactions": 7}, calls=9)
    capture = one(one_call, nvprof_summary(['"GPU activities",100.0,250.0,10,25.0,24.0,26.0,"k(int)"']))
    assert row(capture)["launches"] == 10
    assert notes(capture) == [
        "the files of one capture differ in launches (9 in a.csv, 10 in b.csv); means per launch are used"
    ]


def test_a_kernel_that_only_one_file_has_keeps_its_missing_values() -> None:
    capture = one(nvprof_metrics({"dram_read_transactions": 5, "dram_write_transactions": 7}, kernel="j(int)"),
                  nvprof_summary(['"GPU activities",100.0,250.0,10,25.0,24.0,26.0,"k(int)"']))  # fmt: skip
    frame = capture.frame.set_index("kernel")
    assert pd.isna(frame.loc["j(int)", "seconds"])
    assert pd.isna(frame.loc["k(int)", "hbm_transactions"])


def test_a_reason_is_kept_only_while_no_file_has_the_quantity() -> None:
    capture = one(ncu_raw([L("k(int)", {TIME: 5, THREAD: 32})]), ncu_raw([L("k(int)", {TIME: 5, L2: 32})]))
    assert "thread_instructions" not in capture.missing
    assert "l2_transactions" not in capture.missing
    assert "dram__sectors" in capture.missing["hbm_transactions"]


def test_same_base_name_is_not_the_same_kernel() -> None:
    capture = one(ncu_raw([L(f"void read<{n}>(float *)", id=str(n)) for n in (1, 8, 32)]))
    assert capture.frame["launches"].tolist() == [1, 1, 1]


def test_without_time_and_clock_a_file_completes() -> None:
    capture = one(
        ncu_raw([L("k(int)", WITHOUT_TIME)]), ncu_summary([L("k(int)", {TIME: ("90.00", "110.00", "100.00")})], 5)
    )
    assert row(capture)["launches"] == 5
    assert row(capture)["l2_transactions"] == 30_000
    assert row(capture)["seconds_max"] == pytest.approx(110e-9)


@pytest.mark.parametrize("flip", [False, True])
def test_counters_of_one_quantity_may_stand_in_several_files(flip: bool) -> None:
    """A run per counter: what L1 and HBM are made of is put together, and the time is that of the timing run."""
    texts = [
        nvprof_metrics({"inst_executed": 320, "gld_transactions": 10, "gst_transactions": 10}),
        nvprof_metrics({"shared_load_transactions": 1, "shared_store_transactions": 1, "dram_read_transactions": 4}),
        nvprof_metrics({"dram_write_transactions": 2}),
    ]
    texts = texts[::-1] if flip else texts
    read = [part for i, text in enumerate(texts) for part in parts(text, source=f"{'abc'[i]}.csv")]
    (capture,) = captures(complete(read), "kernel", "gv100")
    assert capture.sources == ("a.csv, b.csv, c.csv",)
    assert row(capture)["l1_transactions"] == 28
    assert row(capture)["hbm_transactions"] == 6


@pytest.mark.parametrize(
    "other",
    [
        ncu_raw([L("k(int)", {DRAM_W: 1}, grid="(65, 1, 1)")]),  # another shape
        ncu_raw([L("k(int)", {DRAM_W: 1}), L("k(int)", {DRAM_W: 1}, id="1")]),  # more launches
        ncu_raw([L("k(int)", {DRAM_R: 1, DRAM_W: 1})]),  # counts the same
        ncu_raw([L("k(int)", {DRAM_W: 1, TIME: 100})]),  # has its own time
    ],
)
def test_what_does_not_belong_together_is_not_put_together(other: str) -> None:
    assert len(complete([*parts(ncu_raw([L("k(int)", {DRAM_R: 1})])), *parts(other)])) == 2


def test_launches_are_put_together_in_their_order() -> None:
    first = [L("k(int)", {DRAM_R: 1}), L("j(int)", {DRAM_R: 2}, id="1"), L("k(int)", {DRAM_R: 3}, id="2")]
    second = [L("j(int)", {DRAM_W: 20}), L("k(int)", {DRAM_W: 10}, id="1"), L("k(int)", {DRAM_W: 30}, id="2")]
    (part,) = complete([*parts(ncu_raw(first)), *parts(ncu_raw(second))])
    assert list(part.frame[DRAM_R]) == [1, 2, 3]
    assert list(part.frame[DRAM_W]) == [10, 20, 30]


def test_the_reason_is_that_of_the_file_which_counted() -> None:
    metrics = nvprof_metrics({"gld_transactions": 1, "gst_transactions": 1, "inst_executed": 1})
    timing = nvprof_summary(['"GPU activities",100.0,100.0,10,10.0,9.0,11.0,"k(int)"'])
    (capture,) = captures([part for text in (timing, metrics) for part in parts(text)], "kernel", "gv100")
    assert capture.missing["l1_transactions"] == "shared_load_transactions and shared_store_transactions not captured"
