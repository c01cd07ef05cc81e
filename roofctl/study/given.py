"""Ceilings that the user states, in the place of those from any other source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.given import OPTION
from roofctl.core.levels import DRAM, LEVELS
from roofctl.core.notes import Note
from roofctl.core.precisions import COUNTED, PRECISIONS
from roofctl.gpus import find_light
from roofctl.quantities import catalogue
from roofctl.roofline.machine import Machine
from roofctl.roofline.model import ISSUE, Bandwidth, Model, Peak, Roofline
from roofctl.study.device import Device

OPTION_ORIGIN: Final = "given with --ceiling"
_LINKS: Final = ("system", "peer")


@dataclass(frozen=True)
class Given:
    """Values by name, in base units, with the origin of each.

    ``gpu`` and ``memory_label`` are the names of a GPU that has no profile, and of its memory. ``file`` is the light
    file that stands for a GPU profile, empty where there is none.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    gpu: str = ""
    memory_label: str = DRAM
    file: str = ""

    def __bool__(self) -> bool:
        return bool(self.values)

    def origin(self, name: str) -> str:
        """Where a value comes from."""
        return self.origins.get(name, OPTION_ORIGIN)


def given_ceilings(
    profile: str | None, options: Mapping[str, float], device: Device
) -> tuple[Given, InputError | None]:
    """The ceilings of options and of a light file that is named as the GPU profile; options go first.

    The error comes with a light file: it explains what cannot be had from it.
    """
    light = find_light(profile, tuple(catalogue().levels)) if profile else None
    name = next(iter(device.names), "")
    if light is None:
        return Given(options, gpu=name or "GPU not known"), None
    origins = {key: f"given in {light.path.name}" for key in light.ceilings if key not in options}
    given = Given({**light.ceilings, **options}, origins, light.name, light.memory_label, light.path.name)
    problem = InputError(
        f"{light.path} holds ceilings as they are: there are no others, and none at another clock",
        hint="leave --ceilings and --clock out, or name a GPU profile",
    )
    return given, problem


def with_given(machine: Machine | None, given: Given) -> tuple[Machine, list[Note]]:
    """The machine with the given ceilings in it, and a note; without one, a machine that has nothing else."""
    text = (
        f"ceilings of {given.file}, no others" if given.file else "the GPU is not known: only given ceilings are drawn"
    )
    return _with_given(machine, given), [] if machine else [Note(text)]


def _with_given(machine: Machine | None, given: Given) -> Machine:
    instruction = machine.instruction if machine else _nothing(given, "instruction")
    flop = machine.flop if machine else None
    if flop is None and (not machine or any(name in PRECISIONS for name in given.values)):
        flop = replace(_nothing(given, "flop"), bandwidths=instruction.bandwidths, shared=instruction.shared)
        flop = replace(flop, memory_label=instruction.memory_label, gpu=instruction.gpu)
    instruction = _placed(instruction, given)
    flop = _placed(flop, given) if flop else None
    links = {name: given.values[name] for name in _LINKS if name in given.values}
    if machine is None:
        return Machine(instruction, flop, given.values.get("launch"), links=links)
    launch = given.values.get("launch", machine.launch_seconds)
    return replace(machine, instruction=instruction, flop=flop, launch_seconds=launch, links={**machine.links, **links})


def first_given(rooflines: tuple[Roofline, ...], machine: Machine, model: Model) -> tuple[Roofline, ...]:
    """The rooflines that are drawn: the first is that of the machine, with its given ceilings."""
    own = machine.flop if model == "flop" else machine.instruction
    return (own, *rooflines[1:]) if own else rooflines


def _nothing(given: Given, model: Model) -> Roofline:
    """A roofline without any ceiling, and why each is missing."""
    why = f"{given.file} does not give it" if given.file else "not known for this GPU, and not given"
    works = (ISSUE,) if model == "instruction" else tuple(work for work in COUNTED if not PRECISIONS[work].rare)
    absent = {**dict.fromkeys((*LEVELS, *works), why), **_own_absent()}
    return Roofline(given.gpu, None, (), absent, model, memory_label=given.memory_label)


def _own_absent() -> dict[str, str]:
    """Why levels of the user's own have no ceiling where none is given."""
    return {level: f"give it with {OPTION} {level}=VALUE" for level in catalogue().levels}


def _placed(roofline: Roofline, given: Given) -> Roofline:
    """The roofline with the given ceilings instead of its own; a value that is given follows no clock."""
    bandwidths = {bandwidth.level: bandwidth for bandwidth in roofline.bandwidths}
    shared = roofline.shared
    peaks = {peak.work: peak for peak in roofline.peaks}
    for name, value in given.values.items():
        if name == "shared":
            shared = Bandwidth(name, value, "given", None, given.origin(name))
        elif name == ISSUE or name in PRECISIONS:
            if (name == ISSUE) == (roofline.model == "instruction"):
                peaks[name] = Peak(value, "given", None, given.origin(name), name)
        elif name not in (*_LINKS, "launch"):
            bandwidths[name] = Bandwidth(name, value, "given", None, given.origin(name))
    ordered = sorted(peaks.values(), key=lambda peak: -peak.per_second)
    order = [*LEVELS, *bandwidths]
    known = {*bandwidths, *peaks}
    return replace(
        roofline,
        bandwidths=tuple(sorted(bandwidths.values(), key=lambda bandwidth: order.index(bandwidth.level))),
        shared=shared,
        peak=ordered[0] if ordered else None,
        others=tuple(ordered[1:]),
        absent={name: why for name, why in {**roofline.absent, **_own_absent()}.items() if name not in known},
    )
