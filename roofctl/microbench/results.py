"""From measured ceilings to the result that is kept: figures, how they came about, and from where."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Final

from roofctl import __version__
from roofctl.gpus import Measured, MeasuredCeiling
from roofctl.gpus.store import FoundProfile
from roofctl.microbench.bench import Sampled
from roofctl.microbench.device import DeviceFacts
from roofctl.microbench.outcomes import Absent, Ceiling, Outcome, Sweep

_HASH_LENGTH: Final = 16


@dataclass(frozen=True)
class Run:
    """The circumstances of one calibration, and all that it gave so far."""

    found: FoundProfile
    facts: DeviceFacts
    nvcc: str
    arch: str
    quick: bool
    started: datetime
    temperatures_celsius: tuple[float | None, float | None] = (None, None)
    outcomes: tuple[Outcome, ...] = ()
    seconds: float | None = None

    def plus(self, *outcomes: Outcome) -> Run:
        """The same run with more results."""
        return replace(self, outcomes=(*self.outcomes, *outcomes))

    @property
    def ceilings(self) -> tuple[Ceiling, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Ceiling))

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Sweep))

    @property
    def absent(self) -> tuple[Absent, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Absent))


def now() -> datetime:
    """The time, to the second, in UTC."""
    return datetime.now(timezone.utc).replace(microsecond=0)


def uuid_hash(uuid: str) -> str:
    """A short hash of a GPU's UUID: distinguishes two GPUs without disclosing either's identity."""
    return hashlib.sha256(uuid.encode()).hexdigest()[:_HASH_LENGTH]


def to_measured(run: Run) -> Measured:
    """The run as a measured result."""
    return Measured(
        profile=run.found.profile.name,
        gpu_name=run.facts.name,
        measured_at=run.started.isoformat(),
        roofctl_version=__version__,
        ceilings={ceiling.name: measured_ceiling(ceiling) for ceiling in run.ceilings},
        provenance=_provenance(run),
    )


def measured_ceiling(ceiling: Ceiling) -> MeasuredCeiling:
    """One ceiling as it is kept."""
    result = ceiling.sampled.result
    return MeasuredCeiling(
        value=result.median,
        unit=ceiling.unit,
        best=result.best,
        p5=result.p5,
        p95=result.p95,
        samples=result.samples,
        sm_clock_hz=ceiling.sm_clock_hz,
        method=ceiling.method,
        mixes={mix: sampled.result.median for mix, sampled in ceiling.mixes.items()} if len(ceiling.mixes) > 1 else {},
    )


def _provenance(run: Run) -> dict[str, Any]:
    before, after = run.temperatures_celsius
    facts = run.facts
    return {
        "gpu_uuid_sha256": uuid_hash(facts.uuid),
        "driver": facts.driver_version,
        "cuda": facts.cuda_version,
        "nvcc": run.nvcc,
        "arch": run.arch,
        "host": platform.node(),
        "ecc": facts.ecc,
        "temperature_celsius": {"before": before, "after": after},
        "memory_clock_hz": facts.memory_clock_hz,
        "bus_bits": facts.bus_bits,
        "quick": run.quick,
        "seconds": run.seconds,
        "levels": {ceiling.name: _level(run, ceiling) for ceiling in run.ceilings},
        "absent": {absent.name: absent.reason for absent in run.absent},
        "sweeps": {
            sweep.what: {label: _pairs(points) for label, points in sweep.series.items()} for sweep in run.sweeps
        },
    }


def _pairs(points: Sequence[tuple[float, float]]) -> list[list[float]]:
    return [[x, float(f"{rate:.5g}")] for x, rate in points]


def _level(run: Run, ceiling: Ceiling) -> dict[str, Any]:
    limit = ceiling.theoretical
    return {
        "measured_at": run.started.isoformat(),
        "theoretical": limit.value if limit else None,
        "theoretical_origin": limit.origin if limit else None,
        "factor": ceiling.factor,
        "marked": [*ceiling.sampled.reservations, *ceiling.warnings],
        "mixes": {mix: _mix(sampled) for mix, sampled in ceiling.mixes.items()},
    }


def _mix(sampled: Sampled) -> dict[str, Any]:
    result = sampled.result
    return {
        "median": result.median,
        "best": result.best,
        "p5": result.p5,
        "p95": result.p95,
        "samples": result.samples,
        "sample_seconds": sampled.sample_seconds,
        "work_per_sample": float(sampled.work),
        "sm_clock_hz": _range(sampled.sm_clocks_hz),
        "memory_clock_hz": _range(sampled.memory_clocks_hz),
        "manner": sampled.manner,
        "retaken": sampled.retaken,
        "settings": sampled.settings,
        "marked": list(sampled.reservations),
    }


def _range(clocks: Sequence[float]) -> list[float] | None:
    return [min(clocks), max(clocks)] if clocks else None
