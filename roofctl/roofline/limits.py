"""What limits a kernel: one judgement, which every table, picture, document and sentence shows.

For every resource: what was used, over what its ceiling allows in the time of the kernel's own launches and at their
own clock. The resource with the largest use limits the kernel, where that use is at or above ``near_roof``. Where no
resource is, something hides too little: launching, the grid, its tail, or latency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from roofctl.advice.thresholds import Thresholds, thresholds
from roofctl.core.units import SECTOR_BYTES, WAVEFRONT_BYTES
from roofctl.quantities import catalogue
from roofctl.roofline.flop import operations_of
from roofctl.roofline.kernel import Kernel
from roofctl.roofline.machine import Machine
from roofctl.roofline.model import ABOVE_ROOF, Clock, Roofline
from roofctl.roofline.shape import LaunchSize, launch_size
from roofctl.roofline.traffic import Traffic

LONG_LAUNCH_SECONDS: Final = 40e-6
"""The clock of L2 of shorter launches is not taken from them: it is one of few cycles."""

PIPES: Final[Mapping[str, tuple[str, ...]]] = {
    "tensor": ("tensor_pipe",),
    "fp64": ("fp64_pipe",),
    "xu": ("xu_pipe",),
    "tex": ("tex_pipe",),
    "fma": ("fma_pipe", "fmaheavy_pipe"),
    "alu": ("alu_pipe",),
    "fp16": ("fp16_pipe",),
    "lsu": ("lsu_pipe",),
    "uniform": ("uniform_pipe",),
}
"""Pipes by name, with the quantities that say how busy they were; the busiest counts."""

_NEEDED_PIPES: Final = ("alu_pipe", "fma_pipe", "fp64_pipe", "xu_pipe", "lsu_pipe", "tensor_pipe")
"""Pipes that every GPU has; where one was not counted it could be what binds."""

_BY_OPERATIONS: Final[Mapping[str, str]] = {"fp64": "fp64", "fp32": "fma", "fp16": "fp16"}
"""The pipe that does the operations of a type outside tensor cores."""

_ORDER: Final = (
    *("tensor", "fp64", "xu", "tex", "atomics", "system", "peer", "hbm", "l2", "l2_input", "shared", "l1"),
    *("fma", "alu", "fp16", "uniform", "lsu", "issue"),
)
"""Of resources whose uses are equal the one that says most is named: a busy pipe also keeps issue busy."""

_SHARED: Final = (
    *("shared_wavefronts", "shared_atomic_wavefronts", "shared_ldgsts_wavefronts", "shared_gmma_wavefronts"),
)

NOT_RESOURCES: Final = ("latency", "launch", "grid", "tail", "serialised")
"""Limits that are no resource: too little runs at a time; ``serialised`` are atomics on one address."""


@dataclass(frozen=True)
class Use:
    """The used part of a resource's ceiling; ``per_second`` in bytes or warp instructions, where that is known."""

    fraction: float
    per_second: float | None = None
    unit: str = ""


@dataclass(frozen=True)
class KernelLimit:
    """What limits a kernel.

    ``name`` is a resource, one of ``NOT_RESOURCES``, or None where it cannot be known, with the reason in ``unknown``.
    ``use`` is the used part of that resource; for the others the largest use of any. ``uses`` holds every resource
    that is known. ``counted``: whether all levels and pipes were counted. ``headroom_seconds``: the time of all
    launches above the longest known bound; where not everything was counted the true one may be less.
    ``stalls`` are shares of the reasons why resident warps did not issue, the largest first.
    """

    name: str | None
    use: float | None
    uses: Mapping[str, Use]
    counted: bool
    headroom_seconds: float | None
    unknown: str = ""
    size: LaunchSize = field(default_factory=LaunchSize)
    stalls: Mapping[str, float] = field(default_factory=dict)

    @property
    def largest(self) -> float | None:
        """The largest use of a resource or of the launch interval."""
        return max((use.fraction for use in self.uses.values()), default=None)

    @property
    def factor(self) -> float | None:
        """Measured time over the longest bound, where everything was counted: no change makes it faster than that."""
        return 1 / self.largest if self.counted and self.largest else None

    def fraction(self, resource: str) -> float | None:
        """The use of one resource, None where not known."""
        return self.uses[resource].fraction if resource in self.uses else None


