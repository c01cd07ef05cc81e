"""nvcc and the disassemblers: find them, build with them, keep the machine code of the microbenchmarks."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import platformdirs

from roofctl.core.errors import DeviceError, ToolError
from roofctl.core.files import atomic_path
from roofctl.core.process import Completed, run
from roofctl.core.resources import shipped
from roofctl.cuda import sass

Run = Callable[[Sequence[str]], Completed]

_USUAL: Final = Path("/usr/local/cuda")
_TIMEOUT_SECONDS: Final = 600.0
_INCLUDE: Final = re.compile(r'^#include "(\w+\.cuh)"', re.MULTILINE)
_RELEASE: Final = re.compile(r"release (\d+\.\d+), V([\d.]+)")


def find_tool(name: str) -> Path | None:
    """A program of the CUDA toolkit: on PATH, under CUDA_HOME, in its usual folder, or from a PyPI package."""
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path)
    candidates = [folder / name for folder in _folders()]
    return next((path for path in candidates if os.access(path, os.X_OK) and path.is_file()), None)


def _folders() -> Iterator[Path]:
    """Where the toolkit may be, besides PATH."""
    for variable in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "bin"
    yield _USUAL / "bin"
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    yield from (packages / folder / "bin" for folder in ("cu13", "cuda_nvcc", "cuda_cuobjdump", "cuda_nvdisasm"))


def arch_of(compute_capability: tuple[int, int]) -> str:
    """The compiler's name of a chip; Hopper's with the ``a`` that its matrix instructions need."""
    major, minor = compute_capability
    return f"sm_{major}{minor}{'a' if (major, minor) == (9, 0) else ''}"


def checked_arch(text: str) -> str:
    """``--arch`` in the compiler's spelling: sm_90 means sm_90a. Raises DeviceError for anything else."""
    match = re.fullmatch(r"(?:sm_)?(\d{2,3})([af]?)", text.strip())
    if match is None:
        raise DeviceError(f"--arch {text!r} is not an architecture", hint="write it as sm_90; or leave it out")
    return f"sm_{match[1]}{'a' if match[1] == '90' else match[2]}"


def compile_command(nvcc: Path | str, sources: Sequence[Path], output: Path, *options: str) -> tuple[str, ...]:
    """The command line that builds ``output``; ``options`` give the architecture and the kind of output.

    No fast-math options: the compiler must not contract or reorder operations that are counted.
    """
    return (str(nvcc), "-std=c++17", "-O3", *options, "-o", str(output), *map(str, sources))


def cubin_options(arch: str) -> tuple[str, ...]:
    """Options for machine code of one architecture, without a program around it."""
    return (f"-gencode=arch=compute_{arch.removeprefix('sm_')},code={arch}", "-cubin")


def run_tool(argv: Sequence[str]) -> Completed:
    """Run a program of the toolkit to its end. Raises ToolError when it cannot start or hangs."""
    return run(argv, timeout=_TIMEOUT_SECONDS)


def disassemble(binary: Path, run_tool: Run = run_tool) -> dict[str, sass.SassFunction]:
    """The functions in a cubin or program, by name; empty where no disassembler is installed or reads it."""
    # nvdisasm reads cubins only; it refuses a program, and cuobjdump is tried.
    for name, option in (("nvdisasm", "-c"), ("cuobjdump", "-sass")):
        tool = find_tool(name)
        if tool is None:
            continue
        try:
            done = run_tool((str(tool), option, str(binary)))
        except ToolError:
            continue
        functions = sass.functions(done.stdout) if done.returncode == 0 else {}
        if functions:
            return functions
    return {}


