"""Folders that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def forbid(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Root may read everything, so it is the system call that fails."""
    scan = os.scandir

    def scandir(path: str) -> object:
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
