"""Ceilings and points are chosen apart; colour, marker and label belong to levels as well as to kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from roofctl.cli.main import cli
from roofctl.core.errors import InputError
from roofctl.plots.style import LevelStyle, PlotOptions, ceiling_look, level_look
from roofctl.plots.style_file import load_style, restyle
from roofctl.roofline.model import KernelPoints

CAPTURE = str(Path(__file__).parent.parent / "data" / "captures-h200" / "known")


def drawn(tmp_path: Path, *options: str) -> str:
    target = tmp_path / "picture.svg"
    done = CliRunner().invoke(cli, ["plot", CAPTURE, *options, "-o", str(target), "--force"])
    assert done.exit_code == 0, done.output
    return target.read_text(encoding="utf-8")


def levels(svg: str, kind: str) -> set[str]:
    return {name for name in ("l1", "l2", "hbm") if f'id="{kind}{name}"' in svg}


def test_points_of_one_level_under_three_roofs(tmp_path: Path) -> None:
    three = ["--ceiling-level", "l1", "--ceiling-level", "l2", "--ceiling-level", "dram"]
    svg = drawn(tmp_path, "--mode", "multi", "--top", "4", "--level", "hbm", *three)
    assert levels(svg, "point-") == {"hbm"}
    assert levels(svg, "ceiling-measured-") == {"l1", "l2", "hbm"}


def test_the_distance_is_drawn_to_roofs_in_the_picture_only(tmp_path: Path) -> None:
    svg = drawn(tmp_path, "--kernel", "triad", "--level", "l1", "--ceiling-level", "hbm")
    assert levels(svg, "point-") == {"l1"}
    assert levels(svg, "ceiling-measured-") == {"hbm"}
    assert 'id="headroom"' not in svg


def test_without_a_choice_roofs_are_those_of_the_points(tmp_path: Path) -> None:
    svg = drawn(tmp_path, "--kernel", "triad", "--level", "l2")
    assert levels(svg, "ceiling-measured-") == levels(svg, "point-") == {"l2"}


@pytest.mark.parametrize("other", [["--walls", "global"], ["--mode", "time"]])
def test_other_pictures_have_no_such_choice(other: list[str]) -> None:
    done = CliRunner().invoke(cli, ["plot", CAPTURE, *other, "--ceiling-level", "l2"])
    assert done.exit_code == 2
    assert "--ceiling-level belongs to rooflines" in done.output


def test_options_restyle_levels_and_kernels() -> None:
    kernels = [KernelPoints("l2", "l2", ())]
    options = PlotOptions()
    for attribute, entry in (
        ("color", "l1=tab:red"),
        ("marker", "dram=D"),
        ("label", "HBM=HBM3e"),
        ("label", "l2=mine"),
    ):
        options = restyle(options, attribute, entry, kernels)
    assert options.level_styles == {"l1": LevelStyle(color="tab:red"), "hbm": LevelStyle(marker="D", label="HBM3e")}
    assert options.kernels["l2"].label == "mine"  # a kernel goes before a level of its name
    with pytest.raises(InputError, match="'l4', which is not drawn") as caught:
        restyle(options, "color", "l4=red", kernels)
    assert "a level such as l2" in caught.value.hint
    with pytest.raises(InputError, match="cannot be drawn"):
        restyle(options, "marker", "l1=blob", kernels)


def test_a_chosen_color_holds_where_lines_are_grey() -> None:
    options = PlotOptions(level_styles={"l2": LevelStyle(color="tab:red")})
    assert ceiling_look("l2", options, colored=False).color == "tab:red"
    assert ceiling_look("l1", options, colored=False).color != level_look("l1", options).color


def test_the_style_of_the_documentation(tmp_path: Path) -> None:
    docs = (Path(__file__).parent.parent.parent / "docs" / "rooflines.md").read_text(encoding="utf-8")
    path = tmp_path / "style.yaml"
    path.write_text(docs.partition("```yaml style.yaml\n")[2].partition("```")[0], encoding="utf-8")
    options = load_style(path)
    assert (options.title, options.subtitle) == ("Before and after", "H200, two versions")
    assert (options.size, options.legend_rows) == ((7.0, 4.6), 20)
    assert options.kernels["known_triad"].label == "STREAM triad"
    assert options.level_styles == {"hbm": LevelStyle("#555555", "^", "HBM3e"), "l2": LevelStyle("tab:red")}
    svg = drawn(tmp_path, "--kernel", "triad", "--style", str(path))
    assert "stroke: #d62728" in svg  # tab:red, of the L2


def test_a_level_of_ones_own_has_a_look() -> None:
    options = PlotOptions(levels=("link",), own_levels=("link", "disk"))
    assert level_look("link", options) != level_look("disk", options)
