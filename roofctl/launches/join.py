"""Which parts belong together: files of one capture that complete each other, and files that are captures apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pandas as pd

from roofctl.core.kernel_names import base_name, without_casts
from roofctl.launches.table import TIME_AND_CLOCK, Part, PartInfo, counts_work
from roofctl.quantities import catalogue

_CUT: Final = ("…", "...")
"""How a name that was cut to a width ends."""


def complete(parts: Sequence[Part]) -> list[Part]:
    """Parts, those joined that hold different counters of the same launches, as runs with few counters each do.

    The counters of one quantity may then stand in several files. Parts with a time or a clock stay as they are:
    times of different runs are never mixed.
    """
    timed = catalogue().counters_of(TIME_AND_CLOCK)
    parts = _named_alike(parts)
    if sum(not timed & part.names for part in parts) < 2:  # noqa: PLR2004 - one has nothing to be joined with
        return list(parts)
    result: list[Part] = []
    candidates_of: dict[tuple[tuple[str, ...], ...], list[int]] = {}  # keyed by launches: linear in the number of files
    for part in parts:
        if timed & part.names or not _work(part):
            result.append(part)
            continue
        candidates = candidates_of.setdefault(tuple(sorted(_launches(part.frame))), [])
        index = next((i for i in candidates if not _work(result[i]) & _work(part)), None)
        if index is None:
            candidates.append(len(result))
            result.append(part)
        else:
            result[index] = _joined(result[index], part)
    return result


def _named_alike(parts: Sequence[Part]) -> list[Part]:
    """Parts, those that only time with the kernel names of the others: theirs may be base names, cut, or with casts.

    A name that may mean several kernels stays as it is.
    """
    work = [any(map(counts_work, part.names - catalogue().counters_of(TIME_AND_CLOCK))) for part in parts]
    if all(work) or not any(work):
        return list(parts)
    full = {name for part, counts in zip(parts, work, strict=True) if counts for name in part.frame["kernel"].unique()}
    by_key: dict[str, list[str]] = {}
    for name in sorted(full):
        for key in {_key(name), base_name(name)}:
            by_key.setdefault(key, []).append(name)
    return [part if counts else _renamed(part, full, by_key) for part, counts in zip(parts, work, strict=True)]


def _renamed(part: Part, full: set[str], by_key: Mapping[str, Sequence[str]]) -> Part:
    names: dict[str, str] = {}
    for name in part.frame["kernel"].unique():
        found = [name] if name in full else by_key.get(_key(name), ())
        if not found and name.endswith(_CUT):
            begin = _key(name.rstrip("".join(_CUT)))
            found = [each for each in full if _key(each).startswith(begin)]
        names[name] = found[0] if len(found) == 1 else name
    if all(old == new for old, new in names.items()):
        return part
    return replace(part, frame=part.frame.assign(kernel=part.frame["kernel"].map(names)))


def _key(name: str) -> str:
    """A kernel name without blanks and casts, which profilers print differently."""
    return re.sub(r"\s", "", without_casts(name))


def _work(part: Part) -> frozenset[str]:
    return frozenset(filter(counts_work, part.names))


def _launches(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """What each row stands for: kernel, launch shape, launches, and its number among equal ones."""
    alike = frame[["kernel", "block", "grid", "launches"]].astype(str)
    order = alike.groupby(list(alike.columns), sort=False).cumcount().astype(str)
    return list(alike.assign(order=order).itertuples(index=False, name=None))


def _joined(one: Part, two: Part) -> Part:
    position = {row: index for index, row in enumerate(_launches(two.frame))}
    more = two.frame.iloc[[position[row] for row in _launches(one.frame)]].set_index(one.frame.index)
    frame = pd.concat([one.frame, more[[name for name in more.columns if name not in one.frame.columns]]], axis=1)
    for name in ("device", "compute_capability"):
        frame[name] = frame[name].where(frame[name].notna(), more[name])
    sources = ", ".join(dict.fromkeys((*one.source.split(", "), *two.source.split(", "))))
    return Part(frame, sources, one.names | two.names, (*one.notes, *two.notes))


def captures_of(parts: Sequence[PartInfo]) -> tuple[tuple[int, ...], ...]:
    """Indices of parts by capture: each part joins the first capture that it has no conflict with.

    Whether two parts conflict follows from what they count. Parts of one kind continue where the last of them ended,
    and each two kinds are compared once, so that a thousand files of one kind cost a thousand steps.
    """
    captures: list[list[int]] = []
    kinds_in: list[set[int]] = []
    number: dict[tuple[frozenset[str], ...], int] = {}
    example: list[PartInfo] = []
    begin: list[int] = []  # per kind: every capture before this one conflicts with it
    conflicts: dict[tuple[int, int], bool] = {}

    def conflict(one: int, two: int) -> bool:
        if (one, two) not in conflicts:
            conflicts[one, two] = _conflict(example[one], example[two])
        return conflicts[one, two]

    for index, part in enumerate(parts):
        kind = number.setdefault(_kind(part), len(number))
        if kind == len(example):
            example.append(part)
            begin.append(0)
        while begin[kind] < len(captures) and any(conflict(kind, other) for other in kinds_in[begin[kind]]):
            begin[kind] += 1
        if begin[kind] == len(captures):
            captures.append([])
            kinds_in.append(set())
        captures[begin[kind]].append(index)
        kinds_in[begin[kind]].add(kind)
    return tuple(tuple(capture) for capture in captures)


def in_several(parts: Sequence[PartInfo], captures: Sequence[Sequence[int]]) -> frozenset[int]:
    """Indices of parts that have joined one capture of several, and would have fitted another as well."""
    if len(captures) < 2:  # noqa: PLR2004 - one capture leaves no choice
        return frozenset()
    kinds = [_kind(part) for part in parts]
    example = dict(zip(kinds, parts, strict=True))
    alike = {frozenset(kinds[i] for i in indices) for indices in captures}
    fits: dict[tuple[object, object], bool] = {}
    found = set()
    for indices in captures:
        own = frozenset(kinds[i] for i in indices)
        for index in indices if len(indices) > 1 else ():
            for other in alike - {own}:
                pair = (kinds[index], other)
                if pair not in fits:
                    fits[pair] = not any(_conflict(parts[index], example[kind]) for kind in other)
                if fits[pair]:
                    found.add(index)
    return frozenset(found)


def _kind(part: PartInfo) -> tuple[frozenset[str], ...]:
    """All that ``_conflict`` looks at."""
    return frozenset(part.quantities), frozenset(name for name, text in part.caveats.items() if text), part.counters


def _conflict(one: PartInfo, two: PartInfo) -> bool:
    """Whether two parts count the same thing and so belong to different captures."""
    if _has_time_and_instructions(one) and _has_time_and_instructions(two):
        return True
    known = catalogue().quantities
    counted = [{n for n in part.quantities if known[n].dimension == "count"} - {"sm_count"} for part in (one, two)]
    if counted[0] or counted[1]:
        # A better recipe beside a worse one completes it; two of the same worth are two captures.
        return any(bool(one.caveats.get(n)) == bool(two.caveats.get(n)) for n in counted[0] & counted[1])
    if one.counters or two.counters:
        return bool(one.counters & two.counters)
    return "seconds" in one.quantities and "seconds" in two.quantities


def _has_time_and_instructions(part: PartInfo) -> bool:
    names = part.quantities
    return "seconds" in names and ("thread_instructions" in names or "issued_warp_instructions" in names)
