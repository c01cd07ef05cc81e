"""Standard input as an input: kept in a file, since readers look at a file twice, and NVIDIA's takes nothing else."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from roofctl.core.errors import InputError

STANDARD_INPUT: Final = "standard input"
"""How messages name it."""


def is_standard_input(path: Path, here: Path) -> bool:
    """Whether ``-`` was given, and no file has that name."""
    return str(path) == "-" and not (here / path).exists()


@cache
def kept() -> Path:
    """The file that standard input was written to; kept as long as the process. Raises InputError for a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "- is standard input, and nothing is piped into it",
            hint="pipe a table in: ncu --import REPORT --csv --page raw --print-units base | roofctl report -",
        )
    folder = Path(tempfile.mkdtemp(prefix="roofctl-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "stdin"
    try:
        with file.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
    except OSError as error:
        raise InputError(
            f"standard input cannot be kept in {folder}: {error.strerror}",
            hint="set TMPDIR to a folder with more space",
        ) from error
    return file
