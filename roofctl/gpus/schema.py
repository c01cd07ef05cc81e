"""Strict pydantic models of a GPU profile and of a measured result, units in the names.

A fact has a value, a basis and the document it comes from. One that is not known is null with basis ``unknown``;
nothing is zero by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticKnownError

from roofctl.core.given import parse_ceiling
from roofctl.core.levels import DRAM, LEVEL_LABELS, CeilingUnit, level_label, unit_of
from roofctl.core.precisions import PRECISIONS

SCHEMA_VERSION: Final = 1

FactBasis = Literal["vendor", "driver", "derived", "memory", "third-party", "unknown"]
FACT_BASES: Final[tuple[str, ...]] = get_args(FactBasis)

NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9.-]*$"

Text = Annotated[str, Field(strict=True, min_length=1)]
Name = Annotated[str, Field(strict=True, pattern=NAME_PATTERN)]
Chip = Annotated[str, Field(strict=True, pattern=r"^[a-z]+[0-9]+[a-z]?$")]
ComputeCapability = Annotated[str, Field(strict=True, pattern=r"^[0-9]+\.[0-9]+$")]
Count = Annotated[int, Field(strict=True, gt=0)]
Rate = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]


def _precision(name: str) -> str:
    """``name``, when it is one of the types of operation; else pydantic's own error for a literal."""
    if name not in PRECISIONS:
        *names, last = map(repr, PRECISIONS)
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(names)} or {last}"})
    return name


PrecisionName = Annotated[str, Field(strict=True), AfterValidator(_precision)]

T = TypeVar("T")


