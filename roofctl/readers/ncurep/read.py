"""Nsight Compute reports (.ncu-rep): by NVIDIA's ``ncu_report`` in child processes, else by the ncu on PATH.

The values are those that ``ncu --import … --csv --page raw --print-units base`` prints, before it rounds them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from roofctl.core import process
from roofctl.core.errors import InputError, ToolTimeout
from roofctl.core.kernel_names import without_casts
from roofctl.core.units import Unit
from roofctl.cuda import tools
from roofctl.launches.table import Part
from roofctl.quantities import catalogue
from roofctl.readers import streams
from roofctl.readers.cells import Cell, shape
from roofctl.readers.convert import LARGEST, Converter, array
from roofctl.readers.ncurep import container
from roofctl.readers.ncurep.child import BLOCK, CAPABILITY, DEVICE_NAME, GRID, IDENTITY, Answer, Plan, unpacked
from roofctl.readers.ncurep.container import IncompleteReport, Index, Stored
from roofctl.readers.ncurep.export import by_hand
from roofctl.readers.numbers import Number, to_base
from roofctl.readers.parts import part_of

_CHILD_BYTES: Final = 16 << 20
"""Reports up to this size take one child; starting another would take longer than it saves."""
_MOST_CHILDREN: Final = 8
_LOOK_SECONDS: Final = 0.1
_SECONDS: Final = 60.0
_BYTES_PER_SECOND: Final = 1 << 20
"""A child may take this long, and longer for a large report: a tenth of the speed measured."""
_TAIL: Final = 160
_EXACT: Final = 2**53
"""Up to here a float holds every integer."""
_NO_MEMORY: Final = re.compile(r"MemoryError|bad_alloc|Cannot allocate memory|failed to map segment")
_OF_READER: Final = re.compile(r'File "[^"]*ncu_report[^"]*", line|in _read_slice$', re.MULTILINE)
"""What a traceback of the child shows where NVIDIA's reader failed, or gave what no report holds."""


class _NotLoading(InputError):  # noqa: N818 - reads as what happened
    """NVIDIA's reader is installed but does not load here, whatever the file is."""


def is_meant(path: Path) -> bool:
    """Whether a path is a report, or a file that claims to be one by its name and is no text."""
    return streams.is_file(path) and (container.is_report(path) or (path.suffix == ".ncu-rep" and not _is_text(path)))


