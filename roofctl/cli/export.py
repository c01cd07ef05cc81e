"""``roofctl export``: captures as a Parquet dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofctl.cli import complete
from roofctl.cli.common import say, say_notes, talk_options
from roofctl.cli.inputs import partly_read, quantities_option, reading, say_newest


@click.command()
@click.argument(
    "inputs", nargs=-1, metavar="[INPUT]...", type=click.Path(path_type=Path), shell_complete=complete.inputs
)
@click.option(
    "--parquet",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where to write: FOLDER/capture=NAME/part-0.parquet.",
)
@click.option("--force", is_flag=True, help="Replace an earlier export.")
@click.option(
    "--decimal", type=click.Choice(["point", "comma"]), help="Decimal separator, for files that leave it open."
)
@quantities_option
@talk_options
def export(inputs: tuple[Path, ...], folder: Path, force: bool, decimal: Any) -> None:
    """Write captures as a Parquet dataset, one row per launch, for DuckDB, Dask, Spark or pandas.

    INPUT is what roofctl report takes: captures, files, folders of them, patterns in quotes. Each file or capture is
    a partition. Counts and seconds are sums over the row's launches (1, but for summaries); what is not known is null.

    \b
    Example:
      roofctl export roofctl-captures --parquet launches
      roofctl export 'ranks/*.csv' --parquet launches --force
      roofctl export capture.csv --parquet launches --quantities mine.yaml
    """
    from roofctl.output import parquet as exports
    from roofctl.study import load as sources_of

    sources = sources_of.locate(inputs)
    say_newest(inputs, [source.label for source in sources])
    with reading() as watch:
        done = exports.to_parquet(sources, folder, decimal, force=force, watch=watch)
    say_notes([*sources_of.left_out(done.unread), *done.notes])
    say(f"Wrote {folder}: {done.captures:,} captures, {done.rows:,} rows")
    if done.unread:
        raise partly_read(done.unread, len(sources), "written")
