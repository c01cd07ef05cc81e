"""Atomic writes: a file is complete, or not there."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
