"""What all commands share: the options on how much to print, and the only functions that print."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
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


def table_or_json(command: F) -> F:
    """--format table|json of commands whose JSON was once asked for with --json, which still works."""

    @click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json"]),
        default="table",
        show_default=True,
        help="Output form.",
    )
    @click.option("--json", "as_json", is_flag=True, hidden=True)
    @wraps(command)
    def wrapper(*args: Any, form: str, as_json: bool, **kwargs: Any) -> Any:
        return command(*args, as_json=as_json or form == "json", **kwargs)

    return wrapper  # type: ignore[return-value]


def use_color(stream: Any) -> bool:
    """Whether ``stream`` gets color: a terminal, without --no-color and NO_COLOR."""
    return TALK.color and "NO_COLOR" not in os.environ and stream.isatty()


def terminal_width() -> int | None:
    """Columns of the terminal on stdout; None for a pipe or file, which get lines of any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


_WHOLE: Final = 1000
"""Characters of a sentence of help; click cuts it at the width of the terminal."""


class SentenceGroup(click.Group):
    """A group whose help has the first sentence of each command, not cut short."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(_WHOLE)) for name, command in commands if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


_MOST_NOTES: Final = 3
_NARROWEST: Final = 40


# --- stderr -------------------------------------------------------------------------------------


def say(text: str) -> None:
    """A message on stderr, silent with -q."""
    if not TALK.quiet:
        say_always(text)


def say_always(text: str) -> None:
    """A message on stderr, without characters that steer a terminal."""
    click.echo(visible(text, keep="\n\t"), err=True)


def say_notes(notes: Sequence[Note]) -> None:
    """Notes, each once: all warnings and what options did, then others up to ``_MOST_NOTES`` lines; all with -v."""
    shown = {
        f"{'warning' if note.warning else 'note'}: {note.text}": note.warning or note.asked
        for note in sorted(notes, key=lambda note: (not note.warning, not note.asked))
        if TALK.verbose or not note.detail
    }
    lines = list(shown)
    most = len(lines) if TALK.verbose else max(sum(shown.values()), _MOST_NOTES)
    # A line that says that there is one more note could as well be that note.
    kept = lines if len(lines) <= most + 1 else lines[:most]
    for line in kept:
        say(wrapped(line))
    if left := len(lines) - len(kept):
        say(f"{left} more notes: -v lists them")


def wrapped(text: str) -> str:
    """``text`` at the width of the terminal on stderr, further lines indented; as it is for a file."""
    if not sys.stderr.isatty():
        return text
    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    return "\n".join(textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


# --- stdout -------------------------------------------------------------------------------------


def put(text: str, *, styled: bool = False, newline: bool = True) -> None:
    """Text on stdout, without characters that steer a terminal; ``styled`` text is printed as it is."""
    click.echo(text if styled else visible(text, keep="\n\t"), nl=newline, color=styled or None)


def show_as(
    form: str,
    headings: Sequence[str] = (),
    rows: Iterable[Sequence[Any]] = (),
    document: Any = None,
    *,
    wide: bool = False,
) -> None:
    """The result of a command on stdout, as ``table`` or by one of ``EXPORTERS``.

    JSON takes the document, all others headings and rows.

    ``wide``: a table keeps all columns in a terminal that is too narrow for them.
    """
    if form == "table":
        _put_table(headings, rows, wide=wide)
    else:
        put(EXPORTERS[form](headings, rows, document).removesuffix("\n"), styled=True)


def _put_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, wide: bool) -> None:
    from roofctl.output.table import to_table

    table = to_table(headings, rows, width=None if wide else terminal_width(), color=use_color(sys.stdout))
    put(table.text, styled=True)
    if table.left_out:
        say(f"{len(table.left_out)} more columns in a wider terminal or a pipe, from {table.left_out[0]} on")


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

EXPORTERS: Final[dict[str, Exporter]] = {"json": _json, "csv": _csv, "md": _markdown}
"""Formats beside the table by name; they import what they need, since ``--help`` must load no heavy library."""
