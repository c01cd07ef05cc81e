"""From a study to a picture: what is drawn by default, the notes, and the names of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.cli.main import main
from roofctl.core.errors import InputError
from roofctl.output.picture import PictureRequest, default_target, picture
from roofctl.study.analyse import Analysis, AnalysisRequest, analyse_inputs

from support.figures import legend_texts, lines, texts
from support.shapes import FULL, L, ncu_raw, write

KNOWN = Path(__file__).parent.parent / "data" / "captures-h200" / "known"
H200 = {"device__attribute_display_name": "NVIDIA H200", "launch__sm_count": 132}


@pytest.fixture(scope="module")
def known() -> Analysis:
    return analyse_inputs(AnalysisRequest(inputs=(KNOWN,), advice=False))


@pytest.fixture(scope="module")
def flops() -> Analysis:
    return analyse_inputs(AnalysisRequest(inputs=(KNOWN,), model="flop", advice=False))


def test_many_kernels_are_drawn_on_hbm_and_one_on_all_levels(known: Analysis) -> None:
    many = picture(known, PictureRequest()).figure()
    assert {line.get_gid() for line in lines(many, "point")} == {"point-hbm"}
    one = picture(known, PictureRequest(mode="hierarchical")).figure()
    assert {line.get_gid() for line in lines(one, "point")} == {"point-l1", "point-l2", "point-hbm"}


def test_of_several_kernels_a_hierarchical_picture_shows_the_longest_and_a_note(known: Analysis) -> None:
    drawn = picture(known, PictureRequest(mode="hierarchical"))
    assert drawn.notes[-1].text == (
        "15 kernels; drawing the longest, known_atomics (55% of the time); choose with --kernel"
    )
    assert texts(drawn.figure(), "title") == ["known_atomics"]
    assert picture(known, PictureRequest()).notes == known.notes


def test_ceilings_are_of_the_work_that_is_drawn_or_all(flops: Analysis) -> None:
    some = {line.get_gid() for line in lines(picture(flops, PictureRequest()).figure(), "peak")}
    every = {line.get_gid() for line in lines(picture(flops, PictureRequest(all_peaks=True)).figure(), "peak")}
    assert some < every


def test_notes_of_one_model_are_not_those_of_times_and_walls(known: Analysis) -> None:
    own = {note.text for note in known.notes} - {note.text for note in known.capture_notes}
    assert own
    for request in (PictureRequest(mode="time"), PictureRequest(walls=("global",))):
        assert own.isdisjoint(note.text for note in picture(known, request).notes)


def test_options_go_before_the_style_file(known: Analysis, tmp_path: Path) -> None:
    style = tmp_path / "style.yaml"
    style.write_text("{title: File, kernels: {known_triad: {label: By file}, known_copy: {label: Copy}}}")
    figure = picture(known, PictureRequest(styles=(str(style),), labels=("known_triad=By option",))).figure()
    assert texts(figure, "title") == ["File"]
    assert {"By option", "Copy"} <= set(texts(figure, "table-name"))
    assert texts(picture(known, PictureRequest(styles=(str(style),), title="Option")).figure(), "title") == ["Option"]


def test_a_level_without_points_is_an_error_that_names_the_others(tmp_path: Path) -> None:
    sectors = {name: value for name, value in FULL.items() if not name.startswith("dram__")}
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", {**sectors, **H200})]))
    drawn = picture(analyse_inputs(AnalysisRequest(inputs=(path,), advice=False)), PictureRequest(levels=("hbm",)))
    with pytest.raises(InputError, match="no kernel has a point at hbm") as caught:
        drawn.figure()
    assert caught.value.hint == "choose among --level l1 | l2"


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (PictureRequest(), "known-roofline.png"),
        (PictureRequest(mode="time"), "known-time-roofline.png"),
        (PictureRequest(walls=("shared",)), "known-walls.png"),
    ],
)
def test_a_picture_without_a_name_is_named_after_the_input(
    known: Analysis, request_: PictureRequest, name: str
) -> None:
    assert default_target(known, request_) == Path(name)


def test_one_drawing_is_written_to_every_target(known: Analysis, tmp_path: Path) -> None:
    picture(known, PictureRequest()).save([tmp_path / "a.png", tmp_path / "a.svg"])
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


def test_plot_computes_no_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import roofctl.cli.plot as command

    seen: list[AnalysisRequest] = []

    def analyses_of(request: AnalysisRequest) -> tuple[Analysis, ...]:
        seen.append(request)
        return (analyse_inputs(request),)

    monkeypatch.setattr(command, "analyses_of", analyses_of)
    assert main(["plot", str(KNOWN), "-o", str(tmp_path / "a.svg")]) == 0
    assert [request.advice for request in seen] == [False]


def test_dram_is_another_name_of_hbm(tmp_path: Path) -> None:
    for level in ("hbm", "dram"):
        assert main(["plot", str(KNOWN), "--level", level, "-q", "-o", str(tmp_path / f"{level}.svg")]) == 0
    assert (tmp_path / "dram.svg").read_bytes() == (tmp_path / "hbm.svg").read_bytes()


def test_boards_without_hbm_have_dram_in_the_legend(known: Analysis) -> None:
    from dataclasses import replace

    board = replace(known, rooflines=tuple(replace(roofline, memory_label="DRAM") for roofline in known.rooflines))
    names = legend_texts(picture(board, PictureRequest()).figure())
    assert any(name.startswith("DRAM, ") for name in names)
    assert not any("HBM" in name for name in names)
