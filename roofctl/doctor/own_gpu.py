"""A GPU profile from what the CUDA driver says about the GPU here."""

from __future__ import annotations

from roofctl.core.errors import DeviceError
from roofctl.doctor.probe import Host
from roofctl.gpus import GpuProfile
from roofctl.gpus.carried import Carried, own_profile
from roofctl.quantities import catalogue


def profile_of_device(name: str, host: Host | None = None) -> GpuProfile:
    """The GPU profile of this name of the first GPU that CUDA sees. Raises DeviceError where there is none."""
    answer = (host or Host()).ask_child("attributes")
    devices = answer.get("devices") or ()
    if not devices:
        raise DeviceError(
            f"there is no GPU here to take facts from: {answer.get('problem', 'the CUDA driver lists none')}",
            hint="run it where the GPU is, or give a report of it: --from-report FILE",
        )
    device = devices[0]
    capability = device["compute_capability"]
    carried = Carried(
        source=f"the CUDA driver {answer['version']}",
        name=device["name"],
        compute_capability=capability,
        chip=catalogue().chips.get(catalogue().chip_of(capability, device["name"]) or ""),
        attributes=device["attributes"],
    )
    profile = own_profile(carried, name)
    if profile is None:
        raise DeviceError(
            f"the driver does not say enough of {device['name']}: it lacks the {' and the '.join(carried.lacking)}",
            hint="give a report of it: --from-report FILE",
        )
    return profile
