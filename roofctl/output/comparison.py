"""A comparison as a table, CSV rows, a JSON document and Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from roofctl.core.kernel_names import visible
from roofctl.core.units import duration, prefixed
from roofctl.output.captions import describe_ceilings
from roofctl.output.columns import UNKNOWN, Column, headings_and_rows, time_unit
from roofctl.output.html_compare import results_of
from roofctl.output.markdown import code_span, to_markdown
from roofctl.output.report import head
from roofctl.roofline.analyse import Explained
from roofctl.roofline.compare import KernelChange, KernelSample
from roofctl.roofline.flop import FlopResult
from roofctl.roofline.limit_words import label as limit_label
from roofctl.roofline.model import WORK_LABELS, Model, all_levels
from roofctl.study.compare import Comparison, Side

SCHEMA: Final = 1
_ARROW: Final = " → "
_NOISE: Final = "within noise"
_FEW: Final = 5
"""So many kernels within noise are listed with the others."""

_ROW: Final = (
    *("before", "after", "kernel", "before_kernel", "after_kernel", "matched", "verdict", "precision"),
    *("before_grid", "after_grid", "before_launches", "after_launches", "before_seconds", "after_seconds"),
    *("ratio", "spread", "no_spread", "before_seconds_total", "after_seconds_total", "seconds_saved"),
    *("before_time_share", "after_time_share", "before_limit", "after_limit", "before_limit_use", "after_limit_use"),
    *("before_per_second", "after_per_second"),
)


def columns() -> tuple[str, ...]:
    """Names of a row of JSON and CSV, in order."""
    levels = [
        f"{side}_{level}_{what}"
        for level in all_levels()
        for what in ("intensity", "use")
        for side in ("before", "after")
    ]
    return (*_ROW, *levels)


def rows(comparison: Comparison, changes: Sequence[KernelChange] | None = None) -> list[dict[str, Any]]:
    """A row per kernel (in the FLOP model per type of operation), in SI units; None where not known."""
    return [
        _row(comparison, change, before, after)
        for change in (comparison.changes if changes is None else changes)
        for before, after in results_of(change)
    ]


def _row(
    comparison: Comparison, change: KernelChange, before: Explained | None, after: Explained | None
) -> dict[str, Any]:
    model = comparison.after.analysis.results.model
    one = next(each for each in (after, before) if each)
    row: dict[str, Any] = {
        "before": comparison.before.label,
        "after": comparison.after.label,
        "kernel": comparison.name(change),
        "matched": change.how,
        "verdict": change.verdict,
        "precision": one.result.work if isinstance(one.result, FlopResult) else None,
        "ratio": change.ratio,
        "spread": change.spread,
        "no_spread": change.no_spread or None,
        "seconds_saved": change.seconds_saved,
    }
    for name, sample, each in (("before", change.before, before), ("after", change.after, after)):
        row.update({f"{name}_{key}": value for key, value in _of_side(sample, each, model).items()})
    return {name: row[name] for name in columns()}


def _of_side(sample: KernelSample | None, each: Explained | None, model: Model) -> dict[str, Any]:
    kernel = sample.kernel if sample else None
    limit = each.limit if each else sample.results[0].limit if sample else None
    values: dict[str, Any] = {
        "kernel": kernel.name if kernel else None,
        "grid": kernel.grid if kernel else None,
        "launches": kernel.launches if kernel else None,
        "seconds": sample.times.seconds if sample and sample.times else None,
        "seconds_total": kernel["seconds_total"] if kernel else None,
        "time_share": kernel.time_share if kernel else None,
        "limit": limit.name if limit else None,
        "limit_use": limit.use if limit else None,
        "per_second": each.result.per_second if each else None,
    }
    for level in all_levels():
        values[f"{level}_intensity"] = each.result.intensity(level, model) if each else None
        values[f"{level}_use"] = limit.fraction(level) if limit else None
    return values


# --- JSON and CSV -----------------------------------------------------------------------


def document(comparisons: Sequence[Comparison], failed: Sequence[str]) -> dict[str, Any]:
    """All comparisons as JSON-ready data; ``failed`` are the sentences on what the options did not let pass."""
    return {
        "schema": SCHEMA,
        "model": comparisons[0].before.analysis.results.model,
        "before": _side(comparisons[0].before),
        "comparisons": [
            {
                "after": _side(each.after),
                "same_gpu": each.same_gpu,
                "same_clock": each.same_clock,
                "notes": [note.text for note in each.notes],
                "kernels": rows(each),
            }
            for each in comparisons
        ],
        "failed": list(failed),
    }


def _side(side: Side) -> dict[str, Any]:
    facts = head(side.analysis)
    captured = side.clock
    return {
        "input": side.label,
        "seconds_total": side.seconds,
        **{key: facts[key] for key in ("source", "incomplete", "gpu", "ceilings_gpu", "ceilings")},
        "captured_sm_clock_hz": captured.hz if captured else None,
        "versions": side.versions(),
        "notes": [note.text for note in side.analysis.notes if note.warning],
    }


def csv_table(comparisons: Sequence[Comparison]) -> tuple[Sequence[str], list[list[Any]]]:
    """Columns and rows of all comparisons."""
    names = columns()
    return names, [[row[name] for name in names] for each in comparisons for row in rows(each)]


# --- for people ---------------------------------------------------------------------------


def table(comparison: Comparison, changes: Sequence[KernelChange]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of these changes."""
    pairs = [(change, *results) for change in changes for results in results_of(change)]
    return headings_and_rows(list(_columns(comparison, pairs)))


