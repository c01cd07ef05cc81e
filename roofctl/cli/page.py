"""The page that ``report --html`` and ``plot -o x.html`` write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofctl.cli.common import say, say_notes
from roofctl.cli.inputs import check_read, reading, request_of

if TYPE_CHECKING:
    from roofctl.output.html_data import PageOptions

SUFFIXES = (".html", ".htm")


def refuse(given: dict[str, Any], why: str) -> None:
    """Raise a usage error for the first of the options that is given."""
    if wrong := next((name for name, value in given.items() if value), None):
        raise click.UsageError(f"{wrong} {why}")


def write(target: Path, options: dict[str, Any], *, force: bool, option: str, shown: PageOptions | None = None) -> None:
    """Write the page of the inputs to ``target``, which ``option`` named, and say so with the notes on them."""
    from dataclasses import replace

    from roofctl.core.errors import InputError
    from roofctl.core.files import check_writable
    from roofctl.output.html import check_plotly, write_page
    from roofctl.study.variants import analyse_variants

    if target.suffix.lower() not in SUFFIXES:
        kind = target.suffix or "a file without suffix"
        raise InputError(f"{target}: a page is HTML, not {kind}", hint="use a name that ends in .html")
    check_writable(target, force=force, option=option)
    check_plotly()
    request = request_of(options)
    with reading() as watch:
        variants = analyse_variants(replace(request, watch=watch))
    write_page(target, [variants], shown)
    say_notes(variants.first.notes)
    if variants.first.unknown_gpu:
        say(f"note: {variants.first.unknown_gpu.message} The page has no ceilings; {variants.first.unknown_gpu.hint}")
    say(f"Wrote {target}")
    check_read(variants.first)


def check_compared(target: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Raise an error where the page of a comparison of these inputs cannot be written to ``target``."""
    from roofctl.core.files import check_writable
    from roofctl.output.html import check_plotly

    if len(inputs) != 2:  # noqa: PLR2004 - a page has one capture before and one after
        raise click.UsageError("a page compares two inputs: BEFORE AFTER")
    check_writable(target, force=force, option="-o")
    check_plotly()


def write_compared(target: Path, options: dict[str, Any]) -> None:
    """Write the page of the second input compared with the first."""
    from dataclasses import replace

    from roofctl.output.html import write_page
    from roofctl.study.variants import analyse_variants

    request = request_of(options)
    with reading() as watch:
        before, after = (analyse_variants(replace(request, inputs=(path,), watch=watch)) for path in options["inputs"])
    write_page(target, [after], before=before)
    say(f"Wrote {target}")
