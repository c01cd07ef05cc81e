"""The FLOP roofline: operations per byte, one result per kernel and type of operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from roofctl import advice
from roofctl.core.errors import InputError
from roofctl.core.precisions import CHOOSABLE, COUNTED, PRECISIONS
from roofctl.core.units import percent
from roofctl.quantities import Chip
from roofctl.roofline import spread
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.missing import Reasons, is_derived
from roofctl.roofline.model import WORK_LABELS, KernelPoints, Roofline, all_levels
from roofctl.roofline.result import Result, points_of
from roofctl.roofline.traffic import Traffic, missing_levels, note_levels, note_time, traffic_of

OPERATIONS: Final = COUNTED
"""The quantity that counts each type of operation."""

ALL: Final = "all"

_LEAST_SHARE: Final = 0.01
"""Unless asked for, a type that does less of a kernel's operations than this is named but not drawn."""

_CONSTANTS: Final = (
    "FP16 work that is all HFMA2 may be constants being moved; where it is little it is not drawn "
    "(--precision fp16 draws it)"
)

_MOST_SINGLE: Final = 2
"""More types of a metric set than this that were not counted share one note."""

_XU_SHARE: Final = 1 / 16
"""From this share of warp instructions on a kernel's work is that of the transcendental unit (XU). A scheduler issues
an instruction per clock and the XU takes one in eight, so that at this share it is busy half of the time."""

_NO_COUNT_NEEDED: Final = ("tensor cores of this chip", "as one")
"""Words of reasons for a missing count that also say that there is nothing to count: the chip does not take the type,
or counts it with another."""

IN_SETS: Final = {
    name: tuple(work for work in OPERATIONS if PRECISIONS[work].metric_set == name) for name in ("flop", "tensor")
}
"""The types of operation that each metric set counts."""


@dataclass(frozen=True)
class FlopResult(Result):
    """One type of operation of a kernel; ``amount`` is in operations.

    ``work`` is the type, None for a kernel without known floating-point work, with the reason in ``none``.
    ``share`` is the part of all operations of the kernel, where all were counted. ``of_peak`` is the fraction of the
    type's own peak.
    """

    work: str | None = None
    share: float | None = None
    caveat: str = ""
    none: str = ""
    of_peak: float | None = None

    def against(self, roofline: Roofline) -> FlopResult:
        """This result compared with a roofline, by the peak of its own type of operation."""
        if self.per_second is None:
            return self
        peak = roofline.peak_of(self.points.work)
        of_peak = self.per_second / peak.per_second if peak else None
        return replace(self, of_peak=of_peak)


def check_counted(kernels: Sequence[Kernel]) -> None:
    """Raise InputError when no kernel has any count of operations: there is no FLOP roofline then."""
    if any(kernel[name] is not None for kernel in kernels for name in OPERATIONS.values()):
        return
    raise InputError(
        "the FLOP roofline needs counts of floating-point operations, and the input holds none "
        f"({kernels[0].reason('fp32_flops')})",
        hint="capture them: roofctl profile --set flop --set tensor ./app (or --set all)",
    )


def note_sets(kernels: Sequence[Kernel], reasons: Reasons) -> None:
    """Add which metric set, or which type of it, is not in the input, so that work may be missing."""
    for name, works in IN_SETS.items():
        for kernel in kernels:
            lacking = [work for work in works if kernel[OPERATIONS[work]] is None and not _impossible(kernel, work)]
            possible = [work for work in works if not _impossible(kernel, work)]
            if lacking and lacking == possible:
                why = kernel.reason(OPERATIONS[lacking[0]])
                what = why if why.startswith("tensor") else f"floating-point operations were not counted ({why})"
                reasons.add(
                    f"{what}: the metric set {name} is missing (roofctl profile --set {name})", kernel.short_name
                )
                continue
            if len(lacking) > _MOST_SINGLE:
                labels = ", ".join(WORK_LABELS[work] for work in lacking)
                reasons.add(f"operations not counted: {labels} (roofctl profile --set {name})", kernel.short_name)
                continue
            for work in lacking:
                reasons.add(f"no {WORK_LABELS[work]} operations: {kernel.reason(OPERATIONS[work])}", kernel.short_name)


