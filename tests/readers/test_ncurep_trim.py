"""Results of a report in short, also where their layout is known."""

from __future__ import annotations

import math
import random
import struct

import pytest

from roofctl.readers.ncurep.trim import Trimmed, Trimmer
from roofctl.readers.ncurep.wire import fields

from support.report_files import metric, text, whole

TEXTS = ["wanted.sum", "device__attribute_a", "device__attribute_b", "other.sum", "nvlink__x"]
RESULT = text(5, b"mangled") + metric(0, 5) + metric(1, 300) + metric(2, 2) + metric(3, 9) + metric(4, 1) + whole(22, 1)


DEVICE = metric(1, 300) + metric(2, 2)


def kept(short: Trimmer, result: bytes) -> bytes:
    found = short.trim(result)
    assert found is not None
    return found.result


def trimmer() -> Trimmer:
    made = Trimmer(TEXTS, {"wanted.sum"}, "device__attribute_")
    made.learn(RESULT)
    return made


def test_a_result_in_short_has_what_is_wanted_and_all_that_is_no_metric() -> None:
    short = trimmer()
    assert kept(short, RESULT) == text(5, b"mangled") + metric(0, 5) + whole(22, 1)
    assert short.seen == frozenset(TEXTS[1:])


def test_sections_and_the_like_are_left_out() -> None:
    noise = b"".join(text(number, b"x" * 200) for number in (17, 19, 21, 28))
    assert kept(trimmer(), noise + DEVICE + metric(3, 1) + text(15, b"y")) == text(15, b"y")


def test_a_result_of_another_device_is_not_shortened() -> None:
    assert trimmer().trim(metric(0, 5) + metric(1, 301) + metric(2, 2)) is None
    assert trimmer().trim(metric(0, 5) + metric(2, 2) + metric(1, 300)) is None


def test_a_result_that_does_not_name_its_device_is_not_shortened() -> None:
    assert trimmer().trim(metric(0, 5) + metric(3, 9)) is None
    assert trimmer().trim(metric(0, 5) + metric(1, 300)) is None


def test_nothing_is_shortened_by_what_was_not_understood() -> None:
    short = trimmer()
    with pytest.raises((ValueError, IndexError)):
        short.learn(RESULT[:-1] + b"\x6a\x05")
    assert short.trim(RESULT) is None
    assert Trimmer(TEXTS, {"wanted.sum"}, "device__attribute_").trim(RESULT) is None


def test_metrics_that_are_alike_by_chance_only_may_differ() -> None:
    assert kept(trimmer(), metric(0, 5) + DEVICE + metric(4, 2)) == metric(0, 5)


def test_bytes_that_many_results_have_in_common() -> None:
    short = Trimmer(TEXTS, {"wanted.sum", "other.sum"}, "device__attribute_", {"other.sum"})
    short.learn(RESULT)
    found = short.trim(metric(0, 5) + DEVICE + metric(3, 8))
    assert found is not None
    assert (found.result, found.common) == (metric(0, 5) + metric(3, 8), metric(3, 8))


def test_names_beyond_two_bytes() -> None:
    texts = [f"m{number}" for number in range(20_000)]
    short = Trimmer(texts, {"m127", "m128", "m16383", "m16384"}, "device__")
    result = b"".join(metric(number, 1) for number in (126, 127, 128, 129, 16_383, 16_384, 19_999))
    short.learn(result)
    assert kept(short, result) == b"".join(metric(number, 1) for number in (127, 128, 16_383, 16_384))
    assert short.seen == {"m126", "m129", "m19999"}


@pytest.mark.parametrize("cut", range(1, len(RESULT)))
def test_a_result_that_is_cut_is_shortened_whole_or_not_at_all(cut: int) -> None:
    try:
        found = trimmer().trim(RESULT[:cut])
    except (ValueError, IndexError):
        return
    assert found is None or list(fields(found.result))


def real(name: int, value: float, end: bytes = whole(4, 0)) -> bytes:
    return text(13, whole(1, name) + text(2, b"\x19" + struct.pack("<d", value)) + end)


def launch(value: float, correlation: int = 1, *, count: int = 9, tail: int = 1) -> bytes:
    """A result of one kernel; its counter is 0, its shape is 3."""
    ids = whole(1, 650) + whole(2, correlation)
    counted = real(0, value) + DEVICE + metric(3, count) + metric(4, 1)
    return ids + text(5, b"mangled") + counted + whole(14, tail) + text(17, b"x" * 200) + whole(22, 1)


def warm() -> Trimmer:
    """One that knows the layout of ``launch``."""
    made = Trimmer(TEXTS, {"wanted.sum", "other.sum"}, "device__attribute_", {"other.sum"})
    made.learn(launch(1.0))
    for value in (2.0, 3.0):
        made.trim(launch(value))
    return made


def cold() -> Trimmer:
    """One that goes through the next result field by field."""
    made = Trimmer(TEXTS, {"wanted.sum", "other.sum"}, "device__attribute_", {"other.sum"})
    made.learn(launch(1.0))
    return made


