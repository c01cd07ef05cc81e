"""What a user may name as input: files, capture folders, names of captures, or nothing."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from roofctl.cli.main import main
from roofctl.core import parallel
from roofctl.core.errors import InputError
from roofctl.study import load as inputs
from roofctl.study.load import left_out, locate, read, read_many
from roofctl.study.standard_input import kept

from support.capture_folders import BARE, capture
from support.folders import forbid
from support.shapes import FULL, L, ncu_raw


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_means_the_newest_capture(here: Path) -> None:
    capture(here, "late", ended="2026-11-29T12:00:00+00:00")
    capture(here, "early", ended="2026-11-29T11:00:00+00:00")
    (source,) = locate([])
    assert source.label == "late"
    assert source.files == (here / "roofctl-captures" / "late" / "capture.csv",)


def test_nothing_without_captures_says_how_to_make_one(here: Path) -> None:
    with pytest.raises(InputError, match="there is no capture") as caught:
        locate([])
    assert "roofctl profile" in caught.value.hint


@pytest.mark.parametrize("given", ["before", "roofctl-captures/before"])
def test_a_capture_by_name_or_path(here: Path, given: str) -> None:
    capture(here, "before")
    (source,) = locate([Path(given)])
    assert source.label == "before"
    assert source.manifest is not None


def test_a_capture_may_have_a_dot_in_its_name(here: Path) -> None:
    capture(here, "run.v2")
    assert locate([Path("run.v2")])[0].label == "run.v2"


def test_a_missing_file_is_a_missing_file(here: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.csv: no such file"):
        read(locate([Path("gone.csv")]), None)


def test_a_file_given_twice_is_refused_also_through_its_capture(here: Path) -> None:
    folder = capture(here, "one")
    with pytest.raises(InputError, match="given twice"):
        locate([folder, folder / "capture.csv"])


def test_the_manifest_names_the_gpu_where_the_file_is_silent(here: Path) -> None:
    capture(here, "one", gpu={"name": "NVIDIA H200", "compute_capability": "9.0"})
    (part,) = read(locate([]), None)
    assert part.source == "one"
    assert part.frame["device"].tolist() == ["NVIDIA H200"]
    assert part.frame["compute_capability"].tolist() == ["9.0"]


def test_the_file_s_own_device_is_kept(here: Path) -> None:
    capture(here, "one", L("k(int)", {**BARE, "device__attribute_display_name": "NVIDIA A30"}), gpu={"name": "other"})
    (part,) = read(locate([]), None)
    assert part.frame["device"].tolist() == ["NVIDIA A30"]


def test_a_gpu_that_a_file_names_is_that_of_the_silent_ones(here: Path) -> None:
    # nvidia-smi numbers GPUs otherwise than CUDA: the manifest may mean the other one.
    gpu = {"name": "Tesla V100", "compute_capability": "7.0"}
    folder = capture(here, "one", gpu=gpu, data=["capture.csv", "more.csv"])
    named = L("k(int)", {**BARE, "device__attribute_display_name": "Tesla P100"}, cc="")
    (folder / "more.csv").write_text(ncu_raw((named,)), encoding="utf-8")
    parts = read(locate([]), None)
    assert [part.frame["device"].tolist() for part in parts] == [["Tesla P100"], ["Tesla P100"]]
    assert not any(part.frame["compute_capability"].notna().any() for part in parts)


def test_filters_that_the_profiler_could_not_apply_are_applied_when_read(here: Path) -> None:
    launches = [L("keep(int)", BARE, id="0"), L("drop(int)", BARE, id="1")]
    capture(here, "one", *launches, kernel="keep|drop", exclude="drop", filter_when_read=True)
    (part,) = read(locate([]), None)
    assert part.frame["kernel"].tolist() == ["keep(int)"]


def test_filters_that_the_profiler_applied_are_not_applied_again(here: Path) -> None:
    capture(here, "one", kernel="nothing")
    (part,) = read(locate([]), None)
    assert part.frame["kernel"].tolist() == ["k(int)"]


def test_filters_that_leave_nothing_are_named(here: Path) -> None:
    capture(here, "one", kernel="other", filter_when_read=True)
    with pytest.raises(InputError, match="no kernel that its own filters keep"):
        read(locate([]), None)


def test_what_the_manifest_warns_of(here: Path) -> None:
    facts = {"incomplete": "stopped with Ctrl-C", "left_out": {"hbm_transactions": "no DRAM counters"}}
    capture(here, "one", **facts, clock_control="none", cache_control="all")
    (part,) = read(locate([]), None)
    assert [(note.text, note.warning, note.detail) for note in part.notes[:3]] == [
        ("incomplete capture one: stopped with Ctrl-C", True, False),
        ("capture one: hbm_transactions was not counted: no DRAM counters", False, True),
        ("capture one: ncu 2025.3.1, clock control none, cache control all", False, True),
    ]


def test_report_and_plot_take_the_newest_capture(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture(here, "mine", gpu={"name": "NVIDIA H200", "compute_capability": "9.0"})
    assert main(["report"]) == 0
    assert "k " in capsys.readouterr().out
    assert main(["plot"]) == 0
    assert "Wrote mine-roofline.png" in capsys.readouterr().err
    assert (here / "mine-roofline.png").is_file()


def ranks(here: Path, count: int, broken: tuple[int, ...] = ()) -> None:
    (here / "ranks").mkdir()
    for number in range(count):
        text = "garbage" if number in broken else ncu_raw((L(f"k{number}(int)", FULL),))
        (here / "ranks" / f"rank{number}.csv").write_text(text, encoding="utf-8")


def test_a_folder_means_all_captures_and_files_in_it(here: Path) -> None:
    ranks(here, 11)
    capture(here / "ranks", "mine", rank=77)
    sources = locate([Path("ranks")])
    assert [(source.label, source.rank) for source in sources] == [
        *((f"ranks/rank{number}.csv", number) for number in range(11)),
        ("mine", 77),
    ]


def test_a_pattern_in_quotes_means_what_it_matches(here: Path) -> None:
    ranks(here, 11)
    capture(here / "ranks", "mine")
    assert [s.label for s in locate([Path("ranks/rank[12]*.csv")])] == [f"ranks/rank{n}.csv" for n in (1, 2, 10)]
    assert [s.label for s in locate([Path("ranks/*captures")])] == ["mine"]
    assert [s.label for s in locate([here / "ranks" / "rank3*"])] == [str(here / "ranks" / "rank3.csv")]


@pytest.mark.parametrize("worth", [0.0, 1e9], ids=["processes", "here"])
def test_many_files_are_read_in_order_and_watched(here: Path, monkeypatch: pytest.MonkeyPatch, worth: float) -> None:
    monkeypatch.setattr(inputs, "_WORTH_SECONDS", worth)
    monkeypatch.setattr(parallel, "processors", lambda: 2)
    ranks(here, 70)
    steps: list[tuple[int, int]] = []
    reading = read_many(locate([Path("ranks")]), None, lambda *step: steps.append(step))
    assert [part.frame["kernel"].tolist() for part in reading.parts] == [[f"k{n}(int)"] for n in range(70)]
    assert steps == [*((n, 70) for n in range(1, 71)), (70, 70)]


def test_one_unreadable_file_of_many_is_left_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranks(here, 9, broken=(4,))
    assert main(["report", "ranks", "--format", "json"]) == 9
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert len(document["kernels"]) == 8
    assert "ranks/rank4.csv" not in document["source"]
    assert any("left out: ranks/rank4.csv" in note for note in document["notes"])
    assert "warning: left out: ranks/rank4.csv holds no table" in err
    assert "error: 1 of 9 inputs could not be read; what is shown is without them" in err


def test_a_picture_of_many_is_drawn_without_the_unreadable_one(here: Path) -> None:
    ranks(here, 9, broken=(4,))
    assert main(["plot", "ranks", "--mode", "multi", "--profile", "h200", "-o", "x.png"]) == 9
    assert (here / "x.png").is_file()


def test_one_unreadable_file_of_few_is_an_error(here: Path) -> None:
    ranks(here, 8, broken=(4,))
    with pytest.raises(InputError, match=r"rank4\.csv holds no table"):
        read_many(locate(sorted(Path("ranks").iterdir())), None)


@pytest.mark.parametrize("given", ["ranks", "ranks/*.csv"])
def test_one_unreadable_file_that_was_found_is_left_out(
    here: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    ranks(here, 3, broken=(1,))
    assert main(["report", given, "--format", "json"]) == 9
    out, err = capsys.readouterr()
    assert len(json.loads(out)["kernels"]) == 2
    assert "warning: left out: ranks/rank1.csv holds no table" in err
    assert "error: 1 of 3 inputs could not be read" in err
    assert main(["export", given, "--parquet", "out"]) == 9


def test_a_named_file_must_be_readable_beside_found_ones(here: Path) -> None:
    ranks(here, 3)
    (here / "named.csv").write_text("garbage")
    with pytest.raises(InputError, match=r"named\.csv holds no table"):
        read_many(locate([Path("ranks"), Path("named.csv")]), None)


def test_a_folder_that_cannot_be_read_is_left_out(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks(here, 2)
    (here / "ranks" / "more").mkdir()
    forbid(monkeypatch, here / "ranks" / "more")
    assert main(["report", "ranks"]) == 9
    assert "warning: left out: ranks/more cannot be read: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["p.csv", "p.ncu-rep", "p"])
def test_a_pipe_is_refused_in_one_sentence(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    os.mkfifo(here / name)
    assert main(["report", name]) == 2
    assert capsys.readouterr().err == (
        f"error: {name} is a pipe\nhint: write it to a file, and give that file; or pipe it in, and give -\n"
    )


def test_standard_input_is_read_like_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for content, said in ((ncu_raw((L("k(int)", FULL),)).encode(), ""), (b"hello", "standard input holds no table")):
        kept.cache_clear()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert (main(["report", "-"]) == 0) == (not said)
        assert said in capsys.readouterr().err


def test_standard_input_that_is_a_terminal_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kept.cache_clear()
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="nothing is piped into it"):
        locate([Path("-")])


def test_devices_are_refused(here: Path) -> None:
    with pytest.raises(InputError, match="/dev/null is a device"):
        locate([Path("/dev/null")])
    ends = os.pipe()
    try:
        with pytest.raises(InputError, match="is a pipe"):
            locate([Path(f"/dev/fd/{ends[0]}")])
    finally:
        for end in ends:
            os.close(end)


def test_a_file_may_be_called_like_standard_input(here: Path) -> None:
    (here / "-").write_text(ncu_raw((L("k(int)", FULL),)))
    assert [source.files for source in locate([Path("-")])] == [(Path("-"),)]


def test_many_of_which_none_can_be_read_are_an_error(here: Path) -> None:
    ranks(here, 9, broken=tuple(range(9)))
    with pytest.raises(InputError, match=r"rank0\.csv holds no table"):
        read_many(locate([Path("ranks")]), None)


def test_a_damaged_capture_of_many_is_left_out(here: Path) -> None:
    ranks(here, 9)
    damaged = capture(here / "ranks", "mine")
    (damaged / "capture.csv").unlink()
    reading = read_many(locate([Path("ranks")]), None)
    assert len(reading.parts) == 9
    assert ["lacks capture.csv" in error.message for error in reading.unread] == [True]


def test_very_many_that_are_left_out_are_not_all_listed(here: Path) -> None:
    errors = [InputError(f"file {number}") for number in range(30)]
    notes = left_out(errors)
    assert [note.text for note in notes if not note.detail] == [
        *(f"left out: file {number}" for number in range(10)),
        "left out: 20 more inputs (-v names them)",
    ]
    assert len([note for note in notes if note.detail]) == 20


def test_processes_are_for_much_work(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks(here, 20)
    monkeypatch.setattr(inputs, "processors", lambda: 4)
    sources = locate([Path("ranks")])
    assert not inputs.worthwhile(sources)
    assert inputs.worthwhile(sources * 100)
    assert inputs.worthwhile(sources, more=1.0)
    monkeypatch.setattr(inputs, "processors", lambda: 1)
    assert not inputs.worthwhile(sources * 100)


@pytest.mark.parametrize("name", ["before", "run[1]"])
def test_the_name_of_a_capture_comes_before_folders_and_patterns(here: Path, name: str) -> None:
    capture(here, name)
    (here / "before").mkdir()
    assert [source.label for source in locate([Path(name)])] == [name]
