"""``roofctl gpus``: output on stdout, messages on stderr, errors as exceptions of our own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from roofctl.cli.gpus import gpus
from roofctl.core.errors import InputError, RoofctlError
from roofctl.gpus.writer import copy_as

from support.own import ATTRIBUTES, L2_CLOCK, PEAKS, capture

MEASURED = """\
schema: 1
profile: h200
gpu_name: NVIDIA H200
measured_at: "2026-01-31T12:00:00+00:00"
roofctl_version: "0.1.0"
ceilings:
  hbm: {value: 4.394e+12, unit: B/s, best: 4.4e+12, p5: 4.38e+12, p95: 4.4e+12, samples: 20, sm_clock_hz: 1.98e+9,
        method: triad}
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    return folder


def run(*args: str) -> Result:
    """Run a command that must succeed."""
    return CliRunner().invoke(gpus, args, catch_exceptions=False)


def fail(*args: str) -> tuple[RoofctlError, Result]:
    """Run a command that must raise one of our errors."""
    result = CliRunner().invoke(gpus, args)
    assert isinstance(result.exception, RoofctlError), result.exception
    return result.exception, result


@pytest.mark.parametrize("command", [[], ["list"], ["show"], ["validate"], ["new"], ["derive"]])
def test_every_command_has_help_with_an_example(command: list[str]) -> None:
    assert "Example: roofctl gpus" in run(*command, "--help").stdout


def test_list_is_a_table_of_unbroken_lines() -> None:
    result = run("list")
    lines = result.stdout.splitlines()
    assert result.stderr == ""
    assert lines[0].split()[:3] == ["name", "CC", "SMs"]
    assert len(lines) == 49
    h200 = next(line for line in lines if line.startswith("h200 "))
    assert h200.split()[:6] == ["h200", "9.0", "132", "1045", "HBM", "4.814"]
    assert h200.endswith("h200-141gb")
    assert not any("…" in line or line.endswith(" ") for line in lines)


def test_board_memory_is_printed_by_its_kind() -> None:
    t4 = next(line.split() for line in run("list").stdout.splitlines() if line.startswith("t4 "))
    assert t4[4] == "DRAM"
    ceilings = [line.split()[0] for line in run("show", "t4").stdout.splitlines() if line.endswith("pin rate")]
    assert ceilings == ["DRAM"]
    assert [
        row["level"] for row in json.loads(run("show", "t4", "--format", "json").stdout)["theoretical"]["bandwidths"]
    ][-1] == "hbm"


def test_list_as_json() -> None:
    rows = json.loads(run("list", "--format", "json").stdout)
    row = next(row for row in rows if row["name"] == "h200")
    assert row["peak_warp_instructions_per_second"] == pytest.approx(1.04544e12)
    assert row["hbm_pin_bytes_per_second"] == pytest.approx(4.814304e12)
    assert row["layer"] == "packaged"
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)


def test_list_names_a_broken_file_and_goes_on(work: Path) -> None:
    (work / "profiles").mkdir()
    (work / "profiles" / "bad.yaml").write_text("name: 1\n", encoding="utf-8")
    result = run("list")
    assert "Left out" in result.stderr
    assert "bad.yaml" in result.stderr
    assert "h200" in result.stdout


def test_show_gives_every_fact_and_ceiling() -> None:
    result = run("show", "H200")
    assert result.stderr == "GPU profile h200 (name h200, packaged)\n"
    assert "chip gh100 (die GH100), compute capability 9.0" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines() if line]
    bus = next(row for row in rows if row[0] == "memory.bus_bits")
    assert bus[:3] == ["memory.bus_bits", "6,016", "driver"]
    hbm = next(row for row in rows if row[0] == "HBM")
    assert hbm[:5] == ["HBM", "4.814", "TB/s", "150.4", "6.949"]
    peak = next(row for row in rows if row[0] == "peak")
    assert peak[:3] == ["peak", "1045", "GIPS"]
    assert "94 slices x 64 B at 1.709 GHz" in result.stdout
    assert "\nmeasured ceilings\n" in result.stdout
    assert "measured ceilings: none measured" in run("show", "h100-sxm").stdout
    assert "note: ncu's counters show 94 L2 slices" in result.stdout


