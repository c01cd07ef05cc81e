"""A file that holds ceilings only: ``ceilings: {l2: 5.5 TB/s, issue: 489.6 GIPS}``, taken wherever a GPU profile is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roofctl.core.errors import InputError
from roofctl.core.given import parse_ceiling
from roofctl.core.levels import DRAM, LEVEL_LABELS
from roofctl.gpus.explain import seen
from roofctl.gpus.yamlfile import Document, KeyPath, read_document

SECTION: Final = "ceilings"
"""The key that no GPU profile has, and without which there is no light file."""

_KEYS: Final = ("schema", "name", SECTION)
_SCHEMA: Final = 1
_HINT: Final = "such a file looks like: ceilings: {l2: 5.5 TB/s, issue: 489.6 GIPS}"
_MOST: Final = 200
"""Names of ceilings are few; a file with more entries is none."""


@dataclass(frozen=True)
class LightFile:
    """Ceilings by name in base units. What is missing is not known. ``memory_label`` is how ``hbm`` is printed."""

    name: str
    path: Path
    ceilings: Mapping[str, float]
    memory_label: str


def is_light(document: Document) -> bool:
    """Whether a YAML file holds ceilings and no facts of a GPU."""
    return isinstance(document.data, dict) and SECTION in document.data


def load_light(path: Path, document: Document | None = None, own_levels: tuple[str, ...] = ()) -> LightFile:
    """The ceilings in ``path``. Raises InputError that lists all its problems, a line each."""
    document = document or read_document(path)
    ceilings: dict[str, float] = {}
    problems = [*_problems(document), *_read(document, ceilings, own_levels)]
    if problems:
        lines = "".join(f"\n  {_line(document, key, text)}" for key, text in problems)
        raise InputError(f"{path} cannot be used:{lines}", hint=_HINT)
    data = document.data if isinstance(document.data, dict) else {}
    label = LEVEL_LABELS["hbm"] if any(str(key).lower() == "hbm" for key in data[SECTION]) else DRAM
    return LightFile(str(data.get("name") or path.name.removesuffix(".yaml")), path, ceilings, label)


def light_problems(document: Document) -> tuple[str, ...]:
    """What is wrong with such a file, one line each."""
    ceilings: dict[str, float] = {}
    problems = [*_problems(document), *_read(document, ceilings, ())]
    return tuple(_line(document, key, text) for key, text in problems)


def _line(document: Document, key: KeyPath, text: str) -> str:
    line = document.line(key)
    return (f"line {line}, " if line else "") + f"{'.'.join(map(str, key)) or 'top'}: {text}"


def _problems(document: Document) -> Iterator[tuple[KeyPath, str]]:
    data = document.data if isinstance(document.data, dict) else {}
    for key in document.duplicates[:_MOST]:
        yield key, "written twice; expected once, since YAML would keep only the last"
    unknown = [key for key in data if key not in _KEYS]
    for key in unknown[:3]:
        yield (
            (str(key),),
            f"unknown key; expected one of {', '.join(_KEYS)}, or a complete GPU profile without ceilings",
        )
    if data.get("schema", _SCHEMA) != _SCHEMA:
        yield ("schema",), f"seen {seen(data['schema'])}, expected {_SCHEMA}"
    if not isinstance(data.get("name", ""), str):
        yield ("name",), f"seen {seen(data['name'])}, expected a text (put it in quotes)"


def _read(document: Document, ceilings: dict[str, float], own_levels: tuple[str, ...]) -> Iterator[tuple[KeyPath, str]]:
    """Problems of the section, whose ceilings are put into ``ceilings``."""
    data = document.data if isinstance(document.data, dict) else {}
    section = data.get(SECTION)
    if not isinstance(section, dict) or not section:
        yield (SECTION,), f"seen {seen(section)}, expected names with values, such as l2: 5.5 TB/s"
        return
    if len(section) > _MOST:
        yield (SECTION,), f"seen {len(section):,} entries, expected at most {_MOST}"
        return
    for key, text in section.items():
        try:
            name, value = parse_ceiling(str(key), text, own_levels)
        except ValueError as error:
            yield (SECTION, str(key)), str(error)
            continue
        if name in ceilings:
            yield (SECTION, str(key)), f"a second value of {name}; expected one"
        ceilings[name] = value
