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


# --- options that mean the same everywhere ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "command"),
    [
        (["plot", "--model", "flop"], "roofctl profile --set flop --set tensor "),
        (["report", "--model", "flop"], "roofctl profile --set flop --set tensor "),
        (["plot", "--walls", "global"], "roofctl profile --set default "),
    ],
)
def test_what_was_not_counted_is_answered_with_the_command_that_counts_it(
    options: list[str],
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    argv = ["./solve", "--input", "a b.txt"]
    capture(tmp_path, "app-1", L("k(int)", FULL), argv=argv, kernel="k", exclude="other one")
    assert main([*options, "--profile", "h200"]) == 2
    err = capsys.readouterr().err
    assert command + "--kernel 'k' --exclude 'other one' -- ./solve --input 'a b.txt'" in err


def test_times_of_plot_is_its_mode_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    capture(tmp_path, "app-1", L("k(int)", FULL))
    for number, options in enumerate((["--times"], ["--mode", "time"], ["--times", "--mode", "time"])):
        assert main(["plot", "--profile", "h200", *options, "-o", f"{number}.png"]) == 0
    assert (tmp_path / "0.png").read_bytes() == (tmp_path / "1.png").read_bytes() == (tmp_path / "2.png").read_bytes()
    assert main(["plot", "--times", "--mode", "multi"]) == 2
    assert "--times is --mode time" in capsys.readouterr().err
    assert main(["plot", "--times", "--walls", "global"]) == 2


@pytest.mark.parametrize(
    "walls", [["global,shared"], ["global", "shared"], ["global", "shared,global"], ["shared", "global"]]
)
def test_walls_are_repeatable_or_with_commas(walls: list[str]) -> None:
    words = [word for wall in walls for word in ("--walls", wall)]
    chosen = cli.commands["plot"].make_context("plot", words).params["walls"]
    assert chosen == tuple(dict.fromkeys(",".join(walls).split(",")))


@pytest.mark.parametrize(
    ("group", "columns"),
    [("kernel", []), ("kernel+grid", ["grid", "block", "launches"]), ("launch", ["grid", "block", "launch"])],
)
def test_groups_show_what_tells_their_rows_apart(
    group: str, columns: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    capture(tmp_path, "app-1", L("k(int)", FULL, grid="(1, 1, 1)"), L("k(int)", FULL, id="1", grid="(2, 1, 1)"))
    assert main(["report", "--group", group, "--no-advice", "-q"]) == 0
    heading = capsys.readouterr().out.splitlines()[0].split()
    assert heading[2 : 2 + len(columns)] == columns
    assert ("grid" in heading) == bool(columns)


def test_a_launch_of_each_kernel_is_still_a_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    capture(tmp_path, "app-1", L("a(int)", FULL), L("b(int)", FULL, id="1"))
    assert main(["report", "--group", "launch", "--no-advice", "-q"]) == 0
    assert capsys.readouterr().out.split()[1:5] == ["kernel", "grid", "block", "launch"]