def limit_of(kernel: Kernel, traffic: Mapping[str, Traffic], machine: Machine | None) -> KernelLimit:
    """The judgement of one kernel. ``traffic`` is that of its levels, ``machine`` None where the GPU is not known."""
    limits = thresholds()
    if machine:
        machine = _at_own_clock(machine, kernel)
    uses = dict(_uses(kernel, traffic, machine))
    size = launch_size(kernel, machine.sm_count if machine else None, limits)
    lacking = list(_lacking(kernel, traffic, uses))
    name, unknown = _named(kernel, uses, size, lacking, limits)
    if name is None and not unknown:
        unknown = _why_unknown(kernel, traffic, lacking)
    largest = max((use.fraction for use in uses.values()), default=None)
    resources = [use.fraction for resource, use in uses.items() if resource != "launch"]
    use = uses[name].fraction if name in uses else max(resources, default=None)
    total = kernel["seconds_total"]
    # Above a ceiling something does not fit, so that what is left is not known.
    fits = largest is not None and largest <= ABOVE_ROOF
    headroom = total * max(0.0, 1 - largest) if total is not None and largest is not None and fits else None
    return KernelLimit(name, use, uses, not lacking, headroom, unknown, size, _stalls(kernel))


def _at_own_clock(machine: Machine, kernel: Kernel) -> Machine:
    """The machine at the clocks of the kernel's launches, as far as they are known."""
    clocks = []
    sm, most = kernel["sm_clock_hz"], kernel["max_sm_clock_hz"]
    if sm:
        clocks.append(Clock(min(sm, most) if most else sm, "sm", "of the launches"))
    if kernel["l2_clock_hz"] and (kernel["seconds"] or 0) >= LONG_LAUNCH_SECONDS:
        clocks.append(Clock(kernel["l2_clock_hz"], "l2", "of the launches"))

    def at(roofline: Roofline) -> Roofline:
        for clock in clocks:
            roofline = roofline.at_clock(clock)
        return roofline

    return replace(machine, instruction=at(machine.instruction), flop=at(machine.flop) if machine.flop else None)


def _uses(kernel: Kernel, traffic: Mapping[str, Traffic], machine: Machine | None) -> Iterator[tuple[str, Use]]:
    seconds = kernel["counted_seconds"]
    if not seconds:
        return
    roofline = machine.instruction if machine else None
    for level in ("l2", "hbm", *catalogue().levels):
        moved, bandwidth = traffic[level].transactions, roofline.bandwidth(level) if roofline else None
        if moved is not None and bandwidth:
            yield level, _bytes(moved * SECTOR_BYTES / seconds, bandwidth.bytes_per_second)
    yield from _first_level(kernel, traffic["l1"].transactions, roofline, seconds)
    yield from _links(kernel, machine, seconds)
    issued = kernel["issued_warp_instructions"]
    rate, active = issued / seconds if issued is not None else None, kernel["issue_active"]
    if active is not None:
        yield "issue", Use(active, rate, "warp_inst/s")
    elif rate is not None and roofline and roofline.peak:
        yield "issue", Use(rate / roofline.peak.per_second, rate, "warp_inst/s")
    yield from _pipes(kernel, machine, seconds)
    for resource, quantity in (("l2_input", "l2_input"), ("atomics", "atomic_unit")):
        if kernel[quantity] is not None:
            yield resource, Use(kernel[quantity])
    if machine and machine.launch_seconds:
        yield "launch", Use(machine.launch_seconds / kernel["seconds"])


def _links(kernel: Kernel, machine: Machine | None, seconds: float) -> Iterator[tuple[str, Use]]:
    """Host and peer memory, where the rate of the link is known."""
    for resource, quantity in (("system", "system_sectors"), ("peer", "peer_sectors")):
        link = machine.links.get(resource) if machine else None
        if link and kernel[quantity] is not None:
            yield resource, _bytes(kernel[quantity] * SECTOR_BYTES / seconds, link)


