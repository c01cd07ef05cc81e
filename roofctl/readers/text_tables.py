"""Tables that ncu, nvprof and nsys print as text, without ``--csv``: turned into the CSV that they print with it.

ncu's text page holds what its details page does; nvprof has a timing summary, a GPU trace, and metrics or events by
kernel. Lines that belong to no table stay as they are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from roofctl.readers.numbers import split_glued

_PROCESS: Final = re.compile(r"\s*\[(?P<id>\d+)\] (?P<name>.+)@(?P<host>\S+)\s*")
_SHAPE: Final = r"\(\d+, \d+, \d+\)"
_LAUNCH: Final = re.compile(
    rf"\s{{2,}}(?P<kernel>\S.*?)(?: (?P<grid>{_SHAPE})x(?P<block>{_SHAPE}))?, (?:\d{{4}}-\w{{3}}-\d\d [\d:]+, )?"
    r"Context (?P<context>\d+), Stream (?P<stream>\d+)(?:, Device (?P<device>\d+), CC (?P<cc>[\d.]+))?\s*"
)
_SECTION: Final = re.compile(r"\s*Section: (?P<name>.+?)\s*")
_RULER: Final = re.compile(r"\s*-{5,}(?: -{5,}){2}\s*")
_DETAILS: Final = (
    *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size"),
    *("Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value"),
)

_SUMMARY_HEADER: Final = re.compile(r"\s*(?:Type\s+)?Time\(%\)\s+Time\s+Calls\s+Avg\s+Min\s+Max\s+Name\s*")
_SUMMARY_ROW: Final = re.compile(
    r"\s*(?:(?P<type>[A-Za-z][\w ()]*):)?\s*(?P<share>[\d.]+%)\s+(?P<time>\S+)\s+(?P<calls>\d+)\s+(?P<avg>\S+)\s+"
    r"(?P<min>\S+)\s+(?P<max>\S+)\s+(?P<name>\S.*?)\s*"
)
_SUMMARY: Final = ("Type", "Time(%)", "Time", "Calls", "Avg", "Min", "Max", "Name")
_API: Final = re.compile(r"==\d+== API calls:")

_TRACE_HEADER: Final = re.compile(r"\s*Start\s+Duration\s+Grid Size\s+Block Size\s+.*\bName\s*")
_TRACE_ROW: Final = re.compile(
    r"\s*(?P<start>[\d.]+\w*s)\s+(?P<duration>\S+)\s+(?P<grid>\(\d+ \d+ \d+\)|-)\s+(?P<block>\(\d+ \d+ \d+\)|-)\s+"
    r"(?P<rest>\S.*)"
)
_TRACE: Final = (
    *("Start", "Duration", "Grid X", "Grid Y", "Grid Z", "Block X", "Block Y", "Block Z", "Device", "Context"),
    *("Stream", "Name", "Correlation_ID"),
)

_COUNTS_HEADER: Final = re.compile(r"\s*Invocations\s+(?P<what>Metric|Event) Name\s+.*")
_DEVICE: Final = re.compile(r'\s*Device "(?P<name>.+)"\s*')
_KERNEL: Final = re.compile(r"\s*Kernel: (?P<name>\S.*?)\s*")
_METRIC_ROW: Final = re.compile(r"\s*(\d+)\s+(\S+)\s+(\S.*?)\s{2,}(\S.*?)\s{2,}(\S.*?)\s{2,}(\S.*?)\s*")
_EVENT_ROW: Final = re.compile(r"\s*(\d+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*")
_METRICS: Final = ("Device", "Kernel", "Invocations", "Metric Name", "Metric Description", "Min", "Max", "Avg")
_EVENTS: Final = ("Device", "Kernel", "Invocations", "Event Name", "Min", "Max", "Avg", "Total")

_NSYS_HEADER: Final = re.compile(r"\s*(?:Time \(%\)|Time\(%\)|Total \(\w+\)|Start \(\w+\))\s{2,}\S.*(?:\s{2,}|\))\S.*")

_NSYS_RULER: Final = re.compile(r"\s*-{3,}(?:\s+-{3,})+\s*")


def as_csv(lines: Iterable[str]) -> str:
    """``lines`` with their text tables as CSV; empty where they hold no such table."""
    writer = _Writer()
    take: Callable[[str], bool] = writer.details
    for line in lines:
        if _SUMMARY_HEADER.fullmatch(line):
            take = writer.summary
        elif _TRACE_HEADER.fullmatch(line):
            take = writer.trace
        elif match := _COUNTS_HEADER.fullmatch(line):
            take = writer.metrics if match["what"] == "Metric" else writer.events
        elif _NSYS_HEADER.fullmatch(line) and "(" in line:
            take = writer.nsys_table(line)
        elif line.startswith("=="):
            writer.foreign(line)
        elif not take(line):
            take = take if not line.strip() else writer.details
            if not writer.details(line):
                writer.foreign(line)
    return writer.text() if writer.rows else ""


class _Writer:
    """Writes CSV; each method takes a line of one kind of table, or gives False. ``rows`` were written so far."""

    def __init__(self) -> None:
        self.rows = 0
        self._text = io.StringIO()
        self._csv = csv.writer(self._text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        self._header: Sequence[str] = ()
        self._process = ("", "", "")
        self._launch: list[str] = []
        self._launches = -1
        self._section = ""
        self._columns: list[slice] = []
        self._type = ""
        self._device = self._kernel = ""

    def text(self) -> str:
        """All that was written."""
        return self._text.getvalue()

    def foreign(self, line: str) -> None:
        """Write a line as it is."""
        self._type = "API calls" if _API.match(line) else self._type
        self._text.write(line.rstrip("\n") + "\n")

    def details(self, line: str) -> bool:
        """A line of ncu's text page."""
        if match := _PROCESS.fullmatch(line):
            self._process = (match["id"], match["name"], match["host"])
        elif match := _LAUNCH.fullmatch(line):
            self._launches += 1
            place = ("context", "stream", "block", "grid", "device", "cc")
            self._launch = [match["kernel"], *(match[name] or "" for name in place)]
            self._columns = []
        elif match := _SECTION.fullmatch(line):
            self._section, self._columns = match["name"], []
        elif _RULER.fullmatch(line):
            self._columns = [slice(*group.span()) for group in re.finditer("-+", line)]
        elif not self._columns or not line.strip():
            self._columns = []
            return False
        else:
            return self._metric(line)
        return True

    def _metric(self, line: str) -> bool:
        name, unit, value = (line[each].strip() for each in (*self._columns[:2], slice(self._columns[2].start, None)))
        if not name or not value or not self._launch:
            return False
        if (name, value) != ("Metric Name", "Metric Value"):
            self._row(_DETAILS, [str(self._launches), *self._process, *self._launch, self._section, name, unit, value])
        return True

    def summary(self, line: str) -> bool:
        """A row of nvprof's timing summary."""
        match = _SUMMARY_ROW.fullmatch(line)
        if not match:
            return False
        self._type = match["type"] or self._type or "GPU activities"
        self._row(_SUMMARY, [self._type, *(match[n] for n in ("share", "time", "calls", "avg", "min", "max", "name"))])
        return True

    def trace(self, line: str) -> bool:
        """A row of nvprof's GPU trace."""
        match = _TRACE_ROW.fullmatch(line)
        if not match:
            return False
        cells = re.split(r"\s{2,}", match["rest"].strip())
        device = next((i for i, cell in enumerate(cells) if re.fullmatch(r".+ \(\d+\)", cell)), None)
        if device is None or len(cells) < device + 4:
            return False
        shape = [axis for name in ("grid", "block") for axis in _axes(match[name])]
        duration = "" if match["duration"] == "-" else match["duration"]
        place = [cells[device], cells[device + 1], cells[device + 2], cells[-1], ""]
        self._row(_TRACE, [split_glued(match["start"])[0], duration, *shape, *place])
        return True

    def nsys_table(self, header: str) -> Callable[[str], bool]:
        """What takes the lines under a header of Nsight Systems: a ruler says where columns begin and end."""
        self._columns = []
        names: list[str] = []

        def take(line: str) -> bool:
            if _NSYS_RULER.fullmatch(line):
                self._columns = [slice(*group.span()) for group in re.finditer("-+", line)]
                self._columns[-1] = slice(self._columns[-1].start, None)
                names[:] = [header[each].strip() for each in self._columns]
            elif not names or not line.strip() or not re.fullmatch(r"[\d.,]+", line[self._columns[0]].strip()):
                return not line.strip()
            else:
                self._row(names, [line[each].strip() for each in self._columns])
            return True

        return take

    def metrics(self, line: str) -> bool:
        """A line of nvprof's metrics by kernel."""
        return self._counts(line, _METRIC_ROW, _METRICS)

    def events(self, line: str) -> bool:
        """A line of nvprof's events by kernel."""
        return self._counts(line, _EVENT_ROW, _EVENTS)

    def _counts(self, line: str, row: re.Pattern[str], header: Sequence[str]) -> bool:
        if match := _DEVICE.fullmatch(line):
            self._device, self._kernel = match["name"], ""
        elif match := _KERNEL.fullmatch(line):
            self._kernel = match["name"]
        elif self._kernel and (match := row.fullmatch(line)):
            self._row(header, [self._device, self._kernel, *match.groups()])
        else:
            return False
        return True

    def _row(self, header: Sequence[str], cells: Sequence[str]) -> None:
        if header is not self._header:
            self._header = header
            self._csv.writerow(header)
        self._csv.writerow(cells)
        self.rows += 1


def _axes(text: str) -> Iterator[str]:
    return iter(("", "", "") if text == "-" else text.strip("()").split())
