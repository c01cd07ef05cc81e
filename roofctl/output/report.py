"""The report of an analysis: one document for JSON, and the same as CSV, Markdown and a table for people."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Final

from roofctl.core.kernel_names import some
from roofctl.output.captions import describe_ceilings
from roofctl.output.markdown import code_span
from roofctl.output.rows import columns, rows
from roofctl.quantities import catalogue
from roofctl.roofline.analyse import ModelResults
from roofctl.roofline.flop import FlopResult
from roofctl.roofline.model import WORK_LABELS, Peak, Roofline
from roofctl.study.analyse import Analysis
from roofctl.study.clocks import alike

SCHEMA: Final = 2

_NO_SPREAD: Final = {
    "seconds_median": "no median of the time: a summary does not hold the single launches",
    "seconds_min": "no smallest and largest time: the summary holds none, or none that enclose its mean",
}

ADVISED: Final = 5
"""Kernels whose verdict and advice follow a table; JSON and CSV hold those of all."""

_NARROWEST: Final = 40
_UNKNOWN: Final = "–"


def document(analysis: Analysis) -> dict[str, Any]:
    """The report as JSON-ready data: schema, source, gpu, ceilings, notes, kernels.

    Units are in the names; a value that is not known is None and a note says why.
    """
    return {
        **head(analysis),
        "notes": [*(note.text for note in analysis.notes if not note.detail), *_reasons(analysis)],
        **_own_quantities(),
        "kernels": rows(analysis.results),
    }


def _own_quantities() -> dict[str, Any]:
    """Unit, meaning and formulas of the user's own quantities; nothing where there are none."""
    own = {
        quantity.name: {
            "unit": quantity.unit,
            "meaning": quantity.meaning,
            "level": catalogue().levels.get(quantity.name),
            "formulas": {recipe.profiler: str(recipe.formula) for recipe in quantity.recipes},
        }
        for quantity in catalogue().own
    }
    return {"quantities": own} if own else {}


def head(analysis: Analysis) -> dict[str, Any]:
    """What every document begins with: schema, model, source, what is incomplete, gpu, ceilings."""
    profile, clock = analysis.profile, analysis.clock
    return {
        "schema": SCHEMA,
        "model": analysis.results.model,
        "source": list(analysis.sources),
        "incomplete": list(analysis.incomplete),
        "gpu": {
            "name": next(iter(analysis.device.names), None),
            "profile": analysis.ceilings_gpu.profile if analysis.ceilings_gpu else None,
            "chip": profile.chip if profile else None,
            "compute_capability": profile.compute_capability
            if profile
            else next(iter(analysis.device.compute_capabilities), None),
            "sm_clock_hz": clock.hz if clock else None,
            "sm_clock_origin": clock.origin if clock else None,
        },
        "ceilings_gpu": _ceilings_gpu(analysis),
        "ceilings": _all_ceilings(analysis),
    }


def _ceilings_gpu(analysis: Analysis) -> dict[str, Any] | None:
    """The GPU of the ceilings; ``of_capture`` is false where the capture is of another one, null where not known."""
    gpu = analysis.ceilings_gpu
    return None if gpu is None else {"name": gpu.name, "profile": gpu.profile, "of_capture": gpu.of_capture}


def ceilings_markdown(analysis: Analysis) -> str:
    """The line on the ceilings as a paragraph of Markdown."""
    text = describe_ceilings(analysis)
    return text[:1].upper() + text[1:]


def _all_ceilings(analysis: Analysis) -> list[dict[str, Any]]:
    """The ceilings of each roofline, of captures at different clocks at each of them, every entry once."""
    clocks = [clock for clock, _ in alike(analysis.clocks.each)]
    rooflines = [r.at_clock(clock) for clock in clocks for r in analysis.rooflines] or analysis.rooflines
    entries = [entry for roofline in rooflines for entry in ceilings(roofline)]
    return [entry for index, entry in enumerate(entries) if entry not in entries[:index]]


def _reasons(analysis: Analysis) -> list[str]:
    """Reasons for null values without a note: those that need a GPU profile, and the spread of a summary."""
    reasons = [f"fractions and bounds are not known: {analysis.unknown_gpu.message}"] if analysis.unknown_gpu else []
    kernels = [each.result.kernel for each in analysis.results.explained]
    for name, why in _NO_SPREAD.items():
        without = [kernel.short_name for kernel in kernels if kernel["seconds"] is not None and kernel[name] is None]
        reasons += [f"{why} ({some(without, 3)})"] if without else []
    return reasons


