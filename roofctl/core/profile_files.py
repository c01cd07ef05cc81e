"""Where the files of GPU profiles lie, by name alone: nothing is parsed here."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import platformdirs

from roofctl.core.resources import shipped

MEASURED_SUFFIX: Final = ".measured.yaml"

Layer = Literal["path", "./profiles", "user", "packaged", "report"]
"""Where a profile comes from; ``report`` is the capture itself, of a GPU that no profile describes."""


def is_measured(path: Path) -> bool:
    """Whether a file name is that of a measured result."""
    return path.name.endswith(MEASURED_SUFFIX)


def user_profiles() -> Path:
    """The user's own folder of GPU profiles; it need not exist."""
    return platformdirs.user_config_path("roofctl") / "profiles"


def layers(cwd: Path | None = None) -> tuple[tuple[Layer, Path], ...]:
    """The folders that names are looked up in, first wins."""
    local = (cwd or Path.cwd()) / "profiles"
    packaged = shipped("profiles")
    named: tuple[tuple[Layer, Path], ...] = (("./profiles", local), ("user", user_profiles()))
    # In a checkout of roofctl the local folder is the shipped one.
    kept = tuple((layer, folder) for layer, folder in named if folder.resolve() != packaged.resolve())
    return (*kept, ("packaged", packaged))


def profile_files(folder: Path) -> tuple[Path, ...]:
    """The profile files of one folder, sorted; measured results are not profiles."""
    files = folder.glob("*.yaml") if folder.is_dir() else ()
    return tuple(sorted(path for path in files if path.is_file() and not is_measured(path)))


def measured_files(folder: Path) -> tuple[Path, ...]:
    """The measured results of one folder, sorted."""
    return tuple(sorted(folder.glob(f"*{MEASURED_SUFFIX}"))) if folder.is_dir() else ()