def _impossible(kernel: Kernel, work: str) -> bool:
    """Whether the chip does not do this type, or counts it with another, so that a missing count is known to be none.

    Types that few programs use are taken for none where they were not counted.
    """
    if kernel[OPERATIONS[work]] is not None:
        return False
    reason = kernel.reason(OPERATIONS[work])
    return PRECISIONS[work].rare or any(words in reason for words in _NO_COUNT_NEEDED)


def results(
    kernel: Kernel, precisions: Sequence[str], chip: Chip | None, reasons: Reasons, *, moves: bool, note: str = ""
) -> list[FlopResult]:
    """Results of one kernel, one per type of operation, the largest first; not yet compared with a roofline.

    ``precisions`` empty: the types that the kernel mainly uses; ``all``: every type it uses.
    ``moves``: its FP16 instructions are as few and of the kind that compilers move constants with.
    ``note`` is shown with the kernel's name in pictures.
    """
    note_time(kernel, reasons)
    traffic = traffic_of(kernel, chip)
    works, notes = _works(kernel, precisions, moves=moves)
    for note_text in notes:
        reasons.add(note_text, kernel.short_name)
    if not works:
        why_none = _why_none(kernel, precisions, reasons)
        points = _points(kernel, None, None, {}, dict.fromkeys(all_levels(), why_none), "", note)
        return [FlopResult(kernel, None, None, traffic, points, none=why_none)]
    note_levels(kernel, traffic, reasons)
    if "fp16" in works and only_fma(kernel):
        reasons.add(_CONSTANTS, kernel.short_name)
    for work in works:
        if PRECISIONS[work].note:
            reasons.add(f"{WORK_LABELS[work]}: {PRECISIONS[work].note}", kernel.short_name)
        if is_derived(caveat := kernel.caveats.get(CHOOSABLE[work], "")):
            reasons.add(f"{WORK_LABELS[work]} operations: {caveat}", kernel.short_name)
    return [_result(kernel, work, traffic, note) for work in works]


def operations_of(kernel: Kernel) -> dict[str, float]:
    """Operations by type, without FP16 instructions that only move constants."""
    moves = moves_constants(kernel)
    return {
        work: kernel[quantity]
        for work, quantity in OPERATIONS.items()
        if kernel[quantity] and not (moves and work == "fp16")
    }


def moves_constants(kernel: Kernel) -> bool:
    """Whether the FP16 instructions of a kernel are of the kind and number that compilers move constants with."""
    return advice.moves_constants(kernel.values)


def _result(kernel: Kernel, work: str, traffic: Mapping[str, Traffic], note: str) -> FlopResult:
    operations, seconds = kernel[CHOOSABLE[work]], kernel["counted_seconds"]
    caveat = kernel.caveats.get(CHOOSABLE[work], "")
    rate = operations / seconds if seconds else None
    missing = missing_levels(traffic, "" if rate else "no time")
    return FlopResult(
        kernel=kernel,
        amount=operations,
        per_second=rate,
        traffic=traffic,
        points=_points(kernel, work, rate, traffic, missing, _exactness(kernel, work, caveat), note),
        work=work,
        share=_share(kernel, operations) if work in OPERATIONS else None,
        caveat=caveat,
    )


def only_fma(kernel: Kernel) -> bool:
    """Whether all half-precision instructions are HFMA, the kind that moves constants too."""
    return bool(kernel["fp16_fma_instructions"]) and kernel["fp16_other_instructions"] == 0


def _works(kernel: Kernel, precisions: Sequence[str], *, moves: bool) -> tuple[list[str], list[str]]:
    """Types of operation to show, the largest first, and notes on those that are left out."""
    choosable = CHOOSABLE if precisions else OPERATIONS
    counted = {work: kernel[name] for work, name in choosable.items() if kernel[name] is not None}
    used = sorted((work for work, count in counted.items() if count), key=lambda work: -counted[work])
    if ALL in precisions:
        return used, []
    if precisions:
        unused = [work for work in precisions if work in counted and work not in used]
        return [work for work in used if work in precisions], [f"no {WORK_LABELS[w]} operations: none" for w in unused]
    notes = [_CONSTANTS] if moves and "fp16" in used else []
    kept = [work for work in used if not (moves and work == "fp16")]
    total = sum(counted[work] for work in kept)
    small = [work for work in kept if counted[work] < _LEAST_SHARE * total]
    notes += [
        f"not drawn: {WORK_LABELS[work]} is less than 1 % of the operations (--precision all draws it)"
        for work in small
    ]
    return [work for work in kept if work not in small], notes