def ceilings(roofline: Roofline) -> list[dict[str, Any]]:
    """One entry per ceiling: level (``issue`` for the instruction peak), rate, clock, origin, ridge."""
    rate = "warp_instructions_per_second" if roofline.model == "instruction" else "flops_per_second"
    rows: list[dict[str, Any]] = [
        {
            "level": peak.work,
            "basis": peak.basis,
            rate: peak.per_second,
            "clock_hz": peak.clock.hz if peak.clock else None,
            "origin": peak.origin,
            "source": peak.source or None,
            **_sustained(peak),
        }
        for peak in roofline.peaks
    ]
    rows += [
        {
            "level": bandwidth.level,
            "basis": bandwidth.basis,
            "bytes_per_second": bandwidth.bytes_per_second,
            "transactions_per_second": bandwidth.transactions_per_second,
            **_ridges(roofline, bandwidth.level),
            "clock_hz": bandwidth.clock.hz if bandwidth.clock else None,
            "origin": bandwidth.origin,
            "source": bandwidth.source or None,
        }
        for bandwidth in roofline.bandwidths
    ]
    rows += [{"level": level, "basis": roofline.basis, "absent": why} for level, why in roofline.absent.items()]
    return rows


def _sustained(peak: Peak) -> dict[str, float]:
    """What the power limit leaves of a peak, where that is known."""
    if peak.sustained is None:
        return {}
    return {"sustained_flops_per_second": peak.sustained.per_second, "sustained_clock_hz": peak.sustained.clock.hz}


def _ridges(roofline: Roofline, level: str) -> dict[str, Any]:
    """The intensity where the level's roof meets the peak, of the FLOP model one per type of operation."""
    if roofline.model == "instruction":
        return {"ridge_intensity": roofline.ridge(level)}
    return {"ridge_intensities": {peak.work: roofline.ridge(level, peak.work) for peak in roofline.peaks}}


def csv_table(results: ModelResults) -> tuple[Sequence[str], list[list[Any]]]:
    """Columns of the model and a row per result for CSV; advice is joined by `` | ``, ``use`` is ``l1=0.5; l2=0.1``."""
    names = columns(results.model)
    made = rows(results)
    for row in made:
        row["use"] = "; ".join(f"{name}={fraction:.4g}" for name, fraction in row["use"].items()) or None
        row["advice"] = " | ".join(entry["text"] for entry in row["advice"] or ()) or None
    return names, [[row[name] for name in names] for row in made]


def advice_lines(results: ModelResults, most: int = ADVISED) -> list[tuple[str, str, str]]:
    """Verdict and advice of the ``most`` kernels that could save most time: (prefix, name, text) a line.

    The prefix is the number of the table where a kernel begins, and ``-`` for each advice under it, without a name.
    """
    lines: list[tuple[str, str, str]] = []
    seen: dict[str, tuple[str, str | None, float | None]] = {}
    numbered = list(enumerate(results.explained, 1))
    # What could save most comes first; kernels without a known bound follow, longest first.
    for number, each in sorted(numbered, key=lambda pair: -(pair[1].limit.headroom_seconds or 0.0)):
        kernel = each.result.kernel
        # Types of operation of one kernel share its advice; their verdicts differ.
        which = (kernel.source, kernel.grid, kernel["seconds_total"])
        # Of one kernel in several captures, such as ranks, only the longest is shown.
        again = kernel.name in seen
        if each.verdict is None or (len(seen) == most and not again) or (again and seen[kernel.name] != which):
            continue
        work = each.result.work if isinstance(each.result, FlopResult) else None
        name = kernel.short_name + (f" ({WORK_LABELS[work]})" if work else "")
        lines.append((str(number), name, each.verdict))
        lines += [("-", "", finding.text) for finding in each.advice if not again]
        seen[kernel.name] = which
    return lines


def advice_text(results: ModelResults, width: int | None = None) -> str:
    """``advice_lines`` for a terminal of ``width`` columns (None: lines of any length); empty when there is none."""
    lines = advice_lines(results)
    margin = max((len(prefix) for prefix, *_ in lines), default=0)
    text = ""
    for prefix, name, sentence in lines:
        words = f"{name}: {sentence}" if name else sentence
        head = f"{prefix:>{margin}}  " if prefix != "-" else f"{'':>{margin}}  - "
        body = textwrap.wrap(words, max(_NARROWEST, width - len(head))) if width else [words]
        text += head + f"\n{'':>{len(head)}}".join(body) + "\n"
    return text


def advice_markdown(results: ModelResults) -> str:
    """``advice_lines`` as a Markdown list, kernels in code spans."""
    text = ""
    for prefix, name, words in advice_lines(results):
        text += f"- {prefix} {code_span(name)}: {words}\n" if name else f"  - {words}\n"
    return text


def full_names(names: Sequence[str]) -> str:
    """The full name behind each number, one a line."""
    width = len(str(len(names)))
    return "".join(f"{number:>{width}}  {name}\n" for number, name in enumerate(names, 1))
