"""What was found on a machine, as values, and the pure readers of the texts it comes from.

None means not known, never zero: boards such as Jetson answer ``[N/A]`` to most questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from roofctl.profilers.smi import answered, number

_CAP_SYS_ADMIN: Final = 21
_WHOLE_USER_NAMESPACE: Final = (0, 0, 2**32 - 1)

SMI_FIELDS: Final = (
    "index",
    "name",
    "uuid",
    "driver_version",
    "compute_cap",
    "mig.mode.current",
    "ecc.mode.current",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.mem",
    "clocks.max.mem",
    "clocks.applications.graphics",
    "clocks.default_applications.graphics",
    "clocks_throttle_reasons.active",
    "memory.total",
    "memory.used",
    "utilization.gpu",
)
"""What nvidia-smi is asked about each GPU; a field that a version lacks is left out."""


@dataclass(frozen=True)
class Program:
    """A program that was asked for its version. ``problem`` says why it cannot be used; "" when it can."""

    name: str
    path: str | None = None
    version: str | None = None
    problem: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Package:
    """A Python package: its version, or why it cannot be imported. ``missing`` when it isn't installed."""

    name: str
    fix: str
    version: str | None = None
    problem: str = ""
    missing: bool = False


@dataclass(frozen=True)
class Gpu:
    """One GPU. ``matches`` are the names of GPU profiles that fit, best first; ``match_reason`` says by what."""

    index: int
    name: str
    uuid: str | None = None
    compute_capability: str | None = None
    sm_count: int | None = None
    mig: bool | None = None
    ecc: bool | None = None
    sm_clock_hz: float | None = None
    max_sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    max_memory_clock_hz: float | None = None
    application_clock_hz: float | None = None
    default_application_clock_hz: float | None = None
    clock_reasons: int | None = None
    memory_bytes: float | None = None
    memory_used_bytes: float | None = None
    utilization_percent: float | None = None
    pids: tuple[int, ...] = ()
    matches: tuple[str, ...] = ()
    match_reason: str = ""


@dataclass(frozen=True)
class Devices:
    """The GPUs, who listed them, and the driver. ``problem`` is the text of a tool that is there but fails."""

    gpus: tuple[Gpu, ...] = ()
    source: str = ""
    driver_version: str | None = None
    problem: str = ""


@dataclass(frozen=True)
class CudaDevice:
    """A device as the CUDA driver library lists it."""

    name: str
    uuid: str
    compute_capability: str
    sm_count: int


