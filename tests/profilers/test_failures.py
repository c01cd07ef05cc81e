"""What profilers say, and what roofctl makes of it: a message, a remedy and an exit code each."""

from __future__ import annotations

import os

import pytest

from roofctl.core.gpu import Gpu
from roofctl.core.profiler_text import PATTERNS
from roofctl.cuda.tools import Tool
from roofctl.profilers import ProfilePlan, ProfileRequest, ProfilerRun, verdict
from roofctl.profilers.counters import Selected
from roofctl.profilers.failures import FAILURES, NVPROF_FAILURES, bare
from roofctl.profilers.lock import lock_path, owner
from roofctl.profilers.log import LogWatcher, ProfilerLog, Tail
from roofctl.profilers.verdict import launches

GPU = Gpu("NVIDIA H200", "9.0", "580.159")
NCU = Tool("ncu", "/usr/bin/ncu", "2025.3.1")
NVPROF = Tool("nvprof", "/usr/bin/nvprof", "11.8.87")


def explain(*lines: str, tool: Tool = NCU, request: dict | None = None, **changes):
    """The error of a run of ./app on node7 whose log has these lines."""
    watcher = LogWatcher()
    watcher.feed("".join(line + "\n" for line in lines))
    plan = ProfilePlan(ProfileRequest(("./app",), **(request or {})), tool, Selected((), (), ()), GPU, host="node7")
    return verdict.explain(plan, ProfilerRun(commands=(), log=watcher.log(), **changes))


# Lines as the profilers print them (H200 with ncu 2025.3.1, the tools of Debian, or public reports).
CASES = [
    (NCU, "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.", 4, "node7: the driver denied access", "NVreg_RestrictProfilingToAdminUsers=0"),
    (NVPROF, "==12== Warning: ERR_NVGPUCTRPERM - The user does not have permission to profile on the target device.", 4, "node7: the driver denied", "SYS_ADMIN"),
    (NVPROF, "======== Warning: nvprof is not supported on devices with compute capability 8.0 and higher.", 3, "stops at compute capability 8.0", "--profiler ncu"),
    (NCU, "==ERROR== Cuda driver is not compatible with Nsight Compute.", 5, "ncu 2025.3.1 does not fit the GPU's driver 580.159", "driver's own CUDA version"),
    (NCU, "==ERROR== The application failed to connect to the CUDA driver", 5, "a stub", "ldconfig"),
    (NVPROF, "======== Error: unable to locate cuda driver library", 5, "nvprof could not load the CUDA driver", "stubs"),
    (NCU, "==ERROR== Unsupported GPU", 3, "cannot profile this GPU (NVIDIA H200, compute capability 9.0)", "nvprof"),
    (NCU, "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips option.", 3, "cannot profile this GPU", "newer ncu"),
    (NCU, "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process has write permissions on the file.", 3, "nsight-compute-lock", "--env TMPDIR="),
    (NCU, "==ERROR== InterprocessLockFailed", 3, "could not lock", "ask its owner"),
    (NCU, "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data.", 3, "another tool holds", "dcgmi profile --pause"),
    (NCU, "==ERROR== './nosuch' does not exist or is not an executable. Please make sure to specify the absolute path", 2, "did not find the application ./app", "executable"),
    (NVPROF, "======== Error: application not found.", 2, "nvprof did not find the application", "path"),
    (NCU, "==ERROR== File report.ncu-rep already exists. Use '-f' to overwrite.", 3, "would not replace a report", "--name"),
    (NCU, "==ERROR== Unable to write to file /x/report.ncu-rep", 3, "could not write", "space"),
    (NCU, "==ERROR== Failed to read environment variable X", 2, "environment variable that is not set", "set it, or take %q{…} out"),
    (NCU, "==ERROR== Invalid regex provided to --kernel option. Unmatched marking parenthesis ( or \\(.", 2, "does not take the kernel filter", "Perl"),
    (NCU, "==WARNING== No ranges were profiled.", 8, "no range to profile", "--nvtx"),
    (NCU, "==ERROR== Failed to find metric smsp__nosuch.sum", 3, "does not know the counter smsp__nosuch.sum", "report it"),
    (NCU, "==ERROR== When profiling on a MIG instance, it is not possible to collect metrics from GPU units that are shared", 5, "MIG", "whole GPU"),
    (NCU, '==ERROR== Failed to profile "gemm" in process 24701', 3, "failed while profiling gemm", "--exclude"),
    (NCU, "==ERROR== The application returned an error code (7).", 7, "./app failed with code 7; no kernel", "without the profiler"),
    (NVPROF, "======== Error: Application returned non-zero code 3", 7, "failed with code 3", "without the profiler"),
    (NVPROF, "======== Error: Application received signal 11", 7, "ended by SIGSEGV", "without the profiler"),
    (NVPROF, "======== Warning: CUDA device error, GPU profiling skipped", 5, "found no GPU on node7", "nvidia-smi"),
    (NVPROF, "==5== Warning: Skipping profiling on device 0 since profiling is not possible", 3, "cannot count what was asked", "--profiler ncu"),
    (NVPROF, "==5== Warning: One or more events or metrics can't be profiled.", 3, "cannot count what was asked", "--profiler ncu"),
    (NVPROF, "======== Error: CUDA profiling error.", 3, "nvprof failed: CUDA profiling error.", "dry-run"),
    (NVPROF, "==12== Warning: The user does not have permission to profile on the target device. See NVSOLN1000", 4, "node7: the driver denied", "SYS_ADMIN"),
    (NCU, "==ERROR== LaunchFailed", 3, "failed to launch a kernel for profiling (LaunchFailed)", "without the profiler"),
    (NCU, "==PROF== Trying to shutdown target application", 3, "ncu gave up and ended ./app itself", "without the profiler"),
    (NCU, "==ERROR== Something new went wrong", 3, "ncu reported an error: Something new went wrong", "dry-run"),
    (NCU, "==WARNING== No kernels were profiled.", 8, "neither ./app nor a process it started called CUDA", "container"),
    (NCU, "==PROF== No kernels were profiled.", 8, "no kernel was profiled", "nvidia-smi"),
    (NCU, "==ERROR== Target application terminated before first instrumented API call.", 3, "terminated before first instrumented API call", ""),
    (NCU, "==WARNING== Target application terminated before first instrumented API call.", 8, "ended before it called CUDA", "arguments"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "line", "code", "message", "hint"), CASES, ids=[case[1][:60] for case in CASES])
