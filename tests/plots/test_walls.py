"""The figure of memory walls: its legend, table and footnotes, in the manner of the other pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from matplotlib.text import Text

from roofctl.plots.figure import hierarchical, multi
from roofctl.plots.style import REST, PlotOptions
from roofctl.plots.walls import walls
from roofctl.roofline.model import Bandwidth, KernelPoints, Point, Roofline

from support.figures import artists, boxes, h200, kernel, legend_texts, lines, overlapping, texts


def roofline(basis: str = "theoretical", scale: float = 1.0) -> Roofline:
    return replace(h200(basis, scale), shared=Bandwidth("shared", 3.3e13 * scale, basis))  # type: ignore[arg-type]


def accesses(
    name: str, intensity: float = 0.25, *, space: str = "global", caveat: str = "", **more: Any
) -> KernelPoints:
    points = tuple(
        Point(f"{space} {access}", 4.0, intensity, rate, caveat, space)
        for access, rate in (("load", 2e9), ("store", 9e9))
    )
    return KernelPoints(name, name, points, **more)


def legend(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]


def test_the_legend_has_accesses_kinds_of_ceilings_and_caveats() -> None:
    kernels = [accesses("a"), accesses("b", caveat="the counts are not exact")]
    figure = walls([roofline(), roofline("measured", 0.9)], kernels, ("global",), PlotOptions())
    assert legend_texts(figure) == [
        *("loads", "stores", "measured ceilings", "theoretical ceilings"),
        "hollow: the counts are not exact",
    ]
    assert texts(figure, "roof-label") == ["L1 940.9 of 1045.4 GTXN/s"]
    roofs = {line.get_gid(): line.get_linestyle() for line in figure.axes[0].get_lines() if "roof" in line.get_gid()}
    assert roofs == {"roof-global-measured": "-", "roof-global-theoretical": "--"}


def test_the_legend_is_in_the_last_panel_and_numbers_keep_clear_of_it() -> None:
    kernels = [accesses(f"k{i}", 2.0**-i, space=("global", "shared")[i % 2]) for i in range(6)]
    figure = walls([roofline()], kernels, ("global", "shared"), PlotOptions())
    left, right = figure.axes
    assert left.get_legend() is None
    assert legend(figure) == ["loads", "stores"]
    area = right.get_legend().get_window_extent()
    numbers = [Text.get_window_extent(text) for text in right.texts if text.get_gid() == "number"]
    assert numbers
    assert not any(overlapping(area, box) for box in numbers)
    assert not any(overlapping(a, b) for i, a in enumerate(numbers) for b in numbers[:i])


def test_the_table_has_the_drawn_kernels_under_their_own_numbers() -> None:
    kernels = [
        KernelPoints("none", "none", (), missing={"global load": "no such access", "global store": "no such access"}),
        accesses("a", time_share=0.5),
        accesses("b", note="one.csv"),
    ]
    figure = walls([roofline()], kernels, ("global",), PlotOptions())
    assert texts(figure, "table-number") == ["2", "3"]
    assert texts(figure, "table-name") == ["a", "b (one.csv)"]
    assert texts(figure, "table-share") == ["50 %"]
    assert texts(figure, "footnote") == ["no global point for none: no such access"]
    assert {number for label in texts(figure, "number") for number in label.split(", ")} == {"2", "3"}


def test_a_missing_ceiling_is_a_footnote_and_walls_are_drawn_to_the_top() -> None:
    bare = replace(h200(without=("l1",)), absent={"l1": "not measured"})
    kernels = [accesses("a"), accesses("b", space="shared")]
    figure = walls([bare], kernels, ("global", "shared"), PlotOptions())
    assert texts(figure, "footnote") == [
        "no theoretical L1 ceiling: not measured",
        "no theoretical Shared ceiling: not known for this GPU",
    ]
    top = figure.axes[0].get_ylim()[1]
    tops = [line.get_ydata()[1] for line in figure.axes[0].get_lines() if line.get_gid() == "wall-global"]
    assert tops == [pytest.approx(top)] * 5


@pytest.mark.parametrize("spaces", [("global",), ("shared",), ("global", "shared")])
def test_titles_and_names_of_walls_do_not_overlap(spaces: tuple[str, ...]) -> None:
    kernels = [accesses(f"k{i}", space=space) for i, space in enumerate(spaces)]
    figure = walls([roofline()], kernels, spaces, PlotOptions(subtitle="NVIDIA H200"))
    names = [t.get_window_extent() for ax in figure.axes for t in ax.texts if t.get_gid() == "wall-label"]
    around = [*names, *boxes(figure, "panel"), *boxes(figure, "title"), *boxes(figure, "subtitle")]
    assert len(artists(figure, "panel")) == len(spaces)
    assert not any(overlapping(a, b) for i, a in enumerate(around) for b in around[:i])
    assert all(box.y1 <= figure.bbox.y1 for box in around)


@pytest.mark.parametrize("draw", [hierarchical, multi])
def test_walls_inside_the_roofline_end_at_the_roof_of_l1(draw: Any) -> None:
    figure = draw([h200()], [kernel("k")], PlotOptions(), accesses=[accesses("k", 1 / 32)])
    ax = figure.axes[0]
    found = {round(1 / float(line.get_xdata()[0])): line for line in lines(figure, "wall-global")}
    assert set(found) == {1, 4, 8, 16, 32}
    bandwidth = h200().bandwidth("l1")
    assert bandwidth is not None
    for stride, line in found.items():
        bottom, top = line.get_ydata()
        assert bottom == pytest.approx(ax.get_ylim()[0])
        assert top == pytest.approx(bandwidth.transactions_per_second / stride / 1e9)
    seen = {line.get_gid(): tuple(line.get_xydata()[0]) for line in lines(figure, "access")}
    assert seen == {"access-load": pytest.approx((1 / 32, 2.0)), "access-store": pytest.approx((1 / 32, 9.0))}
    assert {"global loads", "global stores", "memory walls"} <= set(legend_texts(figure))
    assert "unit stride 4 B" in texts(figure, "wall-label")


def test_of_many_kernels_accesses_have_the_colour_of_their_kernel() -> None:
    kernels = [kernel(f"k{i}", seconds=(10 + i) * 1e-5) for i in range(12)]
    options = PlotOptions(levels=("hbm",), ceiling_levels=("l1", "hbm"))
    figure = multi([h200()], kernels, options, accesses=[accesses(f"k{i}", 0.25) for i in range(12)])
    points = [line.get_markerfacecolor() for line in lines(figure, "point-hbm")]
    loads = [line.get_markerfacecolor() for line in lines(figure, "access-load")]
    assert loads == points
    sizes = {line.get_markersize() for line in lines(figure, "access-load") if line.get_markerfacecolor() == REST}
    assert max(sizes) < min(
        line.get_markersize() for line in lines(figure, "access-load") if line.get_markerfacecolor() != REST
    )
