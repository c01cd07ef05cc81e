"""From launches to kernels: aggregate the launch table by capture and kernel, keep the spread.

Counts and times are summed over launches, then divided: rates and ratios are never averaged.
Times of different captures are never put together.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from roofctl.core.errors import InputError
from roofctl.core.kernel_names import base_name, some
from roofctl.core.notes import Note
from roofctl.launches.join import in_several
from roofctl.launches.statistics import GroupedRows, statistics
from roofctl.launches.table import OTHER_CLOCKS, TIME_AND_CLOCK, LaunchTable, PartInfo
from roofctl.quantities import catalogue

Group = Literal["kernel", "kernel+grid", "launch"]


@dataclass(frozen=True)
class CaptureInfo:
    """What holds for all kernels of a capture: its files, per quantity why no kernel has it, and notes."""

    sources: tuple[str, ...]
    missing: Mapping[str, str]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class KernelTable:
    """Kernels of all captures.

    ``frame``: one row per kernel of a capture, rows of a capture together and in order of appearance, with the columns
    ``capture`` (index into ``captures``), ``kernel``, ``block``, ``grid``, ``launches``, and per quantity X
    ``X`` (mean per launch), ``X_min``, ``X_max``, for times and counts ``X_total``, for the time and its clock
    ``X_median``. A median that cannot be known (of a summary of several launches) is missing.
    ``timed_by`` is the profiler whose time it is.
    Times and clocks are those of all launches that have them; all else is of the ``counted_launches`` (see
    ``_counted``), whose mean time is ``counted_seconds``: rates are counts over this time.
    ``caveats``: per row, texts per quantity of what is not exact.
    """

    frame: pd.DataFrame
    captures: tuple[CaptureInfo, ...]
    caveats: tuple[Mapping[str, str], ...]

    def has(self, quantity: str) -> bool:
        """Whether some kernel may have ``quantity``."""
        return quantity in self.frame.columns


def aggregate(table: LaunchTable, group: Group) -> KernelTable:
    """Kernels of each capture, by kernel, by kernel and grid, or launch by launch.

    Parts of one capture are joined by kernel: each value comes from the part that is most exact.
    Raises InputError where launches are asked for and the input is a summary.
    """
    _check_launches(table, group)
    notes: list[list[Note]] = [[] for _ in table.captures]
    keys, frame = _keys(table, group, notes)
    counted = _counted(frame, keys, table, notes) & _of_counted_shapes(frame, table, notes)
    by_part = _by_part(frame, keys, _quantities(table.parts), counted)
    by_part["timed_by"] = by_part["part"].map({number: part.profiler for number, part in enumerate(table.parts)})
    pieces: list[pd.DataFrame] = []
    caveats: list[Mapping[str, str]] = []
    infos: list[CaptureInfo] = []
    bounds = by_part["part"].to_numpy().searchsorted(range(len(table.parts) + 1))
    ambiguous = in_several(table.parts, table.captures)
    for capture, indices in enumerate(table.captures):
        members = [table.parts[index] for index in indices]
        tables = [by_part.iloc[bounds[index] : bounds[index + 1]] for index in indices]
        notes[capture] += [note for member in members for note in member.notes]
        notes[capture] += _notes_on_times(members, tables)
        notes[capture] += [_ambiguous(table, index) for index in indices if index in ambiguous]
        if len(members) > 1:
            joined, texts = _joined(members, tables, keys)
            pieces.append(joined.assign(capture=capture))
            caveats += texts
        else:
            caveats += [members[0].caveats] * len(tables[0])
        infos.append(CaptureInfo(_sources(members), _missing(members), tuple(notes[capture])))
    if pieces:
        alone = [indices[0] for indices in table.captures if len(indices) == 1]
        by_part = pd.concat([by_part[by_part["part"].isin(alone)], *pieces])
        by_part = by_part.sort_values("capture", kind="stable")
    return KernelTable(by_part.drop(columns="part").reset_index(drop=True), tuple(infos), tuple(caveats))


def _ambiguous(table: LaunchTable, index: int) -> Note:
    """A warning on a part that could belong to several captures."""
    captures = [
        [table.parts[i].source for i in indices if i != index] for indices in table.captures if index in indices
    ]
    others = ", ".join(captures[0])
    return Note(
        f"{table.parts[index].source} could belong to several of these captures; it is read with {others}. "
        "Give the files of one run at a time to be sure",
        warning=True,
    )


def _quantities(parts: Sequence[PartInfo]) -> list[str]:
    return [name for name in catalogue().quantities if any(name in part.quantities for part in parts)]


def _sources(parts: Sequence[PartInfo]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.source for part in parts))


def _missing(parts: Sequence[PartInfo]) -> dict[str, str]:
    """Reasons for the quantities that no part has, by the part that counted most."""
    richest = max(parts, key=lambda part: len(part.counters))
    missing = {name: why for name, why in richest.missing.items() if all(name in part.missing for part in parts)}
    for part in parts:
        missing.update({n: why for n, why in part.missing.items() if n in missing and "has no value" in why})
    return missing


def _check_launches(table: LaunchTable, group: Group) -> None:
    if group == "launch" and table.frame["is_summary"].any():
        summary = int(table.frame.loc[table.frame["is_summary"], "capture"].iloc[0])
        source = table.parts[table.captures[summary][0]].source
        raise InputError(
            f"{source} is a summary: single launches cannot be told apart in it",
            hint="use --group kernel, or capture without --print-summary (nvprof: --print-gpu-trace)",
        )


def _keys(table: LaunchTable, group: Group, notes: Sequence[list[Note]]) -> tuple[list[str], pd.DataFrame]:
    """Columns that a row of the result is unique by within its part, and the frame that has them."""
    frame = table.frame
    if group == "launch":
        return ["kernel", "occurrence"], frame.assign(occurrence=frame.groupby(["part", "kernel"]).cumcount())
    if group == "kernel":
        return ["kernel"], frame
    shaped = frame["grid"].notna().groupby(frame["capture"]).all()
    without = shaped.index[~shaped]
    for capture in without:
        text = "launch shapes are not in every file, so launches are grouped by kernel only"
        notes[capture].append(Note(text, warning=True))
    by_shape = ~frame["capture"].isin(without)
    shapes = {f"by_{name}": frame[name].where(by_shape) for name in ("grid", "block")}
    return ["kernel", *shapes], frame.assign(**shapes)


def _counted(frame: pd.DataFrame, keys: Sequence[str], table: LaunchTable, notes: Sequence[list[Note]]) -> Any:
    """Which rows the counts of their kernel come from: those with a time and all counts of the instruction set.

    Counts summed over some launches and times over others would give a meaningless rate. A kernel none of whose
    launches has everything keeps them all; its missing values stay missing.
    """
    known = catalogue().quantities
    needed = [
        name
        for name in _quantities(table.parts)
        if name == "seconds" or (known[name].dimension == "count" and "instruction" in known[name].sets)
    ]
    empties = {name: empty for name in needed if (empty := frame[name].isna()).any()}
    groups = [frame["part"], *(frame[key] for key in keys)]
    lacking_by = {
        name: empty & ~empty.groupby(groups, dropna=False).transform("all") for name, empty in empties.items()
    }
    if not any(lacking.any() for lacking in lacking_by.values()):
        return np.ones(len(frame), np.bool_)
    lacking = pd.concat(lacking_by, axis=1).any(axis=1)
    lacking &= (~lacking).groupby(groups, dropna=False).transform("any")
    for part in sorted(frame.loc[lacking, "part"].unique()):
        of_part = frame["part"] == part
        rows = frame[lacking & of_part]
        names = [name for name, of in lacking_by.items() if of[of_part].any()]
        kernels = list(dict.fromkeys(rows["kernel"]))
        total = int(frame.loc[of_part & frame["kernel"].isin(kernels), "launches"].sum())
        text = (
            f"{table.parts[part].source}: counts of {some(list(map(base_name, kernels)), 3)} are from "
            f"{total - int(rows['launches'].sum())} of {total} launches: no value for {some(names, 3)} in the others"
        )
        notes[int(rows["capture"].iloc[0])].append(Note(text, warning=True))
    return (~lacking).to_numpy()


def _of_counted_shapes(frame: pd.DataFrame, table: LaunchTable, notes: Sequence[list[Note]]) -> Any:
    """Which rows have a shape that was counted: of parts that only time, whose counts come from another part.

    A profiler counts some launches of a kernel where a timing run has them all, with other grids, too.
    """
    result = np.ones(len(frame), np.bool_)
    for capture, indices in enumerate(table.captures):
        timing = [i for i in indices if not table.parts[i].counters]
        counting = [i for i in indices if table.parts[i].counters]
        shapes = frame.loc[frame["part"].isin(counting), ["kernel", "grid", "block"]]
        if not timing or shapes.empty or shapes.isna().any(axis=None):
            continue
        known = pd.MultiIndex.from_frame(shapes.drop_duplicates())
        for part in timing:
            rows = frame[frame["part"] == part]
            there = pd.Series(pd.MultiIndex.from_frame(rows[["kernel", "grid", "block"]]).isin(known), rows.index)
            left = rows["grid"].notna() & ~there & there.groupby(rows["kernel"]).transform("any")
            if not left.any():
                continue
            result[np.flatnonzero(frame["part"] == part)[left.to_numpy()]] = False
            kernels = list(dict.fromkeys(map(base_name, rows.loc[left, "kernel"])))
            text = (
                f"{table.parts[part].source}: rates of {some(kernels, 3)} leave out "
                f"{int(rows.loc[left, 'launches'].sum())} launches with grids that were not counted"
            )
            notes[capture].append(Note(text))
    return result


def _by_part(frame: pd.DataFrame, keys: Sequence[str], quantities: Sequence[str], counted: Any) -> pd.DataFrame:
    """One row per part and key: mean per launch, total, median, smallest and largest value of each quantity."""
    rows = GroupedRows(frame, ["part", *keys])
    heads = frame[["capture", "part", *keys]].iloc[rows.firsts]
    columns: dict[str, Any] = {name: heads[name].array for name in heads}
    columns["launches"] = rows.launches
    columns.update({name: rows.common(name) for name in ("block", "grid")})
    columns.update(statistics(frame, quantities, rows, counted))
    return pd.DataFrame(columns, copy=False)


def _joined(
    parts: Sequence[PartInfo], tables: Sequence[pd.DataFrame], keys: Sequence[str]
) -> tuple[pd.DataFrame, list[Mapping[str, str]]]:
    """The tables of several parts as one, each value from the part to trust most; and the caveats of each row."""
    heads = pd.concat([table[list(keys)] for table in tables]).drop_duplicates(ignore_index=True)
    rows = [heads.merge(table, on=list(keys), how="left") for table in tables]
    _check_grids(parts, rows)
    timed = _by_time(parts)
    own = _timed_by(parts, rows, timed)
    columns: dict[str, pd.Series] = {name: heads[name] for name in keys}
    for name in (column for column in tables[0].columns if column not in ("capture", "part", *keys)):
        order = timed if _is_of_time(name) else _by_caveat(parts, name)
        pieces = {i: rows[i][name] for i in order}
        if name.startswith((*_CLOCKS, "timed_by")):
            pieces = {i: each.where(own[i]) if i in own else each for i, each in pieces.items()}
        columns[name] = _first_known(list(pieces.values()))
        if name.endswith("_total") and not _is_of_time(name):
            # A total belongs to the launches of its part; where the times are of others, only the mean is of use.
            counted = _first_known([rows[i]["counted_launches"].where(rows[i][name].notna()) for i in order])
            columns[name] = columns[name].where(counted == columns["counted_launches"])
    present = [row["part"].notna().tolist() for row in rows]
    caveats: list[dict[str, str]] = [{} for _ in range(len(heads))]
    for name in _quantities(parts):
        order = timed if _is_of_time(name) else _by_caveat(parts, name)
        texts = [(present[i], parts[i].caveats.get(name, "")) for i in order if name in parts[i].quantities]
        for row, of_row in enumerate(caveats):
            of_row[name] = next((text for here, text in texts if here[row]), "")
    return pd.DataFrame(columns).assign(part=-1), [{n: t for n, t in of_row.items() if t} for of_row in caveats]


def _timed_by(parts: Sequence[PartInfo], rows: Sequence[pd.DataFrame], timed: Sequence[int]) -> dict[int, pd.Series]:
    """For each part with times, in which rows its time is used: its clock belongs to no other time."""
    taken = pd.Series(data=False, index=rows[0].index)
    own: dict[int, pd.Series] = {}
    for i in timed:
        if "seconds" in parts[i].quantities:
            own[i] = rows[i]["seconds"].notna() & ~taken
            taken |= own[i]
    return own


def _check_grids(parts: Sequence[PartInfo], rows: Sequence[pd.DataFrame]) -> None:
    """Raise InputError where files that complete each other launched a kernel with different grids."""
    for one, two in itertools.combinations(range(len(parts)), 2):
        grids = rows[one]["grid"], rows[two]["grid"]
        differ = (grids[0] != grids[1]) & grids[0].notna() & grids[1].notna()
        if differ.any():
            row = int(np.flatnonzero(differ.to_numpy(dtype=bool))[0])
            raise InputError(
                f"{parts[one].source} and {parts[two].source} are of different runs: "
                f"{base_name(rows[one]['kernel'].iloc[row])} has the grid {grids[0].iloc[row]} in one and "
                f"{grids[1].iloc[row]} in the other, so counts of one do not belong to times of the other",
                hint="give one of them at a time, or capture all counters with the same input",
            )


def _first_known(columns: Sequence[pd.Series]) -> pd.Series:
    """Values of the first column that has one, row by row."""
    result = columns[0]
    for series in columns[1:]:
        if series.notna().any():
            result = result.where(result.notna(), series) if result.notna().any() else series
    return result


_CLOCKS: Final = tuple(name for name in (*TIME_AND_CLOCK, *OTHER_CLOCKS) if name.endswith("_hz"))


def _is_of_time(column: str) -> bool:
    return column in ("launches", "timed_by") or column.startswith((*TIME_AND_CLOCK, *OTHER_CLOCKS, "counted_"))


def _by_time(parts: Sequence[PartInfo]) -> list[int]:
    """Indices of parts, the one whose time is to be trusted first: unpatched before patched."""
    timed = [i for i, part in enumerate(parts) if "seconds" in part.quantities]
    rest = [i for i in range(len(parts)) if i not in timed]
    return [*sorted(timed, key=lambda i: _trust(parts[i])), *sorted(rest, key=lambda i: _trust(parts[i]))]


def _trust(part: PartInfo) -> tuple[bool, bool, bool, str]:
    """A run that only timed comes before one that counted; of equals the name decides, not the order given."""
    return part.patched, bool(part.caveats.get("seconds")), bool(part.counters), part.source


def _by_caveat(parts: Sequence[PartInfo], column: str) -> list[int]:
    name = next((q for q in catalogue().quantities if column == q or column.startswith(q + "_")), column)
    # Of equally exact values that with the time goes first, as rates and shares of time belong to it.
    order = _by_time(parts)
    return sorted(order, key=lambda i: bool(parts[i].caveats.get(name)))


_TIMES_APART: Final = 1.2
"""Factor between the times of two runs of one kernel from which on they did not do the same."""


def _times_apart(parts: Sequence[PartInfo], tables: Sequence[pd.DataFrame]) -> str:
    """Which kernel took much longer in one file of a capture than in another; empty where none did."""
    timed = [i for i, part in enumerate(parts) if "seconds" in part.quantities and not part.patched]
    for one, two in itertools.combinations(timed, 2):
        both = tables[one].merge(tables[two], on="kernel", suffixes=("_one", "_two"))
        ratio = (both["seconds_one"] / both["seconds_two"]).astype("Float64")
        far = ((ratio > _TIMES_APART) | (ratio < 1 / _TIMES_APART)).fillna(value=False).astype(bool)
        if far.any():
            kernel = base_name(both.loc[far, "kernel"].iloc[0])
            factor = max(float(ratio[far].iloc[0]), 1 / float(ratio[far].iloc[0]))
            why = "the files may be of different runs"
            if bool(parts[one].counters) != bool(parts[two].counters):
                why = "one run counted, with its own clocks and caches, and one only timed; or they are different runs"
            return (
                f"{kernel} took {factor:.2g} times as long in one of {parts[one].source} and {parts[two].source}: {why}"
            )
    return ""


def _ambiguous_names(parts: Sequence[PartInfo], tables: Sequence[pd.DataFrame]) -> list[Note]:
    """A warning on names of a file that only times and that may mean several of the kernels counted."""
    pairs = list(zip(parts, tables, strict=True))
    counted = {name for part, table in pairs if part.counters for name in table["kernel"]}
    meant = Counter(map(base_name, counted))
    notes = []
    for part, table in pairs:
        names = [] if part.counters else [name for name in table["kernel"].unique() if name not in counted]
        if several := [name for name in names if meant[name] > 1]:
            text = f"{part.source}: {some(several, 3)} may be any of several kernels counted: its times stay apart"
            notes.append(Note(text, warning=True))
    return notes


def _notes_on_times(parts: Sequence[PartInfo], tables: Sequence[pd.DataFrame]) -> list[Note]:
    """Whose times are used, and where the files of one capture differ in launches."""
    notes = []
    chosen, *others = [i for i in _by_time(parts) if "seconds" in parts[i].quantities] or [-1]
    if others:
        patched = any(parts[i].patched for i in others) and not parts[chosen].patched
        why = ", without patched instructions" if patched else ""
        notes.append(Note(f"times are those of {parts[chosen].source}{why}; the other runs' times are left out"))
    # A file with times of its own keeps its clock for them.
    of_clocks = [i for i in _by_time(parts) if "sm_clock_hz" in parts[i].quantities]
    clocked = next((i for i in of_clocks if "seconds" not in parts[i].quantities), None)
    if chosen >= 0 and clocked is not None and "sm_clock_hz" not in parts[chosen].quantities:
        text = f"{parts[chosen].source} has the times and no SM clock: the clock is that of {parts[clocked].source}"
        notes.append(Note(text, warning=True))
    notes += _ambiguous_names(parts, tables)
    apart = _times_apart(parts, tables)
    notes += [Note(apart, warning=True)] if apart else []
    counts = {part.source: table["launches"].sum() for part, table in zip(parts, tables, strict=True)}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count} in {source}" for source, count in counts.items())
        text = f"the files of one capture differ in launches ({listed}); means per launch are used"
        notes.append(Note(text, warning=True))
    return notes
