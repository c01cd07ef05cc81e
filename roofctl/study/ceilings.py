"""The rooflines that kernels are compared with: by basis (theoretical or measured), each at the chosen clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from roofctl.core.errors import InputError
from roofctl.core.notes import Note
from roofctl.gpus import (
    FoundProfile,
    find_measured,
    flop_roofline,
    launch_seconds,
    measured_roofline,
    theoretical_roofline,
)
from roofctl.gpus.limits import excesses
from roofctl.roofline.machine import Machine
from roofctl.roofline.model import Model, Roofline
from roofctl.study.clocks import Clocks

CeilingChoice = Literal["theoretical", "measured", "both"]


@dataclass(frozen=True)
class _Rooflines:
    """Both rooflines of one basis; ``flop`` is None where no peak of floating-point work is known."""

    instruction: Roofline
    flop: Roofline | None

    def of(self, model: Model) -> Roofline:
        """The roofline of a model. Raises InputError when it is not known."""
        roofline = self.flop if model == "flop" else self.instruction
        if roofline is None:
            raise InputError(
                f"no {self.instruction.basis} floating-point peak of {self.instruction.gpu} is known",
                hint="measure it there (roofctl calibrate), use --ceilings theoretical, or complete the GPU profile "
                "(flops_per_clock_per_sm)",
            )
        return roofline


def choose_ceilings(
    found: FoundProfile, choice: CeilingChoice | None, model: Model, clocks: Clocks
) -> tuple[Machine, tuple[Roofline, ...], list[Note]]:
    """The GPU that kernels are compared with, the rooflines of the model (its own first), and notes on the choice.

    Without a choice measured ceilings are used where they exist, else theoretical ones. Raises InputError where
    the chosen ones are not known.
    """
    chosen, notes = _by_basis(found, choice, model, clocks)
    first, launch = chosen[0], launch_seconds(find_measured(found))
    profile = found.profile
    links = profile.link_bytes_per_second
    machine = Machine(
        first.instruction, first.flop, launch, profile.sm_count.value, links, clocks.each, profile.l2.bytes.value
    )
    return machine, tuple(rooflines.of(model) for rooflines in chosen), notes


def _by_basis(
    found: FoundProfile, choice: CeilingChoice | None, model: Model, clocks: Clocks
) -> tuple[list[_Rooflines], list[Note]]:
    """Rooflines per basis, measured before theoretical ones, and notes on the choice."""
    profile = found.profile
    plain = _at_clocks(theoretical_roofline(profile, clocks.sm), clocks)
    # Made at its clock already: vendors state tensor peaks at a boost clock of their own.
    theoretical = _Rooflines(plain, flop_roofline(profile, plain, None, clocks.sm))
    if choice == "theoretical":
        return [theoretical], []
    measured = find_measured(found)
    if measured is None:
        if choice is None:
            return [theoretical], []
        raise InputError(
            f"there are no measured ceilings for {profile.name}",
            hint=f"measure them there: roofctl calibrate --profile {profile.name}; or use --ceilings theoretical",
        )
    wrong = excesses(profile, measured)
    own = measured_roofline(profile, measured)
    flop = flop_roofline(profile, own, measured, None)
    if flop is None and model == "flop" and choice is None:
        return [theoretical], [Note("no floating-point peak was measured on this GPU: ceilings are theoretical")]
    real = _Rooflines(_at_clocks(own, clocks), _at_clocks(flop, clocks) if flop else None)
    notes = [Note(f"ceilings measured on {measured.gpu_name}, {measured.measured_at}")]
    notes += [Note(f"{excess.text}: measure again (roofctl calibrate)", warning=True) for excess in wrong]
    return ([real, theoretical] if choice == "both" else [real]), notes


def _at_clocks(roofline: Roofline, clocks: Clocks) -> Roofline:
    """The roofline with each ceiling at the clock of its own domain, where that is known."""
    for clock in (clocks.sm, clocks.l2, clocks.memory):
        roofline = roofline.at_clock(clock) if clock else roofline
    return roofline
