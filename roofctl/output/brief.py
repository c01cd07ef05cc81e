"""The report in under 4 kB of JSON: what a pull-request bot or a coding agent needs to decide what to do next."""

from __future__ import annotations

import json
from typing import Any, Final

from roofctl.core.kernel_names import elide
from roofctl.roofline.analyse import Explained
from roofctl.study.analyse import Analysis

SCHEMA: Final = 1
MOST_BYTES: Final = 4000
DONE_BELOW: Final = 0.05
"""Part of the run's time: a kernel whose headroom is below it is not worth the next change."""

_MOST_KERNELS: Final = 8
_NAME: Final = 80
_TEXT: Final = 300
_MOST_USES: Final = 3


def brief(analysis: Analysis) -> dict[str, Any]:
    """The kernels that could save most time, what proves it, and what to try; at most ``MOST_BYTES`` as JSON.

    ``done`` is true where every kernel's headroom is known and below ``DONE_BELOW`` of the run's time, false where one
    is above it, and None where it is not known. ``total_ms`` is the time of all kernels of the input, in milliseconds.
    """
    kernels = [each.result.kernel for each in analysis.results.explained]
    shares = {id(k): (k["seconds_total"], k.time_share) for k in kernels if k["seconds_total"] and k.time_share}
    # The time of all kernels, of which those that were asked for are a part.
    totals = [seconds / share for seconds, share in shares.values()]
    total = max(totals, default=None)
    first: dict[int, Explained] = {}
    for each in analysis.results.explained:
        first.setdefault(id(each.result.kernel), each)
    ordered = sorted(first.values(), key=lambda each: -(each.limit.headroom_seconds or 0.0))
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "gpu": next(iter(analysis.device.names), None),
        "ceilings": None
        if not analysis.rooflines
        else {"gpu": analysis.rooflines[0].gpu, "basis": analysis.rooflines[0].basis},
        "sm_clock_ghz": round(analysis.clock.hz / 1e9, 3) if analysis.clock else None,
        "total_ms": _milliseconds(total),
        "kernel_count": len(first),
        "done": _done(ordered, total),
        "kernels": [_kernel(each) for each in ordered[:_MOST_KERNELS]],
        "warnings": [elide(note.text, _TEXT) for note in analysis.notes if note.warning][:2],
    }
    while len(to_line(document).encode()) > MOST_BYTES and len(document["kernels"]) > 1:
        document["kernels"].pop()
    return document


def to_line(document: dict[str, Any]) -> str:
    """The document as one line of JSON."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _done(ordered: list[Explained], total: float | None) -> bool | None:
    if not total:
        return None
    if any((each.limit.headroom_seconds or 0.0) >= DONE_BELOW * total for each in ordered):
        return False
    return True if all(each.limit.headroom_seconds is not None for each in ordered) else None


def _kernel(each: Explained) -> dict[str, Any]:
    kernel, limit = each.result.kernel, each.limit
    uses = sorted(limit.uses.items(), key=lambda entry: -entry[1].fraction)[:_MOST_USES]
    return {
        "kernel": elide(kernel.short_name, _NAME),
        "launches": kernel.launches,
        "time_ms": _milliseconds(kernel["seconds_total"]),
        "share": _rounded(kernel.time_share),
        "limit": limit.name,
        "use": _rounded(limit.use),
        "headroom_ms": _milliseconds(limit.headroom_seconds),
        "evidence": {
            "uses": {name: _rounded(use.fraction) for name, use in uses},
            "verdict": elide(each.verdict or limit.unknown, _TEXT),
        },
        "next_step": elide(each.advice[0].text, _TEXT) if each.advice else None,
    }


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds * 1e3:.4g}")


def _rounded(fraction: float | None) -> float | None:
    return None if fraction is None else round(fraction, 3)
