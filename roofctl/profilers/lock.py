"""ncu's lock file: its path and its owner. roofctl only reads it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

LOCK_NAME: Final = "nsight-compute-lock"

TEMP_VARIABLES: Final = ("TMPDIR", "TMP", "TEMP", "TEMPDIR")
"""Variables that name the folder of the lock; the first one that is set counts."""


def named_folders(environ: Mapping[str, str]) -> list[Path]:
    """Folders that the variables name, the one that ncu takes first."""
    return [Path(environ[name]) for name in TEMP_VARIABLES if environ.get(name)]


def lock_path(environ: Mapping[str, str]) -> Path:
    """The lock file, where ncu looks for it in that environment."""
    folder = next(iter(named_folders(environ)), None)
    return (folder or Path(tempfile.gettempdir())) / LOCK_NAME


def owner(path: Path) -> str | None:
    """Name of a file's owner, or the number of one without a name; None where there is no file to see."""
    try:
        return path.owner()
    except KeyError:
        return str(path.stat().st_uid)
    except OSError:
        return None
