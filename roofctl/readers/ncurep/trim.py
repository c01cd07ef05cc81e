"""Results of a report in short: only the metrics wanted, so that NVIDIA's reader has little to read and to keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from roofctl.readers.ncurep.wire import BYTES, LOW, VARINT, encoded, skip, varint

_METRIC_KEY: Final = 13 << 3 | BYTES
"""How the field of a result begins that holds a metric."""
_NAME_KEY: Final = 1 << 3 | VARINT
_TWO_BYTES: Final = 0x3FFF
_ALIKE: Final = ("numa__", "nvlink__", "c2clink__")
"""Metrics that are nearly always the same in all results, and never wanted."""

# Fields of a result that hold none of its numbers, and that NVIDIA's reader takes most of its time and memory for.
_UNUSED: Final = frozenset(encoded(number << 3 | BYTES) for number in (17, 19, 21, 28))
"""Sections of the details page, findings of rules, NVTX ranges, the call stack."""

_BEYOND: Final = "a field goes on beyond its message"


@dataclass(frozen=True)
class Trimmed:
    """A result in short, without the metrics that many results have in common, and the bytes of these."""

    result: bytes
    common: bytes


class Trimmer:
    """Leaves those metrics in a result whose names are ``wanted``, without its sections and the like.

    ``seen`` are names of the other metrics. Attributes of the device (``fixed`` is how their names begin) are the
    same in every result of a device: where they are, byte for byte, those of the result that was learned from, they
    are left out too. ``common`` are wanted metrics with few values, such as those of the launch shape.
    """

    def __init__(
        self, texts: Sequence[str], wanted: AbstractSet[str], fixed: str, common: AbstractSet[str] = frozenset()
    ) -> None:
        self._texts = texts
        self._wanted = frozenset(number for number, text in enumerate(texts) if text in wanted)
        self._fixed = frozenset(n for n, text in enumerate(texts) if text.startswith(fixed) and text not in wanted)
        self._alike = self._fixed.union(n for n, text in enumerate(texts) if text.startswith(_ALIKE)) - self._wanted
        self._common = frozenset(number for number in self._wanted if texts[number] in common)
        self._special = self._wanted | self._alike
        self._runs: dict[int, bytes] = {}
        self._fixed_runs = -1
        self._seen: set[int] = set()

    @property
    def seen(self) -> frozenset[str]:
        """Names of metrics that results had and that were not wanted."""
        return frozenset(self._texts[number] for number in self._seen if number < len(self._texts))

    def learn(self, result: bytes) -> None:
        """Take the device's attributes of this result for those of the results that follow.

        Raises ValueError or IndexError for bytes that are no result; then nothing is shortened.
        """
        self._runs, self._fixed_runs = {}, -1  # until all of it was understood
        runs: dict[int, bytes] = {}
        first = last = -1
        for number, begin, end in _metrics(result):
            self._seen.add(number)
            if number in self._alike:
                if begin != last or (number in self._fixed) != (first in self._fixed):
                    first = number
                runs[first] = runs.get(first, b"") + result[begin:end]
                last = end
        self._seen -= self._wanted
        self._runs, self._fixed_runs = runs, sum(number in self._fixed for number in runs)

    def trim(self, result: bytes) -> Trimmed | None:  # noqa: C901, PLR0912 - written out for speed
        """The result in short; None where its device's attributes are others, or its fields in another order.

        Raises ValueError or IndexError for bytes that are no result.
        """
        kept: list[bytes] = []
        shared: list[bytes] = []
        fixed_runs = at = 0
        special, wanted, common, fixed = self._special, self._wanted, self._common, self._fixed
        runs, seen = self._runs, self._seen
        size = len(result)
        while at < size:
            begin = at
            if result[at] != _METRIC_KEY:
                at = skip(result, at)
                if result[begin : begin + 2] not in _UNUSED:
                    kept.append(result[begin:at])
                continue
            # Written out, without calls: a report has hundreds of metrics per launch.
            length = result[at + 1]
            at += 2
            if length > LOW:
                if result[at] <= LOW:
                    length = length & LOW | result[at] << 7
                    at += 1
                else:
                    length, at = varint(result, at - 1)
            if result[at] != _NAME_KEY:
                return None
            number = result[at + 1]
            if number > LOW:
                number = number & LOW | result[at + 2] << 7
                if number > _TWO_BYTES:
                    number, _ = varint(result, at + 1)
            at += length
            if number not in special:
                seen.add(number)
            elif number in wanted:
                (shared if number in common else kept).append(result[begin:at])
            elif (run := runs.get(number)) is not None and result.startswith(run, begin):
                at = begin + len(run)
                fixed_runs += number in fixed
            elif number in fixed:
                return None
            else:
                seen.add(number)
        if at != size:
            raise ValueError(_BEYOND)
        return Trimmed(b"".join(kept), b"".join(shared)) if fixed_runs == self._fixed_runs else None


def _metrics(result: bytes) -> Iterator[tuple[int, int, int]]:
    """Number of the name, begin and end of each metric of a result."""
    at, size = 0, len(result)
    while at < size:
        end = skip(result, at)
        if result[at] == _METRIC_KEY:
            _, inner = varint(result, at + 1)
            if result[inner] != _NAME_KEY:
                raise ValueError("a metric does not begin with its name")
            yield varint(result, inner + 1)[0], at, end
        at = end
    if at != size:
        raise ValueError(_BEYOND)
