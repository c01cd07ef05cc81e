"""``roofctl captures``: list, show, rm."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from roofctl.cli.main import main

from support.capture_folders import capture


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    capture(tmp_path, "old", ended="2026-11-28T10:00:05+00:00", kernels=1234)
    capture(
        tmp_path, "new", argv=["./app", "two words"], gpu={"name": "NVIDIA H200"}, kernel="gemm", commands=["ncu x"]
    )
    broken = tmp_path / "roofctl-captures" / "broken"
    broken.mkdir()
    (broken / "capture.json").write_text("{", encoding="utf-8")
    return tmp_path


def test_list_has_the_newest_first_and_says_what_is_damaged(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["captures", "list"]) == 0
    out, err = capsys.readouterr()
    heading, *rows = out.splitlines()
    assert heading.split() == ["capture", "ended", "GPU", "profiler", "launches", "sets", "size", "application"]
    assert [row.split()[0] for row in rows] == ["new", "old", "broken"]
    assert "2026-11-29 10:00  NVIDIA H200  ncu 2025.3.1" in rows[0]
    assert rows[0].endswith("./app 'two words'")
    assert "1,234" in rows[1]
    assert rows[2].endswith("(damaged)")
    assert err.startswith("note: broken: roofctl-captures/broken/capture.json cannot be read")


def test_list_as_json(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["captures", "list", "--format", "json", "-q"]) == 0
    out, err = capsys.readouterr()
    new, old, broken = json.loads(out)
    assert err == ""
    assert (new["name"], new["argv"], new["problem"]) == ("new", ["./app", "two words"], None)
    assert old["path"] == "roofctl-captures/old"
    assert old["bytes"] == sum(path.stat().st_size for path in (work / "roofctl-captures" / "old").iterdir())
    assert "cannot be read" in broken["problem"]


def test_list_of_another_folder_and_of_none(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "elsewhere").mkdir()
    monkeypatch.chdir(work / "elsewhere")
    assert main(["captures", "list", "../roofctl-captures"]) == 0
    assert "new" in capsys.readouterr().out
    assert main(["captures", "list"]) == 0
    out, err = capsys.readouterr()
    assert (out, err[:43]) == ("", "there is no capture in roofctl-captures: ro")
    assert main(["captures", "list", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["captures", "list", "no-such"]) == 2


def test_show(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["captures", "show"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("capture:      roofctl-captures/new\napplication:  ./app 'two words'\n")
    assert "filters:      --kernel gemm\n" in out
    assert "launches" not in out
    assert "ncu x" not in out
    assert main(["captures", "show", "old"]) == 0
    assert "launches:     1234\n" in capsys.readouterr().out
    assert main(["captures", "show", "roofctl-captures/new", "-v"]) == 0
    assert capsys.readouterr().out.endswith("command:      ncu x\n")
    assert main(["captures", "show", "old", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernels"] == 1234
    assert main(["captures", "show", "ol"]) == 2
    assert "did you mean old?" in capsys.readouterr().err


@pytest.mark.parametrize(("answer", "left"), [("y", ["broken", "new"]), ("n", ["broken", "new", "old"])])
def test_rm_asks(
    answer: str, left: list[str], work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    assert main(["captures", "rm", "old"]) == 0
    assert sorted(path.name for path in (work / "roofctl-captures").iterdir()) == left
    assert "Remove roofctl-captures/old (" in capsys.readouterr().err


def test_rm_without_a_terminal_needs_yes(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["captures", "rm", "old"]) == 2
    assert "give --yes" in capsys.readouterr().err
    assert main(["captures", "rm", "old", "broken", "--yes"]) == 0
    assert [path.name for path in (work / "roofctl-captures").iterdir()] == ["new"]


@pytest.mark.parametrize("name", ["roofctl-captures", ".", "..", "/", "nothing", "kept", ""])
def test_rm_removes_captures_only_and_all_or_none(name: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work / "kept").mkdir()
    assert main(["captures", "rm", "old", name, "--yes"]) == 2
    assert "no capture called" in capsys.readouterr().err
    assert sorted(path.name for path in (work / "roofctl-captures").iterdir()) == ["broken", "new", "old"]
    assert (work / "kept").is_dir()


def test_rm_of_a_link_leaves_what_it_points_to(work: Path) -> None:
    link = work / "roofctl-captures" / "link"
    link.symlink_to("old")
    assert main(["captures", "rm", "link", "--yes"]) == 0
    assert not link.is_symlink()
    assert (work / "roofctl-captures" / "old" / "capture.csv").is_file()