def test_the_layout_of_a_kernel_is_known_once_it_comes_again() -> None:
    made = cold()
    shorts = [made.trim(launch(value, correlation)) for value, correlation in ((2.0, 5), (3.0, 6), (4.5, 300))]
    assert [bool(short and short.layout) for short in shorts] == [False, False, True]
    last = shorts[-1]
    assert last is not None
    assert last.layout is not None
    assert (last.layout.names, last.numbers, last.common) == (("wanted.sum",), (4.5,), metric(3, 9))
    assert last.result == whole(1, 650) + whole(2, 300) + text(5, b"mangled") + real(0, 4.5) + metric(3, 9) + whole(
        14, 1
    ) + whole(22, 1)
    assert last.bare == whole(1, 650) + whole(2, 300) + text(5, b"mangled") + whole(14, 1) + whole(22, 1)


def test_what_changes_beside_the_metrics_leaves_the_layout() -> None:
    short = warm().trim(launch(math.inf, 1 << 60, count=8, tail=1 << 40))
    assert short is not None
    assert short.layout is not None
    assert (short.numbers, short.common) == ((math.inf,), metric(3, 8))
    assert whole(14, 1 << 40) in short.result


@pytest.mark.parametrize(
    "changed",
    [
        launch(5.0, count=300),
        launch(5.0).replace(real(0, 5.0), metric(0, 5)),
        launch(5.0).replace(real(0, 5.0), real(0, 5.0, whole(4, 1))),
        launch(5.0).replace(metric(4, 1), metric(4, 1) + metric(3, 7)),
        launch(5.0).replace(metric(4, 1), b""),
        launch(5.0).replace(b"mangled", b"another"),
    ],
)
def test_a_result_that_lies_otherwise_is_gone_through(changed: bytes) -> None:
    short = warm().trim(changed)
    assert short is not None
    assert short.layout is None
    assert short == cold().trim(changed)


def test_another_device_has_no_layout() -> None:
    other = launch(5.0).replace(DEVICE, metric(1, 301) + metric(2, 2))
    made = warm()
    assert made.trim(other) is None
    made.learn(other)
    short = made.trim(other)
    assert short is not None
    assert short.layout is None
    assert made.trim(launch(5.0)) is None


def test_what_was_not_understood_ends_all_layouts() -> None:
    made = warm()
    with pytest.raises((ValueError, IndexError)):
        made.learn(launch(1.0) + b"\x6a\x05")
    assert made.trim(launch(2.0)) is None


@pytest.mark.parametrize("other", [0, len(TEXTS)], ids=["number", "name"])
def test_a_metric_that_is_there_twice_is_left_to_the_reader(other: int) -> None:
    made = Trimmer([*TEXTS, TEXTS[0]], {"wanted.sum", "other.sum"}, "device__attribute_", {"other.sum"})
    made.learn(launch(1.0))
    twice = launch(1.0).replace(DEVICE, real(other, 7.0) + DEVICE)
    for _ in range(3):
        short = made.trim(twice)
    assert short is not None
    assert short.layout is not None
    assert short.numbers == ()


def test_metrics_in_two_places() -> None:
    result = launch(1.0) + metric(3, 1)
    short = warm().trim(result)
    assert short is not None
    assert short.layout is None
    assert short == cold().trim(result)
    assert short.common == metric(3, 9) + metric(3, 1)


@pytest.mark.parametrize("lost", range(1, 9))
def test_a_number_that_is_cut_is_none(lost: int) -> None:
    # What is left of it ends with its metric; the next one is no part of it.
    body = b"\x08\x00\x12\x09\x19" + struct.pack("<d", 2.0)[: 8 - lost]
    cut = b"\x6a" + bytes([len(body)]) + body
    damaged = text(5, b"mangled") + cut + DEVICE + metric(3, 9) + whole(22, 1)
    short = trimmer()
    for _ in range(3):
        found = short.trim(damaged)
        assert found is None or (cut in found.result and not found.numbers)


def test_a_metric_without_a_name_has_no_layout() -> None:
    made = cold()
    nameless = launch(1.0).replace(metric(4, 1), b"\x6a\x00\x6a\x02\x08\x80" + metric(4, 1))
    assert len({made.trim(nameless) for _ in range(3)}) == 1


@pytest.mark.parametrize("seed", range(40))
def test_a_known_layout_changes_nothing(seed: int) -> None:
    """What is known of others makes no difference to a damaged result."""
    draw = random.Random(seed)  # noqa: S311 - repeatable
    known = warm()
    for _ in range(50):
        data = bytearray(launch(5.0))
        for _ in range(draw.choice((1, 1, 2, 5))):
            data[draw.randrange(len(data))] = draw.choice((0, 1, 8, 13, 0x6A, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        assert outcome(known, bytes(data)) == outcome(cold(), bytes(data))


def outcome(trimmer: Trimmer, result: bytes) -> tuple[bytes, bytes] | type[Exception] | None:
    try:
        short: Trimmed | None = trimmer.trim(result)
    except (ValueError, IndexError):
        return ValueError
    return (short.result, short.common) if short else None
