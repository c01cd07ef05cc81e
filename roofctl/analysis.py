"""Kernels to rows and points: the table that ``report`` prints and ``plot`` draws."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pandas as pd

from roofctl.counts import Note
from roofctl.errors import InputError
from roofctl.grouping import Kernels
from roofctl.names import base_name, matches, short_names, some
from roofctl.quantities import Chip
from roofctl.roofline import LEVEL_LABELS, LEVELS, KernelPoints, Point, Roofline, assess, kernel_bound
from roofctl.units import WARP_THREADS

Instructions = Literal["thread", "issued"]

_STRAY_L2_SECTORS: Final = 100_000
"""Instruction and constant fetches that an all-sources L2 counter shows for a kernel without data traffic."""

_L1_TO_L2_TOLERANCE: Final = 1.05

_NO_VALUE: Final = "no value for this kernel"

_ONE_BY_ONE: Final = 3
"""More kernels than this above a roof are said in one sentence."""

COLUMNS: Final = (
    *("kernel", "short_name", "launches", "seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total"),
    *("time_share", "warp_instructions", "issued_warp_instructions"),
    *("l1_transactions", "l2_transactions", "hbm_transactions", "gips"),
    *("l1_intensity", "l2_intensity", "hbm_intensity", "l1_of_roof", "l2_of_roof", "hbm_of_roof", "bound"),
    # After the stable names: what bounds, and the parts that make L1, so that any weighting can be checked.
    *("bound_level", "attainable_gips", "l1_bound", "l2_bound", "hbm_bound"),
    *("l1_global_sectors", "l1_local_sectors", "l1_lsu_sectors", "shared_wavefronts"),
    *("thread_instructions", "sm_clock_hz", "grid", "block", "source"),
)
"""Names of a row, in order. JSON and CSV have all of them; null where not known."""


@dataclass(frozen=True)
class Analysis:
    """Rows (by ``COLUMNS``) and points of the same kernels, longest total time first; notes on all of them."""

    rows: tuple[Mapping[str, Any], ...]
    kernels: tuple[KernelPoints, ...]
    notes: tuple[Note, ...] = ()


@dataclass
class _Gaps:
    """Reasons for missing values and caveats, with the kernels they concern, to say each once."""

    kernels: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, kernel: str) -> None:
        self.kernels.setdefault(reason, []).append(kernel)

    def notes(self, of: int) -> list[Note]:
        return [Note(f"{reason} ({_who(names, of)})") for reason, names in self.kernels.items()]


def _who(names: Sequence[str], of: int) -> str:
    if len(names) >= of:
        return "all kernels" if of > 1 else names[0]
    return some(names, 3)


@dataclass(frozen=True)
class Selection:
    """Which kernels to keep.

    ``kernel`` and ``exclude`` are regular expressions, searched in the function's base name or, with
    ``match_full``, in the full name; ``top`` keeps the N with the longest total time.
    """

    kernel: str = ""
    exclude: str = ""
    match_full: bool = False
    top: int | None = None

    def keeps(self, kernel: str) -> bool:
        """Whether the name filters keep ``kernel``."""
        return matches(kernel, self.kernel, self.exclude, full=self.match_full)

    def check(self) -> None:
        """Raise InputError when a filter is no regular expression."""
        for option, pattern in (("--kernel", self.kernel), ("--exclude", self.exclude)):
            try:
                re.compile(pattern)
            except re.error as error:
                raise InputError(
                    f"{option} {pattern!r} is not a regular expression: {error}",
                    hint="put a backslash before ( ) [ ] * + ? to match them as they are",
                ) from error


def analyse(
    captures: Sequence[Kernels],
    roofline: Roofline | None,
    *,
    instructions: Instructions = "thread",
    chip: Chip | None = None,
    selection: Selection | None = None,
) -> Analysis:
    """Rows and points of the selected kernels; with a roofline also fractions, bounds and verdicts.

    ``instructions`` chooses what a point counts: thread instructions / 32 (Ding & Williams)
    or issued warp instructions; where only the other one was captured it stands in, with a note.
    Kernels of several captures stay apart and carry their source; shares are of all kernels'
    time, selected or not. Raises InputError that lists the kernels when the selection is empty.
    """
    records = _select(captures, selection or Selection())
    shorts = short_names(record["kernel"] for _, record in records)
    gaps = _Gaps()
    notes = [note for capture in captures for note in capture.notes]
    totals = {id(c): _known(c.frame["seconds_total"].sum()) if c.has("seconds") else None for c in captures}
    pairs: list[tuple[dict[str, Any], KernelPoints]] = []
    for capture, record in records:
        row = _row(record, capture, shorts, totals[id(capture)], instructions, chip, gaps)
        kernel = _points(row, several=len(captures) > 1)
        _judge(row, kernel, roofline)
        pairs.append((row, kernel))
    notes += gaps.notes(len(pairs))
    notes += _above_roof(pairs, roofline)
    rows = tuple({name: row[name] for name in COLUMNS} for row, _ in pairs)
    return Analysis(rows, tuple(kernel for _, kernel in pairs), tuple(notes))


def _select(captures: Sequence[Kernels], selection: Selection) -> list[tuple[Kernels, dict[str, Any]]]:
    """Records of the kernels to show, with their capture, longest total time first."""
    selection.check()
    records = [
        (capture, {str(name): value for name, value in record.items()})
        for capture in captures
        for record in capture.frame.to_dict("records")
    ]
    kept = [pair for pair in records if selection.keeps(pair[1]["kernel"])]
    if not kept:
        found = list(dict.fromkeys(base_name(record["kernel"]) for _, record in records))
        filters = (("--kernel", selection.kernel), ("--exclude", selection.exclude))
        given = " ".join(f"{option} {pattern!r}" for option, pattern in filters if pattern)
        raise InputError(
            f"no kernel is left by {given}; the input has: {some(found, 12)}",
            hint="filters match the function's base name; --match-full matches the full name",
        )
    kept.sort(key=lambda pair: (-(_known(pair[1].get("seconds_total")) or 0.0), pair[1]["kernel"]))
    return kept[: selection.top] if selection.top else kept


def _known(value: Any) -> Any:
    """A plain Python number, or None for any kind of missing; whole floats of counts stay as they are."""
    if value is None or pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


def whole(value: float | None) -> int | float | None:
    """An int where a count is whole (a float below 2^53 is exact), else without the dust of float sums."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return round(value, 6) if isinstance(value, float) else value


