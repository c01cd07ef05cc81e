"""Look at a machine. Every question has a time limit, and no answer is ever taken for a zero."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from roofctl.core import process
from roofctl.core.errors import ToolError
from roofctl.doctor import facts as f
from roofctl.doctor.places import folders, locks, services
from roofctl.gpus import match_device
from roofctl.profilers import ncu as profiler
from roofctl.profilers import smi, tools
from roofctl.quantities.catalogue import PROFILERS

_ANSWER_SECONDS: Final = 20.0
_ASK: Final = Path(__file__).with_name("ask.py")
_BAD_FIELD: Final = re.compile(r'Field "([^"]+)" is not a valid field')


@dataclass(frozen=True)
class Answer:
    """What a program said. ``returncode`` None: it did not start, or not end in time; ``text`` says which."""

    returncode: int | None
    stdout: str = ""
    text: str = ""


def ask(argv: Sequence[str], seconds: float = _ANSWER_SECONDS) -> Answer:
    """Run a program quietly."""
    try:
        done = process.run(argv, timeout=seconds)
    except ToolError as error:
        return Answer(None, text=error.message)
    return Answer(done.returncode, done.stdout, (done.stderr.strip() + "\n" + done.stdout.strip()).strip())


@dataclass(frozen=True)
class Host:
    """The machine that is looked at: its file system, environment, current folder, name, and how programs are run."""

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    cwd: Path = field(default_factory=Path.cwd)
    name: str = field(default_factory=platform.node)
    ask: Callable[[Sequence[str]], Answer] = ask

    def which(self, program: str) -> str | None:
        """Path of a program on PATH."""
        return shutil.which(program, path=self.environ.get("PATH", ""))

    def read(self, path: str) -> str:
        """Text of a file under the root; empty when it cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def ask_child(self, *question: str) -> dict[str, Any]:
        """An answer of ``ask.py``, from a child of this Python."""
        answer = self.ask([sys.executable, str(_ASK), *question])
        try:
            found: dict[str, Any] = json.loads(answer.stdout)
        except json.JSONDecodeError:
            return {"problem": _first_line(answer.text) or f"the question ended with status {answer.returncode}"}
        return found


