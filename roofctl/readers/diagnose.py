"""What a file without a usable table looks like, and how to get one that has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from roofctl.core import profiler_text as messages
from roofctl.core.errors import CounterAccessError, InputError, NoKernels, RoofctlError
from roofctl.readers.find_tables import Scan

_RECAPTURE: Final = (
    "capture with --csv and --log-file: ncu --csv --page raw --print-units base --log-file out.csv --metrics … ./app"
)
_AMD_COUNTERS: Final = re.compile(
    r"^(?:SQ_|TCC_|TCP_|TA_|TD_|GRBM_|CPC_|CPF_|SPI_)\w+$|^(?:FetchSize|WriteSize|VALUInsts|SALUInsts)$"
)

_NO_KERNELS_HINT: Final = (
    "check the kernel filter, profile child processes (ncu --target-processes all, nvprof --profile-child-processes), "
    "and that the app uses the GPU"
)

# Files without any table: the first pattern that a line matches decides.
_VERDICTS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        r"^==ERROR== Failed to profile \"(?P<kernel>[^\"]{1,80})",
        "holds no table: ncu failed while profiling {kernel}; what it has went into its report file",
        "print that report with: ncu --import REPORT --csv --page raw --print-units base > out.csv, or fix the run",
    ),
    (
        rf"^==ERROR== {messages.APPLICATION_FAILED}",
        "holds no table: ncu says the application failed with code {code} before a kernel was profiled",
        "run the application without the profiler first, then capture again",
    ),
    (
        r"Cuda driver is not compatible|failed to connect to the CUDA driver",
        "holds no table: ncu could not work with the CUDA driver",
        "use an ncu that matches the driver (compare ncu --version with nvidia-smi)",
    ),
    (
        messages.APPLICATION_MISSING,
        "holds no table: the profiler did not find the application",
        "give its full path and check that it is executable",
    ),
    (
        r"^(?:==\S+== )?No (?:kernels|API activities|events/metrics) were profiled|No profile data collected",
        "holds no table: no kernels were profiled",
        _NO_KERNELS_HINT,
    ),
    (
        r"Section: .+|^\s*-{5,} -{5,}",
        "is ncu's text page, not CSV",
        "print it again with: ncu --import REPORT --csv --page raw --print-units base > out.csv",
    ),
    (
        r"^\s*Invocations\s+Metric Name\s+|^\s*Invocations\s+Event Name\s+",
        "is nvprof's text table, not CSV",
        "capture again with: nvprof --csv --metrics … --log-file out.csv ./app",
    ),
    (
        r"^\s*Type\s+Time\(%\)\s+Time\s+|^\s*Time\(%\)\s+Time\s+Calls",
        "is nvprof's text summary, not CSV",
        "capture again with: nvprof --csv --print-gpu-summary -u ns --log-file out.csv ./app",
    ),
    (
        r"==PROF== Profiling .*(?:passes|%)|==PROF== Report:",
        "is ncu's console output without a table: the results went into a report file",
        "print that report with: ncu --import REPORT --csv --page raw --print-units base > out.csv",
    ),
    (
        r"==PROF== (?:Connected|Disconnected)",
        "holds no table: ncu connected, but 0 kernels were profiled and it says no reason",
        "check the kernel and process filters (ncu --target-processes all) and that the app launched kernels",
    ),
    (r"NVPROF is profiling process", "holds no table: nvprof profiled no kernel", "check that the app uses the GPU"),
    (
        r"^\s*[\[{]",
        "looks like JSON, not a profiler's CSV table",
        "give ncu or nvprof CSV output",
    ),
)


def error_lines(scan: Scan) -> list[str]:
    """The profiler's own ``==ERROR==`` lines."""
    return [line for line in scan.banners if line.startswith("==ERROR==")]


def ended_early(line: str) -> bool:
    """Whether a profiler's line says that the run did not end as it should, so that launches may be missing."""
    return re.search(f"{messages.APPLICATION_FAILED}|{messages.KERNEL_FAILED}", line) is not None


def permission_error(source: str, lines: Sequence[str], *, denied: bool = False) -> CounterAccessError | None:
    """The error for a capture that the driver refused, by the token both profilers print."""
    if denied or any(messages.PERMISSION_TOKEN in line for line in lines):
        return CounterAccessError(messages.permission_denied(source), hint=messages.PERMISSION_HINT)
    return None


def no_table(source: str, found: Scan) -> RoofctlError:
    """The error that says what a file without a table is."""
    lines = found.lines()
    denied = permission_error(source, lines, denied=found.denied)
    if denied:
        return denied
    for pattern, message, hint in _VERDICTS:
        for line in lines:
            match = re.search(pattern, line)
            if match:
                return NoKernels(f"{source} {message.format(**match.groupdict())}", hint=hint)
    first = next((line.strip() for line in lines), "")
    return NoKernels(
        f"{source} holds no table of ncu or nvprof; it begins with {first[:60]!r}",
        hint=f'expected a header such as "ID","Process ID",… or "Device","Kernel",…; {_RECAPTURE}',
    )


def foreign_table(source: str, kinds: Sequence[str]) -> InputError | None:
    """The error for a table of another tool, or None."""
    if "foreign_rocprof" in kinds:
        return InputError(
            f"{source} is a table of AMD's rocprof; roofctl reads NVIDIA's ncu and nvprof",
            hint="for AMD GPUs use rocprofiler-compute",
        )
    if "foreign_nsys" in kinds:
        return InputError(
            f"{source} is a table of Nsight Systems (nsys), which times kernels but counts nothing",
            hint=_RECAPTURE,
        )
    return None


def amd_counters(source: str, names: frozenset[str]) -> InputError | None:
    """The error for AMD counters that someone put under an ncu header, or None."""
    found = sorted(name for name in names if _AMD_COUNTERS.match(name))
    if not found:
        return None
    return InputError(
        f"{source} has the shape of ncu's table but AMD counters ({', '.join(found[:3])}); roofctl reads NVIDIA's",
        hint="for AMD GPUs use rocprofiler-compute",
    )


def interleaved(source: str, found: Scan) -> InputError | None:
    """The error for several nvprof processes that wrote into one file, or None."""
    if len(found.nvprof_processes) <= 1:
        return None
    return InputError(
        f"{source} holds the output of {len(found.nvprof_processes)} nvprof processes written over each other",
        hint="give each rank its own file: nvprof --log-file out.%p.csv (or %q{OMPI_COMM_WORLD_RANK})",
    )