@dataclass(frozen=True)
class CudaDriver:
    """The CUDA driver library: the CUDA version it serves and its devices, or why it does not work."""

    version: str | None = None
    devices: tuple[CudaDevice, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Permission:
    """What decides whether this process may read counters. ``admin_only`` is the driver's RmProfilingAdminOnly."""

    admin_only: bool | None = None
    root: bool = False
    admin_capability: bool | None = None
    user_namespace: bool = False
    wsl: bool = False


@dataclass(frozen=True)
class LockFile:
    """A ``nsight-compute-lock``. ``used`` when it is the one that ncu takes here; ``blocked`` when it cannot."""

    path: Path
    owner: str
    mode: int
    foreign: bool
    used: bool
    blocked: bool


@dataclass(frozen=True)
class Folder:
    """A folder that roofctl or ncu writes to: the path, and whether it, or the parent that has to hold it, lets us."""

    what: str
    path: Path
    writable: bool
    fix: str = ""


@dataclass(frozen=True)
class Facts:
    """Everything that was found."""

    host: str
    devices: Devices = Devices()
    cuda: CudaDriver = CudaDriver()
    ncu: Program = Program("ncu", problem="not on PATH")
    nvprof: Program = Program("nvprof", problem="not on PATH")
    ncu_chips: frozenset[str] | None = None
    nvcc: Program = Program("nvcc", problem="not on PATH")
    permission: Permission = Permission()
    locks: tuple[LockFile, ...] = ()
    folders: tuple[Folder, ...] = ()
    packages: tuple[Package, ...] = ()
    services: tuple[str, ...] = ()


def gpu_of(row: Mapping[str, object], position: int) -> Gpu:
    """A GPU from one row of nvidia-smi's answers; ``position`` stands in for an index that is not given."""
    mega, mebi = 1e6, 2**20
    index = number(row.get("index"))
    return Gpu(
        index=position if index is None else int(index),
        name=answered(row.get("name")) or "name not known",
        uuid=answered(row.get("uuid")),
        compute_capability=_capability(row.get("compute_cap")),
        mig=_switch(row.get("mig.mode.current")),
        ecc=_switch(row.get("ecc.mode.current")),
        sm_clock_hz=number(row.get("clocks.sm"), mega),
        max_sm_clock_hz=number(row.get("clocks.max.sm"), mega),
        memory_clock_hz=number(row.get("clocks.mem"), mega),
        max_memory_clock_hz=number(row.get("clocks.max.mem"), mega),
        application_clock_hz=number(row.get("clocks.applications.graphics"), mega),
        default_application_clock_hz=number(row.get("clocks.default_applications.graphics"), mega),
        clock_reasons=_bits(row.get("clocks_throttle_reasons.active")),
        memory_bytes=number(row.get("memory.total"), mebi),
        memory_used_bytes=number(row.get("memory.used"), mebi),
        utilization_percent=number(row.get("utilization.gpu")),
    )


def _capability(cell: object) -> str | None:
    text = answered(cell)
    return text if text and re.fullmatch(r"\d+\.\d+", text) else None


def _switch(cell: object) -> bool | None:
    return {"enabled": True, "disabled": False}.get((answered(cell) or "").lower())


def _bits(cell: object) -> int | None:
    text = answered(cell) or ""
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return int(text, 16)
    return int(text) if text.isdigit() else None


def with_cuda(devices: Devices, cuda: CudaDriver) -> Devices:
    """The GPUs with what the CUDA driver knows of them; its own list where no other tool has one (Jetson)."""
    if not devices.gpus and cuda.devices:
        gpus = tuple(Gpu(index, device.name, device.uuid) for index, device in enumerate(cuda.devices))
        devices = replace(devices, gpus=gpus, source="the CUDA driver")
    by_uuid = {device.uuid: device for device in cuda.devices}
    only = cuda.devices[0] if len(cuda.devices) == len(devices.gpus) == 1 else None
    return replace(devices, gpus=tuple(_completed(gpu, by_uuid.get(gpu.uuid or "", only)) for gpu in devices.gpus))


def _completed(gpu: Gpu, device: CudaDevice | None) -> Gpu:
    if device is None:
        return gpu
    capability = gpu.compute_capability or device.compute_capability
    return replace(gpu, compute_capability=capability, sm_count=device.sm_count)


def kernel_driver_version(text: str) -> str | None:
    """The version in ``/proc/driver/nvidia/version``, of the closed or the open kernel module."""
    match = re.search(r"Kernel Module\s+(?:for \S+\s+)?(\d+(?:\.\d+)+)", text)
    return match.group(1) if match else None


def admin_only(params: str) -> bool | None:
    """``RmProfilingAdminOnly`` of the driver's params file: whether only administrators may count."""
    match = re.search(r"^\s*RmProfilingAdminOnly\s*:\s*(\d+)\s*$", params, re.MULTILINE)
    return int(match.group(1)) != 0 if match else None


def admin_capability(status: str) -> bool | None:
    """Whether ``/proc/self/status`` has CAP_SYS_ADMIN among the effective capabilities."""
    match = re.search(r"^CapEff:\s*([0-9a-fA-F]+)\s*$", status, re.MULTILINE)
    return bool(int(match.group(1), 16) >> _CAP_SYS_ADMIN & 1) if match else None


def is_root(status: str) -> bool:
    """Whether the effective user in ``/proc/self/status`` is root."""
    match = re.search(r"^Uid:\s*\d+\s+(\d+)", status, re.MULTILINE)
    return match is not None and int(match.group(1)) == 0


def in_user_namespace(uid_map: str) -> bool:
    """Whether ``/proc/self/uid_map`` is not the whole machine's: capabilities then count inside only."""
    numbers = re.findall(r"\d+", uid_map)
    return bool(numbers) and tuple(map(int, numbers[:3])) != _WHOLE_USER_NAMESPACE


def version_tuple(text: str | None) -> tuple[int, ...]:
    """``2025.3.1.0`` as numbers to compare; empty when there are none."""
    match = re.search(r"\d+(?:\.\d+)+", text or "")
    return tuple(map(int, match.group().split("."))) if match else ()
