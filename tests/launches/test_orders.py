"""What is read from several files does not depend on the order in which they are given."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pandas as pd
import pytest

from roofctl.core.errors import InputError
from roofctl.launches.aggregate import KernelTable, aggregate
from roofctl.launches.evaluate import launch_table

from support.shapes import DRAM_R, DRAM_W, ISSUED, L2, THREAD, TIME, L, ncu_raw, nvprof_events, nvprof_metrics, parts

CLOCK = "sm__cycles_elapsed.avg.per_second"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"

WORK: dict[str, object] = {TIME: 100_000, CLOCK: 1.98e9, ISSUED: 100, THREAD: 3_200, OCCUPANCY: 50}
TRAFFIC: dict[str, object] = {TIME: 110_000, CLOCK: 1.5e9, DRAM_R: 5, DRAM_W: 7, OCCUPANCY: 40}


def without(counters: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in counters.items() if name not in names}


def ncu(counters: Mapping[str, object], grid: str = "(10, 1, 1)") -> str:
    return ncu_raw([L("k(int)", dict(counters), grid=grid)])


def read(texts: Mapping[str, str], order: Sequence[str]) -> KernelTable:
    given = [part for name in order for part in parts(texts[name], source=name)]
    return aggregate(launch_table(given, "gh100"), "kernel")


def every_order(texts: Mapping[str, str]) -> list[KernelTable]:
    return [read(texts, order) for order in itertools.permutations(texts)]


JOINED: dict[str, dict[str, str]] = {
    "two timed files": {"a.csv": ncu(WORK), "b.csv": ncu(TRAFFIC)},
    "the clock of another file": {"a.csv": ncu(without(WORK, CLOCK)), "b.csv": ncu(TRAFFIC)},
    "the clocks of two files without a time": {
        "a.csv": ncu(without(WORK, CLOCK)),
        "b.csv": ncu(without(TRAFFIC, TIME)),
        "c.csv": ncu({CLOCK: 1.2e9, L2: 9}),
    },
    "counts apart from times": {
        "a.csv": ncu({ISSUED: 100, THREAD: 3_200}),
        "b.csv": ncu({DRAM_R: 5, DRAM_W: 7}),
        "c.csv": ncu({TIME: 100_000, CLOCK: 1.98e9}),
    },
    "metrics and events": {
        "a.csv": nvprof_metrics({"dram_read_transactions": 5, "dram_write_transactions": 7}),
        "b.csv": nvprof_events({"thread_inst_executed": 64}),
    },
}


@pytest.mark.parametrize("case", JOINED)
def test_files_of_one_capture_give_the_same_in_every_order(case: str) -> None:
    first, *others = every_order(JOINED[case])
    assert len(first.captures) == 1
    texts = {note.text for note in first.captures[0].notes if "differ in launches" not in note.text}
    for table in others:
        assert table.frame[sorted(table.frame)].to_dict("records") == first.frame[sorted(first.frame)].to_dict(
            "records"
        )
        assert texts <= {note.text for note in table.captures[0].notes}


def test_a_time_comes_with_its_own_clock_and_occupancy() -> None:
    for table in every_order(JOINED["two timed files"]):
        (row,) = table.frame.to_dict("records")
        assert (row["seconds"], row["sm_clock_hz"]) == (pytest.approx(1e-4), 1.98e9)
        assert (row["occupancy"], row["hbm_transactions"]) == (0.5, 12)


def test_the_clock_of_another_file_is_warned_of() -> None:
    for table in every_order(JOINED["the clocks of two files without a time"]):
        (row,) = table.frame.to_dict("records")
        assert row["sm_clock_hz"] == 1.5e9
        text = "a.csv has the times and no SM clock: the clock is that of b.csv"
        assert [note.text for note in table.captures[0].notes if note.warning and "clock" in note.text] == [text]


def test_the_clock_of_another_files_own_time_is_not_taken() -> None:
    for table in every_order(JOINED["the clock of another file"]):
        (row,) = table.frame.to_dict("records")
        assert pd.isna(row["sm_clock_hz"])
        assert not [note.text for note in table.captures[0].notes if "clock" in note.text]


def test_different_grids_are_refused_in_every_order() -> None:
    texts = {
        "a.csv": ncu({ISSUED: 100, THREAD: 3_200}),
        "b.csv": ncu({TIME: 500_000}, grid="(80, 1, 1)"),
        "c.csv": ncu({DRAM_R: 5, DRAM_W: 7}),
    }
    for order in itertools.permutations(texts):
        with pytest.raises(InputError, match="are of different runs: k has the grid"):
            read(texts, order)


def test_times_far_apart_are_warned_of_in_every_order() -> None:
    texts = {"a.csv": ncu(WORK), "b.csv": ncu({**TRAFFIC, TIME: 150_000})}
    for table in every_order(texts):
        assert table.frame["seconds"].tolist() == [pytest.approx(1e-4)]
        assert [note.text for note in table.captures[0].notes if "1.5 times as long" in note.text] != []


def test_a_file_that_fits_two_captures_is_warned_of_in_every_order() -> None:
    texts = {"a.csv": ncu(WORK), "b.csv": ncu({**WORK, TIME: 101_000}), "c.csv": ncu({DRAM_R: 5, DRAM_W: 7})}
    for table in every_order(texts):
        warnings = [note.text for capture in table.captures for note in capture.notes if note.warning]
        assert [text for text in warnings if text.startswith("c.csv could belong to several of these captures")] != []


def test_as_many_files_of_each_kind_are_pairs_without_a_warning() -> None:
    texts = {
        **{f"time{n}.csv": ncu({TIME: 100_000 + n, CLOCK: 1.98e9}) for n in range(3)},
        **{f"work{n}.csv": ncu({ISSUED: 100 + n, THREAD: 3_200}) for n in range(3)},
    }
    table = read(texts, list(texts))
    assert [capture.sources for capture in table.captures] == [(f"time{n}.csv", f"work{n}.csv") for n in range(3)]
    assert [note.text for capture in table.captures for note in capture.notes] == []
