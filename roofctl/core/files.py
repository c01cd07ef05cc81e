"""Atomic writes: a file is complete, or not there."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roofctl.core.errors import InputError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A name beside ``path`` to write to, which takes the place of ``path`` at the end.

    When the block raises, ``path`` is as it was and nothing is left beside it. Raises OSError.
    """
    # The name is cut so that a long one stays legal; process and thread keep writers apart.
    temporary = path.with_name(f".{path.name[:40]}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path, *, force: bool, option: str = "-o") -> Path:
    """``path``. Raises InputError when no file can be written there, or it would replace one without ``force``.

    ``option`` is the one that named it, for hints.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder", hint=f"choose another name with {option}")
    if path.exists() and not force:
        raise InputError(f"{path} exists", hint=f"choose another name with {option}, or replace it with --force")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist", hint=f"create it, or choose another with {option}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {path.parent} cannot be written to", hint=f"choose another with {option}")
    return path
