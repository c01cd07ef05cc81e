"""What ``roofctl`` alone prints: the state of this machine in four lines, and what to do next."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from roofctl.captures.manifest import ROOT, captures_in, newest
from roofctl.core.driver import gpu_names, has_driver
from roofctl.core.profile_files import MEASURED_SUFFIX, layers, measured_files


@dataclass(frozen=True)
class Glance:
    """This machine as files tell it: no program is run, and no file is parsed.

    ``gpu`` is None without a driver. ``ceilings`` are measured GPU profiles outside the shipped ones. ``newest`` is the
    newest capture.
    """

    gpu: str | None
    profiler: str | None
    can_calibrate: bool
    ceilings: tuple[str, ...]
    captures: int
    newest: str | None


def glance(root: Path = Path("/")) -> Glance:
    """Look at this machine."""
    names = gpu_names(root)
    folders = captures_in(Path(ROOT))
    latest = newest(folders)
    gpu = (names[0] + (f" and {len(names) - 1} more" if names[1:] else "")) if names else "present"
    measured = [path for layer, folder in layers() if layer != "packaged" for path in measured_files(folder)]
    return Glance(
        gpu=gpu if has_driver(root) else None,
        profiler=shutil.which("ncu") or shutil.which("nvprof"),
        can_calibrate=find_spec("pycuda") is not None,
        ceilings=tuple(path.name.removesuffix(MEASURED_SUFFIX) for path in measured),
        captures=len(folders),
        newest=latest.name if latest else None,
    )


def lines(seen: Glance) -> Iterator[str]:
    """The state, then commands with what they do."""
    captures = f"{seen.captures:,} in {ROOT}, the newest {seen.newest}" if seen.newest else f"none in {ROOT}"
    yield f"GPU       {seen.gpu or 'no driver here; reading captures, report and plot need none'}"
    yield f"profiler  {seen.profiler or 'neither ncu nor nvprof is on PATH'}"
    yield f"ceilings  {'measured: ' + ', '.join(seen.ceilings) if seen.ceilings else 'none measured on this machine'}"
    yield f"captures  {captures}"
    yield ""
    steps = list(_steps(seen))
    width = max(len(command) for command, _ in steps)
    yield from (f"{command:<{width}}  {what}" for command, what in steps)


def _steps(seen: Glance) -> Iterator[tuple[str, str]]:
    if seen.gpu and seen.profiler:
        yield "roofctl profile ./app", "run an application under the profiler, and keep a capture"
    elif seen.gpu:
        yield "roofctl doctor", "what this machine lacks for profiling, and what to do"
    if seen.newest:
        yield "roofctl report", f"the kernels of {seen.newest}"
        yield "roofctl plot", "its roofline"
    else:
        yield "roofctl report FILE", "the kernels in an ncu report, or in CSV of ncu or nvprof"
    if not seen.newest and not (seen.gpu and seen.profiler):
        yield "roofctl demo", "table and pictures of a capture that comes with roofctl"
    if seen.gpu and not seen.ceilings:
        yield (
            "roofctl calibrate",
            "measure this GPU's ceilings" + ("" if seen.can_calibrate else "; first: pip install 'roofctl[gpu]'"),
        )
    yield "roofctl --help", "all commands"