def test_each_text_has_its_meaning(tool, line, code, message, hint):
    error = explain(line, tool=tool)
    assert error.exit_code == code
    assert message in error.message
    assert hint in error.hint
    assert "{" not in error.message
    assert "{" not in error.hint.replace("%q{…}", "")


def test_every_entry_of_the_tables_is_tried():
    import re

    for failure in (*FAILURES, *NVPROF_FAILURES):
        assert any(re.search(PATTERNS[failure.name], line) for _, line, *_ in CASES) or failure.name == "replay", (
            failure.name
        )


def test_a_good_run_is_good():
    assert explain('==PROF== Profiling "a" - 0: 0%....100% - 3 passes', kernels=1) is None


def test_the_cause_comes_before_the_consequence():
    denied = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
    failed = "==ERROR== The application returned an error code (1)."
    none = "==WARNING== No kernels were profiled."
    assert explain(failed, none, denied, returncode=1).exit_code == 4
    assert explain(none, failed, returncode=1).exit_code == 7


def test_an_application_that_ncu_ended_did_not_fail_by_itself():
    error = explain(
        "==ERROR== LaunchFailed",
        "==PROF== Trying to shutdown target application",
        "==ERROR== The application returned an error code (9).",
        returncode=9,
    )
    assert error.exit_code == 3
    assert "LaunchFailed" in error.message
    error = explain(
        "==ERROR== Something new",
        "==PROF== Trying to shutdown target application",
        "==ERROR== The application returned an error code (9).",
        returncode=9,
    )
    assert error.message == "ncu gave up and ended ./app itself: Something new; no kernel was profiled"


def test_a_child_process_hint_does_not_hide_that_the_application_failed():
    error = explain(
        "==ERROR== The application returned an error code (1).",
        "==WARNING== No kernels were profiled.",
        "==WARNING== Profiling kernels launched by child processes requires the --target-processes all option.",
        returncode=1,
    )
    assert (error.exit_code, error.code) == (7, 1)


@pytest.mark.parametrize(("code", "named"), [(11, "SIGSEGV"), (6, "SIGABRT"), (15, "SIGTERM"), (7, ""), (1, "")])
def test_codes_that_may_be_signals(code, named):
    error = explain(f"==ERROR== The application returned an error code ({code}).", returncode=code)
    assert ("which is also how ncu reports" in error.message) == bool(named)
    assert named in error.message


def test_exit_codes_without_a_word():
    assert "ncu exited 255 without a message" in explain(returncode=255).message
    assert "ended by SIGSEGV" in explain(returncode=139, signal=11).message
    assert explain(tool=NVPROF, returncode=4).exit_code == 5


def test_of_a_stopped_run_only_setup_errors_count():
    assert explain("==ERROR== The application returned an error code (2).", returncode=2, stopped="timeout") is None
    assert explain("==WARNING== No kernels were profiled.", stopped="timeout") is None
    assert explain("==ERROR== ERR_NVGPUCTRPERM", stopped="timeout").exit_code == 4


