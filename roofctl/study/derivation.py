"""What captures give of their GPU beside what the GPU profile of that GPU states: the check of the derivation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from roofctl.core.errors import InputError
from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import prefixed
from roofctl.gpus import FoundProfile, GpuProfile
from roofctl.gpus.carried import Carried, own_profile
from roofctl.gpus.schema import Fact
from roofctl.launches.aggregate import aggregate
from roofctl.launches.evaluate import launch_table
from roofctl.quantities import catalogue
from roofctl.roofline.model import REPORT
from roofctl.study import load as inputs
from roofctl.study.carried import carried
from roofctl.study.device import Device, captured_clocks, describe_device, one_device
from roofctl.study.profile_choice import choose_profile


@dataclass(frozen=True)
class Derived:
    """One fact that a capture gives. ``stated`` and ``basis`` are those of the GPU's profile; None where it has none.

    ``source`` is ``report`` for counters, ``driver`` for device attributes.
    """

    gpu: str
    fact: str
    value: float
    source: str
    profile: str | None = None
    stated: float | None = None
    basis: str | None = None

    @property
    def difference(self) -> float | None:
        """By which part the derived value is above the stated one."""
        return None if self.stated is None else self.value / self.stated - 1


def carried_by(paths: tuple[Path, ...]) -> tuple[Carried, Device, FoundProfile | None]:
    """What inputs of one GPU carry, and the GPU profile that their device name finds.

    Raises InputError for inputs that cannot be read, or that come from different GPUs.
    """
    reading = inputs.read_many(inputs.locate(paths), None)
    device = describe_device(reading.parts)
    one_device(device)
    found, _ = choose_profile(None, device)
    name = catalogue().chip_of(next(iter(device.compute_capabilities), None), next(iter(device.names), ""))
    table = aggregate(launch_table(reading.parts, name), "kernel")
    own = carried(reading.parts, device, catalogue().chips.get(name or ""), captured_clocks(table.frame, device))
    return own, device, None if isinstance(found, InputError) else found


def profile_from(paths: tuple[Path, ...], name: str) -> GpuProfile:
    """A GPU profile of this name from what inputs carry. Raises InputError where they do not say enough."""
    own, _, _ = carried_by(paths)
    profile = own_profile(own, name)
    if profile is None:
        raise InputError(
            f"{own.source} does not say enough of its GPU for a profile: it lacks the {' and the '.join(own.lacking)}",
            hint="captures of roofctl profile and reports of ncu hold device attributes; exported tables may not",
        )
    return profile


def derivation(paths: tuple[Path, ...]) -> list[Derived]:
    """Every fact of a ceiling that counters or attributes of these inputs give, beside the profile of their GPU."""
    own, _, found = carried_by(paths)
    profile = own_profile(own)
    if profile is None:
        return []
    gpu = own.name or profile.description
    return list(_rows(gpu, profile, found.profile if found else None))


def _named(profile: GpuProfile) -> dict[str, Fact[Any] | None]:
    """Facts of ceilings by name."""
    return {
        "SMs": profile.sm_count,
        "schedulers per SM": profile.schedulers_per_sm,
        "SM clock": profile.clocks.sm_boost_hz,
        "L1 B/clk/SM": profile.l1.bytes_per_clock_per_sm,
        "L2 slices": profile.l2.slices,
        "L2 B/clk": profile.l2.bytes_per_clock,
        "L2 clock": profile.clocks.l2_hz,
        "L2 B/s": profile.l2.bytes_per_second,
        "DRAM bus bits": profile.memory.bus_bits,
        "DRAM clock": profile.memory.clock_hz,
        "DRAM B/s": _pin(profile),
        **{f"{PRECISIONS[name].label} per clk/SM": fact for name, fact in profile.flops_per_clock_per_sm.items()},
    }


def _pin(profile: GpuProfile) -> Fact[float] | None:
    memory = profile.memory
    if profile.pin_bytes_per_second is None:
        return memory.datasheet_bytes_per_second
    bus = memory.bus_bits
    return Fact[float](value=profile.pin_bytes_per_second, basis=bus.basis, source=bus.source)


def _rows(gpu: str, own: GpuProfile, profile: GpuProfile | None) -> Iterator[Derived]:
    """Rates of the compute capability are left out: no capture gives them."""
    stated = _named(profile) if profile else {}
    for name, fact in _named(own).items():
        if fact is None or fact.value is None or not (fact.source == REPORT or fact.basis == "driver"):
            continue
        derived = Derived(gpu, name, float(fact.value), REPORT if fact.source == REPORT else fact.basis)
        beside = stated.get(name)
        if profile and beside is not None and beside.value is not None:
            derived = replace(derived, profile=profile.name, stated=float(beside.value), basis=beside.basis)
        yield replace(derived, profile=profile.name if profile else None)


def derived_cells(row: Derived) -> list[str]:
    """A row for people: GPU, fact, derived value, source, profile, stated value, basis, difference in per cent."""
    difference = (
        ""
        if row.difference is None
        else f"{row.difference:+.1%}".replace("%", " %").replace("+0.0", "0.0").replace("-0.0", "0.0")
    )
    return [
        row.gpu,
        row.fact,
        _text(row.fact, row.value),
        row.source,
        row.profile or "",
        "" if row.stated is None else _text(row.fact, row.stated),
        row.basis or "",
        difference,
    ]


def derived_row(row: Derived) -> dict[str, Any]:
    """A row as data, null where a profile does not state it."""
    return {**asdict(row), "difference": row.difference}


def _text(fact: str, value: float) -> str:
    if fact.endswith("clock"):
        return prefixed(value, "Hz")
    if fact.endswith("B/s"):
        return prefixed(value, "B/s")
    return f"{value:,.0f}"
