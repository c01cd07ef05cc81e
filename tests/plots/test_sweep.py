"""The picture of a calibration."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.core.errors import InputError
from roofctl.plots import figure
from roofctl.plots.sweep import SweepPicture, draw

PICTURE = SweepPicture(
    title="NVIDIA H200: measured bandwidth",
    subtitle="driver 580.1",
    working_set={
        "past the L1": ((2.0**21, 9.9e12), (2.0**25, 9e12), (2.0**28, 4.6e12)),
        "through the L1": ((2.0**21, 33e12),),
    },
    block={"read": ((128, 4.6e12), (1024, 4.65e12)), "write": ((128, 4.6e12), (1024, 4.6e12))},
    width={"read": ((1, 1.1e12), (16, 4.6e12))},
    ceilings={"HBM": 4.65e12, "L2": 9.9e12},
    capacities={"L2": 60 * 2.0**20},
)


def test_one_panel_for_each_sweep() -> None:
    drawn = draw(PICTURE)
    first, second, third = drawn.axes
    assert [len(ax.get_lines()) for ax in (first, second, third)] == [2 + 2 + 1, 2, 1]
    assert (first.get_xscale(), first.get_yscale()) == ("log", "log")
    assert [ax.get_xlabel() for ax in drawn.axes] == ["working set of all SMs", "threads per block", "bytes per access"]
    assert [text.get_text() for text in second.get_legend().get_texts()] == ["read", "write"]
    assert any("HBM 4.65 TB/s" in text.get_text() for text in first.texts)


def test_lines_hold_the_data() -> None:
    xs, ys = draw(PICTURE).axes[2].get_lines()[0].get_data()
    assert (list(xs), list(ys)) == ([1, 16], [1.1e12, 4.6e12])


def test_a_panel_without_data_is_left_out() -> None:
    assert len(draw(SweepPicture("x", block=PICTURE.block)).axes) == 1


def test_nothing_to_draw_says_what_to_do() -> None:
    with pytest.raises(InputError, match="no sweep to draw"):
        draw(SweepPicture("x"))


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_it_is_written_like_any_figure(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"sweep{suffix}"
    figure.save(draw(PICTURE), path)
    assert path.stat().st_size > 5000
