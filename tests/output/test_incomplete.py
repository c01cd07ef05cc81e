"""A run that did not end as it should marks every output that is made of its capture."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from roofctl.cli.main import main

from support.capture_folders import BARE, capture
from support.shapes import L

GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
LAUNCH = L("k(int)", {**BARE, GLOBAL.format("requests"): 1000, GLOBAL.format("sectors"): 4000}, cc="")
REASON = "incomplete capture cut: the application ended with code 1"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    gpu = {"name": "NVIDIA H200", "compute_capability": "9.0"}
    capture(tmp_path, "cut", LAUNCH, incomplete="the application ended with code 1", gpu=gpu)
    capture(tmp_path, "good", LAUNCH, gpu=gpu)
    return tmp_path


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, "-q"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("times", [(), ("--times",)])
@pytest.mark.parametrize("form", ["table", "md"])
@pytest.mark.usefixtures("here")
def test_a_table_has_the_sentence_under_it(
    form: str, times: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert REASON in out(capsys, "report", "cut", "--format", form, *times).splitlines()
    assert "incomplete" not in out(capsys, "report", "good", "--format", form, *times)


@pytest.mark.parametrize("times", [(), ("--times",)])
@pytest.mark.usefixtures("here")
def test_json_and_csv_mark_the_capture_and_its_kernels(
    times: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(out(capsys, "report", "cut", "good", "--format", "json", *times))
    assert document["incomplete"] == [REASON]
    marks = {row["source"]: row["incomplete"] for row in document["kernels"]}
    assert marks == {"cut": REASON, "good": None}
    rows = csv.DictReader(io.StringIO(out(capsys, "report", "cut", "good", "--format", "csv", *times)))
    assert {row["source"]: row["incomplete"] for row in rows} == {"cut": REASON, "good": ""}


@pytest.mark.parametrize("kind", [(), ("--mode", "multi"), ("--mode", "time"), ("--walls", "global")])
def test_a_picture_has_it_in_subtitle_and_footnote(kind: tuple[str, ...], here: Path) -> None:
    assert main(["plot", "cut", *kind, "-o", "cut.svg", "-q"]) == 0
    assert main(["plot", "good", *kind, "-o", "good.svg", "-q"]) == 0
    text = (here / "cut.svg").read_text(encoding="utf-8")
    assert "· incomplete capture" in text
    assert REASON in text
    assert "incomplete" not in (here / "good.svg").read_text(encoding="utf-8")


@pytest.mark.usefixtures("here")
def test_of_many_the_first_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(5):
        capture(here, f"run{number}", incomplete="stopped with Ctrl-C")
    text = out(capsys, "report", *(f"run{number}" for number in range(5)), "--no-advice")
    assert "incomplete capture run2: stopped with Ctrl-C" in text
    assert "run3: stopped" not in text
    assert "and 2 more incomplete captures" in text
