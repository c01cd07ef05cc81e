"""The terminal, handed to a process group while it runs, as a shell does with its jobs."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator


class Screen:
    """The terminal on our input, where there is one and it is ours to give. ``held`` by the other group or not."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self.held = False
        self._before: object = None

    def give(self, group: int) -> None:
        """Make ``group`` the one that reads the terminal and gets its Ctrl-C."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.tcsetpgrp(self._descriptor, group)
                self.held = True

    def write_from_behind(self) -> None:
        """Let us write, and take the terminal back, while another group is in front.

        To be called once the children run: they would inherit it.
        """
        if self.held and self._before is None:
            with contextlib.suppress(ValueError):  # not the main thread
                self._before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)

    def take_back(self) -> None:
        """Make our own group the one in front again."""
        if self._descriptor is not None and self.held:
            self.write_from_behind()
            with contextlib.suppress(OSError):
                os.tcsetpgrp(self._descriptor, os.getpgrp())
            self.held = False
        if self._before is not None:
            signal.signal(signal.SIGTTOU, self._before)  # type: ignore[arg-type]
            self._before = None

    def suspend_with(self, group: int) -> None:
        """After Ctrl-Z stopped ``group``: stop ourselves too, and when continued, continue it."""
        self.take_back()
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        # Here again: `fg` put us in front, `bg` did not.
        if self._in_front():
            self.give(group)
            self.write_from_behind()
        os.killpg(group, signal.SIGCONT)

    def _in_front(self) -> bool:
        try:
            return self._descriptor is not None and os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            return False


@contextlib.contextmanager
def lent() -> Iterator[Screen]:
    """The terminal of our input, taken back at the end. Without one, or in the background, nothing is lent."""
    screen = Screen(_own_terminal())
    try:
        yield screen
    finally:
        screen.take_back()


def _own_terminal() -> int | None:
    try:
        descriptor = sys.stdin.fileno()
        if os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp():
            return descriptor
    except (AttributeError, ValueError, OSError):  # no input at all, or an object without a descriptor
        return None
    return None
