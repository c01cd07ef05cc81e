"""Messages of profilers that are recognised both in a live log and in a file read later."""

from __future__ import annotations

from typing import Final

PERMISSION_TOKEN: Final = "ERR_NVGPUCTRPERM"  # noqa: S105 - a message of the driver, no secret
PERMISSION_HINT: Final = (
    "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0, or start the container with "
    "--cap-add=SYS_ADMIN; a hosted machine may allow none of them"
)

APPLICATION_FAILED: Final = r"The application returned an error code \((?P<code>\d+)\)"
KERNEL_FAILED: Final = r"Failed to profile \"(?P<kernel>.{1,80}?)(?:\"|$)"
DRIVER_MISMATCH: Final = r"Cuda driver is not compatible"
DRIVER_UNLOADABLE: Final = r"failed to connect to the CUDA driver|unable to locate cuda driver library"
APPLICATION_MISSING: Final = r"does not exist or is not an executable|application not found"


def permission_denied(where: str) -> str:
    """The sentence for counters that the driver refused; ``where`` is a host or a file."""
    return f"{where}: the driver denied access to performance counters ({PERMISSION_TOKEN})"
