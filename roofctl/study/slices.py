"""Ceilings of a part of a GPU: a MIG slice, or a context that may use some of the multiprocessors only."""

from __future__ import annotations

from dataclasses import replace

from roofctl.core.notes import Note
from roofctl.gpus import GpuProfile
from roofctl.roofline.machine import Machine
from roofctl.roofline.model import Roofline
from roofctl.study.device import Device
from roofctl.study.profile_choice import mismatches


def on_slice(
    machine: Machine, rooflines: tuple[Roofline, ...], device: Device, profile: GpuProfile
) -> tuple[Machine, tuple[Roofline, ...], list[Note]]:
    """The same ceilings for the SMs that the capture ran on, with a warning; unchanged where it had all of them.

    What belongs to the SMs is proportional to their number. A slice has a part of L2 and of the memory that no
    counter states, so that these ceilings are not known; a context on some of the SMs has all of both.
    """
    sms, of = device.sm_count, profile.sm_count.value
    if sms == of or mismatches(profile, device):
        return machine, rooflines, []
    if sms is None:
        text = f"the capture is from a slice ({', '.join(device.names)}): ceilings are those of all of {profile.name}"
        sliced = any(" MIG " in name for name in device.names)
        return machine, rooflines, [Note(text, warning=True)] if sliced else []
    ran = f"the capture ran on {sms} SMs, the GPU profile {profile.name} has {of}"
    if sms > of:
        return machine, rooflines, [Note(f"{ran}: ceilings are those of the GPU profile", warning=True)]
    all_memory = device.multiprocessors == of
    reason = f"a slice of {sms} of {of} SMs has a part of it that the capture does not state"

    def part(roofline: Roofline) -> Roofline:
        return roofline.on_sms(sms / of, absent={} if all_memory else dict.fromkeys(("l2", "hbm"), reason))

    flop = part(machine.flop) if machine.flop else None
    memory = "" if all_memory else f", those of L2 and {profile.memory_label} are not known"
    kind = "a part of the SMs" if all_memory else "a MIG slice?"
    note = Note(f"{ran} ({kind}): ceilings of the SMs are those of {sms}{memory}", warning=True)
    machine = replace(
        machine,
        instruction=part(machine.instruction),
        flop=flop,
        sm_count=sms,
        l2_bytes=machine.l2_bytes if all_memory else None,
    )
    return machine, tuple(part(roofline) for roofline in rooflines), [note]
