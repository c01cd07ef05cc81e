"""The capture folder: written atomically, never overwritten, found again, and checked when read."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from roofctl.captures import read as captures
from roofctl.captures.draft import create
from roofctl.captures.manifest import Manifest
from roofctl.core.errors import InputError
from roofctl.core.gpu import Gpu


def manifest(**changes) -> Manifest:
    base = Manifest(
        argv=("./app", "x"),
        cwd="/home/user",
        profiler="ncu",
        profiler_version="2025.3.1",
        profiler_path="/usr/bin/ncu",
        metric_sets=("instruction",),
        counters=("smsp__inst_executed.sum",),
        host="node1",
        started="2026-01-01T10:00:00+00:00",
        ended="2026-01-01T10:00:05+00:00",
        data=("capture.csv",),
        commands=("ncu ./app",),
        gpu=Gpu("NVIDIA H200", "9.0", "580.159", max_sm_clock_hz=1.98e9, sm_clock_hz=3.45e8, memory_clock_hz=3.2e9),
        left_out={"hbm_transactions": "this chip has no DRAM counters"},
    )
    return replace(base, **changes)


def make(root: Path, name: str, **changes) -> Path:
    draft = create(root, name)
    (draft.folder / "capture.csv").write_text("x\n")
    return draft.finish(manifest(**changes)).folder


def test_it_is_written_aside_and_appears_complete(tmp_path):
    root = tmp_path / "deep" / "captures"
    draft = create(root, "run")
    assert draft.folder.parent == root
    assert draft.folder.name.startswith(".run-")
    with pytest.raises(InputError, match="there is no capture"):
        captures.latest(root)
    (draft.folder / "capture.csv").write_text("x\n")
    done = draft.finish(manifest(commands=(f"ncu -o '{draft.folder}/report.ncu-rep' ./app",)))
    assert done.folder == root / "run"
    assert done.manifest.commands == (f"ncu -o '{root}/run/report.ncu-rep' ./app",)
    assert captures.read_manifest(done.folder) == done.manifest
    assert not draft.folder.exists()
    assert [path.name for path in root.iterdir()] == ["run"]


def test_others_may_read_it_as_the_umask_allows(tmp_path):
    before = os.umask(0o027)
    try:
        folder = make(tmp_path, "run")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750


def test_nothing_is_overwritten_even_at_once(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: make(tmp_path, "run"), range(24)))
    assert {folder.name for folder in folders} == {"run", *(f"run-{number}" for number in range(2, 25))}


def test_a_file_of_that_name_is_left_alone(tmp_path):
    (tmp_path / "run").write_text("mine")
    assert make(tmp_path, "run").name == "run-2"
    assert (tmp_path / "run").read_text() == "mine"


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a\0b"])
def test_names_that_name_no_folder(tmp_path, name):
    with pytest.raises(InputError, match="cannot name a capture"):
        create(tmp_path, name)


def test_a_root_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="no capture can be written"):
        create(tmp_path / "file" / "x", "run")


def test_discard_leaves_the_log_beside(tmp_path):
    root = tmp_path / "captures"
    for expected in ("run.log", "run-2.log"):
        draft = create(root, "run")
        (draft.folder / "ncu.log").write_text("==ERROR== no\n")
        assert draft.discard({"ncu.log": ".log", "nosuch": ".x"}) == [root / expected]
    assert sorted(path.name for path in root.iterdir()) == ["run-2.log", "run.log"]


def test_discard_without_a_log_leaves_nothing(tmp_path):
    draft = create(tmp_path / "captures", "run")
    assert draft.discard({"ncu.log": ".log"}) == []
    assert not (tmp_path / "captures").exists()


def test_the_newest_is_the_one_that_ended_last(tmp_path):
    make(tmp_path, "b", ended="2026-01-02T00:00:00+00:00")
    make(tmp_path, "c", ended="2026-01-01T00:00:00+00:00")
    (tmp_path / "a").mkdir()
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "capture.json").write_text("{")
    assert captures.latest(tmp_path).name == "b"
    make(tmp_path, "d", ended="some time")
    assert captures.latest(tmp_path).name == "b"


def test_the_newest_is_known_across_time_zones(tmp_path):
    make(tmp_path, "earlier", ended="2026-10-25T02:30:00+02:00")
    make(tmp_path, "later", ended="2026-10-25T02:10:00+01:00")
    assert captures.latest(tmp_path).name == "later"


def test_a_capture_that_cannot_be_finished_takes_no_name(tmp_path, monkeypatch):
    draft = create(tmp_path, "run")
    (draft.folder / "report").write_text("x")

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        draft.finish(manifest())
    assert [path.name for path in tmp_path.iterdir()] == [draft.folder.name]


def test_resolve_takes_a_path_a_name_or_nothing(tmp_path):
    folder = make(tmp_path / "roofctl-captures", "gemm-before")
    elsewhere = make(tmp_path / "other", "x")
    assert captures.resolve(None, tmp_path) == folder
    assert captures.resolve("gemm-before", tmp_path) == folder
    assert captures.resolve("roofctl-captures/gemm-before", tmp_path) == folder
    assert captures.resolve(elsewhere, tmp_path) == elsewhere
    assert captures.resolve("other", tmp_path) == elsewhere


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("gemm-befor", "no file or capture called 'gemm-befor' here", "did you mean gemm-before?"),
        ("qqq", "no file or capture called 'qqq' here", "gemm-before"),
        ("empty", "folder without capture.json", "name a capture"),
    ],
)
def test_resolve_names_what_there_is(tmp_path, text, message, hint):
    make(tmp_path / "roofctl-captures", "gemm-before")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=message) as caught:
        captures.resolve(text, tmp_path)
    assert hint in caught.value.hint


def test_resolve_without_any_capture(tmp_path):
    with pytest.raises(InputError, match="there is no capture") as caught:
        captures.resolve(None, tmp_path)
    assert "roofctl profile" in caught.value.hint


def test_data_files(tmp_path):
    folder = make(tmp_path, "run")
    assert captures.data_files(folder) == [folder / "capture.csv"]
    (folder / "capture.csv").unlink()
    with pytest.raises(InputError, match=r"lacks capture\.csv"):
        captures.data_files(folder)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: "{", "cannot be read"),
        (lambda d: "[]", "no schema number"),
        (lambda d: json.dumps({**d, "schema": "1"}), "no schema number"),
        (lambda d: json.dumps({**d, "schema": 2}), "schema 2, roofctl here knows 1"),
        (lambda d: json.dumps({k: v for k, v in d.items() if k not in ("argv", "host")}), "lacks argv, host"),
        (lambda d: json.dumps({**d, "argv": "./app"}), "has argv: './app', expected a valid array"),
        (lambda d: json.dumps({**d, "kernels": "two"}), "has kernels: 'two', expected a valid integer"),
        (lambda d: json.dumps({**d, "data": ["capture.csv", 1]}), "has data.1: 1, expected a valid string"),
        (lambda d: json.dumps({**d, "missing": {"x": None}}), "has missing.x: None, expected a valid string"),
        (lambda d: json.dumps({**d, "gpu": {"name": "H200", "sm_clock_hz": "fast"}}), "has gpu.sm_clock_hz: 'fast'"),
        (lambda d: json.dumps({**d, "gpu": "H200"}), "has gpu: 'H200', expected an object"),
    ],
)
def test_a_damaged_manifest_says_what_is_wrong(tmp_path, edit, message):
    folder = make(tmp_path, "run")
    path = folder / "capture.json"
    path.write_text(edit(json.loads(path.read_text())))
    with pytest.raises(InputError, match=message) as caught:
        captures.read_manifest(folder)
    assert caught.value.hint


def test_keys_of_a_later_release_are_passed_over(tmp_path):
    folder = make(tmp_path, "run")
    path = folder / "capture.json"
    document = json.loads(path.read_text())
    document["later"] = 1
    document["gpu"]["later"] = 1
    path.write_text(json.dumps(document))
    assert captures.read_manifest(folder) == manifest()


def test_of_the_gpu_only_what_is_known_is_written(tmp_path):
    folder = make(tmp_path, "run", gpu=Gpu("Orin", sm_clock_hz=0.0))
    assert json.loads((folder / "capture.json").read_text())["gpu"] == {"name": "Orin", "sm_clock_hz": 0.0}
    assert captures.read_manifest(folder).gpu == Gpu("Orin", sm_clock_hz=0.0)


def test_a_folder_without_a_manifest(tmp_path):
    with pytest.raises(InputError, match="it is no capture"):
        captures.read_manifest(tmp_path)
