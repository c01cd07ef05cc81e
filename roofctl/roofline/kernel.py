"""One kernel of one capture, as plain numbers: what every model, picture, table and rule reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from roofctl.core.levels import LEVEL_LABELS, level_label
from roofctl.launches.aggregate import KernelTable
from roofctl.quantities import catalogue
from roofctl.roofline.model import Spread

_TIMES: Final = (
    *("seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total"),
    *("counted_seconds", "counted_launches"),
)
_RATIOS: Final = ("waves_per_sm", "registers_per_thread", "shared_bytes_per_block")
_EXACT_BELOW: Final = 2**53


@dataclass(frozen=True)
class Kernel:
    """One kernel of one capture.

    ``values`` holds every quantity of the catalogue (mean per launch, SI units; None where missing) and the times
    ``seconds_median``, ``_min``, ``_max``, ``_total``; counts belong to the ``counted_launches`` of them and their mean
    time, ``counted_seconds``. ``caveats`` and ``missing`` are texts per quantity.
    ``spreads`` holds the smallest and the largest launch of a quantity, where both are known.
    ``rank`` is that of the process of a parallel job, where the input has one. ``occurrence`` is the number of the
    launch among those of its kernel, from 1, where launches are not grouped. ``memory_label`` is how the level
    ``hbm`` is printed. ``incomplete``: why its capture is not complete; empty where it is. ``timed_by`` is the profiler
    whose times they are.
    """

    name: str
    short_name: str
    launches: int
    grid: str | None
    block: str | None
    sources: tuple[str, ...]
    time_share: float | None
    values: Mapping[str, Any]
    caveats: Mapping[str, str]
    missing: Mapping[str, str]
    spreads: Mapping[str, Spread]
    rank: int | None = None
    memory_label: str = LEVEL_LABELS["hbm"]
    occurrence: int | None = None
    incomplete: str = ""
    timed_by: str = "ncu"

    def __getitem__(self, quantity: str) -> Any:
        return self.values.get(quantity)

    def label(self, level: str) -> str:
        """A memory level as it is printed for this kernel's GPU."""
        return catalogue().levels.get(level) or level_label(level, self.memory_label)

    def reason(self, quantity: str) -> str:
        """Why ``quantity`` has no value."""
        return self.missing.get(quantity) or "no value for this kernel"

    @property
    def source(self) -> str:
        """The files it comes from, separated by commas."""
        return ", ".join(self.sources)

    @property
    def files(self) -> str:
        """``source`` without folders."""
        return ", ".join(Path(path).name for path in self.source.split(", "))


def kernels_of(
    table: KernelTable,
    rows: Sequence[int],
    names: Sequence[str],
    ranks: Mapping[str, int],
    memory_label: str = LEVEL_LABELS["hbm"],
    incomplete: Mapping[str, str] | None = None,
) -> list[Kernel]:
    """Kernels of the rows of ``table``, in the order given; shares are of the time of all kernels of a capture.

    ``names``: what each is called, in the same order. ``ranks`` and ``incomplete`` (why a capture is not complete) are
    by source.
    """
    totals: dict[Any, Any] = {}
    if table.has("seconds"):
        totals = {capture: plain(times.sum()) for capture, times in table.frame.groupby("capture")["seconds_total"]}
    counts = [name for name, quantity in catalogue().quantities.items() if quantity.dimension == "count"]
    kernels = []
    for row, name, record in zip(rows, names, _records(table.frame, rows), strict=True):
        values = {key: record.get(key) for key in (*catalogue().quantities, *_TIMES)}
        values.update({key: _count(record, key) for key in counts})
        capture = table.captures[record["capture"]]
        values.update(_quotients(values))
        differing = _differing(record)
        values.update(dict.fromkeys(differing))
        own, total = values["seconds_total"], totals.get(record["capture"])
        source = ", ".join(capture.sources)
        kernels.append(
            Kernel(
                name=record["kernel"],
                short_name=name,
                launches=int(record["launches"]),
                grid=record["grid"],
                block=record["block"],
                sources=capture.sources,
                time_share=own / total if own is not None and total else None,
                values=values,
                caveats=table.caveats[row],
                missing={**capture.missing, **differing} if differing else capture.missing,
                spreads=dict(_spreads(record)),
                rank=ranks.get(source),
                timed_by=record["timed_by"] or "",
                memory_label=memory_label,
                occurrence=record["occurrence"] + 1 if "occurrence" in record else None,
                incomplete="; ".join((incomplete or {}).get(each, "") for each in source.split(", ")).strip("; "),
            )
        )
    return kernels


def _quotients(values: Mapping[str, Any]) -> dict[str, float | None]:
    """Ratios of the user's own over all launches: what is divided is summed first."""
    result = {}
    for quantity in catalogue().own:
        above, below = (values[name] for name in quantity.quotient) if quantity.quotient else (None, None)
        if quantity.quotient and values[quantity.name] is not None:
            result[quantity.name] = above / below if above is not None and below else None
    return result


def _records(frame: pd.DataFrame, rows: Sequence[int]) -> list[dict[str, Any]]:
    """Rows as dictionaries of plain Python values, None where missing."""
    # Column by column: of rows with columns of many types pandas makes records ten times slower.
    columns = {str(name): _plain_values(column) for name, column in frame.iloc[list(rows)].items()}
    return [dict(zip(columns, record, strict=True)) for record in zip(*columns.values(), strict=True)]


def _plain_values(column: pd.Series) -> list[Any]:
    # ``where`` of pandas takes ten times as long on a few rows.
    return [None if gone else value for value, gone in zip(column.tolist(), column.isna().tolist(), strict=True)]


def _count(record: Mapping[str, Any], name: str) -> int | float | None:
    """Mean of a count per launch, exact wherever it is an integer: floats hold none above 2^53."""
    total, launches = record.get(f"{name}_total"), record["counted_launches"]
    if isinstance(total, int) and launches and total % launches == 0:
        return int(total // launches)
    return rounded_count(record.get(name))


def _differing(record: Mapping[str, Any]) -> dict[str, str]:
    """Ratios that differ between the launches: their mean is that of no launch, and has no meaning."""
    differing = {}
    for name in _RATIOS:
        low, high = record.get(f"{name}_min"), record.get(f"{name}_max")
        if low is not None and high is not None and high > low:
            differing[name] = f"differs between the launches ({low:.3g} to {high:.3g})"
    return differing


def _spreads(record: Mapping[str, Any]) -> Iterator[tuple[str, Spread]]:
    for name in catalogue().quantities:
        low, high = record.get(f"{name}_min"), record.get(f"{name}_max")
        if low is not None and high is not None:
            yield name, Spread(low, high)


def plain(value: Any) -> Any:
    """A plain Python number, or None for any kind of missing value."""
    if value is None or pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


def rounded_count(value: float | None) -> int | float | None:
    """An int where a count is an integer (a float below 2^53 is exact), else without the rounding of float sums."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_BELOW:
        return int(value)
    return round(value, 6) if isinstance(value, float) else value
