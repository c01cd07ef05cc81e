"""From launches to parts, one per capture in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from roofctl.launches.table import IDENTITY, Part, counts_work
from roofctl.readers.cells import Cells, Launches, prefix_of
from roofctl.readers.convert import Converter


def to_parts(batch: Sequence[Launches], converter: Converter) -> list[Part]:
    """Launches of the tables of one file as parts, one per capture among them.

    Processes of one capture collect the same counters. Two processes that share none stand
    for two captures put into one file; their times are never mixed.
    """
    names = {f"{process}{each.run}": found for each in batch for process, found in each.names.items()}
    groups = captures_of(names)
    parts = []
    for group in groups:
        pieces = [_members(each, group) for each in batch] if len(groups) > 1 else batch
        identity = {name: _texts([each.identity[name] for each in pieces]) for name in IDENTITY}
        identity["process"] = _texts([each.processes() for each in pieces])
        identity["launches"] = np.concatenate([each.launches for each in pieces])
        identity["is_summary"] = np.concatenate([np.full(len(each), each.is_summary) for each in pieces])
        held = frozenset(name for process in group for name in names[process])
        parts.append(part_of(identity, _columns(pieces, converter), converter.source, held))
    return parts


def captures_of(counters: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Processes put into captures, by the counters that each collected: those that share one belong together."""
    groups: list[tuple[set[str], set[str]]] = []
    for process, collected in counters.items():
        names = set(filter(counts_work, collected))
        shared = [group for group in groups if not names or not group[1] or names & group[1]]
        merged = ({process}.union(*(g[0] for g in shared)), names.union(*(g[1] for g in shared)))
        groups = [group for group in groups if group not in shared] + [merged]
    return [processes for processes, _ in groups]


def _members(launches: Launches, group: set[str]) -> Launches:
    """The launches of some processes."""
    processes, codes = launches.processes()
    rows = np.flatnonzero(np.array([process in group for process in processes], np.bool_)[codes])
    identity = {name: (texts, codes[rows]) for name, (texts, codes) in launches.identity.items()}
    cells = {name: cells.take(rows) for name, cells in launches.cells.items()}
    return replace(launches, identity=identity, cells=cells, launches=launches.launches[rows])


def _columns(pieces: Sequence[Launches], converter: Converter) -> dict[str, Any]:
    """Columns of the counters that some launch has, in the order in which launches have them."""
    order: dict[str, tuple[int, ...]] = {}
    for number, piece in enumerate(pieces):
        for name, held in piece.cells.items():
            if name not in order and held.texts.null_count < len(held.texts):
                row = int(held.texts.is_valid().to_numpy(zero_copy_only=False).argmax())
                line = int(held.lines[row]) if held.begin is None else held.begin
                order[name] = (prefix_of(name)[0], number, row, line, held.place)
    names = sorted(order, key=order.__getitem__)
    cells = [_joined([(len(piece), piece.cells.pop(name, None)) for piece in pieces]) for name in names]
    counters = [prefix_of(name)[1] for name in names]
    columns = dict(zip(names, converter.columns(list(zip(counters, cells, strict=True))), strict=True))
    rounded = converter.catalogue.rounded()
    for name, each in zip(names, cells, strict=True):
        if name in rounded and (steps := converter.steps(each)) is not None:
            columns[f"step:{name}"] = steps
    return columns


def _joined(pieces: Sequence[tuple[int, Cells | None]]) -> Cells:
    """The cells of several tables one after the other."""
    (_, only), *others = pieces
    if only and not others:
        return only
    units: list[str] = []
    joined: list[tuple[Any, Any, Any]] = []
    for length, cells in pieces:
        absent = Cells(pa.nulls(length, pa.string()), np.zeros(length, np.int64), [""])
        each = cells or absent
        codes = np.zeros(length, np.int64) if each.unit_of is None else each.unit_of
        joined.append((each.texts, each.lines, codes + len(units)))
        units += each.units
    texts, lines, unit_of = zip(*joined, strict=True)
    return Cells(pa.concat_arrays(texts), np.concatenate(lines), units, np.concatenate(unit_of))


def _texts(pieces: Sequence[tuple[Sequence[str], Any]]) -> Any:
    """A column of texts, None for empty ones: as pandas makes it of a list of them all."""
    values = [text for texts, _ in pieces for text in texts]
    begins = np.cumsum([0, *(len(texts) for texts, _ in pieces)])
    codes = np.concatenate([codes + begin for (_, codes), begin in zip(pieces, begins, strict=False)])
    used = np.flatnonzero(np.bincount(codes, minlength=len(values)))
    position = np.zeros(max(len(values), 1), np.int64)
    position[used] = np.arange(len(used))
    return pd.Series([values[code] or None for code in used.tolist()]).array.take(position[codes])


def part_of(identity: Mapping[str, Any], counters: Mapping[str, Any], source: str, names: frozenset[str]) -> Part:
    """A part: ``identity`` with the columns that are no counters, ``counters`` in SI base units."""
    ordered = {name: identity[name] for name in (*IDENTITY, "launches", "is_summary")}
    return Part(pd.DataFrame({**ordered, **counters}, copy=False), source, names)
