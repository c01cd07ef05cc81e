"""``roofctl profile`` from the command line to the folder, with stand-ins for the profilers."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roofctl.captures.read import data_files, latest, read_manifest
from roofctl.cli.main import cli, main
from roofctl.cli.profile import describe, profile
from roofctl.profilers import Progress

from support.fake_profilers import install, only, write


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, with ncu and nvidia-smi and nothing else on PATH."""
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin", "ncu", "nvidia-smi")))
    for name in [*os.environ]:
        if name.startswith("FAKE_") or name in (
            "CUDA_VISIBLE_DEVICES",
            "RANK",
            "SLURM_PROCID",
            "PMI_RANK",
            "OMPI_COMM_WORLD_RANK",
        ):
            monkeypatch.delenv(name)
    monkeypatch.setitem(cli.commands, "profile", profile)
    work = tmp_path / "work"
    work.mkdir()
    write(work / "app", '#!/bin/sh\necho "app says $*"\necho aside >&2\nexit ${APP_EXIT:-0}\n')
    monkeypatch.chdir(work)
    return work


def test_a_good_run_is_kept_and_reported(here, capfd):
    assert main(["profile", "./app", "--size", "4"]) == 0
    out, err = capfd.readouterr()
    assert "app says --size 4\n" in out
    assert "aside\n" in err
    assert re.search(r"kernel_0\s+1\s+100\.0 ", out)
    folder = latest(here / "roofctl-captures")
    assert re.fullmatch(r"app-\d{8}-\d{6}", folder.name)
    assert f"Wrote {folder}\n" in err
    assert "2 launches profiled in 3 passes each" in err
    assert "ncu 2025.3.1: NVIDIA H200 has compute capability 9.0" in err
    assert sorted(path.name for path in folder.iterdir()) == [
        "capture.csv",
        "capture.json",
        "ncu.log",
        "report.ncu-rep",
    ]
    assert [path.name for path in data_files(folder)] == ["capture.csv"]


def test_the_manifest_is_complete(here, monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "3")
    assert (
        main(
            [
                "profile",
                "-q",
                "--set",
                "walls",
                "--set",
                "instruction",
                "--name",
                "before",
                "--env",
                "X=1",
                "./app",
                "a b",
            ]
        )
        == 0
    )
    manifest = read_manifest(here / "roofctl-captures" / "before-rank3")
    assert manifest.argv == ("./app", "a b")
    assert (manifest.profiler, manifest.profiler_version, manifest.rank) == ("ncu", "2025.3.1", 3)
    assert manifest.metric_sets == ("walls", "instruction")
    assert manifest.gpu.name == "NVIDIA H200"
    assert (manifest.gpu.sm_clock_hz, manifest.gpu.max_sm_clock_hz, manifest.gpu.memory_clock_hz) == (
        345e6,
        1980e6,
        3201e6,
    )
    assert (manifest.gpu.compute_capability, manifest.gpu.driver) == ("9.0", "580.159")
    assert (manifest.clock_control, manifest.cache_control, manifest.replay_mode) == ("none", "all", "kernel")
    assert (manifest.passes, manifest.kernels) == (3, 2)
    assert (manifest.profiler_exit_code, manifest.application_exit_code, manifest.incomplete) == (0, 0, "")
    assert manifest.started < manifest.ended
    run, export = manifest.commands
    assert run.startswith("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT=1 X=1 ")
    assert run.endswith("./app 'a b'")
    assert f"-o {here}/roofctl-captures/before-rank3/report ./app" in run
    assert export.startswith("LC_ALL=C ")


def test_a_report_is_read_without_starting_ncu_again(here, capfd, monkeypatch):
    pytest.importorskip("ncu_report")
    real = Path(__file__).parent.parent / "data/captures-h200/report"
    monkeypatch.setenv("FAKE_REPORT", str(real / "report.ncu-rep"))
    assert main(["profile", "--name", "x", "--set", "instruction", "./app"]) == 0
    out, err = capfd.readouterr()
    assert "12 launches profiled in 3 passes each" in err
    manifest = read_manifest(here / "roofctl-captures/x")
    assert (len(manifest.commands), manifest.data) == (1, ("capture.csv",))
    assert {"dram__cycles_elapsed.avg.per_second", "lts__cycles_elapsed.avg.per_second"} < {*manifest.missing}
    # The table is that of the page which ncu printed of this report.
    assert main(["report", str(real / "capture.csv")]) == 0
    assert capfd.readouterr().out.startswith(out.removeprefix("app says \n"))


