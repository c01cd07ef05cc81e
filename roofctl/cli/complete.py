"""What the shell offers for an option or argument: names from folders and from the text of tables, nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from click import Context, Parameter
from click.shell_completion import CompletionItem


def _starting(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]


def captures(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the captures in ``roofctl-captures``."""
    from roofctl.captures.manifest import ROOT, captures_in

    return _starting((folder.name for folder in captures_in(Path(ROOT))), incomplete)


def inputs(context: Context, parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of captures, and files."""
    return [CompletionItem(incomplete, type="file"), *captures(context, parameter, incomplete)]


def gpu_profiles(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of GPU profiles; a path is completed as a file."""
    from roofctl.core.profile_files import layers, profile_files

    if "/" in incomplete:
        return [CompletionItem(incomplete, type="file")]
    return _starting(sorted(path.stem for _, folder in layers() for path in profile_files(folder)), incomplete)


def levels(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Memory levels and their other names."""
    from roofctl.core.levels import LEVEL_ALIASES, LEVELS

    return _starting((*LEVELS, *LEVEL_ALIASES), incomplete)


def spaces(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Memory spaces that have walls."""
    return _starting(("global", "shared"), incomplete)


def metric_sets(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Metric sets that ``profile`` can collect."""
    from roofctl.quantities import catalogue

    known = catalogue().quantities.values()
    return _starting(["all", *sorted({name for quantity in known for name in quantity.sets})], incomplete)


def kernels(context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Base names of the kernels in the tables of the INPUTs so far, without any in those of the newest capture."""
    from roofctl.captures.kernels_in import kernel_names, tables_of
    from roofctl.core.kernel_names import name_parts
    from roofctl.core.mangling import demangled

    # Behind an option without its value click has not yet sorted the words into parameters.
    given: list[Path | None] = [*map(Path, context.params.get("inputs") or context.args)] or [None]
    names = {name for path in given for table in tables_of(path) for name in kernel_names(table)}
    return _starting(sorted(re.escape(name_parts(demangled(name)).base) for name in names), incomplete)
