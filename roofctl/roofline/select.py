"""Which kernels to keep, longest first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from roofctl.core.errors import InputError
from roofctl.core.kernel_names import base_name, matches, some
from roofctl.launches.aggregate import Kernels
from roofctl.roofline.kernel import known


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
    # On columns, not records: of a hundred thousand kernels only those that are shown become records.
    rows = [row for number, capture in enumerate(captures) for row in _rows(number, capture, selection)]
    kept = sorted(rows)[: selection.top] if selection.top else sorted(rows)
    if not kept:
        names = dict.fromkeys(name for capture in captures for name in capture.frame["kernel"].unique())
        found = list(dict.fromkeys(map(base_name, names)))
        filters = (("--kernel", selection.kernel), ("--exclude", selection.exclude))
        given = " ".join(f"{option} {pattern!r}" for option, pattern in filters if pattern)
        raise InputError(
            f"no kernel is left by {given}; the input has: {some(found, 12)}",
            hint="filters match the function's base name; --match-full matches the full name",
        )
    return [(captures[number], record) for number, record in _records(captures, kept)]


Row = tuple[float, str, int, int]
"""What rows are sorted by: total time (negative: longest first), kernel; then capture number and place in its frame."""


def _rows(number: int, capture: Kernels, selection: Selection) -> list[Row]:
    frame = capture.frame
    kept = {name for name in frame["kernel"].unique() if selection.keeps(name)}
    totals = frame["seconds_total"].astype("Float64") if "seconds_total" in frame else [None] * len(frame)
    return [
        (-(known(total) or 0.0), kernel, number, place)
        for place, (kernel, total) in enumerate(zip(frame["kernel"], totals, strict=True))
        if kernel in kept
    ]


def _records(captures: Sequence[Kernels], rows: Sequence[Row]) -> list[tuple[int, dict[str, Any]]]:
    """Each row with its capture's number, in the order given."""
    places: dict[int, list[int]] = {}
    for *_, number, place in rows:
        places.setdefault(number, []).append(place)
    made: dict[tuple[int, int], dict[str, Any]] = {}
    for number, taken in places.items():
        # Column by column: of rows with columns of many types pandas makes records ten times slower.
        columns = {str(name): _plain(column.iloc[taken]) for name, column in captures[number].frame.items()}
        records = zip(*columns.values(), strict=True)
        made.update(
            ((number, place), dict(zip(columns, record, strict=True)))
            for place, record in zip(taken, records, strict=True)
        )
    return [(number, made[number, place]) for *_, number, place in rows]


def _plain(column: Any) -> list[Any]:
    """Values of a series as Python has them, None where there is none."""
    values: list[Any] = column.astype(object).where(column.notna(), None).tolist()
    return values
