"""One capture from request to folder: find GPU and profiler, check, run, describe."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from roofctl import __version__
from roofctl.captures.draft import Draft, create, unwritable
from roofctl.captures.manifest import Capture, Manifest
from roofctl.core.errors import ApplicationFailed, InputError, Interrupted, NothingProfiled, RoofctlError, ToolTimeout
from roofctl.core.kernel_filter import PREFIX, NameFilter
from roofctl.profilers import ncu, nvprof
from roofctl.profilers.choose import choose
from roofctl.profilers.counters import Selected, check_sets
from roofctl.profilers.gpu import find_gpu
from roofctl.profilers.request import DEFAULT_ROOT, Command, ProfileRequest, Watch
from roofctl.profilers.run import ProfilePlan, ProfilerRun
from roofctl.profilers.verdict import launches
from roofctl.quantities import catalogue

RANK_VARIABLES: Final = (
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
    "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID",
    "RANK",
)

_MODULES: Final[dict[str, ModuleType]] = {"ncu": ncu, "nvprof": nvprof}


def plan(request: ProfileRequest, *, dry: bool = False) -> ProfilePlan:
    """Decide everything that can be decided before the run. Raises InputError and ToolError for what cannot work.

    ``dry``: nothing will be run, so a missing application, GPU or profiler is no error.
    """
    if not dry:
        check_application(request)
    # nvidia-smi and ncu take a tenth of a second or more each: they run while the rest is checked.
    with ThreadPoolExecutor(2) as pool:
        ncu_tool = None if request.profiler == "nvprof" else pool.submit(ncu.find)
        pending_gpu = pool.submit(find_gpu, request.device, request.env)
        sets = check_sets(request.sets)
        request, remarks = _without_prefix(request)
        NameFilter(request.kernel, request.kernel_base, request.exclude).check()
        _check_macros(request)
        gpu = pending_gpu.result()
        choice = choose(request.profiler, gpu, ncu_tool.result if ncu_tool else ncu.find, dry=dry)
    module: Any = _MODULES[choice.tool.name]
    module.check(request, choice.tool)
    chip = catalogue().chip_of(gpu.compute_capability, gpu.name) if gpu else None
    selected = module.counters(chip, sets)
    if not selected.counters:
        raise InputError(
            f"{choice.tool.name} can count nothing of {', '.join(sets)} on {gpu.name if gpu else 'this GPU'}",
            hint="choose another --set: roofctl quantities lists them",
        )
    remarks += [f"{choice.tool.name} {choice.tool.version}: {choice.why}"] if not choice.tool.assumed else [choice.why]
    if choice.tool.name == "nvprof" and request.kernel:
        remarks.append("nvprof filters by base names only: it counts all kernels, and --kernel applies to the results")
    if chip is None:
        known = f"{gpu.name} is not a chip that roofctl knows" if gpu else "no GPU is seen here"
        remarks.append(f"{known}: counters are those of a chip that has them all")
    return ProfilePlan(request, choice.tool, selected, gpu, sets, tuple(remarks), socket.gethostname())


def commands(planned: ProfilePlan, folder: Path) -> list[Command]:
    """The command lines that would make the capture in ``folder``."""
    module: Any = _MODULES[planned.tool.name]
    lines: list[Command] = module.build(planned.request, planned.tool, planned.selected.counters, folder)
    return lines


def profile(request: ProfileRequest, *, progress: Watch | None = None, planned: ProfilePlan | None = None) -> Capture:
    """Run the application under a profiler and keep the results as a capture.

    Raises the error that explains a run without usable results; the profiler's log is then kept as NAME.log beside
    the captures, and a report as NAME.ncu-rep. A run that failed or was stopped after launches were counted is kept,
    ``incomplete`` in its manifest, with the error in ``failure``.
    """
    planned = planned or plan(request)
    started = datetime.now().astimezone()
    draft = create(output_root(request), capture_name(request, started))
    try:
        run, capture = _captured(planned, draft, progress, started)
    except BaseException as error:
        # The report survives a fault of ours, a full disk, or a Ctrl-C while it is read.
        kept = draft.discard(_reports(planned, draft))
        if isinstance(error, KeyboardInterrupt):
            raise _with_kept(Interrupted("interrupted"), kept) from error
        if isinstance(error, OSError):
            raise _with_kept(unwritable(output_root(request), error), kept) from error
        if isinstance(error, RoofctlError):
            raise _with_kept(error, kept) from error.__cause__
        raise
    return Capture(capture.folder, capture.manifest, _failure(request, run, capture.folder))


def _captured(
    planned: ProfilePlan, draft: Draft, progress: Watch | None, started: datetime
) -> tuple[ProfilerRun, Capture]:
    """Run, and give the folder its name. Raises the error of a run without usable results."""
    module: Any = _MODULES[planned.tool.name]
    run: ProfilerRun = module.run(planned, draft.folder, progress)
    if not run.kernels:
        raise _nothing_kept(planned, run, draft)
    return run, draft.finish(_manifest(planned, run, started))


def output_root(request: ProfileRequest) -> Path:
    """The folder that holds the captures."""
    return request.output or Path.cwd() / DEFAULT_ROOT


def check_application(request: ProfileRequest) -> None:
    """Raise InputError where the application is not there or not executable, before any profiler starts."""
    name = request.argv[0]
    folder = request.cwd or Path.cwd()
    if request.cwd and not request.cwd.is_dir():
        raise InputError(f"the folder {request.cwd} does not exist", hint="check --cwd")
    if "/" not in name:
        if shutil.which(name, path=request.env.get("PATH")):
            return
        here = (folder / name).is_file()
        raise InputError(
            f"{name} is not on PATH", hint=f"did you mean ./{name}?" if here else "give its path, such as ./app"
        )
    path = folder / name
    if not path.exists():
        raise InputError(f"{name}: no such application (looked in {folder})", hint="check the path and --cwd")
    if path.is_dir() or not os.access(path, os.X_OK):
        kind = "is a folder" if path.is_dir() else "is not executable"
        raise InputError(f"{name} {kind}", hint=_how_to_run(path, name))


def _how_to_run(path: Path, name: str) -> str:
    if path.is_dir():
        return "name the program in it"
    if path.suffix == ".py":
        return f"run it with its interpreter: roofctl profile python {name}"
    if re.search(r"\.so(\.\d+)*$", path.name):
        return "it is a library: name the program that uses it"
    return f"make it so: chmod +x {name}"


def _check_macros(request: ProfileRequest) -> None:
    folder = output_root(request).absolute() / (request.name or "")
    if "%" in str(folder):
        raise InputError(
            f"{folder}: profilers give % in the name of a folder a meaning of their own",
            hint="choose a --name and a folder (-o) without it",
        )


def _without_prefix(request: ProfileRequest) -> tuple[ProfileRequest, list[str]]:
    """The request with name filters as ncu spells them (``regex:``) made plain ones, and remarks on them."""
    given = {"kernel": request.kernel, "kernel_base": request.kernel_base, "exclude": request.exclude}
    plain = {name: text.removeprefix(PREFIX) for name, text in given.items()}
    remarks = [
        f"--{name.replace('_', '-')} takes a regular expression as it is: {PREFIX} is dropped"
        for name, text in given.items()
        if text.startswith(PREFIX)
    ]
    request = replace(request, kernel=plain["kernel"], kernel_base=plain["kernel_base"], exclude=plain["exclude"])
    return request, remarks


def capture_name(request: ProfileRequest, when: datetime) -> str:
    """The capture's name: the one asked for, else application and time, and the rank where there is one."""
    rank = rank_here()
    suffix = "" if rank is None else f"-rank{rank}"
    if request.name:
        return request.name + suffix
    return f"{_application_name(request.argv)}-{when:%Y%m%d-%H%M%S}{suffix}"