def test_show_says_which_profile_an_alias_took() -> None:
    assert run("show", "a100").stderr == "GPU profile a100-sxm4-40gb (alias a100 -> a100-sxm4-40gb, packaged)\n"


def test_show_names_unknown_ceilings_and_facts() -> None:
    text = run("show", "t4").stdout
    assert "bytes per clock of the L2 are not known (not published)" in text
    assert any(line.split()[:3] == ["l2.slices", "unknown", "unknown"] for line in text.splitlines())


def test_show_as_json(work: Path) -> None:
    folder = work.parent / "config" / "roofctl" / "profiles"
    folder.mkdir(parents=True)
    (folder / "h200.measured.yaml").write_text(MEASURED, encoding="utf-8")
    data = json.loads(run("show", "h200", "--format", "json").stdout)
    assert data["facts"]["memory.bus_bits"]["value"] == 6016
    assert data["facts"]["sm_count"]["source"] == "NVIDIA H200 Tensor Core GPU datasheet"
    levels = {row["level"]: row for row in data["theoretical"]["bandwidths"]}
    assert levels["l2"]["transactions_per_second"] == pytest.approx(321.292e9)
    assert levels["l1"]["ridge"] == pytest.approx(1.0)
    assert data["measured"]["bandwidths"][0]["bytes_per_second"] == 4.394e12
    assert set(data["measured"]["absent"]) == {"l1", "l2", "issue"}
    assert "4.394 TB/s" in run("show", "h200").stdout


def test_show_unknown_name() -> None:
    error, result = fail("show", "h2000")
    assert isinstance(error, InputError)
    assert "h200" in str(error)
    assert result.stdout == ""


def test_validate_without_files_covers_all_layers(work: Path) -> None:
    run("new", "mine", "--from", "h200")
    result = run("validate")
    assert all(line.startswith("ok   ") for line in result.stdout.splitlines())
    assert len(result.stdout.splitlines()) == 50
    assert "h200.measured.yaml" in result.stdout
    assert "mine.yaml" in result.stdout.splitlines()[0]


def test_validate_lists_problems_and_fails(work: Path) -> None:
    run("new", "good", "--from", "a100")
    text = (work / "profiles" / "good.yaml").read_text(encoding="utf-8")
    (work / "bad.yaml").write_text(text.replace("1.555e+12", "1555e9"), encoding="utf-8")
    error, result = fail("validate", "profiles/good.yaml", "bad.yaml", "none.yaml")
    assert (error.exit_code, str(error)) == (2, "2 of 3 files cannot be used as they are")
    lines = result.stdout.splitlines()
    assert lines[:2] == ["ok   profiles/good.yaml", "bad  bad.yaml"]
    assert "name: seen 'good'" in lines[2]
    assert "write 1.555e+12" in lines[3]
    assert "none.yaml: cannot be read: No such file" in lines[5]


def test_validate_checks_measured_results_and_alias_clashes(work: Path) -> None:
    folder = work / "profiles"
    folder.mkdir()
    (folder / "h200.measured.yaml").write_text(MEASURED.replace("samples: 20", "samples: many"), encoding="utf-8")
    for name in ("one", "two"):
        run("new", name, "--from", "h200")
        path = folder / f"{name}.yaml"
        path.write_text(path.read_text(encoding="utf-8").replace("aliases: []", "aliases: [both]"), encoding="utf-8")
    error, result = fail("validate")
    assert "ceilings.hbm.samples: seen 'many' (a text), expected a whole number" in result.stdout
    assert "the name both belongs to one.yaml and two.yaml" in result.stdout
    assert str(error) == "1 of 52 files cannot be used as they are, 1 names belong to several files"


