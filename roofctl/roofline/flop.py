"""The FLOP roofline: operations per byte, one row and one set of points per kernel and type of operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roofctl.core.errors import InputError
from roofctl.core.units import SECTOR_BYTES
from roofctl.quantities import Chip
from roofctl.roofline import spread
from roofctl.roofline.assess import judge
from roofctl.roofline.kernel import Facts
from roofctl.roofline.missing import Gaps
from roofctl.roofline.model import LEVELS, WORK_LABELS, KernelPoints, Point, Roofline
from roofctl.roofline.traffic import Traffic, missing_levels, note_gaps, note_time, traffic_of

OPERATIONS: Final[Mapping[str, str]] = {
    "fp64": "fp64_flops",
    "fp32": "fp32_flops",
    "fp16": "fp16_flops",
    "fp64_tc": "tensor_fp64_ops",
    "tf32_tc": "tensor_tf32_ops",
    "bf16_tc": "tensor_bf16_ops",
    "fp16_tc": "tensor_fp16_ops",
    "fp8_tc": "tensor_fp8_ops",
    "int8_tc": "tensor_int8_ops",
}
"""The quantity that counts each type of operation."""

ALL: Final = "all"

_LEAST_SHARE: Final = 0.01
"""Unless asked for, a type that does less of a kernel's operations than this is named but not drawn."""

IN_SETS: Final = {"flop": ("fp64", "fp32", "fp16"), "tensor": tuple(w for w in OPERATIONS if w.endswith("_tc"))}
"""The types of operation that each metric set counts."""

COLUMNS: Final = (
    *("kernel", "short_name", "precision", "launches"),
    *("seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total", "time_share"),
    *("flops", "flops_share", "flops_per_second", "l1_bytes", "l2_bytes", "hbm_bytes"),
    *("l1_intensity", "l2_intensity", "hbm_intensity", "l1_of_roof", "l2_of_roof", "hbm_of_roof", "bound"),
    *("bound_level", "attainable_flops_per_second", "of_peak", "l1_bound", "l2_bound", "hbm_bound"),
    *("flops_caveat", "integer_instructions", "sm_clock_hz", "grid", "block", "source"),
    *("verdict", "advice", "rank"),
)
"""Names of a row, in order. ``precision`` and what follows from it are null for a kernel without such work."""


def check_counted(kernels: Sequence[Facts]) -> None:
    """Raise InputError when no kernel has any count of operations: there is no FLOP roofline then."""
    if any(facts[name] is not None for facts in kernels for name in OPERATIONS.values()):
        return
    raise InputError(
        "the FLOP roofline needs counts of floating-point operations, and the input holds none "
        f"({kernels[0].reason('fp32_flops')})",
        hint="capture them: roofctl profile --set flop --set tensor ./app (or --set all)",
    )


def note_sets(kernels: Sequence[Facts], gaps: Gaps) -> None:
    """Say which metric set, or which type of it, is not in the input, so that work may be missing."""
    for name, works in IN_SETS.items():
        for facts in kernels:
            lacking = [work for work in works if facts[OPERATIONS[work]] is None and not _impossible(facts, work)]
            possible = [work for work in works if not _impossible(facts, work)]
            if lacking and lacking == possible:
                why = facts.reason(OPERATIONS[lacking[0]])
                what = why if why.startswith("tensor") else f"floating-point operations were not counted ({why})"
                gaps.add(f"{what}: the metric set {name} is missing (roofctl profile --set {name})", facts.short_name)
                continue
            for work in lacking:
                gaps.add(f"no {WORK_LABELS[work]} operations: {facts.reason(OPERATIONS[work])}", facts.short_name)


def _impossible(facts: Facts, work: str) -> bool:
    """Whether the chip's tensor cores do not take this type, so that a missing count is known to be none."""
    return facts[OPERATIONS[work]] is None and "tensor cores of this chip" in facts.reason(OPERATIONS[work])


def entries(
    facts: Facts, precisions: Sequence[str], chip: Chip | None, gaps: Gaps, *, moves: bool, note: str = ""
) -> list[tuple[dict[str, Any], KernelPoints]]:
    """Rows and points of one kernel, one per type of operation, the largest first; not yet judged.

    ``precisions`` empty: the types that the kernel mainly uses; ``all``: every type it uses.
    ``moves``: its FP16 instructions are as few and of the kind that compilers move constants with.
    """
    note_time(facts, gaps)
    traffic = traffic_of(facts, chip)
    works, why_none = _works(facts, precisions, gaps, moves=moves)
    if works:
        note_gaps(facts, traffic, gaps)
        if "fp16" in works and only_fma(facts):
            gaps.add("FP16 work that is all HFMA2, which also moves constants, may be less or none", facts.short_name)
    return [_entry(facts, work, traffic, note, why_none) for work in works or (None,)]


def only_fma(facts: Facts) -> bool:
    """Whether all half-precision instructions are HFMA, the kind that moves constants too."""
    return bool(facts["fp16_fma_instructions"]) and facts["fp16_other_instructions"] == 0


