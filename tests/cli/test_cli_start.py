"""``roofctl`` alone, help, and the capture that is taken without an input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from roofctl.cli.main import cli, main
from roofctl.cli.next_steps import Glance, lines

from support.capture_folders import capture
from support.shapes import FULL, L

NOTHING = Glance(None, None, can_calibrate=False, ceilings=(), captures=0, newest=None)


def commands(seen: Glance) -> list[str]:
    text = list(lines(seen))
    return [line.split("  ")[0] for line in text[text.index("") + 1 :]]


def test_on_a_machine_without_anything() -> None:
    assert commands(NOTHING) == ["roofctl report FILE", "roofctl demo", "roofctl --help"]
    assert list(lines(NOTHING))[:4] == [
        "GPU       no driver here; reading captures, report and plot need none",
        "profiler  neither ncu nor nvprof is on PATH",
        "ceilings  none measured on this machine",
        "captures  none in roofctl-captures",
    ]


def test_with_a_gpu_and_no_profiler() -> None:
    seen = Glance("NVIDIA H200", None, can_calibrate=True, ceilings=("h200",), captures=0, newest=None)
    assert commands(seen) == ["roofctl doctor", "roofctl report FILE", "roofctl demo", "roofctl --help"]
    assert "ceilings  measured: h200" in lines(seen)


def test_with_everything_but_ceilings() -> None:
    seen = Glance("NVIDIA H200", "/usr/bin/ncu", can_calibrate=False, ceilings=(), captures=2, newest="app-2")
    assert commands(seen) == [
        "roofctl profile ./app",
        "roofctl report",
        "roofctl plot",
        "roofctl calibrate",
        "roofctl --help",
    ]
    assert "captures  2 in roofctl-captures, the newest app-2" in lines(seen)
    assert any("pip install 'roofctl[gpu]'" in line for line in lines(seen))


def test_roofctl_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    capture(tmp_path, "newer")
    capture(tmp_path, "older", ended="2026-11-28T23:00:00+00:00")
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "captures  2 in roofctl-captures, the newest newer\n" in out
    assert "roofctl --help" in out


def test_roofctl_alone_loads_nothing_heavy(tmp_path: Path) -> None:
    program = """
import sys
from roofctl.cli.main import main
main([])
print(*[name for name in ("pandas", "pyarrow", "numpy", "pydantic", "matplotlib", "rich", "yaml") if name in sys.modules])
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert child.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize("path", [[], ["gpus"], ["captures"]])
@pytest.mark.parametrize("width", ["60", "80", "200"])
def test_help_of_a_group_has_sentences_that_are_not_cut(
    path: list[str], width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert main([*path, "--help"]) == 0
    _, _, shown = capsys.readouterr().out.partition("Commands:\n")
    assert "..." not in shown
    group = cli.commands[path[0]] if path else cli
    assert shown.count(".\n") >= len(group.commands)


def test_the_capture_that_is_taken_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    capture(tmp_path, "app-1", L("k(int)", FULL))
    for arguments in (["report"], ["plot", "--terminal", "--profile", "h200"], ["export", "--parquet", "out"]):
        assert main(arguments) == 0
        assert "capture: app-1, the newest in roofctl-captures\n" in capsys.readouterr().err
    assert main(["report", "app-1"]) == 0
    assert "the newest" not in capsys.readouterr().err
    assert main(["report", "-q", "--format", "json"]) == 0
    assert capsys.readouterr().err == ""
