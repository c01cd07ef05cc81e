"""Load and validate GPU profiles and measured results; every problem of a file is reported at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from roofctl.core.errors import InputError
from roofctl.core.profile_files import MEASURED_SUFFIX, is_measured
from roofctl.gpus.explain import dotted, explain, seen
from roofctl.gpus.light import is_light, light_problems
from roofctl.gpus.schema import SCHEMA_VERSION, GpuProfile, Measured
from roofctl.gpus.yamlfile import Document, KeyPath, read_document

_HINT: Final = "roofctl gpus new NAME writes a file that explains every key"

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Checked(Generic[M]):
    """One file after validation: its ``value``, or the ``problems`` that keep it from having one."""

    path: Path
    value: M | None
    problems: tuple[str, ...] = ()
    hint: str = _HINT

    def valid(self) -> M:
        """The value; raises InputError that lists every problem, one line each."""
        if self.value is None:
            lines = "".join(f"\n  {problem}" for problem in self.problems)
            raise InputError(f"{self.path} cannot be used:{lines}", hint=self.hint)
        return self.value


def load_profile(path: Path) -> GpuProfile:
    """The GPU profile in ``path``; raises InputError that lists all its problems."""
    return check_profile(path).valid()


def load_measured(path: Path) -> Measured:
    """The measured result in ``path``; raises InputError that lists all its problems."""
    return check_measured(path).valid()


def file_problems(path: Path) -> tuple[str, ...]:
    """What is wrong with a profile or measured result, one line each; empty for a good file."""
    try:
        checked: Checked[Measured] | Checked[GpuProfile]
        if not is_measured(path) and is_light(document := read_document(path)):
            return light_problems(document)
        checked = check_measured(path) if is_measured(path) else check_profile(path)
    except InputError as error:
        return (error.message,)
    return checked.problems


def check_profile(path: Path) -> Checked[GpuProfile]:
    """Validate a GPU profile; a file that cannot be read or parsed raises InputError."""
    try:
        seen = path.stat()
    except OSError:
        return _check_profile(path, 0, 0)
    return _check_profile(path, seen.st_mtime_ns, seen.st_size)


@lru_cache(maxsize=128)
def _check_profile(path: Path, _changed: int, _size: int) -> Checked[GpuProfile]:
    """Each file once per process, unless it changes: a search by name looks through all of them, more than once."""
    document = read_document(path)
    return _checked(document, GpuProfile, [*_source_problems(document), *_name_problems(document)])


def check_measured(path: Path) -> Checked[Measured]:
    """Validate a measured result; a file that cannot be read or parsed raises InputError.

    One that was written by hand needs nothing but ``ceilings``: the profile is that of its name.
    """
    document = read_document(path)
    if isinstance(document.data, dict):
        own = {"schema": SCHEMA_VERSION, "profile": path.name.removesuffix(MEASURED_SUFFIX)}
        document = replace(document, data={**own, **document.data})
    return _checked(document, Measured, [])


_Problem = tuple[KeyPath, str]


def _checked(document: Document, model: type[M], extra: list[_Problem]) -> Checked[M]:
    data = document.data
    if not isinstance(data, dict):
        problem = f"seen {seen(data)} at the top, expected a mapping that starts with schema: {SCHEMA_VERSION}"
        return Checked(document.path, None, (problem,))
    version = data.get("schema")
    if type(version) is int and version > SCHEMA_VERSION:
        problem = f"schema: seen {version}, this roofctl knows {SCHEMA_VERSION}"
        return Checked(document.path, None, (problem,), hint="a newer roofctl wrote this file: upgrade roofctl")
    problems = [*_duplicates(document), *_schema_problems(version, missing="schema" not in data)]
    data, odd = _string_keys({key: value for key, value in data.items() if key != "schema"}, ())
    value: M | None = None
    try:
        value = model.model_validate(data)
    except ValidationError as error:
        problems += [explain(item, model) for item in error.errors(include_url=False)]
    problems += [*odd, *extra]
    texts = tuple(_line(document, key, text) for key, text in _in_file_order(document, problems))
    return Checked(document.path, None if texts else value, texts)


def _in_file_order(document: Document, problems: list[_Problem]) -> list[_Problem]:
    return sorted(problems, key=lambda problem: document.line(problem[0]) or 0)


def _line(document: Document, key: KeyPath, text: str) -> str:
    line = document.line(key)
    return (f"line {line}, " if line else "") + f"{dotted(key) or 'top'}: {text}"


def _duplicates(document: Document) -> Iterator[_Problem]:
    for key in document.duplicates:
        yield key, "written twice; expected once, since YAML would keep only the last"


def _schema_problems(version: object, *, missing: bool) -> Iterator[_Problem]:
    if missing:
        yield ("schema",), f"missing; expected schema: {SCHEMA_VERSION}"
    elif type(version) is not int or version != SCHEMA_VERSION:
        yield ("schema",), f"seen {seen(version)}, expected {SCHEMA_VERSION}"


def _string_keys(value: object, at: KeyPath) -> tuple[object, list[_Problem]]:
    """``value`` without the keys that YAML did not read as text, and a problem for each of them."""
    if isinstance(value, list):
        parts = [_string_keys(item, (*at, index)) for index, item in enumerate(value)]
        return [part for part, _ in parts], [problem for _, inner in parts for problem in inner]
    if not isinstance(value, dict):
        return value, []
    kept: dict[str, object] = {}
    problems: list[_Problem] = []
    for key, item in value.items():
        if isinstance(key, str):
            kept[key], inner = _string_keys(item, (*at, key))
            problems += inner
        else:
            problems.append((at, f"seen the key {seen(key)}, expected a text (put the key in quotes)"))
    return kept, problems


def _source_problems(document: Document) -> Iterator[_Problem]:
    """Sources of facts that ``sources`` does not list."""
    data = document.data
    sources = data.get("sources") if isinstance(data, dict) else None
    if isinstance(sources, dict):
        for key, source in _sources_used(data, ()):
            if source not in sources:
                yield key, f"seen {seen(source)}, expected a key of sources ({', '.join(map(str, sources)) or 'empty'})"


def _sources_used(value: object, at: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key == "source" and "basis" in value and isinstance(item, str):
            yield (*at, key), item
        elif at or key != "sources":
            yield from _sources_used(item, (*at, str(key)))


def _name_problems(document: Document) -> Iterator[_Problem]:
    name = document.data.get("name") if isinstance(document.data, dict) else None
    stem = document.path.name.removesuffix(".yaml")
    if isinstance(name, str) and name != stem:
        yield ("name",), f"seen {seen(name)} in {document.path.name}, expected {stem}: a profile is found by its file"
