"""Completion: what is offered, quickly, and in real shells at a terminal."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roofctl.captures.kernels_in import kernel_names

from support.capture_folders import capture
from support.shapes import FULL, L, ncu_raw, nvprof_metrics, write


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two captures, a table, and a GPU profile of its own."""
    monkeypatch.chdir(tmp_path)
    capture(tmp_path, "solver", L("ns::stencil(int)", FULL))
    capture(tmp_path, "app-old", L("triad<float>(float *)", FULL), ended="2026-11-28T10:00:05+00:00")
    write(tmp_path, table=ncu_raw([L("copy(int)", FULL), L("transpose(int)", FULL)]))
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.yaml").write_text("schema: 1\n", encoding="utf-8")
    return tmp_path


def offered(line: str) -> list[str]:
    """What roofctl offers after ``line``, as ``type,value``."""
    words = line.split(" ")
    child = subprocess.run(
        [sys.executable, "-m", "roofctl"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_ROOFCTL_COMPLETE": "bash_complete"},
    )
    assert child.stderr == ""
    return child.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("roofctl compl", ["plain,completion"]),
        ("roofctl report ", ["file,", "plain,app-old", "plain,solver"]),
        ("roofctl export so", ["file,so", "plain,solver"]),
        ("roofctl report --profile mi", ["plain,mine"]),
        ("roofctl gpus show h200", ["plain,h200"]),
        ("roofctl gpus show ./h", ["file,./h"]),
        ("roofctl gpus new x --from l4", ["plain,l4", "plain,l40s"]),
        ("roofctl plot --level l", ["plain,l1", "plain,l2"]),
        ("roofctl calibrate --level fp", ["plain,fp64", "plain,fp32", "plain,fp16"]),
        ("roofctl profile --set wal", ["plain,walls"]),
        ("roofctl report --kernel ", ["plain,stencil"]),
        ("roofctl report app-old --kernel ", ["plain,triad"]),
        ("roofctl plot table.csv --kernel ", ["plain,copy", "plain,transpose"]),
        ("roofctl plot table.csv app-old --kernel tr", ["plain,transpose", "plain,triad"]),
        ("roofctl report no-such-file --kernel ", []),
        ("roofctl report --group kernel+", ["plain,kernel+grid"]),
    ],
)
def test_what_is_offered(line: str, expected: list[str], work: Path) -> None:
    assert offered(line) == expected


def test_nothing_heavy_is_loaded_for_it(work: Path) -> None:
    program = """
import os, sys
from roofctl.cli.main import main
try:
    main([])
except SystemExit:
    pass
print(*[name for name in ("pandas", "pyarrow", "numpy", "pydantic", "matplotlib", "rich") if name in sys.modules])
"""
    for line in ("roofctl report --kernel ", "roofctl report --profile ", "roofctl report "):
        words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_ROOFCTL_COMPLETE": "bash_complete"}
        child = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **words}
        )
        assert child.stdout.splitlines()[-1] == "", line


@pytest.mark.parametrize("text", ["", "no table", "Kernel Name\n", '"Kernel Name\n"', "\x00\xff\n", "ID,Kernel Name\n"])
def test_a_file_that_is_no_table_has_no_names(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    assert kernel_names(tmp_path / "a.csv") == set()


def test_names_in_a_table_of_nvprof(tmp_path: Path) -> None:
    (path,) = write(tmp_path, m=nvprof_metrics({"ipc": 1}, "triad(int)"))
    assert kernel_names(path) == {"triad(int)"}


# --- real shells ------------------------------------------------------------------------------------------------------

SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "PS1='READY> '; bind 'set enable-bracketed-paste off'; eval \"$(roofctl completion bash)\"",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "PROMPT='READY> '; autoload -Uz compinit; compinit -u -d $PWD/.dump; eval \"$(roofctl completion zsh)\"",
    ),
    "fish": (
        ["fish", "--no-config", "-i"],
        "function fish_prompt; echo 'READY> '; end; roofctl completion fish | source",
    ),
}

# In place of roofctl: completes as it does; a line that is run prints its words instead.
PROGRAM = f"""#!/bin/sh
[ -n "$_ROOFCTL_COMPLETE" ] || [ "$1" = completion ] || {{ printf '<%s>' "$@"; exit; }}
exec {sys.executable} -m roofctl "$@"
"""


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, argv: list[str], environment: dict[str, str]) -> None:
        self.fd, end = pty.openpty()
        self.shell = subprocess.Popen(
            ["setsid", "--ctty", *argv], stdin=end, stdout=end, stderr=end, env=environment, start_new_session=True
        )
        os.close(end)

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def wait_for(self, text: str, seconds: float = 20.0) -> str:
        seen, until = b"", time.monotonic() + seconds
        while text.encode() not in seen:
            ready, _, _ = select.select([self.fd], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"waited for {text!r}, seen {seen!r}"
            seen += os.read(self.fd, 65536)
        return seen.decode(errors="replace")

    def close(self) -> None:
        os.close(self.fd)
        self.shell.wait(timeout=20)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("roofctl gpus show rtx409\t", "<gpus><show><rtx4090>"),
        ("roofctl report sol\t--kernel sten\t", "<report><solver><--kernel><stencil>"),
        ("roofctl plot tabl\t--level hb\t", "<plot><table.csv><--level><hbm>"),
    ],
)
def test_a_tab_in_a_real_shell(shell: str, typed: str, completed: str, work: Path) -> None:
    argv, setup = SHELLS[shell]
    if not shutil.which(argv[0]):
        pytest.skip(f"{shell} is not installed")
    bin_ = work / "bin"
    bin_.mkdir()
    (bin_ / "roofctl").write_text(PROGRAM, encoding="utf-8")
    (bin_ / "roofctl").chmod(0o755)
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("PS1", "FISH", "ZSH"))}
    path = os.pathsep.join((str(bin_), os.environ["PATH"]))
    terminal = Terminal(argv, {**keep, "PATH": path, "TERM": "dumb", "HOME": str(work)})
    try:
        terminal.send(setup + "; echo SET''UP\n")
        terminal.wait_for("SETUP")
        time.sleep(0.3)
        for part in typed.split("\t"):
            if part:
                terminal.send(f"{part}\t")
                time.sleep(0.2)
        terminal.send("\n")
        terminal.wait_for(completed)
    finally:
        terminal.close()
