"""Results of a report in short: only the metrics wanted, so that NVIDIA's reader has little to read and to keep.

Launches of one kernel lie alike: their results have the same metrics at the same places. Such a ``Layout`` is found by
going through a result field by field; whether another has it too is one comparison of bytes.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import takewhile
from struct import Struct
from typing import Final

from roofctl.readers.ncurep.wire import BYTES, LOW, VARINT, encoded, skip, varint

_METRIC_KEY: Final = 13 << 3 | BYTES
"""How the field of a result begins that holds a metric."""
_NAME_KEY: Final = 1 << 3 | VARINT
_TWO_BYTES: Final = 0x3FFF
_ALIKE: Final = ("numa__", "nvlink__", "c2clink__")
"""Metrics that are nearly always the same in all results, and never wanted."""

# Fields of a result that hold none of its numbers, and that NVIDIA's reader takes most of its time and room for.
_UNUSED: Final = frozenset(encoded(number << 3 | BYTES) for number in (17, 19, 21, 28))
"""Sections of the details page, findings of rules, NVTX ranges, the call stack."""

_IDS: Final = re.compile(rb"(?:[\x08\x10\x18\x20][\x80-\xff]{0,9}[\x00-\x7f])*")
"""What a result begins with: numbers of its process and of itself."""
_REAL: Final = b"\x12\x09\x19"
_REAL_BYTES: Final = 8
_REAL_ENDS: Final = (b"", b"\x20\x00")
"""What stands between a metric's name and its only number, a real one, and what may follow."""

_LEFT_OUT, _KEPT, _COMMON, _SAME = range(4)
"""What becomes of a piece of a result: ``_SAME`` is left out as it is, byte for byte, what was learned."""
_NO_METRIC: Final = -1
_Piece = tuple[int, int, int, int]
"""Begin and end of a field, or of several that are ``_SAME``; what becomes of it, and the number of a metric's name."""
_Span = tuple[int, int]

_BEYOND: Final = "a field goes on beyond its message"

_MOST_KERNELS: Final = 500
_MOST_LAYOUTS: Final = 4
"""Layouts that are kept of each kernel and launch shape; each takes 10 kB."""


class _Cut:
    """Where in a result, from its first metric on, lies what is wanted."""

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        self._kept = _merged((begin, end) for begin, end, what, _ in pieces if what in (_KEPT, _COMMON))
        self._common = _merged((begin, end) for begin, end, what, _ in pieces if what == _COMMON)

    def kept(self, metrics: bytes) -> list[bytes]:
        """What is wanted."""
        return [metrics[begin:end] for begin, end in self._kept]

    def common(self, metrics: bytes) -> bytes:
        """The metrics that many results have in common."""
        return b"".join([metrics[begin:end] for begin, end in self._common])


class Layout(_Cut):
    """The places of all metrics of a result. ``names`` are wanted ones that hold one real number each.

    Another result has this layout where the bytes are the same that the way through the fields depends on.
    Raises ValueError for metrics that end before their name does.
    """

    def __init__(self, metrics: bytes, pieces: Sequence[_Piece], texts: Sequence[str]) -> None:
        super().__init__(pieces)
        self.end = pieces[-1][1] if pieces else 0
        often = Counter(texts[number] for *_, what, number in pieces if what == _KEPT)
        reals = {
            number: at
            for begin, end, what, number in pieces
            if what == _KEPT and often[texts[number]] == 1 and (at := _real(metrics, begin, end))
        }
        self.names = tuple(texts[number] for number in reals)
        self._reals = _struct((at, at + _REAL_BYTES, "d") for at in reals.values())
        self._bare = _merged(
            (begin, end) for begin, end, what, number in pieces if what == _KEPT and number not in reals
        )
        heads = _merged(_heads(metrics, pieces, reals))
        self._heads = _struct((begin, end, f"{end - begin}s") for begin, end in heads)
        self._expected = self._heads.unpack_from(metrics)

    def fits(self, metrics: bytes) -> bool:
        """Whether a result has this layout, given from its first metric on."""
        size = len(metrics)
        return (
            size >= self.end
            and self._heads.unpack_from(metrics) == self._expected
            and (size == self.end or metrics[self.end] != _METRIC_KEY)
        )

    def bare(self, metrics: bytes) -> list[bytes]:
        """What is wanted beside ``names`` and the common metrics."""
        return [metrics[begin:end] for begin, end in self._bare]

    def numbers(self, metrics: bytes) -> tuple[float, ...]:
        """The numbers of ``names`` in a result of this layout."""
        return self._reals.unpack_from(metrics)


def _real(data: bytes, begin: int, end: int) -> int:
    """Where the number lies of a metric that holds one real number; 0 for others."""
    at = _head_end(data, begin)
    number = at + len(_REAL)
    after = number + _REAL_BYTES
    return number if data[at:number] == _REAL and after <= end and data[after:end] in _REAL_ENDS else 0


def _head_end(data: bytes, begin: int) -> int:
    """Where the content of a metric begins: behind its length and its name."""
    _, inner = varint(data, begin + 1)
    _, at = varint(data, inner + 1)
    return at


def _heads(data: bytes, pieces: Sequence[_Piece], reals: Mapping[int, int]) -> Iterator[_Span]:
    """What must be the same in results of the same layout."""
    for begin, end, what, number in pieces:
        if what == _SAME:
            yield begin, end
        elif at := reals.get(number, 0):
            yield begin, at
            yield at + _REAL_BYTES, end
        elif (at := _head_end(data, begin)) <= end:
            yield begin, at
        else:
            raise ValueError(_BEYOND)


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    """Spans in order, those that touch as one."""
    found: list[_Span] = []
    for begin, end in spans:
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        elif begin < end:
            found.append((begin, end))
    return found


