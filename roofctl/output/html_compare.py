"""What a page shows of the capture before a change: the kernel of each row as it was, and which kernels are gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from roofctl.roofline.analyse import Explained
from roofctl.roofline.compare import KernelChange, compare_kernels
from roofctl.roofline.limit_words import label
from roofctl.study.analyse import Analysis
from roofctl.study.variants import Variants, basis_of


def analysis_like(variants: Variants, analysis: Analysis) -> Analysis | None:
    """That of these variants in the same model, with the same kind of ceilings where it is there; None without one."""
    alike = [each for each in variants.analyses if each.results.model == analysis.results.model]
    return next((each for each in alike if basis_of(each) == basis_of(analysis)), alike[0] if alike else None)


def compared(before: Analysis, after: Analysis) -> tuple[list[dict[str, Any] | None], dict[str, Any]]:
    """For each row of ``after`` the kernel before, None for a new one; and the label, the sums and the gone kernels.

    Times are seconds per launch, points are level, intensity and rate per second.
    """
    changes = compare_kernels(before.results.explained, after.results.explained)
    found = {id(now): (change, was) for change in changes for was, now in results_of(change) if now}
    rows = [_before(*found[id(each)]) if id(each) in found else None for each in after.results.explained]
    gone = [change.before for change in changes if change.before and change.after is None]
    verdicts = [change.verdict for change in changes]
    whole = {
        "label": ", ".join(Path(source).name for source in before.sources),
        "seconds": [_seconds(before), _seconds(after)],
        "verdicts": {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)},
        "gone": [[sample.kernel.short_name, sample.kernel["seconds_total"]] for sample in gone],
    }
    return rows, whole


def results_of(change: KernelChange) -> Iterator[tuple[Explained | None, Explained | None]]:
    """Results of one type of operation before and after; None where a side has none."""
    by_work = [
        {each.result.points.work: each for each in side.results} if side else {}
        for side in (change.before, change.after)
    ]
    for work in dict.fromkeys([*by_work[1], *by_work[0]]):
        yield by_work[0].get(work), by_work[1].get(work)


def _before(change: KernelChange, was: Explained | None) -> dict[str, Any] | None:
    if was is None or change.before is None:
        return None
    return {
        "name": was.result.kernel.short_name,
        "how": change.how,
        "seconds": change.before.times.seconds if change.before.times else None,
        "ratio": change.ratio,
        "verdict": change.verdict,
        "limit": label(was.limit, was.result.kernel),
        "use": was.limit.use,
        "points": [[point.level, point.intensity, point.per_second] for point in was.result.points.points],
    }


def _seconds(analysis: Analysis) -> float | None:
    """Time of all kernels in seconds; None where one has none, and of several captures, whose sum has no meaning."""
    kernels: Sequence[Any] = analysis.results.kernels
    totals = [kernel["seconds_total"] for kernel in kernels]
    return None if None in totals or len({kernel.sources for kernel in kernels}) > 1 else sum(totals)
