"""The scripts for nodes without Python: sound bash, the catalogue's counters, and captures that roofctl reads."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from ast import literal_eval
from pathlib import Path

import pytest
from click.testing import CliRunner

from roofctl.cli.report import report
from roofctl.profilers import ncu, nvprof
from roofctl.profilers.script import script
from roofctl.quantities import catalogue

SHELL = Path(__file__).parent.parent.parent / "shell"
SCRIPTS = sorted(SHELL.glob("*.sh"))
CAPTURES = [SHELL / "profile_ncu.sh", SHELL / "profile_nvprof.sh"]
NAMES = [script.name for script in CAPTURES]

NCU = """
import os, pathlib, sys
words = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(repr([os.environ.get("LC_ALL"), *words]) + "\\n")
def value(option):
    return words[words.index(option) + 1]
state = pathlib.Path(os.environ["CALLS"]).with_suffix(".metrics")
if words == ["--version"]:
    print("NVIDIA (R)\\nVersion 2025.3.1.0 (build 1)")
elif words == ["--help"]:
    print(os.environ.get("HELP", "  --config-file arg\\n  --disable-extra-suffixes"))
elif "--import" in words:
    assert pathlib.Path(value("--import")).read_text() == "report"
    names = [n for n in state.read_text().split(",") if n not in os.environ.get("LACKING", "").split(",")]
    values = {"gpu__time_duration.sum": ("ns", "100000"), "sm__cycles_elapsed.avg.per_second": ("hz", "1980000000")}
    identity = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
    row = ["0", "9", "app", "h", "triad(float *, int)", "1", "7", "(256, 1, 1)", "(64, 1, 1)", "0", "9.0"]
    def line(cells):
        print(",".join('"' + cell + '"' for cell in cells))
    line(identity + ["device__attribute_display_name"] + names)
    line([""] * 12 + [values.get(n, ("", ""))[0] for n in names])
    line(row + ["NVIDIA H200"] + [values.get(n, ("", "32000"))[1] for n in names])
else:
    state.write_text(value("--metrics"))
    print("output of the application")
    pathlib.Path(value("--log-file")).write_text(os.environ.get("LOG", "==PROF== Connected\\n"))
    if not os.environ.get("NO_REPORT"):
        pathlib.Path(value("-o") + ".ncu-rep").write_text("report")
    sys.exit(int(os.environ.get("CODE", "0")))
"""

NVPROF = """
import os, pathlib, sys
words = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(repr(words) + "\\n")
def value(option):
    return words[words.index(option) + 1]
if words == ["--version"]:
    print("nvprof: NVIDIA (R) Cuda command line profiler\\nRelease version 11.8.87 (21)")
    sys.exit()
lines = ["==9== NVPROF is profiling process 9, command: app"]
if os.environ.get("LOG"):
    lines = [os.environ["LOG"]]
elif "--print-gpu-summary" in words:
    lines += ['"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"', ",%,ns,,ns,ns,ns,",
              '"GPU activities",100,300000,3,100000,90000,110000,"triad(float*, int)"']
else:
    kind, names = ("Metric", value("--metrics")) if "--metrics" in words else ("Event", value("--events"))
    shown = '"Metric Name","Metric Description",' if kind == "Metric" else '"Event Name",'
    lines.append('"Device","Kernel","Invocations",' + shown + '"Min","Max","Avg"' + (',"Total"' if kind == "Event" else ""))
    for name in names.split(","):
        cells = ['"Tesla V100-SXM2-16GB (0)"', '"triad(float*, int)"', "3", '"' + name + '"']
        cells += (['"words"'] if kind == "Metric" else []) + ["32000"] * 3 + (["96000"] if kind == "Event" else [])
        lines.append(",".join(cells))