def _columns(
    comparison: Comparison, pairs: Sequence[tuple[KernelChange, Explained | None, Explained | None]]
) -> Iterator[Column]:
    changes = [change for change, *_ in pairs]
    values = rows(comparison, list(dict.fromkeys(changes)))
    yield Column("number", "#", "count", range(1, len(pairs) + 1))
    yield Column("kernel", "kernel", "text", [row["kernel"] for row in values])
    if comparison.after.analysis.results.model == "flop":
        yield Column("type", "type", "text", [WORK_LABELS.get(row["precision"] or "") for row in values])
    scale = time_unit([row[f"{side}_seconds"] for row in values for side in ("before", "after")])
    for side in ("before", "after"):
        yield Column(side, side, "seconds", [row[f"{side}_seconds"] for row in values], scale=scale)
    yield Column("change", "change %", "text", [_change(row) for row in values], right=True)
    yield Column("limit", "limit", "text", [_limits(before, after) for _, before, after in pairs])
    yield Column("use", "use %", "text", [_arrow(row, "limit_use", 100, ".1f") for row in values])
    yield Column("spread", "spread ±", "percent", [row["spread"] for row in values])
    yield Column("share", "share %", "text", [_arrow(row, "time_share", 100, ".1f") for row in values])
    yield Column("launches", "launches", "text", [_arrow(row, "launches", 1, ",") for row in values])
    for level in ("hbm", "l2", "l1", *(level for level in all_levels() if level not in ("hbm", "l2", "l1"))):
        label = comparison.after.analysis.label(level)
        yield Column(
            f"{level}-intensity",
            f"{label} int.",
            "text",
            [_arrow(row, f"{level}_intensity", 1, ".3g") for row in values],
        )
    yield Column("saved", "saved", "seconds", [row["seconds_saved"] for row in values])
    yield Column("matched", "matched by", "text", [row["matched"] for row in values])


def _change(row: dict[str, Any]) -> str:
    if row["ratio"] is None:
        return str(row["verdict"]) if row["verdict"] in ("new", "gone") else UNKNOWN
    return ("≈ " if row["verdict"] == "within noise" else "") + f"{(row['ratio'] - 1) * 100:+.1f}"


