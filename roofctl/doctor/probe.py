"""Probe a machine. Every program that is run has a time limit, and an unknown value is never zero."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from roofctl.core import gpu as gpus
from roofctl.core import process
from roofctl.core.errors import ToolError
from roofctl.core.gpu import Gpu
from roofctl.cuda import tools
from roofctl.doctor import machine as m
from roofctl.doctor.places import folders, locks, services
from roofctl.gpus import match_device
from roofctl.profilers import ncu as profiler
from roofctl.profilers.options import check_minimum
from roofctl.quantities.catalogue import PROFILERS

_TIME_LIMIT_SECONDS: Final = 20.0
_CHILD: Final = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class ToolOutput:
    """What a program printed. ``returncode`` None: it did not start, or not end in time; ``text`` says which."""

    returncode: int | None
    stdout: str = ""
    text: str = ""


def ask(argv: Sequence[str], seconds: float = _TIME_LIMIT_SECONDS) -> ToolOutput:
    """Run a program quietly."""
    try:
        done = process.run(argv, timeout=seconds)
    except ToolError as error:
        return ToolOutput(None, text=error.message)
    return ToolOutput(done.returncode, done.stdout, (done.stderr.strip() + "\n" + done.stdout.strip()).strip())


@dataclass(frozen=True)
class Host:
    """The machine to probe: its file system, environment, current folder, name, and how programs are run."""

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    cwd: Path = field(default_factory=Path.cwd)
    name: str = field(default_factory=platform.node)
    ask: Callable[[Sequence[str]], ToolOutput] = ask

    def which(self, program: str) -> str | None:
        """Path of a program on PATH."""
        return shutil.which(program, path=self.environ.get("PATH", ""))

    def read(self, path: str) -> str:
        """Text of a file under the root; empty when it cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def ask_child(self, *arguments: str) -> dict[str, Any]:
        """The output of ``child.py``, run by this Python."""
        output = self.ask([sys.executable, str(_CHILD), *arguments])
        try:
            document: dict[str, Any] = json.loads(output.stdout)
        except json.JSONDecodeError:
            return {"problem": _first_line(output.text) or f"the child process ended with status {output.returncode}"}
        return document


def look(host: Host) -> m.MachineState:
    """The state of the machine that the checks evaluate."""
    ncu = program(host, "ncu")
    cuda = cuda_driver(host)
    return m.MachineState(
        host=host.name,
        devices=matched(m.with_cuda(devices(host), cuda), host.cwd),
        cuda=cuda,
        ncu=ncu,
        ncu_chips=ncu_chips(host, ncu),
        nvprof=program(host, "nvprof"),
        nvcc=program(host, "nvcc"),
        permission=permission(host),
        locks=locks(host.root, host.environ),
        folders=folders(host.root, host.environ, host.cwd),
        packages=packages(host),
        services=services(host.root),
    )


def program(host: Host, name: str) -> m.Program:
    """A program on PATH and its version, by running it: a wrapper of an incomplete install does not run."""
    path = host.which(name)
    if path is None:
        return m.Program(name, problem="not on PATH", fix=tools.elsewhere_hint(name, host.root))
    output = host.ask([path, "--version"])
    version = tools.version_in(name, output.text)
    if output.returncode == 0 and version:
        return _new_enough(m.Program(name, path, version))
    printed = _first_line(output.text) or "nothing"
    ended = "" if output.returncode is None else f", ends with status {output.returncode}"
    return m.Program(
        name,
        path,
        problem=f"on PATH but does not run{ended}: {printed[:200]}",
        fix=tools.wrapper_hint(name),
    )


def _new_enough(program: m.Program) -> m.Program:
    if program.name not in PROFILERS or not program.path or not program.version:
        return program
    try:
        check_minimum(tools.Tool(program.name, program.path, program.version))
    except ToolError as error:
        return replace(program, problem=error.message, fix=error.hint)
    return program


