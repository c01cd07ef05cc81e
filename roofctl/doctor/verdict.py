"""The result of all checks: an error to end with, or a document for scripts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from roofctl.core.errors import CounterAccessError, DeviceError, RoofctlError, ToolError
from roofctl.core.gpu import Gpu
from roofctl.doctor.checks import predicted
from roofctl.doctor.gpus import clocks_locked
from roofctl.doctor.machine import MachineState
from roofctl.doctor.outcome import Check, exit_code

_SCHEMA = 1


def problem(checks: Sequence[Check]) -> RoofctlError | None:
    """The error of the lowest failure, whose exit code is doctor's; None when nothing fails."""
    families: tuple[tuple[str, type[RoofctlError], str], ...] = (
        ("device", DeviceError, "no NVIDIA GPU can be used here"),
        ("counters", CounterAccessError, "performance counters cannot be read here"),
        ("tool", ToolError, "profiling does not work here"),
    )
    for cause, family, meaning in families:
        for check in checks:
            if check.status == "fail" and check.cause == cause:
                return family(f"{meaning}: {check.what}: {check.value}", hint=check.fix)
    return None


def document(machine: MachineState, checks: Sequence[Check]) -> dict[str, Any]:
    """Everything for scripts; null is unknown."""
    return {
        "schema": _SCHEMA,
        "host": machine.host,
        "exit_code": exit_code(checks),
        "driver_version": machine.devices.driver_version,
        "cuda_version": machine.cuda.version,
        "ncu": _program(machine.ncu.path, machine.ncu.version, machine.ncu.problem),
        "nvprof": _program(machine.nvprof.path, machine.nvprof.version, machine.nvprof.problem),
        "counters_allowed": predicted(machine.permission)[0] if machine.devices.gpus else None,
        "gpus": [_gpu(gpu) for gpu in machine.devices.gpus],
        "checks": [asdict(check) for check in checks],
    }


def _gpu(gpu: Gpu) -> dict[str, Any]:
    """One GPU; its driver is that of the machine."""
    identity = {"index": gpu.index, "name": gpu.name, "uuid": gpu.uuid}
    document = {**identity, **asdict(gpu), "clocks_locked": clocks_locked(gpu)}
    del document["driver"]
    return document


def _program(path: str | None, version: str | None, trouble: str) -> dict[str, Any]:
    return {"path": path, "version": version, "works": not trouble}
