"""The interface to the GPU: what the microbenchmarks need of a device, and the values that pass through it.

Everything above works against ``ComputeDevice``; ``pycuda_device`` is the real one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True)
class DeviceFacts:
    """What the driver reports of a device. None where it does not."""

    index: int
    name: str
    uuid: str
    compute_capability: tuple[int, int]
    sm_count: int
    l2_bytes: int
    memory_bytes: int
    shared_bytes_per_block: int
    driver_version: str | None = None
    cuda_version: str | None = None
    bus_bits: int | None = None
    memory_clock_hz: float | None = None
    ecc: bool | None = None
    mig: bool | None = None

    @property
    def capability_text(self) -> str:
        """Compute capability as profiles spell it: ``9.0``."""
        return f"{self.compute_capability[0]}.{self.compute_capability[1]}"


@dataclass(frozen=True)
class KernelLaunch:
    """One kernel launch. ``signature`` has a struct letter per value (P pointer, I, Q, f, d); 1-D grids only."""

    source: str
    kernel: str
    grid: int
    block: int
    signature: str
    values: tuple[float, ...]
    shared_bytes: int = 0
    prefer_l1: bool = False


@dataclass(frozen=True)
class Copy:
    """The driver's own copy within device memory."""

    to: int
    origin: int
    size: int


@dataclass(frozen=True)
class Graph:
    """A launch ``count`` times in a chain, which the driver gets as one CUDA graph."""

    launch: KernelLaunch
    count: int


Job: TypeAlias = KernelLaunch | Copy | Graph


@dataclass(frozen=True)
class BatchTiming:
    """One timed batch of jobs, and the clocks that were read while it ran (None: they cannot be read).

    ``queue_seconds`` is the host's time from before the lead until all was queued.
    """

    seconds: float
    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    queue_seconds: float | None = None


@dataclass(frozen=True)
class Process:
    """Another process on the GPU."""

    pid: int
    name: str


class ComputeDevice(Protocol):
    """A GPU that compiles nothing and decides nothing: it loads, allocates, launches and times."""

    @property
    def facts(self) -> DeviceFacts: ...

    def load(self, source: str, image: bytes) -> None:
        """Load compiled machine code under the name of its source file."""

    def allocate(self, size: int) -> int:
        """Address of ``size`` bytes of device memory; raises DeviceError that names the size and what is free."""

    def free(self, address: int) -> None:
        """Give memory back."""

    def free_bytes(self) -> int:
        """Device memory that is not in use by anyone."""

    def upload(self, address: int, data: bytes) -> None:
        """Copy host bytes to the device."""

    def download(self, address: int, size: int) -> bytes:
        """Copy device bytes to the host, after all jobs before it."""

    def set_bytes(self, address: int, value: int, size: int) -> None:
        """Set ``size`` bytes to ``value``."""

    def run(self, jobs: Sequence[Job]) -> None:
        """Run jobs in order and wait for them."""

    def time(self, jobs: Sequence[Job], lead: Sequence[Job] = ()) -> BatchTiming:
        """Run jobs in order between two events. ``lead`` keeps the device busy while the jobs are queued behind it."""

    def temperature_celsius(self) -> float | None:
        """Temperature of the GPU now."""

    def processes(self) -> tuple[Process, ...]:
        """Other processes that use this GPU for computing."""

    def close(self) -> None:
        """Release the device."""
