"""Which kernels to show, longest first."""

from __future__ import annotations

import re
from dataclasses import dataclass

from roofctl.core.errors import InputError
from roofctl.core.kernel_names import base_name, matches, some
from roofctl.launches.aggregate import KernelTable


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


def select(table: KernelTable, selection: Selection) -> list[int]:
    """Rows of the kernels to show: by total time (longest first), then name, then capture.

    Raises InputError that lists the kernels where none is left.
    """
    selection.check()
    frame = table.frame
    kept = frame[["kernel", "capture"]]
    if selection.kernel or selection.exclude:
        names = frame["kernel"].unique()
        kept = kept[frame["kernel"].isin([name for name in names if selection.keeps(name)])]
    if kept.empty:
        filters = (("--kernel", selection.kernel), ("--exclude", selection.exclude))
        given = " ".join(f"{option} {pattern!r}" for option, pattern in filters if pattern)
        raise InputError(
            f"no kernel is left by {given}; the input has: {some(list(dict.fromkeys(map(base_name, names))), 12)}",
            hint="filters match the function's base name; --match-full matches the full name",
        )
    shorter = -frame["seconds_total"].astype("Float64").fillna(0.0) if "seconds_total" in frame else 0.0
    ordered = kept.assign(shorter=shorter).sort_values(["shorter", "kernel", "capture"], kind="stable")
    rows: list[int] = ordered.index[: selection.top].tolist()
    return rows
