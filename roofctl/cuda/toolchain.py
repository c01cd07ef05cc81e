"""nvcc and the disassemblers: find them, build the kernels, keep what was built.

Every child process goes through ``profilers.process``.
"""

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
from roofctl.core.files import whole
from roofctl.core.process import Completed, run
from roofctl.core.resources import shipped
from roofctl.cuda import sass

Run = Callable[[Sequence[str]], Completed]

_TIMEOUT_SECONDS: Final = 300.0
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
    for variable in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "bin"
    yield Path("/usr/local/cuda/bin")
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    yield from (packages / folder / "bin" for folder in ("cu13", "cuda_nvcc", "cuda_cuobjdump", "cuda_nvdisasm"))


def arch_of(compute_capability: tuple[int, int]) -> str:
    """The compiler's name of a chip; Hopper's with the ``a`` that its matrix instructions need."""
    major, minor = compute_capability
    return f"sm_{major}{minor}{'a' if (major, minor) == (9, 0) else ''}"


def checked_arch(text: str) -> str:
    """``--arch`` in the compiler's spelling: sm_90 means sm_90a. Raises DeviceError for anything else."""
    found = re.fullmatch(r"(?:sm_)?(\d{2,3})([af]?)", text.strip())
    if found is None:
        raise DeviceError(f"--arch {text!r} is not an architecture", hint="write it as sm_90; or leave it out")
    return f"sm_{found[1]}{'a' if found[1] == '90' else found[2]}"


def command(nvcc: Path | str, source: Path, arch: str, output: Path) -> tuple[str, ...]:
    """The command line that builds one file of kernels."""
    number = arch.removeprefix("sm_")
    target = f"-gencode=arch=compute_{number},code={arch}"
    return (str(nvcc), "-std=c++17", "-O3", target, "-cubin", "-o", str(output), str(source))


@dataclass
class Toolchain:
    """Builds kernels for one architecture and keeps them by the hash of all that went in."""

    arch: str
    nvcc: Path
    release: str
    folder: Path
    cache: Path
    run: Run
    _futures: dict[str, Future[bytes]] = field(default_factory=dict)
    _listings: dict[str, dict[str, sass.Kernel]] = field(default_factory=dict)

    @classmethod
    def find(cls, arch: str, *, cache: Path | None = None, run_tool: Run | None = None) -> Toolchain:
        """The toolchain of this machine; raises DeviceError when there is no nvcc."""
        run_tool = run_tool or _run
        nvcc = find_tool("nvcc")
        if nvcc is None:
            raise DeviceError(
                "nvcc was not found: the microbenchmarks are CUDA C and have to be built for this GPU",
                hint="install the CUDA toolkit, set CUDA_HOME, or pip install nvidia-cuda-nvcc (see the README)",
            )
        said = run_tool((str(nvcc), "--version")).checked("reinstall the CUDA toolkit").stdout
        release = _RELEASE.search(said)
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
            done = self.run(command(self.nvcc, path, self.arch, output))
            if done.returncode != 0 or not output.is_file():
                raise _not_built(path, self.arch, self.release, done)
            return output.read_bytes()

    def disassemble(self, source: str) -> dict[str, sass.Kernel]:
        """The kernels of one file as instructions, found once; empty where no disassembler is installed."""
        if source not in self._listings:
            self._listings[source] = self._disassemble(source)
        return self._listings[source]

    def _disassemble(self, source: str) -> dict[str, sass.Kernel]:
        for name, options in (("nvdisasm", ("-c",)), ("cuobjdump", ("-sass",))):
            tool = find_tool(name)
            if tool is None:
                continue
            with tempfile.TemporaryDirectory(prefix="roofctl-") as folder:
                path = Path(folder) / "kernels.cubin"
                path.write_bytes(self.image(source))
                try:
                    done = self.run((str(tool), *options, str(path)))
                except ToolError:
                    continue
            found = sass.kernels(done.stdout) if done.returncode == 0 else {}
            if found:
                return found
        return {}


def _run(argv: Sequence[str]) -> Completed:
    return run(argv, timeout=_TIMEOUT_SECONDS)


def _with_includes(path: Path) -> str:
    """A source's text with that of every header it includes."""
    text = path.read_text(encoding="utf-8")
    return text + "".join(_with_includes(path.parent / name) for name in _INCLUDE.findall(text))


def _keep(path: Path, image: bytes) -> None:
    """Write to the cache in one step; a cache that cannot be written only costs time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as temporary:
            temporary.write_bytes(image)
    except OSError:
        return


def _not_built(path: Path, arch: str, release: str, done: Completed) -> DeviceError:
    said = done.stderr + done.stdout
    if "nsupported gpu architecture" in said or "is not defined for option 'gpu-architecture'" in said:
        return DeviceError(
            f"nvcc {release} does not know {arch}",
            hint="install a CUDA toolkit that supports this GPU (CUDA 13 dropped sm_70 and older)",
        )
    lines = [line for line in said.splitlines() if "error" in line.lower()] or said.splitlines()
    shown = "".join(f"\n  {line}" for line in lines[:5])
    if "host compiler" in said or ("No such file or directory" in said and "gcc" in said):
        return DeviceError(f"nvcc has no C++ compiler to work with:{shown}", hint="install g++, or put it on PATH")
    return DeviceError(
        f"kernels/{path.name} does not build for {arch} with nvcc {release}:{shown}",
        hint="report this with the output of nvcc --version; other levels can be measured with --level",
    )
