"""The result of one check, and the exit code of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Status = Literal["ok", "warn", "fail"]
Cause = Literal["", "tool", "counters", "device"]

_EXIT_CODES: Final = {"device": 5, "counters": 4, "tool": 3}
"""The lowest cause first: without a GPU nothing above it matters."""


@dataclass(frozen=True)
class Check:
    """One line: what was checked, its value, and what to do. Only a failure has a ``cause``."""

    what: str
    status: Status
    value: str
    fix: str = ""
    cause: Cause = ""


def ok(what: str, value: str, fix: str = "") -> Check:
    """As it should be; ``fix`` may hold a note."""
    return Check(what, "ok", value, fix)


def warn(what: str, value: str, fix: str = "") -> Check:
    """Profiling works, but something is worth knowing."""
    return Check(what, "warn", value, fix)


def fail(what: str, cause: Cause, value: str, fix: str = "") -> Check:
    """Nothing can be profiled until this is put right."""
    return Check(what, "fail", value, fix, cause)


def exit_code(checks: Iterable[Check]) -> int:
    """0 when nothing fails; else 5 no GPU, 4 counters denied, 3 a profiler, the lowest cause first."""
    causes = {check.cause for check in checks if check.status == "fail"}
    return next((code for cause, code in _EXIT_CODES.items() if cause in causes), 0)
