"""Short texts on the GPU, the clock and the ceilings of an analysis."""

from __future__ import annotations

from collections.abc import Sequence

from roofctl.core.levels import level_label
from roofctl.core.units import prefixed, rate
from roofctl.roofline.model import ISSUE, WORK_LABELS, Bandwidth, Peak, Roofline
from roofctl.study.analyse import Analysis


def clock_texts(analysis: Analysis) -> list[str]:
    """The SM clock of the ceilings, and that of the capture where it is another one; empty where none is known."""
    peak, captured = analysis.rooflines[0].peak, analysis.clocks.captured
    clock = analysis.clock or (peak.clock if peak else None)
    given = analysis.rooflines[0].basis == "given"  # such ceilings follow no clock
    texts = [f"SM {prefixed(clock.hz, 'Hz')} {clock.origin}"] if clock and not given else []
    if clock and captured and (captured != clock or given):
        texts.append(f"captured at {prefixed(captured.hz, 'Hz')}")
    return texts


def subtitle(analysis: Analysis, rooflines: Sequence[Roofline]) -> str:
    """GPU, SM clock and basis of the ceilings, for the line under the title of a picture."""
    gpu = next(iter(analysis.device.names), None) or rooflines[0].gpu
    bases = " and ".join(dict.fromkeys(roofline.basis for roofline in rooflines))
    given = given_text(rooflines[0])
    return " · ".join([gpu, *clock_texts(analysis), f"{bases} ceilings" + (f" ({given})" if given else "")])


def given_text(roofline: Roofline, *, with_rates: bool = False) -> str:
    """``given: L2 5.5 TB/s, issue 489.6 GIPS``; empty where none is, or all are and rates are not wanted."""
    if not roofline.given or (roofline.basis == "given" and not with_rates):
        return ""
    texts = [_name(each, roofline) + (f" {_rate(each)}" if with_rates else "") for each in roofline.given]
    return f"given: {', '.join(texts)}"


def _name(ceiling: Peak | Bandwidth, roofline: Roofline) -> str:
    if isinstance(ceiling, Peak):
        return "issue" if ceiling.work == ISSUE else WORK_LABELS.get(ceiling.work, ceiling.work)
    return level_label(ceiling.level, roofline.memory_label)


def _rate(ceiling: Peak | Bandwidth) -> str:
    if isinstance(ceiling, Bandwidth):
        return rate(ceiling.level, ceiling.bytes_per_second, "B/s")
    return rate(ceiling.work, ceiling.per_second, "warp_inst/s" if ceiling.work == ISSUE else "FLOP/s")
