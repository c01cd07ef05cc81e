"""Nsight Compute reports as the ncu on PATH prints them, where NVIDIA's reader is absent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from roofctl.core import process
from roofctl.core.errors import InputError, ToolError, ToolNotFound
from roofctl.core.kernel_names import without_casts
from roofctl.cuda import tools
from roofctl.launches.table import Part
from roofctl.readers.ncurep import container

_INSTALL: Final = "pip install 'roofctl[ncu-rep]'"
_SECONDS: Final = 120.0
_BYTES_PER_SECOND: Final = 1 << 20
_TAIL: Final = 160


def by_hand(path: Path) -> str:
    """The command that prints a report as CSV, for hints."""
    return f"ncu --import {path.name} --csv --page raw --print-units base > {path.stem}.csv"


def plain(parts: Sequence[Part]) -> list[Part]:
    """Parts read from what ncu printed, under the names that the report's own reader gives."""
    return [
        replace(part, frame=part.frame.assign(kernel=[without_casts(name) for name in part.frame["kernel"]]))
        for part in parts
    ]


def printed(path: Path) -> bytes:
    """What the ncu on PATH prints of a report. Raises InputError that says what to install where that fails."""
    try:
        ncu = tools.locate("ncu")
        known = tools.ask_version("ncu", ncu)
        answer = process.run(
            [ncu, "--import", path.resolve(), "--csv", "--page", "raw", "--print-units", "base"],
            env={"LC_ALL": "C"},
            timeout=_SECONDS + path.stat().st_size / _BYTES_PER_SECOND,
        )
    except ToolNotFound as error:
        raise InputError(
            f"{path} is an Nsight Compute report; reading it needs NVIDIA's reader or ncu, and neither is here",
            hint=f"{_INSTALL}; or where ncu is: {by_hand(path)}",
        ) from error
    except ToolError as error:
        raise InputError(
            f"{path} is an Nsight Compute report, and ncu cannot print it: {error.message}", hint=_INSTALL
        ) from error
    if answer.returncode:
        made = container.index(path).version
        by = f", which ncu {made} made" if made else ""
        raise InputError(
            f"{path}: ncu {known} cannot read this report{by}: {_reason(answer.stdout + answer.stderr)}",
            hint=f"{_INSTALL} (reads reports of 2020 to 2026), or export it with the ncu that made it: {by_hand(path)}",
        )
    if not answer.stdout.strip():
        raise InputError(
            f"{path}: ncu {known} printed nothing of this report",
            hint=f"{_INSTALL}, or export it with the ncu that made it: {by_hand(path)}",
        )
    return answer.stdout.encode()


def _reason(text: str) -> str:
    line = next((line for line in text.splitlines() if line.startswith("==ERROR==")), "no reason given")
    return re.sub(r"^==ERROR== ", "", line)[:_TAIL]
