"""Pictures of captures at different clocks and of different GPUs: no roof at a clock that nothing ran at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from roofctl.cli.main import main
from roofctl.core.errors import InputError
from roofctl.output.picture import PictureRequest, in_terminal, picture
from roofctl.output.several import groups_of
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_each_gpu

from support.figures import legend_texts, lines, texts
from support.shapes import FULL, L, ncu_raw, write

H200 = {"device__attribute_display_name": "NVIDIA H200", "launch__sm_count": 132}
V100 = {"device__attribute_display_name": "Tesla V100-SXM2-16GB", "launch__sm_count": 80}
CLOCK = "sm__cycles_elapsed.avg.per_second"
NAMES = ("copy(int)", "triad(int)", "scale(int)")


def capture(names: Sequence[str], *, cc: str = "9.0", **counters: object) -> str:
    return ncu_raw([L(name, {**FULL, **counters}, id=str(n), cc=cc) for n, name in enumerate(names)])


def analysed(paths: Sequence[Path], **choices: object) -> tuple[Analysis, ...]:
    return analyse_each_gpu(AnalysisRequest(inputs=tuple(paths), advice=False, **choices))  # type: ignore[arg-type]


@pytest.fixture
def clocks(tmp_path: Path) -> list[Path]:
    slow, fast = capture(NAMES, **H200), capture(NAMES, **H200, **{CLOCK: 1_900_000_000})
    return write(tmp_path, slow=slow, fast=fast)


@pytest.fixture
def gpus(tmp_path: Path) -> list[Path]:
    return write(tmp_path, new=capture(NAMES, **H200), old=capture(NAMES, **V100, cc="7.0"))


def peaks(figure) -> list[float]:
    return sorted(float(line.get_ydata()[0]) for line in lines(figure, "peak-"))


def test_captures_at_two_clocks_have_a_roof_each_in_its_colour(clocks: list[Path]) -> None:
    (one,) = analysed(clocks, ceilings="theoretical")
    figure = picture(one, PictureRequest()).figure()
    assert peaks(figure) == pytest.approx([132 * 4 * 1.5, 132 * 4 * 1.9])
    roofs = {line.get_color() for line in lines(figure, "peak-")}
    points = {line.get_markerfacecolor() for line in lines(figure, "point-")}
    assert len(roofs) == 2
    assert roofs == points
    assert legend_texts(figure)[:2] == ["SM 1.500 GHz", "SM 1.900 GHz"]
    assert any("SM 1.500 GHz to 1.900 GHz, each at its own" in text for text in texts(figure, "subtitle"))


def test_panels_share_their_limits_and_the_colours_of_kernels(clocks: list[Path]) -> None:
    (one,) = analysed(clocks, ceilings="theoretical")
    figure = picture(one, PictureRequest(panels=True)).figure()
    first, second = figure.axes
    assert (first.get_xlim(), first.get_ylim()) == (second.get_xlim(), second.get_ylim())
    assert texts(figure, "panel") == ["SM 1.500 GHz", "SM 1.900 GHz"]
    assert texts(figure, "table-number") == ["1", "2", "3"]
    of_panel = [
        {line.get_markerfacecolor() for line in ax.get_lines() if str(line.get_gid()).startswith("point-")}
        for ax in figure.axes
    ]
    assert of_panel[0] == of_panel[1]
    assert len(of_panel[0]) == 3


def test_panels_of_one_clock_are_of_the_captures(tmp_path: Path) -> None:
    paths = write(tmp_path, a=capture(NAMES, **H200), b=capture(NAMES, **H200))
    (one,) = analysed(paths)
    figure = picture(one, PictureRequest(panels=True)).figure()
    assert [Path(text).name for text in texts(figure, "panel")] == [path.name for path in paths]


def test_normalized_points_are_at_the_percentage_of_their_own_roof(clocks: list[Path]) -> None:
    (one,) = analysed(clocks, ceilings="theoretical")
    figure = picture(one, PictureRequest(normalize=True)).figure()
    assert peaks(figure) == [100.0]
    seen = sorted({round(float(line.get_ydata()[0]), 6) for line in lines(figure, "point-hbm")})
    expected = sorted(
        {
            round(
                100
                * each.result.points.point("hbm").per_second
                / one.machine.at_clock_of(each.result.kernel.sources).instruction.attainable(
                    "hbm", each.result.points.point("hbm").intensity
                ),
                6,
            )
            for each in one.results.explained
        }
    )
    assert seen == expected
    assert figure.axes[0].get_ylabel() == "Percent of the kernel's own roof"
    with pytest.raises(InputError, match="whiskers"):
        picture(one, PictureRequest(normalize=True, spread=True)).figure()


def test_two_gpus_have_a_roof_each(gpus: list[Path]) -> None:
    first, *others = analysed(gpus, ceilings="theoretical")
    figure = picture(first, PictureRequest(), others).figure()
    assert len(peaks(figure)) == 2
    assert legend_texts(figure)[:2] == [
        "H200, 1.500 GHz",
        "V100-SXM2-16GB, 1.500 GHz",
    ]
    with pytest.raises(InputError, match="one GPU"):
        picture(first, PictureRequest(mode="time"), others)


def test_two_gpus_with_one_profile_are_refused(gpus: list[Path]) -> None:
    with pytest.raises(InputError, match="different GPUs"):
        analysed(gpus, profile="h200")


def test_one_kernel_is_drawn_at_the_clock_of_its_capture(clocks: list[Path]) -> None:
    (one,) = analysed(clocks, ceilings="theoretical")
    figure = picture(one, PictureRequest(mode="hierarchical")).figure()
    assert peaks(figure)[0] in (pytest.approx(792.0), pytest.approx(1003.2))


def test_walls_have_a_roof_for_each_clock(tmp_path: Path) -> None:
    loads = {f"l1tex__t_{kind}_pipe_lsu_mem_global_op_ld.sum": n for kind, n in (("requests", 1000), ("sectors", 4000))}
    fast = capture(NAMES, **H200, **loads, **{CLOCK: 1_900_000_000})
    (one,) = analysed(write(tmp_path, slow=capture(NAMES, **H200, **loads), fast=fast), ceilings="theoretical")
    drawn = picture(one, PictureRequest(walls=("global",)))
    assert len({line.get_color() for line in lines(drawn.figure(), "roof-global")}) == 2


def test_terminal_draws_one_clock_below_the_other(clocks: list[Path]) -> None:
    (one,) = analysed(clocks, ceilings="theoretical")
    text, _ = in_terminal(one, PictureRequest(), width=80, colored=False, ascii_only=True)
    assert text.index("SM 1.500 GHz") < text.index("SM 1.900 GHz")


def test_two_sets_of_ceilings_are_refused_for_several_clocks(clocks: list[Path]) -> None:
    (one,) = analysed(clocks, ceilings="both")
    with pytest.raises(InputError, match="two sets of ceilings"):
        groups_of([one])


def test_captures_of_one_name_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Folders before/app and after/app: kernels keep the clock of their own capture."""
    known = Path(__file__).parent.parent / "data" / "captures-h200" / "known"
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "app").symlink_to(known)
    (tmp_path / "after" / "app").unlink()
    copy = tmp_path / "after" / "app"
    copy.mkdir()
    for file in known.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (one,) = analysed([tmp_path / "before" / "app", copy])
    assert len({source for each in one.results.explained for source in each.result.kernel.sources}) == 2


def test_options_that_have_no_meaning_are_refused(clocks: list[Path]) -> None:
    paths = [str(path) for path in clocks]
    for extra in (["--panels", "--walls", "global"], ["--normalize", "--mode", "time"], ["--panels", "--terminal"]):
        assert main(["plot", *paths, *extra]) == 2
