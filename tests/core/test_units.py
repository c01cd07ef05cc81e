"""Units: every prefix and every spelling, entry by entry; numbers for people."""

from __future__ import annotations

import math

import pytest

from roofctl.core.units import (
    BINARY_PREFIXES,
    DECIMAL_PREFIXES,
    SECTOR_BYTES,
    WARP_THREADS,
    WAVEFRONT_BYTES,
    Unit,
    duration,
    gtxn,
    parse_unit,
    prefixed,
    rate,
    significant,
)


def test_prefix_tables_entry_by_entry() -> None:
    assert DECIMAL_PREFIXES == {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
    assert BINARY_PREFIXES == {"Ki": 1024, "Mi": 1_048_576, "Gi": 1_073_741_824}


def test_sizes_of_hardware() -> None:
    assert (SECTOR_BYTES, WAVEFRONT_BYTES, WARP_THREADS) == (32, 128, 32)


@pytest.mark.parametrize(
    ("text", "dimension", "factor"),
    [
        # times: up to 2024, from 2025, nvprof
        ("nsecond", "seconds", 1e-9),
        ("usecond", "seconds", 1e-6),
        ("msecond", "seconds", 1e-3),
        ("second", "seconds", 1.0),
        ("ns", "seconds", 1e-9),
        ("us", "seconds", 1e-6),
        ("µs", "seconds", 1e-6),
        ("μs", "seconds", 1e-6),
        ("ms", "seconds", 1e-3),
        ("s", "seconds", 1.0),
        # clocks
        ("cycle/second", "hertz", 1.0),
        ("cycle/nsecond", "hertz", 1e9),
        ("cycle/usecond", "hertz", 1e6),
        ("/s", "hertz", 1.0),
        ("hz", "hertz", 1.0),
        ("Khz", "hertz", 1e3),
        ("Mhz", "hertz", 1e6),
        ("Ghz", "hertz", 1e9),
        ("MHz", "hertz", 1e6),
        # bytes: decimal prefixes, K where SI has k
        ("byte", "bytes", 1.0),
        ("Kbyte", "bytes", 1e3),
        ("Mbyte", "bytes", 1e6),
        ("Gbyte", "bytes", 1e9),
        ("Tbyte", "bytes", 1e12),
        ("B", "bytes", 1.0),
        ("KB", "bytes", 1e3),
        ("MB", "bytes", 1e6),
        ("GB", "bytes", 1e9),
        ("byte/second", "bytes_per_second", 1.0),
        ("Gbyte/second", "bytes_per_second", 1e9),
        ("Tbyte/s", "bytes_per_second", 1e12),
        ("byte/s", "bytes_per_second", 1.0),
        ("GB/s", "bytes_per_second", 1e9),
        # counts
        ("", "count", 1.0),
        ("#", "count", 1.0),
        ("inst", "count", 1.0),
        ("sector", "count", 1.0),
        ("request", "count", 1.0),
        ("cycle", "count", 1.0),
        ("warp", "count", 1.0),
        ("block", "count", 1.0),
        ("thread", "count", 1.0),
        ("pass", "count", 1.0),
        ("transactions", "count", 1.0),
        (" sector ", "count", 1.0),
        ("Minst", "count", 1e6),
        ("%", "percent", 1.0),
        ("inst/cycle", "ratio", 1.0),
        ("1/cycle", "ratio", 1.0),
        ("register/thread", "ratio", 1.0),
        ("Kbyte/block", "ratio", 1e3),
    ],
)
def test_every_spelling(text: str, dimension: str, factor: float) -> None:
    assert parse_unit(text) == Unit(dimension, factor)


@pytest.mark.parametrize("text", ["furlong", "2/s", "Ms2", "byte/", "KiB", "Gsecond/s", "mbyte"])
def test_unknown_spellings_are_unknown(text: str) -> None:
    assert parse_unit(text) is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4.814e12, "B/s", "4.814 TB/s"),
        (1.98e9, "Hz", "1.980 GHz"),
        (999.4, "B/s", "999.4 B/s"),
        (999.96, "B/s", "1.000 kB/s"),
        (999_960.0, "B/s", "1.000 MB/s"),
        (0.99996, "B/s", "1.000 B/s"),
        (-5e9, "B/s", "-5.000 GB/s"),
        (0.0, "B/s", "0 B/s"),
        (2.5e18, "B/s", "2500 PB/s"),
        (math.nan, "B/s", "nan B/s"),
        (math.inf, "", "inf"),
        (1234.0, "", "1.234 k"),
    ],
)
def test_prefixed(value: float, unit: str, text: str) -> None:
    assert prefixed(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.6458333, "0.6458"),
        (0.99996, "1.000"),
        (9.9996, "10.00"),
        (999.96, "1000"),
        (17.0, "17.00"),
        (224827.3, "224827"),
        (1e-7, "1.000e-07"),
        (-0.25, "-0.2500"),
        (math.inf, "inf"),
    ],
)
def test_significant_has_four_digits(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (181.6e-6, "181.6 µs"),
        (4.01e-3, "4.010 ms"),
        (2.5, "2.500 s"),
        (12e-9, "12.00 ns"),
        (0.9999999e-3, "1.000 ms"),
        (0.9999999, "1.000 s"),
        (0.0, "0 ns"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_gtxn_counts_sectors() -> None:
    assert gtxn(4814.304e9) == pytest.approx(150.447)


@pytest.mark.parametrize(
    ("name", "value", "unit", "text"),
    [
        ("issue", 1.0446e12, "warp_inst/s", "1045 GIPS"),
        ("launch", 2.1e-6, "s", "2.100 µs"),
        ("int8_tc", 1.869e15, "FLOP/s", "1.869 POP/s"),
        ("fp8_tc", 1.702e15, "FLOP/s", "1.702 PFLOP/s"),
        ("hbm", 4.71e12, "B/s", "4.710 TB/s"),
    ],
)
def test_a_rate_has_the_unit_of_what_it_counts(name: str, value: float, unit: str, text: str) -> None:
    assert rate(name, value, unit) == text
