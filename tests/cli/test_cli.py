"""The command line: data on stdout, all else on stderr, an exit code for every kind of trouble."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import roofctl.cli.report as report_module
from roofctl import __version__
from roofctl.cli.common import say_notes, use_color
from roofctl.cli.main import cli, main
from roofctl.core.errors import CounterAccessError, DeviceError, InputError, RoofctlError, ToolError, VerificationError
from roofctl.core.notes import Note

from support.shapes import DRAM_R, FULL, TIME, L, ncu_details, ncu_raw, write

H200 = {"device__attribute_display_name": "NVIDIA H200", "launch__sm_count": 132}
LONG = "void fused<" + ", ".join(f"(int){i}" for i in range(350)) + ">(T1 *, int)"


@pytest.fixture
def capture(tmp_path: Path) -> str:
    (path,) = write(
        tmp_path,
        capture="app, says hello\n"
        + ncu_raw([L("triad(int)", {**FULL, **H200}), L("copy(int)", {**FULL, **H200, DRAM_R: "n/a"}, id="1")]),
    )
    return str(path)


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONWARNINGS": "error", **more}


# --- report -----------------------------------------------------------------------------------------------------------


def test_the_table(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", capture]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["#", "kernel", "launches"]
    assert [line.split()[1] for line in lines[1:3]] == ["copy", "triad"]
    assert lines[3] == ""
    assert lines[4].startswith("1  copy: ")
    assert "ceilings: h200, measured, SM 1.500 GHz as captured" in err
    assert "note: ceilings measured on NVIDIA H200, " in err
    assert "note: no HBM point" in err
    assert "belong to no table" not in err


def test_verbose_prints_details(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", capture, "-v"]) == 0
    assert "1 lines that belong to no table passed over" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["table", "json", "csv", "md"])
def test_quiet_prints_only_data(form: str, capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", capture, "-q", "--format", form]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("triad") >= 1


def test_json_and_csv_agree_and_hold_nothing_else(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", capture, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["source"] == [capture]
    assert main(["report", capture, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    for row in document["kernels"]:
        row["advice"] = " | ".join(entry["text"] for entry in row["advice"]) or None
        row["use"] = "; ".join(f"{name}={use:.4g}" for name, use in row["use"].items()) or None
    assert rows == [{k: "" if v is None else str(v) for k, v in row.items()} for row in document["kernels"]]


def test_markdown(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", capture, "--format", "md"]) == 0
    _, _, advice = capsys.readouterr().out.partition("\n\n")
    ceilings, _, advice = advice.partition("\n\n")
    assert ceilings.startswith("Ceilings: h200, ")
    assert advice.startswith("- 1 `copy`: ")
    assert main(["report", capture, "--format", "md", "--no-advice"]) == 0
    *lines, blank, ceilings = capsys.readouterr().out.splitlines()
    assert all(line.startswith("| ") for line in lines)
    assert (blank, ceilings[:9]) == ("", "Ceilings:")


@pytest.mark.parametrize("form", ["table", "md"])
def test_full_names_follow_on_request(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = write(tmp_path, a=ncu_raw([L(LONG)]))
    assert main(["report", str(path), "--format", form, "--names", "full"]) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"\n1  {LONG}\n")
    assert len(LONG) > 2_800


def test_a_long_name_is_complete_in_data_and_short_in_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = write(tmp_path, a=ncu_raw([L(LONG)]))
    main(["report", str(path)])
    assert max(map(len, capsys.readouterr().out.splitlines())) < 200
    main(["report", str(path), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["kernels"][0]["kernel"] == LONG


def test_an_unknown_gpu_still_gives_the_table_and_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)")]))
    assert main(["report", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "k " in out
    assert "which ceilings?" in err
    assert "--profile" in err


@pytest.mark.parametrize(
    ("options", "kernels"),
    [
        ([], ["copy", "triad"]),
        (["--kernel", "tri"], ["triad"]),
        (["--exclude", "tri"], ["copy"]),
        (["--kernel", "int", "--top", "1"], ["copy"]),
        (["--group", "launch"], ["copy", "triad"]),
        (["--instructions", "issued"], ["copy", "triad"]),
        (["--profile", "h200", "--ceilings", "theoretical"], ["copy", "triad"]),
    ],
)
def test_options_reach_the_study(
    options: list[str], kernels: list[str], capture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", capture, "--format", "json", *options]) == 0
    rows = json.loads(capsys.readouterr().out)["kernels"]
    assert [row["short_name"] for row in rows] == kernels
    assert {row["warp_instructions"] for row in rows} == {110_000 if "issued" in options else 100_000}


def test_the_decimal_separator_is_stated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = write(tmp_path, a=ncu_details([L("k(int)", {TIME: "117.344"})]))
    assert main(["report", str(path)]) == 2
    assert "--decimal comma" in capsys.readouterr().err
    assert main(["report", str(path), "--decimal", "comma", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernels"][0]["seconds"] == pytest.approx(117.344e-6)


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("nothing here\n", 2, "holds no table of ncu or nvprof"),
        ("", 2, "is empty"),
        (ncu_raw([]), 2, "no row under it"),
        ("==ERROR== ERR_NVGPUCTRPERM\n", 4, "denied access to performance counters"),
        ("==ERROR== ERR_NVGPUCTRPERM\n" + ncu_raw([L("k(int)")]), 4, "denied access to performance counters"),
    ],
)
def test_files_that_cannot_be_used(
    content: str, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = write(tmp_path, a=content)
    assert main(["report", str(path)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {path}")
    assert words in err
    assert "\nhint: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report"], "there is no capture in"),
        (["report", "x", "--top", "0"], "--top"),
        (["report", "x", "--format", "xml"], "--format"),
        (["report", "x", "--no-such-option"], "No such option"),
        (["reports"], "No such command 'reports'"),
        (["report", "/no/such/file.csv"], "no such file"),
        (["report", "."], "is a folder"),
    ],
)
def test_wrong_usage_is_2(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RoofctlError, 1),
        (InputError, 2),
        (ToolError, 3),
        (CounterAccessError, 4),
        (DeviceError, 5),
        (VerificationError, 6),
    ],
)
def test_every_family_of_errors_has_its_exit_code(
    error: type[RoofctlError],
    code: int,
    capture: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def trouble(_options: object) -> None:
        raise error("it broke", hint="mend it")

    monkeypatch.setattr(report_module, "request_of", trouble)
    assert main(["report", capture, "-q"]) == code
    assert capsys.readouterr().err == "error: it broke\nhint: mend it\n"


def test_no_hint_no_line(capture: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def trouble(_options: object) -> None:
        raise InputError("it broke")

    monkeypatch.setattr(report_module, "request_of", trouble)
    main(["report", capture])
    assert capsys.readouterr().err == "error: it broke\n"


def test_debug_shows_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = write(tmp_path, a="")
    assert main(["report", str(path), "--debug"]) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert "error: " in err


def test_an_interrupt_is_130(capture: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(report_module, "request_of", interrupt)
    assert main(["report", capture]) == 130
    assert "interrupted" in capsys.readouterr().err.lower()


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_reader_that_leaves_is_no_error(form: str, tmp_path: Path) -> None:
    (path,) = write(tmp_path, many=ncu_raw([L(f"k{i}(int)", id=str(i)) for i in range(400)]))
    child = subprocess.Popen(
        [sys.executable, "-m", "roofctl", "report", str(path), "--format", form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    err = child.stderr.read().decode()
    child.stderr.close()
    assert child.wait(timeout=60) == 0
    assert "Traceback" not in err
    assert "Exception ignored" not in err


# --- color ------------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("arguments", "variable", "colored"),
    [([], None, True), (["--no-color"], None, False), ([], "1", False), ([], "", False)],
)
def test_color_only_on_a_terminal_that_wants_it(
    arguments: list[str], variable: str | None, colored: bool, capture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is not None:
        monkeypatch.setenv("NO_COLOR", variable)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["report", capture, *arguments]) == 0
    assert ("\x1b[" in terminal.getvalue()) == colored
    assert use_color(terminal) == colored
    assert not use_color(io.StringIO())


# --- the other commands -----------------------------------------------------------------------------------------------


def test_quantities_table_and_json_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quantities", "--chip", "gb202", "--set", "instruction"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("passes on gb202: at least 2")
    assert "dram__sectors_op_read.sum + dram__sectors_op_write.sum" in out
    assert main(["quantities", "--chip", "gb202", "--set", "instruction", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [line.split()[0] for line in out.splitlines()[1:]] == [row["quantity"] for row in rows]


def test_passes_do_not_depend_on_the_order_of_the_sets() -> None:
    from roofctl.quantities.listing import passes

    assert passes("gh100", ("requests", "walls", "instruction")) == passes(
        "gh100", ("instruction", "walls", "requests")
    )
    assert passes("gh100", ("default",)).startswith("10 (measured on NVIDIA H200")
    assert passes("ga100", ("walls", "instruction")).startswith("at least 5")
    assert passes("gh100", ("tensor", "requests")) == "not known for these sets on this chip"


def test_quantities_as_a_list_for_the_profiler(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quantities", "--set", "instruction", "--format", "counters"]) == 0
    counters = capsys.readouterr().out.strip().split(",")
    assert len(counters) == len(set(counters))
    assert {"gpu__time_duration.sum", "lts__t_sectors_srcunit_tex.sum"} <= set(counters)


@pytest.mark.parametrize(
    ("chip", "words"), [("h200", "dram__sectors_read.sum"), ("GA10B", "missing: this chip has no DRAM counters")]
)
def test_quantities_of_a_chip_or_a_profile(chip: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quantities", "--chip", chip]) == 0
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--chip", "gx1"], "no chip called 'gx1'"), (["--set", "every"], "no metric set called 'every'")],
)
def test_quantities_of_nothing(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quantities", *arguments]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert "hint: known" in err


def test_demo_writes_its_pictures_again_and_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["demo", "-o", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "triad" in out
    assert f"Wrote {tmp_path / 'roofctl-demo.png'}" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["roofctl-demo.png", "roofctl-demo.svg"]
    assert (tmp_path / "roofctl-demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_into_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "-o", str(tmp_path / "none")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"roofctl, version {__version__}"


def test_notes_warnings_first_and_each_once(capsys: pytest.CaptureFixture[str]) -> None:
    say_notes([Note("a"), Note("b", warning=True), Note("a"), Note("c", detail=True)])
    assert capsys.readouterr().err == "warning: b\nnote: a\n"
    say_notes([*(Note(str(i), warning=True) for i in range(4)), Note("a"), Note("b"), Note("c", asked=True)])
    assert capsys.readouterr().err.splitlines()[4:] == ["note: c", "2 more notes: -v lists them"]


def commands(group: click.Command, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    found = [(path, group)]
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            found += commands(command, (*path, name))
    return found


@pytest.mark.parametrize(
    ("path", "command"), commands(cli), ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_every_command_has_help_with_an_example(
    path: tuple[str, ...], command: click.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example:" in out
    assert "roofctl " + " ".join(path[:1]) in out.split("Example:")[1]
    undocumented = [p.name for p in command.params if isinstance(p, click.Option) and not (p.help or p.hidden)]
    assert undocumented == []


# --- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "kernel", "label"),
    [
        ("triad=a=b=c", "triad", "a=b=c"),
        ("operator===eq", "operator==", "eq"),
        ("operator====", "operator==", "="),
        ("bool operator==(int)=x=y", "operator==", "x=y"),
    ],
)
def test_a_label_and_a_name_may_hold_the_separator_between_them(entry: str, kernel: str, label: str) -> None:
    from roofctl.plots.style import PlotOptions
    from roofctl.plots.style_file import restyle
    from roofctl.roofline.model import KernelPoints

    kernels = [KernelPoints("triad(int)", "triad", ()), KernelPoints("bool operator==(int)", "operator==", ())]
    styled = restyle(PlotOptions(), "label", entry, kernels)
    assert {k.short_name: styled.kernel_style(k).label for k in kernels if styled.kernel_style(k).label} == {
        kernel: label
    }


@pytest.mark.parametrize("entry", ["triad", "=x", "triad=", "nobody=x=y"])
def test_a_label_that_names_nothing(
    entry: str, capture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", capture, "--label", entry, "-o", str(tmp_path / "a.png")]) == 2
    error, hint = capsys.readouterr().err.splitlines()[-2:]
    assert error.startswith("error: --label ")
    assert hint.startswith("hint: ")


def test_a_full_disk_is_one_line(
    capture: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("roofctl.cli.report.print_table", full)
    assert main(["report", capture]) == 1
    assert capsys.readouterr().err.splitlines()[-2] == "error: No space left on device"


def test_a_folder_in_the_place_of_the_picture(capture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.png").mkdir()
    assert main(["plot", capture, "-o", str(tmp_path / "a.png"), "--force"]) == 2
    assert "a.png is a folder" in capsys.readouterr().err


GARBAGE = """
import atexit, gc, sys
from roofctl.cli import main

