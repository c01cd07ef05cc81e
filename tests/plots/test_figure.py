"""The matplotlib figures: what is on them, where, and what reaches the disk."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from roofctl.core.errors import InputError
from roofctl.plots.figure import KernelStyle, LevelStyle, PlotOptions, hierarchical, multi, save
from roofctl.plots.style import KERNEL_COLORS, REST, group_hues
from roofctl.roofline.model import Bandwidth, Clock, KernelPoints, Peak, Point, Roofline, Spread, Sustained

from support.figures import (
    BANDWIDTHS,
    HBM_ONLY,
    HBM_RIDGE,
    PEAK,
    artists,
    boxes,
    h200,
    kernel,
    legend_texts,
    lines,
    names,
    overlapping,
    spread,
    texts,
)

# --- axes and ceilings ------------------------------------------------------------------


def test_axes_are_logarithmic_and_named():
    figure = hierarchical([h200()], [kernel()])
    (ax,) = figure.axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlabel() == "Instruction intensity (warp instructions per 32-byte transaction)"
    assert ax.get_ylabel() == "Performance (warp GIPS)"
    assert tuple(figure.get_size_inches()) == pytest.approx((7.0, 4.6))


def test_each_slope_ends_at_its_ridge_and_the_peak_starts_at_the_leftmost():
    figure = hierarchical([h200()], [kernel()])
    left, right = figure.axes[0].get_xlim()
    for level, bandwidth in BANDWIDTHS.items():
        (line,) = lines(figure, f"ceiling-theoretical-{level}")
        (x0, y0), (x1, y1) = line.get_xydata().tolist()
        assert (x0, y0) == pytest.approx((left, bandwidth / 32 * left / 1e9))
        assert (x1, y1) == pytest.approx((PEAK / (bandwidth / 32), PEAK / 1e9))
    (peak,) = lines(figure, "peak")
    assert peak.get_xdata().tolist() == pytest.approx([1.0, right])
    assert peak.get_ydata().tolist() == pytest.approx([1045.44, 1045.44])


def test_ceiling_labels_carry_value_and_unit_and_follow_the_slope():
    figure = hierarchical([h200()], [kernel()])
    assert texts(figure, "ceiling-label") == [
        "Peak 1045.4 GIPS",
        "L1 1045.4 GTXN/s (33.5 TB/s)",
        "L2 321.3 GTXN/s (10.3 TB/s)",
        "HBM 150.4 GTXN/s (4.81 TB/s)",
    ]
    ax = figure.axes[0]
    (line,) = lines(figure, "ceiling-theoretical-hbm")
    (x0, y0), (x1, y1) = ax.transData.transform(line.get_xydata()).tolist()
    slope = math.degrees(math.atan2(y1 - y0, x1 - x0))
    angles = [t.get_rotation() for t in artists(figure, "ceiling-label")]
    assert angles == pytest.approx([0, slope, slope, slope])


@pytest.mark.parametrize("scale", [0.999, 0.97, 0.9, 0.4])
def test_two_rooflines_share_labels_so_that_none_lies_on_another(scale):
    figure = hierarchical([h200(), h200("measured", scale)], [kernel()])
    labels = artists(figure, "ceiling-label")
    assert len(labels) == 4
    assert " of 4.81 TB/s)" in labels[3].get_text()
    # All slanted labels have one angle: in the frame turned by it, overlap is a matter of plain boxes.
    figure.canvas.draw()
    angle = -math.radians(labels[1].get_rotation())
    turned = []
    for label in labels[1:]:
        label.set_rotation(0)
        box = Text.get_window_extent(label)
        cx, cy = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        u, v = cx * math.cos(angle) - cy * math.sin(angle), cx * math.sin(angle) + cy * math.cos(angle)
        turned.append((u, v, box.width, box.height))
    for one, other in itertools.combinations(turned, 2):
        apart_along = abs(one[0] - other[0]) > (one[2] + other[2]) / 2
        apart_across = abs(one[1] - other[1]) > (one[3] + other[3]) / 2 * 0.8
        assert apart_along or apart_across


def test_measured_is_solid_and_theoretical_dashed_whatever_the_order():
    for pair in ([h200(), h200("measured", 0.9)], [h200("measured", 0.9), h200()]):
        figure = hierarchical(pair, [kernel()])
        assert {line.get_linestyle() for line in lines(figure, "ceiling-measured")} == {"-"}
        assert {line.get_linestyle() for line in lines(figure, "ceiling-theoretical")} == {"--"}
        assert legend_texts(figure)[-2:] == ["measured ceilings (100 %)", "theoretical ceilings"]
        assert "HBM 100 %" in texts(figure, "label")  # of the measured roof; 90 % of the theoretical one


def test_a_missing_ceiling_is_left_out_and_named():
    roofline = h200(without=("l2",), absent={"l2": "no kernel for this chip"})
    figure = hierarchical([roofline], [kernel()])
    assert not lines(figure, "ceiling-theoretical-l2")
    assert texts(figure, "footnote") == ["no L2 ceiling: no kernel for this chip"]
    assert "L2" in texts(figure, "label")  # a point without a fraction


def test_a_ceiling_of_zero_is_missing():
    roofline = replace(h200(), bandwidths=(Bandwidth("l1", 0.0, "theoretical"), *h200().bandwidths[1:]))
    figure = multi([roofline], [kernel()])
    assert not lines(figure, "ceiling-theoretical-l1")
    assert "no L1 ceiling: seen 0 B/s" in texts(figure, "footnote")


@pytest.mark.parametrize("intensity", [1e-5, 1e5])
def test_limits_hold_far_points_and_the_roof_above_them(intensity):
    point = Point("hbm", 1.0, intensity, min(PEAK, 150.4e9 * intensity) * 0.9)
    figure = hierarchical([h200()], [KernelPoints("k", "k", (point,))])
    (left, right), (bottom, top) = figure.axes[0].get_xlim(), figure.axes[0].get_ylim()
    assert left < min(intensity, 1.0)
    assert right > max(intensity, HBM_RIDGE)
    assert bottom < point.per_second / 1e9
    assert top > 1045.44
    (peak,) = lines(figure, "peak")
    assert peak.get_xdata()[1] == pytest.approx(right)


def test_the_ticks_of_an_axis_are_of_one_style():
    point = Point("hbm", 1.0, 1e5, PEAK * 0.9)
    figure = hierarchical([h200()], [KernelPoints("k", "k", (point,))])
    ax = figure.axes[0]
    figure.canvas.draw()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["10⁻¹", "10⁰", "10¹", "10²", "10³", "10⁴", "10⁵"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["10", "100", "1000"]
    assert not any(t.get_text() for t in ax.xaxis.get_minorticklabels())


def test_an_impossible_set_of_rooflines_is_an_error():
    for rooflines in ([], [h200(), h200()]):
        with pytest.raises(InputError, match="one theoretical roofline, one measured"):
            multi(rooflines, [kernel()])
    with pytest.raises(InputError, match="instruction peak of 0"):
        multi([replace(h200(), peak=Peak(0.0, "theoretical"))], [kernel()])
    with pytest.raises(InputError, match="no memory level"):
        multi([h200()], [kernel()], PlotOptions(levels=()))


def test_a_column_wide_figure_cuts_nothing_off():
    figure = hierarchical([h200()], [kernel()], PlotOptions(size=(3.4, 3.0)))
    label = figure.axes[0].xaxis.label
    figure.canvas.draw()
    box = label.get_window_extent()
    assert "\n" in label.get_text()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= figure.bbox.x1


# --- one kernel ------------------------------------------------------------------------------


def test_hierarchical_draws_one_point_per_level_with_its_fraction():
    figure = hierarchical([h200()], [kernel()])
    for level, intensity in (("l1", 0.64583), ("l2", 0.64583), ("hbm", 0.65996)):
        (line,) = lines(figure, f"point-{level}")
        assert line.get_xdata()[0] == pytest.approx(intensity, rel=1e-4)
        assert line.get_ydata()[0] == pytest.approx(89.4985, rel=1e-5)
    assert texts(figure, "label") == ["L1 13 %", "L2 43 %", "HBM 90 %"]
    assert len({lines(figure, f"point-{level}")[0].get_marker() for level in BANDWIDTHS}) == 3
    (join,) = lines(figure, "join")
    assert join.get_xdata().tolist() == pytest.approx([0.64583, 0.65996], rel=1e-4)


@pytest.mark.parametrize("count", [0, 2])
def test_hierarchical_takes_exactly_one_kernel(count):
    with pytest.raises(InputError, match=f"one kernel; {count} were chosen") as caught:
        hierarchical([h200()], [kernel()] * count)
    assert caught.value.hint


def test_labels_of_points_at_one_position_do_not_overlap():
    figure = hierarchical([h200()], [kernel()])
    assert not any(overlapping(a, b) for a, b in itertools.combinations(boxes(figure, "label"), 2))


def test_the_predication_line_needs_more_than_one_percent():
    rate = 16_252_928 / 181.6e-6
    assert not lines(hierarchical([h200()], [kernel(issued_per_second=rate * 1.005)]), "issued")
    figure = hierarchical([h200()], [kernel(issued_per_second=rate * 1.5)])
    (line,) = lines(figure, "issued")
    assert line.get_ydata().tolist() == pytest.approx([rate * 1.5 / 1e9] * 2)
    assert line.get_xdata()[0] < 0.6458
    assert line.get_xdata()[1] > 0.66
    assert "issued warp instructions (33 % lost)" in legend_texts(figure)


def test_a_missing_level_is_a_footnote_with_its_reason():
    counts = {"l1": 3e7, "l2": 1e7}
    figure = hierarchical([h200()], [kernel(transactions=counts, missing={"hbm": "dram__sectors_read not counted"})])
    assert not lines(figure, "point-hbm")
    assert texts(figure, "footnote") == ["no HBM point: dram__sectors_read not counted"]


@pytest.mark.parametrize("intensity", [0.0, math.inf, math.nan])
def test_a_point_that_a_log_axis_cannot_hold_is_missing_with_a_reason(intensity):
    figure = hierarchical([h200()], [KernelPoints("k", "k", (Point("hbm", 0.0, intensity, 1e9),))], HBM_ONLY)
    assert not lines(figure, "point")
    assert f"no HBM point: intensity {intensity:g}" in texts(figure, "footnote")[0]


def test_a_point_above_its_roof_is_ringed_and_explained():
    assert not lines(hierarchical([h200()], [kernel()]), "above-roof")
    figure = hierarchical([h200()], [kernel(seconds=90e-6)])
    (ring,) = lines(figure, "above-roof")
    assert ring.get_xdata()[0] == pytest.approx(0.65996, rel=1e-4)
    assert "above the roof: see report" in legend_texts(figure)
    assert "HBM 182 %" in texts(figure, "label")


def test_a_caveat_makes_the_point_hollow():
    figure = hierarchical([h200()], [kernel(caveat="upper bound of the traffic")])
    assert {line.get_markerfacecolor() for line in lines(figure, "point")} == {"white"}
    assert "hollow: upper bound of the traffic" in legend_texts(figure)


def test_title_and_subtitle():
    plain = hierarchical([h200()], [kernel()], PlotOptions(subtitle="NVIDIA H200 · SM 1.975 GHz as captured"))
    assert texts(plain, "title") == ["triad"]
    assert texts(plain, "subtitle") == ["NVIDIA H200 · SM 1.975 GHz as captured"]
    titled = hierarchical([h200()], [kernel()], PlotOptions(title="STREAM", subtitle="H200"))
    assert (texts(titled, "title"), texts(titled, "subtitle")) == (["STREAM"], ["triad · H200"])


# --- many kernels ----------------------------------------------------------------------------


def test_few_kernels_have_a_colour_and_their_names_beside_their_points():
    kernels = spread(8, twins=False)
    figure = multi([h200()], kernels)
    assert texts(figure, "name") == [k.short_name for k in kernels]
    assert texts(figure, "number") == []
    assert legend_texts(figure) == ["L1, 1045.4 GTXN/s", "L2, 321.3 GTXN/s", "HBM, 150.4 GTXN/s"]
    assert len({line.get_markerfacecolor() for line in lines(figure, "point-hbm")}) == 8
    assert len({line.get_marker() for line in lines(figure, "point")}) == 3
    ax = figure.axes[0]
    for text, drawn in zip(artists(figure, "name"), kernels, strict=True):
        right = max(p.intensity for p in drawn.points)
        x, y = ax.transData.transform((right, drawn.points[0].per_second / 1e9)).tolist()
        box = text.get_window_extent()
        away = math.hypot(max(box.x0 - x, x - box.x1, 0), max(box.y0 - y, y - box.y1, 0))
        assert away < 60 * figure.dpi / 72


def test_names_without_a_place_become_numbers_with_a_legend():
    point = Point("hbm", 1.0, 2.0, 1e11)
    here = [KernelPoints(f"k{i}" * 20, f"k{i}" * 20, (point,)) for i in range(8)]
    figure = multi([h200()], here, replace(HBM_ONLY, size=(3.0, 2.4)))
    assert texts(figure, "name") == []
    assert texts(figure, "number") == ["1–8"]
    assert [line[:4] for line in legend_texts(figure)[:8]] == [f"{i + 1}  k" for i in range(8)]


def test_many_kernels_are_numbered_and_listed():
    kernels = spread(9, twins=False)
    figure = multi([h200()], kernels, HBM_ONLY)
    assert sorted(texts(figure, "number"), key=int) == [str(i) for i in range(1, 10)]
    assert texts(figure, "table-number") == [str(i) for i in range(1, 10)]
    assert texts(figure, "table-name") == [k.short_name for k in kernels]
    assert texts(figure, "table-share")[:2] == ["20 %", "10 %"]
    assert legend_texts(figure) == ["HBM, 150.4 GTXN/s", "area: share of the time"]


def test_the_longest_of_many_are_coloured_and_the_others_small_and_grey():
    kernels = [replace(k, time_share=share) for k, share in zip(spread(14), [0.4, 0.1, *[0.04] * 12], strict=True)]
    figure = multi([h200()], kernels, HBM_ONLY)
    drawn = {line.get_markersize(): line for line in lines(figure, "point")}
    faces = [line.get_markerfacecolor() for line in lines(figure, "point")]
    assert faces.count("#B0B0B0") == 4
    assert len(set(faces)) == 11
    first, second = (line.get_markersize() for line in lines(figure, "point")[:2])
    assert (first / second) ** 2 == pytest.approx(0.4 / 0.1)
    assert drawn[min(drawn)].get_markerfacecolor() == "#B0B0B0"
    assert texts(figure, "table-name")[-1] == "4 others"
    assert texts(figure, "table-share")[-1] == "16 %"
    styled = multi([h200()], kernels, replace(HBM_ONLY, kernels={"k13": KernelStyle(color="#123456")}))
    assert texts(styled, "table-number")[-1] == "14"
    assert texts(styled, "table-name")[-1] == "3 others"
    assert len(texts(multi([h200()], kernels, replace(HBM_ONLY, labeled=14)), "table-number")) == 14


def test_a_point_far_from_all_others_is_an_arrow_with_its_values():
    far = KernelPoints("far", "far", (Point("hbm", 1.0, 1e-5, 2e4),), time_share=0.001)
    figure = multi([h200()], [*spread(12), far], HBM_ONLY)
    (arrow,) = lines(figure, "outlier")
    assert (arrow.get_marker(), len(lines(figure, "point"))) == ("<", 12)
    assert "0.000010, 0.000020 GIPS" in texts(figure, "number")
    assert figure.axes[0].get_ylim()[0] > 1e-3
    long = multi([h200()], [*spread(12), replace(far, time_share=0.5)], HBM_ONLY)
    assert lines(long, "outlier") == []
    assert lines(multi([h200()], [*spread(12), far, far], HBM_ONLY), "outlier") == []  # two are a group of their own


@pytest.mark.parametrize("levels", [("hbm",), ("l1", "l2", "hbm")])
def test_fifty_kernels_stay_readable(levels):
    figure = multi([h200()], spread(50), PlotOptions(levels=levels, labeled=50))
    numbers = boxes(figure, "number")
    assert not any(overlapping(a, b) for a, b in itertools.combinations(numbers, 2))
    area = figure.axes[0].get_window_extent()
    assert all(area.x0 <= b.x0 and b.x1 <= area.x1 and area.y0 <= b.y0 and b.y1 <= area.y1 for b in numbers)
    table = boxes(figure, "table")
    assert len(texts(figure, "table-name")) == 50
    assert not any(overlapping(a, b) for a, b in itertools.combinations(table, 2))
    edge = figure.bbox
    assert all(area.x1 < b.x0 and b.x1 <= edge.x1 and edge.y0 <= b.y0 and b.y1 <= edge.y1 for b in table)


def test_points_at_one_position_share_a_label():
    point = Point("hbm", 1.0, 2.0, 1e11)
    here = [KernelPoints(f"k{i}", f"k{i}", (point,)) for i in range(9)]
    apart = [replace(k, points=(replace(point, intensity=10.0 * i),)) for i, k in enumerate(here) if i in {1, 3, 5}]
    mixed = [here[0], apart[0], here[2], apart[1], here[4], apart[2], here[6], here[7], here[8]]
    figure = multi([h200()], mixed, HBM_ONLY)
    assert sorted(texts(figure, "number")) == ["1, 3, 5, 7–9", "2", "4", "6"]


def test_a_kernel_without_a_point_stays_in_the_list():
    lost = kernel("lost", transactions={"l1": 1e6}, missing={"hbm": "not in the file"})
    few = multi([h200()], [kernel(), lost], HBM_ONLY)
    assert texts(few, "name") == ["triad"]
    assert texts(few, "footnote") == ["no HBM point for lost: not in the file"]
    many = multi([h200()], [*spread(9), lost, lost], HBM_ONLY)
    assert "lost" not in texts(many, "table-name")
    assert texts(many, "footnote") == ["no HBM point for lost, lost: not in the file"]
    lots = [replace(lost, kernel=f"lost{i}", short_name=f"lost{i}", time_share=0.01) for i in range(9)]
    (line,) = texts(multi([h200()], [*spread(9), *lots], HBM_ONLY), "footnote")
    assert line == "no HBM point for lost0, lost1, lost2 and 6 others (9.0 % of the time): not in the file"


def test_table_rows_follow_the_option_and_the_figure_grows():
    ys = [t.get_position()[0] for t in artists(multi([h200()], spread(12)), "table-number")]
    assert len(set(ys)) == 1
    split = multi([h200()], spread(12), PlotOptions(legend_rows=6))
    assert len({t.get_position()[0] for t in artists(split, "table-number")}) == 2
    tall = multi([h200()], spread(120), replace(HBM_ONLY, labeled=120))
    assert tall.get_size_inches()[1] > 8
    assert all(b.y0 >= 0 for b in boxes(tall, "table"))


def test_the_legend_covers_no_point():
    for seed in range(4):
        figure = multi([h200()], spread(8, seed), HBM_ONLY)
        area = figure.axes[0].get_legend().get_window_extent()
        for line in lines(figure, "point"):
            x, y = figure.axes[0].transData.transform((line.get_xdata()[0], line.get_ydata()[0])).tolist()
            assert not area.contains(x, y)
        assert area.x1 <= figure.bbox.x1


def test_a_legend_without_a_free_area_goes_beside_the_axes():
    # One legend line per different caveat: twenty of them are higher than any corner.
    noted = [
        replace(k, points=tuple(replace(p, caveat=f"caveat {i} of many") for p in k.points))
        for i, k in enumerate(spread(20))
    ]
    figure = multi([h200()], noted, HBM_ONLY)
    area = figure.axes[0].get_legend().get_window_extent()
    assert area.x0 > figure.axes[0].get_window_extent().x1
    assert not any(overlapping(area, b) for b in boxes(figure, "table"))


def test_no_kernel_is_an_error():
    with pytest.raises(InputError, match="no kernel"):
        multi([h200()], [])


def test_labels_colours_and_markers_of_the_user():
    options = PlotOptions(
        levels=("hbm",),
        kernels={"triad": KernelStyle("Triad, tuned", "#123456", "D"), "full(name)": KernelStyle(label="by full name")},
        level_styles={"hbm": LevelStyle(color="#654321")},
    )
    other = kernel("full(name)", transactions={"hbm": 1e6}, short_name="full")
    figure = multi([h200()], [kernel(), other], options)
    assert texts(figure, "name") == ["Triad, tuned", "by full name"]
    mine, _ = lines(figure, "point")
    assert (mine.get_markerfacecolor(), mine.get_marker()) == ("#123456", "D")
    assert lines(figure, "ceiling-theoretical-hbm")[0].get_color() == "#654321"


def test_equal_short_names_fall_back_to_full_ones():
    pair = [kernel(f"gemm<{t}>(int)", short_name="gemm") for t in ("float", "double")]
    pair[1] = replace(pair[1], points=tuple(replace(p, per_second=p.per_second / 9) for p in pair[1].points))
    assert texts(multi([h200()], pair), "name") == ["gemm<float>(int)", "gemm<double>(int)"]


# --- names ------------------------------------------------------------------------------------

AWKWARD = [
    "$x^2_{a}$ < > \\frac",
    "_Z6kernelPf",
    "核函数 ядро",
    "λ" * 2800,
    "operator()<" + "T, " * 930 + ">",
    "a\nb\tc",
    "",
]


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_names_are_drawn_as_they_are(name, tmp_path):
    awkward = kernel(name, note="run $2$")
    for figure in (
        hierarchical([h200()], [awkward], PlotOptions(title=name, subtitle=name)),
        multi([h200()], [awkward, kernel()]),
        multi([h200()], [awkward, *spread(9)], HBM_ONLY),
    ):
        for suffix in ("png", "svg", "pdf"):
            save(figure, tmp_path / f"figure.{suffix}")
        for text in figure.findobj(Text):
            if text.get_gid() != "ceiling-label":
                box = Text.get_window_extent(text)
                assert box.width == 0 or box.x1 <= figure.bbox.x1 + 1


def test_dollars_reach_the_svg_as_text(tmp_path):
    save(hierarchical([h200()], [kernel("cost_$a$_<b>")]), tmp_path / "figure.svg")
    svg = (tmp_path / "figure.svg").read_text()
    assert ">cost_$a$_&lt;b&gt;</text>" in svg


def test_long_names_keep_both_ends():
    (title,) = texts(hierarchical([h200()], [kernel("begin" + "x" * 2790 + "finis")]), "title")
    assert title.startswith("begin")
    assert title.endswith("finis")
    assert "…" in title


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")]
)
def test_save_writes_the_format_of_the_suffix(tmp_path, suffix, magic):
    path = tmp_path / f"figure.{suffix}"
    save(hierarchical([h200()], [kernel()]), path)
    assert path.read_bytes().startswith(magic)
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_input_gives_the_same_file(tmp_path, suffix):
    for name in ("one", "two"):
        save(multi([h200()], spread(12)), tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_png_has_print_resolution(tmp_path):
    save(hierarchical([h200()], [kernel()]), tmp_path / "figure.png")
    header = (tmp_path / "figure.png").read_bytes()[16:24]
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")
    assert width >= 7.0 * 200
    assert height >= 4.6 * 200


@pytest.mark.parametrize("name", ["figure.jpg", "figure", "figure.png.gz"])
def test_another_suffix_is_an_error_that_names_the_three(tmp_path, name):
    with pytest.raises(InputError) as caught:
        save(Figure(), tmp_path / name)
    assert all(suffix in caught.value.hint for suffix in (".png", ".svg", ".pdf"))
    assert not names(tmp_path)


def test_a_failed_save_leaves_the_old_file_and_no_temporary(tmp_path):
    path = tmp_path / "figure.png"
    path.write_text("old")

    class Broken(Figure):
        def savefig(self, target, **_):
            Path(target).write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space left"):
        save(Broken(), path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["figure.png"]


def test_a_folder_that_is_not_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot write the figure"):
        save(hierarchical([h200()], [kernel()]), tmp_path / "no" / "figure.png")


def test_global_settings_neither_change_nor_count(tmp_path):
    save(multi([h200()], spread(9)), tmp_path / "one.svg")
    with mpl.rc_context(
        {"font.size": 20, "axes.facecolor": "black", "font.family": "monospace", "text.parse_math": True}
    ):
        before = dict(mpl.rcParams)
        save(multi([h200()], spread(9)), tmp_path / "two.svg")
        assert dict(mpl.rcParams) == before
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize("levels", [("hbm", "l2"), ("l2", "hbm"), ("hbm", "l1", "l2")])
def test_coinciding_points_stay_visible_in_any_order_of_levels(levels: tuple[str, ...]) -> None:
    figure = multi([h200()], [kernel()], PlotOptions(levels=levels))
    drawn = [line for line in figure.axes[0].get_lines() if str(line.get_gid()).startswith("point-")]
    assert len(drawn) == len(levels)
    sizes = [line.get_markersize() for line in drawn]
    assert sizes == sorted(sizes, reverse=True)


# --- the FLOP model ----------------------------------------------------------------------------------------------------


def flop_h200(basis="theoretical", scale=1.0, works=("bf16_tc", "fp32", "fp64_tc", "fp64")):
    rates = {"bf16_tc": 989e12, "fp32": 66.9e12, "fp64_tc": 66.5e12, "fp64": 33.5e12}
    peaks = [Peak(rates[work] * scale, basis, work=work) for work in works]
    bandwidths = tuple(Bandwidth(level, b * scale, basis) for level, b in BANDWIDTHS.items())
    return Roofline("NVIDIA H200", peaks[0], bandwidths, model="flop", others=tuple(peaks[1:]))


def operations(work, intensity, rate, **more):
    points = tuple(Point(level, 1e6, intensity * i, rate, work=work) for i, level in enumerate(("l1", "l2", "hbm"), 1))
    return KernelPoints("gemm", "gemm", points, work=work, **more)


def test_every_type_has_its_line_and_lines_at_one_height_share_a_name():
    figure = multi([flop_h200()], [operations("bf16_tc", 300.0, 700e12), operations("fp32", 3.0, 5e12)])
    heights = sorted(line.get_ydata()[0] for line in lines(figure, "peak-theoretical"))
    faces = {line.get_markerfacecolor() for line in lines(figure, "point")}
    assert faces == {
        line.get_color() for line in lines(figure, "peak-theoretical") if line.get_ydata()[0] in (989, 66.9)
    }
    assert heights == pytest.approx([33.5, 66.5, 66.9, 989.0])
    labels = artists(figure, "ceiling-label")
    assert {"BF16 tensor\n989 TFLOP/s", "FP32, FP64 tensor\n66.9 TFLOP/s", "FP64\n33.5 TFLOP/s"} <= {
        label.get_text() for label in labels
    }
    ax = figure.axes[0]
    beside = [label.get_window_extent() for label in labels if "\n" in label.get_text()]
    assert all(ax.get_window_extent().x1 < box.x0 and box.x1 <= figure.bbox.x1 for box in beside)
    assert not any(overlapping(a, b) for a, b in itertools.combinations(beside, 2))
    assert ax.get_xlim()[1] == pytest.approx(max(989e12 / BANDWIDTHS["hbm"], 900.0) * 10)
    assert ax.get_xlabel().startswith("Arithmetic intensity")
    assert ax.get_ylabel() == "Performance (TFLOP/s)"
    assert texts(figure, "title") == ["FLOP roofline"]


def test_close_peaks_share_a_text_with_both_rates():
    measured = Roofline(
        "g", Peak(863e12, "measured", work="bf16_tc"), h200().bandwidths, model="flop", others=(Peak(832e12, "measured", work="fp16_tc"), Peak(66e12, "measured", work="fp32"))
    )  # fmt: skip
    theory = Roofline(
        "g", Peak(1070e12, "theoretical", work="bf16_tc"), h200().bandwidths, model="flop", others=(Peak(1070e12, "theoretical", work="fp16_tc"), Peak(66.9e12, "theoretical", work="fp32"))
    )  # fmt: skip
    figure = multi([measured, theory], [operations("fp16_tc", 300.0, 700e12)], HBM_ONLY)
    assert {"BF16, FP16 tensor\n832–863 of 1070 TFLOP/s", "FP32\n66.0 of 66.9 TFLOP/s"} <= set(
        texts(figure, "ceiling-label")
    )


def test_a_line_begins_at_its_own_ridge_and_slopes_reach_the_highest():
    figure = multi([flop_h200(works=("bf16_tc", "fp64"))], [operations("fp64", 3.0, 5e12)], HBM_ONLY)
    starts = {line.get_ydata()[0]: line.get_xdata()[0] for line in lines(figure, "peak-theoretical")}
    assert starts[33.5] == pytest.approx(33.5e12 / 4.814304e12)
    (slope,) = lines(figure, "ceiling-theoretical-hbm")
    assert slope.get_xdata()[1] == pytest.approx(989e12 / 4.814304e12)


def test_a_point_is_compared_with_the_peak_of_its_own_type():
    figure = hierarchical([flop_h200()], [operations("fp64", 1000.0, 30e12)], HBM_ONLY)
    assert texts(figure, "label") == ["HBM 90 %"]
    assert texts(figure, "title") == ["gemm (FP64)"]


def test_types_of_one_kernel_are_distinguished_in_a_hierarchical_picture():
    mixed = [operations("bf16_tc", 300.0, 700e12), operations("fp32", 3.0, 5e12)]
    figure = hierarchical([flop_h200()], mixed, HBM_ONLY)
    assert {label.rpartition(" HBM")[0] for label in texts(figure, "label")} == {"BF16 tensor", "FP32"}
    with pytest.raises(InputError, match="2 were chosen"):
        hierarchical([flop_h200()], [mixed[0], replace(mixed[0], kernel="other")], HBM_ONLY)


def test_a_type_without_a_peak_is_a_footnote():
    roofline = replace(flop_h200(works=("fp64",)), absent={"fp32": "the FP32 peak was not measured on this GPU"})
    figure = multi([roofline], [operations("fp32", 3.0, 5e12)], HBM_ONLY)
    assert "no FP32 ceiling: the FP32 peak was not measured on this GPU" in texts(figure, "footnote")


# --- ridges, predication and spread --------------------------------------------------------------------------------------


def test_ridge_points_of_measured_ceilings_are_filled_and_theoretical_ones_hollow():
    figure = hierarchical([h200(), h200("measured", 0.9)], [kernel()], HBM_ONLY)
    by_gid = {line.get_gid(): line for line in lines(figure, "ridge")}
    assert by_gid["ridge-theoretical"].get_xdata()[0] == pytest.approx(HBM_RIDGE)
    assert by_gid["ridge-theoretical"].get_markerfacecolor() == "white"
    assert by_gid["ridge-measured"].get_ydata()[0] == pytest.approx(PEAK * 0.9 / 1e9)
    assert by_gid["ridge-measured"].get_markerfacecolor() != "white"


def test_each_of_many_points_has_its_issued_line():
    rate = 16_252_928 / 181.6e-6
    divergent = kernel("divergent", issued_per_second=rate * 4)
    figure = multi([h200()], [divergent, kernel("full", issued_per_second=rate)], HBM_ONLY)
    (line,) = lines(figure, "issued")
    assert line.get_ydata().tolist() == pytest.approx([rate * 4 / 1e9] * 2)
    assert line.get_xdata()[0] < 0.66 < line.get_xdata()[1]
    assert "issued warp instructions" in legend_texts(figure)


def bars(figure):
    return [c for c in figure.axes[0].collections if c.get_gid() == "spread"]


def test_error_bars_only_when_asked_for():
    rate = 16_252_928 / 181.6e-6
    ranged = kernel(rates=Spread(rate / 2, rate * 1.5))
    assert not bars(hierarchical([h200()], [ranged], HBM_ONLY))
    (bar,) = bars(hierarchical([h200()], [ranged], replace(HBM_ONLY, spread=True)))
    (segment,) = bar.get_segments()
    assert [y for _, y in segment] == pytest.approx([rate / 2e9, rate * 1.5e-9])


def test_a_kernel_without_a_range_says_why():
    figure = hierarchical([h200()], [kernel(no_spread="one launch")], replace(HBM_ONLY, spread=True))
    assert not bars(figure)
    assert "no spread for triad: one launch" in texts(figure, "footnote")


def test_points_of_issued_instructions_have_the_thread_line_below():
    rate = 16_252_928 / 181.6e-6
    figure = hierarchical([h200()], [kernel(issued_per_second=rate, threads_per_second=rate / 4)])
    (line,) = lines(figure, "issued")
    assert line.get_ydata().tolist() == pytest.approx([rate / 4e9] * 2)
    assert "thread instructions / 32 (75 % lost)" in legend_texts(figure)


def test_the_rate_under_the_power_limit_is_a_thin_line_with_a_footnote():
    held = Sustained(863e12, Clock(1.6e9, "sm"))
    peak = Peak(1068e12, "measured", Clock(1.98e9, "sm"), work="bf16_tc", sustained=held)
    figure = multi([replace(flop_h200(), peak=peak, others=())], [operations("bf16_tc", 300.0, 700e12)], HBM_ONLY)
    assert texts(figure, "footnote") == ["sustained (power limit): BF16 tensor 863 TFLOP/s at 1.60 GHz"]
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert "sustained (power limit)" in [entry.get_text() for entry in legend.get_texts()]
    lines = {line.get_gid(): line for line in figure.axes[0].get_lines()}
    thin, full = lines["sustained-bf16_tc"], lines["peak-measured"]
    assert list(thin.get_ydata()) == [863, 863]
    assert list(full.get_ydata()) == [1068, 1068]
    assert thin.get_linewidth() < full.get_linewidth() / 2


def test_a_peak_that_the_power_limit_leaves_alone_has_no_second_line():
    peak = Peak(
        66.6e12, "measured", Clock(1.98e9, "sm"), work="fp64_tc", sustained=Sustained(66e12, Clock(1.96e9, "sm"))
    )
    figure = multi([replace(flop_h200(), peak=peak, others=())], [operations("fp64_tc", 300.0, 60e12)], HBM_ONLY)
    assert not any((line.get_gid() or "").startswith("sustained") for line in figure.axes[0].get_lines())


def test_a_theoretical_peak_among_measured_ones_is_a_footnote():
    peak = Peak(2141e12, "theoretical", Clock(1.98e9, "sm"), work="bf16_sparse_tc")
    bandwidths = (Bandwidth("hbm", 4.7e12, "measured"),)
    roofline = replace(flop_h200(), peak=peak, others=(), bandwidths=bandwidths)
    figure = multi([roofline], [operations("bf16_sparse_tc", 300.0, 1800e12)], HBM_ONLY)
    assert texts(figure, "footnote") == ["BF16 2:4 tensor: theoretical peak, no calibration measures it"]


# --- looks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [6, 30])
@pytest.mark.parametrize("legend", ["auto", "right", "below", "none"])
@pytest.mark.parametrize("size", [(3.4, 3.1), (7.0, 4.6)])
def test_legend_and_table_stay_in_the_figure_and_apart(count, legend, size):
    figure = multi([h200(), h200("measured", 0.9)], spread(count), replace(HBM_ONLY, legend=legend, size=size))
    figure.canvas.draw()
    drawn = figure.axes[0].get_legend()
    assert (drawn is None) == (legend == "none")
    areas = [*boxes(figure, "table"), *boxes(figure, "footnote"), figure.axes[0].xaxis.label.get_window_extent()]
    areas += [drawn.get_window_extent()] if drawn else []
    assert all(a.x0 >= 0 and a.y0 >= 0 and a.x1 <= figure.bbox.x1 and a.y1 <= figure.bbox.y1 for a in areas)
    assert not any(overlapping(a, b) for a, b in itertools.combinations(areas, 2))
    if legend == "none":
        assert not boxes(figure, "table")


def test_limits_of_the_user_and_what_lies_beyond():
    kernels = [replace(k, time_share=0.01) for k in spread(12)]
    figure = multi([h200()], kernels, replace(HBM_ONLY, xlim=(20.0, 30.0), ylim=(50.0, 2000.0), labeled=2))
    ax = figure.axes[0]
    assert (ax.get_xlim(), ax.get_ylim()) == ((20.0, 30.0), (50.0, 2000.0))
    inside = [
        k for k in kernels if 20 <= k.point("hbm").intensity <= 30 and 50e9 <= k.point("hbm").per_second <= 2000e9
    ]
    assert len(lines(figure, "point")) == len(inside) < 12
    assert len(lines(figure, "outlier")) == len([k for k in kernels[:2] if k not in inside])
    hidden = len([k for k in kernels[2:] if k not in inside])
    assert any(line.startswith(f"{hidden} points without a label") for line in texts(figure, "footnote"))


def test_zones_end_at_the_ridge_of_the_outermost_level():
    assert not [c for c in multi([h200()], spread(3)).axes[0].collections if "zone" in (c.get_gid() or "")]
    figure = multi([h200()], spread(3), PlotOptions(zones=True))
    zones = {c.get_gid(): c.get_paths()[0].get_extents() for c in figure.axes[0].collections}
    assert zones["zone-memory bound"].x1 == pytest.approx(HBM_RIDGE)
    assert zones["zone-compute bound"].x0 == pytest.approx(HBM_RIDGE)
    assert zones["zone-memory bound"].y1 == pytest.approx(PEAK / 1e9)


def test_without_a_title_the_axes_start_higher():
    plain, bare = (multi([h200()], spread(3), PlotOptions(title=title)) for title in (None, ""))
    assert texts(bare, "title") == []
    assert bare.axes[0].get_position().y1 > plain.axes[0].get_position().y1


# Linear RGB to linear RGB as a person with the deficiency sees it, severity 1.0:
# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, IEEE TVCG 15 (2009) 1291.
DEFICIENCIES = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def _lab(color, matrix=None):
    """CIE L*a*b* of an sRGB colour (D65), as seen through ``matrix``."""
    rgb = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in mpl.colors.to_rgb(color)]
    if matrix:
        rgb = [min(1.0, max(0.0, sum(w * c for w, c in zip(row, rgb, strict=True)))) for row in matrix]
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = [sum(w * c for w, c in zip(row, rgb, strict=True)) for row in to_xyz]
    x, y, z = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116
               for t in (v / white for v, white in zip(xyz, (0.9505, 1.0, 1.089), strict=True)))  # fmt: skip
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
def test_colours_of_the_first_kernels_differ_for_every_kind_of_vision(deficiency):
    seen = [_lab(color, DEFICIENCIES.get(deficiency)) for color in KERNEL_COLORS[:8]]
    assert min(math.dist(a, b) for a, b in itertools.combinations(seen, 2)) > 12


def test_colours_of_three_gpus_differ_in_grey():
    lightness = [_lab(hue)[0] for hue in group_hues(3)]
    assert min(abs(a - b) for a, b in itertools.combinations(lightness, 2)) > 20
    with pytest.raises(InputError, match="at most 6"):
        group_hues(7)


def test_in_grey_a_picture_of_many_kernels_is_read_by_numbers():
    # Ten colours cannot all differ in lightness: each labeled kernel has its number at its points and in the table.
    figure = multi([h200()], spread(20, twins=False), HBM_ONLY)
    numbers = {n for label in texts(figure, "number") for n in label.split(", ")}
    assert set(texts(figure, "table-number")) <= numbers
    assert REST not in KERNEL_COLORS
    assert len(set(mpl.colors.to_rgb(REST))) == 1
