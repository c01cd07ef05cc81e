"""The state of a machine as values, and the pure parsers of the texts they come from.

None means unknown, never zero: boards such as Jetson report ``[N/A]`` for most fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from roofctl.core.gpu import Gpu

_CAP_SYS_ADMIN: Final = 21
_INITIAL_USER_NAMESPACE: Final = (0, 0, 2**32 - 1)


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
class Devices:
    """The GPUs, the tool that listed them, and the driver. ``problem`` is the message of a tool that fails."""

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
class MachineState:
    """A machine as the probes saw it."""

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


def with_cuda(devices: Devices, cuda: CudaDriver) -> Devices:
    """The GPUs, completed from the CUDA driver; the driver's own list where no other tool has one (Jetson)."""
    if not devices.gpus and cuda.devices:
        gpus = tuple(Gpu(device.name, index=index, uuid=device.uuid) for index, device in enumerate(cuda.devices))
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
    """Whether ``/proc/self/uid_map`` maps less than all users: capabilities then count inside the namespace only."""
    numbers = re.findall(r"\d+", uid_map)
    return bool(numbers) and tuple(map(int, numbers[:3])) != _INITIAL_USER_NAMESPACE


def version_tuple(text: str | None) -> tuple[int, ...]:
    """``2025.3.1.0`` as numbers to compare; empty when there are none."""
    match = re.search(r"\d+(?:\.\d+)+", text or "")
    return tuple(map(int, match.group().split("."))) if match else ()
