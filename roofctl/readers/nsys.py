"""Tables of Nsight Systems (``nsys stats --format csv``): times and launches of kernels."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from roofctl.core.kernel_names import without_casts
from roofctl.readers.cells import Launches, count
from roofctl.readers.split import Rows, equals
from roofctl.readers.wide_table import WideTable, device_name, rewritten, to_launches

AVERAGE: Final = "nsys kernel Avg"
DURATION: Final = "nsys kernel Duration"

PRINT_HINT: Final = "nsys stats --report cuda_gpu_kern_sum --format csv REPORT.nsys-rep > times.csv"
"""The command that prints what roofctl reads."""


class NsysSummary(WideTable):
    """``cuda_gpu_kern_sum``, and ``cuda_gpu_kern_gb_sum`` with a row per launch shape."""

    names = ("Total Time", "Instances", "Avg", "Min", "Max", "GridXYZ", "BlockXYZ", "Name")

    def launches(self) -> Launches:
        """What was taken."""
        rows = self.taken()
        columns = {"": "Avg", "min:": "Min", "max:": "Max", "total:": "Total Time"}
        cells = {f"{prefix}{AVERAGE}": self.values(rows, name) for prefix, name in columns.items() if self.has(name)}
        identity = {"kernel": rewritten(self.column(rows, "Name"), without_casts)}
        for name in ("grid", "block"):
            identity[name] = rewritten(self.column(rows, f"{name.capitalize()}XYZ"), _shape)
        result = to_launches(rows, identity, cells, {AVERAGE})
        calls, codes = rewritten(self.column(rows, "Instances"), str)
        result.launches = np.array([count(text) for text in calls] or [0], np.int64)[codes]
        result.is_summary = True
        return result


class NsysTrace(WideTable):
    """``cuda_gpu_trace``: kernels are the rows with a grid; copies and fills have none."""

    what = "rows that are no kernels (copies, fills)"
    names = ("Duration", "Device", "Name", *(f"{kind}{axis}" for kind in ("Grd", "Blk") for axis in "XYZ"))

    def kernels(self, rows: Rows) -> Any:
        """Rows with a grid."""
        return ~equals(self.column(rows, "GrdX"), "")

    def launches(self) -> Launches:
        """What was taken."""
        rows = self.taken()
        identity = {
            "kernel": rewritten(self.column(rows, "Name"), without_casts),
            "device": rewritten(self.column(rows, "Device"), device_name),
            "grid": self.shapes(rows, [f"Grd{axis}" for axis in "XYZ"]),
            "block": self.shapes(rows, [f"Blk{axis}" for axis in "XYZ"]),
        }
        return to_launches(rows, identity, {DURATION: self.values(rows, "Duration")}, {DURATION})


READERS: Final[dict[str, type[NsysSummary | NsysTrace]]] = {
    "nsys_summary": NsysSummary,
    "nsys_trace": NsysTrace,
}


def _shape(text: str) -> str:
    axes = re.findall(r"\d+", text)
    return f"({', '.join(axes)})" if len(axes) == 3 else ""  # noqa: PLR2004 - x, y, z
