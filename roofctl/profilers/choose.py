"""Which profiler: nvprof where ncu can't, ncu otherwise; refused before the run where it cannot work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from roofctl.core.errors import ToolError, ToolNotFound, UnfitTool
from roofctl.core.gpu import Gpu
from roofctl.cuda.tools import Tool, assumed
from roofctl.profilers import ncu, nvprof
from roofctl.profilers.request import ProfilerChoice
from roofctl.quantities import catalogue

NCU_FIRST: Final = (7, 0)
"""The first compute capability that ncu counts on."""

NVPROF_LAST: Final = (7, 2)
"""The last one that nvprof counts on."""

_VOLTA_CHIPS: Final = ("gv100", "gv11b")
_LAST_FOR_VOLTA: Final = "ncu before 2025.3"


@dataclass(frozen=True)
class Choice:
    """A profiler, and in one sentence why it is this one."""

    tool: Tool
    why: str


def choose(
    wanted: ProfilerChoice, gpu: Gpu | None, find_ncu: Callable[[], Tool] = ncu.find, *, dry: bool = False
) -> Choice:
    """The profiler for that GPU (None: unknown). A dry run assumes one where none is installed.

    Raises UnfitTool for one that cannot profile this GPU, ToolNotFound and ToolFailed where it is not usable.
    """
    try:
        if wanted == "nvprof":
            return _nvprof_by_name(gpu)
        return _ncu_by_name(gpu, find_ncu) if wanted == "ncu" else _automatic(gpu, find_ncu)
    except ToolNotFound:
        if not dry:
            raise
        name = "nvprof" if wanted == "nvprof" or (wanted == "auto" and _needs_nvprof(gpu)) else "ncu"
        return Choice(assumed(name), f"{name} is not installed here: options are those of the newest version")


def _needs_nvprof(gpu: Gpu | None) -> bool:
    return gpu is not None and gpu.capability is not None and gpu.capability < NCU_FIRST


def _ncu_by_name(gpu: Gpu | None, find_ncu: Callable[[], Tool]) -> Choice:
    if gpu and _needs_nvprof(gpu):
        raise UnfitTool(
            f"ncu cannot profile {gpu.name} (compute capability {gpu.compute_capability}): it begins with Volta (7.0)",
            hint="use --profiler nvprof, from a CUDA toolkit up to 12",
        )
    tool = find_ncu()
    reason = _not_this_ncu(tool, gpu)
    if reason:
        raise UnfitTool(reason, hint=_another_ncu(gpu))
    return Choice(tool, "asked for")


def _nvprof_by_name(gpu: Gpu | None) -> Choice:
    if gpu and gpu.capability and gpu.capability > NVPROF_LAST:
        raise UnfitTool(
            f"nvprof cannot count on {gpu.name} (compute capability {gpu.compute_capability}): it stops at 7.2",
            hint="use --profiler ncu",
        )
    return Choice(nvprof.find(), "asked for")


def _automatic(gpu: Gpu | None, find_ncu: Callable[[], Tool]) -> Choice:
    if gpu and _needs_nvprof(gpu):
        return Choice(nvprof.find(), f"{gpu.name} has compute capability {gpu.compute_capability}, below ncu's 7.0")
    try:
        tool = find_ncu()
        reason = _not_this_ncu(tool, gpu)
        if reason is None:
            return Choice(tool, _why_ncu(gpu))
        problem: ToolError = UnfitTool(reason, hint=_another_ncu(gpu))
    except ToolError as error:
        problem = error
    if gpu and gpu.capability and gpu.capability > NVPROF_LAST:
        raise problem
    try:
        return Choice(nvprof.find(), problem.message)
    except ToolNotFound as error:
        if not isinstance(problem, ToolNotFound):
            raise problem from error
        raise ToolNotFound("neither ncu nor nvprof is on PATH", hint=problem.hint) from error


def _why_ncu(gpu: Gpu | None) -> str:
    if gpu is None or gpu.compute_capability is None:
        return "the GPU's compute capability is not known here"
    return f"{gpu.name} has compute capability {gpu.compute_capability}"


def _not_this_ncu(tool: Tool, gpu: Gpu | None) -> str | None:
    """Why this version cannot profile that GPU, or None where it can or nothing is known."""
    chip = catalogue().chip_of(gpu.compute_capability, gpu.name) if gpu else None
    # Asking takes ncu half a second. Only Volta was dropped so far; for a newer chip ncu's own error will do.
    if gpu is None or chip not in _VOLTA_CHIPS or not (known := ncu.chips(tool.path)) or chip in known:
        return None
    return f"ncu {tool.version} does not know the chip {chip} of {gpu.name}"


def _another_ncu(gpu: Gpu | None) -> str:
    if gpu and gpu.capability and gpu.capability <= NVPROF_LAST:
        return f"Volta needs {_LAST_FOR_VOLTA}, or --profiler nvprof"
    return "install a newer ncu"
