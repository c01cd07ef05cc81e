"""nvprof tables (``nvprof --csv``): metrics, events, timing summary, GPU trace."""

from __future__ import annotations

import re

from roofctl.readers.convert import Cell, Launch, count
from roofctl.readers.find_tables import Table
from roofctl.readers.numbers import is_missing, split_glued

TIME_AVERAGE = "GPU activities Avg"
TIME_TRACE = "GPU trace Duration"


def _device(text: str) -> str:
    """``Tesla V100S-PCIE-32GB (0)`` without the device index."""
    return re.sub(r"\s*\(\d+\)$", "", text)


def _without_correlation(name: str, correlation: str) -> str:
    """``k(int) [94]`` without its correlation ID: nvprof puts it there where the trace has no column for it."""
    match = re.fullmatch(r"(.*\S)\s+\[(\d+)\]", name)
    return match.group(1) if match and correlation in ("", match.group(2)) else name


def _cell(text: str, line: int, unit: str = "") -> Cell:
    value, glued = split_glued(text)
    return Cell(value, glued or unit, line)


def read_counts(table: Table, known: frozenset[str]) -> list[Launch]:
    """``--metrics`` or ``--events``: minimum, maximum and rounded mean per kernel."""
    name_column = "Event Name" if table.kind == "nvprof_events" else "Metric Name"
    launches: dict[tuple[str, ...], Launch] = {}
    for line, row in table.rows:
        key = tuple(table.field(row, name) for name in ("Device", "Kernel", "Invocations"))
        launch = launches.get(key)
        if launch is None:
            launch = Launch(key[1], device=_device(key[0]), launches=count(key[2]), is_summary=True)
            launches[key] = launch
        counter = table.field(row, name_column)
        if not is_missing(table.field(row, "Avg")):
            launch.names.add(counter)
        if counter in known:
            launch.cells[counter] = _cell(table.field(row, "Avg"), line)
            launch.minimum[counter] = _cell(table.field(row, "Min"), line)
            launch.maximum[counter] = _cell(table.field(row, "Max"), line)
    return list(launches.values())


def read_summary(table: Table) -> tuple[list[Launch], int]:
    """Timing summary: every column has its own unit. Returns kernels and the number of rows that are none."""
    launches = []
    for line, row in table.rows:
        name = table.field(row, "Name")
        activity = table.field(row, "Type") or "GPU activities"
        if activity != "GPU activities" or not name or re.fullmatch(r"\[.*\]", name):
            continue
        launch = Launch(name, launches=count(table.field(row, "Calls")), is_summary=True, names={TIME_AVERAGE})
        for target, column in (
            (launch.cells, "Avg"),
            (launch.minimum, "Min"),
            (launch.maximum, "Max"),
            (launch.total, "Time"),
        ):
            unit = table.field(table.units or [], column)
            target[TIME_AVERAGE] = _cell(table.field(row, column), line, unit)
        launches.append(launch)
    return launches, len(table.rows) - len(launches)


def read_trace(table: Table) -> tuple[list[Launch], int]:
    """GPU trace: kernels are the rows with a grid; copies, fills and page faults have none."""
    unit = table.field(table.units or [], "Duration")
    launches = []
    for line, row in table.rows:
        if not table.field(row, "Grid X"):
            continue
        block, grid = (
            "(" + ", ".join(table.field(row, f"{kind} {axis}") for axis in "XYZ") + ")" for kind in ("Block", "Grid")
        )
        launches.append(
            Launch(
                _without_correlation(table.field(row, "Name"), table.field(row, "Correlation_ID")),
                block=block,
                grid=grid,
                device=_device(table.field(row, "Device")),
                cells={TIME_TRACE: _cell(table.field(row, "Duration"), line, unit)},
                names={TIME_TRACE},
            )
        )
    return launches, len(table.rows) - len(launches)


def read_trace_counts(table: Table, known: frozenset[str]) -> list[Launch]:
    """``--print-gpu-trace`` with ``--metrics`` or ``--events``: one row per launch, one column per counter."""
    units = table.units or []
    fixed = ("Device", "Context", "Stream", "Kernel", "Correlation_ID")
    launches = []
    for line, row in table.rows:
        launch = Launch(table.field(row, "Kernel"), device=_device(table.field(row, "Device")))
        for index, counter in enumerate(table.header):
            text = row[index] if index < len(row) else ""
            if counter in fixed or is_missing(text):
                continue
            launch.names.add(counter)
            if counter in known:
                launch.cells[counter] = _cell(text, line, units[index] if index < len(units) else "")
        launches.append(launch)
    return launches
