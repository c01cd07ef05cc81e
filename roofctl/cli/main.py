"""The command group, and the only place that turns errors into exit codes."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click

from roofctl import __version__
from roofctl.cli.calibrate import calibrate
from roofctl.cli.captures import captures
from roofctl.cli.common import TALK, SentenceGroup, put, say_always
from roofctl.cli.compare import compare
from roofctl.cli.completion import completion
from roofctl.cli.demo import demo
from roofctl.cli.doctor import doctor
from roofctl.cli.export import export
from roofctl.cli.gpus import gpus
from roofctl.cli.history import history
from roofctl.cli.mcp import mcp
from roofctl.cli.plot import plot
from roofctl.cli.profile import profile
from roofctl.cli.quantities import quantities
from roofctl.cli.report import report
from roofctl.cli.verify import verify
from roofctl.core.errors import RoofctlError

_INTERRUPTED = 130

_NEW_OBJECTS = 100_000
"""Objects between two searches for garbage. Imports make many objects and no garbage; Python's default is 700."""


class _PipeGroup(SentenceGroup):
    """A group that exits with 0 when the reader of a pipe ends early (head, less); click would exit with 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Discard what is still buffered, or the interpreter reports an error when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None


@click.group(cls=_PipeGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roofctl")
@click.pass_context
def cli(context: click.Context) -> None:
    """Profile GPU applications and draw rooflines that are true.

    \b
    Example:
      roofctl profile ./app
      roofctl plot --kernel gemm -o gemm.png
      roofctl report capture.csv

    Exit codes: 2 bad input, 3 a tool failed, 4 counters not permitted, 5 no device, 6 verification failed,
    7 the application failed, 8 no kernel was profiled, 9 some of many inputs could not be read,
    10 a comparison failed, 124 timeout, 130 interrupted.

    Without a command it says what this machine has, and what to do next.
    """
    if context.invoked_subcommand is None:
        from roofctl.cli import next_steps

        for line in next_steps.lines(next_steps.glance()):
            put(line)


COMMANDS = (
    *(profile, report, plot, compare, history, calibrate, verify, doctor),
    *(gpus, quantities, captures, export, demo, completion, mcp),
)

for command in COMMANDS:
    cli.add_command(command)


def _remedy(error: OSError) -> str:
    """What to do about an error of the operating system."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free the disk or write elsewhere"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "check the rights on it, or choose another place"
    return "check the path and the disk"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Only here are errors caught and printed."""
    try:
        with _stopped_as_by_ctrl_c():
            cli.main(args=arguments, prog_name="roofctl", standalone_mode=False)
    except RoofctlError as error:
        if TALK.debug:
            traceback.print_exc()
        say_always(f"error: {error.message}")
        if error.hint:
            say_always(f"hint: {error.hint}")
        return error.exit_code
    except OSError as error:
        # Not tied to one file: a full disk, a terminal that was closed.
        if TALK.debug:
            traceback.print_exc()
        say_always("error: " + ": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
        say_always(f"hint: {_remedy(error)}; --debug shows where it happened")
        return 1
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        say_always("interrupted")
        return _INTERRUPTED
    return 0


@contextmanager
def _stopped_as_by_ctrl_c() -> Iterator[None]:
    """SIGTERM and SIGHUP stop a command as Ctrl-C does, so that it removes unfinished files.

    Those that are ignored (nohup) stay so.
    """
    before: dict[int, Any] = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL and threading.current_thread() is threading.main_thread():
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)


def entry() -> None:
    """Console script."""
    # A stream that the caller closed is None: output to it is discarded.
    sys.stdout = sys.stdout or _null_stream()
    sys.stderr = sys.stderr or _null_stream()
    gc.set_threshold(_NEW_OBJECTS)
    code = main()
    # Else the interpreter, when it ends, searches every object of every library for garbage.
    gc.freeze()
    sys.exit(code)


def _null_stream() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
