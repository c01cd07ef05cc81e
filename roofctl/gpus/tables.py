"""A GPU profile as table cells for people, made of the data of ``describe``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from roofctl.core.units import duration, gtxn, prefixed, rate, significant

LIST_COLUMNS: Final = (
    *("name", "CC", ">SMs", ">peak GIPS", "memory", ">pin TB/s", ">data sheet TB/s", "from", "aliases"),
)

_CEILING_COLUMNS: Final = ("ceiling", ">rate", ">GTXN/s", ">ridge inst/txn", "clock", "basis", "~origin")
_DATASHEET: Final = "datasheet_flops_per_second"


@dataclass(frozen=True)
class Section:
    """A part of the text about a profile: a title, and a table where there is one."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[list[str], ...] = ()


def list_cells(row: Mapping[str, Any]) -> list[str]:
    """One line under ``LIST_COLUMNS``, of one ``summary``."""
    return [
        row["name"],
        row["compute_capability"],
        str(row["sm_count"]),
        significant(row["peak_warp_instructions_per_second"] / 1e9),
        row["memory_label"],
        _tera(row["hbm_pin_bytes_per_second"]),
        _tera(row["hbm_datasheet_bytes_per_second"]),
        row["layer"],
        ", ".join(row["aliases"]),
    ]


def heading(data: Mapping[str, Any]) -> list[str]:
    """The lines above the first section."""
    return [
        f"{data['name']}: {data['description']}",
        f"chip {data['chip']} (die {data['die']}), compute capability {data['compute_capability']}",
        f"aliases: {', '.join(data['aliases']) or 'none'}",
    ]


def sections(data: Mapping[str, Any]) -> Iterator[Section]:
    """Facts, theoretical and measured ceilings, and rates of operations, of the ``details`` of a profile."""
    facts = tuple(_fact_cells(key, fact) for key, fact in data["facts"].items())
    yield Section("", ("fact", ">value", "basis", "~source"), facts)
    for basis in ("theoretical", "measured"):
        if data[basis]:
            rows = tuple(_ceiling_rows(data[basis], data["memory_label"]))
            yield Section(f"{basis} ceilings", _CEILING_COLUMNS, rows)
        else:
            yield Section(f"{basis} ceilings: none measured")
    rates = tuple(
        [row["precision"], *(_flops(row["precision"], row[key]) for key in ("flops_per_second", _DATASHEET))]
        for row in data["flops"]
    )
    yield Section("FLOP rates (dense, an FMA is 2)", ("precision", ">computed", ">data sheet"), rates)


def _ceiling_rows(data: Mapping[str, Any], memory_label: str) -> Iterator[list[str]]:
    peak = data["peak"]
    gips = f"{significant(peak['warp_instructions_per_second'] / 1e9)} GIPS"
    yield ["peak", gips, "", "", _clock(peak["clock"]), peak["basis"], peak["origin"]]
    labels = {"hbm": memory_label}
    for row in data["bandwidths"]:
        bandwidth, level = row["bytes_per_second"], row["level"]
        numbers = [prefixed(bandwidth, "B/s"), significant(gtxn(bandwidth)), significant(row["ridge"])]
        yield [labels.get(level, level), *numbers, _clock(row["clock"]), row["basis"], row["origin"]]
    launch = data.get("ceilings", {}).get("launch")
    if launch:
        yield ["launch", duration(launch["value"]), "", "", "", "measured", launch["method"]]
    for level, reason in data["absent"].items():
        yield [labels.get(level, level), "unknown", "", "", "", "", reason]


def _clock(clock: Mapping[str, Any] | None) -> str:
    return f"{clock['domain']} {prefixed(clock['hz'], 'Hz')}" if clock else ""


def _fact_cells(key: str, fact: Mapping[str, Any]) -> list[str]:
    source = "; ".join(text for text in (fact["source"], fact["note"]) if text)
    return [key, _fact_value(key, fact["value"]), fact["basis"], source]


def _fact_value(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list | tuple):
        return ", ".join(value)
    if key.startswith(f"{_DATASHEET}."):
        return _flops(key.removeprefix(f"{_DATASHEET}."), value)
    if key.endswith("_hz"):
        return prefixed(value, "Hz")
    if key.endswith("bytes_per_second"):
        return prefixed(value, "B/s")
    return f"{value:,}" if isinstance(value, int) else str(value)


def _flops(precision: str, value: float | None) -> str:
    return "" if value is None else rate(precision, value, "FLOP/s")


def _tera(value: float | None) -> str:
    return "" if value is None else significant(value / 1e12)