LOADED_AT_START = """
import sys
from roofctl.cli.main import main
from roofctl.core import process

stream = process.stream

def recorded(*args, **options):
    print([name for name in ("pandas", "pyarrow", "pydantic", "numpy", "rich", "matplotlib") if name in sys.modules])
    return stream(*args, **options)

process.stream = recorded
sys.exit(main(["profile", "-q", "./app"]))
"""


def test_nothing_heavy_is_loaded_before_the_application_runs(here):
    """It would add to the time of the command; while the application runs it costs nothing."""
    root = str(Path(__file__).parent.parent.parent)
    child = subprocess.run(
        [sys.executable, "-c", LOADED_AT_START], env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, check=True
    )  # fmt: skip
    assert child.stdout.startswith("[]\n")
    assert "kernel_0" in child.stdout


def test_names_are_never_taken_twice(here):
    for expected in ("run", "run-2", "run-3"):
        assert main(["profile", "-q", "--name", "run", "./app"]) == 0
        assert latest(here / "roofctl-captures").name == expected


def test_captures_go_where_asked(here, tmp_path):
    assert main(["profile", "-q", "-o", str(tmp_path / "kept/here"), "--name", "x", "--", "./app"]) == 0
    assert (tmp_path / "kept/here/x/capture.json").is_file()
    assert not (here / "roofctl-captures").exists()


def test_options_after_the_application_are_its_own(here, capfd):
    assert main(["profile", "-q", "./app", "--timeout", "--set", "-h"]) == 0
    assert "app says --timeout --set -h" in capfd.readouterr().out


@pytest.mark.parametrize(
    "arguments", [[], ["--knl", "x", "./app"], ["--env", "X", "./app"], ["--timeout", "0", "./app"]]
)
def test_bad_usage(here, arguments):
    assert main(["profile", *arguments]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "nosuch is not on PATH"),
        (["app"], "did you mean ./app?"),
        (["./nosuch"], "no such application"),
        (["./data.txt"], "not executable"),
        (["./train.py"], "roofctl profile python ./train.py"),
        (["./libx.so.1"], "it is a library"),
        (["./folder"], "is a folder"),
        (["--cwd", "elsewhere", "./app"], "the folder elsewhere does not exist"),
        (["--set", "nosuch", "./app"], "known sets: instruction"),
        (["--kernel", "(", "./app"], "is not a regular expression"),
        (["--name", "a/b", "./app"], "cannot name a capture"),
        (["--replay", "range", "--kernel", "x", "./app"], "profiles ranges, not kernels"),
        (["--clock-control", "boost", "./app"], "ncu 2025.3.1 has no --clock-control boost: it came with ncu 2026"),
    ],
)
def test_what_cannot_work_is_refused_before_the_profiler_starts(here, capfd, arguments, message):
    for name in ("data.txt", "train.py", "libx.so.1"):
        (here / name).write_text("")
    (here / "folder").mkdir()
    assert main(["profile", *arguments]) == 2
    out, err = capfd.readouterr()
    assert message in err
    assert "app says" not in out
    assert not (here / "roofctl-captures").exists()


def test_a_filter_in_the_spelling_of_ncu_is_taken(here, capsys):
    assert main(["profile", "--dry-run", "--kernel", "regex:.*gdpa.*", "./app"]) == 0
    out, err = capsys.readouterr()
    assert "--kernel-name 'regex:.*gdpa.*'" in out
    assert "--kernel takes a regular expression as it is: regex: is dropped" in err


def test_dry_run_prints_commands_that_a_shell_understands(here, capfd):
    assert main(["profile", "--dry-run", "--kernel", "a|b", "./no such app", "x"]) == 0
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert len(lines) == 2
    words = shlex.split(lines[0])
    assert words[-2:] == ["./no such app", "x"]
    assert words[words.index("--kernel-name") + 1] == "regex:a|b"
    assert shlex.split(lines[1])[0] == "LC_ALL=C"
    assert "app says" not in out + err
    assert not (here / "roofctl-captures").exists()


