"""``roofctl calibrate`` on a GPU in plain Python: what it prints, what it writes, how it ends."""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from roofctl.cli.calibrate import calibrate
from roofctl.cli.gpus import gpus
from roofctl.core.errors import DeviceError, RoofctlError, VerificationError
from roofctl.cuda.toolchain import Toolchain
from roofctl.gpus import find_profile, load_measured
from roofctl.microbench import bench as benches
from roofctl.microbench import pycuda_device
from roofctl.microbench.device import Process
from roofctl.output.live import LiveTable

from support.fake_device import FakeDevice, FakeTools

pytestmark = pytest.mark.usefixtures("_no_waiting")


@pytest.fixture
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FULL", "QUICK"):
        monkeypatch.setattr(
            benches,
            name,
            replace(getattr(benches, name), warm_seconds=0.0, sustain_seconds=0.2, rest_seconds=0.0, pause_seconds=0.0),
        )


class Here:
    """A folder with a profile of its own, and a device to measure."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch
        self.profile = folder / "profiles" / "h200.yaml"
        self.profile.parent.mkdir()
        self.profile.write_text(find_profile("h200").path.read_text())
        self.measured = self.profile.with_name("h200.measured.yaml")
        monkeypatch.chdir(folder)
        monkeypatch.setattr(Toolchain, "find", FakeTools)

    def calibrate(self, *arguments: str, device: FakeDevice | None = None) -> Result:
        """Run the command; errors come back as ``exception``, as the command line's door gets them."""
        self._monkeypatch.setattr(pycuda_device, "open_device", lambda _index: device or FakeDevice())
        return CliRunner().invoke(calibrate, arguments, standalone_mode=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    return Here(tmp_path, monkeypatch)


def test_table_lines_and_file(here: Here) -> None:
    result = here.calibrate("--level", "hbm", "--level", "l2")
    assert result.exception is None
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["ceiling", "measured", "theoretical", "factor", "best", "spread", "SM", "clock", "how"]
    assert "Measured peak: 4668.7 GB/s (write)" in result.stdout
    assert "Theoretical:   4814.3 GB/s (pin rate; data sheet 4.800 TB/s, ratio 0.973)" in result.stdout
    assert "Calibration:   0.9698" in result.stdout
    assert re.search(r"by mix: +read 0\.\d{4}  write 0\.\d{4}  copy 0\.\d{4}  triad 0\.\d{4}", result.stdout)
    assert "HBM: read 4.64" in result.stdout
    assert f"Wrote {here.measured}" in result.stderr
    assert "NVIDIA H200, driver 580.1, CUDA 13.0, nvcc 13.0.0 for sm_90a; GPU profile h200" in result.stderr
    assert list(load_measured(here.measured).ceilings) == ["hbm", "l2"]


def test_dram_is_another_name_of_the_level_hbm(here: Here) -> None:
    result = here.calibrate("--level", "dram", "--json", "--no-write", "--quick")
    assert list(json.loads(result.stdout)["ceilings"]) == ["hbm"]


def test_json_goes_to_stdout_alone(here: Here) -> None:
    result = here.calibrate("--level", "l1", "--format", "json", "--no-write")
    data = json.loads(result.stdout)
    assert data["ceilings"]["l1"]["unit"] == "B/s"
    assert data["provenance"]["levels"]["l1"]["marked"] == []
    assert "1980 MHz" in result.stderr
    assert not here.measured.exists()


def test_no_write_writes_nothing(here: Here) -> None:
    before = sorted(here.folder.rglob("*"))
    assert here.calibrate("--level", "fp64", "--no-write").exception is None
    assert sorted(here.folder.rglob("*")) == before


def test_second_run_shows_changes_and_keeps_the_rest(here: Here) -> None:
    here.calibrate("--level", "l1", "--level", "l2")
    first = load_measured(here.measured)
    device = FakeDevice()
    device.rates["l1"] = 33.0e12
    result = here.calibrate("--level", "l1", device=device)
    assert f"against the result of {first.measured_at}" in result.stderr
    assert "  l1: -0.90%" in result.stderr
    assert "  l2: +0.00%" in result.stderr
    assert set(load_measured(here.measured).ceilings) == {"l1", "l2"}


def test_history_lists_every_run(here: Here) -> None:
    assert "has never been measured" in CliRunner().invoke(gpus, ["show", "h200", "--history"]).stdout
    here.calibrate("--level", "l1")
    text = here.measured.read_text()
    when = load_measured(here.measured).measured_at
    here.measured.write_text(text.replace(when, "2025-01-01T00:00:00+00:00"))
    here.calibrate("--level", "l1")
    when = load_measured(here.measured).measured_at
    shown = CliRunner().invoke(gpus, ["show", "h200", "--history"]).stdout.splitlines()
    assert shown[0].split() == ["measured", "at", "driver", "l1"]
    assert [line.split()[0] for line in shown[1:]] == [when, "2025-01-01T00:00:00+00:00"]
    rows = json.loads(CliRunner().invoke(gpus, ["show", "h200", "--history", "--format", "json"]).stdout)
    assert [row["measured_at"] for row in rows] == [when, "2025-01-01T00:00:00+00:00"]


def test_quick_is_marked_and_does_not_replace_a_full_result(here: Here) -> None:
    here.calibrate("--level", "l1")
    before = here.measured.read_text()
    result = here.calibrate("--level", "l1", "--quick")
    assert "! l1: only 6 samples of 20" in result.stdout
    assert "a quick result does not replace a full one" in result.stderr
    assert here.measured.read_text() == before


def test_a_doubtful_factor_has_a_reason(here: Here) -> None:
    result = here.calibrate("--level", "fp32", device=FakeDevice(clocks_hz=(1.98e9, 1.98e9, 1.8e9)))
    assert "!" in result.stdout.splitlines()[1]
    assert "! fp32: the SM clock moved" in result.stdout


def test_busy_gpu_is_a_warning_with_names(here: Here) -> None:
    result = here.calibrate("--level", "l1", device=FakeDevice(others=(Process(9, "train.py"),)))
    assert "warning: other processes use this GPU and take part of what is measured: train.py (9)" in result.stderr


def test_ctrl_c_keeps_finished_levels(here: Here) -> None:
    result = here.calibrate("--level", "l2", "--level", "l1", device=FakeDevice(stop_before="l1"))
    assert isinstance(result.exception, click.Abort)
    assert "interrupted: what was measured so far is kept" in result.stderr
    assert list(load_measured(here.measured).ceilings) == ["l2"]


def test_ctrl_c_before_anything_is_finished_writes_nothing(here: Here) -> None:
    result = here.calibrate("--level", "l1", device=FakeDevice(stop_before="l1"))
    assert isinstance(result.exception, click.Abort)
    assert not here.measured.exists()


def test_a_wrong_level_is_an_error_after_the_others_are_written(here: Here) -> None:
    result = here.calibrate(
        "--level", "l2", "--level", "l1", "--level", "fp64", device=FakeDevice(spoil="l1", spoil_with=5)
    )
    assert isinstance(result.exception, VerificationError)
    assert result.exception.message.startswith("l1: l1_read")
    assert list(load_measured(here.measured).ceilings) == ["l2", "fp64"]


def test_another_gpus_profile_is_refused(here: Here) -> None:
    result = here.calibrate("--profile", "v100")
    assert isinstance(result.exception, RoofctlError)
    assert "NVIDIA H200" in result.exception.message
    assert "v100" in result.exception.message


def test_no_gpu(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_index: int) -> FakeDevice:
        raise DeviceError("CUDA finds no GPU", hint="look")

    monkeypatch.setattr(pycuda_device, "open_device", missing)
    result = CliRunner().invoke(calibrate, [], standalone_mode=False)
    assert isinstance(result.exception, DeviceError)
    assert result.exception.exit_code == 5


def test_sweeps_as_a_picture(here: Here) -> None:
    result = here.calibrate("--level", "hbm", "--level", "l1", "--no-write", "--plot")
    assert result.exception is None
    assert (here.folder / "h200-sweep.png").stat().st_size > 10_000
    assert "Wrote h200-sweep.png" in result.stderr


def test_picture_under_a_name_that_cannot_be_one_is_refused_first(here: Here) -> None:
    device = FakeDevice()
    result = here.calibrate("--plot", "sweep.txt", device=device)
    assert "cannot write a figure" in str(result.exception)
    assert device.launched == []


def test_size_is_in_megabytes(here: Here) -> None:
    result = here.calibrate("--level", "hbm", "--size-mb", "2048", "--json", "--no-write")
    mixes = json.loads(result.stdout)["provenance"]["levels"]["hbm"]["mixes"]
    assert 2.04e9 < mixes["read"]["settings"]["set_bytes"] <= 2.048e9


def test_quiet_prints_data_only(here: Here) -> None:
    result = here.calibrate("--level", "l1", "-q")
    assert result.stderr == ""
    assert "l1" in result.stdout


def test_help_has_an_example() -> None:
    result = CliRunner().invoke(calibrate, ["--help"])
    assert "roofctl calibrate --profile h200" in result.stdout


class Screen(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_table_that_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with LiveTable(["ceiling", ">measured"], color=False) as table:
        table.status("l2: sampling")
        table.add(["l1", "33.29 TB/s"])
    assert "33.29 TB/s" in screen.getvalue()
