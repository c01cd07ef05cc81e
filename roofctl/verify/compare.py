"""Compare the counted quantities of known kernels with the counts that follow from their source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from roofctl.core.errors import InputError
from roofctl.core.gpu import Gpu
from roofctl.core.kernel_names import base_name
from roofctl.core.notes import Note
from roofctl.cuda.sass import ExecutedPath
from roofctl.gpus import match_device
from roofctl.launches.aggregate import KernelTable, aggregate
from roofctl.launches.evaluate import launch_table
from roofctl.launches.table import Part
from roofctl.quantities import catalogue
from roofctl.study.device import describe_device, one_device
from roofctl.verify.expect import SHARED_COUNTS, Circumstances, Expectation, Kind, expectations
from roofctl.verify.known_kernels import KNOWN, known_kernel
from roofctl.verify.known_work import KnownKernel, LaunchShape

Status = Literal["ok", "off", "not assessed"]


@dataclass(frozen=True)
class CountCheck:
    """One quantity of one kernel. ``error`` is a fraction of the expected value, None where that is 0."""

    kernel: str
    quantity: str
    kind: Kind
    expected: float
    low: float
    high: float
    counted: float
    status: Status
    why: str

    @property
    def error(self) -> float | None:
        """Deviation from the expected value; 0 when both are 0, None when only the expected one is."""
        if self.expected == 0:
            return 0.0 if self.counted == 0 else None
        return self.counted / self.expected - 1


@dataclass(frozen=True)
class Verdict:
    """All rows; what was not counted and why; known kernels that the capture lacks; the GPU; and notes."""

    rows: tuple[CountCheck, ...]
    not_counted: Mapping[str, str]
    absent: tuple[str, ...]
    gpu: str | None
    compute_capability: str | None
    notes: tuple[Note, ...] = ()

    @property
    def off(self) -> tuple[CountCheck, ...]:
        """Rows that contradict the source."""
        return tuple(row for row in self.rows if row.status == "off")

    @property
    def agreeing(self) -> tuple[CountCheck, ...]:
        """Rows that agree with the source."""
        return tuple(row for row in self.rows if row.status == "ok")


def compare(
    parts: Sequence[Part],
    *,
    paths: Mapping[str, ExecutedPath] | None = None,
    flushed: bool | None = None,
    gpu: Gpu | None = None,
) -> Verdict:
    """Compare the known kernels in the parts of one capture with the table.

    ``paths`` are instruction counts from the disassembly of the program. ``flushed``: whether caches were emptied
    before each kernel; None means as the profiler does by default (ncu does, nvprof does not). ``gpu`` is used
    where the parts do not name theirs. Raises InputError when the parts hold no known kernel or no counter to compare.
    """
    device = describe_device(parts)
    one_device(device)
    name = next(iter(device.names), gpu.name if gpu else None)
    capability = next(iter(device.compute_capabilities), gpu.compute_capability if gpu else None)
    kernels = aggregate(launch_table(parts, catalogue().chip_of(capability)), "kernel+grid")
    about = Circumstances(
        l2_bytes=_l2_bytes(name),
        patched=_patched(parts),
        flushed=_is_ncu(parts) if flushed is None else flushed,
        paths=paths or {},
    )
    rows: list[CountCheck] = []
    present: list[KnownKernel] = []
    notes = [note for part in parts for note in part.notes]
    notes += [note for capture in kernels.captures for note in capture.notes]
    for record in _records(kernels):
        kernel = known_kernel(base_name(record["kernel"]))
        if kernel is not None:
            present.append(kernel)
            rows += _check(kernel, record, about, notes)
    if not present:
        raise InputError(
            "no kernel of kernels/known is in this capture",
            hint="capture the program that roofctl verify builds (roofctl verify --keep), or run roofctl verify",
        )
    if not any(row.status != "not assessed" for row in rows):
        raise InputError(
            "the capture has the known kernels, but no counter whose value is known",
            hint="capture them with the metric sets: roofctl verify --keep",
        )
    return Verdict(
        tuple(rows), _not_counted(kernels, rows), _absent(present, capability), name, capability, tuple(notes)
    )


def _is_ncu(parts: Sequence[Part]) -> bool:
    return any("__" in counter for part in parts for counter in part.names)


def _l2_bytes(device_name: str | None) -> int | None:
    """Size of the L2 by the GPU profile of that device name."""
    profiles = match_device(device_name)[0] if device_name else []
    return profiles[0].l2.bytes.value if len(profiles) == 1 else None


def _patched(parts: Sequence[Part]) -> frozenset[str]:
    """Quantities of shared memory that were made from counters of patched instructions: those count exactly."""
    known = catalogue()
    names = {counter for part in parts for counter in part.names}
    patched = set()
    for quantity in SHARED_COUNTS:
        possible = [r for r in known.quantities[quantity].recipes if all(counter in names for counter in r.counters)]
        recipe = next((r for r in possible if not r.caveats), possible[0] if possible else None)
        if recipe is not None and all(map(known.patched, recipe.counters)):
            patched.add(quantity)
    return frozenset(patched)


def _records(kernels: KernelTable) -> list[dict[str, Any]]:
    frame = kernels.frame.astype(object)
    records = frame.where(frame.notna(), None).to_dict("records")
    return [
        {**{str(name): value for name, value in record.items()}, "caveats": caveats}
        for record, caveats in zip(records, kernels.caveats, strict=True)
    ]


def _check(kernel: KnownKernel, record: Mapping[str, Any], about: Circumstances, notes: list[Note]) -> list[CountCheck]:
    launch = kernel.launch
    if record.get("grid") and record.get("block"):
        launch = LaunchShape.parse(record["grid"], record["block"])
    else:
        notes.append(Note("launch shapes are not in the capture: those that the program has by default are taken"))
    counted = {name: record[name] for name in catalogue().quantities if record.get(name) is not None}
    rows = []
    for expectation in expectations(kernel, launch, counted, about):
        if expectation.quantity in counted:
            caveat = record["caveats"].get(expectation.quantity, "")
            rows.append(_row(kernel.name, expectation, counted[expectation.quantity], caveat))
    return rows


def _row(kernel: str, expectation: Expectation, counted: float, caveat: str) -> CountCheck:
    status: Status = "ok" if expectation.accepts(counted) else "off"
    why = expectation.why
    if status == "off" and caveat and expectation.kind == "exact":
        # The catalogue declares that this counter is not exact: a deviation proves nothing new.
        status, why = "not assessed", caveat
    return CountCheck(
        kernel=kernel,
        quantity=expectation.quantity,
        kind=expectation.kind,
        expected=expectation.expected,
        low=expectation.low,
        high=expectation.high,
        counted=counted,
        status=status,
        why=why,
    )


_NO_VALUE = "no value for these kernels"


def _not_counted(kernels: KernelTable, rows: Sequence[CountCheck]) -> dict[str, str]:
    """Quantities with an expectation that no kernel has, and why."""
    known = KNOWN[0]
    counts = {"issued_warp_instructions": 1.0, "thread_instructions": 1.0}
    wanted = dict.fromkeys(e.quantity for e in expectations(known, known.launch, counts, Circumstances()))
    counted = {row.quantity for row in rows}
    return {
        quantity: next(
            (c.missing[quantity] for c in kernels.captures if quantity in c.missing), "no value for these kernels"
        )
        for quantity in wanted
        if quantity not in counted
    }


def _absent(present: Sequence[KnownKernel], capability: str | None) -> tuple[str, ...]:
    """Kernels that a GPU of this compute capability runs but that the capture lacks."""
    major = int(capability.partition(".")[0]) if capability else 0
    return tuple(k.name for k in KNOWN if k not in present and k.runs_on(major))
