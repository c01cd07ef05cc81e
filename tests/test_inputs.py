"""What a user may name as input: files, capture folders, names of captures, or nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shapes import FULL, L, ncu_raw

from roofctl.cli.main import main
from roofctl.errors import InputError
from roofctl.inputs import locate, read

MANIFEST: dict[str, Any] = {
    "schema": 1,
    "argv": ["./app"],
    "cwd": "/home/user",
    "profiler": "ncu",
    "profiler_version": "2025.3.1",
    "profiler_path": "/usr/bin/ncu",
    "metric_sets": ["instruction"],
    "counters": [],
    "host": "node7",
    "started": "2026-11-29T10:00:00+00:00",
    "ended": "2026-11-29T10:00:05+00:00",
    "data": ["capture.csv"],
    "commands": [],
}
BARE = {name: value for name, value in FULL.items() if not name.startswith("device__")}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def capture(root: Path, name: str, *launches: L, **facts: Any) -> Path:
    folder = root / "roofctl-captures" / name
    folder.mkdir(parents=True)
    given = launches or (L("k(int)", BARE, cc=""),)
    (folder / "capture.csv").write_text(ncu_raw(given), encoding="utf-8")
    (folder / "capture.json").write_text(json.dumps({**MANIFEST, **facts}), encoding="utf-8")
    return folder


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


def test_filters_that_leave_nothing_are_said(here: Path) -> None:
    capture(here, "one", kernel="other", filter_when_read=True)
    with pytest.raises(InputError, match="no kernel that its own filters keep"):
        read(locate([]), None)


def test_what_the_manifest_warns_of(here: Path) -> None:
    facts = {"incomplete": "stopped with Ctrl-C", "left_out": {"hbm_transactions": "no DRAM counters"}}
    capture(here, "one", **facts, clock_control="none", cache_control="all")
    (part,) = read(locate([]), None)
    assert [(note.text, note.warning, note.detail) for note in part.notes[:3]] == [
        ("capture one: stopped with Ctrl-C", True, False),
        ("capture one: hbm_transactions was not counted: no DRAM counters", False, False),
        ("capture one: ncu 2025.3.1, clock control none, cache control all", False, True),
    ]


def test_report_and_plot_take_the_newest_capture(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture(here, "mine", gpu={"name": "NVIDIA H200", "compute_capability": "9.0"})
    assert main(["report"]) == 0
    assert "k " in capsys.readouterr().out
    assert main(["plot"]) == 0
    assert "Wrote mine-roofline.png" in capsys.readouterr().err
    assert (here / "mine-roofline.png").is_file()
