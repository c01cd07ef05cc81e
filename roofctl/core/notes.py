"""Notes: what a user should know beside the data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """Something the user should know: a ``warning``, what an option did (``asked``), or a ``detail`` for -v."""

    text: str
    warning: bool = False
    detail: bool = False
    asked: bool = False
