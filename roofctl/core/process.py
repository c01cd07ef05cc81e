"""The only place where a child process starts.

``run`` is quiet, for short calls of tools. ``stream`` runs an application under a profiler:
its output goes where ours goes, and it can be stopped together with its children.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from roofctl.core import tty as terminal
from roofctl.core.errors import ToolFailed, ToolNotFound, ToolTimeout
from roofctl.core.process_tree import Family

Stop = Literal["interrupt", "terminate", "timeout"]

PATIENCE: Final = (10.0, 5.0)
"""Seconds from interrupt to terminate, and from there to kill: a profiler needs time to write its report."""

_TICK: Final = 0.1
_LOOK_SECONDS: Final = 1.0
_HAS_GROUPS: Final[bool] = sys.version_info >= (3, 11)
_SIGNAL_BASE: Final = 128
_TAIL_LINES: Final = 6


@dataclass(frozen=True)
class Completed:
    """A finished child. ``returncode`` is 128 + n where signal n ended it, as a shell has it."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str = ""
    stderr: str = ""
    signal: int | None = None

    def checked(self, hint: str = "") -> Completed:
        """Itself when it succeeded; else raises ToolFailed with the last lines that it printed."""
        if self.returncode == 0:
            return self
        printed = [line for line in (self.stderr.strip() or self.stdout.strip()).splitlines() if line.strip()]
        how = f"was ended by {signal_name(self.signal)}" if self.signal else f"exited {self.returncode}"
        tail = "\n  ".join(["", *printed[-_TAIL_LINES:]])
        raise ToolFailed(f"{self.argv[0]} {how}{':' if printed else ' and printed nothing'}{tail.rstrip()}", hint=hint)


@dataclass(frozen=True)
class Streamed:
    """A finished application run. ``stopped`` says why it was stopped from outside, None when it ended by itself."""

    argv: tuple[str, ...]
    returncode: int
    signal: int | None
    stopped: Stop | None
    seconds: float


def signal_name(number: int | None) -> str:
    """``SIGSEGV`` for 11; ``signal 99`` where the system has no name for it."""
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Completed:
    """Run a tool to its end and keep what it prints. Its input is empty; ``env`` is added to the environment.

    Raises ToolNotFound when it cannot be started and ToolTimeout when it takes longer than ``timeout``
    seconds. A failure is returned: ``.checked()`` raises it.
    """
    words = _words(argv)
    with _started(words, partial(_quiet, words, cwd, env)) as child:
        try:
            stdout, stderr = child.communicate(timeout=timeout)
        except BaseException as error:
            # The tool may be a wrapper whose children hold the pipes: end its session.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise ToolTimeout(
                    f"{words[0]} did not answer within {timeout:g} s and was stopped: {' '.join(words)}",
                    hint="run that command by hand to see where it hangs",
                ) from error
            raise
    code, number = _exit(child.returncode)
    return Completed(words, code, _text(stdout), _text(stderr), number)


def stream(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    poll: Callable[[], None] | None = None,
    patience: tuple[float, float] = PATIENCE,
) -> Streamed:
    """Run an application (under a profiler) with our own input and output, and wait for it.

    It gets a process group of its own. Ctrl-C, SIGTERM, or ``timeout`` seconds stop that group and every
    descendant that left it, in steps: interrupt, terminate, kill, ``patience`` apart; another Ctrl-C goes on
    to the next step at once. Where our input is a terminal, the group gets it, so that the application can read.
    ``poll`` is called about ten times a second and once at the end. Raises ToolNotFound.
    """
    words = _words(argv)
    poll = poll or _nothing
    began = time.monotonic()
    with _signals_noted() as noted, terminal.lent() as screen:
        group = _ProcessGroup()
        try:
            screen.give(group.id)
            with _started(words, partial(_join, words, cwd, env, group.id)) as child, group.ended_on_error():
                screen.write_from_behind()
                stopper = _Stopper(child, group, screen, noted, patience)
                while not stopper.finished():
                    poll()
                    stopper.look(timed_out=timeout is not None and time.monotonic() - began > timeout)
                    stopper.wait(_TICK)
        finally:
            group.dissolve()
    poll()
    code, number = _exit(child.returncode)
    return Streamed(words, code, number, stopper.reason, time.monotonic() - began)


def _nothing() -> None:
    """The default of ``poll``: does nothing."""


def _words(argv: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    return tuple(os.fspath(word) for word in argv)


def _exit(code: int) -> tuple[int, int | None]:
    """Return code as a shell has it, and the signal."""
    return (code, None) if code >= 0 else (_SIGNAL_BASE - code, -code)


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, **(env or {})}