class Model(BaseModel):
    """Base of the models here: unknown keys are errors, instances do not change."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class Fact(Model, Generic[T]):
    """One value, how it is known (``basis``) and from where (``source``, a key of ``sources``)."""

    value: T | None
    basis: FactBasis
    source: Text | None = None
    note: str = ""

    @model_validator(mode="after")
    def _agree(self) -> Fact[T]:
        if (self.basis == "unknown") != (self.value is None):
            raise ValueError(
                f"seen value {_yaml_word(self.value)} with basis {self.basis}; "
                "expected basis unknown for a null value, and only for one"
            )
        if self.basis != "unknown" and self.source is None:
            raise ValueError(f"seen basis {self.basis} without a source; expected one of the keys of sources")
        return self


class KnownFact(Fact[T], Generic[T]):
    """A fact without which there is no roofline: its value may not be null."""

    value: T


def _yaml_word(value: object) -> str:
    return "null" if value is None else str(value)


class ClockFacts(Model):
    """Clocks in Hz. Tensor peaks on data sheets can assume a lower clock than the SMs reach.

    ``sm_base_hz`` is what the SMs run at under ncu's ``--clock-control base``.
    """

    sm_boost_hz: KnownFact[Rate]
    sm_base_hz: Fact[Rate] | None = None
    tensor_boost_hz: Fact[Rate]
    l2_hz: Fact[Rate] | None = None

    @model_validator(mode="after")
    def _base_below_boost(self) -> ClockFacts:
        base, boost = self.sm_base_hz.value if self.sm_base_hz else None, self.sm_boost_hz.value
        if base is not None and base >= boost:
            raise ValueError(
                f"seen sm_base_hz {base:g} and sm_boost_hz {boost:g}; expected the base below the boost clock"
            )
        return self


class L1(Model):
    """The L1 (with the shared memory in it): size and delivery per SM."""

    bytes_per_sm: Fact[Count]
    bytes_per_clock_per_sm: Fact[Count]


class Shared(Model):
    """Shared memory: the most that one SM can hold, and delivery per SM."""

    max_bytes_per_sm: Fact[Count]
    bytes_per_clock_per_sm: Fact[Count]


class L2(Model):
    """The L2 of the GPU; ``bytes_per_clock`` are clocks of the L2, not of the SMs.

    ``bytes_per_second`` is used where the bytes per clock are not known.
    """

    bytes: Fact[Count]
    partitions: Fact[Count]
    slices: Fact[Count]
    bytes_per_clock: Fact[Count]
    bytes_per_second: Fact[Rate] | None = None


class Memory(Model):
    """Device memory. ``clock_hz`` is the command clock: two transfers per pin and clock."""

    type: Fact[Text]
    bus_bits: Fact[Count]
    clock_hz: Fact[Rate]
    datasheet_bytes_per_second: Fact[Rate]

    @property
    def pin_bytes_per_second(self) -> float | None:
        """2 x clock x bus / 8, or None when a factor is unknown."""
        if self.clock_hz.value is None or self.bus_bits.value is None:
            return None
        return 2 * self.clock_hz.value * self.bus_bits.value / 8


class Links(Model):
    """Bytes per second each way to memory outside the GPU: of the host (PCIe or NVLink-C2C), and of one other GPU."""

    host_bytes_per_second: Fact[Rate] | None = None
    peer_bytes_per_second: Fact[Rate] | None = None


class GpuProfile(Model):
    """One GPU's facts, as ``profiles/NAME.yaml`` holds them."""

    name: Name
    aliases: tuple[Name, ...]
    description: Text
    nvml_names: Fact[tuple[Text, ...]]
    chip: Chip
    die: Text
    compute_capability: ComputeCapability
    sources: dict[Text, Text]
    sm_count: KnownFact[Count]
    schedulers_per_sm: KnownFact[Count]
    clocks: ClockFacts
    l1: L1
    shared: Shared
    l2: L2
    memory: Memory
    links: Links | None = None
    flops_per_clock_per_sm: dict[PrecisionName, Fact[Count]]
    datasheet_flops_per_second: dict[PrecisionName, Fact[Rate]]
    notes: tuple[Text, ...] = ()

    @property
    def peak_instructions_per_second(self) -> float:
        """Warp instructions per second at the SM boost clock: SMs x schedulers x clock."""
        return self.sm_count.value * self.schedulers_per_sm.value * self.clocks.sm_boost_hz.value

    @property
    def pin_bytes_per_second(self) -> float | None:
        """Device-memory bandwidth from bus width and memory clock."""
        return self.memory.pin_bytes_per_second

    @property
    def l1_bytes_per_second(self) -> float | None:
        """L1 bandwidth of all SMs at the boost clock."""
        return self._per_sm(self.l1.bytes_per_clock_per_sm.value)

    @property
    def shared_bytes_per_second(self) -> float | None:
        """Shared-memory bandwidth of all SMs at the boost clock."""
        return self._per_sm(self.shared.bytes_per_clock_per_sm.value)

    @property
    def sm_base_hz(self) -> float | None:
        """The SM base clock, or None when it is not known."""
        return self.clocks.sm_base_hz.value if self.clocks.sm_base_hz else None

    @property
    def l2_hz(self) -> float | None:
        """The L2's own clock, or None when it is not known."""
        return self.clocks.l2_hz.value if self.clocks.l2_hz else None

    @property
    def l2_bytes_per_second(self) -> float | None:
        """L2 bandwidth at its own clock, or at the SM boost clock when that is not known."""
        width, rate = self.l2.bytes_per_clock.value, self.l2.bytes_per_second
        if width is None:
            return rate.value if rate else None
        return width * (self.l2_hz or self.clocks.sm_boost_hz.value)

    @property
    def link_bytes_per_second(self) -> dict[str, float]:
        """Bytes per second each way to ``system`` (host) and ``peer`` memory, where they are known."""
        links = self.links or Links()
        facts = {"system": links.host_bytes_per_second, "peer": links.peer_bytes_per_second}
        return {name: fact.value for name, fact in facts.items() if fact and fact.value}

    @property
    def memory_label(self) -> str:
        """How the board's memory is printed: "HBM" for HBM of any generation, "DRAM" for every other kind."""
        return LEVEL_LABELS["hbm"] if (self.memory.type.value or "").startswith("HBM") else DRAM

    def label(self, level: str) -> str:
        """A memory level as it is printed for this board; other names are their own label."""
        return level_label(level, self.memory_label)

    def boost_hz(self, precision: str) -> float | None:
        """The boost clock that the vendor states for a type of operation, None where the tensor clock is not known."""
        clock = self.clocks.tensor_boost_hz if PRECISIONS[precision].at_tensor_clock else self.clocks.sm_boost_hz
        return clock.value

    def flops_per_second(self, precision: str) -> float | None:
        """FLOP/s from the per-clock rate at the type's boost clock, dense."""
        fact, clock_hz = self.flops_per_clock_per_sm.get(precision), self.boost_hz(precision)
        if fact is None or fact.value is None or clock_hz is None:
            return None
        return fact.value * self.sm_count.value * clock_hz

    def facts(self) -> Iterator[tuple[str, Fact[Any]]]:
        """Every fact with its dotted key, in the order of the file."""
        yield from _facts(self, "")

    def _per_sm(self, bytes_per_clock: int | None) -> float | None:
        if bytes_per_clock is None:
            return None
        return bytes_per_clock * self.sm_count.value * self.clocks.sm_boost_hz.value


