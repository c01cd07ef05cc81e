"""Notes: what a user should know beside the data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """Something the user should know: a ``warning``, what an option did (``asked``), or a ``detail`` for -v.

    ``incomplete``: the run did not end as it should, so that launches may be missing.
    """

    text: str
    warning: bool = False
    detail: bool = False
    incomplete: bool = False
    asked: bool = False