def _bytes(rate: float, ceiling: float) -> Use:
    return Use(rate / ceiling, rate, "B/s")


def _first_level(
    kernel: Kernel, transactions: float | None, roofline: Roofline | None, seconds: float
) -> Iterator[tuple[str, Use]]:
    """L1 by its data stage, else by its bytes, and the shared memory in it.

    Bulk copies fill shared memory beside the data stage, so that bytes alone can exceed what the stage delivers.
    """
    bandwidth = roofline.bandwidth("l1") if roofline else None
    wavefronts, of_shared = kernel["l1_data_wavefronts"], shared_wavefronts(kernel)
    rate = None if wavefronts is None else wavefronts * WAVEFRONT_BYTES / seconds
    if kernel["l1_data_stage"] is not None:
        use = Use(kernel["l1_data_stage"], rate, "B/s")
    elif bandwidth and rate is not None:
        use = _bytes(rate, bandwidth.bytes_per_second)
    elif bandwidth and transactions is not None:
        use = _bytes(transactions * SECTOR_BYTES / seconds, bandwidth.bytes_per_second)
    else:
        use = None
    if use:
        yield "l1", use
    if kernel["shared_wavefronts"] is None:
        return
    shared = roofline.shared if roofline else None
    if use and wavefronts:
        yield (
            "shared",
            Use(use.fraction * min(1.0, of_shared / wavefronts), of_shared * WAVEFRONT_BYTES / seconds, "B/s"),
        )
    elif shared:
        yield "shared", _bytes(of_shared * WAVEFRONT_BYTES / seconds, shared.bytes_per_second)


def shared_wavefronts(kernel: Kernel) -> float:
    """Wavefronts of all kinds of shared-memory access that were counted."""
    return float(sum(kernel[name] or 0 for name in _SHARED))


def _pipes(kernel: Kernel, machine: Machine | None, seconds: float) -> Iterator[tuple[str, Use]]:
    """Pipes as counted, else by the operations that they did."""
    counted = set()
    for pipe, quantities in PIPES.items():
        known = [kernel[name] for name in quantities if kernel[name] is not None]
        if known:
            counted.add(pipe)
            yield pipe, Use(max(known))
    if machine is None or machine.flop is None:
        return
    by_operations: dict[str, float] = {}
    for work, operations in operations_of(kernel).items():
        peak = machine.flop.peak_of(work)
        pipe = _BY_OPERATIONS.get(work, "tensor")
        if peak and operations and pipe not in counted:
            # Types of one pipe take turns.
            by_operations[pipe] = by_operations.get(pipe, 0.0) + operations / seconds / peak.per_second
    for pipe, fraction in by_operations.items():
        yield pipe, Use(fraction)


def _lacking(kernel: Kernel, traffic: Mapping[str, Traffic], uses: Mapping[str, Use]) -> Iterator[str]:
    """Resources of which it is not known how much was used, although they could bind."""
    for level in ("hbm", "l2", "l1"):
        if level not in uses and traffic[level].transactions != 0:
            yield level
    if "issue" not in uses:
        yield "issue"
    if any(kernel[name] is None for name in _NEEDED_PIPES):
        yield "pipes"


def _named(
    kernel: Kernel, uses: Mapping[str, Use], size: LaunchSize, lacking: list[str], limits: Thresholds
) -> tuple[str | None, str]:
    """The name of the limit, or None and why it is not known: empty where ``lacking`` is why."""
    if not kernel["counted_seconds"]:
        return None, "no time was captured"
    resource = _binding(kernel, uses, limits)
    if resource == "issue" and "pipes" in lacking and uses["issue"].fraction < limits.issue_alone:
        resource = None  # so many instructions can also be all that one pipe does
    name = resource or _queue(kernel, uses, limits) or _too_little(uses, size, limits)
    if name or not lacking:
        return name or "latency", ""
    return None, ""


