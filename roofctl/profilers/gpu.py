"""The GPU that the application will run on, as nvidia-smi tells it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from roofctl.core import process
from roofctl.core.errors import ToolNotFound, ToolTimeout
from roofctl.profilers import smi
from roofctl.quantities import catalogue

_FIELDS: Final = ("name", "compute_cap", "driver_version", "clocks.max.sm", "clocks.sm", "clocks.mem")
_MEGA: Final = 1e6
_ANSWER_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Gpu:
    """One GPU; None where the driver does not tell. Clocks are those at the time of asking, but ``max_``."""

    name: str
    compute_capability: str | None = None
    driver: str | None = None
    max_sm_clock_hz: float | None = None
    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None

    @property
    def chip(self) -> str | None:
        """Its chip in the catalogue of quantities, None when that has no such compute capability."""
        return catalogue().chip_of(self.compute_capability)

    @property
    def capability(self) -> tuple[int, int] | None:
        """The compute capability as numbers that compare."""
        major, dot, minor = (self.compute_capability or "").partition(".")
        return (int(major), int(minor)) if dot and major.isdigit() and minor.isdigit() else None


def find_gpu(device: int | None = None, env: Mapping[str, str] | None = None) -> Gpu | None:
    """The GPU with that index among the visible ones (default: the first), or None where nvidia-smi tells of none.

    ``env`` is what the application gets added to the environment.
    """
    identity = _identity(device, {**os.environ, **(env or {})})
    rows = _ask(_FIELDS, identity)
    if rows is None:
        # Drivers before 2022 do not know compute_cap.
        rows = _ask([name for name in _FIELDS if name != "compute_cap"], identity)
    return _gpu(rows[0]) if rows else None


def _identity(device: int | None, environ: Mapping[str, str]) -> str | None:
    """What ``nvidia-smi -i`` takes: CUDA_VISIBLE_DEVICES renumbers the devices that an application sees."""
    visible = [entry.strip() for entry in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if entry.strip()]
    index = device or 0
    if index < len(visible):
        return visible[index]
    return None if device is None or visible else str(device)


def _ask(fields: Sequence[str], identity: str | None) -> list[dict[str, str]] | None:
    """Rows of nvidia-smi; None when it refused the question, empty when there is no GPU or no nvidia-smi."""
    select = ["-i", identity] if identity else []
    try:
        answer = process.run(
            ["nvidia-smi", *select, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"],
            timeout=_ANSWER_SECONDS,
        )
    except (ToolNotFound, ToolTimeout):
        return []
    if answer.returncode != 0:
        return None if "not a valid field" in answer.stdout + answer.stderr else []
    return smi.rows(answer.stdout, fields)


def _gpu(row: Mapping[str, str]) -> Gpu:
    return Gpu(
        row["name"],
        smi.answered(row.get("compute_cap")),
        smi.answered(row["driver_version"]),
        smi.number(row["clocks.max.sm"], _MEGA),
        smi.number(row["clocks.sm"], _MEGA),
        smi.number(row["clocks.mem"], _MEGA),
    )
