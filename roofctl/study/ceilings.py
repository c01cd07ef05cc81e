"""The rooflines that kernels are compared with: by basis (theoretical or measured), each at the chosen clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from roofctl.core.errors import InputError
from roofctl.core.notes import Note
from roofctl.gpus import (
    FoundProfile,
    Measured,
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
    found: FoundProfile, choice: CeilingChoice | None, model: Model, clocks: Clocks, hbm_mix: str | None = None
) -> tuple[Machine, tuple[Roofline, ...], list[Note]]:
    """The GPU that kernels are compared with, the rooflines of the model (its own first), and notes on the choice.

    Without a choice measured ceilings are used where they exist, else theoretical ones. ``hbm_mix`` is the mix of
    reads and writes whose measured rate is the ceiling of board memory, None the fastest. Raises InputError where the
    chosen ones are not known.
    """
    chosen, notes = _by_basis(found, choice, model, clocks, hbm_mix)
    first, launch = chosen[0], launch_seconds(find_measured(found))
    profile = found.profile
    links = profile.link_bytes_per_second
    machine = Machine(
        first.instruction, first.flop, launch, profile.sm_count.value, links, clocks.each, profile.l2.bytes.value
    )
    return machine, tuple(rooflines.of(model) for rooflines in chosen), notes


def _by_basis(
    found: FoundProfile, choice: CeilingChoice | None, model: Model, clocks: Clocks, hbm_mix: str | None
) -> tuple[list[_Rooflines], list[Note]]:
    """Rooflines per basis, measured before theoretical ones, and notes on the choice."""
    profile = found.profile
    plain = replace(_at_clocks(theoretical_roofline(profile, clocks.sm), clocks), gpu=found.gpu)
    # Made at its clock already: vendors state tensor peaks at a boost clock of their own.
    theoretical = _Rooflines(plain, flop_roofline(profile, plain, None, clocks.sm))
    if choice == "theoretical" and hbm_mix is None:
        return [theoretical], []
    measured = find_measured(found)
    if measured is None or choice == "theoretical":
        if hbm_mix:
            raise InputError(
                f"the rate of a mix ({hbm_mix}) is measured, and the ceilings of {profile.name} are theoretical",
                hint=f"measure them: roofctl calibrate --profile {profile.name} --level hbm; or leave out --hbm-mix",
            )
        if choice is None:
            return [theoretical], []
        raise InputError(
            f"there are no measured ceilings for {found.gpu}",
            hint=f"measure them there: roofctl calibrate --profile {profile.name}; or use --ceilings theoretical",
        )
    wrong = excesses(profile, measured)
    if hbm_mix:
        measured = with_mix(measured, hbm_mix)
    own = measured_roofline(profile, measured)
    flop = flop_roofline(profile, own, measured, None)
    if flop is None and model == "flop" and choice is None:
        return [theoretical], [Note("no floating-point peak was measured on this GPU: ceilings are theoretical")]
    real = _Rooflines(_at_clocks(own, clocks), _at_clocks(flop, clocks) if flop else None)
    mix = f", of {profile.memory_label} by {hbm_mix}" if hbm_mix else ""
    notes = [Note(f"ceilings measured {measured.described}{mix}")]
    notes += [Note(f"{excess.text}: measure again (roofctl calibrate)", warning=True) for excess in wrong]
    return ([real, theoretical] if choice == "both" else [real]), notes


def with_mix(measured: Measured, mix: str) -> Measured:
    """Measured ceilings with the rate of one mix of reads and writes as that of board memory."""
    ceiling = measured.ceilings.get("hbm")
    rate = ceiling.mixes.get(mix) if ceiling else None
    if ceiling is None or rate is None:
        known = ", ".join(ceiling.mixes) if ceiling and ceiling.mixes else "none"
        raise InputError(
            f"the measured ceilings hold no rate of the {mix} mix; mixes of board memory there: {known}",
            hint="measure them again: roofctl calibrate --level hbm",
        )
    chosen = ceiling.model_copy(update={"value": rate, "method": f"{mix}: {ceiling.method.partition(': ')[2]}"})
    return measured.model_copy(update={"ceilings": {**measured.ceilings, "hbm": chosen}})


def _at_clocks(roofline: Roofline, clocks: Clocks) -> Roofline:
    """The roofline with each ceiling at the clock of its own domain, where that is known."""
    for clock in (clocks.sm, clocks.l2, clocks.memory):
        roofline = roofline.at_clock(clock) if clock else roofline
    return roofline