def _facts(section: Model | dict[Any, Any], prefix: str) -> Iterator[tuple[str, Fact[Any]]]:
    for key, value in section.items() if isinstance(section, dict) else section:
        if isinstance(value, Fact):
            yield prefix + key, value
        elif isinstance(value, Model | dict):
            yield from _facts(value, f"{prefix}{key}.")


BY_HAND: Final = "by hand"
"""Method of a ceiling that a person wrote into a file."""


class MeasuredCeiling(Model):
    """One measured rate: ``value`` (the figure to draw), its spread, its clock and its method.

    All rates are in ``unit``. ``mixes`` holds the same ceiling for other access mixes. ``launch`` is not a rate
    but a time in seconds: the interval from one launch to the next, whose ``best`` is the smallest. Where the value was
    written by hand the spread is not known.
    """

    value: Rate
    unit: CeilingUnit
    best: Rate | None = None
    p5: Rate | None = None
    p95: Rate | None = None
    samples: Count | None = None
    sm_clock_hz: Rate | None = None
    method: Text = BY_HAND
    mixes: dict[Text, Rate] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _ordered(self) -> MeasuredCeiling:
        if self.p5 is not None and self.p95 is not None and self.p5 > self.p95:
            raise ValueError(f"seen p5 {self.p5:g} above p95 {self.p95:g}; expected p5 <= p95")
        return self


def _of_text(entry: tuple[str, object]) -> tuple[str, object]:
    """A ceiling of a file: one that is text as a mapping, any other as it is."""
    name, value = entry
    if not isinstance(value, str):
        return entry
    known, number = parse_ceiling(name, value)
    return known, {"value": number, "unit": unit_of(known)}


class Measured(Model):
    """Measured ceilings of one GPU, as ``NAME.measured.yaml`` holds them; by hand: values such as ``l2: 5.5 TB/s``."""

    profile: Name
    gpu_name: Text | None = None
    measured_at: Text | None = None
    roofctl_version: Text | None = None
    ceilings: dict[Text, MeasuredCeiling]
    provenance: dict[Text, Any] = Field(default_factory=dict)

    def clocks_of(self, ceiling: str, mix: str) -> tuple[float, ...]:
        """Lowest and highest SM clock in Hz over the samples of one mix; empty where they are not known."""
        levels = self.provenance.get("levels", {})
        clocks = levels.get(ceiling, {}).get("mixes", {}).get(mix, {}).get("sm_clock_hz")
        return tuple(clocks or ())

    @property
    def described(self) -> str:
        """By what and when it was measured, as far as the file holds it."""
        if self.gpu_name is None and self.measured_at is None:
            return f"by hand, in {self.profile}.measured.yaml"
        return f"on {self.gpu_name or self.profile}, {self.measured_at or 'at a time that is not known'}"

    @field_validator("ceilings", mode="before")
    @classmethod
    def _by_hand(cls, ceilings: object) -> object:
        """Values with their units (``l2: 5.5 TB/s``) as ceilings whose spread is not known."""
        return dict(map(_of_text, ceilings.items())) if isinstance(ceilings, dict) else ceilings

    @field_validator("measured_at")
    @classmethod
    def _iso(cls, text: str | None) -> str | None:
        if text is None:
            return None
        try:
            datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            raise ValueError(f"seen {text!r}; expected a time in ISO form such as 2026-01-31T12:00:00+00:00") from None
        return text

    @field_validator("ceilings")
    @classmethod
    def _units(cls, ceilings: dict[str, MeasuredCeiling]) -> dict[str, MeasuredCeiling]:
        for name, ceiling in ceilings.items():
            expected = unit_of(name)
            if expected == "FLOP/s" and ceiling.unit == "s":
                raise ValueError(f"seen {name} in s; expected a rate, only launch is a time")
            if expected not in ("FLOP/s", ceiling.unit):
                raise ValueError(f"seen {name} in {ceiling.unit}; expected {expected}")
        return ceilings
