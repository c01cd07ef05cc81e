"""The units in which a model is drawn: axis names, and rates as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import gtxn, prefixed, significant
from roofctl.roofline.model import ISSUE, WORK_LABELS, Model, Peak

_TENSOR: Final = " tensor"


@dataclass(frozen=True)
class AxisUnits:
    """``rate``: work per second in one unit of the y axis; ``rate_name`` is the name of that unit."""

    title: str
    rate: float
    rate_name: str
    x_label: str
    y_label: str
    transactions: bool

    def peak(self, types: Sequence[Sequence[Peak]]) -> str:
        """Types with peaks close to each other, each with one peak, or with a measured and a theoretical one.

        ``Peak 965.2 of 1045.4 GIPS``, ``FP16, BF16 tensor 832.1–863.5 TFLOP/s``.
        """
        works = [peaks[0].work for peaks in types]
        rates = [self._range_text([peak.per_second / self.rate for peak in each]) for each in zip(*types, strict=True)]
        integer = any(work in PRECISIONS and PRECISIONS[work].integer for work in works)
        unit = self.rate_name.replace("FLOP/s", "OP/s") if integer else self.rate_name
        return f"{_names(works)} {' of '.join(rates)} {unit}"

    def _range_text(self, rates: Sequence[float]) -> str:
        """One rate where they all agree within what a measurement is good to, else the lowest and the highest."""
        within = 1.01
        low, high = min(rates), max(rates)
        return self._rate_text(high) if high <= low * within else f"{self._rate_text(low)}–{self._rate_text(high)}"

    def _rate_text(self, value: float) -> str:
        """Four digits of instructions, three of operations: their names are longer."""
        no_decimals_from = 99.95
        if self.transactions:
            return rate_text(value)
        return f"{value:.0f}" if value >= no_decimals_from else significant(value, 3)

    def bandwidth(self, bytes_per_second: float) -> str:
        """A level's rate in the model's own unit: ``150.4 GTXN/s``, or ``4.81 TB/s``."""
        if self.transactions:
            return f"{rate_text(gtxn(bytes_per_second))} GTXN/s"
        return prefixed(bytes_per_second, "B/s", 3)


def _names(works: Sequence[str]) -> str:
    """``Peak``, ``FP32, FP64 tensor``, ``FP16, BF16 tensor``."""
    names = ["Peak" if work == ISSUE else WORK_LABELS.get(work, work) for work in works]
    if len(names) > 1 and all(name.endswith(_TENSOR) for name in names):
        return ", ".join(name.removesuffix(_TENSOR) for name in names) + _TENSOR
    return ", ".join(names)


def rate_text(value: float) -> str:
    """A rate in units of the axis: 1045.4, 150.4, 8.25."""
    one_decimal_from = 10
    return f"{value:.1f}" if value >= one_decimal_from else significant(value, 3)


AXIS_UNITS: Final[dict[Model, AxisUnits]] = {
    "instruction": AxisUnits(
        "Instruction roofline",
        1e9,
        "GIPS",
        "Instruction intensity (warp instructions per 32-byte transaction)",
        "Performance (warp GIPS)",
        transactions=True,
    ),
    "flop": AxisUnits(
        "FLOP roofline",
        1e12,
        "TFLOP/s",
        "Arithmetic intensity (operations per byte)",
        "Performance (TFLOP/s)",
        transactions=False,
    ),
}


def percent_units(model: Model) -> AxisUnits:
    """Units of a picture in which each point is at its percentage of its own roof."""
    units = AXIS_UNITS[model]
    return replace(
        units,
        title=f"{units.title}, normalized",
        rate=1.0,
        rate_name="%",
        y_label="Percent of the kernel's own roof",
        transactions=True,
    )
