"""Build the program of ``kernels/known`` and read its machine code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from roofctl.core.errors import DeviceError, InputError, ToolNotFound
from roofctl.core.resources import shipped
from roofctl.core.units import WARP_THREADS
from roofctl.cuda.sass import ExecutedPath, SassFunction
from roofctl.cuda.toolchain import arch_of, compile_command, disassemble, find_tool, run_tool
from roofctl.profilers.gpu import find_gpu
from roofctl.verify.known_kernels import KNOWN

PROGRAM: Final = "known"
LIMITS_PROGRAM: Final = "limits"


def sources(program: str = PROGRAM) -> tuple[Path, ...]:
    """The CUDA files of a program, as installed."""
    return tuple(sorted((shipped("kernels") / program).glob("*.cu")))


def find_nvcc() -> Path:
    """Path of nvcc. Raises ToolNotFound that names the places searched."""
    nvcc = find_tool("nvcc")
    if nvcc is None:
        raise ToolNotFound(
            "nvcc is not on PATH, not in CUDA_HOME and not in /usr/local/cuda/bin, "
            "so the known kernels cannot be built",
            hint="load the CUDA toolkit's module or set CUDA_HOME; or verify a capture made elsewhere with --from",
        )
    return nvcc


def architecture(wanted: str = "auto") -> str:
    """``sm_80`` for the wanted one, or for the GPU in this machine; sm_90 means sm_90a, which has wgmma.

    Raises InputError or DeviceError.
    """
    if wanted != "auto":
        if not re.fullmatch(r"sm_\d{2,3}[af]?", wanted):
            raise InputError(f"--arch {wanted!r} is no GPU architecture", hint="write it as sm_90, or auto")
        return "sm_90a" if wanted == "sm_90" else wanted
    gpu = find_gpu()
    if gpu is None or gpu.capability is None:
        raise DeviceError(
            f"the driver does not report the compute capability of {gpu.name}"
            if gpu
            else "nvidia-smi reports no GPU here",
            hint="run on a machine with a GPU, or name its architecture (--arch sm_90), or verify a capture (--from)",
        )
    return arch_of(gpu.capability)


def build(folder: Path, arch: str, name: str = PROGRAM) -> Path:
    """Build a program in ``folder``, return its path. Raises ToolNotFound, or ToolFailed with nvcc's output."""
    program, nvcc = folder / name, find_nvcc()
    run_tool(compile_command(nvcc, sources(name), program, f"-arch={arch}", "--threads", "0")).checked(
        f"{nvcc} must know {arch} and C++17: CUDA 11.2 or newer, and CUDA 12 at most for GPUs before Turing"
    )
    return program


def disassembled_paths(program: Path) -> Mapping[str, ExecutedPath]:
    """Instructions per warp of the kernels in ``program``; empty where no cuobjdump is installed or it fails."""
    return known_paths(disassemble(program))


def known_paths(functions: Mapping[str, SassFunction]) -> Mapping[str, ExecutedPath]:
    """Paths of the kernels of ``kernels/known``, where their code determines them."""
    paths = {
        kernel.name: functions[kernel.name].executed(iterations=kernel.iterations, guarded=kernel.guarded)
        for kernel in KNOWN
        if kernel.name in functions and kernel.active_lanes == WARP_THREADS
    }
    return {name: path for name, path in paths.items() if path is not None}
