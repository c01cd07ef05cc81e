"""Verify a capture that exists, or make one here: build, profile, compare."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from roofctl.captures import read as captures
from roofctl.captures.manifest import ROOT, Capture
from roofctl.core.errors import ApplicationFailed, InputError, VerificationError
from roofctl.cuda.sass import ExecutedPath
from roofctl.launches.table import Part
from roofctl.profilers import capture as profiling
from roofctl.profilers.counters import check_sets
from roofctl.profilers.request import ProfilerChoice, ProfileRequest, Progress
from roofctl.readers import read as readers
from roofctl.study.analyse import AnalysisRequest, analyse_inputs
from roofctl.verify.build import LIMITS_PROGRAM, architecture, build, disassembled_paths, find_nvcc
from roofctl.verify.compare import Verdict, compare
from roofctl.verify.known_limits import LimitCheck, check_limits

DEFAULT_SET: Final = "default"
_WRONG_RESULT: Final = 1
"""Exit code of the program for a wrong result; other codes are CUDA's and its options'."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class VerifyRequest:
    """What to build and profile. ``sets`` empty means every metric set; ``keep`` leaves the capture behind."""

    profiler: ProfilerChoice = "auto"
    arch: str = "auto"
    sets: tuple[str, ...] = ()
    keep: bool = False


def verify_capture(sources: Sequence[Path]) -> Verdict:
    """Verify one capture: its folder or its name in ``roofctl-captures``, or the files that together hold it.

    Raises InputError when it cannot be read, or has no known kernel or no counter with a known value.
    """
    folders = [path for path in sources if not path.is_file()]
    if folders and len(sources) > 1:
        raise InputError(
            f"{folders[0]} is not a file, and a capture of its own cannot be completed by others",
            hint="give one capture, or several files of one",
        )
    return _compare_folder(captures.resolve(folders[0], Path.cwd()), {}) if folders else compare(_read(sources))


def verify_here(request: VerifyRequest, say: Say) -> tuple[Verdict, Path | None]:
    """Build, profile and compare on this machine; the verdict, and the capture's folder where it was kept.

    Without ``keep`` everything goes to a temporary folder, which stays only where something went wrong. Raises
    ToolError and DeviceError for what is missing, and VerificationError where a kernel computed a wrong result.
    """
    check_sets(request.sets)
    arch = architecture(request.arch)
    find_nvcc()
    say(f"building the known kernels for {arch}")
    work = Path(tempfile.mkdtemp(prefix="roofctl-verify-"))
    program = build(work, arch)
    paths = disassembled_paths(program)
    if not paths:
        say(
            "note: no cuobjdump here: warp instructions are checked to be the same number for every warp, "
            "not counted from the code"
        )
    capture = _profile(request, program, work, say)
    verdict = _compare_folder(capture.folder, paths)
    if request.keep:
        shutil.rmtree(work)
        return verdict, capture.folder
    if verdict.off or verdict.absent:
        say(f"the program and the capture are in {work}")
        return verdict, capture.folder
    shutil.rmtree(work)
    return verdict, None


def limits_here(request: VerifyRequest, say: Say) -> tuple[tuple[LimitCheck, ...], Path | None]:
    """Build ``kernels/limits``, profile it with the default set, and check what limits each kernel.

    Returns the rows, and the capture's folder where it was kept. Raises as ``verify_here`` does.
    """
    arch = architecture(request.arch)
    find_nvcc()
    say(f"building the kernels of known limits for {arch}")
    work = Path(tempfile.mkdtemp(prefix="roofctl-verify-"))
    try:
        program = build(work, arch, LIMITS_PROGRAM)
        capture = _profile(replace(request, sets=(DEFAULT_SET,)), program, work, say)
        checks = limits_of((capture.folder,))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return checks, capture.folder if request.keep else None


def limits_of(sources: Sequence[Path]) -> tuple[LimitCheck, ...]:
    """What limits the kernels of ``kernels/limits`` in a capture; empty where it has none of them."""
    return check_limits(analyse_inputs(AnalysisRequest(inputs=tuple(sources))).results.explained)


def _profile(request: VerifyRequest, program: Path, work: Path, say: Say) -> Capture:
    profile_request = ProfileRequest(
        argv=(str(program),),
        sets=request.sets or ("all",),
        profiler=request.profiler,
        name=program.name,
        output=None if request.keep else work / ROOT,
    )

    def watch(progress: Progress) -> None:
        for line in progress.messages:
            say(line)

    try:
        made = profiling.profile(profile_request, progress=watch)
        if made.failure:
            raise made.failure
    except ApplicationFailed as error:
        if error.code != _WRONG_RESULT:
            raise
        raise VerificationError(
            "a kernel computed a wrong result under the profiler (its name stands above)",
            hint=f"run {program} by itself: if it fails there too, suspect the GPU or the driver",
        ) from error
    return made


def _compare_folder(folder: Path, paths: Mapping[str, ExecutedPath]) -> Verdict:
    manifest = captures.read_manifest(folder)
    return compare(
        _read(captures.data_files(folder)),
        paths=paths,
        flushed=manifest.profiler == "ncu" and manifest.cache_control != "none",
        gpu=manifest.gpu,
    )


def _read(files: Sequence[Path]) -> list[Part]:
    return [part for path in files for part in readers.read_file(path)]
