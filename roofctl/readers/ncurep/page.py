"""Write a report as the raw page that ``ncu --import … --csv --page raw --print-units base`` prints, without ncu.

Numbers are exact, where ncu rounds to two decimals.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from roofctl.readers.ncurep.child import BLOCK, CAPABILITY, GRID, IDENTITY
from roofctl.readers.ncurep.read import ask, formatted, indexed, joined, kernels_of

_PLACES: Final = {"Context": "launch__context_id", "Stream": "launch__stream_id", "Device": "launch__device_id"}
_MISSING: Final = "n/a"


def write_page(report: Path, counters: Sequence[str], page: Path) -> bool:
    """Write the launches of ``report`` to ``page``, with a column per counter that it holds.

    False, and nothing written, where no ``ncu_report`` works here. Raises InputError for a damaged report.
    """
    index = indexed(report)
    answers = ask(report, index, sorted({*counters, *_PLACES.values()}.difference(IDENTITY)))
    if answers is None:
        return False
    columns, units = joined(answers)
    programs = [index.programs.get(stored.process, ("", "")) for stored in index.results]
    identity = {
        "ID": list(range(len(programs))),
        "Process ID": [stored.process for stored in index.results],
        "Process Name": [Path(program).name for program, _ in programs],
        "Host Name": [host for _, host in programs],
        "Kernel Name": kernels_of(answers),
        **_launch_columns(columns, len(programs)),
    }
    names = [name for name in sorted(set(counters)) if name in columns]
    with page.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow([*identity, *names])
        writer.writerow([*[""] * len(identity), *(units.get(name, "") for name in names)])
        writer.writerows(zip(*identity.values(), *(map(_cell, columns[name]) for name in names), strict=True))
    return True


def _launch_columns(columns: Mapping[str, list[Any]], count: int) -> dict[str, Sequence[Any]]:
    """Context to compute capability of each launch, in ncu's order."""
    context, stream, device = (formatted(columns, [metric], "{}", count) for metric in _PLACES.values())
    return {
        "Context": context,
        "Stream": stream,
        "Block Size": formatted(columns, BLOCK, "({}, {}, {})", count),
        "Grid Size": formatted(columns, GRID, "({}, {}, {})", count),
        "Device": device,
        "CC": formatted(columns, CAPABILITY, "{}.{}", count),
    }


def _cell(value: float | str | None) -> str:
    """A value as text: all its digits, without an exponent."""
    if value is None or isinstance(value, str):
        return _MISSING if value is None else value
    text = f"{Decimal(repr(value)):f}"
    text = re.sub(r"\.0$", "", text)
    # Three decimals would also read as a group of thousands.
    return f"{text}0" if re.search(r"\.\d{3}$", text) else text
