"""What NVML reports of a GPU: clocks while it works, temperature, ECC, MIG, other processes.

NVML is optional: without the package or the library ``Nvml.open`` returns None.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from roofctl.microbench.device import Process


class Nvml:
    """One GPU, by its PCI address. Methods return None for what this GPU or driver does not report."""

    def __init__(self, library: Any, handle: Any) -> None:
        self._nvml = library
        self._handle = handle

    @classmethod
    def open(cls, pci_bus_id: str) -> Nvml | None:
        """The GPU at that PCI address; None where NVML is not there."""
        try:
            library = importlib.import_module("pynvml")
        except ImportError:
            return None
        try:
            library.nvmlInit()
            return cls(library, library.nvmlDeviceGetHandleByPciBusId(pci_bus_id))
        except library.NVMLError:
            return None

    def sm_clock_hz(self) -> float | None:
        """The SM clock now."""
        return self._clock("NVML_CLOCK_SM")

    def memory_clock_hz(self) -> float | None:
        """The memory clock now."""
        return self._clock("NVML_CLOCK_MEM")

    def temperature_celsius(self) -> float | None:
        """Temperature of the GPU now."""
        value = self._call("nvmlDeviceGetTemperature", getattr(self._nvml, "NVML_TEMPERATURE_GPU", 0))
        return None if value is None else float(value)

    def uuid(self) -> str | None:
        """The GPU's own identity."""
        value = self._call("nvmlDeviceGetUUID")
        return value.decode() if isinstance(value, bytes) else value

    def driver_version(self) -> str | None:
        """Version of the driver, such as 580.159.04."""
        try:
            value = self._nvml.nvmlSystemGetDriverVersion()
        except self._nvml.NVMLError:
            return None
        return value.decode() if isinstance(value, bytes) else str(value)

    def ecc(self) -> bool | None:
        """Whether ECC is on."""
        modes = self._call("nvmlDeviceGetEccMode")
        return None if modes is None else bool(modes[0])

    def mig(self) -> bool | None:
        """Whether the GPU is cut into MIG slices."""
        modes = self._call("nvmlDeviceGetMigMode")
        return None if modes is None else bool(modes[0])

    def processes(self) -> tuple[Process, ...]:
        """Processes other than this one that compute on the GPU."""
        entries = self._call("nvmlDeviceGetComputeRunningProcesses") or ()
        return tuple(Process(entry.pid, self._name(entry.pid)) for entry in entries if entry.pid != os.getpid())

    def _name(self, pid: int) -> str:
        try:
            value = self._nvml.nvmlSystemGetProcessName(pid)
        except self._nvml.NVMLError:
            return "a process of another user"
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

    def _clock(self, domain: str) -> float | None:
        megahertz = self._call("nvmlDeviceGetClockInfo", getattr(self._nvml, domain))
        return megahertz * 1e6 if megahertz else None

    def _call(self, function: str, *arguments: Any) -> Any:
        """The result of an NVML call, None where this GPU or driver does not support it."""
        try:
            return getattr(self._nvml, function)(self._handle, *arguments)
        except (self._nvml.NVMLError, AttributeError):
            return None
