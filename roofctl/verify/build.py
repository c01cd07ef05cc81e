"""Build the program of ``kernels/known`` and take its code apart."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from roofctl.core import process
from roofctl.core.errors import DeviceError, InputError, ToolNotFound
from roofctl.core.resources import shipped
from roofctl.profilers.gpu import find_gpu
from roofctl.verify.expect import ExecutedPath
from roofctl.verify.sass import known_paths

PROGRAM: Final = "known"
_USUAL: Final = Path("/usr/local/cuda")
_COMPILE_SECONDS: Final = 600.0
_DISASSEMBLE_SECONDS: Final = 120.0


def sources() -> tuple[Path, ...]:
    """The CUDA files of the program, as installed."""
    return tuple(sorted((shipped("kernels") / "known").glob("*.cu")))


def cuda_tool(name: str) -> str | None:
    """Path of a tool of the CUDA toolkit: on PATH, in CUDA_HOME, or in the usual place; None when it is nowhere."""
    homes = [Path(os.environ[variable]) for variable in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(variable)]
    found = shutil.which(name)
    for home in (*homes, _USUAL):
        found = found or shutil.which(name, path=str(home / "bin"))
    return found


def find_nvcc() -> str:
    """Path of nvcc. Raises ToolNotFound that says where it was looked for."""
    found = cuda_tool("nvcc")
    if found is None:
        raise ToolNotFound(
            f"nvcc is not on PATH, not in CUDA_HOME and not in {_USUAL}/bin, so the known kernels cannot be built",
            hint="load the CUDA toolkit's module or set CUDA_HOME; or verify a capture made elsewhere with --from",
        )
    return found


def architecture(wanted: str = "auto") -> str:
    """``sm_90`` for the wanted one, or for the GPU in this machine. Raises InputError or DeviceError."""
    if wanted != "auto":
        if not re.fullmatch(r"sm_\d{2,3}[af]?", wanted):
            raise InputError(f"--arch {wanted!r} is no GPU architecture", hint="write it as sm_90, or auto")
        return wanted
    gpu = find_gpu()
    if gpu is None or gpu.capability is None:
        raise DeviceError(
            f"the driver does not tell the compute capability of {gpu.name}"
            if gpu
            else "nvidia-smi tells of no GPU here",
            hint="run on a machine with a GPU, or name its architecture (--arch sm_90), or verify a capture (--from)",
        )
    return "sm_{}{}".format(*gpu.capability)


def nvcc_command(nvcc: str, arch: str, program: Path) -> list[str]:
    """The command line that builds the program."""
    # The compiler must not contract or reorder anything that the table counts: no fast-math options here.
    return [nvcc, "-O3", "-std=c++17", f"-arch={arch}", "--threads", "0", "-o", str(program), *map(str, sources())]


def build(folder: Path, arch: str) -> Path:
    """Build the program in ``folder``. Raises ToolNotFound, or ToolFailed with the compiler's last words."""
    program = folder / PROGRAM
    nvcc = find_nvcc()
    answer = process.run(nvcc_command(nvcc, arch, program), timeout=_COMPILE_SECONDS)
    answer.checked(f"{nvcc} must know {arch} and C++17: CUDA 11.2 or newer, and CUDA 12 at most for GPUs before Turing")
    return program


def disassembled_paths(program: Path) -> Mapping[str, ExecutedPath]:
    """Instructions per warp of the kernels in ``program``; empty where no cuobjdump is at hand or it fails."""
    tool = cuda_tool("cuobjdump")
    if tool is None:
        return {}
    answer = process.run([tool, "--dump-sass", str(program)], timeout=_DISASSEMBLE_SECONDS)
    return known_paths(answer.stdout) if answer.returncode == 0 else {}
