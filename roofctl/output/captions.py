"""Short texts on the GPU, the clock and the ceilings of an analysis."""

from __future__ import annotations

from collections.abc import Sequence

from roofctl.core.units import prefixed
from roofctl.roofline.model import ISSUE, TRUST, WORK_LABELS, Roofline
from roofctl.study.analyse import Analysis


def clock_texts(analysis: Analysis) -> list[str]:
    """The SM clock of the ceilings, and that of the capture where it is another one; empty where none is known."""
    clock, captured = analysis.clock or analysis.rooflines[0].peak.clock, analysis.clocks.captured
    texts = [f"SM {prefixed(clock.hz, 'Hz')} {clock.origin}"] if clock else []
    if clock and captured and captured != clock:
        texts.append(f"captured at {prefixed(captured.hz, 'Hz')}")
    return texts


def subtitle(analysis: Analysis, rooflines: Sequence[Roofline]) -> str:
    """GPU, SM clock, and basis and GPU of the ceilings, for the line under the title of a picture."""
    return " · ".join([*gpu_texts(analysis), *clock_texts(analysis), ceilings_text(analysis, rooflines)])


def gpu_texts(analysis: Analysis) -> list[str]:
    """The GPU of the capture, where it is known; said to be so where the ceilings are of another one."""
    device, ceilings = next(iter(analysis.device.names), None), analysis.ceilings_gpu
    if device is None:
        return []
    return [f"captured on {device}" if ceilings and ceilings.of_capture is False else device]


def ceilings_text(analysis: Analysis, rooflines: Sequence[Roofline]) -> str:
    """Basis and GPU of the ceilings: "theoretical ceilings of h200", "ceilings from the report"."""
    gpu = analysis.ceilings_gpu
    if gpu and gpu.profile is None:
        return "ceilings from the report" if analysis.device.names else f"ceilings of {gpu.name}, from the report"
    bases = " and ".join(dict.fromkeys(roofline.basis for roofline in rooflines))
    return f"{bases} ceilings of {rooflines[0].gpu}"


def describe_ceilings(analysis: Analysis) -> str:
    """One line: GPU, basis, clock and sources of the ceilings, and the GPU of the capture where it is another one."""
    roofline, gpu = analysis.rooflines[0], analysis.ceilings_gpu
    what = "from the report" if gpu and gpu.profile is None else roofline.basis
    texts = [f"ceilings: {roofline.gpu}", what, *clock_texts(analysis)]
    if gpu and gpu.of_capture is False:
        other = next(iter(analysis.device.names), None) or f"capability {analysis.device.compute_capabilities[0]}"
        texts.append(f"not the GPU of the capture ({other})")
    return f"{', '.join(texts)}; {_sources(roofline)}"


def _sources(roofline: Roofline) -> str:
    """Where each ceiling comes from, the most trusted source first: "vendor: L1, HBM; report: L2"."""
    named = [(peak.source, WORK_LABELS[peak.work] if peak.work != ISSUE else ISSUE) for peak in roofline.peaks]
    named += [(bandwidth.source, roofline.label(bandwidth.level)) for bandwidth in roofline.bandwidths]
    groups: dict[str, list[str]] = {source: [] for source in TRUST}
    for source, label in named:
        groups.setdefault(source or "not known", []).append(label)
    return "; ".join(f"{source}: {', '.join(labels)}" for source, labels in groups.items() if labels)
