"""The time-based roofline as a figure: where kernels stand, the corner of the launch, and notes."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from matplotlib.text import Text

from roofctl.core.errors import InputError
from roofctl.plots.figure import KernelStyle, PlotOptions, save
from roofctl.plots.time import time
from roofctl.roofline.time_based import Timing

from support.figures import artists, boxes, h200, legend_texts, lines, names, overlapping, texts


def timing(name="triad", compute=20e-6, memory=80e-6, seconds=160e-6, launch=None, **more):
    levels = more.pop("level_seconds", {"l2": memory / 2, "hbm": memory})
    return Timing(
        name, more.pop("short_name", name), more.pop("launches", 1), seconds, seconds, compute, levels, launch, **more
    )


def small(count=40, launch=2.2e-6):
    """Kernels of 2 to 5 µs whose own work takes far less."""
    rng = random.Random(5)  # noqa: S311  no secret here
    return [
        timing(f"k{i}", 10 ** rng.uniform(-8, -6.3), 10 ** rng.uniform(-8, -6.3), rng.uniform(2e-6, 5e-6), launch)
        for i in range(count)
    ]


def ends(figure, gid):
    return [line.get_xydata().tolist() for line in lines(figure, gid)]


def test_a_kernel_stands_at_its_bounds_and_the_line_ends_at_its_time():
    figure = time(h200(), [timing()])
    assert ends(figure, "bounds") == [[pytest.approx([80e-6, 20e-6])]]
    assert ends(figure, "measured") == [[pytest.approx([160e-6, 40e-6])]]
    (way,) = ends(figure, "headroom")
    assert way == [pytest.approx([80e-6, 20e-6]), pytest.approx([160e-6, 40e-6])]
    assert lines(figure, "bounds")[0].get_marker() == "^"  # HBM takes the memory time
    assert lines(figure, "measured")[0].get_markerfacecolor() == "white"
    assert next(iter(figure.get_size_inches())) == pytest.approx(7.0)


def test_where_compute_is_longer_it_is_the_measured_time():
    figure = time(h200(), [timing(compute=100e-6, memory=10e-6, seconds=200e-6)])
    assert ends(figure, "measured") == [[pytest.approx([20e-6, 200e-6])]]


def test_the_memory_time_is_by_the_chosen_levels():
    figure = time(h200(), [timing()], PlotOptions(levels=("l2",)))
    assert ends(figure, "bounds") == [[pytest.approx([40e-6, 20e-6])]]
    assert lines(figure, "bounds")[0].get_marker() == "s"
    assert "memory time by L2, 10.3 TB/s" in legend_texts(figure)


def test_decades_are_equally_long_so_that_balance_is_at_45_degrees():
    figure = time(h200(), [timing(), timing("fma", 1e-3, 1e-8, 2e-3)])
    (ax,) = figure.axes
    area = ax.get_window_extent()
    decades = [math.log10(high / low) for low, high in (ax.get_xlim(), ax.get_ylim())]
    assert area.width / decades[0] == pytest.approx(area.height / decades[1])
    ((start, end),) = ends(figure, "balance")
    assert start[0] == start[1] == pytest.approx(max(ax.get_xlim()[0], ax.get_ylim()[0]))
    assert end[0] == end[1] == pytest.approx(min(ax.get_xlim()[1], ax.get_ylim()[1]))
    assert texts(figure, "region") == ["compute bound", "memory bound"]


def test_contours_of_equal_time_turn_at_the_diagonal():
    figure = time(h200(), [timing()])
    left, bottom = (limits[0] for limits in (figure.axes[0].get_xlim(), figure.axes[0].get_ylim()))
    contours = ends(figure, "contour")
    assert [1e-4 in each[1] for each in contours].count(True) == 1
    for first, corner, last in contours:
        assert corner[0] == corner[1] == pytest.approx(10 ** round(math.log10(corner[0])))
        assert first == [left, corner[1]]
        assert last == [corner[0], bottom]
    assert "100 µs" in texts(figure, "contour-label")


def test_small_kernels_show_the_launch_as_their_floor():
    kernels = [
        timing(launch=2e-6),
        timing("tiny", 0.1e-6, 0.5e-6, 4e-6, 2e-6, limit="launch"),
        timing("less", 0.4e-6, 0.2e-6, 1e-6, 2e-6, limit="launch"),
    ]
    figure = time(h200(), kernels)
    (corner,) = ends(figure, "launch")
    assert corner[1] == pytest.approx([2e-6, 2e-6])
    (area,) = [patch for patch in figure.axes[0].patches if patch.get_gid() == "launch-area"]
    assert (area.get_x() + area.get_width(), area.get_y() + area.get_height()) == pytest.approx((2e-6, 2e-6))
    ways = [tuple(line.get_xdata()) for line in lines(figure, "headroom")]
    assert sorted(ways) == [pytest.approx(xs) for xs in ((2e-6, 4e-6), (80e-6, 160e-6))]
    assert any("launch bound" in line and ": 2 kernels" in line for line in texts(figure, "region"))
    assert any("launch" in line and "2 µs" in line for line in (*texts(figure, "region"), *legend_texts(figure)))
    assert "limited by launches for tiny, less: they start 2 µs apart, which a measured time leaves out" in texts(
        figure, "footnote"
    )


def test_without_a_measured_launch_there_is_no_corner_but_a_note():
    figure = time(h200(), [timing()])
    assert (lines(figure, "launch"), figure.axes[0].patches[:]) == ([], [])
    assert any(
        line.startswith("no launch bound: ") and "calibrate --level launch" in line
        for line in texts(figure, "footnote")
    )


def test_a_time_of_0_stands_at_the_edge():
    figure = time(h200(), [timing("copy", 0.0), timing("fma", 50e-6, 0.0, 80e-6)])
    left, bottom = (limits[0] for limits in (figure.axes[0].get_xlim(), figure.axes[0].get_ylim()))
    assert ends(figure, "bounds") == [[pytest.approx([80e-6, bottom])], [pytest.approx([left, 50e-6])]]
    assert ends(figure, "measured") == [[pytest.approx([160e-6, bottom])], [pytest.approx([left, 80e-6])]]
    notes = texts(figure, "footnote")
    assert "compute time 0, at the lower edge for copy: no operations" in notes
    assert "memory time 0, at the left edge for fma: no traffic" in notes


def test_what_is_not_drawn_or_not_exact_is_a_note_with_its_reason():
    kernels = [
        timing(),
        timing("blind", level_seconds={}, missing={"hbm": "not captured"}),
        timing("mute", None, missing={"compute": "no instruction count"}),
        timing("idle", 0.0, 0.0),
        timing(
            "timeless", seconds=None, missing={"seconds": "no clock"}, caveats={"hbm": "upper bound of the traffic"}
        ),
        timing("tma", missing={"l1": "not counted"}, caveats={"compute": "an estimate"}),
    ]
    figure = time(h200(), kernels)
    assert len(lines(figure, "bounds")) == 3
    notes = texts(figure, "footnote")
    for line in (
        "not drawn for blind: no memory time: L1 not known; L2 not known; HBM not captured",
        "not drawn for mute: no compute time: no instruction count",
        "not drawn for idle: neither work nor traffic",
        "no measured time for timeless: no clock",
        "HBM time for timeless: upper bound of the traffic",
        "no L1 time for tma: not counted",
        "compute time for tma: an estimate",
    ):
        assert line in notes


def test_nothing_to_draw_is_an_error_with_the_reasons():
    with pytest.raises(InputError, match="no compute time: no instruction count"):
        time(h200(), [timing(compute=None, missing={"compute": "no instruction count"})])


def test_a_kernel_faster_than_its_work_is_ringed():
    figure = time(h200(), [timing(seconds=60e-6)])
    assert ends(figure, "too-fast") == [[pytest.approx([60e-6, 15e-6])]]
    assert "faster than its bound: see report" in legend_texts(figure)
    assert lines(time(h200(), [timing(seconds=79e-6)]), "too-fast") == []


def test_names_colors_and_markers_of_the_user():
    style = PlotOptions(title="Mine", subtitle="NVIDIA H200", kernels={"triad": KernelStyle("Triad", "#123456", "D")})
    figure = time(h200(), [timing(), timing("copy")], style)
    first = lines(figure, "bounds")[0]
    assert (first.get_markerfacecolor(), first.get_marker()) == ("#123456", "D")
    assert "1  Triad" in legend_texts(figure) or "Triad" in texts(figure, "name")
    assert (texts(figure, "title"), texts(figure, "subtitle")) == (["Mine"], ["NVIDIA H200"])
    assert texts(time(h200(), [timing()]), "title") == ["Time-based roofline: triad"]


def test_the_model_names_the_axes():
    (ax,) = time(h200(), [timing()]).axes
    assert ax.get_xlabel() == "Memory time per launch (bytes / bandwidth, slowest level)"
    assert ax.get_ylabel() == "Compute time per launch (instructions / peak)"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["10 µs", "100 µs"]


@pytest.mark.parametrize("count", [1, 6, 9, 40])
def test_no_text_lies_on_another_or_leaves_the_figure(count):
    figure = time(h200(), small(count))
    figure.canvas.draw()  # axis names get their places
    areas = [box for gid in ("number", "contour-label", "footnote", "title", "table") for box in boxes(figure, gid)]
    (ax,) = figure.axes
    areas += [
        Text.get_window_extent(t)
        for t in (ax.xaxis.label, ax.yaxis.label, *ax.get_yticklabels(), *ax.get_xticklabels())
    ]
    assert [pair for pair in itertools.combinations(areas, 2) if overlapping(*pair)] == []
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1 for box in areas)
    # The names of the regions slant, so that their boxes are wider than they are.
    slant = [
        box
        for text, box in zip(artists(figure, "region"), boxes(figure, "region"), strict=True)
        if not text.get_rotation()
    ]
    assert not any(overlapping(one, other) for one in slant for other in areas)
    legend = ax.get_legend().get_window_extent()
    assert not any(overlapping(legend, box) for box in boxes(figure, "number") + boxes(figure, "region"))


def test_many_kernels_are_numbered_as_in_the_table():
    figure = time(h200(), small(40), PlotOptions(labeled=40))
    shown = {int(n) for label in texts(figure, "number") for part in label.split(", ") for n in _range(part)}
    assert shown == set(range(1, 41))
    assert [t.get_text() for t in artists(figure, "table-number")] == [str(n) for n in range(1, 41)]
    assert [t.get_text() for t in artists(figure, "table-name")] == [f"k{i}" for i in range(40)]
    assert len(lines(figure, "measured")) == 40
    default = time(h200(), small(40))
    assert [t.get_text() for t in artists(default, "table-name")] == [*(f"k{i}" for i in range(10)), "30 others"]
    assert len(lines(default, "measured")) == 10
    assert min(*default.axes[0].get_xlim(), *default.axes[0].get_ylim()) >= 1e-8 * 0.999


def _range(part: str) -> range:
    first, _, last = part.partition("–")
    return range(int(first), int(last or first) + 1)


def test_the_same_input_gives_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        save(time(h200(), small(9)), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert sorted(names(tmp_path)) == ["a.svg", "b.svg"]
