"""``roofctl doctor`` as a command: lines, JSON, exit codes, and a real run on this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import roofctl.doctor
from roofctl.cli.doctor import doctor, line
from roofctl.core.errors import CounterAccessError, DeviceError, RoofctlError, ToolError
from roofctl.core.gpu import Gpu
from roofctl.doctor.machine import CudaDevice, CudaDriver, Devices, MachineState, Permission, Program
from roofctl.doctor.outcome import Check

HEALTHY = MachineState(
    "node7",
    Devices((Gpu("NVIDIA H200", "9.0", index=0, uuid="GPU-1", sm_count=132),), "nvidia-smi", "580.159.04"),
    CudaDriver("13.0", (CudaDevice("NVIDIA H200", "GPU-1", "9.0", 132),)),
    ncu=Program("ncu", "/opt/ncu", "2025.3.1"),
    permission=Permission(admin_only=False),
)
DENIED = replace(HEALTHY, permission=Permission(admin_only=True, admin_capability=False))
CASES: list[tuple[MachineState, int, type[RoofctlError] | None]] = [
    (HEALTHY, 0, None),
    (replace(HEALTHY, ncu=Program("ncu", problem="not on PATH")), 3, ToolError),
    (DENIED, 4, CounterAccessError),
    (replace(DENIED, ncu=Program("ncu", problem="not on PATH")), 4, CounterAccessError),
    (replace(HEALTHY, cuda=CudaDriver(problem="cuInit answers CUDA_ERROR_STUB_LIBRARY (34)")), 5, DeviceError),
    (MachineState("laptop"), 5, DeviceError),
]


def run(monkeypatch: pytest.MonkeyPatch, facts: MachineState, *arguments: str) -> Result:
    monkeypatch.setattr(roofctl.doctor, "look", lambda host: facts)
    return CliRunner().invoke(doctor, list(arguments))


@pytest.mark.parametrize(("facts", "code", "family"), CASES)
def test_exit_codes_by_the_lowest_cause(
    monkeypatch: pytest.MonkeyPatch, facts: MachineState, code: int, family: type[RoofctlError] | None
) -> None:
    result = run(monkeypatch, facts)

    if family is None:
        assert result.exit_code == 0
        assert "node7 can profile" in result.stderr
    else:
        assert type(result.exception) is family
        assert result.exception.exit_code == code
        assert "fail  " in result.stdout


@pytest.mark.parametrize(("facts", "code", "family"), CASES)
def test_json_has_the_exit_code_and_one_shape(
    monkeypatch: pytest.MonkeyPatch, facts: MachineState, code: int, family: type[RoofctlError] | None
) -> None:
    written: dict[str, Any] = json.loads(run(monkeypatch, facts, "--format", "json").stdout)

    assert written["exit_code"] == code
    assert set(written) == {
        "schema",
        "host",
        "exit_code",
        "driver_version",
        "cuda_version",
        "ncu",
        "nvprof",
        "counters_allowed",
        "gpus",
        "checks",
    }
    assert {check["status"] for check in written["checks"]} <= {"ok", "warn", "fail"}
    assert all(check["cause"] for check in written["checks"] if check["status"] == "fail")


def test_one_line_per_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run(monkeypatch, HEALTHY).stdout.splitlines()

    assert "ok    driver: 580.159.04" in lines
    assert "ok    ncu: 2025.3.1 (/opt/ncu)" in lines
    assert all(text.startswith(("ok    ", "warn  ", "fail  ")) for text in lines)


def test_a_line_ends_with_the_fix_and_may_be_colored() -> None:
    check = Check("ncu", "fail", "not on PATH", "install it", "tool")

    assert line(check) == "fail  ncu: not on PATH — install it"
    assert click.unstyle(line(check, color=True)) == line(check)
    assert line(check, color=True) != line(check)


def test_help_has_an_example_and_the_exit_codes() -> None:
    text = CliRunner().invoke(doctor, ["--help"]).output

    assert "Example: roofctl doctor" in text
    assert "counters denied" in text


RUN = "import sys; from roofctl.cli.doctor import doctor; from roofctl.cli import main as m; m.cli.add_command(doctor); sys.exit(m.main(['doctor', *sys.argv[1:]]))"


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine may have a GPU")
def test_a_real_run_without_a_gpu(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    written = json.loads(done.stdout)
    assert done.returncode == written["exit_code"] == 5
    assert written["gpus"] == []
    assert "error: no NVIDIA GPU can be used here" in done.stderr
    assert "Traceback" not in done.stderr
    gpu = next(check for check in written["checks"] if check["what"] == "GPU")
    assert "work here without one" in gpu["fix"]


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no NVIDIA driver here")
def test_a_real_run_with_a_gpu(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    written = json.loads(done.stdout)
    assert written["driver_version"]
    assert all(gpu["compute_capability"] and gpu["sm_count"] for gpu in written["gpus"])
