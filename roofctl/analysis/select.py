"""Which kernels to keep, longest first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from roofctl.analysis.facts import known
from roofctl.errors import InputError
from roofctl.grouping import Kernels
from roofctl.names import base_name, matches, some


@dataclass(frozen=True)
class Selection:
    """Which kernels to keep.

    ``kernel`` and ``exclude`` are regular expressions, searched in the function's base name or, with
    ``match_full``, in the full name; ``top`` keeps the N with the longest total time.
    """

    kernel: str = ""
    exclude: str = ""
    match_full: bool = False
    top: int | None = None

    def keeps(self, kernel: str) -> bool:
        """Whether the name filters keep ``kernel``."""
        return matches(kernel, self.kernel, self.exclude, full=self.match_full)

    def check(self) -> None:
        """Raise InputError when a filter is no regular expression."""
        for option, pattern in (("--kernel", self.kernel), ("--exclude", self.exclude)):
            try:
                re.compile(pattern)
            except re.error as error:
                raise InputError(
                    f"{option} {pattern!r} is not a regular expression: {error}",
                    hint="put a backslash before ( ) [ ] * + ? to match them as they are",
                ) from error


def select(captures: Sequence[Kernels], selection: Selection) -> list[tuple[Kernels, dict[str, Any]]]:
    """Records of the kernels to show, with their capture, longest total time first."""
    selection.check()
    records = [
        (capture, {str(name): value for name, value in record.items()})
        for capture in captures
        for record in capture.frame.to_dict("records")
    ]
    kept = [pair for pair in records if selection.keeps(pair[1]["kernel"])]
    if not kept:
        found = list(dict.fromkeys(base_name(record["kernel"]) for _, record in records))
        filters = (("--kernel", selection.kernel), ("--exclude", selection.exclude))
        given = " ".join(f"{option} {pattern!r}" for option, pattern in filters if pattern)
        raise InputError(
            f"no kernel is left by {given}; the input has: {some(found, 12)}",
            hint="filters match the function's base name; --match-full matches the full name",
        )
    kept.sort(key=lambda pair: (-(known(pair[1].get("seconds_total")) or 0.0), pair[1]["kernel"]))
    return kept[: selection.top] if selection.top else kept
