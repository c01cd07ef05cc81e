"""Families of errors: each has an exit code and a hint.

One class per action a user can take. A message says what was wrong and where;
the hint says what to do. Nothing below ``roofctl.cli`` prints or exits.
"""

from __future__ import annotations


class RoofctlError(Exception):
    """Base of every error roofctl raises on purpose.

    ``exit_code`` is what the process returns; ``hint`` is one line of what to do.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(RoofctlError):
    """A GPU profile, capture, CSV or option that cannot be used as it is."""

    exit_code = 2


class NoKernels(InputError):  # noqa: N818 - reads as what happened
    """A profiler's file in which no kernel is."""


class ToolError(RoofctlError):
    """A profiler or compiler that roofctl calls is missing, failed or hung."""

    exit_code = 3


class ToolNotFound(ToolError):  # noqa: N818 - reads as what happened
    """A tool is not installed, or not on PATH."""


class ToolFailed(ToolError):  # noqa: N818
    """A tool was run and failed, or does not work here at all."""


class UnfitTool(ToolError):  # noqa: N818
    """The profiler works but not for this GPU: use the other one, or another version."""


class ToolTimeout(ToolError):  # noqa: N818
    """A tool, or an application under a profiler, was stopped at its time limit. The code is that of ``timeout``."""

    exit_code = 124


class CounterAccessError(RoofctlError):
    """The driver does not let this user read performance counters."""

    exit_code = 4


class DeviceError(RoofctlError):
    """No GPU, no CUDA, or a microbenchmark that does not build."""

    exit_code = 5


class VerificationError(RoofctlError):
    """A microbenchmark computed a wrong result, or counters disagree with known work."""

    exit_code = 6


class ApplicationFailed(RoofctlError):  # noqa: N818
    """The user's own application failed under the profiler; ``code`` is what it returned."""

    exit_code = 7

    def __init__(self, message: str, *, code: int | None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class NothingProfiled(RoofctlError):  # noqa: N818
    """The run went through but no kernel was profiled."""

    exit_code = 8


class PartlyRead(RoofctlError):  # noqa: N818
    """It is done, but some of many inputs could not be read and are left out; each was named in a warning."""

    exit_code = 9


class ComparisonFailed(RoofctlError):  # noqa: N818
    """A kernel is slower, further below its limit, or new, and the options of ``compare`` do not let that pass."""

    exit_code = 10


class Interrupted(RoofctlError):  # noqa: N818
    """The user stopped it (Ctrl-C), or the system did (SIGTERM)."""

    exit_code = 130
