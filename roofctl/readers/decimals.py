"""The decimal separator of a file, by all of its cells at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from roofctl.readers.cells import Cells, Launches, prefix_of
from roofctl.readers.convert import all_plain, distinct, grouped, in_threads, plain_texts, without_spaces
from roofctl.readers.numbers import AMBIGUOUS, EVIDENCE, Evidence
from roofctl.readers.split import content, matches

_SAMPLE: Final = 1000


def evidence(batch: Sequence[Launches]) -> Evidence:
    """The cells of all counters as evidence for the decimal separator.

    Examples are the first ones, launch by launch; of a batch that is plainly written with a point, any one.
    """
    columns = [
        (table, *prefix_of(name)[:1], cells)
        for table, launches in enumerate(batch)
        for name, cells in launches.cells.items()
    ]
    if example := _plainly_point([cells for *_, cells in columns]):
        return Evidence(point=example)

    def key_of(table: int, prefix: int, cells: Cells) -> Callable[[int], tuple[int, ...]]:
        return lambda row: (table, row, prefix, int(cells.lines[row]), cells.place)

    return _examples([(cells.texts, key_of(table, prefix, cells)) for table, prefix, cells in columns])


def first_examples(columns: Sequence[Any]) -> Evidence:
    """Columns of cells as evidence for the decimal separator, by the first examples, row by row."""

    def key_of(place: int) -> Callable[[int], tuple[int, ...]]:
        return lambda row: (row, place)

    return _examples([(texts, key_of(place)) for place, texts in enumerate(columns)])


def _examples(columns: Sequence[tuple[Any, Callable[[int], tuple[int, ...]]]]) -> Evidence:
    """The example of each kind that comes first, by the key of its row."""
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for texts, key_of in columns:
        data, _ = content(texts)
        separated = bool(((data == ord(".")) | (data == ord(","))).any())
        for kind, pattern in (*EVIDENCE.items(), ("ambiguous", AMBIGUOUS)) if separated else ():
            hits = matches(without_spaces(texts), pattern)
            if hits.any():
                row = int(hits.argmax())
                example = key_of(row), texts[row].as_py()
                found[kind] = min(found.get(kind, example), example)
    return Evidence(**{kind: text for kind, (_, text) in found.items()})


def _plainly_point(columns: Sequence[Cells]) -> str:
    """A number that can only be written with a decimal point, where all are; else an empty text."""
    examples: list[str] = []

    def is_plain(part: slice) -> bool:
        _, texts = plain_texts(distinct(columns[part])[0])
        if not all_plain(texts, "point"):
            return False
        for cells in columns[part]:
            cells.plain = "point"
        for some in (texts[:_SAMPLE], texts):
            if not examples and (hits := matches(some, EVIDENCE["point"])).any():
                examples.append(str(some[int(hits.argmax())]))
        return True

    plain = all(in_threads(is_plain, grouped(columns), sum(len(cells.texts) for cells in columns)))
    return examples[0] if plain and examples else ""