def _why_none(kernel: Kernel, precisions: Sequence[str], reasons: Reasons) -> str:
    """Why a kernel has no operations: it is an integer kernel only where everything was counted."""
    if precisions and ALL not in precisions:
        return f"no {', '.join(WORK_LABELS[work] for work in precisions)} operations are known"
    unknown = [work for work, name in OPERATIONS.items() if kernel[name] is None and not _impossible(kernel, work)]
    if unknown:
        kinds = {"tensor" if PRECISIONS[work].tensor else WORK_LABELS[work] for work in unknown}
        reason = f"no floating-point work is known: {', '.join(sorted(kinds))} operations were not counted"
    else:
        reason = f"{_other_work(kernel)}; see --model instruction"
    reasons.add(f"not on a FLOP roofline: {reason}", kernel.short_name)
    return reason


def _other_work(kernel: Kernel) -> str:
    """What a kernel without floating-point operations does."""
    transcendental, issued = kernel["xu_instructions"], kernel["issued_warp_instructions"]
    if transcendental and issued and transcendental >= _XU_SHARE * issued:
        return f"transcendental (MUFU) work: {percent(transcendental / issued)} of its warp instructions"
    return "only integer and memory work" if kernel["integer_instructions"] else "no floating-point work"


def _may_hold(kernel: Kernel, work: str) -> tuple[str, ...]:
    """Types that the counter of ``work`` counts too: other accumulation or sparsity, where it was not counted apart."""
    stem = work.removesuffix("_tc")
    others = (f"{stem}_acc16_tc", f"{stem}_sparse_tc", f"{stem}_acc16_sparse_tc")
    return tuple(
        other
        for other in others
        if other in CHOOSABLE
        and kernel[CHOOSABLE[other]] is None
        # A chip that does not take it, or has a counter of its own for it, did not count it here.
        and ("as one" in kernel.reason(CHOOSABLE[other]) or PRECISIONS[other].sparse)
    )


def _share(kernel: Kernel, flops: float) -> float | None:
    """Part of all operations, where all were counted that the chip can do."""
    unknown = [work for work, name in OPERATIONS.items() if kernel[name] is None and not _impossible(kernel, work)]
    total = sum(kernel[name] or 0 for name in OPERATIONS.values())
    return None if unknown or not total else flops / total


def _exactness(kernel: Kernel, work: str, caveat: str) -> str:
    if work == "fp16" and only_fma(kernel):
        return "HFMA2, which may only move constants"
    for word in ("estimate", "lower bound", "upper bound"):
        if word in caveat:
            return f"{word} of the operations"
    if caveat.startswith("derived"):
        return "operations derived"
    return "operations not exact" if caveat else ""


def _points(
    kernel: Kernel,
    work: str | None,
    rate: float | None,
    traffic: Mapping[str, Traffic],
    missing: Mapping[str, str],
    inexact: str,
    note: str,
) -> KernelPoints:
    counted = (CHOOSABLE[work],) if work else ()
    amount = kernel[counted[0]] if counted else None
    ends, why = spread.rates(kernel, counted, rate or 0.0) if work else (None, "")
    return KernelPoints(
        kernel=kernel.name,
        short_name=kernel.short_name,
        points=points_of(
            kernel,
            traffic,
            amount=amount,
            rate=rate or 0.0,
            counted=counted,
            model="flop",
            work=work or "",
            inexact=inexact,
        ),
        seconds_total=kernel["seconds_total"],
        time_share=kernel.time_share,
        launches=kernel.launches,
        missing=missing,
        note=note,
        work=work or "",
        rates=ends,
        no_spread=why,
        may_hold=_may_hold(kernel, work) if work else (),
    )