def test_dry_run_lines_run_in_a_shell_and_make_the_capture(here, capfd):
    (here / "sub dir").mkdir()
    (here / "sub dir" / "app").symlink_to(here / "app")
    write(here / "app", '#!/bin/sh\nenv > seen\necho "$1" >> seen\n')
    options = ["--cwd", "sub dir", "--env", "A=b $c", "--env", "d-e=f", "--kernel", "a|b's", "--name", "it's"]
    assert main(["profile", "--dry-run", *options, "./app", "$HOME; 'x'"]) == 0
    out, err = capfd.readouterr()
    (hint,) = re.findall(r"mkdir -p .*", err)
    path = f"{os.environ['PATH']}:{os.defpath}"
    subprocess.run(["/bin/bash", "-ec", f"{hint}\n{out}"], check=True, env={**os.environ, "PATH": path})
    seen = (here / "sub dir" / "seen").read_text().splitlines()
    assert {"A=b $c", "$HOME; 'x'"} <= set(seen)  # sh itself drops d-e, which bash alone would take for a program
    made = here / "roofctl-captures" / "it's"
    assert (made / "capture.csv").read_text().startswith('"ID",')
    assert {path.name for path in made.iterdir()} == {"report.ncu-rep", "ncu.log", "capture.csv"}


