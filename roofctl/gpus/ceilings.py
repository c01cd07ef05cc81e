"""From a GPU profile to ceilings: theoretical ones by arithmetic, measured ones from a result file."""

from __future__ import annotations

from typing import Any, Final

from roofctl.core.levels import LEVELS
from roofctl.gpus.schema import Fact, GpuProfile, Measured, MeasuredCeiling
from roofctl.roofline.model import CALIBRATE, REPORT, TRUST, Bandwidth, Clock, Peak, Roofline

L2_CLOCK_UNKNOWN: Final = "at the SM boost clock; the L2 clock is not known"


def theoretical_roofline(profile: GpuProfile, clock: Clock | None = None) -> Roofline:
    """The ceilings that follow from the GPU's facts, at ``clock`` (an SM clock) or at the boost clock.

    A level without figures is in ``absent`` with the reason.
    """
    sm_clock = clock or boost_clock(profile)
    l1 = _per_sm("l1", profile.l1.bytes_per_clock_per_sm, profile, sm_clock)
    levels = (l1, _l2(profile), _hbm(profile))
    return Roofline(
        gpu=profile.name,
        memory_label=profile.memory_label,
        peak=_peak(profile, sm_clock),
        bandwidths=tuple(bandwidth for bandwidth in levels if bandwidth),
        absent={
            level: _why_absent(profile, level)
            for level, bandwidth in zip(LEVELS, levels, strict=True)
            if bandwidth is None
        },
        shared=_per_sm("shared", profile.shared.bytes_per_clock_per_sm, profile, sm_clock),
    )


def measured_roofline(profile: GpuProfile, measured: Measured) -> Roofline:
    """The ceilings that were measured; a level that was not is in ``absent``.

    Without a measured issue rate the peak is the theoretical one: its basis and origin
    say so, and ``absent`` names it as ``issue``.
    """
    absent: dict[str, str] = {}
    bandwidths: list[Bandwidth] = []
    for level in LEVELS:
        ceiling = measured.ceilings.get(level)
        if ceiling is None:
            absent[level] = f"{profile.label(level)} was not measured on this GPU"
        else:
            clock = _measured_clock(profile, level, ceiling)
            bandwidths.append(Bandwidth(level, ceiling.value, "measured", clock, ceiling.method, CALIBRATE))
    issue = measured.ceilings.get("issue")
    if issue is None:
        absent["issue"] = "the issue rate was not measured on this GPU; the theoretical peak is used"
        peak = _peak(profile, boost_clock(profile))
    else:
        peak = Peak(issue.value, "measured", _sm_clock(issue), issue.method, source=CALIBRATE)
    shared = measured.ceilings.get("shared")
    return Roofline(
        gpu=profile.name,
        memory_label=profile.memory_label,
        peak=peak,
        bandwidths=tuple(bandwidths),
        absent=absent,
        shared=Bandwidth("shared", shared.value, "measured", _sm_clock(shared), shared.method, CALIBRATE)
        if shared
        else None,
    )


def launch_seconds(measured: Measured | None) -> float | None:
    """Seconds that a launch takes at least: the measured interval between two launches of a kernel that does nothing.

    None where nothing was measured, or the launch was not: then no bound by launches is known.
    """
    ceiling = measured.ceilings.get("launch") if measured else None
    return ceiling.value if ceiling else None


def boost_clock(profile: GpuProfile) -> Clock:
    """The SM boost clock, at which theoretical ceilings are stated unless another is given."""
    return Clock(profile.clocks.sm_boost_hz.value, "sm", "boost")


def trusted(*facts: Fact[Any] | None) -> str:
    """Where a ceiling that follows from these facts comes from: the source of the least trusted of them."""
    sources = [REPORT if fact.source == REPORT else fact.basis for fact in facts if fact and fact.value is not None]
    return max(sources, key=TRUST.index, default="")


def _peak(profile: GpuProfile, clock: Clock) -> Peak:
    sms, schedulers = profile.sm_count.value, profile.schedulers_per_sm.value
    origin = f"{sms} SMs x {schedulers} at {_ghz(clock.hz)}"
    source = trusted(profile.sm_count, profile.schedulers_per_sm)
    return Peak(sms * schedulers * clock.hz, "theoretical", clock, origin, source=source)


