"""What ``report`` says, as data: one document, and the same rows as CSV and Markdown."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roofctl.core.kernel_names import elide, some
from roofctl.core.units import duration, prefixed, significant
from roofctl.roofline.analyse import Analysis, file_names
from roofctl.roofline.model import ISSUE, LEVEL_LABELS, LEVELS, WORK_LABELS, Model, Roofline
from roofctl.study.study import Study

SCHEMA: Final = 1

_NO_SPREAD: Final = {
    "seconds_median": "no median of the time: a summary does not hold the single launches",
    "seconds_min": "no smallest and largest time: the summary holds none, or none that enclose its mean",
}

ADVISED: Final = 5
"""Kernels whose verdict and advice a table tells; JSON and CSV hold them for all."""

_NARROWEST: Final = 40
_NAME_WIDTH: Final = 48
_UNKNOWN: Final = "–"

_LEVEL_HEADINGS: Final = (
    *(f">{LEVEL_LABELS[level]} int." for level in LEVELS),
    *(f">{LEVEL_LABELS[level]} % roof" for level in LEVELS),
)
HEADINGS: Final[Mapping[Model, tuple[str, ...]]] = {
    "instruction": (
        *(">#", "kernel", ">launches", ">time", ">share", ">GIPS", ">lost"),
        *_LEVEL_HEADINGS,
        "bound",
    ),
    "flop": (
        *(">#", "kernel", "type", ">launches", ">time", ">share", ">rate", ">% peak"),
        *_LEVEL_HEADINGS,
        "bound",
    ),
}


def document(study: Study) -> dict[str, Any]:
    """The whole report as JSON-ready data: schema, source, gpu, ceilings, notes, kernels.

    Units are in the names; a value that is not known is None and a note says why.
    """
    return {
        **head(study),
        "notes": [*(note.text for note in study.notes if not note.detail), *_reasons(study)],
        "kernels": [dict(row) for row in study.analysis.rows],
    }


def head(study: Study) -> dict[str, Any]:
    """What every document begins with: schema, model, source, gpu, ceilings."""
    profile, clock = study.profile, study.clock
    return {
        "schema": SCHEMA,
        "model": study.analysis.model,
        "source": list(study.sources),
        "gpu": {
            "name": next(iter(study.device.names), None),
            "profile": profile.name if profile else None,
            "chip": profile.chip if profile else None,
            "compute_capability": profile.compute_capability
            if profile
            else next(iter(study.device.compute_capabilities), None),
            "sm_clock_hz": clock.hz if clock else None,
            "sm_clock_origin": clock.origin if clock else None,
        },
        "ceilings": [entry for roofline in study.rooflines for entry in ceilings(roofline)],
    }


def _reasons(study: Study) -> list[str]:
    """Why values are null that no note speaks of: those that need a GPU profile, and the spread of a summary."""
    reasons = [f"fractions and bounds are not known: {study.question.message}"] if study.question else []
    for name, why in _NO_SPREAD.items():
        rows = [row for row in study.analysis.rows if row["seconds"] is not None and row[name] is None]
        reasons += [f"{why} ({some([row['short_name'] for row in rows], 3)})"] if rows else []
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


def _ridges(roofline: Roofline, level: str) -> dict[str, Any]:
    """The intensity where the level's roof meets the peak, of the FLOP model one per type of operation."""
    if roofline.model == "instruction":
        return {"ridge_intensity": roofline.ridge(level)}
    return {"ridge_intensities": {peak.work: roofline.ridge(level, peak.work) for peak in roofline.peaks}}


