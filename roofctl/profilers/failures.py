"""Messages of failing profilers, and what they mean: one error, remedy and exit code each.

The log decides, and what was counted: ncu exits 0 for runs that counted nothing, and an
error line may come with exit code 0.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roofctl.core import profiler_text as messages
from roofctl.core.errors import (
    CounterAccessError,
    DeviceError,
    InputError,
    NothingProfiled,
    RoofctlError,
    ToolFailed,
    UnfitTool,
)
from roofctl.core.gpu import Gpu
from roofctl.profilers.lock import lock_path
from roofctl.profilers.lock import owner as lock_owner
from roofctl.profilers.run import ProfilePlan, ProfilerRun


@dataclass(frozen=True)
class Failure:
    """What a line of the log says (a name of ``PATTERNS``), and its error.

    ``setup``: it counts even where the run was stopped from outside.
    """

    name: str
    error: Callable[..., RoofctlError]
    message: str
    hint: str
    setup: bool = True


LOCK: Final = Failure(
    "lock",
    ToolFailed,
    "ncu could not lock {lock}{owner}: it is left by another user, or another ncu is at work",
    "ask its owner to remove it; or, when nobody else profiles on this node, use a folder of your own: "
    "--env TMPDIR=$(mktemp -d)",
)

FAILURES: Final[tuple[Failure, ...]] = (
    Failure(
        "permission",
        CounterAccessError,
        messages.permission_denied("{host}"),
        messages.PERMISSION_HINT,
    ),
    Failure(
        "unfit nvprof",
        UnfitTool,
        "nvprof cannot count on this GPU ({gpu}): it stops at compute capability {since}",
        "use ncu: roofctl profile --profiler ncu …",
    ),
    Failure(
        "driver mismatch",
        DeviceError,
        "ncu {version} does not fit the GPU's driver {driver} on {host}",
        "use an ncu of the driver's own CUDA version or newer (nvidia-smi shows it), or update the driver",
    ),
    Failure(
        "driver absent",
        DeviceError,
        "{tool} could not load the CUDA driver on {host}: libcuda.so.1 is missing, or a stub that only serves to link",
        "check `ldconfig -p | grep libcuda` and that no …/stubs folder is in LD_LIBRARY_PATH; a container must be "
        "started with the GPU",
    ),
    Failure(
        "unfit ncu",
        UnfitTool,
        "ncu {version} cannot profile this GPU ({gpu})",
        "GPUs older than Volta (Pascal, Maxwell) need nvprof: --profiler nvprof; Volta an ncu before 2025.3; a newer "
        "GPU a newer ncu",
    ),
    LOCK,
    Failure(
        "counters in use",
        ToolFailed,
        "another tool holds the GPU's counters on {host} (DCGM, a second profiler)",
        "stop it, or pause DCGM with `dcgmi profile --pause`, and try again",
    ),
    Failure(
        "application missing",
        InputError,
        "{tool} did not find the application {application}, or it is not executable",
        "give its path (./app), and check that it is executable",
    ),
    Failure(
        "report exists",
        ToolFailed,
        "{tool} would not replace a report that exists: {line}",
        "give another folder with -o, or another --name",
    ),
    Failure(
        "unwritable",
        ToolFailed,
        "{tool} could not write: {line}",
        "check space and permissions of the folder that -o names",
    ),
    Failure(
        "variable",
        InputError,
        "{tool} needs an environment variable that is not set: {line}",
        "set it, or take %q{{…}} out of the name",
    ),
    Failure(
        "kernel filter",
        InputError,
        "{tool} does not take the kernel filter: {line}",
        "name filters are regular expressions (Perl's): escape ( ) [ ] * + with a backslash",
    ),
    Failure(
        "no range",
        NothingProfiled,
        "the application met no range to profile: no NVTX range of that name, no cudaProfilerStart",
        "check the spelling of --nvtx (Domain@Range for a domain of your own), and that the app marks the range; "
        "without marked ranges leave out --nvtx and --replay range",
        setup=False,
    ),
    Failure(
        "unknown counter",
        ToolFailed,
        "ncu {version} does not know the counter {counter} on this GPU ({gpu})",
        "this is a fault in roofctl's quantities for that chip: report it; a narrower --set may work",
    ),
    Failure(
        "MIG",
        DeviceError,
        "some counters belong to units that MIG instances share, and cannot be read in one: {line}",
        "profile on a whole GPU, or on an instance with compute slices of its own",
    ),
    Failure(
        "kernel failed",
        ToolFailed,
        "{tool} failed while profiling {kernel}; launches profiled before it: {kernels}",
        "leave it out with --exclude, or try --replay application where runs repeat exactly",
        setup=False,
    ),
    Failure(
        "launch failed",
        ToolFailed,
        "{tool} failed to launch a kernel for profiling (LaunchFailed); launches profiled before it: {kernels}",
        "run the application without the profiler; where that goes well, fewer counters (--set), --replay application, "
        "or --exclude with the name of the kernel may help",
        setup=False,
    ),
    Failure(
        "replay",
        ToolFailed,
        "the application did not launch the same kernels in each pass: {line}",
        "use --replay kernel",
        setup=False,
    ),
)

NVPROF_FAILURES: Final[tuple[Failure, ...]] = (
    Failure(
        "uncountable",
        UnfitTool,
        "nvprof {version} cannot count what was asked on this GPU ({gpu}): {line}",
        "use ncu from compute capability 7.0 on: --profiler ncu",
    ),
    Failure(
        "no GPU",
        DeviceError,
        "nvprof found no GPU on {host} that it can profile: {line}",
        "check nvidia-smi, and that the GPU's compute capability is below 7.5",
    ),
    Failure(
        "nvprof failed",
        ToolFailed,
        "nvprof failed: {line}",
        "run it by hand as `roofctl profile --dry-run` prints it",
    ),
)


def find_in(plan: ProfilePlan, run: ProfilerRun, table: tuple[Failure, ...]) -> RoofctlError | None:
    """The error of the first entry of the table that a line of the log matches, or None."""
    by_name = {failure.name: failure for failure in table if failure.setup or not run.stopped}
    found = messages.first_of(by_name, run.log.lines)
    return found and fill(by_name[found[0]], plan, run, found[1].string, found[1].groupdict())


def fill(
    failure: Failure, plan: ProfilePlan, run: ProfilerRun, line: str, groups: Mapping[str, str | None]
) -> RoofctlError:
    """The error of an entry, its texts filled in."""
    matched = {name: text for name, text in groups.items() if text}
    lock = Path(matched.get("lock") or lock_path({**os.environ, **plan.request.env}))
    owner = lock_owner(lock)
    values = {
        "tool": plan.tool.name,
        "version": plan.tool.version,
        "host": plan.host,
        "application": plan.request.argv[0],
        "kernels": run.kernels,
        "gpu": _describe(plan.gpu),
        "driver": (plan.gpu and plan.gpu.driver) or "of unknown version",
        "line": bare(line),
        "lock": lock,
        "owner": f" (owner {owner})" if owner else "",
        **matched,
    }
    return failure.error(failure.message.format(**values), hint=failure.hint.format(**values))


def bare(line: str) -> str:
    """A line of a log without the profiler's prefix."""
    return re.sub(r"^\s*=+(?:\w+=+)?\s*(?:Error: |Warning: )?", "", line).strip()


def _describe(gpu: Gpu | None) -> str:
    if gpu is None:
        return "unknown"
    return f"{gpu.name}, compute capability {gpu.compute_capability}" if gpu.compute_capability else gpu.name
