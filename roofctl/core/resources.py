"""Find the folders that sit at the top of the repository: kernels/ and profiles/.

A wheel carries them under ``roofctl/_shipped``; an editable install and a source
tree have them beside the package.
"""

from __future__ import annotations

from pathlib import Path

from roofctl.core.errors import RoofctlError

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped(name: str) -> Path:
    """The folder ``name`` (``kernels`` or ``profiles``), wherever this install keeps it.

    Raises RoofctlError when the installation is incomplete.
    """
    for candidate in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise RoofctlError(
        f"the installed roofctl has no {name}/ folder (looked in {_PACKAGE / '_shipped'} and {_PACKAGE.parent})",
        hint="reinstall roofctl; a wheel built from the repository carries it",
    )


def demo_capture() -> Path:
    """The bundled capture of ``roofctl demo``: a capture folder."""
    return _PACKAGE / "demo_data" / "h200-known-counts"
