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


class ToolError(RoofctlError):
    """A profiler or compiler that roofctl calls is missing, failed or hung."""

    exit_code = 3


class CounterAccessError(RoofctlError):
    """The driver does not let this user read performance counters."""

    exit_code = 4


class DeviceError(RoofctlError):
    """No GPU, no CUDA, or a microbenchmark that does not build."""

    exit_code = 5


class VerificationError(RoofctlError):
    """A microbenchmark computed a wrong answer, or counters disagree with known work."""

    exit_code = 6