def _arrow(row: dict[str, Any], key: str, factor: float, form: str) -> str:
    """``64.0 → 82.0``; one value where both are printed alike; a dash for one that is not known."""
    texts = [
        UNKNOWN if (value := row[f"{side}_{key}"]) is None else format(value * factor, form)
        for side in ("before", "after")
    ]
    if row["verdict"] in ("new", "gone"):
        return texts[1] if row["verdict"] == "new" else texts[0]
    return texts[0] if texts[0] == texts[1] else _ARROW.join(texts)


def _limits(before: Explained | None, after: Explained | None) -> str:
    """The limit, or ``L1 → HBM`` where it changed."""
    return _ARROW.join(dict.fromkeys(limit_label(each.limit, each.result.kernel) for each in (before, after) if each))


def shown(comparison: Comparison, *, everything: bool) -> tuple[list[KernelChange], int]:
    """The changes that a table for people lists, and how many it leaves out: those within noise, unless few."""
    loud = [change for change in comparison.changes if change.verdict != "within noise"]
    quiet = len(comparison.changes) - len(loud)
    if everything or quiet <= _FEW:
        return list(comparison.changes), 0
    return loud, quiet


def markdown(comparison: Comparison, *, everything: bool, failed: Sequence[str] = ()) -> str:
    """A comment for a pull request: result, table, and a list of GPUs, clocks, ceilings, versions and notes."""
    changes, left_out = shown(comparison, everything=everything)
    sides, result = facts(comparison)
    text = f"**{result}**\n\n"
    text += "".join(f"- fails: {_plain(sentence)}\n" for sentence in failed) + ("\n" if failed else "")
    if changes:
        headings, body = table(comparison, changes)
        at = headings.index("kernel")
        cells = [[code_span(c) if i == at else c.strip() for i, c in enumerate(row)] for row in body]
        text += to_markdown(headings, cells) + "\n"
    if left_out:
        text += f"{left_out_text(left_out)}\n\n"
    text += "".join(f"- {_plain(line)}\n" for line in (*sides, *(note.text for note in comparison.notes)))
    return text


def _plain(line: str) -> str:
    """A sentence in Markdown, where ``<`` of a kernel's name would begin a tag and ``*`` emphasis."""
    return str(re.sub(r"([\\`*_<>|])", r"\\\1", visible(line)))


def left_out_text(count: int) -> str:
    return f"≈ {count} kernel{'s' if count > 1 else ''} within noise (--all lists them)"


def facts(comparison: Comparison) -> tuple[list[str], str]:
    """Lines on what is compared, and one on the result: the total time, and the number of kernels by verdict."""
    before, after = comparison.before, comparison.after
    total = ""
    if before.seconds and after.seconds and not comparison.within:
        change = (after.seconds / before.seconds - 1) * 100
        total = f"all kernels {duration(before.seconds)} → {duration(after.seconds)} ({change:+.1f} %): "
    counts: Counter[str] = Counter(change.verdict for change in comparison.changes)
    order = ("slower", "faster", "new", "gone", "unknown", "within noise")
    verdicts = ", ".join(f"{counts[name]} {name}{' (≈)' * (name == _NOISE)}" for name in order if counts[name])
    ceilings = [_ceilings(side) for side in (before, after)]
    own = [f"; {text}" for text in ceilings] if ceilings[0] != ceilings[1] else ["", ""]
    lines = [f"before: {describe_side(before)}{own[0]}", f"after: {describe_side(after)}{own[1]}"]
    return lines + ([] if own[0] else [ceilings[0]]), total + verdicts


def _ceilings(side: Side) -> str:
    return describe_ceilings(side.analysis) if side.analysis.rooflines else "ceilings: not known"


def describe_side(side: Side) -> str:
    """Input, GPU, clock and versions in one line."""
    clock = f"SM {prefixed(side.clock.hz, 'Hz')} {side.clock.origin}" if side.clock else "SM clock not known"
    facts = [side.gpu or "GPU not named", clock, *(side.versions() or ["versions not recorded"])]
    return f"{side.label}: {', '.join(facts)}"