def test_no_kernels_has_several_causes():
    connected = [f"==PROF== Connected to process {pid} (/usr/bin/nvidia-smi)" for pid in range(15)]
    silent = explain(*connected)
    assert "nvidia-smi (0), nvidia-smi (1), nvidia-smi (2) and 12 more used CUDA" in silent.message
    filtered = explain(*connected, request={"kernel": "x"})
    assert "none that ran passed --kernel x" in filtered.message
    # A filter says nothing where nobody used CUDA.
    assert "called CUDA" in explain(request={"kernel": "x"}).message


def test_the_lock_is_where_ncu_looks(tmp_path, monkeypatch):
    for name in ("TMPDIR", "TMP", "TEMP", "TEMPDIR"):
        monkeypatch.delenv(name, raising=False)
    assert str(lock_path({"TEMP": "/b"})) == "/b/nsight-compute-lock"
    assert str(lock_path({"TEMP": "/b", "TMPDIR": str(tmp_path)})) == f"{tmp_path}/nsight-compute-lock"
    assert lock_path({}).name == "nsight-compute-lock"


def test_a_lock_that_ncu_names_is_the_one(tmp_path):
    lock = tmp_path / "a b" / "nsight-compute-lock"
    error = explain(f"==ERROR== Failed to open/create lock file {lock}. Please check the rights.", returncode=1)
    assert f"ncu could not lock {lock}: " in error.message


def test_the_owner_of_a_lock_is_named_and_it_stays(tmp_path):
    lock = tmp_path / "nsight-compute-lock"
    assert owner(lock) is None
    lock.write_text("")
    error = explain(
        "==ERROR== Failed to open/create lock file", returncode=1, request={"env": {"TMPDIR": str(tmp_path)}}
    )
    assert str(lock) in error.message
    assert f"(owner {lock.owner()})" in error.message
    assert lock.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_foreign_lock_explains_exit_9(tmp_path):
    lock = tmp_path / "nsight-compute-lock"
    lock.write_text("")
    os.chown(lock, 54321, -1)
    error = explain(returncode=9, request={"env": {"TMPDIR": str(tmp_path)}})
    assert "(owner 54321)" in error.message


def test_prefixes_are_taken_off():
    assert bare("==ERROR== Bad.") == "Bad."
    assert bare("======== Error: internal error.") == "internal error."
    assert bare("==12== Warning: x") == "x"


def test_launches_in_words():
    assert (launches(1), launches(2)) == ("1 launch was", "2 launches were")


# The log while it grows --------------------------------------------------------------------------------------


def test_a_log_is_followed_piece_by_piece():
    watcher = LogWatcher()
    text = (
        "==PROF== Connected to process 2732 (/home/user/apps)\n"
        '==PROF== Profiling "fma64(double *, int)" - 0: 0%....50%....100% - 3 passes\n'
        '==PROF== Profiling "triad" - 1: 0%....5'
    )
    seen = [watcher.feed(char) for char in text]
    assert max(progress.percent or 0 for progress in seen) == 100
    assert (seen[-1].kernels, seen[-1].kernel, seen[-1].passes, seen[-1].percent) == (1, "triad", 3, 0)
    last = watcher.feed('0%....100% - 5 passes\n==PROF== Profiling "x" (2/9): 0%\n')
    assert (last.kernels, last.passes, last.kernel) == (2, 5, "x")
    assert watcher.log().processes == ("apps (2732)",)


def test_a_kernel_that_never_reached_the_end_is_not_done():
    watcher = LogWatcher()
    progress = watcher.feed('==PROF== Profiling "gemm" - 18: 0%....50%.... - 19 passes\n')
    assert progress.kernels == 0


def test_warnings_are_shown_at_once_also_inside_the_progress_line():
    watcher = LogWatcher()
    assert watcher.feed("==WARNING== Note: Running with unmodified GPU clocks. If not\n").messages == ()
    messages = watcher.feed(
        '==PROF== Profiling "k" - 0: 0%..==WARNING== Launching the workload is taking more time\n'
    ).messages
    assert messages == ("==WARNING== Launching the workload is taking more time",)
    assert watcher.feed("======== Warning: Something\n==12== Error: other\nplain\n").messages == (
        "======== Warning: Something",
        "==12== Error: other",
    )
    assert watcher.feed("==ERROR== half").messages == ()
    assert watcher.log().lines[-1] == "==ERROR== half"


def test_a_tail_reads_what_is_new_and_waits_for_complete_characters(tmp_path):
    path = tmp_path / "log"
    tail = Tail(path)
    assert tail.more() == ""
    path.write_bytes("é".encode()[:1])
    assert tail.more() == ""
    with path.open("ab") as file:
        file.write("é".encode()[1:] + b"x\n")
    assert tail.more() == "éx\n"
    assert tail.more() == ""


def test_an_empty_log_has_no_facts():
    assert LogWatcher().log() == ProfilerLog((), (), 0, None)
