"""What the commands share: options on every one, messages on stderr, inputs to a study."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from roofctl.names import visible

if TYPE_CHECKING:
    from roofctl.counts import Note
    from roofctl.study import Request, Study

_SILENT_SECONDS = 1.0
"""What takes no longer than this to read shows no progress."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Talk:
    """How much to say, and whether in color. One per process, set by the options of any command."""

    verbose: bool = False
    quiet: bool = False
    color: bool = True
    debug: bool = False


TALK = Talk()


def say(text: str) -> None:
    """A message for the person: on stderr, silent with -q."""
    if not TALK.quiet:
        click.echo(visible(text, keep="\n\t"), err=True)


def say_notes(notes: Sequence[Note]) -> None:
    """Notes, each once: warnings first, details only with -v."""
    seen: set[str] = set()
    for note in sorted(notes, key=lambda note: not note.warning):
        if note.text not in seen and (TALK.verbose or not note.detail):
            seen.add(note.text)
            say(f"{'warning' if note.warning else 'note'}: {note.text}")


def use_color(stream: Any) -> bool:
    """Whether ``stream`` gets color: a terminal, without --no-color and NO_COLOR."""
    return TALK.color and "NO_COLOR" not in os.environ and stream.isatty()


def terminal_width() -> int | None:
    """Columns of the terminal on stdout; None for a pipe or file, which get whole lines."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def talk_options(command: F) -> F:
    """-v, -q, --no-color and --debug, which every command takes."""

    @click.option("-v", "--verbose", is_flag=True, help="Say more: what was passed over, and where.")
    @click.option("-q", "--quiet", is_flag=True, help="Only data and errors.")
    @click.option("--no-color", is_flag=True, help="No color, as with NO_COLOR set.")
    @click.option("--debug", is_flag=True, help="Show a traceback with an error.")
    @wraps(command)
    def wrapper(*args: Any, verbose: bool, quiet: bool, no_color: bool, debug: bool, **kwargs: Any) -> Any:
        TALK.verbose = TALK.verbose or verbose
        TALK.quiet = TALK.quiet or quiet
        TALK.color = TALK.color and not no_color
        TALK.debug = TALK.debug or debug
        return command(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


def input_options(command: F) -> F:
    """INPUTs and the options that say how inputs become kernels and ceilings."""
    options = (
        click.argument("inputs", nargs=-1, metavar="[INPUT]...", type=click.Path(path_type=Path)),
        click.option("--profile", metavar="NAME", help="GPU profile; default: by the capture's own device name."),
        click.option(
            "--ceilings",
            type=click.Choice(["theoretical", "measured", "both"]),
            help="Which ceilings; default: measured ones where they exist.",
        ),
        click.option("--kernel", default="", metavar="REGEX", help="Only kernels whose base name matches."),
        click.option("--exclude", default="", metavar="REGEX", help="Leave out kernels whose base name matches."),
        click.option("--match-full", is_flag=True, help="--kernel and --exclude match the full name."),
        click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only the N longest by total time."),
        click.option(
            "--group",
            type=click.Choice(["kernel", "kernel+grid", "launch"]),
            default="kernel",
            show_default=True,
            help="What one row or point is.",
        ),
        click.option(
            "--instructions",
            type=click.Choice(["thread", "issued"]),
            default="thread",
            show_default=True,
            help="Count thread instructions / 32, or issued warp instructions.",
        ),
        click.option(
            "--decimal",
            "mark",
            type=click.Choice(["point", "comma"]),
            help="Decimal mark, for files that leave it open.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def request_of(options: dict[str, Any]) -> Request:
    """The study request that ``input_options`` describe."""
    from roofctl.analysis import Selection
    from roofctl.study import Request

    return Request(
        inputs=tuple(options["inputs"]),
        profile=options["profile"],
        ceilings=options["ceilings"],
        group=options["group"],
        instructions=options["instructions"],
        mark=options["mark"],
        selection=Selection(options["kernel"], options["exclude"], options["match_full"], options["top"]),
    )


@contextmanager
def reading() -> Iterator[None]:
    """A progress bar on stderr while files are read inside, if that takes a while and somebody watches."""
    from roofctl.plots.progress import StatusLine, bar
    from roofctl.readers.streams import watched

    line = StatusLine(sys.stderr, color=use_color(sys.stderr), silent=TALK.quiet)
    began: dict[Path, float] = {}

    def show(path: Path, done: int, total: int) -> None:
        seconds = time.monotonic() - began.setdefault(path, time.monotonic())
        if seconds > _SILENT_SECONDS:
            line.update(bar(path.name, done, total, seconds))

    try:
        with watched(show):
            yield
    finally:
        line.clear()


def answer_of(request: Request) -> Study:
    """The answer to ``request``, with a progress bar where it takes a while."""
    from roofctl.study import study

    with reading():
        return study(request)