def test_dry_run_needs_neither_gpu_nor_profiler(here, capfd, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(install(tmp_path / "bare")))
    assert main(["profile", "--dry-run", "./app"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT=1 ncu --config-file off ")
    assert "not installed here" in err
    assert "no GPU is seen here" in err
    assert main(["profile", "--dry-run", "--profiler", "nvprof", "./app"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 3


def test_a_failing_application_is_kept_with_its_code(here, capfd):
    assert main(["profile", "--env", "APP_EXIT=7", "./app"]) == 7
    out, err = capfd.readouterr()
    assert "kernel_0" in out
    assert "the application ./app failed with code 7; 2 launches were profiled" in err
    manifest = read_manifest(latest(here / "roofctl-captures"))
    assert (manifest.application_exit_code, manifest.profiler_exit_code) == (7, 7)
    assert "code 7" in manifest.incomplete
    assert main(["profile", "--keep-going", "--env", "APP_EXIT=7", "./app"]) == 0
    assert "code 7" in capfd.readouterr().err


def test_a_signal_is_named(here, capfd):
    write(here / "app", "#!/bin/sh\nkill -SEGV $$\n")
    assert main(["profile", "./app"]) == 7
    assert "code 11, which is also how ncu reports SIGSEGV" in capfd.readouterr().err


@pytest.mark.parametrize(
    "case",
    [
        (
            {"SAYS": "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "KERNELS": "0"},
            4,
            "--cap-add=SYS_ADMIN",
        ),
        ({"KERNELS": "0"}, 8, "neither ./app nor a process it started called CUDA"),
        (
            {"KERNELS": "0", "SAYS": "==PROF== Connected to process 5 (/usr/bin/nvidia-smi)"},
            8,
            "nvidia-smi (5) used CUDA",
        ),
        ({"VALUE": "nan"}, 3, "no counter has a value"),
        ({"VALUE": "n/a"}, 3, "no counter has a value"),
        ({"VALUE": "<ignored>"}, 2, "'<ignored>' under"),
        ({"UNREADABLE": "1"}, 3, "could not print its own report"),
        ({"KERNELS": "0", "EXIT": "255"}, 3, "ncu exited 255"),
    ],
)
def test_nothing_usable_is_an_error_and_no_capture(here, capfd, monkeypatch, case):
    variables, code, message = case
    for name, value in variables.items():
        monkeypatch.setenv(f"FAKE_{name}", value)
    assert main(["profile", "./app"]) == code
    out, err = capfd.readouterr()
    assert message in err
    assert "kernel_0" not in out
    # The profiler's messages are kept beside the captures, and a report that may be of use; no half-made folder is.
    kept = sorted(path.suffix for path in (here / "roofctl-captures").iterdir())
    assert kept == ([".log"] if variables.get("KERNELS") == "0" else [".log", ".ncu-rep"])
    assert all(str(path) in err for path in (here / "roofctl-captures").iterdir())


def test_what_was_profiled_survives_a_fault_after_the_run(here, capfd, monkeypatch):
    from roofctl.profilers import ncu

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ncu, "_page", fail)
    assert main(["profile", "--name", "x", "./app"]) == 130
    (left,) = (here / "roofctl-captures").iterdir()
    assert left.name == "x.ncu-rep"
    assert str(left) in capfd.readouterr().err


def test_a_full_disk_is_a_sentence_and_keeps_the_report(here, capfd, monkeypatch):
    from roofctl.captures.draft import Draft

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Draft, "finish", full)
    assert main(["profile", "--name", "x", "./app"]) == 2
    err = capfd.readouterr().err
    assert "no capture can be written to" in err
    assert "No space left on device" in err
    assert str(here / "roofctl-captures/x.ncu-rep") in err


@pytest.mark.parametrize("options", [["--name", "50%"], ["-o", "run-%h"]])
@pytest.mark.parametrize("profiler", ["ncu", "nvprof"])
def test_a_percent_sign_in_the_folder_is_refused_before_the_run(here, capfd, monkeypatch, options, profiler):
    install(here.parent / "bin", "nvprof")
    monkeypatch.setenv("FAKE_GPU", "")
    monkeypatch.setattr("roofctl.core.driver.has_driver", lambda: True)
    assert main(["profile", "--profiler", profiler, *options, "./app"]) == 2
    out, err = capfd.readouterr()
    assert "give % in the name of a folder a meaning of their own" in err
    assert "app says" not in out


def test_an_error_line_beats_exit_0_and_what_was_counted_is_kept(here, capfd, monkeypatch):
    monkeypatch.setenv("FAKE_SAYS", '==ERROR== Failed to profile "gemm" in process 77')
    assert main(["profile", "./app"]) == 3
    out, err = capfd.readouterr()
    assert "kernel_0" in out
    assert "ncu failed while profiling gemm; launches profiled before it: 2" in err
    assert "gemm" in read_manifest(latest(here / "roofctl-captures")).incomplete


def test_a_filter_that_matches_nothing(here, capfd, monkeypatch):
    monkeypatch.setenv("FAKE_KERNELS", "0")
    monkeypatch.setenv("FAKE_SAYS", "==PROF== Connected to process 5 (/home/user/app)")
    assert main(["profile", "--kernel", "nosuch", "--launch-skip", "5", "./app"]) == 8
    assert "none that ran passed --kernel nosuch and --launch-skip 5" in capfd.readouterr().err


def test_counters_without_values_are_named(here, capfd, monkeypatch):
    monkeypatch.setenv("FAKE_DROP", "dram__sectors_read.sum")
    assert main(["profile", "./app"]) == 0
    err = capfd.readouterr().err
    assert "warning: hbm_transactions cannot be made: the profiler gave no value for dram__sectors_read.sum" in err
    manifest = read_manifest(latest(here / "roofctl-captures"))
    assert "dram__sectors_read.sum" in manifest.missing
    assert "hbm_transactions" in manifest.left_out


def test_the_timeout_keeps_what_was_profiled(here, capfd, monkeypatch):
    monkeypatch.setenv("FAKE_HANG", "1")
    assert main(["profile", "--timeout", "0.6", "./app"]) == 124
    out, err = capfd.readouterr()
    assert "kernel_0" in out
    assert "==WARNING== Launching the workload is taking more time than expected" in err
    assert "ran past 0.6 s under ncu and was stopped; 1 launch was profiled and kept" in err
    assert "collectives" in err
    assert read_manifest(latest(here / "roofctl-captures")).incomplete == "stopped after 0.6 s (--timeout)"


def test_the_timeout_before_any_launch(here, capfd, monkeypatch):
    monkeypatch.setenv("FAKE_HANG", "1")
    monkeypatch.setenv("FAKE_KERNELS", "0")
    assert main(["profile", "--timeout", "0.6", "./app"]) == 124
    assert "nothing was profiled" in capfd.readouterr().err
    assert not [path for path in (here / "roofctl-captures").iterdir() if path.is_dir()]


def test_ctrl_c_keeps_what_was_profiled(here, tmp_path):
    script = "import sys; from roofctl.cli.main import cli, main; from roofctl.cli.profile import profile; cli.add_command(profile); sys.exit(main(sys.argv[1:]))"
    child = subprocess.Popen(
        [sys.executable, "-c", script, "profile", "--name", "cut", "./app"],
        env={**only(tmp_path / "bin"), "FAKE_HANG": "1", "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    logs = here / "roofctl-captures"
    limit = time.monotonic() + 20
    while (
        not any("taking more time" in path.read_text() for path in logs.glob(".*/ncu.log")) and time.monotonic() < limit
    ):
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "kernel_0" in out
    assert "interrupted; 1 launch was profiled and kept" in err
    assert read_manifest(logs / "cut").incomplete == "stopped with Ctrl-C"


def test_without_a_driver_and_a_gpu_that_is_the_first_error(here, capfd, monkeypatch):
    monkeypatch.setenv("FAKE_GPU", "")
    monkeypatch.setattr("roofctl.core.driver.has_driver", lambda: False)
    assert main(["profile", "./no-such-app"]) == 5
    err = capfd.readouterr().err
    assert err.startswith("error: there is no NVIDIA GPU here that profile could use: no driver is loaded\nhint: ")
    assert "roofctl doctor" in err
    assert not (here / "roofctl-captures").exists()
    assert main(["profile", "--dry-run", "./app"]) == 0


def test_a_driver_whose_gpu_nvidia_smi_does_not_list_is_no_obstacle_to_trying(here, capfd, monkeypatch):
    monkeypatch.setenv("FAKE_GPU", "")
    monkeypatch.setattr("roofctl.core.driver.has_driver", lambda: True)
    assert main(["profile", "./app"]) == 0
    assert "no GPU is seen here" in capfd.readouterr().err
    assert read_manifest(latest(here / "roofctl-captures")).gpu is None


def test_ranks_get_names_of_their_own(here, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "12")
    assert main(["profile", "-q", "./app"]) == 0
    assert latest(here / "roofctl-captures").name.endswith("-rank12")


def test_a_script_names_the_capture_of_its_interpreter(here, tmp_path):
    (tmp_path / "bin/python3").symlink_to(sys.executable)
    (here / "train.py").write_text("print('trained')\n")
    assert main(["profile", "-q", "python3", "train.py"]) == 0
    assert latest(here / "roofctl-captures").name.startswith("train-")


def test_nvprof_runs_three_times_and_is_joined(here, capfd, monkeypatch, tmp_path):
    install(tmp_path / "bin", "nvprof")
    monkeypatch.setenv("FAKE_GPU", "Tesla P100-SXM2-16GB, 6.0, 535.1, 1480, 1328, 715")
    assert main(["profile", "./app"]) == 0
    out, err = capfd.readouterr()
    assert out.count("app says") == 3
    assert "nvprof 11.8.87: Tesla P100-SXM2-16GB has compute capability 6.0, below ncu's 7.0" in err
    assert "left out" not in err
    assert re.search(r"kernel_0\s+2\s+100\.0 ", out)
    manifest = read_manifest(latest(here / "roofctl-captures"))
    assert manifest.data == ("timing-77.csv", "metrics-77.csv", "events-77.csv")
    assert len(manifest.commands) == 3
    assert (manifest.clock_control, manifest.cache_control) == ("none", "none")


def test_a_log_of_nvprof_that_report_refuses_is_refused_at_the_run(here, capfd, monkeypatch, tmp_path):
    install(tmp_path / "bin", "nvprof")
    monkeypatch.setenv("FAKE_GPU", "Tesla P100-SXM2-16GB, 6.0, 535.1, 1480, 1328, 715")
    monkeypatch.setenv("FAKE_VALUE", "many")
    assert main(["profile", "./app"]) == 2
    assert "'many' under" in capfd.readouterr().err


def test_nvprof_leaves_exclusion_to_the_reader(here, capfd, monkeypatch, tmp_path):
    install(tmp_path / "bin", "nvprof")
    monkeypatch.setenv("FAKE_GPU", "Tesla P100-SXM2-16GB, 6.0, 535.1, 1480, 1328, 715")
    assert main(["profile", "--exclude", "kernel_1", "./app"]) == 0
    out = capfd.readouterr().out
    assert "kernel_0" in out
    assert "kernel_1" not in out
    manifest = read_manifest(latest(here / "roofctl-captures"))
    assert (manifest.exclude, manifest.filter_when_read) == ("kernel_1", True)


def test_a_failing_application_under_nvprof(here, capfd, monkeypatch, tmp_path):
    install(tmp_path / "bin", "nvprof")
    monkeypatch.setenv("FAKE_GPU", "Tesla P100-SXM2-16GB, 6.0, 535.1, 1480, 1328, 715")
    assert main(["profile", "--env", "APP_EXIT=3", "./app"]) == 7
    assert "failed with code 3; 4 launches were profiled" in capfd.readouterr().err
    assert read_manifest(latest(here / "roofctl-captures")).application_exit_code == 3


def test_progress_in_words():
    assert describe(Progress(kernels=3)) == "3 launches done"
    assert describe(Progress(kernels=1)) == "1 launch done"
    assert describe(Progress("metrics", 3, "gemm", 50, 7)) == "metrics: 3 launches done, 7 passes each; gemm 50%"


def test_the_manifest_is_json_of_schema_1(here):
    assert main(["profile", "-q", "--name", "x", "./app"]) == 0
    document = json.loads((here / "roofctl-captures/x/capture.json").read_text())
    assert document["schema"] == 1
    assert document["gpu"]["max_sm_clock_hz"] == 1.98e9
