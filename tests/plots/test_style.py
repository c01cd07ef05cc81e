"""The style file, and the text helpers below the figures."""

from __future__ import annotations

import pytest

from roofctl.core.errors import InputError
from roofctl.plots import text
from roofctl.plots.axes import tick_writer
from roofctl.plots.style import KernelStyle, LevelStyle, PlotOptions
from roofctl.plots.style_file import load_look, load_style, set_look
from roofctl.plots.text import percent

FULL = """
title: Triad
subtitle: H200
size: [6, 4.5]
legend_rows: 20
kernels:
  triad: {label: Triad, color: "#0072B2", marker: o}
  "copy(float*)": {label: Copy}
levels:
  hbm: {color: "tab:green", marker: "^"}
  l2: {label: second level}
"""


def written(tmp_path, content):
    path = tmp_path / "style.yaml"
    path.write_text(content, encoding="utf-8")
    return path


def test_a_full_style_file(tmp_path):
    base = PlotOptions(title="old", levels=("hbm",), kernels={"kept": KernelStyle(label="Kept")})
    options = load_style(written(tmp_path, FULL), base)
    assert (options.title, options.subtitle, options.size, options.legend_rows) == ("Triad", "H200", (6.0, 4.5), 20)
    assert options.levels == ("hbm",)
    assert options.kernels == {
        "kept": KernelStyle("Kept"),
        "triad": KernelStyle("Triad", "#0072B2", "o"),
        "copy(float*)": KernelStyle("Copy"),
    }
    assert options.level_styles == {"hbm": LevelStyle("tab:green", "^"), "l2": LevelStyle(label="second level")}


def test_an_empty_file_changes_nothing(tmp_path):
    assert load_style(written(tmp_path, "")) == PlotOptions()


@pytest.mark.parametrize(
    ("content", "key", "expected"),
    [
        ("titel: x", "titel", "title, subtitle, size"),
        ("title: 3", "title: seen 3", "text"),
        ("- a", "the file: seen ['a']", "mapping"),
        ("size: [6]", "size: seen [6]", "inches"),
        ("size: [6, 0]", "size", "2 to 40"),
        ("size: 6x9furlong", "size", "3.4x2.6in"),
        ("dpi: 9", "dpi: seen 9", "50 to 1200"),
        ("font: Nope", "font: seen 'Nope'", "a font"),
        ("xlim: [5, 1]", "xlim", "the lower first"),
        ("ylim: a,b", "ylim: seen 'a,b'", "positive"),
        ("legend: left", "legend: seen 'left'", "below"),
        ("labeled: 0", "labeled: seen 0", "1 or more"),
        ("zones: 1", "zones: seen 1", "true or false"),
        ("width: 1in", "width: seen '1in'", "column"),
        ("size: [6, true]", "size", "inches"),
        ("legend_rows: 0", "legend_rows: seen 0", "1 or more"),
        ("kernels: [a]", "kernels", "mapping"),
        ("kernels: {1: {}}", "kernels.1", "quotes"),
        ("kernels: {a: {colour: red}}", "kernels.a.colour", "label, color, marker"),
        ("kernels: {a: {label: 3}}", "kernels.a.label: seen 3", "text"),
        ("kernels: {a: {color: blurple}}", "kernels.a.color: seen 'blurple'", "#0072B2"),
        ("kernels: {a: {color: none}}", "kernels.a.color", "color"),
        ("kernels:\n  a:\n    color: #0072B2", "kernels.a.color: seen None", "in quotes"),
        ("kernels: {a: {marker: blob}}", "kernels.a.marker: seen 'blob'", "filled markers"),
        ("kernels: {a: {marker: x}}", "kernels.a.marker: seen 'x'", "filled markers"),
        ("kernels: {a: {marker: 4}}", "kernels.a.marker: seen 4", "filled markers"),
        ("levels: {dram: {}}", "levels.dram", "l1, l2, hbm"),
        ("levels: {hbm: {label: 3}}", "levels.hbm.label: seen 3", "text"),
        ("levels: {hbm: {size: 3}}", "levels.hbm.size", "label, color, marker"),
        ("a: [", "not YAML", "line"),
    ],
)
def test_errors_name_file_key_seen_and_expected(tmp_path, content, key, expected):
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        load_style(path)
    assert str(path) in str(caught.value)
    assert key in str(caught.value)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_looks_of_the_command_line_and_of_presets():
    options = PlotOptions()
    for key, value in {"size": "86x60mm", "dpi": 300, "xlim": "0.1,100", "legend": "below", "labeled": 3}.items():
        options = set_look(options, key, value)
    assert options.size == pytest.approx((86 / 25.4, 60 / 25.4))
    assert (options.dpi, options.xlim, options.legend, options.labeled) == (300, (0.1, 100.0), "below", 3)
    assert set_look(PlotOptions(), "width", "column").size == pytest.approx((3.4, 3.1))
    assert set_look(PlotOptions(), "width", "14in").size == pytest.approx((14.0, 9.2))
    assert [load_look(name, PlotOptions()).dpi for name in ("paper", "talk", "notebook")] == [300, 300, 110]
    with pytest.raises(InputError, match="--size 'big' cannot be used") as caught:
        set_look(PlotOptions(), "size", "big")
    assert "3.4x2.6in" in caught.value.hint


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot read the style file"):
        load_style(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match="not YAML"):
        load_style(tmp_path / "binary.yaml")


def test_plain_text_is_one_line_of_known_characters():
    assert text.plain("a\n b\t核µ…") == "a b □µ…"


@pytest.mark.parametrize("limit", [20.0, 60.0, 200.0])
def test_elided_text_fits_and_keeps_both_ends(limit):
    name = "first" + "m" * 2790 + "last"
    short = text.elide(name, 8.0, limit)
    assert text.width(short, 8.0) <= limit
    assert short.startswith("f")
    assert "…" in short
    assert text.elide("short", 8.0, 200.0) == "short"


def test_listing_joins_runs():
    assert text.listing([3, 9, 7]) == "3, 7, 9"
    assert text.listing([5, 1, 2, 3, 8, 9, 9]) == "1–3, 5, 8, 9"


@pytest.mark.parametrize(
    ("decades", "shown"),
    [
        (range(-3, 4), ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]),
        (range(2, 5), ["10²", "10³", "10⁴"]),
        ((-4, 0), ["10⁻⁴", "10⁰"]),
    ],
)
def test_ticks(decades, shown):
    write = tick_writer(decades)
    assert [write(10.0**decade) for decade in decades] == shown


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0.82, "82 %"), (1.98, "198 %"), (0.0999, "10 %"), (0.0412, "4.1 %"), (0.0001, "<0.1 %"), (0.0, "0.0 %")],
)
def test_percentages(fraction, shown):
    assert percent(fraction) == shown