def _application_name(argv: Sequence[str]) -> str:
    """Base name of the application; of its script where an interpreter runs one."""
    name = Path(argv[0]).name
    if re.fullmatch(r"python[\d.]*|bash|sh|julia", name):
        script = next((word for word in argv[1:] if not word.startswith("-")), "")
        name = Path(script).stem if re.search(r"\.(py|sh|jl)$", script) else name
    return re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "app"


def rank_here() -> int | None:
    """This process's rank, by the variables that launchers set."""
    values = (os.environ.get(name, "") for name in RANK_VARIABLES)
    return next((int(value) for value in values if value.isdigit()), None)


def _manifest(planned: ProfilePlan, run: ProfilerRun, started: datetime) -> Manifest:
    request, tool = planned.request, planned.tool
    module: Any = _MODULES[tool.name]
    missing = run.missing(planned.selected.counters)
    return Manifest(
        argv=request.argv,
        cwd=str((request.cwd or Path.cwd()).resolve()),
        profiler=tool.name,
        profiler_version=tool.version,
        profiler_path=tool.path,
        metric_sets=planned.sets,
        counters=planned.selected.counters,
        left_out={**dict(planned.selected.left_out), **_lost(planned.selected, missing)},
        missing=dict.fromkeys(missing, "asked for, but the profiler gave no value"),
        gpu=planned.gpu,
        host=planned.host,
        rank=rank_here(),
        started=started.isoformat(timespec="seconds"),
        ended=datetime.now().astimezone().isoformat(timespec="microseconds"),
        seconds=round(run.seconds, 3),
        profiler_exit_code=run.returncode,
        application_exit_code=run.application_code,
        commands=tuple(command.line() for command in run.commands),
        clock_control=request.clock_control or module.CLOCK_CONTROL,
        cache_control=request.cache_control or module.CACHE_CONTROL,
        replay_mode=request.replay,
        passes=run.log.passes,
        kernels=run.kernels,
        kernel=request.kernel,
        kernel_base=request.kernel_base,
        exclude=request.exclude,
        filter_when_read=tool.name == "nvprof" and bool(request.kernel or request.kernel_base or request.exclude),
        incomplete=_incomplete(request, run),
        data=run.data,
        roofctl_version=__version__,
    )