def _queue(kernel: Kernel, uses: Mapping[str, Use], limits: Thresholds) -> str | None:
    """A unit that takes its work one after the other, so that its use says less than its queue."""
    busiest = max((name for name in uses if name in _order()), key=lambda name: uses[name].fraction, default="")
    if busiest == "atomics" and uses[busiest].fraction >= limits.atomic_unit_busy:
        return "serialised"
    stalls = _stalls(kernel)
    if stalls.get("tex_throttle", 0.0) >= limits.main_stall:
        return "tex"
    # A part of a pipe can be full, such as the half of the FMA pipe that multiplies integers.
    pipes = [name for name in PIPES if name in uses]
    if pipes and stalls.get("math_pipe_throttle", 0.0) >= limits.main_stall:
        return max(pipes, key=lambda name: uses[name].fraction)
    return None


def _too_little(uses: Mapping[str, Use], size: LaunchSize, limits: Thresholds) -> str | None:
    """The launch itself, or a grid that leaves multiprocessors idle."""
    if "launch" in uses and uses["launch"].fraction * limits.launch_close >= 1:
        return "launch"
    return size.fault or None


def _binding(kernel: Kernel, uses: Mapping[str, Use], limits: Thresholds) -> str | None:
    """The resource with the largest use, of those near their ceiling."""
    near = {name: use.fraction for name, use in uses.items() if name in _order() and use.fraction >= limits.near_roof}
    if not near:
        return None
    most = max(near.values())
    name = next(name for name in _order() if near.get(name, 0.0) >= most - limits.equal_uses)
    if name == "atomics" and (mean := kernel["atomic_units"]) and most >= limits.one_slice * mean:
        return "serialised"
    if name == "l1" and _mostly_shared(kernel, limits):
        return "shared" if "shared" in uses else "l1"
    # Shuffles go through the data stage and move nothing: what binds them is their issue to the LSU pipe.
    if name == "l1" and near.get("lsu", 0.0) >= most - limits.equal_uses and _moves_little(kernel, limits):
        return "lsu"
    return name


def _order() -> tuple[str, ...]:
    """Resources, those of the user's own first: they are the most specific."""
    return (*catalogue().levels, *_ORDER)


def _no_ceiling(traffic: Mapping[str, Traffic], level: str) -> str:
    """Whether the level was counted, so that only its ceiling is missing."""
    counted = level in traffic and traffic[level].transactions is not None
    return " (its ceiling is not known)" if counted else ""


def _mostly_shared(kernel: Kernel, limits: Thresholds) -> bool:
    """Whether most of what L1's data stage does is for shared memory."""
    wavefronts = kernel["l1_data_wavefronts"]
    return bool(wavefronts) and shared_wavefronts(kernel) >= limits.shared_binds * wavefronts


def _moves_little(kernel: Kernel, limits: Thresholds) -> bool:
    """Whether L1's data stage works for more than its traffic: a wavefront of traffic has one sector at least."""
    wavefronts, transactions = kernel["l1_data_wavefronts"], kernel["l1_transactions"]
    return bool(wavefronts) and transactions is not None and transactions < limits.shared_binds * wavefronts


def _why_unknown(kernel: Kernel, traffic: Mapping[str, Traffic], lacking: list[str]) -> str:
    names = ["a pipe" if name == "pipes" else kernel.label(name) + _no_ceiling(traffic, name) for name in lacking]
    return f"{' or '.join(names)} could bind"


_STALL: Final = "stall_"
_NO_STALL: Final = ("stall_selected", "stall_not_selected")
"""Warps that issued, or were ready to: they waited for nothing."""


def _stalls(kernel: Kernel) -> dict[str, float]:
    if kernel["shared_gmma_wavefronts"] and kernel["stall_gmma"] is None:
        return {}  # what such kernels mostly wait for was not counted
    counted: dict[str, Any] = {
        name: value
        for name, value in kernel.values.items()
        if name.startswith(_STALL) and value and name not in _NO_STALL
    }
    total = sum(counted.values())
    ordered = sorted(counted, key=lambda name: -counted[name])
    return {name.removeprefix(_STALL): counted[name] / total for name in ordered}
