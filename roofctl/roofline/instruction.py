"""The instruction roofline: rows that ``report`` prints and points that ``plot`` draws."""

from __future__ import annotations

from typing import Any, Final, Literal

from roofctl.core.units import WARP_THREADS
from roofctl.quantities import Chip
from roofctl.roofline import spread
from roofctl.roofline.assess import judge
from roofctl.roofline.kernel import Facts, whole
from roofctl.roofline.missing import Gaps
from roofctl.roofline.model import LEVELS, KernelPoints, Point, Roofline
from roofctl.roofline.traffic import Traffic, missing_levels, note_gaps, note_time, traffic_of

_ALL: Final = 1 + 1e-6
"""A thread efficiency above this is no efficiency: the counters do not belong together."""

Instructions = Literal["thread", "issued"]

COLUMNS: Final = (
    *("kernel", "short_name", "launches", "seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total"),
    *("time_share", "warp_instructions", "issued_warp_instructions"),
    *("l1_transactions", "l2_transactions", "hbm_transactions", "gips"),
    *("l1_intensity", "l2_intensity", "hbm_intensity", "l1_of_roof", "l2_of_roof", "hbm_of_roof", "bound"),
    # After the stable names: what bounds, and the parts that make L1, so that any weighting can be checked.
    *("bound_level", "attainable_gips", "l1_bound", "l2_bound", "hbm_bound"),
    *("l1_global_sectors", "l1_local_sectors", "l1_lsu_sectors", "shared_wavefronts"),
    *("thread_instructions", "sm_clock_hz", "grid", "block", "source"),
    *("issued_gips", "issued_of_peak", "thread_efficiency", "lost_fraction", "predicated_on_fraction"),
    *("verdict", "advice", "rank"),
)
"""Names of a row, in order. JSON and CSV have all of them; null where not known."""


def entry(
    facts: Facts, instructions: Instructions, chip: Chip | None, gaps: Gaps, *, note: str = ""
) -> tuple[dict[str, Any], KernelPoints]:
    """The row (by ``COLUMNS``) and the points of one kernel, not yet judged."""
    row = _row(facts)
    note_time(facts, gaps)
    _take_instructions(row, facts, instructions, gaps)
    _take_predication(row, facts)
    traffic = traffic_of(facts, chip)
    for level, found in traffic.items():
        row[f"{level}_transactions"] = found.transactions
        if found.transactions and row["warp_instructions"] is not None:
            row[f"{level}_intensity"] = row["warp_instructions"] / found.transactions
    note_gaps(facts, traffic, gaps)
    return row, _points(row, facts, traffic, instructions, note)


def _row(facts: Facts) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row.update(
        kernel=facts.kernel,
        short_name=facts.short_name,
        launches=facts.launches,
        grid=facts.grid,
        block=facts.block,
        source=facts.source,
        time_share=facts.time_share,
    )
    taken = ("seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total", "sm_clock_hz")
    counts = ("l1_global_sectors", "l1_local_sectors", "l1_lsu_sectors", "shared_wavefronts")
    for name in (*taken, *counts, "thread_instructions", "issued_warp_instructions"):
        row[name] = facts[name]
    return row


def _take_instructions(row: dict[str, Any], facts: Facts, instructions: Instructions, gaps: Gaps) -> None:
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
        reason = facts.reason("thread_instructions")
        gaps.add(f"no instruction count: {reason}", short)
    elif row["warp_instructions"] == 0:
        gaps.add("no point: 0 instructions were counted", short)
    elif wanted is None:
        used = "issued warp instructions" if instructions == "thread" else "thread instructions / 32 (a lower bound)"
        lacking = "thread" if instructions == "thread" else "issued warp"
        gaps.add(f"points use {used}: {lacking} instructions were not captured", short)
    elif other is None and instructions == "thread":
        gaps.add("issued warp instructions were not captured: thread instructions / 32 is a lower bound of them", short)
    if caveat := facts.caveats.get("thread_instructions"):
        gaps.add(caveat, short)
    if threads is not None and issued is not None and threads > WARP_THREADS * issued * (1 + 1e-9):
        gaps.add("more than 32 thread instructions per warp instruction: the counters do not belong together", short)
    if row["warp_instructions"] is not None and row["seconds"]:
        row["gips"] = row["warp_instructions"] / row["seconds"] / 1e9


def _take_predication(row: dict[str, Any], facts: Facts) -> None:
    """What divergence and partial warps took: thread instructions against 32 per issued warp instruction."""
    threads, issued, seconds = row["thread_instructions"], row["issued_warp_instructions"], row["seconds"]
    if issued and seconds:
        row["issued_gips"] = issued / seconds / 1e9
    if issued and threads is not None:
        row["thread_efficiency"] = threads / (WARP_THREADS * issued)
        # Means per launch that are not whole leave dust on either side of 0.
        row["lost_fraction"] = max(0.0, 1 - row["thread_efficiency"]) if row["thread_efficiency"] < _ALL else None
    on = facts["predicated_thread_instructions"]
    if threads and on is not None:
        row["predicated_on_fraction"] = on / threads


def _points(
    row: dict[str, Any], facts: Facts, traffic: dict[str, Traffic], instructions: Instructions, note: str
) -> KernelPoints:
    names = ("thread_instructions", "issued_warp_instructions")
    wanted, other = names if instructions == "thread" else names[::-1]
    work = (wanted if row[wanted] is not None else other,)
    points = []
    rate = row["gips"] * 1e9 if row["gips"] else 0.0
    for level, found in traffic.items() if rate else ():
        intensity = row[f"{level}_intensity"]
        if intensity is not None:
            ends = spread.intensities(facts, work, f"{level}_transactions", intensity)
            points.append(Point(level, found.transactions or 0, intensity, rate, found.exactness, intensities=ends))
    reason = "" if rate else "no time" if row["warp_instructions"] else "no instruction count"
    ends, why = spread.rates(facts, work, rate)
    threads = facts["thread_instructions"]
    return KernelPoints(
        kernel=facts.kernel,
        short_name=facts.short_name,
        points=tuple(points),
        seconds_total=row["seconds_total"],
        time_share=row["time_share"],
        launches=facts.launches,
        issued_per_second=None if row["issued_gips"] is None else row["issued_gips"] * 1e9,
        threads_per_second=None
        if not facts["seconds"] or threads is None
        else threads / WARP_THREADS / facts["seconds"],
        missing=missing_levels(traffic, reason),
        note=note,
        rates=ends,
        no_spread=why,
    )


def against(row: dict[str, Any], kernel: KernelPoints, roofline: Roofline) -> None:
    """Fractions, bounds and the attainable rate of a row; the issue ceiling bounds what was issued."""
    if row["gips"] is None:
        return
    idle = frozenset(level for level in LEVELS if row[f"{level}_transactions"] == 0)
    attainable = judge(row, kernel, roofline, idle)
    row["attainable_gips"] = None if attainable is None else attainable / 1e9
    if row["issued_gips"] is not None:
        row["issued_of_peak"] = row["issued_gips"] * 1e9 / roofline.peak.per_second
