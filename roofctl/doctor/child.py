"""Probes that run in a child process: a broken driver library can crash or hang the process that loads it.

Run as a script, ``child.py cuda | attributes | nvml | import NAME``; the result is one JSON object on stdout.
Only the standard library is needed, and the library that is probed.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

_CUDA_SM_COUNT = 16
_CUDA_CC_MAJOR, _CUDA_CC_MINOR = 75, 76
# Numbers of the driver's attributes, and the factor to Hz and bytes.
_CUDA_ATTRIBUTES = {
    "sm_count": (_CUDA_SM_COUNT, 1),
    "max_sm_hz": (13, 1000),
    "memory_hz": (36, 1000),
    "bus_bits": (37, 1),
    "l2_bytes": (38, 1),
    "shared_bytes": (81, 1),
}


def cuda(library: Any | None = None) -> dict[str, Any]:
    """The version of the CUDA driver library and the devices it can use."""
    try:
        driver = library or ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"problem": str(error)}
    code = driver.cuInit(0)
    if code:
        return {"problem": _cuda_error(driver, code)}
    version, count = ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGetCount(ctypes.byref(count))
    return {
        "version": f"{version.value // 1000}.{version.value % 1000 // 10}",
        "devices": [_cuda_device(driver, ordinal) for ordinal in range(count.value)],
    }


def attributes(library: Any | None = None) -> dict[str, Any]:
    """As ``cuda``, with the attributes of each device that ceilings follow from; those that are 0 are left out."""
    driver = library or ctypes.CDLL("libcuda.so.1")
    answer = cuda(driver)
    for ordinal, entry in enumerate(answer.get("devices", ())):
        device = ctypes.c_int()
        driver.cuDeviceGet(ctypes.byref(device), ordinal)
        values = {name: factor * _attribute(driver, device, at) for name, (at, factor) in _CUDA_ATTRIBUTES.items()}
        entry["attributes"] = {name: value for name, value in values.items() if value}
    return answer


def _attribute(driver: Any, device: Any, number: int) -> int:
    value = ctypes.c_int()
    driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
    return value.value


def _cuda_error(driver: Any, code: int) -> str:
    name = ctypes.c_char_p()
    try:
        driver.cuGetErrorName(code, ctypes.byref(name))
    except AttributeError:  # a stub library need not have it
        name.value = None
    return f"cuInit answers {name.value.decode() if name.value else 'error'} ({code})"


def _cuda_device(driver: Any, ordinal: int) -> dict[str, Any]:
    device = ctypes.c_int()
    driver.cuDeviceGet(ctypes.byref(device), ordinal)
    text = ctypes.create_string_buffer(256)
    driver.cuDeviceGetName(text, len(text), device)
    uuid = (ctypes.c_ubyte * 16)()
    driver.cuDeviceGetUuid(ctypes.byref(uuid), device)

    digits = bytes(uuid).hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return {
        "name": text.value.decode(errors="replace"),
        "uuid": f"GPU-{'-'.join(parts)}",
        "compute_capability": ".".join(str(_attribute(driver, device, at)) for at in (_CUDA_CC_MAJOR, _CUDA_CC_MINOR)),
        "sm_count": _attribute(driver, device, _CUDA_SM_COUNT),
    }


def nvml(library: Any | None = None) -> dict[str, Any]:
    """The GPUs by NVML (pynvml), with the names and units of nvidia-smi's CSV; null where a value is not supported."""
    try:
        lib = library or importlib.import_module("pynvml")
        lib.nvmlInit()
    except Exception as error:  # noqa: BLE001  any failure is the result
        return {"problem": _text(error)}
    count = _try(lib, lib.nvmlDeviceGetCount) or 0
    return {
        "driver": _string(_try(lib, lib.nvmlSystemGetDriverVersion)),
        "gpus": [_nvml_gpu(lib, lib.nvmlDeviceGetHandleByIndex(index), index) for index in range(count)],
    }


def _try(lib: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    """The result of an NVML call; None for its errors: boards such as Jetson support few calls."""
    try:
        return call(*arguments)
    except lib.NVMLError:
        return None


def _string(value: Any) -> str | None:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _nvml_gpu(lib: Any, handle: Any, index: int) -> dict[str, Any]:
    def ask(name: str, *arguments: Any) -> Any:
        call = getattr(lib, name, None)  # older bindings lack some
        return _try(lib, call, handle, *arguments) if call else None

    capability = ask("nvmlDeviceGetCudaComputeCapability")
    mig, ecc = ask("nvmlDeviceGetMigMode"), ask("nvmlDeviceGetEccMode")
    memory, busy = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetUtilizationRates")
    states = {0: "Disabled", 1: "Enabled"}
    return {
        "index": str(index),
        "name": _string(ask("nvmlDeviceGetName")),
        "uuid": _string(ask("nvmlDeviceGetUUID")),
        "compute_cap": ".".join(map(str, capability)) if capability else None,
        "mig.mode.current": states.get(mig[0]) if mig else None,
        "ecc.mode.current": states.get(ecc[0]) if ecc else None,
        "clocks.sm": ask("nvmlDeviceGetClockInfo", lib.NVML_CLOCK_SM),
        "clocks.max.sm": ask("nvmlDeviceGetMaxClockInfo", lib.NVML_CLOCK_SM),
        "clocks.mem": ask("nvmlDeviceGetClockInfo", lib.NVML_CLOCK_MEM),
        "clocks.max.mem": ask("nvmlDeviceGetMaxClockInfo", lib.NVML_CLOCK_MEM),
        "clocks.applications.graphics": ask("nvmlDeviceGetApplicationsClock", lib.NVML_CLOCK_GRAPHICS),
        "clocks.default_applications.graphics": ask("nvmlDeviceGetDefaultApplicationsClock", lib.NVML_CLOCK_GRAPHICS),
        "clocks_throttle_reasons.active": ask("nvmlDeviceGetCurrentClocksThrottleReasons"),
        "memory.total": memory.total >> 20 if memory else None,
        "memory.used": memory.used >> 20 if memory else None,
        "utilization.gpu": busy.gpu if busy else None,
        "pids": [process.pid for process in ask("nvmlDeviceGetComputeRunningProcesses") or ()],
    }


def importing(name: str) -> dict[str, Any]:
    """Whether a module can be imported, its version, or the text of what went wrong."""
    package = name.partition(".")[0]
    try:
        importlib.import_module(name)
    except Exception as error:  # noqa: BLE001  any failure is the result
        missing = isinstance(error, ModuleNotFoundError) and error.name == package
        return {"missing": missing, "problem": _text(error)}
    try:
        return {"version": metadata.version(package)}
    except metadata.PackageNotFoundError:
        return {"version": None}


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def main(arguments: list[str]) -> None:
    # The folder of this file and the current one hold names that could hide a real package.
    sys.path[:] = [folder for folder in sys.path if folder not in ("", str(Path(__file__).parent))]
    probes: dict[str, Callable[..., dict[str, Any]]] = {
        "cuda": cuda,
        "attributes": attributes,
        "nvml": nvml,
        "import": importing,
    }
    sys.stdout.write(json.dumps(probes[arguments[0]](*arguments[1:])))


if __name__ == "__main__":
    main(sys.argv[1:])
