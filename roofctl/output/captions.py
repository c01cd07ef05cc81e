"""Short texts on the GPU, the clock and the ceilings of an analysis."""

from __future__ import annotations

from collections.abc import Sequence

from roofctl.core.units import prefixed
from roofctl.roofline.model import Roofline
from roofctl.study.analyse import Analysis


def clock_texts(analysis: Analysis) -> list[str]:
    """The SM clock of the ceilings, and that of the capture where it is another one; empty where none is known."""
    peak, captured = analysis.rooflines[0].peak, analysis.clocks.captured
    clock = analysis.clock or (peak.clock if peak else None)
    texts = [f"SM {prefixed(clock.hz, 'Hz')} {clock.origin}"] if clock else []
    if clock and captured and captured != clock:
        texts.append(f"captured at {prefixed(captured.hz, 'Hz')}")
    return texts


def subtitle(analysis: Analysis, rooflines: Sequence[Roofline]) -> str:
    """GPU, SM clock and basis of the ceilings, for the line under the title of a picture."""
    gpu = next(iter(analysis.device.names), None) or rooflines[0].gpu
    bases = " and ".join(dict.fromkeys(roofline.basis for roofline in rooflines))
    return " · ".join([gpu, *clock_texts(analysis), f"{bases} ceilings"])
