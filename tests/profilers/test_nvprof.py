"""nvprof: three command lines, what is in its logs, its failures, and the real tool without a GPU."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from roofctl.core.errors import InputError, NoKernels, ToolFailed, ToolNotFound
from roofctl.cuda import tools
from roofctl.profilers import ProfileRequest, Tool, nvprof, profile
from roofctl.profilers.gpu import find_gpu
from roofctl.profilers.results import counted

from support.fake_profilers import install, write

TOOL = Tool("nvprof", "/opt/nvprof", "11.8.87")
ASKED = ("inst_executed", "thread_inst_executed", "dram_read_transactions")


def lines(asked=ASKED, **options) -> list[list[str]]:
    request = ProfileRequest(argv=("./app", "-x"), **options)
    nvprof.check(request, TOOL)
    return [list(command.argv) for command in nvprof.build(request, TOOL, asked, Path("/c"))]


def test_three_runs():
    head = ["/opt/nvprof", "--profile-child-processes", "--csv", "-u", "ns", "--log-file"]
    assert lines() == [
        [*head, "/c/timing-%p.csv", "--print-gpu-summary", "./app", "-x"],
        [
            *head,
            "/c/metrics-%p.csv",
            "--replay-mode",
            "kernel",
            "--metrics",
            "inst_executed,dram_read_transactions",
            "./app",
            "-x",
        ],
        [*head, "/c/events-%p.csv", "--replay-mode", "kernel", "--events", "thread_inst_executed", "./app", "-x"],
    ]


def test_only_the_runs_that_are_needed():
    assert len(lines(["inst_executed"])) == 2
    assert len(lines(["thread_inst_executed"])) == 2


def test_scopes_stand_before_the_counters_they_hold_for():
    timing, metrics, _ = lines(kernel_base="gemm", device=1, replay="application")
    assert "--kernels" not in timing
    assert metrics[7:15] == [
        "--devices",
        "1",
        "--kernels",
        "::gemm:",
        "--replay-mode",
        "application",
        "--metrics",
        "inst_executed,dram_read_transactions",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nvtx": "x"}, "nvprof has no --nvtx"),
        ({"launch_skip": 1}, "nvprof has no --launch-skip"),
        ({"launch_count": 1}, "nvprof has no --launch-count"),
        ({"replay": "range"}, "nvprof has no --replay range"),
        ({"clock_control": "base"}, "nvprof has no --clock-control base"),
        ({"cache_control": "all"}, "nvprof has no --cache-control all"),
        ({"kernel_base": "a::b"}, "a colon separates"),
    ],
)
def test_what_it_lacks_is_refused_by_name(options, message):
    with pytest.raises(InputError, match=message):
        lines(**options)


def test_what_it_has_anyway_is_no_error():
    assert lines(clock_control="none", cache_control="none")


def test_l1_is_made_of_its_kinds():
    selected = nvprof.counters(None, ["instruction"])
    assert {"gld_transactions", "local_load_transactions", "shared_load_transactions", "thread_inst_executed"} <= {
        *selected.counters
    }
    # Times come without asking, and l1_lsu_sectors is not missed where its parts are counted.
    assert selected.left_out == ()


def test_events_are_distinguished_from_metrics():
    asked = nvprof.counters(None, ["instruction"]).counters
    _, metrics, events = lines(asked)
    assert set(events[events.index("--events") + 1].split(",")) == nvprof.EVENTS
    assert not nvprof.EVENTS & set(metrics[metrics.index("--metrics") + 1].split(","))


def test_logs_are_counted(tmp_path):
    def of(text: str):
        (tmp_path / "log.csv").write_text(text)
        return counted(tmp_path / "log.csv")

    timing = (
        '==7== NVPROF is profiling process 7, command: app\n"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,ns,,ns,ns,ns,\n'
        '"GPU activities",50.0,1,3,1,1,1,"k(float*, int)"\n"GPU activities",50.0,1,9,1,1,1,"[CUDA memcpy HtoD]"\n"API calls",9.0,1,7,1,1,1,"cudaMalloc"\n'
    )
    assert of(timing)[0] == 3
    older = '"Time(%)","Time","Calls","Avg","Min","Max","Name"\n%,ns,,ns,ns,ns,\n100.0,1,2,1,1,1,"k"\n'
    assert of(older)[0] == 2
    metrics = (
        '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n'
        '"V100 (0)","k(float*, int)",3,"inst_executed","Instructions, executed",1,1,1\n"V100 (0)","k(float*, int)",3,"x","",1,1,1\n"V100 (0)","j",2,"x","",1,1,1\n'
    )
    assert of(metrics) == (5, {"inst_executed", "x"})
    with pytest.raises(NoKernels):
        of("======== Warning: No profile data collected.\n")


# With a fake nvprof ---------------------------------------------------------------------------------------------


@pytest.fixture
def request_(tmp_path, monkeypatch):
    """A request on a Pascal GPU with a fake nvprof."""
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin", "nvprof", "nvidia-smi")))
    monkeypatch.setenv("FAKE_GPU", "Tesla P100-SXM2-16GB, 6.0, 535.1, 1480, 1328, 715")
    for name in ("RANK", "SLURM_PROCID", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    return ProfileRequest(argv=("true",), output=tmp_path / "captures", name="run")


@pytest.mark.parametrize(
    ("says", "code", "message"),
    [
        (
            "==77== Warning: ERR_NVGPUCTRPERM - The user does not have permission to profile on the target device.",
            4,
            "denied access",
        ),
        (
            "======== Warning: nvprof is not supported on devices with compute capability 7.5 and higher.",
            3,
            "stops at compute capability 7.5",
        ),
        (
            "==77== Warning: Skipping profiling on device 0 since profiling is not supported on devices with compute capability 7.5 and higher",
            3,
            "7.5",
        ),
        ("==77== Warning: No events/metrics were profiled.", 8, "no kernel was profiled"),
    ],
)
def test_counting_that_fails_is_no_capture_with_times_only(request_, monkeypatch, says, code, message):
    monkeypatch.setenv("FAKE_SAYS", says)
    with pytest.raises(Exception, match=message) as caught:
        profile(request_)
    assert caught.value.exit_code == code
    (kept,) = request_.output.iterdir()
    assert says in kept.read_text()


def test_it_gives_up_before_the_application(request_, monkeypatch):
    monkeypatch.setenv("FAKE_INTERNAL", "metrics")
    with pytest.raises(Exception, match="gave up before it started the application") as caught:
        profile(request_)
    assert caught.value.exit_code == 5


def test_a_metric_without_a_row_is_named(request_, monkeypatch):
    monkeypatch.setenv("FAKE_DROP", "dram_read_transactions")
    capture = profile(request_)
    assert "dram_read_transactions" in capture.manifest.missing
    assert "hbm_transactions" in capture.manifest.left_out
    assert capture.failure is None


def test_no_kernels_ends_after_the_timing_run(request_, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_KERNELS", "0")
    with pytest.raises(Exception, match="no kernel was profiled") as caught:
        profile(ProfileRequest(argv=("sh", "-c", "echo ran"), output=request_.output))
    assert caught.value.exit_code == 8
    assert capfd.readouterr().out == "ran\n"


def test_it_is_found_by_running_it(request_, tmp_path, monkeypatch):
    assert nvprof.find().version == "11.8.87"
    write(tmp_path / "bin/nvprof", "#!/bin/sh\nexit 127\n")
    with pytest.raises(ToolFailed, match="does not run nvprof"):
        nvprof.find()
    (tmp_path / "bin/nvprof").unlink()
    monkeypatch.setitem(tools.PLACES, "nvprof", ())
    with pytest.raises(ToolNotFound, match="nvprof is not on PATH") as caught:
        nvprof.find()
    assert "up to 12" in caught.value.hint


# The real nvprof ---------------------------------------------------------------------------------------------


class TestReal:
    """Options, exit codes and messages as NVIDIA's own tool has them, without a GPU."""

    pytestmark = [  # noqa: RUF012 - pytest wants a list
        pytest.mark.nvprof,
        pytest.mark.skipif(shutil.which("nvprof") is None, reason="nvprof is not on PATH"),
        pytest.mark.skipif(find_gpu() is not None, reason="these are the texts without a GPU"),
    ]

    def test_it_is_found(self):
        assert nvprof.find().numbers >= (8, 0)

    def test_it_takes_the_options_of_the_timing_run(self, tmp_path, capfd):
        command = nvprof.build(ProfileRequest(argv=("sh", "-c", "echo ran")), nvprof.find(), ASKED, tmp_path)[0]
        done = subprocess.run(command.argv, capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == ("ran\n", 0)
        (log,) = tmp_path.glob("timing-*.csv")
        assert re.fullmatch(r"timing-\d+\.csv", log.name)
        assert "GPU profiling skipped" in log.read_text()

    @pytest.mark.parametrize("run", [1, 2])
    def test_options_of_the_counting_runs_are_known(self, tmp_path, run):
        """Without a GPU it gives up with 4; an option that it does not know would be 5."""
        request = ProfileRequest(argv=("true",), kernel="x", device=0, replay="application")
        command = nvprof.build(request, nvprof.find(), ASKED, tmp_path)[run]
        assert subprocess.run(command.argv, capture_output=True, check=False).returncode == 4
        wrong = [command.argv[0], "--nosuch", *command.argv[1:]]
        assert subprocess.run(wrong, capture_output=True, check=False).returncode == 5

    def test_no_gpu_is_reported(self, tmp_path):
        with pytest.raises(Exception, match="nvprof found no GPU") as caught:
            profile(ProfileRequest(argv=("true",), profiler="nvprof", output=tmp_path))
        assert caught.value.exit_code == 5

    def test_a_program_that_fails(self, tmp_path):
        with pytest.raises(Exception, match="failed with code 3") as caught:
            profile(ProfileRequest(argv=("sh", "-c", "exit 3"), profiler="nvprof", output=tmp_path))
        assert (caught.value.exit_code, caught.value.code) == (7, 3)

    def test_a_program_that_dies(self, tmp_path):
        with pytest.raises(Exception, match="ended by SIGSEGV") as caught:
            profile(ProfileRequest(argv=("sh", "-c", "kill -SEGV $$"), profiler="nvprof", output=tmp_path))
        assert caught.value.exit_code == 7

    def test_a_missing_program_by_its_own_message(self, tmp_path):
        command = nvprof.build(ProfileRequest(argv=("./nosuch",)), nvprof.find(), ASKED, tmp_path)[0]
        done = subprocess.run(command.argv, capture_output=True, text=True, check=False, env={**os.environ})
        assert done.returncode == 13
        message = done.stderr + "".join(path.read_text() for path in tmp_path.glob("*.csv"))
        assert "application not found" in message