def _row(
    record: Mapping[str, Any],
    capture: Kernels,
    shorts: Mapping[str, str],
    total_seconds: float | None,
    instructions: Instructions,
    chip: Chip | None,
    gaps: _Gaps,
) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    short = shorts[record["kernel"]]
    row.update(
        kernel=record["kernel"],
        short_name=short,
        launches=whole(_known(record["launches"])),
        grid=_known(record.get("grid")),
        block=_known(record.get("block")),
        source=", ".join(capture.sources),
        missing={},
        caveats={},
    )
    for name in ("seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total", "sm_clock_hz"):
        row[name] = _known(record.get(name))
    counts = (
        "thread_instructions",
        "issued_warp_instructions",
        "l1_global_sectors",
        "l1_local_sectors",
        "l1_lsu_sectors",
        "shared_wavefronts",
    )
    for name in (*counts, *(f"{level}_transactions" for level in LEVELS)):
        row[name] = whole(_known(record.get(name)))
        row["caveats"][name] = _known(record.get(f"caveat:{name}")) or ""
    if caveat := _known(record.get("caveat:seconds")):
        gaps.add(caveat, short)
    if row["seconds"] is None:
        gaps.add(f"no time: {capture.missing.get('seconds') or _NO_VALUE}", short)
    elif row["seconds"] == 0:
        gaps.add("no rate: the time is 0", short)
    elif total_seconds:
        row["time_share"] = row["seconds_total"] / total_seconds if row["seconds_total"] is not None else None
    _take_instructions(row, capture, instructions, gaps)
    _take_levels(row, capture, chip, gaps)
    return row


