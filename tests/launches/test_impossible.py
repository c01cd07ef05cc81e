"""Values and files that cannot belong together are refused or left out with a warning."""

from __future__ import annotations

import pytest

from roofctl.core.errors import InputError
from roofctl.launches.aggregate import aggregate
from roofctl.launches.evaluate import launch_table

from support.shapes import ISSUED, THREAD, TIME, L, ncu_raw, ncu_summary, parts


def table(*texts):
    return aggregate(launch_table([part for text in texts for part in parts(text)], "gh100"), "kernel")


@pytest.mark.parametrize("turn", [1, -1])
def test_counts_and_times_of_different_grids_are_refused_in_any_order(turn):
    counts = ncu_raw([L("k(int)", {ISSUED: 100, THREAD: 3_200}, grid="(10, 1, 1)")])
    times = ncu_raw([L("k(int)", {TIME: 500_000}, grid="(80, 1, 1)")])
    with pytest.raises(InputError, match="are of different runs: k has the grid"):
        table(*(counts, times)[::turn])


def test_counts_and_times_of_one_grid_are_joined():
    counts = ncu_raw([L("k(int)", {ISSUED: 100, THREAD: 3_200})])
    (row,) = table(counts, ncu_raw([L("k(int)", {TIME: 500_000})])).frame.to_dict("records")
    assert (row["issued_warp_instructions"], row["seconds"]) == (100, pytest.approx(5e-4))


def test_a_mean_outside_its_ends_is_left_out_with_a_warning():
    text = ncu_summary([L("k(int)", {TIME: ("100.00", "110.00", "250.00"), ISSUED: ("7.00", "7.00", "7.00")})], 4)
    found = table(text)
    (row,) = found.frame.to_dict("records")
    assert row["issued_warp_instructions"] == 7
    assert "seconds" not in row or row["seconds"] is None or row["seconds"] != row["seconds"]
    (capture,) = found.captures
    assert any(note.warning and f"left out: {TIME} (1)" in note.text for note in capture.notes)
