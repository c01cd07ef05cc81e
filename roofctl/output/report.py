"""The report of an analysis: one document for JSON, and the same as CSV, Markdown and a table for people."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roofctl.core.kernel_names import elide, some
from roofctl.core.levels import LEVELS
from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import duration, prefixed, significant
from roofctl.output.markdown import code_span
from roofctl.output.rows import COLUMNS, rows
from roofctl.roofline.analyse import Explained, ModelResults
from roofctl.roofline.flop import FlopResult
from roofctl.roofline.instruction import InstructionResult
from roofctl.roofline.limit_words import label as limit_label
from roofctl.roofline.limits import KernelLimit
from roofctl.roofline.model import WORK_LABELS, Model, Peak, Roofline
from roofctl.study.analyse import Analysis

SCHEMA: Final = 2

_NO_SPREAD: Final = {
    "seconds_median": "no median of the time: a summary does not hold the single launches",
    "seconds_min": "no smallest and largest time: the summary holds none, or none that enclose its mean",
}

ADVISED: Final = 5
"""Kernels whose verdict and advice follow a table; JSON and CSV hold those of all."""

_NARROWEST: Final = 40
_NAME_WIDTH: Final = 48
_UNKNOWN: Final = "–"

_LIMIT: Final = ("limit", ">use", ">headroom")

_HEADINGS: Final[Mapping[Model, tuple[str, ...]]] = {
    "instruction": (">#", "kernel", ">launches", ">time", ">share", *_LIMIT, ">issue"),
    "flop": (">#", "kernel", "type", ">launches", ">time", ">share", *_LIMIT, ">rate", ">% peak"),
}


def headings(results: ModelResults) -> list[str]:
    """Headings of the table for people; ``>`` before one aligns its column right."""
    labels = [results.kernels[0].label(level) for level in LEVELS]
    rates = [">GIPS", ">lost"] if results.model == "instruction" else []
    return [
        *_HEADINGS[results.model],
        *(f">{label}" for label in labels),
        *rates,
        *(f">{label} int." for label in labels),
    ]


def document(analysis: Analysis) -> dict[str, Any]:
    """The report as JSON-ready data: schema, source, gpu, ceilings, notes, kernels.

    Units are in the names; a value that is not known is None and a note says why.
    """
    return {
        **head(analysis),
        "notes": [*(note.text for note in analysis.notes if not note.detail), *_reasons(analysis)],
        "kernels": rows(analysis.results),
    }


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
            "profile": profile.name if profile else None,
            "chip": profile.chip if profile else None,
            "compute_capability": profile.compute_capability
            if profile
            else next(iter(analysis.device.compute_capabilities), None),
            "sm_clock_hz": clock.hz if clock else None,
            "sm_clock_origin": clock.origin if clock else None,
        },
        "ceilings": [entry for roofline in analysis.rooflines for entry in ceilings(roofline)],
    }


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
    columns = COLUMNS[results.model]
    made = rows(results)
    for row in made:
        row["use"] = "; ".join(f"{name}={fraction:.4g}" for name, fraction in row["use"].items()) or None
        row["advice"] = " | ".join(entry["text"] for entry in row["advice"] or ()) or None
    return columns, [[row[name] for name in columns] for row in made]


def markdown_table(results: ModelResults) -> tuple[list[str], list[list[str]]]:
    """The table for people with names in code spans."""
    return with_code_spans(*table(results))


def with_code_spans(headings: list[str], body: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """A table of numbered names with the names, its second column, as Markdown code spans."""
    return headings, [[number, code_span(name), *rest] for number, name, *rest in body]


def table(results: ModelResults) -> tuple[list[str], list[list[str]]]:
    """Headings and cells for people; a source column where the kernels come from several captures.

    ``#`` is the number that the kernel has in a picture of the same selection.
    """
    several = len({each.result.kernel.source for each in results.explained}) > 1
    body = [
        [str(number), *_cells(each, results.model), *([each.result.kernel.files] if several else [])]
        for number, each in enumerate(results.explained, 1)
    ]
    return [*headings(results), *(["source"] if several else [])], body


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
        name = elide(kernel.short_name, _NAME_WIDTH) + (f" ({WORK_LABELS[work]})" if work else "")
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


def _cells(explained: Explained, model: Model) -> list[str]:
    result = explained.result
    kernel, limit = result.kernel, explained.limit
    instructions = isinstance(result, InstructionResult)
    return [
        elide(kernel.short_name, _NAME_WIDTH),
        *([WORK_LABELS[result.work] if result.work else _UNKNOWN] if isinstance(result, FlopResult) else []),
        f"{kernel.launches:,}",
        or_unknown(kernel["seconds"], duration),
        or_unknown(kernel.time_share, percent),
        limit_label(limit, kernel),
        or_unknown(limit.use, percent),
        headroom_text(limit),
        *([or_unknown(limit.fraction("issue"), percent)] if instructions else _rate_cells(result)),
        *(or_unknown(limit.fraction(level), percent) for level in LEVELS),
        *(_rate_cells(result) if instructions else []),
        *(or_unknown(result.intensity(level, model), significant) for level in LEVELS),
    ]


def _rate_cells(result: InstructionResult | FlopResult) -> list[str]:
    if isinstance(result, InstructionResult):
        return [or_unknown(result.gips, significant), or_unknown(result.lost_fraction, percent)]
    unit = PRECISIONS[result.work].unit if result.work else "FLOP/s"
    return [or_unknown(result.per_second, lambda rate: prefixed(rate, unit)), or_unknown(result.of_peak, percent)]


def headroom_text(limit: KernelLimit) -> str:
    """Time above the longest known bound; ``<`` before it where not everything was counted."""
    return or_unknown(limit.headroom_seconds, lambda seconds: ("" if limit.counted else "<") + duration(seconds))


def or_unknown(value: Any, show: Any) -> str:
    """A cell: the value as ``show`` writes it, or a dash."""
    return _UNKNOWN if value is None else str(show(value))


def percent(fraction: float) -> str:
    """A fraction as a cell: 0.5 %, 91.9 %, 104 %."""
    text = f"{fraction * 100:.1f} %"
    return text if len(text) < len("100.0 %") else f"{fraction * 100:.0f} %"
