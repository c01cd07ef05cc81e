"""One GPU as the driver describes it, and the parser of nvidia-smi's CSV. An unknown value is None, never zero."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

QUERY_FIELDS: Final = (
    "index",
    "name",
    "uuid",
    "driver_version",
    "compute_cap",
    "mig.mode.current",
    "ecc.mode.current",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.mem",
    "clocks.max.mem",
    "clocks.applications.graphics",
    "clocks.default_applications.graphics",
    "clocks_throttle_reasons.active",
    "memory.total",
    "memory.used",
    "utilization.gpu",
)
"""The fields of ``nvidia-smi --query-gpu`` that ``gpu_of`` reads."""

_NO_VALUE: Final = re.compile(r"^\[.*\]$|^(?:N/?A|Not Found|Not Supported|Unknown Error|None)?$", re.IGNORECASE)
_BAD_FIELD: Final = re.compile(r'Field "([^"]+)" is not a valid field')


@dataclass(frozen=True)
class Gpu:
    """One GPU; None where the driver has no value. Clocks are those at the time of the query, except ``max_``.

    ``matches`` are the names of GPU profiles that fit, best first; ``match_reason`` says by what.
    """

    name: str
    compute_capability: str | None = None
    driver: str | None = None
    index: int | None = None
    uuid: str | None = None
    sm_count: int | None = None
    mig: bool | None = None
    ecc: bool | None = None
    sm_clock_hz: float | None = None
    max_sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    max_memory_clock_hz: float | None = None
    application_clock_hz: float | None = None
    default_application_clock_hz: float | None = None
    clock_reasons: int | None = None
    memory_bytes: float | None = None
    memory_used_bytes: float | None = None
    utilization_percent: float | None = None
    pids: tuple[int, ...] = ()
    matches: tuple[str, ...] = ()
    match_reason: str = ""

    @property
    def capability(self) -> tuple[int, int] | None:
        """The compute capability as numbers that compare."""
        major, dot, minor = (self.compute_capability or "").partition(".")
        return (int(major), int(minor)) if dot and major.isdigit() and minor.isdigit() else None


def gpu_of(row: Mapping[str, object]) -> Gpu:
    """A GPU from one row of nvidia-smi or NVML, by the names of ``QUERY_FIELDS``; absent fields become None."""
    mega, mebi = 1e6, 2**20
    index = number(row.get("index"))
    return Gpu(
        name=cell(row.get("name")) or "name not known",
        compute_capability=_capability(row.get("compute_cap")),
        driver=cell(row.get("driver_version")),
        index=None if index is None else int(index),
        uuid=cell(row.get("uuid")),
        mig=_switch(row.get("mig.mode.current")),
        ecc=_switch(row.get("ecc.mode.current")),
        sm_clock_hz=number(row.get("clocks.sm"), mega),
        max_sm_clock_hz=number(row.get("clocks.max.sm"), mega),
        memory_clock_hz=number(row.get("clocks.mem"), mega),
        max_memory_clock_hz=number(row.get("clocks.max.mem"), mega),
        application_clock_hz=number(row.get("clocks.applications.graphics"), mega),
        default_application_clock_hz=number(row.get("clocks.default_applications.graphics"), mega),
        clock_reasons=_bits(row.get("clocks_throttle_reasons.active")),
        memory_bytes=number(row.get("memory.total"), mebi),
        memory_used_bytes=number(row.get("memory.used"), mebi),
        utilization_percent=number(row.get("utilization.gpu")),
    )


def cell(value: object) -> str | None:
    """A cell of nvidia-smi as text; None for ``[N/A]``, ``[Not Found]``, ``N/A`` and an empty one."""
    text = "" if value is None else str(value).strip()
    return None if _NO_VALUE.match(text) else text


def number(value: object, factor: float = 1.0) -> float | None:
    """The number in a cell times ``factor``, with or without a unit behind it; None where there is none."""
    match = re.match(r"^-?\d+(?:\.\d+)?(?=$|\s)", cell(value) or "")
    return float(match.group()) * factor if match else None


def rows(text: str, fields: Sequence[str]) -> list[dict[str, str]]:
    """Rows of ``nvidia-smi --format=csv,noheader,nounits``; lines with another number of cells are left out."""
    lines = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), skipinitialspace=True)]
    return [dict(zip(fields, line, strict=True)) for line in lines if len(line) == len(fields)]


def without_refused(fields: Sequence[str], text: str) -> list[str]:
    """The fields to query again after nvidia-smi printed ``text``: those that this version does not refuse."""
    refused = _BAD_FIELD.findall(text)
    return [name for name in fields if name not in refused]


def _capability(value: object) -> str | None:
    text = cell(value)
    return text if text and re.fullmatch(r"\d+\.\d+", text) else None


def _switch(value: object) -> bool | None:
    return {"enabled": True, "disabled": False}.get((cell(value) or "").lower())


def _bits(value: object) -> int | None:
    text = cell(value) or ""
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return int(text, 16)
    return int(text) if text.isdigit() else None
