"""What the commands share: options on every one, messages on stderr, inputs to a study."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from roofctl.core.kernel_names import visible

if TYPE_CHECKING:
    from roofctl.launches.evaluate import Note

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