def _take_instructions(row: dict[str, Any], capture: Kernels, instructions: Instructions, gaps: _Gaps) -> None:
    """Fill ``warp_instructions`` and ``gips``, by the wanted count or, with a note, the other one."""
    short = row["short_name"]
    threads, issued = row["thread_instructions"], row["issued_warp_instructions"]
    by_thread = (
        None
        if threads is None
        else whole(threads / WARP_THREADS)
        if threads % WARP_THREADS
        else whole(threads // WARP_THREADS)
    )
    wanted, other = (by_thread, issued) if instructions == "thread" else (issued, by_thread)
    row["warp_instructions"] = wanted if wanted is not None else other
    if wanted is None and other is None:
        reason = capture.missing.get("thread_instructions") or _NO_VALUE
        gaps.add(f"no instruction count: {reason}", short)
    elif row["warp_instructions"] == 0:
        gaps.add("no point: 0 instructions were counted", short)
    elif wanted is None:
        used = "issued warp instructions" if instructions == "thread" else "thread instructions / 32 (a lower bound)"
        lacking = "thread" if instructions == "thread" else "issued warp"
        gaps.add(f"points use {used}: {lacking} instructions were not captured", short)
    elif other is None and instructions == "thread":
        gaps.add("issued warp instructions were not captured: thread instructions / 32 is a lower bound of them", short)
    if caveat := row["caveats"]["thread_instructions"]:
        gaps.add(caveat, short)
    if threads is not None and issued is not None and threads > WARP_THREADS * issued * (1 + 1e-9):
        gaps.add("more than 32 thread instructions per warp instruction: the counters do not belong together", short)
    if row["warp_instructions"] is not None and row["seconds"]:
        row["gips"] = row["warp_instructions"] / row["seconds"] / 1e9


def _take_levels(row: dict[str, Any], capture: Kernels, chip: Chip | None, gaps: _Gaps) -> None:
    """Fill intensities, and per level the reason where there can be no point."""
    short = row["short_name"]
    _mark_uncounted_l1(row, chip)
    for level in LEVELS:
        name = f"{level}_transactions"
        transactions = row[name]
        label = LEVEL_LABELS[level]
        if transactions is None:
            reason = row["missing"].get(level) or capture.missing.get(name) or _NO_VALUE
            row["missing"][level] = reason
            gaps.add(f"no {label} point: {reason}", short)
        elif transactions == 0:
            row["missing"][level] = "no traffic at this level"
            gaps.add(f"no {label} point: no traffic at this level", short)
        elif row["warp_instructions"] is not None:
            row[f"{level}_intensity"] = row["warp_instructions"] / transactions
        if transactions and row["caveats"][name]:
            gaps.add(f"{label}: {row['caveats'][name]}", short)


def _mark_uncounted_l1(row: dict[str, Any], chip: Chip | None) -> None:
    """L1 whose sectors are fewer than those L2 got from it was passed by: bulk copies (TMA) and textures do that.

    Sectors pass L1 at most once each, so on chips with a bulk copy engine an exact L2 count
    above L1's says that some traffic was not counted; on any chip, none at L1 with some at L2 does.
    """
    l2, wavefronts = row["l2_transactions"], row["shared_wavefronts"] or 0
    if row["l1_transactions"] is None or l2 is None:
        return
    sectors = row["l1_transactions"] - 4 * wavefronts
    exact = not row["caveats"]["l2_transactions"]
    idle = sectors == 0 and l2 > (0 if exact else _STRAY_L2_SECTORS)
    passed_by = exact and chip is not None and chip.bulk_copy and l2 > sectors * _L1_TO_L2_TOLERANCE + _STRAY_L2_SECTORS
    if idle or passed_by:
        row["l1_transactions"] = None
        row["missing"]["l1"] = (
            "not counted: L2 got more from the multiprocessors than L1 counted (bulk copies by TMA, or textures)"
        )


def _points(row: Mapping[str, Any], *, several: bool) -> KernelPoints:
    points = []
    if row["gips"]:
        for level in LEVELS:
            if row[f"{level}_intensity"] is not None:
                caveat = row["caveats"][f"{level}_transactions"]
                points.append(
                    Point(
                        level,
                        row[f"{level}_transactions"],
                        row[f"{level}_intensity"],
                        row["gips"] * 1e9,
                        _bound_word(caveat),
                    )
                )
    missing = dict(row["missing"])
    if not row["gips"]:
        reason = "no time" if row["warp_instructions"] else "no instruction count"
        missing = {level: missing.get(level, reason) for level in LEVELS}
    issued = row["issued_warp_instructions"]
    return KernelPoints(
        kernel=row["kernel"],
        short_name=row["short_name"],
        points=tuple(points),
        seconds_total=row["seconds_total"],
        time_share=row["time_share"],
        launches=row["launches"],
        issued_per_second=issued / row["seconds"] if issued is not None and row["seconds"] else None,
        missing=missing,
        note=file_names(row["source"]) if several else "",
    )


def file_names(source: str) -> str:
    """The ``source`` of a row without folders."""
    return ", ".join(Path(path).name for path in source.split(", "))


def _bound_word(caveat: str) -> str:
    for word in ("lower bound", "upper bound"):
        if word in caveat:
            return f"{word} of the traffic"
    return "traffic not exact" if caveat else ""


def _judge(row: dict[str, Any], kernel: KernelPoints, roofline: Roofline | None) -> None:
    """Fractions and bounds against ``roofline``; without one they stay unknown."""
    if roofline is None or row["gips"] is None:
        return
    for point in kernel.points:
        assessment = assess(point, roofline)
        if assessment:
            row[f"{point.level}_of_roof"] = assessment.fraction
            row[f"{point.level}_bound"] = assessment.bound
    idle = frozenset(level for level in LEVELS if row[f"{level}_transactions"] == 0)
    limit = kernel_bound(kernel, roofline, idle)
    if limit:
        row["bound"] = limit.bound
        row["bound_level"] = limit.level
        row["attainable_gips"] = limit.attainable / 1e9


def _above_roof(pairs: Sequence[tuple[dict[str, Any], KernelPoints]], roofline: Roofline | None) -> list[Note]:
    """Points above a roof, level by level, with what can be the cause; many of them in one sentence."""
    above: dict[str, list[tuple[str, float, Point]]] = {}
    for row, kernel in pairs if roofline else ():
        for point in kernel.points:
            assessment = assess(point, roofline) if roofline else None
            if assessment and assessment.above_roof:
                above.setdefault(point.level, []).append((row["short_name"], assessment.fraction, point))
    return [Note(text, warning=True) for level, found in above.items() for text in _above_texts(level, found)]


def _above_texts(level: str, found: Sequence[tuple[str, float, Point]]) -> list[str]:
    label = LEVEL_LABELS[level]
    if len(found) <= _ONE_BY_ONE:
        return [f"{name} is {share:.0%} of its {label} roof, above it: {_above_cause([p])}" for name, share, p in found]
    worst = sorted(found, key=lambda entry: -entry[1])
    names = some([f"{name} {share:.0%}" for name, share, _ in worst], _ONE_BY_ONE)
    return [f"{len(found)} kernels are above their {label} roof ({names}): {_above_cause([p for *_, p in worst])}"]


def _above_cause(points: Sequence[Point]) -> str:
    caveats = "; ".join(dict.fromkeys(point.caveat for point in points if point.caveat))
    return (
        "the GPU ran above the clock of the ceilings, the GPU profile is not this GPU's, "
        f"or the counter leaves traffic out{f' ({caveats})' if caveats else ''}"
    )
