"""What a file without a usable table looks like, and how to get one that has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from roofctl.core import profiler_text as messages
from roofctl.core.errors import CounterAccessError, InputError, NoKernels, RoofctlError
from roofctl.readers import nsys
from roofctl.readers.find_tables import Scan

_RECAPTURE: Final = (
    "capture with --csv and --log-file: ncu --csv --page raw --print-units base --log-file out.csv --metrics … ./app"
)
_AMD_COUNTERS: Final = re.compile(
    r"^(?:SQ_|TCC_|TCP_|TA_|TD_|GRBM_|CPC_|CPF_|SPI_)\w+$|^(?:FetchSize|WriteSize|VALUInsts|SALUInsts)$"
)

_PRINT: Final = "print that report with: ncu --import REPORT --csv --page raw --print-units base > out.csv"
_RUN_PLAIN: Final = "run the application without the profiler first, then capture again"
_FEWER: Final = (
    "run the application without the profiler; where that goes well, capture fewer counters or leave that kernel out"
)

# What a file without a table means, by the name of what a line of the profiler's says.
_MEANINGS: Final[dict[str, tuple[str, str]]] = {
    "unfit nvprof": (
        "nvprof cannot count on this GPU: it stops at compute capability {since}",
        "capture with ncu: roofctl profile ./app",
    ),
    "driver mismatch": (
        "ncu could not work with the CUDA driver",
        "use an ncu that matches the driver (compare ncu --version with nvidia-smi)",
    ),
    "driver absent": (
        "the profiler could not load the CUDA driver (libcuda.so.1)",
        "check `ldconfig -p | grep libcuda`; a container must be started with the GPU",
    ),
    "unfit ncu": (
        "this ncu cannot profile the GPU",
        "GPUs older than Volta need nvprof, Volta an ncu before 2025.3, a newer GPU a newer ncu",
    ),
    "lock": (
        "ncu could not take its lock file",
        "another ncu is at work, or a lock of another user is left: give TMPDIR a folder of your own",
    ),
    "counters in use": (
        "another tool held the GPU's counters (DCGM, a second profiler)",
        "stop it, or pause DCGM with `dcgmi profile --pause`, and capture again",
    ),
    "application missing": (
        "the profiler did not find the application",
        "give its full path and check that it is executable",
    ),
    "report exists": ("ncu would not replace a report that exists", "read that report, or capture again with -f"),
    "unwritable": ("the profiler could not write its results", "check space and permissions, then capture again"),
    "variable": (
        "the profiler needs an environment variable that is not set",
        "set it, or take %q{{…}} out of the names",
    ),
    "kernel filter": (
        "the profiler did not take the kernel filter",
        "escape ( ) [ ] * + in it with a backslash, then capture again",
    ),
    "no range": ("the application met no range to profile", "check the NVTX filter, or capture without it"),
    "unknown counter": (
        "ncu does not know the counter {counter} on this GPU",
        "leave it out, or let roofctl choose the counters: roofctl profile ./app",
    ),
    "MIG": (
        "some counters belong to units that MIG instances share, and cannot be read in one",
        "capture on a whole GPU",
    ),
    "kernel failed": (
        "ncu failed while profiling {kernel}; what it has went into its report file",
        f"{_PRINT}, or fix the run",
    ),
    "launch failed": ("ncu failed to launch a kernel for profiling (LaunchFailed)", _FEWER),
    "replay": ("the application did not launch the same kernels in each pass", "capture with --replay-mode kernel"),
    "application ended": ("ncu gave up and ended the application itself", _FEWER),
    "application failed": (
        "{profiler} says the application failed with code {code} before a kernel was profiled",
        _RUN_PLAIN,
    ),
    "application killed": ("nvprof says the application was ended by signal {signal}", _RUN_PLAIN),
    "uncountable": (
        "nvprof could not count what was asked on this GPU",
        "ask for fewer counters; from compute capability 7.0 on use ncu: roofctl profile ./app",
    ),
    "no GPU": (
        "nvprof had no GPU that it can profile",
        "check nvidia-smi, and that the GPU's compute capability is below 7.5; else use ncu: roofctl profile ./app",
    ),
    "nvprof failed": ("nvprof failed: CUDA profiling error", "capture again, or with ncu: roofctl profile ./app"),
    "no CUDA": (
        "the application ended before it called CUDA",
        "check that it reaches its GPU work with these arguments",
    ),
}

# Files without a table, and without any of the above: the first pattern that a line matches decides.
_VERDICTS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        r"^(?:==\S+== )?Generated result file: (?P<file>\S.*)",
        "holds no table: nvprof wrote its results to {file}",
        (
            "print them where nvprof is: nvprof -i FILE --csv --print-gpu-trace -u ns --log-file time.csv; "
            "with counters also: nvprof -i FILE --csv --log-file counts.csv"
        ),
    ),
    (
        r"^(?:==\S+== )?No (?:kernels|API activities|events/metrics) were profiled|No profile data collected",
        "holds no table: no kernels were profiled",
        (
            "check the kernel filter, profile child processes (ncu --target-processes all, nvprof "
            "--profile-child-processes), and that the app uses the GPU"
        ),
    ),
    (
        r"==PROF== Profiling .*(?:passes|%)|==PROF== Report:",
        "is ncu's console output without a table: the results went into a report file",
        _PRINT,
    ),
    (
        r"Section: .+|^\s*-{5,} -{5,}",
        "looks like ncu's text page, but no launch can be read from it",
        "print it again with: ncu --import REPORT --csv --page raw --print-units base > out.csv",
    ),
    (
        r"^\s*Invocations\s+Metric Name\s+|^\s*Invocations\s+Event Name\s+",
        "looks like nvprof's text table, but no kernel can be read from it",
        "capture again with: nvprof --csv --metrics … --log-file out.csv ./app",
    ),
    (
        r"^\s*Type\s+Time\(%\)\s+Time\s+|^\s*Time\(%\)\s+Time\s+Calls",
        "looks like nvprof's text summary, but no kernel can be read from it",
        "capture again with: nvprof --csv --print-gpu-summary -u ns --log-file out.csv ./app",
    ),
    (
        r"==PROF== (?:Connected|Disconnected)",
        "holds no table: ncu connected, but 0 kernels were profiled and it says no reason",
        "check the kernel and process filters (ncu --target-processes all) and that the app launched kernels",
    ),
    (r"NVPROF is profiling process", "holds no table: nvprof profiled no kernel", "check that the app uses the GPU"),
    (
        r"Generating SQLite file|nsys-rep|\.qdrep",
        "holds no table: it is what nsys says while it works",
        f"print its times: {nsys.PRINT_HINT}",
    ),
)


def error_lines(scan: Scan) -> list[str]:
    """The profiler's own ``==ERROR==`` lines."""
    return [line for line in scan.banners if line.startswith("==ERROR==")]


