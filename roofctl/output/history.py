"""One kernel over captures as a table, rows, a document and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from roofctl.output.columns import UNKNOWN, Column, headings_and_rows
from roofctl.output.markdown import code_span
from roofctl.plots.history import HistoryPoint, draw_history
from roofctl.plots.page import save
from roofctl.roofline.limit_words import label as limit_label
from roofctl.study.history import Entry, History

SCHEMA: Final = 1

_ROW: Final = (
    *(
        "capture",
        "started",
        "gpu",
        "sm_clock_hz",
        "kernel",
        "grid",
        "launches",
        "seconds",
        "seconds_min",
        "seconds_max",
    ),
    *("no_spread", "ratio", "verdict", "limit", "limit_use", "l1_intensity", "l2_intensity", "hbm_intensity"),
)
_DATE: Final = len("2026-11-29 10:00")


def rows(history: History) -> list[dict[str, Any]]:
    """A row per capture in SI units, None where not known; ``ratio`` is over the capture before with the kernel."""
    return [_row(entry) for entry in history.entries]


def _row(entry: Entry) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(_ROW)
    clock = entry.side.clock
    row.update(
        capture=entry.side.label,
        started=entry.started or None,
        gpu=entry.side.gpu,
        sm_clock_hz=clock.hz if clock else None,
    )
    if not entry.sample:
        return row
    kernel, times, first = entry.sample.kernel, entry.sample.times, entry.sample.results[0]
    row.update(kernel=kernel.name, grid=kernel.grid, launches=kernel.launches)
    if times:
        row.update(
            seconds=times.seconds, seconds_min=times.low, seconds_max=times.high, no_spread=times.unknown or None
        )
    if entry.change:
        row.update(ratio=entry.change.ratio, verdict=entry.change.verdict)
    row.update(limit=first.limit.name, limit_use=first.limit.use)
    model = entry.side.analysis.results.model
    row.update({f"{level}_intensity": first.result.intensity(level, model) for level in ("l1", "l2", "hbm")})
    return row


def document(history: History) -> dict[str, Any]:
    """The history as JSON-ready data."""
    notes = [note.text for note in history.notes]
    return {"schema": SCHEMA, "kernel": history.name, "notes": notes, "captures": rows(history)}


def csv_table(history: History) -> tuple[Sequence[str], list[list[Any]]]:
    """Columns and rows for CSV."""
    return _ROW, [list(row.values()) for row in rows(history)]


def table(history: History) -> tuple[list[str], list[list[str]]]:
    """Headings and cells for people."""
    made, entries = rows(history), history.entries
    columns = [
        Column("number", "#", "count", range(1, len(made) + 1)),
        Column("capture", "capture", "text", [row["capture"] for row in made]),
        Column("time", "time", "seconds", [row["seconds"] for row in made]),
        Column("change", "change %", "text", [_change(row) for row in made], right=True),
        Column("limit", "limit", "text", [_limit(entry) for entry in entries]),
        Column("use", "use", "percent", [row["limit_use"] for row in made]),
        Column("spread", "spread ±", "percent", [_spread(entry) for entry in entries]),
        Column("launches", "launches", "count", [row["launches"] for row in made]),
        Column("hbm", f"{_memory(history)} int.", "number", [row["hbm_intensity"] for row in made]),
        Column("started", "started", "text", [(row["started"] or UNKNOWN)[:_DATE].replace("T", " ") for row in made]),
        Column("machine", "GPU, SM clock", "text", [entry.machine for entry in entries]),
    ]
    return headings_and_rows(columns)


def markdown_table(history: History) -> tuple[list[str], list[list[str]]]:
    """The same with captures as code spans."""
    headings, body = table(history)
    return headings, [[code_span(cell) if i == 1 else cell.strip() for i, cell in enumerate(line)] for line in body]


def _memory(history: History) -> str:
    return history.entries[0].side.analysis.label("hbm")


def _change(row: dict[str, Any]) -> str:
    if row["ratio"] is None:
        return UNKNOWN
    return ("≈ " if row["verdict"] == "within noise" else "") + f"{(row['ratio'] - 1) * 100:+.1f}"


def _limit(entry: Entry) -> str | None:
    return limit_label(entry.sample.results[0].limit, entry.sample.kernel) if entry.sample else None


def _spread(entry: Entry) -> float | None:
    return entry.sample.times.spread if entry.sample and entry.sample.times else None


def save_picture(history: History, target: Path) -> None:
    """Write time and use over the captures as PNG, SVG or PDF. Raises InputError where no capture has a time."""
    points = [
        HistoryPoint(
            label=entry.side.label,
            seconds=entry.sample.times.seconds if entry.sample and entry.sample.times else None,
            low=entry.sample.times.low if entry.sample and entry.sample.times else None,
            high=entry.sample.times.high if entry.sample and entry.sample.times else None,
            use=entry.sample.results[0].limit.use if entry.sample else None,
            limit=_limit(entry) or "",
            machine=entry.machine,
        )
        for entry in history.entries
    ]
    notes = [note.text for note in history.notes if note.warning]
    save(draw_history(history.name, points, notes), target)
