"""What the captures that were read carry about their GPU, as far as all launches agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from roofctl.gpus.carried import Carried
from roofctl.launches.table import Part
from roofctl.quantities import Chip
from roofctl.quantities.device import PeakCounter, RateCounter, device_counters
from roofctl.study.device import LONG_LAUNCH_SECONDS, Device

_NO_SPARSITY: Final = ("Pascal", "Volta", "Turing")
_TIME: Final = "gpu__time_duration.sum"
_SMALLEST_PART: Final = 0.01
"""A percentage with two decimals that is smaller than this gives its peak to worse than 0.5 %."""


def carried(parts: Sequence[Part], device: Device, chip: Chip | None, clocks: tuple[float | None, ...]) -> Carried:
    """What the parts say about their one GPU; ``clocks`` are those of SMs, L2 and memory, of long launches."""
    table = device_counters()
    attributes = {
        name: value
        for name, counters in table.attributes.items()
        if (value := next(_scaled(parts, counters.items()), None)) is not None
    }
    units = {name: count for name, stems in table.units.items() if (count := _units(parts, stems))}
    peaks: dict[str, float] = {}
    halved: set[str] = set()
    for name, counters in table.peaks.items():
        found = next(_peaks(parts, counters, chip, units), None)
        if found is None:
            continue
        value, sparse = found
        halve = sparse and chip is not None and chip.generation not in _NO_SPARSITY
        peaks[name] = value / 2 if halve else value
        halved.update([name] if halve else [])
    rates = {name: rate for name, counters in table.rates.items() if (rate := _rate(parts, counters))}
    sm_hz, l2_hz, memory_hz = clocks
    return Carried(
        source=_sources(parts),
        name=next(iter(device.names), None),
        compute_capability=next(iter(device.compute_capabilities), None),
        chip=chip,
        attributes=attributes,
        units=units,
        peaks=peaks,
        rates=rates,
        halved=frozenset(halved),
        sm_hz=sm_hz,
        l2_hz=l2_hz or _by_cycles(parts, table.cycles["l2"]),
        memory_hz=memory_hz,
    )


_NAMED: Final = 3


def _sources(parts: Sequence[Part]) -> str:
    names = list(dict.fromkeys(part.source for part in parts))
    return ", ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")


def _values(parts: Sequence[Part], counter: str) -> list[float]:
    """Distinct values of a counter over all launches, those above 0."""
    distinct = {
        float(value) for part in parts if counter in part.frame for value in part.frame[counter].dropna().unique()
    }
    return sorted(value for value in distinct if value > 0)


def _scaled(parts: Sequence[Part], counters: object) -> Iterator[float]:
    for counter, factor in counters:  # type: ignore[attr-defined]
        values = _values(parts, counter)
        if values:
            yield values[-1] * factor


def _units(parts: Sequence[Part], stems: Sequence[str]) -> int | None:
    """How many units counted: sum over average of a counter of theirs, where that is an integer in every launch."""
    for stem in stems:
        ratios = [total / mean for total, mean in _rows(parts, f"{stem}.sum", f"{stem}.avg") if mean]
        counts = {round(ratio) for ratio in ratios}
        if len(counts) == 1 and all(abs(ratio / round(ratio) - 1) < _EXACT for ratio in ratios if round(ratio)):
            return counts.pop() or None
    return None


_EXACT: Final = 1e-3


def _rows(parts: Sequence[Part], *counters: str) -> Iterator[tuple[float, ...]]:
    """Values of counters of the launches that have all of them."""
    for part in parts:
        if all(counter in part.frame for counter in counters):
            frame = part.frame[list(counters)].dropna().astype(float)
            yield from map(tuple, frame.to_numpy().tolist())


def _peaks(
    parts: Sequence[Part], counters: Sequence[PeakCounter], chip: Chip | None, units: dict[str, int]
) -> Iterator[tuple[float, bool]]:
    """Peaks per clock of all units, and whether they are stated for sparsity; launches that disagree give none."""
    for peak in counters:
        values = _values(parts, peak.counter)
        if len(values) != 1 or (chip and chip.name in peak.not_on) or (peak.of and peak.of not in units):
            continue
        yield values[0] * peak.each * (units[peak.of] if peak.of else 1), peak.sparse


def _rate(parts: Sequence[Part], counters: Sequence[RateCounter]) -> float | None:
    """Bytes per second at the peak: the median over long launches that reached enough of it."""
    for rate in counters:
        rows = _rows(parts, rate.counter, rate.part, _TIME)
        peaks = [
            value * rate.each / part
            for value, part, seconds in rows
            if part >= _SMALLEST_PART and seconds >= LONG_LAUNCH_SECONDS
        ]
        if peaks:
            return median(peaks)
    return None


def _by_cycles(parts: Sequence[Part], counter: str) -> float | None:
    """A clock as cycles over the time, of long launches."""
    rates = [cycles / seconds for cycles, seconds in _rows(parts, counter, _TIME) if seconds >= LONG_LAUNCH_SECONDS]
    return median(rates) if rates else None
