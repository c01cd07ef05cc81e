"""``shell/lock_clocks.sh`` with an nvidia-smi that only records its arguments."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "shell" / "lock_clocks.sh"


class Smi:
    def __init__(self, folder: Path) -> None:
        self.log, tool = folder / "log", folder / "nvidia-smi"
        tool.write_text(f'#!/bin/bash\necho "$*" >> {self.log}\n[[ -z ${{REFUSE:-}} || "$*" != *"$REFUSE"* ]]\n')
        tool.chmod(stat.S_IRWXU)
        self.env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "LOCK_CLOCKS_ANY_USER": "1"}

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SCRIPT), *arguments], env={**self.env, **env}, capture_output=True, text=True, timeout=30, check=False
        )


@pytest.fixture
def smi(tmp_path: Path) -> Smi:
    return Smi(tmp_path)


@pytest.mark.parametrize("status", [0, 7])
def test_clock_is_reset_whatever_the_command_returns(smi: Smi, status: int) -> None:
    done = smi.run("--sm", "1980", "--gpu", "1", "--", "sh", "-c", f"exit {status}")
    assert done.returncode == status
    assert smi.calls == ["-i 1 -lgc 1980,1980", "-i 1 -rgc"]


def test_memory_clock_only_when_asked(smi: Smi) -> None:
    smi.run("--sm", "1980", "--memory", "3201", "--", "true")
    assert smi.calls == ["-i 0 -lgc 1980,1980", "-i 0 -lmc 3201,3201", "-i 0 -rgc", "-i 0 -rmc"]


def test_a_refused_lock_runs_nothing_and_resets(smi: Smi, tmp_path: Path) -> None:
    done = smi.run("--sm", "1980", "--", "touch", str(tmp_path / "ran"), REFUSE="-lgc")
    assert done.returncode == 1
    assert "administrator rights" in done.stderr
    assert not (tmp_path / "ran").exists()
    assert smi.calls[-1] == "-i 0 -rgc"


@pytest.mark.skipif(os.geteuid() == 0, reason="root has the rights")
def test_without_rights_nothing_is_touched(smi: Smi) -> None:
    done = smi.run("--sm", "1980", "--", "true", LOCK_CLOCKS_ANY_USER="")
    assert done.returncode == 1
    assert "sudo" in done.stderr
    assert smi.calls == []


def test_a_signal_stops_the_command_and_resets(smi: Smi) -> None:
    argv = [str(SCRIPT), "--sm", "1980", "--", "sleep", "60"]
    with subprocess.Popen(argv, env=smi.env, stderr=subprocess.DEVNULL) as child:
        for _ in range(100):
            if smi.calls:
                break
            time.sleep(0.05)
        time.sleep(0.2)
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=20) == 143
    assert smi.calls == ["-i 0 -lgc 1980,1980", "-i 0 -rgc"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--sm MHZ is missing"),
        (("--sm", "fast", "--", "true"), "not a whole number"),
        (("--sm", "1980"), "no command to run"),
        (("--power", "300"), "unknown option --power"),
        (("--sm",), "--sm needs a value"),
    ],
)
def test_usage_errors(smi: Smi, arguments: tuple[str, ...], message: str) -> None:
    done = smi.run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert not any("-lgc" in call for call in smi.calls)


def test_help() -> None:
    done = subprocess.run([str(SCRIPT), "--help"], capture_output=True, text=True, check=True)
    assert "usage: shell/lock_clocks.sh --sm MHZ" in done.stdout
