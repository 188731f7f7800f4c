# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with units."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers

from perfield.catalyst_scripts.ticks import amount, unit_for
from perfield.text import (
    counted,
    in_bytes,
    in_change,
    in_number,
    in_percent,
    in_seconds,
    in_whole_percent,
    part_of,
)

SIZES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
TIMES = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


@pytest.mark.parametrize(
    ("count", "words"),
    [
        *[(0, "0 B"), (1, "1 B"), (999, "999 B"), (999.5, "1 kB"), (1000, "1 kB"), (999_949, "1 MB")],
        *[(1_234_567, "1.23 MB"), (999.9e3, "1 MB"), (2e12, "2 TB"), (999.7e12, "1 PB"), (2e18, "2,000 PB")],
    ],
)
def test_bytes_at_the_ends_of_units(count, words):
    assert in_bytes(count) == words


@pytest.mark.parametrize(
    ("time_s", "words"),
    [
        *[
            (0.0, "0 s"),
            (1.0, "1 s"),
            (0.9997, "1 s"),
            (0.9994, "999 ms"),
            (999.7e-6, "1 ms"),
            (1234.5, "1,230 s"),
        ],
        *[
            (0.9996e-6, "1 µs"),
            (8e-6, "8 µs"),
            (12.3e-9, "12.3 ns"),
            (-0.25, "-250 ms"),
            (math.nan, "unknown"),
        ],
    ],
)
def test_times_at_the_ends_of_units(time_s, words):
    assert in_seconds(time_s) == words


def read(words: str, units: dict[str, float]) -> tuple[float, float]:
    """The number that a text says, and its size before the unit."""
    assert re.fullmatch(r"-?[\d,.]+ \w+", words), "no exponent, and one unit"
    number, unit = words.split()
    shown = float(number.replace(",", ""))
    return shown * units[unit], abs(shown)


@given(floats(1, 1e18))
def test_bytes_are_right_to_three_digits_in_the_unit_that_suits(count):
    value, shown = read(in_bytes(count), SIZES)
    assert value == pytest.approx(count, rel=0.00501)
    assert 1 <= shown < 1000 or count > 999e15


@given(floats(1e-9, 1e9))
def test_times_are_right_to_three_digits_in_the_unit_that_suits(time_s):
    value, shown = read(in_seconds(time_s), TIMES)
    assert value == pytest.approx(time_s, rel=0.00501)
    assert 1 <= shown < 1000 or time_s > 999
    assert in_seconds(-time_s) == f"-{in_seconds(time_s)}"


@given(floats(1e-4, 1e15))
def test_numbers_are_right_to_three_digits_as_those_of_pictures(number):
    words = in_number(number)
    assert float(words.replace(",", "")) == pytest.approx(number, rel=0.00501)
    assert words == amount(number)
    assert "e" not in words


@given(floats(1000, 999e12))
def test_pictures_choose_the_units_of_bytes_likewise(count):
    factor, unit = unit_for("B", count)
    number, shown = in_bytes(count).split()
    assert shown == unit
    assert float(number.replace(",", "")) == pytest.approx(count * factor, rel=0.00501)  # 1,575 B is a tie


@given(floats(0, 100))
def test_a_share_is_right_to_two_digits_without_exponents(share):
    words = in_percent(share)
    assert "e-" not in words and "e+" not in words
    if share >= 1e-6:
        shown = float(words.removesuffix(" %").replace(",", ""))
        assert shown == pytest.approx(100 * share, rel=0.0501)


def test_shares_at_their_bounds():
    assert [in_percent(share) for share in (0, 1e-9, 0.005, 0.994, 0.996, 1.1, 12.5)] == [
        *("0 %", "less than 0.0001 %", "0.5 %", "99 %", "100 %", "110 %", "1,250 %")
    ]
    assert (in_percent(0.996, 3), in_percent(0.114, 3), in_percent(math.nan)) == (
        "99.6 %",
        "11.4 %",
        "unknown",
    )
    assert [part_of(share) for share in (1.0, 0.996, 0.41)] == ["all of", "nearly all of", "41 % of"]


@given(floats(0, 1))
def test_a_part_is_neither_nothing_nor_all(share):
    words = in_whole_percent(share)
    assert (words == "0 %") == (share <= 1e-9)
    assert (words == "100 %") == (share >= 1 - 1e-9)


@pytest.mark.parametrize(
    ("percent", "words"),
    [
        (0.04, "0"),
        (-0.04, "0"),
        (0.06, "+0.1"),
        (9.96, "+10"),
        (-9.94, "-9.9"),
        (-23.4, "-23"),
        (1234, "+1,234"),
        (-99.8, "-99.8"),
        (-99.99, "-99.9"),
        (-100, "-100"),
    ],
)
def test_a_change_has_its_sign_and_two_digits(percent, words):
    assert in_change(percent) == words


@given(integers(0, 10**12))
def test_one_thing_is_singular_and_all_other_counts_are_plural(count):
    assert counted(count, "rank") == f"{count:,} rank" + "s" * (count != 1)
