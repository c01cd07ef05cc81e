"""Write a capture folder: in a hidden sibling, renamed when complete, so that a folder is never overwritten."""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from roofctl.captures.manifest import MANIFEST, Capture, Manifest
from roofctl.core.errors import InputError


class Draft:
    """A capture that is being written into ``folder``, a hidden sibling; ``finish`` or ``discard`` ends it."""

    def __init__(self, root: Path, name: str, folder: Path) -> None:
        self.folder = folder
        self._root = root
        self._name = name

    def finish(self, manifest: Manifest) -> Capture:
        """Write the manifest and give the folder its name: ``name``, or ``name-2`` and so on where that is taken."""
        target = _reserve(self._root, self._name)
        renamed = tuple(line.replace(str(self.folder), str(target)) for line in manifest.commands)
        manifest = replace(manifest, commands=renamed)
        text = json.dumps(_document(manifest), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            (self.folder / MANIFEST).write_text(text, encoding="utf-8")
            self.folder.rename(target)  # replaces the empty folder that holds the name
        except BaseException:
            target.rmdir()
            raise
        return Capture(target, manifest)

    def discard(self, keep: Mapping[str, str] | None = None) -> list[Path]:
        """Remove the folder. Files to ``keep`` are moved beside it, under the capture's name and the suffix given.

        Returns where they are now.
        """
        wanted = {name: suffix for name, suffix in (keep or {}).items() if (self.folder / name).is_file()}
        stem = _free_stem(self._root, self._name, wanted.values())
        kept = [(self.folder / name).replace(self._root / f"{stem}{suffix}") for name, suffix in wanted.items()]
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._root.rmdir()  # only where it holds nothing
        return kept


def create(root: Path, name: str) -> Draft:
    """Begin a capture under ``root``, which is made where it does not exist. Raises InputError when it cannot be."""
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise InputError(f"{name!r} cannot name a capture", hint="use a plain file name, such as gemm-before")
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = root.resolve() / f".{name}-{secrets.token_hex(4)}.partial"
        folder.mkdir()
    except OSError as error:
        raise unwritable(root, error) from error
    return Draft(root.resolve(), name, folder)


def _document(manifest: Manifest) -> dict[str, Any]:
    """The manifest as JSON; of the GPU only what is known."""
    document = asdict(manifest)
    if manifest.gpu:
        document["gpu"] = {name: value for name, value in asdict(manifest.gpu).items() if value not in (None, "", ())}
    return document


def unwritable(root: Path, error: OSError) -> InputError:
    """The error for a folder of captures that the system does not let us write to."""
    return InputError(
        f"no capture can be written to {root}: {error.strerror}",
        hint="check space and permissions there, or choose another folder with -o",
    )


def _reserve(root: Path, name: str) -> Path:
    """Take the first free name by making the folder: two runs at once never get the same."""
    number = 1
    while True:
        target = root / (name if number == 1 else f"{name}-{number}")
        try:
            target.mkdir()
        except FileExistsError:
            number += 1
        else:
            return target


def _free_stem(root: Path, name: str, suffixes: Iterable[str]) -> str:
    stems = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    ends = [*suffixes, ".log"]
    return next(stem for stem in stems if not any((root / f"{stem}{end}").exists() for end in ends))