def _lost(selected: Selected, missing: Sequence[str]) -> dict[str, str]:
    """Quantities that cannot be made because a counter of theirs has no value."""
    return {
        name: f"the profiler gave no value for {', '.join(c for c in recipe.counters if c in missing)}"
        for name, recipe in selected.recipes
        if any(counter in missing for counter in recipe.counters)
    }


def _incomplete(request: ProfileRequest, run: ProfilerRun) -> str:
    if run.stopped == "timeout":
        return f"stopped after {request.timeout:g} s (--timeout)"
    if run.stopped:
        return {"interrupt": "stopped with Ctrl-C", "terminate": "stopped by the system (SIGTERM)"}[run.stopped]
    return run.error.message if run.error else ""


def _failure(request: ProfileRequest, run: ProfilerRun, folder: Path) -> RoofctlError | None:
    kept = f"{launches(run.kernels)} profiled and kept in {folder}"
    if run.stopped:
        return _stopped(request, run, kept)
    if isinstance(run.error, ApplicationFailed) and request.keep_going:
        return None
    return run.error


def _stopped(request: ProfileRequest, run: ProfilerRun, kept: str) -> RoofctlError:
    if run.stopped == "timeout":
        profiler = Path(run.commands[0].argv[0]).name
        return ToolTimeout(
            f"{request.argv[0]} ran past {request.timeout:g} s under {profiler} and was stopped; {kept}",
            hint="give more time, or profile fewer launches (--launch-count, --kernel); kernels that wait for each "
            "other (collectives) hang under a profiler: leave them out with --exclude, or try --replay range or "
            "app-range with all ranks under one profiler",
        )
    how = "interrupted" if run.stopped == "interrupt" else "terminated"
    return Interrupted(f"{how}; {kept}")


def _reports(planned: ProfilePlan, draft: Draft) -> dict[str, str]:
    """What is kept of a run that failed, beside its log: all else that ncu left, by its new suffix."""
    if planned.tool.name != "ncu" or not draft.folder.is_dir():
        return {}
    left = (path.name for path in draft.folder.iterdir() if path.is_file() and path.name not in ncu.SCRATCH)
    stem = Path(ncu.REPORT).stem
    return {name: name.removeprefix(stem) if name.startswith(f"{stem}.") else f".{name}" for name in left}


def _nothing_kept(planned: ProfilePlan, run: ProfilerRun, draft: Draft) -> RoofctlError:
    """The error of a run without anything usable; its hint names the log and the report that are kept."""
    kept = draft.discard({**({run.log_file: ".log"} if run.log_file else {}), **_reports(planned, draft)})
    error = run.error
    if error is None:
        error = NothingProfiled("no kernel was profiled")
        if run.stopped:
            error = _stopped(planned.request, run, "nothing was profiled")
    return _with_kept(error, kept)


def _with_kept(error: RoofctlError, kept: Sequence[Path]) -> RoofctlError:
    """The error, its hint naming the files that are kept."""
    if kept:
        error.hint = f"{error.hint}; kept: {', '.join(map(str, kept))}".removeprefix("; ")
    return error