def _quiet(words: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - argv is a list; nothing goes through a shell
        words,
        cwd=cwd,
        env=_environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _join(words: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None, group: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, cwd=cwd, env=_environment(env), **_in_group(group))  # noqa: S603


def _in_group(group: int) -> dict[str, Any]:
    """Arguments that put a child into a process group before it becomes the tool; 0 makes a new one."""
    if _HAS_GROUPS:
        return {"process_group": group}
    return {"preexec_fn": partial(os.setpgid, 0, group)}


@contextlib.contextmanager
def _started(words: Sequence[str], start: Callable[[], subprocess.Popen[bytes]]) -> Iterator[subprocess.Popen[bytes]]:
    """A started child, waited for at the end. Raises ToolNotFound when the system cannot start it."""
    try:
        child = start()
    except FileNotFoundError as error:
        raise ToolNotFound(
            f"{error.filename or words[0]}: no such program or folder", hint="check the name and PATH"
        ) from error
    except OSError as error:
        raise ToolNotFound(
            f"{words[0]} cannot be run: {error.strerror}", hint="check that it is an executable for this machine"
        ) from error
    with child:
        yield child


class _ProcessGroup:
    """A process group with a leader of ours in it, which shows what signals the terminal sends there.

    The leader is ``cat`` waiting for input that never comes: it ends when we do, whatever happens to us.
    """

    def __init__(self) -> None:
        self.id = 0
        self._leader = self._start()
        self.id = self._leader.pid

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["cat"],  # noqa: S607 - the system's own, from PATH
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            **_in_group(self.id),
        )

    @property
    def leader(self) -> int:
        """Number of our process in it."""
        return self._leader.pid

    def interrupted(self) -> bool:
        """Whether the terminal sent Ctrl-C (or its Quit key) to the group since the last look."""
        code = self._leader.poll()
        if code is None:
            return False
        with contextlib.suppress(OSError, subprocess.SubprocessError):  # nobody else is left in the group
            self._close()
            self._leader = self._start()
        return code in (-signal.SIGINT, -signal.SIGQUIT)

    def interrupted_at_last(self) -> bool:
        """As ``interrupted``, once the child is gone: what ended the child was sent to the leader too.

        It may not have run since. A second signal settles it: a process ends by the first fatal one it was sent.
        """
        self._leader.kill()
        self._leader.wait()
        return self.interrupted()

    def suspended(self) -> bool:
        """Whether the terminal stopped the group (Ctrl-Z)."""
        try:
            state = os.waitid(os.P_PID, self._leader.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return state is not None

    def send(self, number: int) -> None:
        """Send a signal to every process in the group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.id, number)

    @contextlib.contextmanager
    def ended_on_error(self) -> Iterator[None]:
        """Kill the group when the block raises: no process outlives an error of ours."""
        try:
            yield
        except BaseException:
            self.send(signal.SIGKILL)
            raise

    def dissolve(self) -> None:
        """End the leader."""
        self._leader.kill()
        self._close()

    def _close(self) -> None:
        if self._leader.stdin:
            self._leader.stdin.close()
        self._leader.wait()


class _Stopper:
    """Watches for reasons to stop a child and takes the steps, one look at a time."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        group: _ProcessGroup,
        screen: terminal.Screen,
        noted: list[int],
        patience: tuple[float, float],
    ) -> None:
        self.reason: Stop | None = None
        self._child = child
        self._group = group
        self._screen = screen
        self._noted = noted
        self._steps = [(signal.SIGINT, patience[0]), (signal.SIGTERM, patience[1]), (signal.SIGKILL, _TICK)]
        self._deadline = 0.0
        self._family = Family(child.pid)
        self._next_look = 0.0
        self._sent_any = False

    def finished(self) -> bool:
        """Whether the child is gone, and when it was stopped, its descendants too."""
        if self._child.poll() is None:
            return False
        self._notice_late()
        return self.reason is None or not self._family.alive()

    def wait(self, seconds: float) -> None:
        """Wait for the child, or for its family once it is gone, at most ``seconds``."""
        if self._child.returncode is None:
            _wait(self._child, seconds)
        else:
            time.sleep(seconds)

    def look(self, *, timed_out: bool) -> None:
        """Take the next step where there is a reason to."""
        if time.monotonic() > self._next_look:  # who leaves both group and parent is only known from before
            self._look_around()
            self._next_look = time.monotonic() + _LOOK_SECONDS
        if self._screen.held and self._group.suspended():
            self._screen.suspend_with(self._group.id)
        by_terminal = self._screen.held and not self._sent_any and self._group.interrupted()
        by_signal = self._noted.pop(0) if self._noted else None
        if self.reason is None and (by_terminal or by_signal or timed_out):
            self.reason = "timeout" if not (by_terminal or by_signal) else _reason(by_signal)
            self._step(sent_already=by_terminal)
        elif self.reason is not None and (by_terminal or by_signal or time.monotonic() > self._deadline):
            self._step(sent_already=False)

    def _look_around(self) -> None:
        self._family.look(self._group.id, but=self._group.leader)

    def _notice_late(self) -> None:
        """Handle a Ctrl-C that ended the child before it was noticed; its children may ignore it."""
        if self.reason is not None:
            return
        by_terminal = self._screen.held and self._group.interrupted_at_last()
        if by_terminal or self._noted:
            self.reason = _reason(self._noted.pop(0) if self._noted else None)
            self._step(sent_already=by_terminal)

    def _step(self, *, sent_already: bool) -> None:
        number, seconds = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        self._look_around()
        self._deadline = time.monotonic() + seconds
        if sent_already:  # the terminal sent the interrupt to the group itself
            return
        self._sent_any = True
        self._group.send(number)
        if number != signal.SIGINT:
            self._family.send(number)


def _wait(child: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until a child ends, at most ``seconds``. Popen.wait polls, and is up to 50 ms late."""
    try:
        descriptor = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # not Linux 5.3 or newer
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        return
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        ended.poll(seconds * 1000)
    finally:
        os.close(descriptor)


def _reason(number: int | None) -> Stop:
    return "terminate" if number in (signal.SIGTERM, signal.SIGHUP) else "interrupt"


@contextlib.contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Signals that would end us, written down instead; those that are ignored (nohup) stay so."""
    noted: list[int] = []
    before: dict[int, object] = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            # Outside the main thread signals cannot be caught: then only the timeout stops.
            with contextlib.suppress(ValueError):
                before[number] = signal.signal(number, lambda number, _frame: noted.append(number))
    try:
        yield noted
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)  # type: ignore[arg-type]
