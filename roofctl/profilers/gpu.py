"""The GPU that the application will run on, from nvidia-smi."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from roofctl.core import gpu, process
from roofctl.core.errors import ToolNotFound, ToolTimeout
from roofctl.core.gpu import Gpu

_FIELDS: Final = ("name", "compute_cap", "driver_version", "clocks.max.sm", "clocks.sm", "clocks.mem")
_QUERY_SECONDS: Final = 60.0


def find_gpu(device: int | None = None, env: Mapping[str, str] | None = None) -> Gpu | None:
    """The GPU with that index among the visible ones (default: the first), or None where nvidia-smi lists none.

    ``env`` is added to the environment of the application.
    """
    identity = _identity(device, {**os.environ, **(env or {})})
    fields: list[str] = [*_FIELDS]
    while fields:
        try:
            completed = process.run(
                [
                    "nvidia-smi",
                    *(["-i", identity] if identity else []),
                    f"--query-gpu={','.join(fields)}",
                    "--format=csv,noheader,nounits",
                ],
                timeout=_QUERY_SECONDS,
            )
        except (ToolNotFound, ToolTimeout):
            return None
        if completed.returncode == 0:
            return next(map(gpu.gpu_of, gpu.rows(completed.stdout, fields)), None)
        # Drivers before 2022 do not know compute_cap.
        known = gpu.without_refused(fields, completed.stdout + completed.stderr)
        if known == fields:
            return None
        fields = known
    return None


def _identity(device: int | None, environ: Mapping[str, str]) -> str | None:
    """What ``nvidia-smi -i`` takes: CUDA_VISIBLE_DEVICES renumbers the devices that an application sees."""
    visible = [entry.strip() for entry in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if entry.strip()]
    index = device or 0
    if index < len(visible):
        return visible[index]
    return None if device is None or visible else str(device)
