"""Kernels before and after a change on one roofline."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from roofctl.core.errors import InputError
from roofctl.plots.arrows import Move, arrows
from roofctl.plots.history import HistoryPoint, draw_history
from roofctl.plots.style import KERNEL_COLORS, REST, PlotOptions
from roofctl.roofline.model import KernelPoints

from support.figures import h200, kernel, legend_texts, lines, texts

HBM = PlotOptions(levels=("hbm",), legend="below")
SLOW = kernel("k", seconds=1e-3)
FAST = kernel("k", seconds=200e-6)


def drawn(moves: Sequence[Move], labels: Sequence[str] = ("old", "new"), **options: object) -> Figure:
    return arrows([h200()] * len(labels), labels, moves, options.pop("options", HBM))  # type: ignore[arg-type]


def arrow_lines(figure: Figure) -> list[Annotation]:
    return [each for each in figure.axes[0].texts if isinstance(each, Annotation) and each.get_gid() == "arrow"]


def test_hollow_before_filled_after_and_an_arrow_from_one_to_the_other() -> None:
    figure = drawn([Move("k", (SLOW, FAST))])
    (before,), (after,) = lines(figure, "before"), lines(figure, "after")
    assert before.get_markerfacecolor() == "white"
    assert before.get_markeredgecolor() == after.get_markerfacecolor() == KERNEL_COLORS[0]
    (arrow,) = arrow_lines(figure)
    assert arrow.xy == (after.get_xdata()[0], after.get_ydata()[0])  # type: ignore[index]
    assert arrow.xyann == (before.get_xdata()[0], before.get_ydata()[0])  # type: ignore[index]
    assert texts(figure, "name") == ["k"]
    assert legend_texts(figure) == ["before: old", "after: new"]
    assert texts(figure, "title") == ["old → new"]


def test_a_renamed_kernel_has_both_names() -> None:
    figure = drawn([Move("padded", (SLOW, FAST), former="naive")])
    assert sorted(texts(figure, "name")) == ["naive", "padded"]


def test_new_and_gone_kernels_have_no_arrow() -> None:
    figure = drawn([Move("a", (None, FAST)), Move("b", (kernel("b", seconds=4e-3), None))])
    assert arrow_lines(figure) == []
    assert sorted(texts(figure, "name")) == ["a (new)", "b (gone)"]


def test_kernels_within_noise_are_grey_and_have_no_name() -> None:
    figure = drawn([Move("quiet", (SLOW, SLOW), labeled=False), Move("k", (SLOW, FAST))])
    assert [line.get_markerfacecolor() for line in lines(figure, "after")] == [REST, KERNEL_COLORS[0]]
    assert texts(figure, "name") == ["k"]
    assert "1 others, within noise" in legend_texts(figure)


def test_a_step_shorter_than_the_markers_has_no_arrow() -> None:
    assert arrow_lines(drawn([Move("k", (SLOW, kernel("k", seconds=1.02e-3)))])) == []


def test_of_many_kernels_numbers_stand_in_the_legend() -> None:
    moves = [
        Move(f"k{i}", (kernel(f"k{i}", seconds=s), kernel(f"k{i}", seconds=s / 3)))
        for i, s in enumerate(300e-6 * 1.3**n for n in range(10))
    ]
    figure = drawn(moves)
    assert texts(figure, "name") == []
    assert legend_texts(figure)[2:] == [f"{i + 1}  k{i}" for i in range(10)]


def test_roofs_of_other_clocks_are_drawn_too() -> None:
    figure = arrows([h200(scale=0.75), h200()], ["slow", "fast"], [Move("k", (SLOW, FAST))], HBM)
    (roof,) = lines(figure, "other-roof")
    assert max(roof.get_ydata()) == pytest.approx(h200(scale=0.75).peaks[0].per_second / 1e9)
    assert "roof of slow" in legend_texts(figure)
    assert lines(drawn([Move("k", (SLOW, FAST))]), "other-roof") == []


def test_three_captures_are_a_path() -> None:
    figure = drawn([Move("k", (SLOW, kernel("k", seconds=500e-6), FAST))], ("a", "b", "c"))
    assert len(arrow_lines(figure)) == 2
    assert legend_texts(figure) == ["before: a", "between: b", "after: c"]


def test_without_a_point_there_is_no_picture() -> None:
    nothing = KernelPoints("k", "k", ())
    with pytest.raises(InputError, match="no kernel has a point at HBM"):
        drawn([Move("k", (nothing, nothing))])


# --- history ------------------------------------------------------------------------------


def point(label: str, seconds: float | None, **more: object) -> HistoryPoint:
    given = {"low": None, "high": None, "use": 0.5, "limit": "HBM", "machine": "H200, 2 GHz", **more}
    return HistoryPoint(label, seconds, **given)  # type: ignore[arg-type]


def test_history_joins_points_of_one_machine_only() -> None:
    points = [point("a", 1e-4), point("b", 2e-4), point("c", 3e-4, machine="A100, 1 GHz"), point("d", None)]
    figure = draw_history("k", points)
    first, second, third = lines(figure, "time")
    assert list(first.get_ydata()) == pytest.approx([100, 200])
    assert list(second.get_xdata()) == [2]
    assert list(third.get_xdata()) == []
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["H200, 2 GHz", "A100, 1 GHz"]
    assert figure.axes[0].get_ylim()[0] == 0


def test_history_names_a_limit_where_it_changes() -> None:
    figure = draw_history("k", [point("a", 1e-4), point("b", 1e-4), point("c", 1e-4, limit="L1")])
    named = [each.get_text() for each in figure.axes[1].texts if each.get_gid() == "limit"]
    assert named == ["HBM", "L1"]


def test_history_needs_a_time() -> None:
    with pytest.raises(InputError, match="has no time"):
        draw_history("k", [point("a", None)])
