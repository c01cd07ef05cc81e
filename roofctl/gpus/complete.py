"""A GPU profile beside what a capture carries: ceilings that only the capture has, and those that differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from roofctl.core.precisions import PRECISIONS
from roofctl.core.units import prefixed
from roofctl.gpus.schema import Fact, GpuProfile
from roofctl.roofline.model import REPORT

_APART: Final = 0.02
"""Figures further apart than this are two figures."""

_WEAK: Final = ("memory", "third-party", "derived")
"""Bases of a profile's facts that what the capture counts goes before."""


@dataclass(frozen=True)
class _Pair:
    """One fact of a profile (None or null where it lacks it) and the same of the capture, both per clock."""

    section: str
    key: str
    label: str
    unit: str
    kept: Fact[int] | None
    given: Fact[int]

    @property
    def lacking(self) -> bool:
        return self.kept is None or self.kept.value is None

    @property
    def differs(self) -> bool:
        kept, given = self.kept.value if self.kept else None, self.given.value
        return bool(kept and given) and abs((kept or 0) / (given or 1) - 1) > _APART

    @property
    def given_wins(self) -> bool:
        """Whether the capture's is used: where the profile lacks it, or has it from a weak source and differs.

        Boards of one chip differ in tensor rates, and what counters state is the chip's: those of the profile stay.
        """
        if self.lacking:
            return True
        tensor = self.key in PRECISIONS and PRECISIONS[self.key].tensor
        return self.differs and not tensor and self.kept is not None and self.kept.basis in _WEAK


def completed(profile: GpuProfile, own: GpuProfile) -> tuple[GpuProfile, tuple[str, ...]]:
    """The profile with the ceilings that it lacks and the capture has, and a sentence for each that differs by 2 %.

    A fact of the vendor or the driver in the profile goes before the capture's, any other one behind it.
    """
    changes: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    for pair in _pairs(profile, own):
        if pair.differs and pair.kept:
            used = "the capture's" if pair.given_wins else "the profile's"
            notes.append(
                f"{pair.label}: the capture gives {pair.given.value:,} {pair.unit}, the GPU profile {profile.name} has "
                f"{pair.kept.value:,} ({pair.kept.basis}); {used} is used"
            )
        if pair.given_wins:
            changes.setdefault(pair.section, {})[pair.key] = pair.given
    given_rate = own.l2.bytes_per_second
    if profile.l2_bytes_per_second is None and own.l2.bytes_per_clock.value is None and given_rate:
        changes["l2"] = {"bytes_per_second": given_rate}
    elif "l2" in changes:
        changes["l2"]["slices"] = own.l2.slices
        changes["clocks"] = {"l2_hz": own.clocks.l2_hz}
    if "l2" not in changes and (clock := _l2_clock(profile, own)):
        changes["clocks"] = {"l2_hz": clock}
    notes += _memory_notes(profile, own)
    if not changes:
        return profile, tuple(notes)
    update: dict[str, Any] = {"sources": {**own.sources, **profile.sources}}
    for section, facts in changes.items():
        present = getattr(profile, section)
        update[section] = {**present, **facts} if isinstance(present, dict) else present.model_copy(update=facts)
    return profile.model_copy(update=update), tuple(notes)


def _pairs(profile: GpuProfile, own: GpuProfile) -> Iterator[_Pair]:
    """What both can have; only facts of the capture that counters give."""
    of_sm = "B per clock and SM"
    sections = (
        ("l1", "bytes_per_clock_per_sm", profile.label("l1"), of_sm),
        ("shared", "bytes_per_clock_per_sm", profile.label("shared"), of_sm),
        ("l2", "bytes_per_clock", profile.label("l2"), "B per clock"),
    )
    for section, key, label, unit in sections:
        given: Fact[int] = getattr(getattr(own, section), key)
        if given.source == REPORT:
            yield _Pair(section, key, label, unit, getattr(getattr(profile, section), key), given)
    for precision, given in own.flops_per_clock_per_sm.items():
        if given.source == REPORT:
            kept = profile.flops_per_clock_per_sm.get(precision)
            label = PRECISIONS[precision].label
            yield _Pair("flops_per_clock_per_sm", precision, label, "operations per clock and SM", kept, given)


def _l2_clock(profile: GpuProfile, own: GpuProfile) -> Fact[float] | None:
    """The L2's clock by the capture, of a profile that knows its width only; None where it knows both or neither."""
    width, rate = profile.l2.bytes_per_clock.value, own.l2.bytes_per_second
    if width is None or profile.l2_hz is not None:
        return None
    if own.clocks.l2_hz is not None or rate is None or rate.value is None:
        return own.clocks.l2_hz
    return Fact[float](value=rate.value / width, basis="derived", source=REPORT, note=rate.note)


def _memory_notes(profile: GpuProfile, own: GpuProfile) -> list[str]:
    """A sentence where the bandwidths of the board's memory differ."""
    kept = profile.pin_bytes_per_second or profile.memory.datasheet_bytes_per_second.value
    given = own.pin_bytes_per_second
    if not kept or not given or abs(kept / given - 1) <= _APART:
        return []
    text = (
        f"{profile.memory_label}: bus and memory clock of the capture give {prefixed(given, 'B/s')}, the GPU profile "
        f"{profile.name} has {prefixed(kept, 'B/s')}; the profile's is used"
    )
    return [text]