def ended_early(line: str) -> bool:
    """Whether a profiler's line says that the run did not end as it should, so that launches may be missing."""
    return messages.first_of(("application failed", "application killed", "kernel failed"), [line]) is not None


def permission_error(source: str, lines: Sequence[str], *, denied: bool = False) -> CounterAccessError | None:
    """The error for a capture that the driver refused, by what both profilers print."""
    if denied or messages.match_of("permission", lines):
        return CounterAccessError(messages.permission_denied(source), hint=messages.PERMISSION_HINT)
    return None


def no_table(source: str, found: Scan) -> RoofctlError:
    """The error that says what a file without a table is."""
    lines = found.lines()
    denied = permission_error(source, lines, denied=found.denied)
    if denied:
        return denied
    own = [line.strip() for line in lines if line.lstrip().startswith("==")]
    if cause := messages.first_of(_MEANINGS, own):
        return _meaning(source, *cause)
    for pattern, message, hint in _VERDICTS:
        for line in lines:
            match = re.search(pattern, line)
            if match:
                return NoKernels(f"{source} {message.format(**match.groupdict())}", hint=hint)
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith(("{", "[")) and not first.startswith("[1/"):
        return NoKernels(
            f"{source} looks like JSON, not a profiler's CSV table", hint="give ncu, nvprof or nsys CSV output"
        )
    return NoKernels(
        f"{source} holds no table of ncu or nvprof; it begins with {first[:60]!r}",
        hint=f'expected a header such as "ID","Process ID",… or "Device","Kernel",…; {_RECAPTURE}',
    )


def _meaning(source: str, name: str, match: re.Match[str]) -> NoKernels:
    message, hint = _MEANINGS[name]
    words = {key: text for key, text in match.groupdict().items() if text}
    words.setdefault("code", words.get("nvprof_code", ""))
    words["profiler"] = "nvprof" if "nvprof_code" in words else "ncu"
    return NoKernels(f"{source} holds no table: {message.format(**words)}", hint=hint.format(**words))


def foreign_table(source: str, kinds: Sequence[str]) -> InputError | None:
    """The error for a table of another tool, or None."""
    if "foreign_rocprof" in kinds:
        return InputError(
            f"{source} is a table of AMD's rocprof; roofctl reads NVIDIA's ncu and nvprof",
            hint="for AMD GPUs use rocprofiler-compute",
        )
    if kinds and all(kind == "nsys_other" for kind in kinds):
        return InputError(
            f"{source} holds tables of Nsight Systems (nsys), but none of kernels",
            hint=f"print times of kernels: {nsys.PRINT_HINT}; counters come from ncu only: roofctl profile ./app",
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