searches = []
gc.callbacks.append(lambda phase, info: searches.append(info["generation"]) if phase == "start" else None)
atexit.register(lambda: print(2 in searches, gc.get_freeze_count() > 0, file=sys.stderr))
main.entry()
"""


def test_a_short_run_never_looks_through_everything_for_garbage(capture: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", GARBAGE, "report", "-q", capture]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stderr == "False True\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["gpus list", "gpus show h200", "report {capture}", "plot {capture} -o out.png"])
def test_closed_streams_are_nobody_listening(closed: str, command: str, capture: str, tmp_path: Path) -> None:
    line = f"{sys.executable} -m roofctl {command.format(capture=capture)} {closed}"
    ran = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False), ran.stderr
    assert (tmp_path / "out.png").exists() == command.startswith("plot")


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "free the disk"), (errno.EACCES, "check the rights"), (errno.EIO, "check the path and the disk")],
)
def test_a_refusal_of_the_system_has_its_own_remedy(
    number: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number), "a.csv")

    monkeypatch.setattr("roofctl.study.load.locate", refused)
    assert main(["report", "a.csv"]) == 1
    assert f"hint: {words}" in capsys.readouterr().err


def test_what_a_filter_takes_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = write(tmp_path, a=ncu_raw([L("void copy(int)"), L("void triad(int)", id="1")]))
    assert main(["report", str(path), "--profile", "h200", "--kernel", "regex:copy"]) == 0
    assert "note: --kernel 'regex:copy' takes 1 of 2 kernels, 50 % of the time\n" in capsys.readouterr().err
