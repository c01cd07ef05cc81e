"""Messages of profilers, recognised in a live log and in a file read later: one set of patterns for both."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

PERMISSION_HINT: Final = (
    "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0, or start the container with "
    "--cap-add=SYS_ADMIN; under WSL allow it in the NVIDIA control panel of Windows; a hosted machine may allow none "
    "of them"
)

PATTERNS: Final[dict[str, str]] = {
    # Old drivers print the sentence alone, or with the name that the token had. RE2 reads this one, too.
    "permission": r"ERR_NVGPUCTRPERM|NVSOLN1000|does not have permission to (?:profile|access NVIDIA GPU Perf)",
    "unfit nvprof": r"not supported on devices with compute capability (?P<since>[\d.]+)",
    "driver mismatch": r"Cuda driver is not compatible",
    "driver absent": r"failed to connect to the CUDA driver|unable to locate cuda driver library",
    "unfit ncu": r"Unsupported GPU|[Pp]rofiling is not supported on (?:this )?device",
    "lock": r"lock file(?:[\s:']+(?P<lock>/.*nsight-compute-lock))?|InterprocessLockFailed",
    "counters in use": r"driver resource was unavailable",
    "application missing": r"does not exist or is not an executable|application not found",
    "report exists": r"already exists\. Use '-f'",
    "unwritable": r"Unable to write to file|Unable to open file",
    "variable": r"Failed to read environment variable",
    "kernel filter": r"Invalid regex provided|[Ii]nvalid regular expression",
    "no range": r"--nvtx-include requires|No ranges were profiled",
    "unknown counter": r"Failed to find metric (?:regex:)?(?P<counter>\S+)",
    "MIG": r"When profiling on a MIG instance",
    "kernel failed": r"Failed to profile \"(?P<kernel>.{1,80}?)(?:\"|$)",
    "launch failed": r"^==ERROR== LaunchFailed",
    "replay": r"Replay.*(?:mismatch|not match)|[Ff]ailed to match",
    "application ended": r"==PROF== Trying to shutdown target application",
    "application failed": r"The application returned an error code \((?P<code>\d+)\)|"
    r"Application returned non-zero code (?P<nvprof_code>\d+)",
    "application killed": r"Application received signal (?P<signal>\d+)",
    "uncountable": r"One or more events or metrics can't be profiled|Skipping profiling on device",
    "no GPU": r"internal error|CUDA device error",
    "nvprof failed": r"CUDA profiling error",
    "no CUDA": r"terminated before first instrumented API call",
}
"""What a line says. The first pattern that any line matches decides: causes stand before consequences."""


def match_of(name: str, lines: Iterable[str]) -> re.Match[str] | None:
    """The first line that says what ``name`` stands for."""
    pattern = re.compile(PATTERNS[name])
    return next((match for line in lines if (match := pattern.search(line))), None)


def first_of(names: Collection[str], lines: Iterable[str]) -> tuple[str, re.Match[str]] | None:
    """The first of ``PATTERNS``, among ``names``, that a line matches, and its match."""
    kept = list(lines)
    found = ((name, match_of(name, kept)) for name in PATTERNS if name in names)
    return next(((name, match) for name, match in found if match), None)


def permission_denied(where: str) -> str:
    """The sentence for counters that the driver refused; ``where`` is a host or a file."""
    return f"{where}: the driver denied access to performance counters (ERR_NVGPUCTRPERM)"
