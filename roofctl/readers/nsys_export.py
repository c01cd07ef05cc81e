"""The SQLite export of Nsight Systems: a launch of a kernel per row of a table."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from roofctl.core.errors import InputError, NoKernels
from roofctl.core.kernel_names import without_casts
from roofctl.core.notes import Note
from roofctl.launches.table import Part
from roofctl.readers.nsys import DURATION, PRINT_HINT
from roofctl.readers.parts import part_of

_NANOSECOND: Final = 1e-9
_KERNELS: Final = "CUPTI_ACTIVITY_KIND_KERNEL"
_COLUMNS: Final = ("start", "end", "deviceId", *(f"{kind}{axis}" for kind in ("grid", "block") for axis in "XYZ"))


def is_export(tables: set[str]) -> bool:
    """Whether an SQLite database with these tables is one of Nsight Systems."""
    return "StringIds" in tables or any(name.startswith("TARGET_INFO") for name in tables)


def read_export(path: Path) -> list[Part]:
    """The launches in an SQLite export, in order of their start. Raises NoKernels for one without any."""
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as file:
        columns = [str(row[1]) for row in file.execute(f"PRAGMA table_info({_KERNELS})")]
        if not columns:
            raise NoKernels(
                f"{path} is a database of Nsight Systems in which no kernel was traced",
                hint="trace CUDA: nsys profile --trace=cuda ./app, then nsys export --type sqlite REPORT.nsys-rep",
            )
        name = next((each for each in ("demangledName", "shortName") if each in columns), "")
        if not name or not set(_COLUMNS) <= set(columns):
            raise InputError(
                f"{path} is a database of Nsight Systems whose table of kernels lacks columns that roofctl reads",
                hint=f"print its times instead: {PRINT_HINT}",
            )
        # Names come from the lists above.
        wanted = ", ".join(f'k."{each}"' for each in _COLUMNS)
        query = f"SELECT {wanted}, s.value FROM {_KERNELS} k LEFT JOIN StringIds s ON s.id = k.{name} ORDER BY k.start"  # noqa: S608
        frame = pd.DataFrame(file.execute(query).fetchall(), columns=[*_COLUMNS, "kernel"])
        gpus = _gpus(file)
    if frame.empty:
        raise NoKernels(
            f"{path} is a database of Nsight Systems in which no kernel was traced", hint="check that the app uses it"
        )
    notes: list[Note] = []
    if nameless := int(frame["kernel"].isna().sum()):
        frame = frame[frame["kernel"].notna()].reset_index(drop=True)
        notes = [Note(f"{path}: {nameless} launches without a name passed over", warning=True)]
    return [_part(frame, gpus, str(path), notes)]


def _part(frame: pd.DataFrame, gpus: dict[int, tuple[str, str]], source: str, notes: Sequence[Note]) -> Part:
    of_device = [gpus.get(number, ("", "")) for number in frame["deviceId"]]
    identity = {
        "kernel": frame["kernel"].map({name: without_casts(name) for name in frame["kernel"].unique()}),
        "process": pd.Series([None] * len(frame), dtype=object),
        "block": _shapes(frame, "block"),
        "grid": _shapes(frame, "grid"),
        "device": pd.Series([name or None for name, _ in of_device], dtype=object),
        "compute_capability": pd.Series([capability or None for _, capability in of_device], dtype=object),
        "launches": np.ones(len(frame), np.int64),
        "is_summary": np.zeros(len(frame), np.bool_),
    }
    seconds = ((frame["end"] - frame["start"]) * _NANOSECOND).astype("Float64")
    return replace(part_of(identity, {DURATION: seconds}, source, frozenset({DURATION})), notes=tuple(notes))


def _shapes(frame: pd.DataFrame, kind: str) -> pd.Series:
    x, y, z = (frame[f"{kind}{axis}"].astype(str) for axis in "XYZ")
    return "(" + x + ", " + y + ", " + z + ")"


def _gpus(file: sqlite3.Connection) -> dict[int, tuple[str, str]]:
    """Name and compute capability of each GPU by its number; none where the database does not say."""
    try:
        columns = [str(row[1]) for row in file.execute("PRAGMA table_info(TARGET_INFO_GPU)")]
        if not {"id", "name"} <= set(columns):
            return {}
        versions = "computeMajor || '.' || computeMinor" if {"computeMajor", "computeMinor"} <= set(columns) else "''"
        rows = file.execute(f"SELECT id, name, {versions} FROM TARGET_INFO_GPU").fetchall()  # noqa: S608
    except sqlite3.Error:
        return {}
    return {int(number): (str(name or ""), str(version or "")) for number, name, version in rows}
