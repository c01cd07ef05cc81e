"""One calibration from end to end. It prints nothing: results go to a callback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from roofctl.core.errors import DeviceError, RoofctlError
from roofctl.cuda.toolchain import Toolchain, arch_of, checked_arch
from roofctl.microbench import bench as benches
from roofctl.microbench import identify, results
from roofctl.microbench.bench import Bench
from roofctl.microbench.device import ComputeDevice
from roofctl.microbench.levels import LEVELS, run_level, sources_for
from roofctl.microbench.outcomes import Outcome


@dataclass(frozen=True)
class CalibrationRequest:
    """What to measure, for which GPU profile, and how. ``size_bytes`` is the working set of board memory."""

    profile: str = identify.AUTO
    levels: tuple[str, ...] = tuple(LEVELS)
    arch: str | None = None
    size_bytes: int | None = None
    quick: bool = False


@dataclass
class Session:
    """A recognised device with its tools, ready to measure. ``run`` grows with each result."""

    request: CalibrationRequest
    bench: Bench
    run: results.Run
    doubts: tuple[str, ...]
    failures: tuple[tuple[str, RoofctlError], ...] = ()

    def measure(self, report: Callable[[Outcome], None]) -> None:
        """Measure level after level. A level that fails does not take the others with it."""
        before, begun = self.bench.device.temperature_celsius(), time.monotonic()
        try:
            for level in self.request.levels:
                self._level(level, report)
        finally:
            after = self.bench.device.temperature_celsius()
            seconds = round(time.monotonic() - begun, 1)
            self.run = replace(self.run, temperatures_celsius=(before, after), seconds=seconds)

    def _level(self, level: str, report: Callable[[Outcome], None]) -> None:
        try:
            for outcome in run_level(self.bench, self.run.found.profile, level):
                self.run = self.run.plus(outcome)
                report(outcome)
        except RoofctlError as error:
            self.failures = (*self.failures, (level, error))

    @property
    def measured_anything(self) -> bool:
        return bool(self.run.ceilings)


@contextmanager
def session(
    request: CalibrationRequest,
    open_device: Callable[[], ComputeDevice],
    *,
    tools: Callable[[str], Toolchain] | None = None,
    cwd: Path | None = None,
) -> Iterator[Session]:
    """Open the device, recognise it and start building; raises before anything is measured when it cannot be."""
    device = open_device()
    try:
        identify.refuse_slice(device.facts)
        found = identify.choose_profile(request.profile, device.facts, cwd=cwd)
        toolchain = (tools or Toolchain.find)(_arch(request, device))
        toolchain.start(sources_for(request.levels, device.facts.compute_capability))
        effort = benches.QUICK if request.quick else benches.FULL
        bench = Bench(device, toolchain, effort, request.size_bytes)
        run = results.Run(found, device.facts, toolchain.release, toolchain.arch, request.quick, results.now())
        yield Session(request, bench, run, identify.doubts(device, found.profile))
    finally:
        device.close()


def _arch(request: CalibrationRequest, device: ComputeDevice) -> str:
    """The architecture to build for; raises DeviceError for one whose code this GPU cannot run."""
    own = arch_of(device.facts.compute_capability)
    if request.arch is None:
        return own
    wanted = checked_arch(request.arch)
    major = device.facts.compute_capability[0]
    if int(wanted.strip("sm_af")) // 10 != major or int(wanted.strip("sm_af")) > int(own.strip("sm_af")):
        raise DeviceError(
            f"{device.facts.name} cannot run code built for {wanted}; it is {own}", hint="leave --arch out"
        )
    return wanted
