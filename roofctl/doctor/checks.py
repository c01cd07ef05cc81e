"""Checks of a machine's state, each with a remedy. Pure."""

from __future__ import annotations

from typing import Final

from roofctl.core.profiler_text import PERMISSION_HINT
from roofctl.doctor.choice import profiler_checks
from roofctl.doctor.gpus import driver_checks, gpu_checks
from roofctl.doctor.machine import Folder, LockFile, MachineState, Package, Permission, Program
from roofctl.doctor.outcome import Check, fail, ok, warn

_WSL_REMEDY: Final = "in Windows: NVIDIA Control Panel, Developer, Manage GPU Performance Counters, allow all users"
_CUDA_PATH: Final = "it comes with the CUDA toolkit (often /usr/local/cuda/bin)"


def all_checks(machine: MachineState) -> list[Check]:
    """Every check, from the driver up."""
    return [
        *driver_checks(machine),
        *gpu_checks(machine.devices),
        permission_check(machine.permission, machine.host, gpus=bool(machine.devices.gpus)),
        *profiler_checks(machine),
        *lock_checks(machine.locks),
        services_check(machine.services),
        nvcc_check(machine.nvcc),
        *(package_check(package) for package in machine.packages),
        *(folder_check(folder) for folder in machine.folders),
    ]


def predicted(permission: Permission) -> tuple[bool | None, str]:
    """Whether this process may read counters, and why; None when it is unknown."""
    if permission.admin_only is False:
        return True, "RmProfilingAdminOnly is 0: every user may"
    capable = permission.root if permission.admin_capability is None else permission.admin_capability
    if capable and permission.user_namespace:
        why = "CAP_SYS_ADMIN holds only inside a user namespace (a rootless container)"
        return (False if permission.admin_only else None), why
    if capable:
        return True, "this process is an administrator (CAP_SYS_ADMIN)"
    if permission.admin_only is None:
        return None, "the driver's parameters cannot be read here"
    who = "root without CAP_SYS_ADMIN (a container)" if permission.root else "this user is no administrator"
    return False, f"RmProfilingAdminOnly is 1 and {who}"


def permission_check(permission: Permission, host: str, *, gpus: bool) -> Check:
    """The prediction, with the host: what holds on one node need not hold on the next."""
    what = "counter permission"
    allowed, why = predicted(permission)
    if not gpus:
        return warn(what, f"not known on {host}: no GPU")
    if allowed:
        return ok(what, f"allowed on {host}: {why}")
    remedies = _WSL_REMEDY if permission.wsl else PERMISSION_HINT
    if allowed is None:
        return warn(what, f"not known on {host}: {why}", f"if counters are denied: {remedies}")
    return fail(what, "counters", f"denied on {host}: {why}", remedies)


def lock_checks(locks: tuple[LockFile, ...]) -> list[Check]:
    """One check per lock file; a single good one where there is none."""
    return [lock_check(lock) for lock in locks] or [ok("ncu lock file", "none")]


def lock_check(lock: LockFile) -> Check:
    """A lock file that ncu keeps after a run by design; in its way only when it cannot be opened."""
    value = f"{lock.path}, owner {lock.owner}, mode {lock.mode:04o}"
    if not lock.used:
        return ok("ncu lock file", f"{value}; not the one that ncu uses here")
    if lock.blocked:
        return fail(
            "ncu lock file",
            "tool",
            f"{value}: ncu cannot open it",
            "ask its owner to delete it once nobody profiles, or use a folder of your own: TMPDIR=$(mktemp -d) "
            "(safe only while no other ncu runs on this machine)",
        )
    return ok("ncu lock file", f"{value}; usable (ncu keeps it between runs)")


def services_check(services: tuple[str, ...]) -> Check:
    """DCGM samples counters too, and then the profiler finds them taken."""
    if services:
        return warn(
            "DCGM",
            f"running ({', '.join(services)}); it may hold the counters",
            "if profiling reports a driver resource that was unavailable: dcgmi profile --pause, afterwards --resume",
        )
    return ok("DCGM", "not seen among the processes visible here")


def nvcc_check(program: Program) -> Check:
    """The compiler of the microbenchmarks."""
    if program.problem:
        value = f"{program.path}: {program.problem}" if program.path else program.problem
        return warn("nvcc", value, f"only calibrate and verify need it; {_CUDA_PATH}")
    return ok("nvcc", f"{program.version} ({program.path})")


def package_check(package: Package) -> Check:
    """One Python package: its version, or the text of what went wrong at import, which names the cause."""
    if not package.problem:
        return ok(package.name, package.version or "importable")
    value = "not installed" if package.missing else f"cannot be imported: {package.problem}"
    if not package.missing and "undefined symbol" in package.problem:
        return warn(package.name, value, f"built for another driver or CUDA version: rebuild it ({package.fix})")
    return warn(package.name, value, package.fix)


def folder_check(folder: Folder) -> Check:
    """A folder to write to."""
    if folder.writable:
        return ok(folder.what, f"{folder.path} is writable")
    return warn(folder.what, f"{folder.path} is not writable", folder.fix)