def to_csv(analysis: Analysis) -> str:
    """Rows as CSV by ``analysis.columns``; unknown values are empty cells, advice is joined by `` | ``."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, analysis.columns, lineterminator="\n")
    writer.writeheader()
    for row in analysis.rows:
        advice = row["advice"]
        writer.writerow({**row, "advice": " | ".join(entry["text"] for entry in advice) if advice else None})
    return buffer.getvalue()


def table(analysis: Analysis) -> tuple[list[str], list[list[str]]]:
    """Headings and cells for people; a source column where the rows come from several captures.

    ``#`` is the number that the kernel has in a picture of the same selection.
    """
    rows, known = analysis.rows, HEADINGS[analysis.model]
    several = len({row["source"] for row in rows}) > 1
    headings = [*known, "source"] if several else list(known)
    cells_of = _flop_cells if analysis.model == "flop" else _cells
    body = [[str(number), *cells_of(row)] for number, row in enumerate(rows, 1)]
    return headings, [
        [*cells, file_names(row["source"])] for cells, row in zip(body, rows, strict=True)
    ] if several else body


def advice_lines(analysis: Analysis, most: int = ADVISED) -> list[tuple[str, str, str]]:
    """Verdict and advice of the ``most`` kernels with the longest total time: (mark, name, text) a line.

    The mark is the number of the table where a kernel begins, and ``-`` for each advice under it, without a name.
    """
    lines: list[tuple[str, str, str]] = []
    told: dict[str, str] = {}
    for number, row in enumerate(analysis.rows, 1):
        # Types of operation of one kernel share its advice; their verdicts differ.
        kernel, which = row["kernel"], f"{row['source']} {row['grid']} {row['seconds_total']}"
        # Of one kernel in several captures, such as ranks, the longest speaks for all.
        again = kernel in told
        if row["verdict"] is None or (len(told) == most and not again) or (again and told[kernel] != which):
            continue
        work = row.get("precision")
        name = elide(row["short_name"], _NAME_WIDTH) + (f" ({WORK_LABELS[work]})" if work else "")
        lines.append((str(number), name, row["verdict"]))
        lines += [("-", "", entry["text"]) for entry in row["advice"] or () if not again]
        told[kernel] = which
    return lines


def advice_text(analysis: Analysis, width: int | None = None) -> str:
    """``advice_lines`` for a terminal of ``width`` columns (None: whole lines); empty when there is none."""
    lines = advice_lines(analysis)
    margin = max((len(mark) for mark, *_ in lines), default=0)
    text = ""
    for mark, name, told in lines:
        words = f"{name}: {told}" if name else told
        head = f"{mark:>{margin}}  " if mark != "-" else f"{'':>{margin}}  - "
        body = textwrap.wrap(words, max(_NARROWEST, width - len(head))) if width else [words]
        text += head + f"\n{'':>{len(head)}}".join(body) + "\n"
    return text


def advice_markdown(analysis: Analysis) -> str:
    """``advice_lines`` as a Markdown list, kernels in code spans."""
    text = ""
    for mark, name, words in advice_lines(analysis):
        text += f"- {mark} `{name.replace('`', ' ')}`: {words}\n" if name else f"  - {words}\n"
    return text


def full_names(rows: Sequence[Mapping[str, Any]]) -> str:
    """The full name behind each number, one a line."""
    width = len(str(len(rows)))
    return "".join(f"{number:>{width}}  {row['kernel']}\n" for number, row in enumerate(rows, 1))


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        elide(row["short_name"], _NAME_WIDTH),
        f"{row['launches']:,}",
        or_unknown(row["seconds"], duration),
        or_unknown(row["time_share"], percent),
        or_unknown(row["gips"], significant),
        or_unknown(row["lost_fraction"], percent),
        *_level_cells(row),
        bound_words(row),
    ]


def _flop_cells(row: Mapping[str, Any]) -> list[str]:
    work = row["precision"]
    unit = "OP/s" if work == "int8_tc" else "FLOP/s"
    return [
        elide(row["short_name"], _NAME_WIDTH),
        WORK_LABELS[work] if work else _UNKNOWN,
        f"{row['launches']:,}",
        or_unknown(row["seconds"], duration),
        or_unknown(row["time_share"], percent),
        or_unknown(row["flops_per_second"], lambda rate: prefixed(rate, unit)),
        or_unknown(row["of_peak"], percent),
        *_level_cells(row),
        bound_words(row),
    ]


def _level_cells(row: Mapping[str, Any]) -> list[str]:
    return [
        *(or_unknown(row[f"{level}_intensity"], significant) for level in LEVELS),
        *(or_unknown(row[f"{level}_of_roof"], percent) for level in LEVELS),
    ]


def bound_words(row: Mapping[str, Any]) -> str:
    """``HBM`` for a kernel bound by that level's bandwidth, ``instructions`` or ``FP32`` for one bound by a peak."""
    if row["bound"] == "memory":
        return LEVEL_LABELS[row["bound_level"]]
    return WORK_LABELS[row.get("precision") or ISSUE] if row["bound"] == "compute" else _UNKNOWN


def to_markdown(analysis: Analysis) -> str:
    """The table for people as Markdown, names in code spans."""
    return markdown(*table(analysis))


def markdown(headings: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table of numbered names as Markdown, names in code spans."""
    titles = [title.removeprefix(">") for title in headings]
    lines = [titles, ["---:" if title.startswith(">") else "---" for title in headings]]
    for number, name, *rest in body:
        lines.append([number, f"`{name.replace('`', ' ')}`".replace("|", "\\|"), *rest])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def or_unknown(value: Any, show: Any) -> str:
    """A cell: the value as ``show`` writes it, or a dash."""
    return _UNKNOWN if value is None else str(show(value))


def percent(fraction: float) -> str:
    """A fraction as a cell: 0.5 %, 91.9 %, 104 %."""
    text = f"{fraction * 100:.1f} %"
    return text if len(text) < len("100.0 %") else f"{fraction * 100:.0f} %"
