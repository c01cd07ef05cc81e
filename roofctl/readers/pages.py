"""What is taken of ncu's raw page (a row per launch)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from roofctl.launches.table import Part, counts_work
from roofctl.readers import ncu_csv as ncu
from roofctl.readers.arrow import Irregular, Rows
from roofctl.readers.columns import Counted, Grown, Numbers, Words, part_frame, texts, to_array
from roofctl.readers.convert import NCU_IDENTITY, Converter, shape
from roofctl.readers.digits import MISSING
from roofctl.readers.find_tables import Table
from roofctl.readers.numbers import Mark
from roofctl.readers.streams import Block

_GPU: Final = "device__attribute_display_name"
_KEY: Final = ("Process ID", "ID", "Kernel Name")
_SHAPE: Final = ("Block Size", "Grid Size", "CC")


class RawPage:
    """Launches of a raw page."""

    read_apart = True
    times = 1
    skipped = 0

    def __init__(self, table: Table, known: frozenset[str], mark: Mark | None) -> None:
        header, units = table.header, table.units or []
        self._units = {name: units[i] if i < len(units) else "" for i, name in enumerate(header)}
        self._counters = [name for name in header if name in known]
        self._words = {name: (Words(), Grown("int32")) for name in ("Process ID", "Kernel Name", *_SHAPE, _GPU)}
        self._lines = Grown("int64")
        self._numbers = Numbers(len(self._counters), mark)
        self._steady = frozenset(self._counters)
        # Counters that the first rows have need no second look; the others are looked for in every block.
        self._seen = {name for launch in ncu.read_raw(table, frozenset()) for name in launch.names}
        rest = [name for name in header if name not in NCU_IDENTITY and name not in known]
        self._unseen = [name for name in rest if name not in self._seen]
        self.columns = [*self._words, *self._counters, *self._unseen]

    def expect(self, rows: int) -> None:
        """Make room for as many."""
        for _, codes in self._words.values():
            codes.expect(rows)
        self._lines.expect(rows)
        self._numbers.expect(rows)

    def prepare(self, block: Block) -> None:
        """Nothing: launches of a raw page repeat too little of each other."""

    def take_prepared(self, prepared: None, line: int) -> int:  # noqa: ARG002 - every page has it
        """Nothing."""
        return 0

    def take(self, rows: Rows) -> None:
        """Take launches."""
        for name, (words, codes) in self._words.items():
            codes.add(words.codes(rows.coded(name)))
        self._lines.add(rows.lines)
        # Where each cell may have to be read again, each is needed.
        steady = self._steady if self._numbers.settled else frozenset()
        cells = rows.cells(self._counters, steady)
        self._numbers.add(cells)
        if steady:
            # What changed once is not looked at for that again.
            counts = zip(self._counters, np.diff(cells.bounds).tolist(), strict=True)
            self._steady = steady.intersection(name for name, count in counts if count == 1)
        self._seen |= {name for name in self._unseen if name not in self._seen and bool(rows.valued(name).any())}

    def names(self) -> frozenset[str]:
        """All counters that had a value."""
        columns = zip(self._counters, self._numbers.columns, strict=True)
        return frozenset(self._seen) | {n for n, c in columns if bool((c.decimals.whole() != MISSING).any())}

    def mark(self) -> Mark:
        """The decimal mark that the cells decide. Raises Irregular when they leave it open."""
        return self._numbers.decided()

    def parts(self, converter: Converter) -> list[Part]:
        """The launches as one part. Raises Irregular where processes may stand for captures of their own."""
        names = self.names()
        self._check_one_capture()
        identity = {
            "kernel": self._texts("Kernel Name"),
            "process": self._texts("Process ID"),
            "block": self._texts("Block Size", shapes=True),
            "grid": self._texts("Grid Size", shapes=True),
            "device": self._texts(_GPU),
            "compute_capability": self._texts("CC"),
        }
        arrays = {}
        for name, column in zip(self._counters, self._numbers.columns, strict=True):
            cells = Counted(
                column.digits.whole(), column.decimals.whole(), column.odd, self._lines.whole(), [self._units[name]]
            )
            arrays[name] = to_array(name, cells, converter)
            column.digits = Grown("int64")
        return [Part(part_frame(identity, arrays), converter.source, names)]

    def _texts(self, name: str, *, shapes: bool = False) -> Any:
        words, codes = self._words[name]
        return texts(list(map(shape, words.texts)) if shapes else words.texts, codes.whole())

    def _check_one_capture(self) -> None:
        """Processes that all have some counter of work belong to one capture; else names of each would be needed."""
        words, codes = self._words["Process ID"]
        if len(words.texts) == 1:
            return
        process = codes.whole()
        for name, column in zip(self._counters, self._numbers.columns, strict=True):
            have = process[column.decimals.whole() != MISSING]
            if counts_work(name) and len(np.unique(have)) == len(words.texts):
                return
        raise Irregular
