"""What all checks together mean: an error to end with, or a document for scripts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from roofctl.core.errors import CounterAccessError, DeviceError, RoofctlError, ToolError
from roofctl.doctor.checks import predicted
from roofctl.doctor.facts import Facts
from roofctl.doctor.gpus import clocks_locked
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


def document(facts: Facts, checks: Sequence[Check]) -> dict[str, Any]:
    """Everything for scripts; null is not known."""
    return {
        "schema": _SCHEMA,
        "host": facts.host,
        "exit_code": exit_code(checks),
        "driver_version": facts.devices.driver_version,
        "cuda_version": facts.cuda.version,
        "ncu": _program(facts.ncu.path, facts.ncu.version, facts.ncu.problem),
        "nvprof": _program(facts.nvprof.path, facts.nvprof.version, facts.nvprof.problem),
        "counters_allowed": predicted(facts.permission)[0] if facts.devices.gpus else None,
        "gpus": [{**asdict(gpu), "clocks_locked": clocks_locked(gpu)} for gpu in facts.devices.gpus],
        "checks": [asdict(check) for check in checks],
    }


def _program(path: str | None, version: str | None, trouble: str) -> dict[str, Any]:
    return {"path": path, "version": version, "works": not trouble}
