"""Nsight Compute tables (``ncu --csv``): raw page, details page, per-kernel summary."""

from __future__ import annotations

from roofctl.readers.convert import NCU_IDENTITY, Cell, Launch, count, shape
from roofctl.readers.find_tables import Table
from roofctl.readers.numbers import is_missing


def _identity(table: Table, row: list[str]) -> Launch:
    return Launch(
        kernel=table.field(row, "Kernel Name"),
        process=table.field(row, "Process ID"),
        block=shape(table.field(row, "Block Size")),
        grid=shape(table.field(row, "Grid Size")),
        compute_capability=table.field(row, "CC"),
    )


def read_raw(table: Table, known: frozenset[str]) -> list[Launch]:
    """Raw page: one row per launch, one column per counter, units in a row of their own."""
    units = table.units or []
    wanted = [(i, name) for i, name in enumerate(table.header) if name in known]
    counters = [(i, name) for i, name in enumerate(table.header) if name not in NCU_IDENTITY]
    launches = []
    for line, row in table.rows:
        launch = _identity(table, row)
        launch.device = table.field(row, "device__attribute_display_name")
        launch.cells = {name: Cell(row[i], units[i] if i < len(units) else "", line) for i, name in wanted}
        launch.names = {name for i, name in counters if not is_missing(row[i])}
        launches.append(launch)
    return launches


def read_details(table: Table, known: frozenset[str]) -> tuple[list[Launch], int]:
    """Details page: one row per launch and metric. Returns launches and the number of rule rows passed over.

    A launch is identified by process, ID and kernel. A metric that stands in two sections
    is taken once, from the first.
    """
    launches: dict[tuple[str, str, str], Launch] = {}
    rules = 0
    for line, row in table.rows:
        key = (table.field(row, "Process ID"), table.field(row, "ID"), table.field(row, "Kernel Name"))
        launch = launches.get(key) or launches.setdefault(key, _identity(table, row))
        metric = table.field(row, "Metric Name")
        if not metric:
            rules += 1
            continue
        value = table.field(row, "Metric Value")
        if metric == "device__attribute_display_name":
            launch.device = value
        if not is_missing(value):
            launch.names.add(metric)
        if metric in known:
            launch.cells.setdefault(metric, Cell(value, table.field(row, "Metric Unit"), line))
    return list(launches.values()), rules


def read_summary(table: Table, known: frozenset[str]) -> list[Launch]:
    """``--print-summary per-kernel``: means over launches, grouped by kernel and launch shape."""
    launches: dict[tuple[str, ...], Launch] = {}
    keys = ("Process ID", "Kernel Name", "Block Size", "Grid Size", "Device", "Device Id", "Invocations")
    for line, row in table.rows:
        key = tuple(table.field(row, name) for name in keys)
        launch = launches.get(key)
        if launch is None:
            launch = launches.setdefault(key, _identity(table, row))
            launch.launches = count(table.field(row, "Invocations"))
            launch.is_summary = True
        metric, unit = table.field(row, "Metric Name"), table.field(row, "Metric Unit")
        value = table.field(row, "Average")
        if not is_missing(value):
            launch.names.add(metric)
        if metric in known:
            launch.cells.setdefault(metric, Cell(value, unit, line))
            launch.minimum.setdefault(metric, Cell(table.field(row, "Minimum"), unit, line))
            launch.maximum.setdefault(metric, Cell(table.field(row, "Maximum"), unit, line))
    return list(launches.values())
