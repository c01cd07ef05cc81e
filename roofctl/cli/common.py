"""What all commands share: the options on how much to print, and the only functions that print."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from roofctl.core.kernel_names import visible

if TYPE_CHECKING:
    from roofctl.core.notes import Note

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Talk:
    """How much is printed, and whether in color. One per process, set by the options of any command."""

    verbose: bool = False
    quiet: bool = False
    color: bool = True
    debug: bool = False


TALK = Talk()


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


def use_color(stream: Any) -> bool:
    """Whether ``stream`` gets color: a terminal, without --no-color and NO_COLOR."""
    return TALK.color and "NO_COLOR" not in os.environ and stream.isatty()


def terminal_width() -> int | None:
    """Columns of the terminal on stdout; None for a pipe or file, which get lines of any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


# --- stderr -------------------------------------------------------------------------------------


def say(text: str) -> None:
    """A message on stderr, silent with -q."""
    if not TALK.quiet:
        say_always(text)


def say_always(text: str) -> None:
    """A message on stderr, without characters that steer a terminal."""
    click.echo(visible(text, keep="\n\t"), err=True)


def say_notes(notes: Sequence[Note]) -> None:
    """Notes, each once: warnings first, details only with -v."""
    seen: set[str] = set()
    for note in sorted(notes, key=lambda note: not note.warning):
        if note.text not in seen and (TALK.verbose or not note.detail):
            seen.add(note.text)
            say(f"{'warning' if note.warning else 'note'}: {note.text}")


# --- stdout -------------------------------------------------------------------------------------


def put(text: str, *, styled: bool = False, newline: bool = True) -> None:
    """Text on stdout, without characters that steer a terminal; ``styled`` text is printed as it is."""
    click.echo(text if styled else visible(text, keep="\n\t"), nl=newline, color=styled or None)


def show_as(form: str, headings: Sequence[str] = (), rows: Iterable[Sequence[Any]] = (), document: Any = None) -> None:
    """The result of a command on stdout, by one of ``EXPORTERS``: headings and rows, or for JSON the document."""
    put(EXPORTERS[form](headings, rows, document).removesuffix("\n"), styled=True)


def _table(headings: Sequence[str], rows: Iterable[Sequence[Any]], _document: Any) -> str:
    from roofctl.output.table import to_table

    return to_table(headings, rows, width=terminal_width(), color=use_color(sys.stdout))


def _json(_headings: Sequence[str], _rows: Iterable[Sequence[Any]], document: Any) -> str:
    from roofctl.output.json import to_json

    return to_json(document)


def _csv(headings: Sequence[str], rows: Iterable[Sequence[Any]], _document: Any) -> str:
    from roofctl.output.csv import to_csv

    return to_csv(headings, rows, terminal=sys.stdout.isatty())


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[Any]], _document: Any) -> str:
    from roofctl.output.markdown import to_markdown

    return to_markdown(headings, rows)


Exporter = Callable[[Sequence[str], Iterable[Sequence[Any]], Any], str]

EXPORTERS: Final[dict[str, Exporter]] = {"table": _table, "json": _json, "csv": _csv, "md": _markdown}
"""Formats by name; they import what they need, since ``--help`` must load no heavy library."""