@dataclass
class Toolchain:
    """Builds kernels for one architecture and keeps them by the hash of compiler, architecture and source text."""

    arch: str
    nvcc: Path
    release: str
    folder: Path
    cache: Path
    run: Run
    _futures: dict[str, Future[bytes]] = field(default_factory=dict)
    _listings: dict[str, dict[str, sass.SassFunction]] = field(default_factory=dict)

    @classmethod
    def find(cls, arch: str, *, cache: Path | None = None, run_tool: Run = run_tool) -> Toolchain:
        """The toolchain of this machine; raises DeviceError when there is no nvcc."""
        nvcc = find_tool("nvcc")
        if nvcc is None:
            raise DeviceError(
                "nvcc was not found: the microbenchmarks are CUDA C and have to be built for this GPU",
                hint="install the CUDA toolkit, set CUDA_HOME, or pip install nvidia-cuda-nvcc (see the README)",
            )
        version = run_tool((str(nvcc), "--version")).checked("reinstall the CUDA toolkit").stdout
        release = _RELEASE.search(version)
        folder = cache or platformdirs.user_cache_path("roofctl") / "cubins"
        return cls(arch, nvcc, release[2] if release else "unknown", shipped("kernels"), folder, run_tool)

    def start(self, sources: Sequence[str], workers: int | None = None) -> None:
        """Begin to build ``sources`` in the background."""
        pool = ThreadPoolExecutor(workers or min(8, os.cpu_count() or 2))
        self._futures.update({source: pool.submit(self.build, source) for source in sources})
        pool.shutdown(wait=False)

    def image(self, source: str) -> bytes:
        """Machine code of one file; waits for a build in the background."""
        future = self._futures.get(source)
        return future.result() if future else self.build(source)

    def build(self, source: str) -> bytes:
        """Machine code of one file, from the cache where nothing has changed."""
        path = self.folder / source
        kept = self.cache / f"{path.stem}-{self._key(path)}.cubin"
        try:
            return kept.read_bytes()
        except OSError:
            image = self._compile(path)
        _keep(kept, image)
        return image

    def _key(self, path: Path) -> str:
        text = _with_includes(path)
        return hashlib.sha256(f"{self.release}\n{self.arch}\n{text}".encode()).hexdigest()[:20]

    def _compile(self, path: Path) -> bytes:
        with tempfile.TemporaryDirectory(prefix="roofctl-") as folder:
            output = Path(folder) / f"{path.stem}.cubin"
            done = self.run(compile_command(self.nvcc, [path], output, *cubin_options(self.arch)))
            if done.returncode != 0 or not output.is_file():
                raise _not_built(path, self.arch, self.release, done)
            return output.read_bytes()

    def disassemble(self, source: str) -> dict[str, sass.SassFunction]:
        """The kernels of one file by name, read once; empty where no disassembler is installed."""
        if source not in self._listings:
            with tempfile.TemporaryDirectory(prefix="roofctl-") as folder:
                path = Path(folder) / "kernels.cubin"
                path.write_bytes(self.image(source))
                self._listings[source] = disassemble(path, self.run)
        return self._listings[source]


def _with_includes(path: Path) -> str:
    """A source's text with that of every header it includes."""
    text = path.read_text(encoding="utf-8")
    return text + "".join(_with_includes(path.parent / name) for name in _INCLUDE.findall(text))


def _keep(path: Path, image: bytes) -> None:
    """Write to the cache atomically; a cache that cannot be written only costs time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            temporary.write_bytes(image)
    except OSError:
        return


def _not_built(path: Path, arch: str, release: str, done: Completed) -> DeviceError:
    output = done.stderr + done.stdout
    if "nsupported gpu architecture" in output or "is not defined for option 'gpu-architecture'" in output:
        return DeviceError(
            f"nvcc {release} does not know {arch}",
            hint="install a CUDA toolkit that supports this GPU (CUDA 13 dropped sm_70 and older)",
        )
    lines = [line for line in output.splitlines() if "error" in line.lower()] or output.splitlines()
    shown = "".join(f"\n  {line}" for line in lines[:5])
    if "host compiler" in output or ("No such file or directory" in output and "gcc" in output):
        return DeviceError(f"nvcc has no C++ compiler to work with:{shown}", hint="install g++, or put it on PATH")
    return DeviceError(
        f"kernels/{path.name} does not build for {arch} with nvcc {release}:{shown}",
        hint="report this with the output of nvcc --version; other levels can be measured with --level",
    )
