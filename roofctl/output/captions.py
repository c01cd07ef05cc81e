"""Short texts on the GPU, the clock and the ceilings of an analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from roofctl.core.kernel_names import some
from roofctl.core.units import prefixed, rate
from roofctl.roofline.model import ISSUE, TRUST, WORK_LABELS, Bandwidth, Peak, Roofline
from roofctl.study.analyse import Analysis

_LISTED: Final = 3


def clock_texts(analysis: Analysis) -> list[str]:
    """The SM clock of the ceilings, and that of the capture where it is another one; empty where none is known.

    Of captures at different clocks it is their range.
    """
    if each := [clock.hz for clock in analysis.clocks.each.values()]:
        low, high = (prefixed(hz, "Hz") for hz in (min(each), max(each)))
        return [f"SM {low} to {high}, each at its own"]
    peak, captured = analysis.rooflines[0].peak, analysis.clocks.captured
    clock = analysis.clock or (peak.clock if peak else None)
    given = analysis.rooflines[0].basis == "given"  # such ceilings follow no clock
    texts = [f"SM {prefixed(clock.hz, 'Hz')} {clock.origin}"] if clock and not given else []
    if clock and captured and (captured != clock or given):
        texts.append(f"captured at {prefixed(captured.hz, 'Hz')}")
    return texts


def incomplete_lines(analysis: Analysis) -> list[str]:
    """A sentence for each of the first captures whose run did not end as it should, and the number of the others."""
    texts = analysis.incomplete
    more = len(texts) - _LISTED
    return [*texts[:_LISTED], f"and {more:,} more incomplete captures"] if more > 1 else list(texts)


def subtitle(analysis: Analysis, rooflines: Sequence[Roofline]) -> str:
    """The line under the title of a picture: GPU, SM clock, basis and GPU of the ceilings, incomplete captures."""
    incomplete = ["incomplete capture"] if analysis.incomplete else []
    texts = [*gpu_texts(analysis), *clock_texts(analysis), ceilings_text(analysis, rooflines), *incomplete]
    return " · ".join(texts)


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
    given = given_text(rooflines[0])
    return f"{bases} ceilings of {rooflines[0].gpu}" + (f" ({given})" if given else "")


def given_text(roofline: Roofline, *, with_rates: bool = False) -> str:
    """``given: L2 5.5 TB/s, issue 489.6 GIPS``; empty where none is, or all are and rates are not wanted."""
    if not roofline.given or (roofline.basis == "given" and not with_rates):
        return ""
    texts = [_name(each, roofline) + (f" {_rate(each)}" if with_rates else "") for each in roofline.given]
    return f"given: {', '.join(texts)}"


def describe_inputs(analysis: Analysis) -> str:
    """The first inputs and their GPU: ``run: NVIDIA H200``, ``a.csv, b.csv and 3 more: GPU not known``."""
    names = some([Path(source).name for source in analysis.sources], 3)
    return f"{names}: {next(iter(analysis.device.names), 'GPU not known')}"


def describe_ceilings(analysis: Analysis) -> str:
    """One line: GPU, basis, clock and sources of the ceilings, and the GPU of the capture where it is another one."""
    roofline, gpu = analysis.rooflines[0], analysis.ceilings_gpu
    basis = "" if roofline.basis == "given" else roofline.basis
    texts = [f"ceilings: {roofline.gpu}", "from the report" if gpu and gpu.profile is None else basis]
    texts += [*clock_texts(analysis), given_text(roofline, with_rates=True)]
    if gpu and gpu.of_capture is False:
        other = next(iter(analysis.device.names), None) or f"capability {analysis.device.compute_capabilities[0]}"
        texts.append(f"not the GPU of the capture ({other})")
    return "; ".join(filter(None, (", ".join(filter(None, texts)), _sources(roofline))))


def _sources(roofline: Roofline) -> str:
    """Where each ceiling comes from, the most trusted source first: "vendor: L1, HBM; report: L2"."""
    groups: dict[str, list[str]] = {source: [] for source in TRUST}
    ceilings: tuple[Peak | Bandwidth, ...] = (*roofline.peaks, *roofline.bandwidths)
    for each in ceilings:
        if each.basis != "given":
            groups.setdefault(each.source or "not known", []).append(_name(each, roofline))
    return "; ".join(f"{source}: {', '.join(labels)}" for source, labels in groups.items() if labels)


def _name(ceiling: Peak | Bandwidth, roofline: Roofline) -> str:
    if isinstance(ceiling, Peak):
        return "issue" if ceiling.work == ISSUE else WORK_LABELS.get(ceiling.work, ceiling.work)
    return roofline.label(ceiling.level)


def _rate(ceiling: Peak | Bandwidth) -> str:
    if isinstance(ceiling, Bandwidth):
        return rate(ceiling.level, ceiling.bytes_per_second, "B/s")
    return rate(ceiling.work, ceiling.per_second, "warp_inst/s" if ceiling.work == ISSUE else "FLOP/s")
