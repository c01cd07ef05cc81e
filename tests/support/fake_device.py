"""A GPU in plain Python: it knows what every microbenchmark computes, and takes as long as its rates imply."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from roofctl.core.errors import DeviceError
from roofctl.cuda import sass
from roofctl.microbench import arithmetic, caches, reference, tensor
from roofctl.microbench.device import BatchTiming, Copy, DeviceFacts, Graph, Job, KernelLaunch, Process
from roofctl.microbench.table import BULK_TILE_BYTES, CHAINS, KERNELS, MIXES
from roofctl.microbench.tensor import shape_of

H200 = DeviceFacts(
    index=0,
    name="NVIDIA H200",
    uuid="GPU-11111111-2222-3333-4444-555555555555",
    compute_capability=(9, 0),
    sm_count=132,
    l2_bytes=62914560,
    memory_bytes=150_000_000_000,
    shared_bytes_per_block=232448,
    driver_version="580.1",
    cuda_version="13.0",
    bus_bits=6016,
    memory_clock_hz=3.201e9,
    ecc=True,
    mig=False,
)

RATES = {
    "hbm_read": 4.65e12,
    "hbm_write": 4.67e12,
    "hbm_copy": 4.2e12,
    "hbm_triad": 4.4e12,
    "hbm_bulk": 4.1e12,
    "copy": 4.28e12,
    "l2": 9.9e12,
    "cache": 20e12,
    "l1": 33.3e12,
    "shared": 33.3e12,
    "fp32": 66.0e12,
    "fp64": 33.4e12,
    "fp16": 131e12,
    "bf16": 131e12,
    "issue": 30e12,
    "wgmma_fp16": 950e12,
    "wgmma_bf16": 950e12,
    "wgmma_tf32": 482e12,
    "wgmma_fp8": 1930e12,
    "wgmma_int8": 1930e12,
    "mma": 62e12,
    "wmma": 60e12,
}


def _kind(name: str) -> str:
    return next(part for part in name.split("_") if part in tensor.TENSOR_TYPES)


def _number(name: str, letter: str) -> int:
    """The number after _w, _v or _s in a kernel's name."""
    return int(re.findall(rf"_{letter}(\d+)", name)[-1])