def _first_line(text: str) -> str:
    """The first line with text, its control characters replaced."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def ncu_chips(host: Host, ncu: m.Program) -> frozenset[str] | None:
    """The chips that this ncu knows; None when it prints none."""
    if ncu.path is None or ncu.problem:
        return None
    output = host.ask([ncu.path, "--list-chips"])
    chips = profiler.chips_in(output.stdout) if output.returncode == 0 else ()
    return frozenset(chips) or None


def devices(host: Host) -> m.Devices:
    """The GPUs by nvidia-smi; by NVML where that is absent."""
    loaded = m.kernel_driver_version(host.read("proc/driver/nvidia/version"))
    tool = host.which("nvidia-smi")
    listed = _by_smi(host, tool) if tool else _by_nvml(host)
    return replace(listed, driver_version=listed.driver_version or loaded)


def _by_smi(host: Host, tool: str) -> m.Devices:
    fields = [*gpus.QUERY_FIELDS]
    while fields:
        output = host.ask([tool, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"])
        known = gpus.without_refused(fields, output.text)
        if output.returncode == 0 or known == fields:
            break
        fields = known
    rows = gpus.rows(output.stdout, fields) if output.returncode == 0 else []
    if not rows:
        return m.Devices(problem=f"nvidia-smi says: {_first_line(output.text) or 'nothing'}")
    users = _users(host, tool)
    return m.Devices(
        tuple(replace(gpu, pids=users.get(gpu.uuid or "", ())) for gpu in _numbered(rows)),
        "nvidia-smi",
        gpus.cell(rows[0].get("driver_version")),
    )


def _users(host: Host, tool: str) -> dict[str, tuple[int, ...]]:
    """Processes that compute, by the UUID of their GPU."""
    output = host.ask([tool, "--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader,nounits"])
    users: dict[str, tuple[int, ...]] = {}
    for row in gpus.rows(output.stdout, ("uuid", "pid")) if output.returncode == 0 else ():
        if row["pid"].isdigit():
            users[row["uuid"]] = (*users.get(row["uuid"], ()), int(row["pid"]))
    return users


def _by_nvml(host: Host) -> m.Devices:
    document = host.ask_child("nvml")
    rows = document.get("gpus") or ()
    listed = [replace(gpu, pids=tuple(row["pids"])) for gpu, row in zip(_numbered(rows), rows, strict=True)]
    message = document.get("problem", "no GPU")
    # That pynvml is absent is no problem: nvidia-smi is the usual way.
    problem = "" if listed or "No module named" in message else f"NVML says: {message}"
    return m.Devices(tuple(listed), "NVML" if listed else "", document.get("driver"), problem)


def _numbered(rows: Sequence[Mapping[str, object]]) -> list[Gpu]:
    """The GPUs of some rows; the position is used for an index that is not given."""
    listed = map(gpus.gpu_of, rows)
    return [gpu if gpu.index is not None else replace(gpu, index=place) for place, gpu in enumerate(listed)]


def matched(devices: m.Devices, cwd: Path) -> m.Devices:
    """The GPUs with the GPU profiles that fit them; equal GPUs are looked up once."""
    known: dict[tuple[str, str | None, int | None], tuple[tuple[str, ...], str]] = {}
    listed = []
    for gpu in devices.gpus:
        key = (gpu.name, gpu.compute_capability, gpu.sm_count)
        if key not in known:
            profiles, reason = match_device(*key, cwd=cwd)
            known[key] = (tuple(profile.name for profile in profiles), reason)
        names, reason = known[key]
        listed.append(replace(gpu, matches=names, match_reason=reason))
    return replace(devices, gpus=tuple(listed))


def cuda_driver(host: Host) -> m.CudaDriver:
    """The CUDA driver library, loaded in a child."""
    document = host.ask_child("cuda")
    if "problem" in document:
        return m.CudaDriver(problem=document["problem"])
    return m.CudaDriver(document["version"], tuple(m.CudaDevice(**device) for device in document["devices"]))


def permission(host: Host) -> m.Permission:
    """What decides on access to counters: the driver's parameter and this process's capabilities."""
    status = host.read("proc/self/status")
    return m.Permission(
        admin_only=m.admin_only(host.read("proc/driver/nvidia/params")),
        root=m.is_root(status),
        admin_capability=m.admin_capability(status),
        user_namespace=m.in_user_namespace(host.read("proc/self/uid_map")),
        wsl="microsoft" in host.read("proc/version").lower(),
    )


def packages(host: Host) -> tuple[m.Package, ...]:
    """Python packages: those that are heavy or need a driver by importing them, the others by what is installed."""
    pycuda = "only calibrate and verify need it: pip install 'roofctl[gpu]'"
    ncu_report = "only for .ncu-rep files where ncu is absent: pip install 'roofctl[ncu-rep]'"
    return (
        _imported(host, "pycuda", "pycuda.driver", pycuda),
        _imported(host, "ncu-report", "ncu_report", ncu_report),
        _installed("matplotlib"),
        _installed("pandas"),
    )


def _imported(host: Host, name: str, module: str, fix: str) -> m.Package:
    document = host.ask_child("import", module)
    return m.Package(name, fix, document.get("version"), document.get("problem", ""), document.get("missing", False))


def _installed(name: str) -> m.Package:
    fix = "reinstall roofctl: pip install roofctl"
    try:
        return m.Package(name, fix, metadata.version(name))
    except metadata.PackageNotFoundError:
        return m.Package(name, fix, problem="not installed", missing=True)
