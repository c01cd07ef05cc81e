"""Find captures by path, name or age, and read their manifests."""

from __future__ import annotations

import contextlib
import difflib
import json
import math
import os
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from roofctl.captures.manifest import MANIFEST, ROOT, SCHEMA, Manifest, captures_in, is_capture
from roofctl.core.errors import InputError

_SCHEMA: Final = TypeAdapter(Manifest)
_DAMAGED: Final = "the file is damaged: capture again, or read its CSV alone"
_SHOWN: Final = 60
"""Characters of a wrong value that a message shows."""


def latest(root: Path) -> Path:
    """The newest capture under ``root``, by the time its run ended. Raises InputError when there is none."""
    folders = captures_in(root)
    if not folders:
        raise InputError(f"there is no capture in {root}", hint="make one: roofctl profile ./app; or name a file")
    return max(folders, key=ended)


def ended(folder: Path) -> tuple[float, str]:
    """When the run of a capture ended, in seconds since 1970, and its name; of a damaged one before all others."""
    # One damaged capture must not hide the others. As text, times of two zones do not compare.
    with contextlib.suppress(InputError, ValueError, OverflowError):
        return datetime.fromisoformat(read_manifest(folder).ended).timestamp(), folder.name
    return -math.inf, folder.name


def resolve(text: str | os.PathLike[str] | None, cwd: Path) -> Path:
    """The capture folder that a user means: a path, the name of one in ``roofctl-captures``, or None for the newest."""
    root = cwd / ROOT
    if text is None:
        return latest(root)
    for candidate in (cwd / text, root / text):
        if is_capture(candidate):
            return candidate
    given = cwd / text
    if given.is_dir():
        if captures_in(given):
            return latest(given)
        raise InputError(
            f"{text} is a folder without {MANIFEST}: no capture", hint="name a capture, or a file in that folder"
        )
    raise InputError(f"no file or capture called {os.fspath(text)!r} here", hint=_near_hint(root, os.fspath(text)))


def named(text: str, cwd: Path) -> Path:
    """The one capture of this name or path; unlike ``resolve`` never one that a folder of this name holds."""
    for candidate in (Path(ROOT, text), Path(text)):
        if is_capture(cwd / candidate):
            return candidate
    raise InputError(f"no capture called {text!r} here", hint=_near_hint(cwd / ROOT, text))


def _near_hint(root: Path, text: str) -> str:
    names = [path.name for path in captures_in(root)]
    close = difflib.get_close_matches(text, names, n=3, cutoff=0.4)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"in {root}: {', '.join(names[-3:])}" if names else "make one: roofctl profile ./app"


def data_files(folder: Path) -> list[Path]:
    """The files of a capture that hold its counts. Raises InputError when one is gone."""
    files = [folder / name for name in read_manifest(folder).data]
    gone = [path.name for path in files if not path.is_file()]
    if gone:
        raise InputError(
            f"{folder} lacks {', '.join(gone)}, which its {MANIFEST} names",
            hint="the folder was copied in part: copy all of it",
        )
    return files


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a capture folder. Raises InputError that says what is wrong with it."""
    path = folder / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} has no {MANIFEST}: it is no capture", hint="name the folder that roofctl profile wrote"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}", hint=_DAMAGED) from error
    if not isinstance(document, dict) or not isinstance(document.get("schema"), int):
        raise InputError(f"{path} has no schema number", hint=_DAMAGED)
    if document["schema"] > SCHEMA:
        raise InputError(
            f"{path} has schema {document['schema']}, roofctl here knows {SCHEMA}", hint="use a newer roofctl"
        )
    try:
        return _SCHEMA.validate_json(text, strict=True)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        lacking = [str(problem["loc"][-1]) for problem in problems if problem["type"] == "missing"]
        wrong = [_wrong(problem) for problem in problems if problem["type"] != "missing"]
        lacks = [f"lacks {', '.join(lacking)}"] if lacking else []
        raise InputError(f"{path} {'; '.join([*lacks, *wrong])}", hint=_DAMAGED) from error


def _wrong(problem: ErrorDetails) -> str:
    """What is wrong with one key: its name, the value, and what the schema expects."""
    expected = problem["msg"].partition("should be ")[2] or problem["msg"]
    key = ".".join(map(str, problem["loc"]))
    return f"has {key}: {repr(problem['input'])[:_SHOWN]}, expected {expected}"
