"""A figure around one or several pairs of axes, and the names of levels in every picture."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from roofctl.plots.data import compose
from roofctl.plots.figure import PlotOptions, hierarchical, multi
from roofctl.plots.frame import Frame, FrameText, Panel
from roofctl.plots.kernel_table import lay_out_table
from roofctl.plots.select import check_drawable, longest, with_needed_peaks
from roofctl.plots.sweep import SweepPicture, draw
from roofctl.plots.time import time
from roofctl.roofline.model import Bandwidth, KernelPoints, Peak, Point, Roofline
from roofctl.roofline.time_based import Timing

from support.figures import HBM_ONLY, boxes, h200, kernel, legend_texts, overlapping, spread, texts

TEXT = FrameText("Title", "Subtitle", ["a footnote"])


def test_panels_share_the_width_and_do_not_overlap() -> None:
    panels = [Panel("x", "Left", 1.5), Panel("y", "Middle"), Panel("z", "Right")]
    figure = Frame.blank(TEXT, panels, PlotOptions(size=(11.0, 4.0)), above=20.0).finish()
    areas = [ax.get_window_extent() for ax in figure.axes]
    assert areas[0].width == pytest.approx(1.5 * areas[1].width)
    assert areas[1].width == pytest.approx(areas[2].width)
    assert {round(area.height, 6) for area in areas} == {round(areas[0].height, 6)}
    assert areas[0].x1 < areas[1].x0 < areas[1].x1 < areas[2].x0 < areas[2].x1 <= figure.bbox.x1
    titles = boxes(figure, "panel")
    assert texts(figure, "panel") == ["Left", "Middle", "Right"]
    assert all(title.y0 > area.y1 for title, area in zip(titles, areas, strict=True))
    assert all(title.x0 == pytest.approx(area.x0, abs=6) for title, area in zip(titles, areas, strict=True))
    assert not any(overlapping(title, box) for title in titles for box in boxes(figure, "subtitle"))


def test_axes_keep_their_size_when_a_table_needs_space() -> None:
    data = compose([h200()], spread(30), HBM_ONLY)
    panels = [Panel("x"), Panel("y")]
    frame = Frame.blank(TEXT, panels, PlotOptions(), table=lay_out_table(data, range(30), (), lambda _: "#000000"))
    before = [ax.get_window_extent() for ax in frame.axes]
    figure = frame.finish()
    after = [ax.get_window_extent() for ax in figure.axes]
    assert [(area.width, area.height) for area in after] == [
        pytest.approx((area.width, area.height)) for area in before
    ]
    assert all(box.x0 > after[-1].x1 for box in boxes(figure, "table"))
    assert figure.get_size_inches()[0] > 7.0


def test_a_table_of_some_kernels_keeps_their_numbers() -> None:
    table = lay_out_table(compose([h200()], spread(12), HBM_ONLY), [1, 4, 11], [5, 6], str)
    assert [(row.number, row.name, row.color) for row in table.rows] == [
        *(("2", "k1", "1"), ("5", "k4", "4"), ("12", "k11", "11"), ("", "2 others", "#B0B0B0"))
    ]


def dram(roofline: Roofline) -> Roofline:
    return replace(roofline, memory_label="DRAM")


def every_text(figure: Figure) -> list[str]:
    return [*legend_texts(figure), *(text.get_text() for text in figure.findobj(Text))]


TIMING = Timing("k", "k", 1, 2e-4, 2e-4, 2e-5, {"hbm": 8e-5}, None, missing={"l2": "not counted"})


@pytest.mark.parametrize(
    "figure",
    [
        lambda: hierarchical([dram(h200()), dram(h200("measured", 0.9))], [kernel()]),
        lambda: multi([dram(h200(without=("hbm",)))], [kernel(), kernel("b", transactions={"l1": 1e6})]),
        lambda: multi([dram(h200())], [*spread(10), kernel("b", transactions={"l1": 1e6})], HBM_ONLY),
        lambda: time(dram(h200()), [TIMING], PlotOptions()),
    ],
    ids=["hierarchical", "few", "many", "time"],
)
def test_boards_without_hbm_say_dram(figure) -> None:
    shown = every_text(figure())
    assert any("DRAM" in text for text in shown)
    assert not any("HBM" in text for text in shown)


# --- selection ------------------------------------------------------------------------------------


def test_the_longest_kernel_is_the_first_with_points_with_all_its_types() -> None:
    point = Point("hbm", 1.0, 2.0, 1e11)
    kernels = [
        KernelPoints("a", "a", (), number=0),
        KernelPoints("b", "b", (point,), number=1, work="fp32"),
        KernelPoints("b", "b", (), number=1, work="fp64"),
        KernelPoints("c", "c", (point,), number=2),
    ]
    assert longest(kernels) == tuple(kernels[1:3])
    assert longest(kernels[:1]) == tuple(kernels[:1])


def test_only_the_peaks_of_drawn_work_are_kept() -> None:
    peaks = [Peak(2e14, "theoretical", work="bf16_tc"), Peak(6e13, "theoretical", work="fp32")]
    bandwidths = (Bandwidth("hbm", 4e12, "theoretical"),)
    roofline = Roofline("g", peaks[0], bandwidths, model="flop", others=(peaks[1],))
    point = Point("hbm", 1.0, 2.0, 1e11, work="fp32")
    drawn = [KernelPoints("a", "a", (point,), work="fp32"), KernelPoints("a", "a", (), work="bf16_tc")]
    assert [r.peaks for r in with_needed_peaks([roofline], drawn)] == [(peaks[1],)]


def test_without_a_point_the_error_has_the_reasons() -> None:
    from roofctl.core.errors import InputError

    check_drawable([kernel()], ["hbm"])
    with pytest.raises(InputError, match="no kernel has a point at hbm") as caught:
        check_drawable([kernel(transactions={"l1": 1e6})], ["hbm"])
    assert caught.value.hint == "choose among --level l1"
    with pytest.raises(InputError, match=r"no point to draw \(not captured\)") as caught:
        check_drawable([kernel(transactions={}, missing={"hbm": "not captured", "l1": "other"})], ["hbm"])
    assert "roofctl profile --set instruction" in caught.value.hint


# --- the sweep ------------------------------------------------------------------------------------


def test_no_text_of_a_sweep_lies_on_another_or_on_a_legend() -> None:
    sizes = [2.0**n for n in range(20, 35)]
    figure = draw(
        SweepPicture(
            title="NVIDIA H200: measured bandwidth",
            subtitle="driver 580",
            working_set={
                "past the L1": [(x, 9.9e12 if x < 2**25 else 4.6e12) for x in sizes],
                "through the L1": [(x, 33e12 if x < 2**24 else 9.9e12) for x in sizes[:8]],
            },
            width={"read": [(2.0**n, 1.1e12 * 2**n) for n in range(3)]},
            ceilings={"L1": 33e12, "L2": 9.9e12, "HBM": 4.65e12},
            capacities={"L2 size": 60 * 2.0**20, "all L1s": 33 * 2.0**20},
        )
    )
    figure.canvas.draw()
    ax = figure.axes[0]
    labels = [Text.get_window_extent(text) for text in ax.texts]
    assert len(labels) == 5
    around = [*labels, ax.get_legend().get_window_extent()]
    assert not any(overlapping(a, b) for i, a in enumerate(around) for b in around[:i])
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in around)
    assert [tick.get_text() for tick in ax.get_xticklabels()][:2] == ["1 MiB", "4 MiB"]
