"""Short texts on the GPU, the clock and the ceilings of a study."""

from __future__ import annotations

from collections.abc import Sequence

from roofctl.core.units import prefixed
from roofctl.roofline.model import Roofline
from roofctl.study.study import Study


def clock_texts(study: Study) -> list[str]:
    """The SM clock of the ceilings, and that of the capture where it is another one; empty where none is known."""
    clock, captured = study.clock or study.rooflines[0].peak.clock, study.clocks.captured
    texts = [f"SM {prefixed(clock.hz, 'Hz')} {clock.origin}"] if clock else []
    if clock and captured and captured != clock:
        texts.append(f"captured at {prefixed(captured.hz, 'Hz')}")
    return texts


def subtitle(study: Study, rooflines: Sequence[Roofline]) -> str:
    """GPU, SM clock and basis of the ceilings, for the line under the title of a picture."""
    gpu = next(iter(study.device.names), None) or rooflines[0].gpu
    bases = " and ".join(dict.fromkeys(roofline.basis for roofline in rooflines))
    return " · ".join([gpu, *clock_texts(study), f"{bases} ceilings"])