pathlib.Path(value("--log-file")).write_text("\\n".join(lines) + "\\n")
sys.exit(int(os.environ.get("CODE", "0")))
"""


class Bench:
    """A folder with stand-in profilers on PATH; runs a script there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls_file = folder / "calls"
        (folder / "bin").mkdir()
        self.tool("ncu", NCU)
        self.tool("nvprof", NVPROF)
        self.tool("app", "")
        self.app = str(folder / "bin" / "app")

    def tool(self, name: str, script: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!{sys.executable}\n{script}\n")
        path.chmod(0o755)

    def remove(self, name: str) -> None:
        (self.folder / "bin" / name).unlink()

    def run(self, script: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        # A PATH of our own, so that a real profiler or nvidia-smi is never met.
        inherited = {name: value for name, value in os.environ.items() if name not in ("LC_ALL", "HOSTNAME")}
        system = self.folder / "system"
        if not system.exists():
            system.mkdir()
            for name in ("bash", "env", "cat", "grep", "date", "dirname", "mkdir", "mv", "uname"):
                (system / name).symlink_to(shutil.which(name) or name)
        environment = {
            **inherited,
            "PATH": f"{self.folder / 'bin'}:{system}",
            "CALLS": str(self.calls_file),
            "HOSTNAME": "node7",
            **environ,
        }
        return subprocess.run(
            [str(SHELL / script), *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def interrupt(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a script and press Ctrl-C (the terminal signals everyone) once the application says so."""
        environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "CALLS": str(self.calls_file),
        }
        with subprocess.Popen(
            [str(SHELL / script), *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as child:
            assert child.stdout
            child.stdout.readline()
            os.killpg(child.pid, signal.SIGINT)
            stdout, stderr = child.communicate(timeout=30)
        return subprocess.CompletedProcess([script], child.returncode, stdout, stderr)

    def calls(self) -> str:
        return self.calls_file.read_text()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def rows_of(folder: Path, *options: str) -> list[dict[str, object]]:
    """What ``roofctl report`` says of a captured folder."""
    files = sorted(map(str, folder.glob("*.csv")))
    result = CliRunner().invoke(report, [*files, "--format", "json", *options])
    assert result.exit_code == 0, result.output
    kernels: list[dict[str, object]] = json.loads(result.stdout)["kernels"]
    return kernels


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_bash_can_parse_it_and_it_can_be_run(script: Path) -> None:
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in script.read_text()


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck")
def test_shellcheck_is_content() -> None:
    done = subprocess.run(["shellcheck", *map(str, SCRIPTS)], capture_output=True, text=True, check=False)

    assert done.stdout == ""


# Counters.


@pytest.mark.parametrize("profiler", ["ncu", "nvprof"])
def test_committed_scripts_are_those_that_roofctl_writes(profiler: str) -> None:
    assert (SHELL / f"profile_{profiler}.sh").read_text() == script(profiler)


@pytest.mark.parametrize("chip", list(catalogue().chips))
def test_ncu_counters_are_those_of_the_catalogue(bench: Bench, chip: str) -> None:
    listed = bench.run("profile_ncu.sh", "--list", "--chip", chip).stdout.split()

    assert sorted(listed) == sorted(ncu.counters(chip, ("instruction",)).counters)


@pytest.mark.parametrize(
    ("capability", "chip"),
    # Chips of one compute capability are told apart by the device's name, which the script does not know.
    [(c, catalogue().chip_of(c)) for chip in catalogue().chips.values() for c in chip.compute_capabilities],
)
def test_the_chip_is_found_by_nvidia_smi(bench: Bench, capability: str, chip: str) -> None:
    bench.tool("nvidia-smi", f"print('{capability}\\n9.0')")

    listed = bench.run("profile_ncu.sh", "--list").stdout

    assert listed == bench.run("profile_ncu.sh", "--list", "--chip", chip).stdout


@pytest.mark.parametrize("answer", ["print('[N/A]')", "print('No devices were found'); raise SystemExit(6)", ""])
def test_an_unknown_chip_gets_the_usual_counters(bench: Bench, answer: str) -> None:
    bench.tool("nvidia-smi", answer)

    listed = bench.run("profile_ncu.sh", "--list").stdout

    assert listed == bench.run("profile_ncu.sh", "--list", "--chip", "gh100").stdout


def test_nvprof_counters_are_those_of_the_catalogue(bench: Bench) -> None:
    wanted = set(nvprof.counters("gv100", ("instruction",)).counters)

    listed = bench.run("profile_nvprof.sh", "--list").stdout.split()
    bench.run("profile_nvprof.sh", "-o", "run", bench.app)

    assert set(listed) == wanted
    metrics, events = (set(literal_eval(line)[2].split(",")) for line in bench.calls().splitlines()[2:])
    assert events == wanted & nvprof.EVENTS
    assert metrics == wanted - nvprof.EVENTS


# Captures.


def test_ncu_capture_is_a_folder_that_report_reads(bench: Bench) -> None:
    done = bench.run("profile_ncu.sh", "-o", "runs/one", bench.app, "a b", "it's", "$HOME", LC_ALL="de_DE.UTF-8")

    assert done.returncode == 0, done.stderr
    assert done.stdout == "output of the application\n"
    assert sorted(path.name for path in (bench.folder / "runs/one").iterdir()) == [
        "capture.csv",
        "capture.txt",
        "ncu.log",
        "report.ncu-rep",
    ]
    assert "roofctl report ./runs/one/*.csv" in done.stderr
    (row,) = rows_of(bench.folder / "runs/one")
    assert row["kernel"] == "triad(float *, int)"
    captured, exported = (literal_eval(line) for line in bench.calls().splitlines()[2:])
    assert captured[-4:] == [bench.app, "a b", "it's", "$HOME"]
    assert captured[0] == "de_DE.UTF-8"
    assert exported[0] == "C"
    for words in (captured, exported):
        assert words[1:3] == ["--config-file", "off"]
    assert captured[captured.index("--target-processes") + 1] == "all"
    assert captured[captured.index("--clock-control") + 1] == "none"
    assert captured[captured.index("--cache-control") + 1] == "all"
    assert "--disable-extra-suffixes" in captured
    assert exported[3:] == [
        "--import",
        "./runs/one.partial/report.ncu-rep",
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
    ]


def test_nvprof_capture_is_three_runs_that_report_joins(bench: Bench) -> None:
    done = bench.run("profile_nvprof.sh", "-o", "run", "-k", "triad", "--", bench.app, "a b")

    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (bench.folder / "run").iterdir()) == [
        "capture.txt",
        "events.csv",
        "metrics.csv",
        "timing.csv",
    ]
    (row,) = rows_of(bench.folder / "run", "--profile", "v100")
    assert row["launches"] == 3
    timing, metrics, events = (literal_eval(line) for line in bench.calls().splitlines()[1:])
    assert all(words[-2:] == [bench.app, "a b"] for words in (timing, metrics, events))
    assert timing[1:4] == ["--print-gpu-summary", "-u", "ns"]
    assert [metrics[1:3], events[1:3]] == [["--kernels", "triad"]] * 2


def test_options_reach_ncu(bench: Bench) -> None:
    options = ["--clock-control", "base", "--cache-control", "none", "-k", "regex:gemm|triad", "-c", "5"]

    done = bench.run("profile_ncu.sh", *options, "--dry-run", bench.app, "it's")

    capture, export = done.stdout.splitlines()
    words = shlex.split(capture)
    assert "--clock-control base --cache-control none" in capture
    assert words[words.index("--kernel-name") + 1] == "regex:gemm|triad"
    assert words[words.index("--launch-count") + 1] == "5"
    assert words[-1] == "it's"
    assert export.startswith("LC_ALL=C ncu ")
    assert [path.name for path in bench.folder.iterdir() if path.name.startswith("roofctl")] == []


def test_options_that_a_version_lacks_are_left_out(bench: Bench) -> None:
    line = bench.run("profile_ncu.sh", "--dry-run", bench.app, HELP="  --target-processes arg").stdout

    assert "--config-file" not in line
    assert "--disable-extra-suffixes" not in line
    assert "--target-processes all" in line


@pytest.mark.parametrize("script", NAMES)
def test_the_folder_is_named_after_host_and_time(bench: Bench, script: str) -> None:
    done = bench.run(script, bench.app)

    (folder,) = bench.folder.glob("roofctl-*")
    assert done.returncode == 0
    assert "-node7-2" in folder.name
    assert "host: node7" in (folder / "capture.txt").read_text()


@pytest.mark.parametrize("script", NAMES)
@pytest.mark.parametrize("existing", ["run", "run.partial"])
def test_nothing_is_overwritten(bench: Bench, script: str, existing: str) -> None:
    (bench.folder / existing).mkdir()

    done = bench.run(script, "-o", "run/", bench.app)

    assert done.returncode == 2
    assert f"{existing} exists" in done.stderr
    assert list((bench.folder / existing).iterdir()) == []


@pytest.mark.parametrize("folder", ["with space", "-dash", "quote's"])
@pytest.mark.parametrize("script", NAMES)
def test_odd_folder_names(bench: Bench, script: str, folder: str) -> None:
    done = bench.run(script, "-o", folder, bench.app)

    assert done.returncode == 0, done.stderr
    assert (bench.folder / folder / "capture.txt").exists()


@pytest.mark.parametrize("script", NAMES)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "usage:"),
        (["--nosuch", "app"], "no option --nosuch"),
        (["-o"], "-o needs a value"),
        (["-o", "", "app"], "-o needs a value"),
        (["-o", "a%p", "app"], "%"),
        (["./nosuchapp"], "no program ./nosuchapp"),
    ],
)
def test_wrong_usage_is_2(bench: Bench, script: str, arguments: list[str], says: str) -> None:
    done = bench.run(script, *arguments)

    assert done.returncode == 2
    assert says in done.stderr
    assert not bench.calls_file.exists() or "--metrics" not in bench.calls()


@pytest.mark.parametrize("option", ["--clock-control", "--cache-control", "-c"])
def test_wrong_values_are_named(bench: Bench, option: str) -> None:
    done = bench.run("profile_ncu.sh", option, "wild", bench.app)

    assert done.returncode == 2
    assert "wild" in done.stderr


@pytest.mark.parametrize("script", NAMES)
def test_help_lists_exit_codes(bench: Bench, script: str) -> None:
    done = bench.run(script, "--help")

    assert done.returncode == 0
    assert f"usage: {script}" in done.stdout
    assert "exit status" in done.stdout
    assert '-o "run-$OMPI_COMM_WORLD_RANK"' in done.stdout


@pytest.mark.parametrize(("script", "name"), [("profile_ncu.sh", "ncu"), ("profile_nvprof.sh", "nvprof")])
def test_a_missing_or_broken_profiler_is_3(bench: Bench, script: str, name: str) -> None:
    bench.tool(name, "sys = __import__('sys'); sys.exit('cannot find the real one')")
    broken = bench.run(script, bench.app)
    bench.remove(name)
    missing = bench.run(script, bench.app)

    assert broken.returncode == missing.returncode == 3
    assert "does not run: cannot find the real one" in broken.stderr
    assert f"{name} is not on PATH" in missing.stderr
    assert list(bench.folder.glob("roofctl-*")) == []


@pytest.mark.parametrize(
    ("script", "log"),
    [
        ("profile_ncu.sh", "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"),
        ("profile_nvprof.sh", "==9== Warning: ERR_NVGPUCTRPERM - The user does not have permission"),
    ],
)
@pytest.mark.parametrize("code", ["0", "1"])
def test_denied_counters_are_4_whatever_the_exit_code(bench: Bench, script: str, log: str, code: str) -> None:
    if script == "profile_nvprof.sh":  # its timing run needs no counters
        bench.tool("nvprof", NVPROF.replace('if os.environ.get("LOG")', 'if "--metrics" in words'))
    done = bench.run(script, "-o", "run", bench.app, LOG=log, CODE=code if script == "profile_ncu.sh" else "0")

    assert done.returncode == 4
    for words in ("node7", "root", "NVreg_RestrictProfilingToAdminUsers=0", "--cap-add=SYS_ADMIN", "hosted"):
        assert words in done.stderr
    assert not (bench.folder / "run").exists()


@pytest.mark.parametrize(
    ("log", "code", "exit_code"),
    [
        ("==WARNING== No kernels were profiled.", "0", 8),
        ("==ERROR== The application returned an error code (7).\n==WARNING== No kernels were profiled.", "7", 7),
        ("==ERROR== Cuda driver is not compatible with Nsight Compute.", "1", 3),
    ],
)
def test_ncu_that_profiled_nothing_writes_no_capture(bench: Bench, log: str, code: str, exit_code: int) -> None:
    done = bench.run("profile_ncu.sh", "-o", "run", bench.app, LOG=log, CODE=code, NO_REPORT="1")

    assert done.returncode == exit_code
    assert log.splitlines()[0] in done.stderr
    assert not (bench.folder / "run").exists()
    assert (bench.folder / "run.partial/ncu.log").exists()


def test_an_application_that_fails_leaves_its_kernels(bench: Bench) -> None:
    log = "==ERROR== The application returned an error code (11).\n"
    done = bench.run("profile_ncu.sh", "-o", "run", bench.app, LOG=log, CODE="11")

    assert done.returncode == 7
    assert "code 11" in done.stderr
    assert "exit status: 11" in (bench.folder / "run/capture.txt").read_text()
    assert len(rows_of(bench.folder / "run")) == 1


@pytest.mark.parametrize(("log", "code"), [('==ERROR== Failed to profile "gemm"\n', "0"), ("==PROF== x\n", "9")])
def test_an_error_of_ncu_is_not_the_application_s(bench: Bench, log: str, code: str) -> None:
    done = bench.run("profile_ncu.sh", "-o", "run", bench.app, LOG=log, CODE=code)

    assert done.returncode == 3
    assert f"ncu ended with status {code} and may have missed kernels" in done.stderr
    assert ("Failed to profile" in log) == ("Failed to profile" in done.stderr)
    assert len(rows_of(bench.folder / "run")) == 1


def test_counters_without_a_column_are_named(bench: Bench) -> None:
    done = bench.run("profile_ncu.sh", "-o", "run", bench.app, LACKING="dram__sectors_read.sum")

    assert done.returncode == 0
    assert "not counted here: dram__sectors_read.sum\n" in done.stderr


@pytest.mark.parametrize(
    ("log", "code", "exit_code", "says"),
    [
        ("======== Warning: No profile data collected.", "0", 8, "No profile data collected"),
        ("==9== Error: Application returned non-zero code 7", "9", 7, "non-zero code 7"),
        ("======== Error: unified memory profiling failed.", "4", 3, "unified memory"),
        ("Metrics are not supported on devices with compute capability 7.5 and higher", "12", 3, "use profile_ncu.sh"),
    ],
)
def test_nvprof_that_profiled_nothing_writes_no_capture(
    bench: Bench, log: str, code: str, exit_code: int, says: str
) -> None:
    done = bench.run("profile_nvprof.sh", "-o", "run", bench.app, LOG=log, CODE=code)

    assert done.returncode == exit_code
    assert says in done.stderr
    assert not (bench.folder / "run").exists()


def test_an_application_that_fails_under_nvprof_leaves_its_kernels(bench: Bench) -> None:
    done = bench.run("profile_nvprof.sh", "-o", "run", bench.app, CODE="9")

    assert done.returncode == 7
    assert len(rows_of(bench.folder / "run", "--profile", "v100")) == 1


WAIT = """
try:
    print("working", flush=True)
    __import__("time").sleep(30)
except KeyboardInterrupt:
    pass
"""


def test_an_interrupted_ncu_keeps_what_it_has_but_is_no_capture(bench: Bench) -> None:
    bench.tool("ncu", NCU.replace('    print("output of the application")\n', textwrap.indent(WAIT, "    ")))

    done = bench.interrupt("profile_ncu.sh", "-o", "run", bench.app)

    assert done.returncode == 130
    assert "interrupted" in done.stderr
    assert not (bench.folder / "run").exists()
    assert len(rows_of(bench.folder / "run.partial")) == 1


def test_an_interrupted_nvprof_is_no_capture(bench: Bench) -> None:
    bench.tool("nvprof", NVPROF.replace("lines = [", f"{WAIT}\nlines = [", 1))

    done = bench.interrupt("profile_nvprof.sh", "-o", "run", bench.app)

    assert done.returncode == 130
    assert not (bench.folder / "run").exists()
    assert bench.calls().count("--print-gpu-summary") == 1
    assert "--metrics" not in bench.calls()


def real(script: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SHELL / script), "-o", "run", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.ncu
@pytest.mark.skipif(shutil.which("ncu") is None, reason="needs ncu")
@pytest.mark.parametrize(("code", "exit_code"), [(0, 8), (7, 7)])
def test_real_ncu_takes_the_options(tmp_path: Path, code: int, exit_code: int) -> None:
    done = real("profile_ncu.sh", tmp_path, "bash", "-c", f"echo out; exit {code}")

    assert done.returncode == exit_code, done.stderr
    assert done.stdout == "out\n"
    assert "No kernels were profiled" in done.stderr


@pytest.mark.nvprof
@pytest.mark.skipif(shutil.which("nvprof") is None, reason="needs nvprof")
@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine may have a GPU")
@pytest.mark.parametrize(("code", "exit_code"), [(0, 8), (7, 7)])
def test_real_nvprof_takes_the_options(tmp_path: Path, code: int, exit_code: int) -> None:
    done = real("profile_nvprof.sh", tmp_path, "bash", "-c", f"echo out; exit {code}")

    assert done.returncode == exit_code, done.stderr
    assert "wrote no table" in done.stderr
