# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of a legend: both ends, one notation, a fitting unit."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from perfield.output.images import SCRIPTS

spec = importlib.util.spec_from_file_location("perfield_ticks", SCRIPTS / "ticks.py")
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
ticks, unit_for = module.ticks, module.unit_for


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.7), (1 / 3, 2 / 3), (5.72e-6, 0.00526), (-1e-9, 1e30)])
def test_ticks_include_both_ends_exactly(low, high):
    values = list(ticks(low, high))
    assert (values[0], values[-1], len(values)) == (low, high, 6)


def test_ticks_have_equal_digits():
    assert list(ticks(5.72e-6, 0.00526, 1e3).values()) == ["0.01", "1.06", "2.11", "3.16", "4.21", "5.26"]


def test_values_below_all_powers_of_ten_are_zero():
    assert set(ticks(0.0, 5e-324).values()) == set(ticks(-5e-324, 1e-310, 1e9).values()) == {"0"}


def test_scales_around_zero_have_it_in_their_middle():
    found = ticks(-0.02, 0.02, 1e3)
    assert list(found.values()) == ["-20", "-15", "-10", "-5", "0", "+5", "+10", "+15", "+20"]
    assert len(ticks(-0.012, 0.012)) == 7


def test_narrow_range_gets_enough_digits():
    texts = list(ticks(101325.0, 101325.5).values())
    assert texts[0] == "101325.00"
    assert len(set(texts)) == 6


def test_extreme_ticks_have_exponents():
    assert list(ticks(0.0, 5e7).values())[1] == "1.00e+07"
    assert list(ticks(0.0, 5e-7).values())[-1] == "5.00e-07"


def test_ticks_are_never_minus_zero():
    assert ticks(-1e-9, 1.0)[-1e-9] == "0.00"


def test_counts_get_whole_ticks():
    assert list(ticks(0, 3, whole=True).values()) == ["0", "1", "2", "3"]


def test_single_value_gives_one_tick():
    assert ticks(968.0, 968.0) == {968.0: "968"}


@pytest.mark.parametrize(
    ("unit", "largest", "name"),
    [
        *(("s", 2.0, "s"), ("s", 0.02, "ms"), ("s", 2e-5, "\N{MICRO SIGN}s"), ("s", 1e-12, "ns")),
        *(
            ("s", 0.99971, "s"),
            ("s", 0.9994, "ms"),
            ("s", 0.0, "s"),
            ("B", 999.0, "bytes"),
            ("B", 4e6, "MB"),
            ("B", 0.0, "bytes"),
            ("", 7.0, ""),
        ),
    ],
)
def test_unit_suits_the_largest_value(unit, largest, name):
    assert unit_for(unit, largest)[1] == name


def test_amounts_have_three_digits_and_commas():
    found = [module.amount(value) for value in (0.02468, 20.24, 999.4, 999.6, 3082.0, 1.5e6)]
    assert found == ["0.0247", "20.2", "999", "1,000", "3,080", "1,500,000"]