def _works(facts: Facts, precisions: Sequence[str], gaps: Gaps, *, moves: bool) -> tuple[list[str], str]:
    """Types of operation to show; where there are none, why."""
    counted = {work: facts[name] for work, name in OPERATIONS.items() if facts[name] is not None}
    used = sorted((work for work, count in counted.items() if count), key=lambda work: -counted[work])
    short = facts.short_name
    if precisions and ALL not in precisions:
        for work in precisions:
            if work in counted and work not in used:
                gaps.add(f"no {WORK_LABELS[work]} operations: none", short)
        labels = ", ".join(WORK_LABELS[work] for work in precisions)
        return [work for work in used if work in precisions], f"no {labels} operations are known"
    if ALL in precisions:
        return used, "" if used else _why_none(facts, counted, gaps)
    if moves and "fp16" in used:
        used.remove("fp16")
        gaps.add(
            "not drawn: FP16 work that is all HFMA2 and so little that it may be constants being moved "
            "(--precision fp16 draws it)",
            short,
        )
    total = sum(counted[work] for work in used)
    small = [work for work in used if counted[work] < _LEAST_SHARE * total]
    for work in small:
        gaps.add(f"not drawn: {WORK_LABELS[work]} is less than 1 % of the operations (--precision all draws it)", short)
    return [work for work in used if work not in small], "" if used else _why_none(facts, counted, gaps)


def _why_none(facts: Facts, counted: Mapping[str, Any], gaps: Gaps) -> str:
    """Why a kernel has no operations: it is an integer kernel only where everything was counted."""
    unknown = [work for work in OPERATIONS if work not in counted and not _impossible(facts, work)]
    if unknown:
        kinds = {"tensor" if work.endswith("_tc") else WORK_LABELS[work] for work in unknown}
        reason = f"no floating-point work is known: {', '.join(sorted(kinds))} operations were not counted"
    else:
        kind = "only integer and memory work" if facts["integer_instructions"] else "no floating-point work"
        reason = f"{kind}; see --model instruction"
    gaps.add(f"not on a FLOP roofline: {reason}", facts.short_name)
    return reason


def _entry(
    facts: Facts, work: str | None, traffic: Mapping[str, Traffic], note: str, why_none: str
) -> tuple[dict[str, Any], KernelPoints]:
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row.update(
        kernel=facts.kernel,
        short_name=facts.short_name,
        precision=work,
        launches=facts.launches,
        time_share=facts.time_share,
        integer_instructions=facts["integer_instructions"],
        sm_clock_hz=facts["sm_clock_hz"],
        grid=facts.grid,
        block=facts.block,
        source=facts.source,
    )
    for name in ("seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total"):
        row[name] = facts[name]
    for level, found in traffic.items():
        row[f"{level}_bytes"] = None if found.transactions is None else found.transactions * SECTOR_BYTES
    if work is None:
        row["verdict"] = why_none
        return row, _points(row, facts, {}, dict.fromkeys(LEVELS, why_none), "", note)
    flops = facts[OPERATIONS[work]]
    caveat = facts.caveats.get(OPERATIONS[work], "")
    row.update(flops=flops, flops_share=_share(facts, flops), flops_caveat=caveat or None)
    if facts["seconds"]:
        row["flops_per_second"] = flops / facts["seconds"]
    for level, found in traffic.items():
        if found.transactions:
            row[f"{level}_intensity"] = flops / (found.transactions * SECTOR_BYTES)
    missing = missing_levels(traffic, "" if row["flops_per_second"] else "no time")
    return row, _points(row, facts, traffic, missing, _exactness(facts, work, caveat), note)


def _share(facts: Facts, flops: float) -> float | None:
    """Part of all operations, where all were counted that the chip can do."""
    unknown = [work for work, name in OPERATIONS.items() if facts[name] is None and not _impossible(facts, work)]
    return None if unknown else flops / sum(facts[name] or 0 for name in OPERATIONS.values())


def _exactness(facts: Facts, work: str, caveat: str) -> str:
    if work == "fp16" and only_fma(facts):
        return "HFMA2, which may only move constants"
    for word in ("estimate", "lower bound", "upper bound"):
        if word in caveat:
            return f"{word} of the operations"
    return "operations not exact" if caveat else ""


def _points(
    row: Mapping[str, Any],
    facts: Facts,
    traffic: Mapping[str, Traffic],
    missing: Mapping[str, str],
    inexact: str,
    note: str,
) -> KernelPoints:
    work, rate = row["precision"] or "", row["flops_per_second"] or 0.0
    counted = (OPERATIONS[work],) if work else ()
    points = []
    for level, found in traffic.items() if rate else ():
        intensity = row[f"{level}_intensity"]
        if intensity is not None:
            caveat = "; ".join(filter(None, (inexact, found.exactness)))
            ends = spread.intensities(facts, counted, f"{level}_transactions", intensity)
            points.append(Point(level, row[f"{level}_bytes"], intensity, rate, caveat, work, ends))
    ends, why = spread.rates(facts, counted, rate) if work else (None, "")
    return KernelPoints(
        kernel=facts.kernel,
        short_name=facts.short_name,
        points=tuple(points),
        seconds_total=facts["seconds_total"],
        time_share=facts.time_share,
        launches=facts.launches,
        missing=missing,
        note=note,
        work=work,
        rates=ends,
        no_spread=why,
    )


def against(row: dict[str, Any], kernel: KernelPoints, roofline: Roofline) -> None:
    """Fractions, bounds and the attainable rate of a row, by the peak of its own type of operation."""
    if row["flops_per_second"] is None:
        return
    idle = frozenset(level for level in LEVELS if row[f"{level}_bytes"] == 0)
    row["attainable_flops_per_second"] = judge(row, kernel, roofline, idle)
    peak = roofline.peak_of(kernel.work)
    row["of_peak"] = row["flops_per_second"] / peak.per_second if peak else None