def look(host: Host) -> f.Facts:
    """Everything that doctor judges."""
    ncu = program(host, "ncu")
    cuda = cuda_driver(host)
    return f.Facts(
        host=host.name,
        devices=matched(f.with_cuda(devices(host), cuda), host.cwd),
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


def program(host: Host, name: str) -> f.Program:
    """A program on PATH and its version, by running it: a wrapper of an incomplete install does not run."""
    path = host.which(name)
    if path is None:
        return f.Program(name, problem="not on PATH", fix=tools.elsewhere_hint(name, host.root))
    answer = host.ask([path, "--version"])
    version = tools.version_in(name, answer.text)
    if answer.returncode == 0 and version:
        return _new_enough(f.Program(name, path, version))
    said = _first_line(answer.text) or "nothing"
    ended = "" if answer.returncode is None else f", ends with status {answer.returncode}"
    return f.Program(
        name,
        path,
        problem=f"on PATH but does not run{ended}: {said[:200]}",
        fix=tools.wrapper_hint(name),
    )


def _new_enough(program: f.Program) -> f.Program:
    if program.name not in PROFILERS or not program.path or not program.version:
        return program
    try:
        tools.check_minimum(tools.Tool(program.name, program.path, program.version))
    except ToolError as error:
        return replace(program, problem=error.message, fix=error.hint)
    return program


def _first_line(text: str) -> str:
    """The first line with words, without what a terminal would take for orders."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def ncu_chips(host: Host, ncu: f.Program) -> frozenset[str] | None:
    """The chips that this ncu knows; None when it does not tell."""
    if ncu.path is None or ncu.problem:
        return None
    answer = host.ask([ncu.path, "--list-chips"])
    chips = profiler.chips_in(answer.stdout) if answer.returncode == 0 else ()
    return frozenset(chips) or None


def devices(host: Host) -> f.Devices:
    """The GPUs by nvidia-smi; by NVML where that is absent."""
    loaded = f.kernel_driver_version(host.read("proc/driver/nvidia/version"))
    tool = host.which("nvidia-smi")
    found = _by_smi(host, tool) if tool else _by_nvml(host)
    return replace(found, driver_version=found.driver_version or loaded)


def _by_smi(host: Host, tool: str) -> f.Devices:
    fields = list(f.SMI_FIELDS)
    while fields:
        answer = host.ask([tool, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"])
        refused = set(_BAD_FIELD.findall(answer.text)) & set(fields)
        if answer.returncode == 0 or not refused:
            break
        fields = [name for name in fields if name not in refused]
    rows = smi.rows(answer.stdout, fields) if answer.returncode == 0 else []
    if not rows:
        return f.Devices(problem=f"nvidia-smi says: {_first_line(answer.text) or 'nothing'}")
    users = _users(host, tool)
    gpus = [f.gpu_of(row, position) for position, row in enumerate(rows)]
    return f.Devices(
        tuple(replace(gpu, pids=users.get(gpu.uuid or "", ())) for gpu in gpus),
        "nvidia-smi",
        smi.answered(rows[0].get("driver_version")),
    )


def _users(host: Host, tool: str) -> dict[str, tuple[int, ...]]:
    """Processes that compute, by the UUID of their GPU."""
    answer = host.ask([tool, "--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader,nounits"])
    users: dict[str, tuple[int, ...]] = {}
    for row in smi.rows(answer.stdout, ("uuid", "pid")) if answer.returncode == 0 else ():
        if row["pid"].isdigit():
            users[row["uuid"]] = (*users.get(row["uuid"], ()), int(row["pid"]))
    return users


def _by_nvml(host: Host) -> f.Devices:
    answer = host.ask_child("nvml")
    rows = answer.get("gpus") or ()
    gpus = [replace(f.gpu_of(row, place), pids=tuple(row["pids"])) for place, row in enumerate(rows)]
    said = answer.get("problem", "no GPU")
    # Without pynvml there is nothing to say: nvidia-smi is the usual way.
    problem = "" if gpus or "No module named" in said else f"NVML says: {said}"
    return f.Devices(tuple(gpus), "NVML" if gpus else "", answer.get("driver"), problem)


def matched(found: f.Devices, cwd: Path) -> f.Devices:
    """The GPUs with the GPU profiles that fit them; equal GPUs are looked up once."""
    known: dict[tuple[str, str | None, int | None], tuple[tuple[str, ...], str]] = {}
    gpus = []
    for gpu in found.gpus:
        key = (gpu.name, gpu.compute_capability, gpu.sm_count)
        if key not in known:
            profiles, reason = match_device(*key, cwd=cwd)
            known[key] = (tuple(profile.name for profile in profiles), reason)
        names, reason = known[key]
        gpus.append(replace(gpu, matches=names, match_reason=reason))
    return replace(found, gpus=tuple(gpus))


def cuda_driver(host: Host) -> f.CudaDriver:
    """The CUDA driver library, loaded in a child."""
    answer = host.ask_child("cuda")
    if "problem" in answer:
        return f.CudaDriver(problem=answer["problem"])
    return f.CudaDriver(answer["version"], tuple(f.CudaDevice(**device) for device in answer["devices"]))


def permission(host: Host) -> f.Permission:
    """What decides about counters: the driver's parameter and this process's capabilities."""
    status = host.read("proc/self/status")
    return f.Permission(
        admin_only=f.admin_only(host.read("proc/driver/nvidia/params")),
        root=f.is_root(status),
        admin_capability=f.admin_capability(status),
        user_namespace=f.in_user_namespace(host.read("proc/self/uid_map")),
        wsl="microsoft" in host.read("proc/version").lower(),
    )


def packages(host: Host) -> tuple[f.Package, ...]:
    """Python packages: those that are heavy or need a driver by importing them, the others by what is installed."""
    pycuda = "only calibrate and verify need it: pip install 'roofctl[gpu]'"
    ncu_report = "only for .ncu-rep files where ncu is absent: pip install 'roofctl[ncu-rep]'"
    return (
        _imported(host, "pycuda", "pycuda.driver", pycuda),
        _imported(host, "ncu-report", "ncu_report", ncu_report),
        _installed("matplotlib"),
        _installed("pandas"),
    )


def _imported(host: Host, name: str, module: str, fix: str) -> f.Package:
    answer = host.ask_child("import", module)
    return f.Package(name, fix, answer.get("version"), answer.get("problem", ""), answer.get("missing", False))


def _installed(name: str) -> f.Package:
    fix = "reinstall roofctl: pip install roofctl"
    try:
        return f.Package(name, fix, metadata.version(name))
    except metadata.PackageNotFoundError:
        return f.Package(name, fix, problem="not installed", missing=True)
