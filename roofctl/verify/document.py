"""The result of ``verify`` as data and as table cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from roofctl.verify.compare import CountCheck, Verdict

SCHEMA: Final = 1

HEADINGS: Final = ("kernel", "quantity", ">expected", ">counted", ">error", "verdict")

_OFF_NAMED: Final = 4


def document(verdict: Verdict, sources: Sequence[str]) -> dict[str, Any]:
    """The complete verdict as JSON-ready data. ``error`` is a fraction, None where the expected value is 0."""
    return {
        "schema": SCHEMA,
        "source": list(sources),
        "gpu": {"name": verdict.gpu, "compute_capability": verdict.compute_capability},
        "agreeing": len(verdict.agreeing),
        "off": len(verdict.off),
        "rows": [
            {
                "kernel": row.kernel,
                "quantity": row.quantity,
                "kind": row.kind,
                "expected": _plain(row.expected),
                "low": _plain(row.low),
                "high": _plain(row.high),
                "counted": _plain(row.counted),
                "error": row.error,
                "status": row.status,
                "why": row.why,
            }
            for row in verdict.rows
        ],
        "not_counted": dict(verdict.not_counted),
        "absent_kernels": list(verdict.absent),
        "notes": [note.text for note in verdict.notes if not note.detail],
    }


def cells(verdict: Verdict, *, zeros: bool = False) -> list[list[str]]:
    """One line per row under ``HEADINGS``; rows where 0 was expected and counted only with ``zeros``."""
    return [_line(row) for row in verdict.rows if zeros or row.expected or row.counted]


def summary(verdict: Verdict) -> str:
    """One sentence: how many quantities agree, how many of them to the last count."""
    agreeing = verdict.agreeing
    to_the_last = sum(row.counted == row.expected for row in agreeing)
    kernels = len({row.kernel for row in verdict.rows})
    bounded = sum(row.kind == "bound" for row in agreeing)
    return (
        f"{kernels} kernels: {len(agreeing)} of {len(agreeing) + len(verdict.off)} counts agree, "
        f"{to_the_last} of them to the last digit, {bounded} compared with a bound"
    )


def complaint(verdict: Verdict) -> str:
    """The rows that are off, the first few by name."""
    named = [
        f"{row.kernel} {row.quantity} {_number(row.counted)}, expected {_expected_text(row)}"
        for row in verdict.off[:_OFF_NAMED]
    ]
    more = len(verdict.off) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")


def _expected_text(row: CountCheck) -> str:
    if row.kind == "exact":
        return _number(row.expected)
    return f"{_number(row.low)} to {_number(row.high)}"


def _line(row: CountCheck) -> list[str]:
    verdict = {"ok": "exact" if row.counted == row.expected else "ok", "off": "OFF", "not assessed": "not assessed"}[
        row.status
    ]
    if row.kind == "bound" and row.status != "not assessed":
        verdict = f"{'OFF' if row.status == 'off' else 'in bound'}, {_number(row.low)} to {_number(row.high)}"
    remark = f": {row.why}" if row.why and (row.kind == "bound" or row.status != "ok") else ""
    error = "–" if row.error is None else f"{row.error:+.3%}" if row.error else "0"
    return [row.kernel, row.quantity, _number(row.expected), _number(row.counted), error, verdict + remark]


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else round(value, 3)


def _number(value: float) -> str:
    return f"{value:,.0f}"
