"""Everything that is known of one kernel, as plain numbers: what every model, wall and advice starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from roofctl.launches.aggregate import Kernels
from roofctl.quantities import catalogue
from roofctl.roofline.model import Spread

_TIMES: Final = ("seconds", "seconds_median", "seconds_min", "seconds_max", "seconds_total")
_EXACT_BELOW: Final = 2**53


@dataclass(frozen=True)
class Facts:
    """One kernel of one capture.

    ``values`` holds every quantity of the catalogue (mean per launch; None where missing) and the times
    ``seconds_median``, ``_min``, ``_max``, ``_total``. ``caveats`` and ``missing`` are texts per quantity.
    ``spreads`` holds the smallest and the largest launch of a quantity, where both are known.
    """

    kernel: str
    short_name: str
    launches: int
    grid: Any
    block: Any
    sources: tuple[str, ...]
    time_share: float | None
    values: Mapping[str, Any]
    caveats: Mapping[str, str]
    missing: Mapping[str, str]
    spreads: Mapping[str, Spread]

    def __getitem__(self, quantity: str) -> Any:
        return self.values.get(quantity)

    def reason(self, quantity: str) -> str:
        """Why ``quantity`` has no value."""
        return self.missing.get(quantity) or "no value for this kernel"

    @property
    def source(self) -> str:
        return ", ".join(self.sources)


def gather(record: Mapping[str, Any], capture: Kernels, short_name: str, total_seconds: float | None) -> Facts:
    """Facts of one record of ``capture.frame``; ``total_seconds`` is the time of all kernels of the capture."""
    names = tuple(catalogue().quantities)
    values = {name: known(record.get(name)) for name in (*names, *_TIMES)}
    counts = {name: whole(values[name]) for name in names if catalogue().quantities[name].dimension == "count"}
    own, total = values["seconds_total"], total_seconds
    return Facts(
        kernel=record["kernel"],
        short_name=short_name,
        launches=int(known(record["launches"])),
        grid=known(record.get("grid")),
        block=known(record.get("block")),
        sources=capture.sources,
        time_share=own / total if own is not None and total else None,
        values={**values, **counts},
        caveats={name: text for name in names if (text := known(record.get(f"caveat:{name}")))},
        missing=capture.missing,
        spreads={name: spread for name in names if (spread := _spread(record, name))},
    )


def _spread(record: Mapping[str, Any], name: str) -> Spread | None:
    low, high = known(record.get(f"{name}_min")), known(record.get(f"{name}_max"))
    return None if low is None or high is None else Spread(low, high)


def known(value: Any) -> Any:
    """A plain Python number, or None for any kind of missing; whole floats of counts stay as they are."""
    if value is None or pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


def whole(value: float | None) -> int | float | None:
    """An int where a count is whole (a float below 2^53 is exact), else without the dust of float sums."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_BELOW:
        return int(value)
    return round(value, 6) if isinstance(value, float) else value
