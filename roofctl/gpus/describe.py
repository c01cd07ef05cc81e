"""One GPU profile as plain data for tables and JSON: facts, ceilings, FLOP rates. SI units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from roofctl.gpus.ceilings import measured_roofline, theoretical_roofline
from roofctl.gpus.limits import excesses
from roofctl.gpus.schema import Fact, GpuProfile, Measured
from roofctl.gpus.store import FoundProfile
from roofctl.roofline.model import Bandwidth, Clock, Roofline


def summary(found: FoundProfile) -> dict[str, Any]:
    """The row of one profile in the list."""
    profile = found.profile
    return {
        "name": profile.name,
        "aliases": list(profile.aliases),
        "description": profile.description,
        "compute_capability": profile.compute_capability,
        "sm_count": profile.sm_count.value,
        "peak_warp_instructions_per_second": profile.peak_instructions_per_second,
        "hbm_pin_bytes_per_second": profile.pin_bytes_per_second,
        "hbm_datasheet_bytes_per_second": profile.memory.datasheet_bytes_per_second.value,
        "memory_label": profile.memory_label,
        "layer": found.layer,
        "path": str(found.path),
    }


def details(found: FoundProfile, measured: Measured | None) -> dict[str, Any]:
    """Everything that is known of one profile, and what follows from it."""
    profile = found.profile
    return summary(found) | {
        "found_by": found.how,
        "chip": profile.chip,
        "die": profile.die,
        "facts": {key: _fact(profile, fact) for key, fact in profile.facts()},
        "notes": [*profile.notes, *(_excesses(profile, measured) if measured else ())],
        "theoretical": roofline_data(theoretical_roofline(profile)),
        "measured": None if measured is None else _measured(profile, measured),
        "flops": list(_flops(profile)),
    }


def roofline_data(roofline: Roofline) -> dict[str, Any]:
    """Ceilings and ridge points (warp instructions per 32-byte transaction) of one roofline."""
    peak = roofline.peak
    return {
        "peak": peak
        and {
            "warp_instructions_per_second": peak.per_second,
            "basis": peak.basis,
            "clock": _clock(peak.clock),
            "origin": peak.origin,
        },
        "bandwidths": [_bandwidth(roofline, bandwidth) for bandwidth in roofline.bandwidths],
        "absent": dict(roofline.absent),
    }


def _bandwidth(roofline: Roofline, bandwidth: Bandwidth) -> dict[str, Any]:
    return {
        "level": bandwidth.level,
        "bytes_per_second": bandwidth.bytes_per_second,
        "transactions_per_second": bandwidth.transactions_per_second,
        "ridge": roofline.ridge(bandwidth.level),
        "basis": bandwidth.basis,
        "clock": _clock(bandwidth.clock),
        "origin": bandwidth.origin,
    }


def _clock(clock: Clock | None) -> dict[str, Any] | None:
    return None if clock is None else {"hz": clock.hz, "domain": clock.domain, "origin": clock.origin}


def _fact(profile: GpuProfile, fact: Fact[Any]) -> dict[str, Any]:
    title = profile.sources.get(fact.source, fact.source) if fact.source else None
    return {"value": fact.value, "basis": fact.basis, "source": title, "note": fact.note}


def _measured(profile: GpuProfile, measured: Measured) -> dict[str, Any]:
    return roofline_data(measured_roofline(profile, measured)) | measured.model_dump(mode="json")


def _excesses(profile: GpuProfile, measured: Measured) -> Iterator[str]:
    for excess in excesses(profile, measured):
        yield f"not to be trusted: {excess.text}"


def _flops(profile: GpuProfile) -> Iterator[dict[str, Any]]:
    for precision in dict.fromkeys((*profile.flops_per_clock_per_sm, *profile.datasheet_flops_per_second)):
        computed = profile.flops_per_second(precision)
        printed = profile.datasheet_flops_per_second.get(precision)
        if computed is not None or printed is not None:
            yield {
                "precision": precision,
                "flops_per_second": computed,
                "datasheet_flops_per_second": printed.value if printed else None,
            }
