"""Which kernels to show, longest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from roofctl.core.errors import InputError
from roofctl.core.kernel_filter import NameFilter
from roofctl.core.kernel_names import some
from roofctl.core.notes import Note
from roofctl.launches.aggregate import KernelTable


@dataclass(frozen=True)
class Selection(NameFilter):
    """Which kernels to keep: those that the name filters keep, and of them the ``top`` longest by total time."""

    top: int | None = None


def select(table: KernelTable, selection: Selection, shown: Mapping[str, str]) -> tuple[list[int], list[Note]]:
    """Rows of the kernels to show, by total time (longest first), then name, then capture; and what filters took.

    ``shown`` are the short names of all kernels. Raises InputError that lists the kernels where none is left.
    """
    selection.check()
    frame = table.frame
    kept = frame[["kernel", "capture"]]
    notes: list[Note] = []
    if selection.given():
        names = frame["kernel"].unique()
        left = [name for name in names if selection.keeps(name, shown[name])]
        kept = kept[frame["kernel"].isin(left)]
        if not left:
            raise InputError(
                f"no kernel is left by {selection.given()}; the input has: {some([shown[n] for n in names], 12)}",
                hint="--kernel and --exclude search the demangled name and the short one, --kernel-base the "
                "function's base name",
            )
        share = _share_of_time(table, left)
        notes.append(Note(f"{selection.given()} takes {len(left)} of {len(names)} kernels{share}", asked=True))
    shorter = -frame["seconds_total"].astype("Float64").fillna(0.0) if "seconds_total" in frame else 0.0
    ordered = kept.assign(shorter=shorter).sort_values(["shorter", "kernel", "capture"], kind="stable")
    rows: list[int] = ordered.index[: selection.top].tolist()
    return rows, notes


def _share_of_time(table: KernelTable, kernels: list[str]) -> str:
    """``, 62 % of the time``; of several captures the smallest and the largest share, empty where it is not known."""
    if not table.has("seconds"):
        return ""
    frame = table.frame[["capture", "kernel", "seconds_total"]].dropna()
    kept = frame["seconds_total"].where(frame["kernel"].isin(kernels), 0)
    shares = kept.groupby(frame["capture"]).sum() / frame.groupby("capture")["seconds_total"].sum()
    shares = shares.dropna()
    if shares.empty:
        return ""
    low, high = (f"{float(share) * 100:.3g}" for share in (shares.min(), shares.max()))
    return f", {low} % of the time" if low == high else f", {low} to {high} % of the time of their captures"