def test_new_writes_a_skeleton_that_asks_for_what_is_missing(work: Path) -> None:
    result = run("new", "My GPU")
    assert result.stdout == ""
    assert result.stderr.startswith("Wrote profiles/my-gpu.yaml.")
    text = (work / "profiles" / "my-gpu.yaml").read_text(encoding="utf-8")
    assert "4.8e+12 is a number" in text
    assert yaml.safe_load(text)["name"] == "my-gpu"
    _, checked = fail("validate", "profiles/my-gpu.yaml")
    assert "sm_count.value: seen null" in checked.stdout


def test_new_does_not_overwrite_without_force(work: Path) -> None:
    run("new", "mine")
    error, _ = fail("new", "mine", "--from", "h200")
    assert "--force" in error.hint
    run("new", "mine", "--from", "h200", "--force")
    assert run("validate", "profiles/mine.yaml").stdout == "ok   profiles/mine.yaml\n"
    assert run("show", "mine").stderr == "GPU profile mine (name mine, ./profiles)\n"


def test_new_says_when_it_hides_a_shipped_profile() -> None:
    result = run("new", "h200", "--from", "h200")
    assert "no longer the profile that roofctl ships" in result.stderr


def test_new_from_a_report_is_a_valid_profile_with_a_basis_for_each_fact(work: Path) -> None:
    path = capture(work, ATTRIBUTES, PEAKS, L2_CLOCK)
    result = run("new", "toy", "--from-report", str(path))
    assert result.stderr == "Wrote profiles/toy.yaml. Check it, then: roofctl gpus show profiles/toy.yaml\n"
    assert run("validate", "profiles/toy.yaml").stdout == "ok   profiles/toy.yaml\n"
    shown = run("show", "profiles/toy.yaml").stdout
    assert "2048 B/clk at 1.6 GHz, derived from the report" in shown
    error, _ = fail("new", "toy", "--from", str(path))
    assert "--force" in error.hint
    run("new", "toy", "--from", str(path), "--force")


def test_new_takes_one_source(work: Path) -> None:
    result = CliRunner().invoke(gpus, ["new", "toy", "--from", "h200", "--from-device"])
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
    assert not (work / "profiles").exists()


def test_derive_lists_what_captures_give(work: Path) -> None:
    result = run("derive", str(capture(work, ATTRIBUTES, PEAKS, L2_CLOCK)), "--format", "csv")
    assert 'NVIDIA Toy,L2 B/clk,"2,048",report,,,,' in result.stdout
    error, result = fail("derive", str(capture(work)))
    assert "no input says anything" in error.message


def test_new_from_unknown_writes_nothing(work: Path) -> None:
    fail("new", "mine", "--from", "nothing-like-it")
    assert not (work / "profiles").exists()


def test_new_in_a_place_that_cannot_be_written(work: Path) -> None:
    (work / "profiles").write_text("a file, not a folder", encoding="utf-8")
    error, _ = fail("new", "mine")
    assert "profiles" in str(error)


def test_a_terminal_table_takes_names_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from roofctl.cli.common import show_as

    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    show_as("table", ["name", ">rate"], [["[bold]x[/bold] " + "y" * 30, "1.0"]])
    text = capsys.readouterr().out
    assert text.count("y") == 30
    assert "[bold]" in text


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from roofctl.cli.gpus import gpus; print([m for m in ('pydantic', 'rich', 'yaml') if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent.parent,
    )
    assert result.stdout == "[]\n"


def test_copy_of_a_copy_is_stable(work: Path) -> None:
    from roofctl.gpus import load_profile

    run("new", "one", "--from", "h200")
    one = work / "profiles" / "one.yaml"
    first = one.read_text(encoding="utf-8")
    assert copy_as("one", load_profile(one)).replace(", changed, changed", ", changed") == first