@dataclass
class FakeDevice:
    """Scripted: ``rates`` by the longest fitting prefix, ``noise`` and ``clocks_hz`` sample by sample.

    A launch that does nothing takes ``launch_seconds``, one in a graph ``node_seconds``; the host needs
    ``queue_seconds`` to hand one over. Without ``graphs`` the driver has none.
    """

    facts: DeviceFacts = H200
    rates: dict[str, float] = field(default_factory=lambda: dict(RATES))
    noise: Iterable[float] = (1.0,)
    clocks_hz: Iterable[float] = (1.98e9,)
    memory_clock_hz: float | None = 3.201e9
    available: int = 140_000_000_000
    launch_seconds: float = 2.1e-6
    node_seconds: float = 1.3e-6
    event_seconds: float = 0.0
    queue_seconds: float = 4e-6
    graphs: bool = True
    others: tuple[Process, ...] = ()
    spoil: str = ""
    spoil_with: float = 1.0
    stop_before: str = ""
    seconds: float = 0.0
    launched: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)
    closed: bool = False

    def __post_init__(self) -> None:
        self._next = itertools.count(1)
        self._noise, self._clocks = itertools.cycle(self.noise), itertools.cycle(self.clocks_hz)
        self._bytes: dict[int, bytes] = {}
        self._patterns: dict[int, tuple[int, int, int, int]] = {}
        self._zeros: dict[int, bool] = {}

    # --- the seam ---

    def load(self, source: str, image: bytes) -> None:
        self.loaded.append(source)

    def allocate(self, size: int) -> int:
        if size > self.available:
            raise DeviceError(f"out of device memory: {size} asked for, {self.available} free")
        address = next(self._next) << 40
        self.held[address] = size
        self.available -= size
        return address

    def free(self, address: int) -> None:
        self.available += self.held.pop(address)

    def free_bytes(self) -> int:
        return self.available

    def upload(self, address: int, data: bytes) -> None:
        self._zeros[address] = not any(data)

    def download(self, address: int, size: int) -> bytes:
        if address in self._bytes:
            return self._bytes[address][:size]
        start = max(base for base in (*self._patterns, *self._bytes) if base <= address)
        if start in self._bytes:
            return self._bytes[start][address - start : address - start + size]
        _, width, mul, add = self._patterns[start]
        return reference.pattern_bytes((address - start) // width, size // width, width, mul, add)

    def set_bytes(self, address: int, value: int, size: int) -> None:
        for base in [base for base in self._patterns if address <= base < address + size]:
            del self._patterns[base]
        self._bytes[address] = bytes([value]) * min(size, 8)

    def run(self, jobs: Sequence[Job]) -> None:
        if not self.graphs and any(isinstance(job, Graph) for job in jobs):
            raise DeviceError("this driver has no CUDA graphs")
        for job in jobs:
            self._compute(job)
            self.seconds += self._takes(job)

    def time(self, jobs: Sequence[Job], lead: Sequence[Job] = ()) -> BatchTiming:
        self.run(lead)
        self.run(jobs)
        seconds = (self.event_seconds + sum(self._takes(job) for job in jobs)) * next(self._noise)
        return BatchTiming(seconds, None, self.memory_clock_hz, self.queue_seconds * (len(lead) + len(jobs)))

    def temperature_celsius(self) -> float | None:
        return 41.0

    def processes(self) -> tuple[Process, ...]:
        return self.others

    def close(self) -> None:
        self.closed = True

    # --- what kernels do ---

    def _takes(self, job: Job) -> float:
        if isinstance(job, Copy):
            return 2e-6 + 2 * job.size / self.rates["copy"]
        if isinstance(job, Graph):
            return self.node_seconds * job.count
        if job.kernel == "empty":
            return self.launch_seconds
        kernel = KERNELS.get(job.kernel)
        if kernel is None:
            return 1e-6
        prefix = max((key for key in self.rates if job.kernel.startswith(key)), key=len)
        return 2e-6 + self._items(job) * max(kernel.item_bytes, kernel.item_operations) / self.rates[prefix]

    def _items(self, job: KernelLaunch) -> int:
        kernel = KERNELS[job.kernel]
        if job.kernel.startswith("hbm_bulk"):
            return job.grid * int(job.values[8])
        if job.kernel.startswith("hbm"):
            return job.grid * job.block * _number(job.kernel, "v")
        if kernel.source == "l2.cu":
            return 32 * int(job.values[6]) * int(job.values[7])
        places = {"l1": 1, "shared": 0}
        place = next((at for prefix, at in places.items() if job.kernel.startswith(prefix)), 2)
        return job.grid * job.block // kernel.threads * int(job.values[place])

    def _compute(self, job: Job) -> None:
        if isinstance(job, Copy):
            self.launched.append("copy")
            self._write(job.to, self._patterns[job.origin])
            return
        if isinstance(job, Graph):
            self.launched += [job.launch.kernel] * job.count
            return
        self.launched.append(job.kernel)
        if self.stop_before and job.kernel.startswith(self.stop_before):
            raise KeyboardInterrupt
        family = job.kernel.split("_")[0]
        if family in ("fill", "check", "clock", "empty"):
            getattr(self, f"_{family}")(job)
        elif family == "hbm":
            self._hbm(job)
        else:
            self._tick(int(job.values[-2 if family == "issue" else -1]))
            {"l2": self._sum, "cache": self._sum, "l1": self._sum, "shared": self._sum}.get(
                family, self._matrix if "mma" in family else self._chains
            )(job)

    def _tick(self, address: int) -> None:
        self._bytes[address] = struct.pack("<QQ", round(next(self._clocks)), 1_000_000_000)

    def _clock(self, job: KernelLaunch) -> None:
        self._tick(int(job.values[0]))

    def _empty(self, job: KernelLaunch) -> None:
        assert (job.grid, job.signature, job.values) == (1, "", ())

    def _fill(self, job: KernelLaunch) -> None:
        address, elements, mul, add = map(int, job.values)
        self._write(address, (elements, int(job.kernel[-1]), mul, add))

    def _write(self, address: int, pattern: tuple[int, int, int, int]) -> None:
        """What lay in that range before is gone."""
        end = address + pattern[0] * pattern[1]
        for known in (self._bytes, self._patterns):
            for base in [base for base in known if address <= base < end]:
                del known[base]  # type: ignore[attr-defined]
        self._patterns[address] = pattern

    def _check(self, job: KernelLaunch) -> None:
        address, elements, mul, add, wrong = map(int, job.values)
        width = int(job.kernel[-1])
        mask = (1 << 8 * width) - 1
        _, seen_width, seen_mul, seen_add = self._patterns.get(address, (0, 0, 0, 0))
        good = (seen_width, seen_mul & mask, seen_add & mask) == (width, mul & mask, add & mask)
        self._bytes[wrong] = struct.pack("<Q", 0 if good else elements)

    def _hbm(self, job: KernelLaunch) -> None:
        a, b, _, mul, add, mask, _, total = map(int, job.values[:8])
        mix = next(mix for mix in MIXES if f"_{mix}_" in job.kernel)
        width = 4 if "bulk" in job.kernel else min(4, _number(job.kernel, "w"))
        access = BULK_TILE_BYTES if "bulk" in job.kernel else _number(job.kernel, "w")
        elements = self._items(job) * access // width
        if mix == "read":
            if mask == 0:
                self._store_sum(job, total, reference.pattern_sum(elements, width, *reference.PATTERN))
            return
        if mix == "write":
            pattern = (mul, add)
        else:
            factor = 1 + mul if mix == "triad" else 1
            pattern = (factor * self._patterns[b][2], factor * self._patterns[b][3])
        if not self._spoiled(job):
            self._write(a, (elements, width, *pattern))

    def _spoiled(self, job: KernelLaunch) -> bool:
        return bool(self.spoil) and job.kernel.startswith(self.spoil)

    def _store_sum(self, job: KernelLaunch, total: int, value: int) -> None:
        value += int(self.spoil_with) if self._spoiled(job) else 0
        self._bytes[total] = struct.pack("<I", value % 2**32)

    def _sum(self, job: KernelLaunch) -> None:
        mul, add = reference.PATTERN
        kernel, values = KERNELS[job.kernel], [int(v) for v in job.values]
        if job.kernel.startswith("shared"):
            if values[3] == 0:
                mix = job.kernel.split("_")[1]
                once = caches._shared_sum(kernel, mix, job.block, turns=values[0])
                self._store_sum(job, values[5], once * job.grid)
        elif job.kernel.startswith("l1"):
            if values[2] == 0:
                width = _number(job.kernel, "w")
                words = job.grid * job.block * width
                times = values[1] * (kernel.item_bytes // width // 4)
                self._store_sum(job, values[4], times * reference.pattern_sum(words, 4, mul, add))
        elif values[-4] == 0:
            assert values[8] == 0, "with shared work the sum is not known"
            per_warp, warps = values[4] // values[3], job.grid * job.block // 32
            words = per_warp * kernel.item_bytes * 32 // 4 * warps
            rounds = values[6] * values[7] // warps // per_warp
            self._store_sum(job, values[-2], rounds * reference.pattern_sum(words, 4, mul, add))

    def _chains(self, job: KernelLaunch) -> None:
        name = "fp32" if job.kernel.startswith("issue") else job.kernel.split("_")[0]
        kind = arithmetic.KINDS[name]
        if job.values[:2] != kind.verify:
            return
        steps = _number(job.kernel, "s") * int(job.values[2])
        warp = [
            reference.chains(lane, *kind.verify_numbers, steps, count=CHAINS[name], packed=kind.packed)
            for lane in range(32)
        ]
        warp[7] *= self.spoil_with if self._spoiled(job) else 1.0
        threads = job.grid * job.block
        self._bytes[int(job.values[3])] = struct.pack(f"<{threads}{kind.result}", *warp * (threads // 32))

    def _matrix(self, job: KernelLaunch) -> None:
        kernel, shape, kind = KERNELS[job.kernel], shape_of(job.kernel), _kind(job.kernel)
        if int(job.values[2]) != tensor._VERIFY_TURNS:
            return
        units = job.block // kernel.threads
        rows = shape.m * (units if kernel.threads == 128 else 1)
        zeros = self._zeros[int(job.values[0])]
        one = [0.0] * (rows * shape.n) if zeros else tensor._product(kind, shape)[: rows * shape.n]
        if self._spoiled(job):
            one[5] = self.spoil_with
        letter = {"fp64": "d", "int8": "i"}.get(kind, "f")
        numbers = [int(v) for v in one] if letter == "i" else one
        data = struct.pack(f"<{len(one)}{letter}", *numbers)
        self._bytes[int(job.values[3])] = data * (job.grid * units * shape.m // rows)


class FakeTools:
    """A toolchain that builds nothing; ``broken`` files do not build."""

    def __init__(self, arch: str, broken: Callable[[str], None] | None = None) -> None:
        self.arch, self.release, self.nvcc = arch, "13.0.0", Path("/nvcc")
        self.started: list[str] = []
        self._broken = broken

    def start(self, sources: Sequence[str]) -> None:
        self.started += sources

    def image(self, source: str) -> bytes:
        if self._broken:
            self._broken(source)
        return source.encode()

    def disassemble(self, source: str) -> dict[str, sass.SassFunction]:
        return {}


def facts(**changes: object) -> DeviceFacts:
    """The H200's facts with changes."""
    return replace(H200, **changes)  # type: ignore[arg-type]
