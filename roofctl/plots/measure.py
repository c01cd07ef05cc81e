"""In which units a model is drawn: axis names, and rates as words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roofctl.roofline import ISSUE, WORK_LABELS, Model, Peak
from roofctl.units import gtxn, prefixed, significant


@dataclass(frozen=True)
class Measure:
    """``unit``: work per second in one step of the y axis; ``rate_name`` is its name."""

    title: str
    unit: float
    rate_name: str
    x_label: str
    y_label: str
    transactions: bool

    def peak(self, works: list[str], peaks: list[Peak]) -> str:
        """The peak of ``works``, or a measured and a theoretical one of the same: ``Peak 965.2 of 1045.4 GIPS``."""
        name = ", ".join("Peak" if work == ISSUE else WORK_LABELS.get(work, work) for work in works)
        unit = "TOP/s" if works == ["int8_tc"] else self.rate_name
        return f"{name} {' of '.join(rate_text(peak.per_second / self.unit) for peak in peaks)} {unit}"

    def bandwidth(self, bytes_per_second: float) -> str:
        """A level's rate in the model's own unit: ``150.4 GTXN/s``, or ``4.81 TB/s``."""
        if self.transactions:
            return f"{rate_text(gtxn(bytes_per_second))} GTXN/s"
        return prefixed(bytes_per_second, "B/s", 3)


def rate_text(value: float) -> str:
    """A rate in units of the axis: 1045.4, 150.4, 8.25."""
    one_decimal_from = 10
    return f"{value:.1f}" if value >= one_decimal_from else significant(value, 3)


MEASURES: Final[dict[Model, Measure]] = {
    "instruction": Measure(
        "Instruction roofline",
        1e9,
        "GIPS",
        "Instruction intensity (warp instructions per 32-byte transaction)",
        "Performance (warp GIPS)",
        transactions=True,
    ),
    "flop": Measure(
        "FLOP roofline",
        1e12,
        "TFLOP/s",
        "Arithmetic intensity (operations per byte)",
        "Performance (TFLOP/s)",
        transactions=False,
    ),
}
