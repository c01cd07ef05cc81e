"""Results of a report in short."""

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
    assert (found.result, found.common) == (metric(0, 5), metric(3, 8))


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


def of_shapes() -> Trimmer:
    """One for results of ``launch``, whose shape many have in common."""
    made = Trimmer(TEXTS, {"wanted.sum", "other.sum"}, "device__attribute_", {"other.sum"})
    made.learn(launch(1.0))
    return made


def test_a_launch_keeps_its_own_numbers_and_what_is_no_metric() -> None:
    made = of_shapes()
    for value, correlation in ((2.0, 5), (3.0, 6), (4.5, 300)):
        short = made.trim(launch(value, correlation))
        assert short is not None
        ids = whole(1, 650) + whole(2, correlation)
        assert short.result == ids + text(5, b"mangled") + real(0, value) + whole(14, 1) + whole(22, 1)
        assert short.common == metric(3, 9)


def test_what_changes_from_launch_to_launch_is_kept() -> None:
    short = of_shapes().trim(launch(math.inf, 1 << 60, count=8, tail=1 << 40))
    assert short is not None
    assert short.common == metric(3, 8)
    assert real(0, math.inf) in short.result
    assert whole(14, 1 << 40) in short.result


@pytest.mark.parametrize(
    ("changed", "counters", "common"),
    [
        (launch(5.0, count=300), real(0, 5.0), metric(3, 300)),
        (launch(5.0).replace(real(0, 5.0), metric(0, 5)), metric(0, 5), metric(3, 9)),
        (launch(5.0).replace(real(0, 5.0), real(0, 5.0, whole(4, 1))), real(0, 5.0, whole(4, 1)), metric(3, 9)),
        (launch(5.0).replace(metric(4, 1), metric(4, 1) + metric(3, 7)), real(0, 5.0), metric(3, 9) + metric(3, 7)),
        (launch(5.0).replace(metric(4, 1), b""), real(0, 5.0), metric(3, 9)),
        (launch(5.0).replace(DEVICE, real(0, 7.0) + DEVICE), real(0, 5.0) + real(0, 7.0), metric(3, 9)),
        (launch(5.0) + metric(3, 1), real(0, 5.0), metric(3, 9) + metric(3, 1)),
    ],
)
def test_every_wanted_metric_is_kept_as_it_is(changed: bytes, counters: bytes, common: bytes) -> None:
    short = of_shapes().trim(changed)
    assert short is not None
    ids = whole(1, 650) + whole(2, 1)
    assert short.result == ids + text(5, b"mangled") + counters + whole(14, 1) + whole(22, 1)
    assert short.common == common


def test_a_metric_under_another_number_with_the_same_name_is_kept() -> None:
    made = Trimmer([*TEXTS, TEXTS[0]], {"wanted.sum"}, "device__attribute_")
    made.learn(launch(1.0))
    assert real(0, 1.0) + real(len(TEXTS), 7.0) in kept(made, launch(1.0).replace(DEVICE, real(5, 7.0) + DEVICE))


def test_another_device_is_learned_anew() -> None:
    other = launch(5.0).replace(DEVICE, metric(1, 301) + metric(2, 2))
    made = of_shapes()
    assert made.trim(other) is None
    made.learn(other)
    assert made.trim(other) is not None
    assert made.trim(launch(5.0)) is None


@pytest.mark.parametrize("lost", range(1, 9))
def test_a_number_that_is_cut_stays_cut(lost: int) -> None:
    # What is left of it ends with its metric; the next one is no part of it.
    body = b"\x08\x00\x12\x09\x19" + struct.pack("<d", 2.0)[: 8 - lost]
    cut = b"\x6a" + bytes([len(body)]) + body
    found = trimmer().trim(text(5, b"mangled") + cut + DEVICE + metric(3, 9) + whole(22, 1))
    assert found is None or cut in found.result


def test_a_metric_without_a_name_is_left_to_the_reader() -> None:
    nameless = launch(1.0).replace(metric(4, 1), b"\x6a\x00\x6a\x02\x08\x80" + metric(4, 1))
    assert of_shapes().trim(nameless) is None


@pytest.mark.parametrize("seed", range(40))
def test_other_results_make_no_difference_to_a_damaged_one(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - repeatable
    known = of_shapes()
    for _ in range(50):
        data = bytearray(launch(5.0))
        for _ in range(draw.choice((1, 1, 2, 5))):
            data[draw.randrange(len(data))] = draw.choice((0, 1, 8, 13, 0x6A, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        assert outcome(known, bytes(data)) == outcome(of_shapes(), bytes(data))


def outcome(trimmer: Trimmer, result: bytes) -> Trimmed | type[Exception] | None:
    try:
        return trimmer.trim(result)
    except (ValueError, IndexError):
        return ValueError
