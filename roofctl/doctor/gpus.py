"""Checks of the driver and of each GPU. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roofctl.core.gpu import Gpu
from roofctl.core.units import prefixed
from roofctl.doctor.machine import CudaDriver, Devices, MachineState
from roofctl.doctor.outcome import Check, fail, ok, warn

_NO_DRIVER_FIX: Final = (
    "profile on a machine with an NVIDIA GPU and its driver; a container needs docker --gpus all or apptainer --nv"
)
_CUDA_FIXES: Final = (
    ("STUB_LIBRARY", "take the toolkit's stubs folder out of LD_LIBRARY_PATH: it hides the driver's libcuda.so.1"),
    ("DRIVER_MISMATCH", "libcuda.so.1 and the kernel module are of different drivers: reboot, or reinstall the driver"),
    ("COMPAT_NOT_SUPPORTED", "take the toolkit's compat folder out of LD_LIBRARY_PATH: this GPU cannot use it"),
    ("NOT_READY", "start nvidia-fabricmanager and wait until it is up"),
    ("NO_DEVICE", "look at CUDA_VISIBLE_DEVICES and at the permissions of /dev/nvidia*"),
    ("cannot open shared", "it comes with the driver; a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility"),
)
_APPLICATION_CLOCKS: Final = 0x2
_SLOWED_BY: Final = (
    (0x04, "power cap"),
    (0x08, "hardware slowdown"),
    (0x20, "heat (driver)"),
    (0x40, "heat (hardware)"),
    (0x80, "power brake"),
)
_BUSY_PERCENT: Final = 5.0
_BUSY_FIX: Final = "wait for them, or use another GPU: times and traffic would not be the application's alone"
_PIDS_SHOWN: Final = 5
_CLOCK_TOLERANCE_HZ: Final = 1e6


def driver_checks(machine: MachineState) -> Iterator[Check]:
    """The kernel driver, the CUDA driver library, and whether there is a GPU at all."""
    devices, cuda = machine.devices, machine.cuda
    if devices.driver_version:
        yield ok("driver", devices.driver_version)
    elif devices.gpus:
        yield warn("driver", devices.problem or f"version not known to {devices.source}")
    else:
        yield fail("driver", "device", devices.problem or "none found (no nvidia-smi, no NVML)", _NO_DRIVER_FIX)
    if devices.gpus:
        yield cuda_check(cuda)
    else:
        yield fail("GPU", "device", "none found", "reading captures, report and plot work here without one")


def cuda_check(cuda: CudaDriver) -> Check:
    """Whether applications can use the CUDA driver library."""
    if cuda.problem:
        fixes = (fix for token, fix in _CUDA_FIXES if token in cuda.problem)
        return fail("CUDA", "device", cuda.problem, next(fixes, "applications cannot use the GPU like this"))
    return ok("CUDA", f"{cuda.version}, devices that applications see: {len(cuda.devices)}")


def gpu_checks(devices: Devices) -> Iterator[Check]:
    """What each GPU is, and what about it bears on a roofline."""
    for gpu in devices.gpus:
        what = f"GPU {gpu.index}"
        yield ok(what, _identity(gpu))
        yield profile_check(what, gpu)
        yield mig_check(what, gpu)
        yield ok(f"{what} ECC", _switch(gpu.ecc))
        yield clock_check(what, gpu)
        yield busy_check(what, gpu)


def _identity(gpu: Gpu) -> str:
    parts = [
        gpu.name,
        f"compute capability {gpu.compute_capability or 'not known'}",
        f"{gpu.sm_count} SMs" if gpu.sm_count else "number of SMs not known",
        f"{gpu.memory_bytes / 2**30:.0f} GiB" if gpu.memory_bytes else "",
    ]
    return ", ".join(part for part in parts if part)


def _switch(state: bool | None) -> str:  # noqa: FBT001
    return "not known" if state is None else "on" if state else "off"


def profile_check(what: str, gpu: Gpu) -> Check:
    """Whether a GPU profile fits, and by what."""
    what = f"{what} profile"
    names, reason = gpu.matches, gpu.match_reason
    if len(names) == 1 and reason.startswith("the device name") and "although" not in reason:
        return ok(what, f"{names[0]}, by {reason}")
    if len(names) == 1 and "although" in reason:
        return warn(
            what, f"{names[0]}, by {reason}", "its ceilings are those of the whole GPU; measure: roofctl calibrate"
        )
    if names:
        return warn(what, f"{reason}: {', '.join(names)}", f"say which: --profile {' | '.join(names)}")
    return warn(
        what, f"none: {reason}", "write one: roofctl gpus new NAME; or choose one: roofctl gpus list, --profile"
    )


def mig_check(what: str, gpu: Gpu) -> Check:
    """MIG: a slice shares units, so counters and ceilings of the whole GPU do not hold."""
    if gpu.mig:
        return warn(
            f"{what} MIG",
            "on: L2 and DRAM counters may be missing or shared, and clocks cannot be locked",
            "profile with --clock-control none; for ceilings of a whole GPU switch it off: nvidia-smi -mig 0",
        )
    return ok(f"{what} MIG", _switch(gpu.mig))


def clock_check(what: str, gpu: Gpu) -> Check:
    """Clocks now and at most, whether something holds them down, and what slows the GPU."""
    what = f"{what} clocks"
    sm = _of(gpu.sm_clock_hz, gpu.max_sm_clock_hz)
    memory = _of(gpu.memory_clock_hz, gpu.max_memory_clock_hz)
    value = f"SM {sm}, memory {memory}; locked: {_lock_text(gpu)}"
    slowed = [text for bit, text in _SLOWED_BY if (gpu.clock_reasons or 0) & bit]
    if slowed:
        return warn(what, f"{value}; slowed by {', '.join(slowed)}", "let it cool down, or raise its power limit")
    return ok(what, value)


def clocks_locked(gpu: Gpu) -> bool | None:
    """Whether clocks are held below their maximum on request; None when it is unknown, never False.

    No query names locked clocks: the reason bit shows only while they limit a GPU that works.
    """
    if (gpu.clock_reasons or 0) & _APPLICATION_CLOCKS or _application_clocks_set(gpu):
        return True
    return None


def _application_clocks_set(gpu: Gpu) -> bool:
    now, default = gpu.application_clock_hz, gpu.default_application_clock_hz
    return now is not None and default is not None and abs(now - default) > _CLOCK_TOLERANCE_HZ


def _lock_text(gpu: Gpu) -> str:
    if _application_clocks_set(gpu) and gpu.application_clock_hz:
        return f"application clocks are set to {prefixed(gpu.application_clock_hz, 'Hz')} (nvidia-smi -rac resets)"
    if clocks_locked(gpu):
        return "yes, application or locked clocks limit it now (nvidia-smi -rgc and -rac reset)"
    if gpu.clock_reasons == 0:
        return "not known, nothing limits it now"
    return "not known, the driver reports it only while the GPU works"


def _of(now: float | None, highest: float | None) -> str:
    shown = [prefixed(hz, "Hz") if hz else "not known" for hz in (now, highest)]
    return "not known" if not (now or highest) else f"{shown[0]} of {shown[1]}"


def busy_check(what: str, gpu: Gpu) -> Check:
    """Whether someone else uses the GPU: times and traffic are then not the application's alone."""
    what = f"{what} busy"
    if gpu.pids:
        shown = [*map(str, gpu.pids[:_PIDS_SHOWN]), *(["…"] if len(gpu.pids) > _PIDS_SHOWN else [])]
        return warn(what, f"used by other processes: {', '.join(shown)} ({len(gpu.pids)} in all)", _BUSY_FIX)
    if gpu.utilization_percent is None:
        return ok(what, "not known")
    if gpu.utilization_percent > _BUSY_PERCENT:
        return warn(what, f"{gpu.utilization_percent:.0f} %, by processes that are not visible from here", _BUSY_FIX)
    return ok(what, "no")
