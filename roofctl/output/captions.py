"""Short texts on the GPU, the clock and the ceilings of an analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roofctl.core.units import prefixed
from roofctl.roofline.model import Roofline
from roofctl.study.analyse import Analysis

_LISTED: Final = 3


def clock_texts(analysis: Analysis) -> list[str]:
    """The SM clock of the ceilings, and that of the capture where it is another one; empty where none is known."""
    clock, captured = analysis.clock or analysis.rooflines[0].peak.clock, analysis.clocks.captured
    texts = [f"SM {prefixed(clock.hz, 'Hz')} {clock.origin}"] if clock else []
    if clock and captured and captured != clock:
        texts.append(f"captured at {prefixed(captured.hz, 'Hz')}")
    return texts


def incomplete_lines(analysis: Analysis) -> list[str]:
    """A sentence for each of the first captures whose run did not end as it should, and the number of the others."""
    texts = analysis.incomplete
    more = len(texts) - _LISTED
    return [*texts[:_LISTED], f"and {more:,} more incomplete captures"] if more > 1 else list(texts)


def subtitle(analysis: Analysis, rooflines: Sequence[Roofline]) -> str:
    """The line under the title of a picture: GPU, SM clock, basis of the ceilings, incomplete captures."""
    gpu = next(iter(analysis.device.names), None) or rooflines[0].gpu
    bases = " and ".join(dict.fromkeys(roofline.basis for roofline in rooflines))
    mark = ["incomplete capture"] if analysis.incomplete else []
    return " · ".join([gpu, *clock_texts(analysis), f"{bases} ceilings", *mark])
