"""``roofctl verify``: data on stdout, words on stderr, exit code 6 when a count is off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from roofctl.cli.verify import verify
from roofctl.core.errors import DeviceError, InputError, RoofctlError, VerificationError
from roofctl.verify import run as running
from roofctl.verify.compare import compare
from roofctl.verify.known_kernels import KNOWN

from support.known_capture import capture_text

L2 = "lts__t_sectors_srcunit_tex.sum"


def call(*args: str | Path) -> Result:
    """Run a command that must succeed."""
    return CliRunner().invoke(verify, [str(arg) for arg in args], catch_exceptions=False)


def fail(*args: str | Path) -> tuple[RoofctlError, Result]:
    """Run a command that must raise one of our errors."""
    result = CliRunner().invoke(verify, [str(arg) for arg in args])
    assert isinstance(result.exception, RoofctlError), result.exception
    return result.exception, result


@pytest.fixture
def right(tmp_path: Path) -> Path:
    path = tmp_path / "right.csv"
    path.write_text(capture_text(), encoding="utf-8")
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.csv"
    path.write_text(capture_text({"known_triad": {L2: 1.523}}), encoding="utf-8")
    return path


def test_help_has_an_example() -> None:
    assert "Example: roofctl verify --from" in call("--help").stdout


def test_a_right_capture_passes(right: Path) -> None:
    result = call("--from", right)
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].split() == ["kernel", "quantity", "expected", "counted", "error", "verdict"]
    assert lines[1].split()[:5] == ["known_triad", "issued_warp_instructions", "10,485,760", "10,485,760", "0"]
    assert f"NVIDIA H200, {len(KNOWN)} kernels: " in result.stderr
    assert "counts that must be 0 are 0" in result.stderr
    assert "OFF" not in result.stdout


def test_verbose_lists_the_zeros_too(right: Path) -> None:
    few = call("--from", right).stdout
    assert len(call("--from", right, "-v").stdout) > len(few)


def test_a_wrong_capture_prints_its_table_and_exits_6(wrong: Path) -> None:
    error, result = fail("--from", wrong)
    assert isinstance(error, VerificationError)
    assert error.exit_code == 6
    assert error.message.startswith("1 counts contradict the source: known_triad l2_transactions 38,327,550")
    assert "+52.300%" in result.stdout
    assert "OFF" in result.stdout


def test_json_is_complete_whether_right_or_wrong(right: Path, wrong: Path) -> None:
    document = json.loads(call("--from", right, "--format", "json").stdout)
    assert (document["off"], document["source"]) == (0, [str(right)])
    _, result = fail("--from", wrong, "--format", "json")
    document = json.loads(result.stdout)
    (row,) = [row for row in document["rows"] if row["status"] == "off"]
    assert (row["kernel"], row["quantity"], row["expected"]) == ("known_triad", "l2_transactions", 25_165_824)
    assert row["error"] == pytest.approx(0.523)


def test_kernels_absent_from_an_old_capture_are_a_note(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text(capture_text(kernels=KNOWN[:2]), encoding="utf-8")
    result = call("--from", path)
    assert "note: the capture does not have known_strided_1" in result.stderr


def test_what_was_not_counted_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "less.csv"
    path.write_text(capture_text(without=[L2]), encoding="utf-8")
    assert f"note: l2_transactions was not counted: {L2} not captured" in call("--from", path).stderr


def test_another_application_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text(capture_text().replace("known_", "my_"), encoding="utf-8")
    error, _ = fail("--from", path)
    assert isinstance(error, InputError)


LIMITS = Path(__file__).parent.parent / "data" / "captures-h200" / "limits"


def test_a_capture_of_known_limits_gets_its_table() -> None:
    result = call("--from", LIMITS)
    assert result.stdout.splitlines()[0].split()[:6] == ["kernel", "limited", "by", "named", "use", "agrees"]
    assert "23 kernels: 23 limits agree" in result.stderr
    document = json.loads(call("--from", LIMITS, "--format", "json").stdout)
    assert all(entry["agrees"] for entry in document["limits"])


def test_a_wrong_limit_exits_6(monkeypatch: pytest.MonkeyPatch) -> None:
    from roofctl.verify import known_limits

    wrong = {**known_limits.KNOWN_LIMITS, "limit_fma": known_limits.BuiltLimit(("xu",), "")}
    monkeypatch.setattr(known_limits, "KNOWN_LIMITS", wrong)
    error, result = fail("--from", LIMITS)
    assert (type(error), error.exit_code) == (VerificationError, 6)
    assert error.message.startswith(
        "1 kernels have another limit than they are built for: limit_fma: limited by the FMA"
    )
    assert "NO" in result.stdout


def test_a_capture_without_them_has_no_table_of_limits(right: Path) -> None:
    error, _ = fail("--from", right, "--limits")
    assert "none of the kernels of kernels/limits" in error.message


def test_a_run_here_must_have_every_kernel(right: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from support.shapes import parts

    asked = []

    def here(request: running.VerifyRequest, say: object) -> object:
        asked.append(request)
        return compare(parts(capture_text(kernels=KNOWN[:-1]))), None

    monkeypatch.setattr(running, "verify_here", here)
    error, _ = fail("--counts", "--profiler", "ncu", "--arch", "sm_90", "--set", "flop", "--set", "walls", "--keep")
    assert isinstance(error, VerificationError)
    assert error.message == f"not profiled: {KNOWN[-1].name}"
    assert asked == [running.VerifyRequest("ncu", "sm_90", ("flop", "walls"), keep=True)]


def test_a_machine_without_a_gpu_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roofctl.verify.build.find_gpu", lambda: None)
    error, result = fail()
    assert isinstance(error, DeviceError)
    assert "--from" in error.hint
    assert result.stdout == ""
