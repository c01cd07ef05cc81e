"""Which profiler counts on which GPU, and whether the ones that are needed work. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roofctl.core.gpu import Gpu
from roofctl.doctor.machine import MachineState, Program, version_tuple
from roofctl.doctor.outcome import Check, fail, ok, warn
from roofctl.profilers.choose import NCU_FIRST, NVPROF_LAST
from roofctl.quantities import catalogue

_NCU_WITHOUT_VOLTA: Final = (2025, 3)
_GET: Final = {
    "ncu": "install Nsight Compute (with the CUDA toolkit, or alone) and put it on PATH",
    "nvprof": "install a CUDA toolkit before 13, which has nvprof, and put it on PATH",
}


def profiler_checks(machine: MachineState) -> Iterator[Check]:
    """The profilers, then for each kind of GPU here which one counts on it."""
    for program in (machine.ncu, machine.nvprof):
        yield program_check(program, machine)
    seen: dict[str | None, list[Gpu]] = {}
    for gpu in machine.devices.gpus:
        seen.setdefault(gpu.compute_capability, []).append(gpu)
    for capability, gpus in seen.items():
        yield choice_check(capability, gpus, machine)


def program_check(program: Program, machine: MachineState) -> Check:
    """One profiler: its version and path, or what is wrong; a failure only where a GPU here needs it."""
    name = program.name
    if not program.problem:
        return ok(name, f"{program.version} ({program.path})")
    value = f"{program.path}: {program.problem}" if program.path else program.problem
    if any(_needs(gpu, name) for gpu in machine.devices.gpus):
        return fail(name, "tool", value, program.fix or _GET[name])
    if not machine.devices.gpus:
        return warn(name, value, f"to profile: {program.fix or _GET[name]}")
    if program.path:
        return warn(name, value, "not needed for the GPUs here; repair it or take it off PATH")
    return ok(name, f"{value}; not needed for the GPUs here")


def _needs(gpu: Gpu, name: str) -> bool:
    """Whether only this profiler can count on the GPU. Volta can do with either."""
    number = version_tuple(gpu.compute_capability)
    if number and number < NCU_FIRST:
        return name == "nvprof"
    return name == "ncu" and not (number and number <= NVPROF_LAST)


def choice_check(capability: str | None, gpus: list[Gpu], machine: MachineState) -> Check:
    """Which profiler applies to GPUs of one compute capability."""
    what = f"profiler of GPU {', '.join(str(gpu.index) for gpu in gpus)}"
    number = version_tuple(capability)
    if not number:
        return warn(what, "compute capability not known: ncu from 7.0 on, nvprof up to 7.2", "choose with --profiler")
    if number < NCU_FIRST:
        return _nvprof_choice(what, capability, machine, "ncu does not support compute capability below 7.0")
    refusal = ncu_refusal(capability, machine)
    if not refusal:
        return ok(what, f"ncu {machine.ncu.version}, for compute capability {capability}")
    if number <= NVPROF_LAST:
        return _nvprof_choice(what, capability, machine, refusal)
    return fail(what, "tool", f"none: {refusal}", _newer(machine))


def _nvprof_choice(what: str, capability: str | None, machine: MachineState, why: str) -> Check:
    if not machine.nvprof.problem:
        return ok(what, f"nvprof {machine.nvprof.version}, for compute capability {capability} ({why})")
    fix = _GET["nvprof"]
    if NCU_FIRST <= version_tuple(capability) <= NVPROF_LAST:
        fix += "; or use an ncu before 2025.3"
    return fail(what, "tool", f"none: {why}, and nvprof is {machine.nvprof.problem}", fix)


def _newer(machine: MachineState) -> str:
    return _GET["ncu"] if machine.ncu.problem else "install a newer Nsight Compute, one that knows this GPU"


def ncu_refusal(capability: str | None, machine: MachineState) -> str:
    """Why the ncu here cannot count on this compute capability; "" when it can, as far as is known."""
    if machine.ncu.problem:
        return f"ncu is {machine.ncu.problem}"
    chip = catalogue().chip_of(capability)
    if machine.ncu_chips is not None and chip is not None:
        return "" if chip in machine.ncu_chips else f"ncu {machine.ncu.version} does not know {chip} (ncu --list-chips)"
    volta = NCU_FIRST <= version_tuple(capability) <= NVPROF_LAST
    if volta and version_tuple(machine.ncu.version)[:2] >= _NCU_WITHOUT_VOLTA:
        return f"ncu {machine.ncu.version} no longer supports Volta"
    return ""
