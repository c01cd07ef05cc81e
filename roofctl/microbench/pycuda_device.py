"""The real device: the only module that touches pycuda."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from roofctl.core import driver as driver_files
from roofctl.core.errors import DeviceError
from roofctl.microbench.device import BatchTiming, ComputeDevice, Copy, DeviceFacts, Graph, Job, KernelLaunch, Process
from roofctl.microbench.graphs import Graphs
from roofctl.microbench.nvml import Nvml

_DEFAULT_SHARED_BYTES = 48 * 1024


def open_device(index: int = 0) -> ComputeDevice:
    """The GPU number ``index`` as CUDA counts; raises DeviceError that names what is missing and what to do."""
    if not driver_files.has_driver():
        raise driver_files.no_gpu("calibrate")
    try:
        driver = importlib.import_module("pycuda.driver")
    except ImportError as error:
        if "libcuda" in str(error):
            raise DeviceError(
                "there is no NVIDIA driver on this machine (libcuda.so.1 was not found)",
                hint="install the driver, or run roofctl calibrate on the machine that has the GPU",
            ) from error
        raise DeviceError(
            f"pycuda cannot be used: {error}", hint="pip install 'roofctl[gpu]' (needs nvcc and a C++ compiler)"
        ) from error
    try:
        driver.init()
        count = driver.Device.count()
    except driver.Error as error:
        raise _no_cuda(str(error)) from error
    if not 0 <= index < count:
        seen = f"CUDA sees {count} GPU{'s' * (count != 1)}"
        raise DeviceError(f"there is no GPU {index}: {seen}", hint="choose with --device, counted from 0")
    return PycudaDevice(driver, index)


def _no_cuda(text: str) -> DeviceError:
    if "insufficient" in text or "unsupported" in text or "mismatch" in text:
        hint = "update the driver, or use a pycuda built for the CUDA version that nvidia-smi shows"
        return DeviceError(f"the driver is too old or does not fit: {text}", hint=hint)
    hint = "nvidia-smi should list a GPU; in a container start it with --gpus all; look at CUDA_VISIBLE_DEVICES"
    return DeviceError(f"CUDA finds no GPU: {text}", hint=hint)


class PycudaDevice:
    """One GPU with its primary context, driven through pycuda."""

    def __init__(self, driver: Any, index: int) -> None:
        self._cuda = driver
        device = driver.Device(index)
        with self._errors("the GPU cannot be used"):
            self._context = device.retain_primary_context()
            self._context.push()
        self._nvml = Nvml.open(device.pci_bus_id())
        self._stream = driver.Stream()
        self._modules: dict[str, Any] = {}
        self._functions: dict[tuple[str, str], Any] = {}
        self._memory: dict[int, Any] = {}
        self._graphs: dict[Graph, int] = {}
        self._driver: Graphs | None = None
        self.facts = self._facts(device, index)

    def _facts(self, device: Any, index: int) -> DeviceFacts:
        attribute, nvml = self._cuda.device_attribute, self._nvml
        read = device.get_attribute
        version = self._cuda.get_driver_version()
        return DeviceFacts(
            index=index,
            name=device.name(),
            uuid=(nvml.uuid() if nvml else None) or device.pci_bus_id(),
            compute_capability=device.compute_capability(),
            sm_count=read(attribute.MULTIPROCESSOR_COUNT),
            l2_bytes=read(attribute.L2_CACHE_SIZE),
            memory_bytes=device.total_memory(),
            shared_bytes_per_block=read(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            driver_version=nvml.driver_version() if nvml else None,
            cuda_version=f"{version // 1000}.{version % 1000 // 10}",
            bus_bits=read(attribute.GLOBAL_MEMORY_BUS_WIDTH) or None,
            memory_clock_hz=read(attribute.MEMORY_CLOCK_RATE) * 1e3 or None,
            ecc=nvml.ecc() if nvml else None,
            mig=nvml.mig() if nvml else None,
        )

    def load(self, source: str, image: bytes) -> None:
        """Load machine code; what was loaded under that name before is dropped."""
        with self._errors(f"the driver refuses the machine code of kernels/{source}"):
            self._modules[source] = self._cuda.module_from_buffer(image)
        for key in [key for key in self._functions if key[0] == source]:
            del self._functions[key]

    def allocate(self, size: int) -> int:
        """Address of ``size`` bytes."""
        try:
            memory = self._cuda.mem_alloc(size)
        except self._cuda.MemoryError as error:
            raise DeviceError(
                f"out of device memory: {size / 1e6:,.0f} MB asked for, {self.free_bytes() / 1e6:,.0f} MB free",
                hint="give a smaller --size-mb, or end what else uses this GPU",
            ) from error
        self._memory[int(memory)] = memory
        return int(memory)

    def free(self, address: int) -> None:
        """Give memory back."""
        self._memory.pop(address).free()

    def free_bytes(self) -> int:
        """Device memory that nobody uses."""
        return int(self._cuda.mem_get_info()[0])

    def upload(self, address: int, data: bytes) -> None:
        """Copy host bytes to the device."""
        self._cuda.memcpy_htod(address, data)

    def download(self, address: int, size: int) -> bytes:
        """Copy device bytes to the host."""
        self._stream.synchronize()
        data = bytearray(size)
        self._cuda.memcpy_dtoh(data, address)
        return bytes(data)

    def set_bytes(self, address: int, value: int, size: int) -> None:
        """Set bytes, and wait."""
        self._cuda.memset_d8_async(address, value, size, self._stream)
        self._stream.synchronize()

    def run(self, jobs: Sequence[Job]) -> None:
        """Run jobs in order and wait for them."""
        with self._errors(f"{_names(jobs)} failed on the GPU"):
            self._prepare(jobs)
            self._submit(jobs)
            self._stream.synchronize()

    def time(self, jobs: Sequence[Job], lead: Sequence[Job] = ()) -> BatchTiming:
        """Run jobs in order between two events. NVML is read after they are queued, while the GPU works."""
        start, stop = self._cuda.Event(), self._cuda.Event()
        with self._errors(f"{_names(jobs)} failed on the GPU"):
            self._prepare(jobs)
            self._prepare(lead)
            begun = time.perf_counter()
            self._submit(lead)
            start.record(self._stream)
            self._submit(jobs)
            stop.record(self._stream)
            queue_seconds = time.perf_counter() - begun
            sm_hz = self._nvml.sm_clock_hz() if self._nvml else None
            memory_hz = self._nvml.memory_clock_hz() if self._nvml else None
            stop.synchronize()
            return BatchTiming(start.time_till(stop) * 1e-3, sm_hz, memory_hz, queue_seconds)

    def temperature_celsius(self) -> float | None:
        """Temperature of the GPU now."""
        return self._nvml.temperature_celsius() if self._nvml else None

    def processes(self) -> tuple[Process, ...]:
        """Other processes that compute on this GPU."""
        return self._nvml.processes() if self._nvml else ()

    def close(self) -> None:
        """Free the memory and leave the context."""
        for graph in self._graphs.values():
            self._driver_graphs().destroy(graph)
        self._graphs.clear()
        for memory in self._memory.values():
            memory.free()
        self._memory.clear()
        self._functions.clear()
        self._modules.clear()
        self._stream = None
        self._context.pop()

    def _submit(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if isinstance(job, Copy):
                self._cuda.memcpy_dtod_async(job.to, job.origin, job.size, self._stream)
            elif isinstance(job, Graph):
                self._driver_graphs().launch(self._graphs[job], _handle(self._stream))
            else:
                self._launch(job, self._stream)

    def _launch(self, launch: KernelLaunch, stream: Any) -> None:
        grid, block = (launch.grid, 1), (launch.block, 1, 1)
        self._function(launch).prepared_async_call(grid, block, stream, *launch.values, shared_size=launch.shared_bytes)

    def _prepare(self, jobs: Sequence[Job]) -> None:
        """Look up functions and make graphs before the first event, so that it is not part of the time."""
        for job in jobs:
            if isinstance(job, KernelLaunch):
                self._function(job)
            elif isinstance(job, Graph) and job not in self._graphs:
                self._graphs[job] = self._graph(job)

    def _graph(self, graph: Graph) -> int:
        """An executable graph. It is captured in a stream of its own: a failure must not spoil the one in use."""
        self._prepare([graph.launch])
        stream = self._cuda.Stream()

        def submit() -> None:
            for _ in range(graph.count):
                self._launch(graph.launch, stream)

        return self._driver_graphs().capture(_handle(stream), submit)

    def _driver_graphs(self) -> Graphs:
        if self._driver is None:
            self._driver = Graphs.open()
        return self._driver

    def _function(self, launch: KernelLaunch) -> Any:
        key = (launch.source, launch.kernel)
        if key not in self._functions:
            function = self._modules[launch.source].get_function(launch.kernel)
            function.prepare(launch.signature)
            if launch.prefer_l1:
                function.set_cache_config(self._cuda.func_cache.PREFER_L1)
            if launch.shared_bytes > _DEFAULT_SHARED_BYTES:
                attribute = self._cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                function.set_attribute(attribute, self.facts.shared_bytes_per_block)
            self._functions[key] = function
        return self._functions[key]

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Pycuda's errors as ours."""
        try:
            yield
        except self._cuda.Error as error:
            raise DeviceError(f"{what}: {error}", hint=_hint(str(error))) from error


def _handle(stream: Any) -> int:
    """The address of a stream, for calls that pycuda does not have."""
    try:
        return int(stream.handle)
    except AttributeError as error:
        raise DeviceError("this pycuda does not give the handle of a stream", hint="upgrade pycuda") from error


def _names(jobs: Sequence[Job]) -> str:
    return ", ".join(dict.fromkeys(_name(job) for job in jobs))


def _name(job: Job) -> str:
    if isinstance(job, Graph):
        return f"a graph of {job.launch.kernel}"
    return job.kernel if isinstance(job, KernelLaunch) else "the driver's copy"


def _hint(text: str) -> str:
    if "no kernel image" in text or "invalid device" in text or "image is invalid" in text:
        return "leave --arch out, so that it follows the GPU; or the driver is older than nvcc: update the driver"
    if "memory" in text:
        return "end what else uses this GPU, or give a smaller --size-mb"
    return "nvidia-smi shows whether the GPU is healthy; dmesg may hold an Xid error"
