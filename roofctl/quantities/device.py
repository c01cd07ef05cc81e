"""Counters by which a capture describes its GPU: attributes, peaks per clock, and rates with their part of a peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from roofctl.quantities.documents import document


@dataclass(frozen=True)
class PeakCounter:
    """A peak is ``counter`` x ``each`` per clock; ``of`` names the units whose number it is multiplied by.

    ``sparse``: stated for 2:4 sparsity. ``not_on``: chips on which something narrower limits.
    """

    counter: str
    each: int = 1
    of: str = ""
    sparse: bool = False
    not_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class RateCounter:
    """A peak is ``counter`` (per second) x ``each`` / ``part``, the fraction of the peak that it was."""

    counter: str
    part: str
    each: int = 1


@dataclass(frozen=True)
class DeviceCounters:
    """All of them, by what they give; ``attributes`` and their factors in the order in which they are tried."""

    attributes: Mapping[str, Mapping[str, int]]
    units: Mapping[str, tuple[str, ...]]
    cycles: Mapping[str, str]
    peaks: Mapping[str, tuple[PeakCounter, ...]]
    rates: Mapping[str, tuple[RateCounter, ...]]

    @cached_property
    def dimensions(self) -> dict[str, str | None]:
        """Every counter, with ``fraction`` for parts of a peak and None for those of any unit."""
        counters: dict[str, str | None] = dict.fromkeys(self.cycles.values())
        for attribute in self.attributes.values():
            counters.update(dict.fromkeys(attribute))
        for stems in self.units.values():
            counters.update(dict.fromkeys(f"{stem}.{end}" for stem in stems for end in ("sum", "avg")))
        counters.update(dict.fromkeys(peak.counter for peaks in self.peaks.values() for peak in peaks))
        for rates in self.rates.values():
            counters.update(dict.fromkeys(rate.counter for rate in rates))
            counters.update(dict.fromkeys((rate.part for rate in rates), "fraction"))
        return counters


@cache
def device_counters() -> DeviceCounters:
    """The shipped table, read once."""
    tree: dict[str, Any] = document("device.yaml")
    return DeviceCounters(
        attributes=tree["attributes"],
        units={name: tuple(stems) for name, stems in tree["units"].items()},
        cycles=tree["cycles"],
        peaks={
            name: tuple(PeakCounter(**{**entry, "not_on": tuple(entry.get("not_on", ()))}) for entry in entries)
            for name, entries in tree["peaks"].items()
        },
        rates={name: tuple(RateCounter(**entry) for entry in entries) for name, entries in tree["rates"].items()},
    )
