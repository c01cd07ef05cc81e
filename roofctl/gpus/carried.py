"""A GPU profile from what a capture carries about its own GPU: counters' peaks, clocks, device attributes.

Facts from counters have the basis ``derived`` and the source ``report``, those from device attributes ``driver`` and
``attributes``, rates that follow from the compute capability ``vendor`` and ``capability``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

from roofctl.core import yaml_text
from roofctl.core.precisions import PRECISIONS
from roofctl.gpus.schema import GpuProfile
from roofctl.quantities import Chip
from roofctl.roofline.model import REPORT

ATTRIBUTES: Final = "attributes"
CAPABILITY: Final = "capability"

RATE_OF_PART: Final = "a rate over the part of the peak that it was, derived from the report"

_UNKNOWN: Final[Mapping[str, Any]] = {"value": None, "basis": "unknown"}
_WHOLE: Final = 0.01
"""A rate per unit and clock further than this from an integer is not one of equal units."""

_Fact = dict[str, Any]


@dataclass(frozen=True)
class Carried:
    """What a capture says about its GPU; None or absent where it says nothing. SI units.

    ``attributes``, ``peaks`` (per clock of the unit's domain, all enabled units) and ``rates`` (bytes per second) have
    the keys of ``quantities/device.yaml``; peaks in ``halved`` were stated for 2:4 sparsity. ``sm_hz``, ``l2_hz`` and
    ``memory_hz`` are clocks that the kernels ran at, ``units`` numbers of ``sm`` and ``l2`` units.
    """

    source: str
    name: str | None = None
    compute_capability: str | None = None
    chip: Chip | None = None
    attributes: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, int] = field(default_factory=dict)
    peaks: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    halved: frozenset[str] = frozenset()
    sm_hz: float | None = None
    l2_hz: float | None = None
    memory_hz: float | None = None

    @property
    def sm_count(self) -> int | None:
        """Multiprocessors, by attribute or as units that counted."""
        value = self.attributes.get("sm_count") or self.units.get("sm")
        return None if value is None else int(value)

    @property
    def lacking(self) -> tuple[str, ...]:
        """What a roofline needs and the capture does not say; empty where it says enough."""
        needs = {
            "compute capability": self.compute_capability,
            "number of multiprocessors": self.sm_count,
            "SM clock": self.attributes.get("max_sm_hz") or self.sm_hz,
        }
        return tuple(name for name, value in needs.items() if not value)


def own_profile(carried: Carried, name: str | None = None) -> GpuProfile | None:
    """The GPU profile that a capture gives; None where it is ``lacking`` something. ``name`` is that of the profile."""
    if carried.lacking or carried.sm_count is None or carried.compute_capability is None:
        return None
    known = capability(carried.compute_capability)
    chip = carried.chip.name if carried.chip else f"sm{carried.compute_capability.replace('.', '')}"
    text = carried.name or f"GPU of compute capability {carried.compute_capability}"
    clocks, bandwidth = _clocks(carried), _l2(carried)
    data: dict[str, Any] = {
        "name": name or profile_name(text),
        "aliases": [],
        "description": text,
        "nvml_names": _fact([carried.name], "driver", ATTRIBUTES) if carried.name else dict(_UNKNOWN),
        "chip": chip,
        "die": chip.upper(),
        "compute_capability": carried.compute_capability,
        "sources": {
            REPORT: f"counters in {carried.source}",
            ATTRIBUTES: f"device attributes in {carried.source}",
            CAPABILITY: f"compute capability {carried.compute_capability}: CUDA C++ Programming Guide, throughput of "
            "native arithmetic instructions",
        },
        "sm_count": _sm_count(carried),
        "schedulers_per_sm": _schedulers(carried, known),
        "clocks": {**clocks, **({"l2_hz": bandwidth.pop("l2_hz")} if "l2_hz" in bandwidth else {})},
        "l1": {"bytes_per_sm": dict(_UNKNOWN), "bytes_per_clock_per_sm": _per_sm(carried, "l1", known)},
        "shared": {
            "max_bytes_per_sm": _attribute(carried, "shared_bytes"),
            "bytes_per_clock_per_sm": _per_sm(carried, "shared", known, peak="l1"),
        },
        "l2": {"bytes": _attribute(carried, "l2_bytes"), "partitions": dict(_UNKNOWN), **bandwidth},
        "memory": _memory(carried),
        "flops_per_clock_per_sm": dict(_rates(carried, known)),
        "datasheet_flops_per_second": {},
        "notes": [],
    }
    used = {fact.source for _, fact in GpuProfile.model_validate(data).facts()}
    data["sources"] = {key: title for key, title in data["sources"].items() if key in used}
    return GpuProfile.model_validate(data)


def profile_name(device: str) -> str:
    """A device's name as the name of a profile: lower case, with hyphens."""
    return re.sub(r"[^a-z0-9.]+", "-", device.casefold()).strip("-.") or "gpu"


@cache
def _capabilities() -> Mapping[str, Mapping[str, int]]:
    text = resources.files(__package__).joinpath("capabilities.yaml").read_text(encoding="utf-8")
    tree: dict[str, Any] = yaml_text.load(text)
    table: Mapping[str, Mapping[str, int]] = tree["capabilities"]
    return table


def capability(compute_capability: str) -> Mapping[str, int]:
    """Rates per multiprocessor and clock that follow from a compute capability; empty for one that is not known."""
    return _capabilities().get(compute_capability, {})


def _fact(value: Any, basis: str, source: str, note: str = "") -> _Fact:
    return {"value": value, "basis": basis, "source": source, **({"note": note} if note else {})}


def _unknown(note: str) -> _Fact:
    return {**_UNKNOWN, "note": note}


def _attribute(carried: Carried, key: str) -> _Fact:
    value = carried.attributes.get(key)
    return _fact(int(value), "driver", ATTRIBUTES) if value else dict(_UNKNOWN)


def _sm_count(carried: Carried) -> _Fact:
    if carried.attributes.get("sm_count"):
        return _attribute(carried, "sm_count")
    return _fact(carried.sm_count, "derived", REPORT, "units that counted")


def _schedulers(carried: Carried, known: Mapping[str, int]) -> _Fact:
    each = _each_sm(carried, "issue")
    if each:
        return _fact(each, "derived", REPORT, "warp instructions per clock and SM at most")
    if carried.attributes.get("schedulers"):
        return _attribute(carried, "schedulers")
    return _fact(known.get("schedulers", 4), "vendor", CAPABILITY)


def _clocks(carried: Carried) -> dict[str, _Fact]:
    highest = carried.attributes.get("max_sm_hz")
    if highest:
        boost = _fact(float(highest), "driver", ATTRIBUTES)
    else:
        boost = _fact(carried.sm_hz, "derived", REPORT, "the clock that the kernels ran at; the highest is not given")
    return {"sm_boost_hz": boost, "tensor_boost_hz": dict(boost)}


def _each_sm(carried: Carried, key: str) -> int | None:
    """A peak per clock of one SM; None where it is not given or not an integer."""
    total, sms = carried.peaks.get(key), carried.sm_count
    if not total or not sms:
        return None
    each = total / sms
    return round(each) if round(each) > 0 and abs(each / round(each) - 1) < _WHOLE else None


def _per_sm(carried: Carried, key: str, known: Mapping[str, int], peak: str = "") -> _Fact:
    each = _each_sm(carried, peak or key)
    if each:
        return _fact(each, "derived", REPORT)
    if key in known:
        return _fact(known[key], "vendor", CAPABILITY)
    return _unknown("not in the report, and not known for its compute capability")


def _l2(carried: Carried) -> dict[str, _Fact]:
    """Width and clock of L2; without its clock the width is not given, as no bandwidth follows from it."""
    width, hz, rate = carried.peaks.get("l2"), carried.l2_hz, carried.rates.get("l2")
    if width and not hz and rate:
        hz = rate / width
    slices = carried.units.get("l2")
    facts = {"slices": _fact(slices, "derived", REPORT, "units that counted") if slices else dict(_UNKNOWN)}
    if width and hz:
        note = "what the slices deliver to the SMs"
        facts["bytes_per_clock"] = _fact(round(width), "derived", REPORT, note)
        facts["l2_hz"] = _fact(round(hz, -5), "derived", REPORT, "while the kernels ran")
    elif rate:
        facts["bytes_per_clock"] = _unknown("the report gives only the rate at the clock of the run")
        facts["bytes_per_second"] = _fact(float(rate), "derived", REPORT, RATE_OF_PART)
    elif width:
        why = f"{round(width)} B per clock, but the report does not give the clock of the L2"
        facts["bytes_per_clock"] = _unknown(why)
    else:
        facts["bytes_per_clock"] = _unknown("the report does not say what its slices deliver")
    return facts


def _memory(carried: Carried) -> dict[str, _Fact]:
    peak, bits = carried.peaks.get("hbm"), carried.attributes.get("bus_bits")
    hz, captured = carried.attributes.get("memory_hz"), carried.memory_hz
    bus, clock, total = dict(_UNKNOWN), dict(_UNKNOWN), dict(_UNKNOWN)
    if peak:  # two transfers per pin and clock: 4 pins carry a byte per clock
        bus = _fact(round(peak * 4), "derived", REPORT, f"{round(peak)} B per clock")
    elif bits:
        bus = _attribute(carried, "bus_bits")
    if hz:
        clock = _fact(float(hz), "driver", ATTRIBUTES)
    elif captured:
        clock = _fact(float(captured), "derived", REPORT, "while the kernels ran")
    if carried.rates.get("hbm") and not (bus["value"] and clock["value"]):
        total = _fact(float(carried.rates["hbm"]), "derived", REPORT, RATE_OF_PART)
    kind = dict(_UNKNOWN)
    if bits and bits >= _HBM_BITS and carried.compute_capability not in _NO_HBM:
        kind = _fact("HBM", "derived", ATTRIBUTES, "a bus of 1024 bits or more")
    return {"type": kind, "bus_bits": bus, "clock_hz": clock, "datasheet_bytes_per_second": total}


_HBM_BITS: Final = 1024
_NO_HBM: Final = ("6.1", "7.5", "8.6", "8.9", "12.0")


def _rates(carried: Carried, known: Mapping[str, int]) -> dict[str, _Fact]:
    rates: dict[str, _Fact] = {}
    for precision in PRECISIONS:
        each = _each_sm(carried, precision)
        if each:
            note = "half of the peak, which is that of 2:4 sparsity" if precision in carried.halved else ""
            rates[precision] = _fact(each, "derived", REPORT, note)
        elif precision in known:
            rates[precision] = _fact(known[precision], "vendor", CAPABILITY)
    return rates