def _is_text(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"\0" not in file.read(4096)
    except OSError:
        return True  # the reader of texts says why it cannot be read


def read_report(path: Path) -> list[Part] | None:
    """The launches of a report as one part; None where no ``ncu_report`` loads here, and the ncu on PATH may print it.

    A report is what one run of ncu left, so its processes are one capture. Raises InputError that says what is
    wrong with the file: cut, damaged, made by a newer ncu, or without kernels.
    """
    index = indexed(path)
    answers = ask(path, index, sorted(catalogue().counters() - set(IDENTITY)))
    return None if answers is None else [_part(path, index.results, answers)]


def indexed(path: Path) -> Index:
    """Where the results of a report lie, process by process in the order of their first launch, as ncu prints them.

    Raises InputError for a file that is no report, or one without results.
    """
    index = _index(path)
    if not index.results:
        by = f" of ncu {index.version}" if index.version else ""
        raise InputError(
            f"{path} is an Nsight Compute report{by} in which no kernel was profiled",
            hint="check the kernel filter, and profile child processes (ncu --target-processes all)",
        )
    order = {name: number for number, name in enumerate(dict.fromkeys(stored.process for stored in index.results))}
    index.results.sort(key=lambda stored: order[stored.process])
    return index


def ask(path: Path, index: Index, counters: Sequence[str]) -> list[Answer] | None:
    """Values of ``counters`` by NVIDIA's reader: the package ``ncu-report``, else the module in ncu's own folder.

    None where neither is there, or neither works and ncu is on PATH.
    """
    problem: InputError | None = None
    if find_spec("ncu_report"):
        try:
            return _ask(path, index, counters, None)
        except InputError as error:  # the package may be older than the ncu here
            problem = error
    module = tools.report_module()
    if module:
        # Where ncu's own module fails, ncu itself prints the report, or the reason why it cannot.
        with suppress(InputError):
            return _ask(path, index, counters, module)
    if problem and not (isinstance(problem, _NotLoading) and shutil.which("ncu")):
        raise problem
    return None


def _index(path: Path) -> Index:
    try:
        return container.index(path)
    except IncompleteReport as error:
        if not container.is_report(path):
            raise InputError(
                f"{path} is named as an Nsight Compute report but does not begin as one (NVR)",
                hint="the file is damaged or of another kind: copy it again, or profile again",
            ) from error
        raise InputError(
            f"{path} is an incomplete Nsight Compute report: {error}",
            hint="copy it again, or profile again: a run that was killed leaves such a file",
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="check its permissions") from error


def _ask(path: Path, index: Index, counters: Sequence[str], module: Path | None) -> list[Answer]:
    """Answers of child processes, each for a share of the results; ``module`` is the folder of ``ncu_report``."""
    results = index.results
    size = sum(stored.size for stored in results)
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    count = max(1, min(processors, _MOST_CHILDREN, len(results), -(-size // _CHILD_BYTES)))
    bounds = [len(results) * number // count for number in range(count + 1)]
    shares = [results[begin:end] for begin, end in pairwise(bounds)]
    with TemporaryDirectory(prefix="roofctl-") as folder, ThreadPoolExecutor(count) as pool:
        files = [Path(folder) / f"{number}.json" for number in range(count)]
        plans = [_plan(path, index, share, counters, file) for share, file in zip(shares, files, strict=True)]
        seconds = _SECONDS + size / _BYTES_PER_SECOND
        pending = [pool.submit(_answer, path, index, plan, seconds, module) for plan in plans]
        if tell := streams.watcher():
            while wait(pending, timeout=_LOOK_SECONDS).not_done:
                done = sum(_counter(plan).stat().st_size for plan in plans)
                tell(path, size * done // len(results), size)
            tell(path, size, size)
        answers = [each.result() for each in pending]
    if unread := sum(answer["unread"] for answer in answers):
        raise _not_understood(path, index, unread)
    return answers


def _counter(plan: Path) -> Path:
    """The file that a child makes as long as it has read results."""
    return plan.with_suffix(".read")


def _plan(path: Path, index: Index, results: Sequence[Stored], counters: Sequence[str], where: Path) -> Path:
    plan: Plan = {
        "path": str(path.resolve()),
        "head": index.head.hex(),
        "sessions": [session.hex() for session in index.sessions],
        "texts": index.texts,
        "results": [(stored.offset, stored.size) for stored in results],
        "counters": list(counters),
        "counter": str(_counter(where)),
    }
    _counter(where).touch()
    where.write_text(json.dumps(plan), encoding="utf-8")
    return where


def _answer(path: Path, index: Index, plan: Path, seconds: float, module: Path | None) -> Answer:
    # The child finds this very roofctl, and no module that happens to lie in the user's folder.
    source = str(Path(container.__file__).parents[3])
    search = os.pathsep.join(filter(None, (source, str(module or ""), os.environ.get("PYTHONPATH"))))
    try:
        child = process.run(
            [sys.executable, "-m", "roofctl.readers.ncurep.child", plan],
            cwd=plan.parent,
            env={"PYTHONPATH": search},
            timeout=seconds,
        )
    except ToolTimeout as error:
        raise InputError(
            f"{path}: NVIDIA's report reader did not finish within {seconds:.0f} s and was stopped",
            hint="the report may be damaged: copy it again, or export it with: " + by_hand(path),
        ) from error
    if child.returncode:
        if index.version and tools.numbers(index.version) > tools.numbers(_reader_version()):
            raise _not_understood(path, index, 0)
        last = child.stderr.strip().rpartition("\n")[2][:_TAIL]
        if _NO_MEMORY.search(child.stderr):
            raise InputError(
                f"{path}: NVIDIA's report reader needs more memory than it may have here ({last})",
                hint="raise the limit where there is one (ulimit -v), else the report may be damaged; or export it: "
                + by_hand(path),
            )
        if re.match(r"(?:ImportError|ModuleNotFoundError)\b", last):
            raise _NotLoading(
                f"{path} is an Nsight Compute report, but NVIDIA's report reader does not load here: {last}",
                hint=f"pip install --force-reinstall ncu-report; or where ncu is: {by_hand(path)}",
            )
        if not child.signal and not _OF_READER.search(child.stderr):
            raise InputError(
                f"{path} could not be read, though no fault was found in it: {last or 'the reader says no reason'}",
                hint=f"check the memory and the space for temporary files; or export it: {by_hand(path)}",
            )
        how = f"crashed ({process.signal_name(child.signal)})" if child.signal else f"failed ({last})"
        raise InputError(
            f"{path} is a damaged Nsight Compute report: NVIDIA's report reader {how} over it",
            hint="copy it again, or profile again",
        )
    answer: Answer = json.loads(child.stdout)
    return answer


def _reader_version() -> str:
    try:
        return version("ncu-report")
    except PackageNotFoundError:
        return "0"


def _not_understood(path: Path, index: Index, unread: int) -> InputError:
    """The error for a whole container whose results NVIDIA's reader makes nothing of."""
    reader = _reader_version()
    if index.version and tools.numbers(index.version) > tools.numbers(reader):
        return InputError(
            f"{path} was made by ncu {index.version}, newer than the report reader here (ncu-report {reader})",
            hint=f"pip install -U ncu-report; or export it with that ncu: {by_hand(path)}",
        )
    return InputError(
        f"{path} is a damaged Nsight Compute report: ncu-report {reader} cannot read {unread:,} or more of its "
        f"{len(index.results):,} results",
        hint="copy it again, or profile again; if ncu can read it, export it with: " + by_hand(path),
    )


def joined(answers: Sequence[Answer]) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Values of all launches by metric, and the unit of each metric."""
    columns: dict[str, list[Any]] = {name: [] for answer in answers for name in answer["values"]}
    units: dict[str, str] = {}
    for answer in answers:
        units = {**answer["units"], **units}
        for name in columns:
            columns[name] += unpacked(answer["values"][name])
    return columns, units


def kernels_of(answers: Sequence[Answer]) -> list[str]:
    """Kernel names of all launches, as ncu prints them."""
    names = [kernel for answer in answers for kernel in answer["kernels"]]
    short = {name: without_casts(name) for name in set(names)}
    return [short[name] for name in names]


def _part(path: Path, results: Sequence[Stored], answers: Sequence[Answer]) -> Part:
    columns, units = joined(answers)
    kernels = kernels_of(answers)
    devices = columns.get(DEVICE_NAME, [None] * len(kernels))
    identity: dict[str, Sequence[Any]] = {
        "kernel": kernels,
        "process": [stored.process or None for stored in results],
        "block": _shapes(columns, BLOCK, len(kernels)),
        "grid": _shapes(columns, GRID, len(kernels)),
        "device": [value if isinstance(value, str) and value else None for value in devices],
        "compute_capability": formatted(columns, CAPABILITY, "{}.{}", len(kernels)),
        "launches": [1] * len(kernels),
        "is_summary": [False] * len(kernels),
    }
    converter = Converter(str(path), "point", catalogue())
    known = catalogue().counters()
    counted = {
        name: array(_numbers(name, columns[name], units.get(name, ""), converter)) for name in columns if name in known
    }
    having = {name for name, column in columns.items() if any(value is not None for value in column)}
    names = having.union(*(answer["others"] for answer in answers))
    return part_of(identity, counted, str(path), frozenset(names))


def _shapes(columns: Mapping[str, list[Any]], names: Sequence[str], count: int) -> list[str | None]:
    texts = formatted(columns, names, "({}, {}, {})", count)
    known = {text: shape(text or "") or None for text in set(texts)}
    return [known[text] for text in texts]


def formatted(columns: Mapping[str, list[Any]], names: Sequence[str], form: str, count: int) -> list[str | None]:
    """Some metrics of each launch as one text of ``form``; None where a metric is missing."""
    if any(name not in columns for name in names):
        return [None] * count
    made: dict[tuple[Any, ...], str | None] = {}
    parts = [columns[name] for name in names]
    for row in set(zip(*parts, strict=True)):
        numbers = [int(value) for value in row if isinstance(value, (int, float))]
        made[row] = form.format(*numbers) if len(numbers) == len(row) else None
    return [made[row] for row in zip(*parts, strict=True)]


def _numbers(name: str, values: Sequence[Any], unit_text: str, converter: Converter) -> list[Number | None]:
    """A column in SI base units, as the reader of tables makes it of the same values."""
    unit = converter.unit(name, Cell("", unit_text, 0))
    there = [value for value in values if value is not None]
    if str not in set(map(type, there)) and min(there, default=0) >= 0 and max(there, default=0) <= LARGEST:
        reals = set(map(type, values)) == {float}
        if _as_stored(unit):
            return _counts(values, whole=reals and all(map(float.is_integer, values)))
        if reals and (scaled := _scaled(values, unit)):
            return scaled
    return [None if value is None else _number(name, value, unit, converter, n) for n, value in enumerate(values)]


def _counts(values: Sequence[Number | None], *, whole: bool) -> list[Number | None]:
    if whole:
        return list(map(int, values))  # type: ignore[arg-type]
    return [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]


def _scaled(values: Sequence[float], unit: Unit) -> list[Number | None] | None:
    """Real numbers from 0 on as ``to_base`` makes them, where one division does; None where it may not.

    It rounds once, as ``to_base`` does, where both numbers are exact: whole nanoseconds are divided by 10**9.
    """
    divisor = round(1 / unit.factor)
    if divisor * Decimal(repr(unit.factor)) != 1:
        return None
    if divisor != 1 and not (max(values) <= _EXACT and all(map(float.is_integer, values))):
        return None
    return [abs(value) / divisor for value in values]  # no -0.0


def _as_stored(unit: Unit) -> bool:
    """Whether values are in SI base units already, whole ones as integers."""
    return unit.factor == 1.0 and unit.dimension in ("count", "bytes", "ratio")


def _number(name: str, value: Any, unit: Unit, converter: Converter, launch: int) -> Number | None:
    if not isinstance(value, str) and value < 0:
        converter.void(name)
        return None
    if isinstance(value, str) or not value <= LARGEST:
        raise InputError(
            f"{converter.source} launch {launch}: {name} is {value!r}, which no counter can be; "
            f"expected 0 to {LARGEST:.0e}",
            hint="the file may be damaged: copy it again, or capture again",
        )
    whole = int(value) if value == int(value) else None
    if _as_stored(unit):
        return value if whole is None else whole
    return to_base(Decimal(repr(value) if whole is None else whole), unit)
