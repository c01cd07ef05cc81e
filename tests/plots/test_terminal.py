"""The roofline as text: width, characters, markers and the lines below."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from roofctl.plots.style import PlotOptions
from roofctl.plots.terminal import terminal

from support.figures import HBM_ONLY, h200, kernel, spread

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("count", [1, 4, 30])
def test_no_line_is_wider_than_the_terminal(width: int, count: int) -> None:
    drawn = terminal([h200()], spread(count), HBM_ONLY, width=width)
    assert max(len(ESCAPE.sub("", line)) for line in drawn.splitlines()) <= width


def test_ascii_is_ascii_and_without_colour_there_are_no_escapes() -> None:
    subtitle = PlotOptions(levels=("hbm",), subtitle="H200 · 1.97 GHz · measured")
    drawn = terminal([h200()], [kernel("größe"), *spread(12)], subtitle, width=80, colored=False, ascii_only=True)
    assert drawn.isascii()
    assert "\x1b" not in drawn
    assert "H200 - 1.97 GHz - measured" in drawn
    assert "\x1b[38;5;" in terminal([h200()], spread(3), HBM_ONLY, width=80)


def test_kernels_have_markers_numbers_and_a_line_each() -> None:
    kernels = spread(4, twins=False)
    drawn = terminal([h200()], kernels, HBM_ONLY, width=100, colored=False)
    picture, _, table = drawn.partition("Instruction intensity")
    assert picture.count("▲") == 4
    assert all(str(number) in picture for number in range(1, 5))
    assert "Peak 1045.4 GIPS" in picture
    assert "HBM 4.81 TB/s" in picture
    rows = table.splitlines()[1:]
    assert [row.split()[1] for row in rows] == [k.short_name for k in kernels]
    assert re.fullmatch(r" +1  k0 +20 %  ▲ HBM \d+ %", rows[0])


def test_the_peak_is_a_level_line_and_the_slope_rises() -> None:
    rows = terminal([h200()], [kernel()], HBM_ONLY, width=80, colored=False, ascii_only=True).splitlines()
    area = [row[9:] for row in rows if len(row) > 8 and row[8] in "|+"][:-1]
    longest = max(area, key=lambda row: row.count("."))
    assert longest.rstrip().endswith("......")
    starts = [row.index(".") for row in area if "." in row]
    assert starts == sorted(starts, reverse=True)


def test_of_many_kernels_the_others_are_counted() -> None:
    kernels = [replace(k, time_share=0.05) for k in spread(20)]
    drawn = terminal([h200()], kernels, HBM_ONLY, width=100, colored=False)
    assert drawn.splitlines()[-1] == "   ∙  10 others, 50 % of the time"


def test_names_cannot_steer_the_terminal() -> None:
    drawn = terminal([h200()], [kernel("\x1b[2Jevil\r\n\x07")], HBM_ONLY, width=80, colored=False)
    assert not set("\x1b\r\x07") & set(drawn)