def _struct(spans: Iterable[tuple[int, int, str]]) -> Struct:
    """Takes values that lie apart, at once; for each where it begins and ends, and its form."""
    forms, at = ["<"], 0
    for begin, end, form in spans:
        forms.append(f"{begin - at}x{form}")
        at = end
    return Struct("".join(forms))


@dataclass(frozen=True)
class Trimmed:
    """A result in short, and the bytes of its metrics that many results have in common.

    Where its layout is known, ``numbers`` are those of ``layout.names``, and ``bare`` is the result without these
    metrics and without the common ones.
    """

    result: bytes
    common: bytes
    layout: Layout | None = None
    numbers: tuple[float, ...] = ()
    bare: bytes = b""


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
        self._runs: dict[int, bytes] = {}
        self._fixed_runs = -1
        self._seen: set[int] = set()
        self._layouts: dict[bytes, list[Layout]] = {}

    @property
    def seen(self) -> frozenset[str]:
        """Names of metrics that results had and that were not wanted."""
        return frozenset(self._texts[number] for number in self._seen if number < len(self._texts))

    def learn(self, result: bytes) -> None:
        """Take the device's attributes of this result for those of the results that follow.

        Raises ValueError or IndexError for bytes that are no result; then nothing is shortened.
        """
        before, layouts = self._runs, self._layouts
        self._runs, self._fixed_runs, self._layouts = {}, -1, {}  # until all of it was understood
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
        if runs == before:
            self._layouts = layouts

    def trim(self, result: bytes) -> Trimmed | None:
        """The result in short; None where its device's attributes are others, or its fields in another order.

        Raises ValueError or IndexError for bytes that are no result.
        """
        ids = next(_IDS.finditer(result)).end()
        kept = [result[:ids]]
        first = _others(result, ids, kept)
        metrics = result[first:]
        kernel = result[ids:first]
        layout = next((each for each in self._layouts.get(kernel, ()) if each.fits(metrics)), None)
        if layout:
            rest: list[bytes] = []
            if _others(metrics, layout.end, rest) == len(metrics):
                short = b"".join((*kept, *layout.kept(metrics), *rest))
                bare = b"".join((*kept, *layout.bare(metrics), *rest))
                return Trimmed(short, layout.common(metrics), layout, layout.numbers(metrics), bare)
        pieces = self._pieces(metrics)
        if pieces is None:
            return None
        self._meet(kernel, metrics, pieces)
        cut = _Cut(pieces)
        return Trimmed(b"".join((*kept, *cut.kept(metrics))), cut.common(metrics))

    def _meet(self, kernel: bytes, metrics: bytes, pieces: Sequence[_Piece]) -> None:
        """Keep the layout of a result, which is worth its price only where the kernel came before."""
        known = self._layouts.get(kernel)
        if known is None:
            if len(self._layouts) >= _MOST_KERNELS:
                self._layouts.clear()
            self._layouts[kernel] = []
        elif len(known) < _MOST_LAYOUTS:
            first = list(takewhile(lambda piece: piece[-1] != _NO_METRIC, pieces))
            if all(number == _NO_METRIC for *_, number in pieces[len(first) :]):
                with contextlib.suppress(ValueError, IndexError):
                    known.append(Layout(metrics, first, self._texts))

    def _pieces(self, metrics: bytes) -> list[_Piece] | None:  # noqa: C901, PLR0912 - written out for speed
        """The fields of ``metrics``; None where the device's attributes are not those known."""
        pieces: list[_Piece] = []
        fixed_runs = at = 0
        wanted, common, fixed, runs, seen = self._wanted, self._common, self._fixed, self._runs, self._seen
        size = len(metrics)
        while at < size:
            begin = at
            if metrics[at] != _METRIC_KEY:
                at = skip(metrics, at)
                unused = metrics[begin : begin + 2] in _UNUSED
                pieces.append((begin, at, _LEFT_OUT if unused else _KEPT, _NO_METRIC))
                continue
            # Written out, without calls: a report has hundreds of metrics per launch.
            length = metrics[at + 1]
            at += 2
            if length > LOW:
                if metrics[at] <= LOW:
                    length = length & LOW | metrics[at] << 7
                    at += 1
                else:
                    length, at = varint(metrics, at - 1)
            if metrics[at] != _NAME_KEY:
                return None
            number = metrics[at + 1]
            if number > LOW:
                number = number & LOW | metrics[at + 2] << 7
                if number > _TWO_BYTES:
                    number, _ = varint(metrics, at + 1)
            at += length
            what = _LEFT_OUT
            if number in wanted:
                what = _COMMON if number in common else _KEPT
            elif (run := runs.get(number)) is not None and metrics.startswith(run, begin):
                what = _SAME
                at = begin + len(run)
                fixed_runs += number in fixed
            elif number in fixed:
                return None
            else:
                seen.add(number)
            pieces.append((begin, at, what, number))
        if at != size:
            raise ValueError(_BEYOND)
        return pieces if fixed_runs == self._fixed_runs else None


def _others(data: bytes, at: int, kept: list[bytes]) -> int:
    """Go over fields that are no metrics and add to ``kept`` what is of use of them; where they end."""
    begin, size = at, len(data)
    while at < size and data[at] != _METRIC_KEY:
        start = at
        at = skip(data, at)
        if data[start : start + 2] in _UNUSED:
            kept.append(data[begin:start])
            begin = at
    if at > size:
        raise ValueError(_BEYOND)
    kept.append(data[begin:at])
    return at


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
