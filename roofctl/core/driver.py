"""Whether this machine has a driver for NVIDIA GPUs, by the files it makes: at once, and without running anything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from roofctl.core.errors import DeviceError

_FILES: Final = (
    "proc/driver/nvidia/version",
    "dev/nvidia[0-9]*",
    "dev/nvhost-ctrl-gpu",
    "dev/nvgpu",
    "dev/nvmap",
    "dev/dxg",
)
"""Patterns: of the driver itself, of a GPU handed into a container, of Jetson, and of WSL."""


def has_driver(root: Path = Path("/")) -> bool:
    """Whether a driver is loaded or handed into this container; without one no GPU can be used."""
    return any(next(root.glob(name), None) for name in _FILES)


def gpu_names(root: Path = Path("/")) -> list[str]:
    """Names of the GPUs as the driver lists them under /proc; empty where it does not."""
    names = []
    for path in sorted((root / "proc/driver/nvidia/gpus").glob("*/information")):
        try:
            match = re.search(r"^Model:\s*(\S.*)$", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
        except OSError:
            continue
        names += [match.group(1).strip()] if match else []
    return names


def no_gpu(needs: str) -> DeviceError:
    """The error of a command that ``needs`` a GPU on a machine without a driver."""
    return DeviceError(
        f"there is no NVIDIA GPU here that {needs} could use: no driver is loaded",
        hint="roofctl doctor checks this machine; a container needs docker --gpus all or apptainer --nv. "
        "report and plot need no GPU",
    )