def _per_sm(level: str, each: Fact[int], profile: GpuProfile, clock: Clock) -> Bandwidth | None:
    """Bandwidth of L1 or shared memory: bytes per clock of one SM, times SMs and clock."""
    if each.value is None:
        return None
    sms, width = profile.sm_count.value, each.value
    origin = f"{sms} SMs x {width} B at {_ghz(clock.hz)}{of_report(each)}"
    return Bandwidth(level, width * sms * clock.hz, "theoretical", clock, origin, trusted(profile.sm_count, each))


def of_report(*facts: Fact[Any] | None) -> str:
    """What an origin says of facts that a capture gave."""
    return ", derived from the report" if any(fact and fact.source == REPORT for fact in facts) else ""


def _l2(profile: GpuProfile) -> Bandwidth | None:
    width, slices, own_hz = profile.l2.bytes_per_clock.value, profile.l2.slices.value, profile.l2_hz
    if width is None:
        rate = profile.l2.bytes_per_second
        if rate is None or rate.value is None:
            return None
        return Bandwidth("l2", rate.value, "theoretical", None, rate.note, trusted(rate))
    if own_hz is None:
        # The domain is l2 although the figure is the SM's: scaling it with a captured SM clock would invent a number.
        clock = Clock(profile.clocks.sm_boost_hz.value, "l2", "SM boost clock")
        origin, source = f"{width} B/clk {L2_CLOCK_UNKNOWN}", trusted(profile.l2.bytes_per_clock)
        return Bandwidth("l2", width * clock.hz, "theoretical", clock, origin, source)
    clock = Clock(own_hz, "l2", "the L2's own clock")
    parts = f"{slices} slices x {width // slices} B" if slices and width % slices == 0 else f"{width} B/clk"
    facts = profile.l2.bytes_per_clock, profile.clocks.l2_hz
    origin = f"{parts} at {_ghz(own_hz)}{of_report(*facts)}"
    return Bandwidth("l2", width * own_hz, "theoretical", clock, origin, trusted(*facts))


def _hbm(profile: GpuProfile) -> Bandwidth | None:
    memory = profile.memory
    clock = _memory_clock(profile)
    if memory.pin_bytes_per_second is not None:
        origin = f"pin rate{of_report(memory.bus_bits)}"
        source = trusted(memory.bus_bits, memory.clock_hz)
        return Bandwidth("hbm", memory.pin_bytes_per_second, "theoretical", clock, origin, source)
    printed = memory.datasheet_bytes_per_second
    if printed.value is not None:
        origin = printed.note if printed.source == REPORT else "data sheet"
        return Bandwidth("hbm", printed.value, "theoretical", clock, origin, trusted(printed))
    return None


def _memory_clock(profile: GpuProfile) -> Clock | None:
    hz = profile.memory.clock_hz.value
    return None if hz is None else Clock(hz, "memory")


def _sm_clock(ceiling: MeasuredCeiling) -> Clock | None:
    return None if ceiling.sm_clock_hz is None else Clock(ceiling.sm_clock_hz, "sm", "while measured")


def _measured_clock(profile: GpuProfile, level: str, ceiling: MeasuredCeiling) -> Clock | None:
    """The clock that a measured level follows: only the L1 follows the SM clock."""
    if level == "l1":
        return _sm_clock(ceiling)
    if level == "hbm":
        return _memory_clock(profile)
    return None if profile.l2_hz is None else Clock(profile.l2_hz, "l2")


def _why_absent(profile: GpuProfile, level: str) -> str:
    if level == "hbm":
        return "neither the pin rate nor a data-sheet bandwidth is known"
    section = profile.l1.bytes_per_clock_per_sm if level == "l1" else profile.l2.bytes_per_clock
    return f"bytes per clock of the {profile.label(level)} are not known{_because(section)}"


def _because(fact: Fact[int]) -> str:
    return f" ({fact.note})" if fact.note else ""


def _ghz(hz: float) -> str:
    """A clock for a legend: the shortest form, 1.98 GHz rather than 1.980 GHz."""
    return f"{hz / 1e9:.4g} GHz"
