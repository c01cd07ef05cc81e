"""Files without a usable table: what they are, how to get one that has it, and which exit code that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofctl.core.errors import CounterAccessError, InputError, RoofctlError
from roofctl.core.profiler_text import PATTERNS
from roofctl.readers.diagnose import _MEANINGS
from roofctl.readers.read import read_file

from support.shapes import parts

TEXTS: dict[str, tuple[str, str, str]] = {
    "failed on a kernel": (
        '==ERROR== Failed to profile "volta_gemm_nn" in process 9\n',
        "ncu failed while profiling volta_gemm_nn; what it has",
        "ncu --import REPORT",
    ),
    "application failed": (
        "==PROF== Connected to process 9 (/opt/app)\n==ERROR== The application returned an error code (3).\n",
        "ncu says the application failed with code 3 before a kernel was profiled",
        "run the application without the profiler first",
    ),
    "no kernels (ncu)": (
        "==WARNING== No kernels were profiled.\n",
        "no kernels were profiled",
        "--target-processes all",
    ),
    "no kernels (nvprof)": (
        "==9== NVPROF is profiling process 9, command: ./a\nNo kernels were profiled.\n",
        "no kernels were profiled",
        "kernel filter",
    ),
    "silent": (
        "==PROF== Connected to process 9 (/opt/app)\n==PROF== Disconnected from process 9\n",
        "0 kernels were profiled and it says no reason",
        "--target-processes all",
    ),
    "nvprof says nothing": (
        "==9== NVPROF is profiling process 9, command: ./a\nbye\n",
        "nvprof profiled no kernel",
        "uses the GPU",
    ),
    "driver too old": (
        "==ERROR== Cuda driver is not compatible with Nsight Compute\n",
        "could not work with the CUDA driver",
        "nvidia-smi",
    ),
    "no such application": (
        "==ERROR== './x' does not exist or is not an executable.\n",
        "did not find the application",
        "full path",
    ),
    "failed in the middle": (
        '==PROF== Profiling "gemm" - 17: 0%\n==ERROR== Failed to profile "gemm" in process 9\n',
        "ncu failed while profiling gemm",
        "ncu --import",
    ),
    "console output": (
        '==PROF== Profiling "gemm" - 0: 0%....100% - 9 passes\n==PROF== Report: /tmp/x.ncu-rep\n',
        "ncu's console output without a table",
        "ncu --import",
    ),
    "ncu's text page": (
        "  gemm(int) (1, 1, 1)x(32, 1, 1), Context 1\n    Section: GPU Speed Of Light Throughput\n    ------ ---- ----\n",
        "looks like ncu's text page, but no launch can be read",
        "--csv --page raw",
    ),
    "nvprof's text table": (
        '==9== Metric result:\nInvocations     Metric Name     Metric Description     Min\nDevice "T (0)"\n',
        "looks like nvprof's text table, but no kernel can be read",
        "nvprof --csv --metrics",
    ),
    "nvprof's text summary": (
        "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n GPU activities:   70.94%  303.64ms\n",
        "looks like nvprof's text summary, but no kernel can be read",
        "nvprof --csv --print-gpu-summary",
    ),
    "nvprof's result file": (
        "==9== NVPROF is profiling process 9, command: ./a\n==9== Generated result file: /home/u/out.nvprof\n",
        "holds no table: nvprof wrote its results to /home/u/out.nvprof",
        "nvprof -i FILE --csv --print-gpu-trace",
    ),
    "nvprof on a newer GPU": (
        "======== Warning: nvprof is not supported on devices with compute capability 8.0 and higher.\n",
        "nvprof cannot count on this GPU: it stops at compute capability 8.0",
        "roofctl profile",
    ),
    "ncu ended the application": (
        (
            "==ERROR== LaunchFailed\n==PROF== Trying to shutdown target application\n"
            "==ERROR== The application returned an error code (9).\n"
        ),
        "ncu failed to launch a kernel for profiling (LaunchFailed)",
        "without the profiler",
    ),
    "ncu gave up": (
        (
            "==ERROR== Something new\n==PROF== Trying to shutdown target application\n"
            "==ERROR== The application returned an error code (9).\n"
        ),
        "ncu gave up and ended the application itself",
        "without the profiler",
    ),
    "application failed (nvprof)": (
        "==9== NVPROF is profiling process 9, command: ./a\n======== Error: Application returned non-zero code 3\n",
        "nvprof says the application failed with code 3",
        "without the profiler",
    ),
    "nsys": ("Generating '/tmp/x.qdstrm'\nGenerated:\n    /home/u/r.nsys-rep\n", "what nsys says", "cuda_gpu_kern_sum"),
    "JSON": ('{"kernels": []}\n', "looks like JSON", "CSV output"),
    "anything": ("Dear diary,\ntoday I measured.\n", "it begins with 'Dear diary,'", "expected a header such as"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text_without_a_table(case: str) -> None:
    text, words, hint = TEXTS[case]
    with pytest.raises(InputError) as caught:
        parts(text)
    assert caught.value.message.startswith("x.csv ")
    assert words in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


BINARIES: dict[str, tuple[str, bytes, str, str]] = {
    "binary": ("a.bin", b"\x7fELF\x00\x00", "is a binary file; expected text", "CSV output"),
    "gzip, cut": ("a.csv.gz", b"\x1f\x8b\x08\x00", "is compressed but damaged or cut off", "compress it again"),
    "zstd, cut": ("a.csv.zst", b"\x28\xb5\x2f\xfd\x00", "is compressed but damaged or cut off", "compress it again"),
    "xz": ("a.csv.xz", b"\xfd7zXZ\x00\x00", "is compressed; expected text, or text packed with gzip", "unxz a.csv.xz"),
    "zip": ("a.csv", b"PK\x03\x04\x00", "is compressed", "unzip a.csv"),
    "empty": ("a.csv", b"", "is empty", "run it again"),
    "blank": ("a.csv", b" \n\r\n", "is empty", "run it again"),
}


@pytest.mark.parametrize("case", BINARIES)
def test_files_that_are_no_text(case: str, tmp_path: Path) -> None:
    name, content, words, hint = BINARIES[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_file(tmp_path / name)
    assert f"{tmp_path / name} {words}" in caught.value.message
    assert hint in caught.value.hint


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; expected a profiler's output file"):
        read_file(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_file(tmp_path / "none.csv")


def test_every_pattern_has_its_sentence_for_files() -> None:
    assert {*_MEANINGS, "permission"} == set(PATTERNS)


@pytest.mark.parametrize(
    "line",
    [
        "==9== Warning: The user does not have permission to profile on the target device. See the following link",
        "             https://developer.nvidia.com/NVSOLN1000",
        "==ERROR== The user does not have permission to access NVIDIA GPU Performance Counters on the target device",
    ],
)
def test_old_drivers_deny_without_the_token(line: str) -> None:
    with pytest.raises(CounterAccessError, match="the driver denied access"):
        parts(f"==9== NVPROF is profiling process 9, command: ./a\n{line}\n")


def test_the_permission_token_has_its_own_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text("==ERROR== ERR_NVGPUCTRPERM - no permission\nthe benchmark ran on\nexit 0\n", encoding="utf-8")
    with pytest.raises(CounterAccessError) as caught:
        read_file(path)
    assert caught.value.exit_code == 4
    assert caught.value.message == f"{path}: the driver denied access to performance counters (ERR_NVGPUCTRPERM)"


@pytest.mark.parametrize(
    ("name", "words"),
    [("no-kernel.txt", "no kernels were profiled"), ("no-such-app.txt", "the profiler did not find the application")],
)
def test_failures_of_our_own_captures(name: str, words: str, data: Path) -> None:
    with pytest.raises(RoofctlError, match=words):
        read_file(data / "ncu-2025.3-h200" / name)


@pytest.mark.parametrize("name", ["app-exit-7.txt", "unknown-metric.txt"])
def test_a_whole_table_counts_whatever_the_exit_code_was(name: str, data: Path) -> None:
    (part,) = read_file(data / "ncu-2025.3-h200" / name)
    assert len(part.frame) == 12
