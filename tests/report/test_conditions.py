# SPDX-License-Identifier: BSD-3-Clause
"""Conditions on a report's numbers: what they accept, when they fail a run, and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfield.report.conditions import OPERATORS, ConditionError, failed, parsed

NUMBERS = {
    "imbalance": 1.98,
    "waiting_share": 0.31,
    "step_time_s": 0.028,
    "resident_bytes": 2.5e9,
    "findings": 2.0,
    "parallel_efficiency": float("nan"),
    "map<int, cell>.imbalance": 1.5,
    "finding:'empty messages'.saved_s": 0.0,
}


def fails(*texts):
    return failed([parsed(text) for text in texts], NUMBERS)


@pytest.mark.parametrize(
    "text",
    [
        "imbalance > 1.3",
        "imbalance>1.3",
        "  imbalance  >=  1.98 ",
        "imbalance != 2",
        "findings == 2",
        "waiting_share >= 31%",
        "waiting_share < 32 %",
        "step_time_s > 15ms",
        "step_time_s < 0.5 min",
        "resident_bytes > 2GB",
        "resident_bytes <= 2.5e9",
        "resident_bytes > 2 GiB",
        "map<int, cell>.imbalance > 1.3",
        "finding:'empty messages'.saved_s <= 0",
    ],
)
def test_condition_that_holds_fails_the_run(text):
    assert len(fails(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "imbalance > 2",
        "imbalance < 1.98",
        "imbalance == 2",
        "waiting_share > 32%",
        "step_time_s > 1s",
        "resident_bytes > 3GB",
        "map<int, cell>.imbalance < 1.5",
        "finding:'empty messages'.saved_s > 1ms",
    ],
)
def test_condition_that_does_not_hold_lets_the_run_pass(text):
    assert fails(text) == []


def test_reason_says_the_measured_value_and_the_condition():
    assert fails("step_time_s > 15 ms", "imbalance > 5", "findings > 1") == [
        "step_time_s is 0.028 s, so 'step_time_s > 15 ms' holds",
        "findings is 2, so 'findings > 1' holds",
    ]


@given(
    st.sampled_from(sorted(OPERATORS)),
    st.floats(-1e12, 1e12, allow_nan=False),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_any_number_compares_as_python_compares(symbol, limit, factor):
    value = limit * factor
    holds = bool(failed([parsed(f"x {symbol} {limit!r}")], {"x": value}))
    assert holds == OPERATORS[symbol](value, limit)


@pytest.mark.parametrize(
    "text",
    ["", "imbalance", "> 1.3", "1.3", "imbalance = 1.3", "imbalance => 1.3", "imbalance >> 1", "a < b < 1"],
)
def test_text_that_is_no_condition_is_refused(text):
    if text == "a < b < 1":  # a name may hold "<", but this one is unknown
        with pytest.raises(ConditionError, match="has no number 'a < b'"):
            fails(text)
        return
    with pytest.raises(ConditionError, match=r"is no condition; expected a name, one of <= >= == != < >"):
        parsed(text)


@pytest.mark.parametrize(
    "limit", ["", "much", "1.3x", "1.3 5", "nan", "inf", "1_000", "__import__('os')", "0x10"]
)
def test_limit_that_is_no_number_is_refused(limit):
    with pytest.raises(ConditionError, match=r"is not a number; expected one such as 1.3"):
        parsed(f"imbalance > {limit}")


def test_unknown_name_is_refused_with_the_nearest_names():
    with pytest.raises(ConditionError, match=r"no number 'imbalanc' .*the nearest names? .*imbalance"):
        fails("imbalanc > 1")


def test_number_without_a_value_in_this_run_is_refused():
    with pytest.raises(ConditionError, match="this run has no value of 'parallel_efficiency'"):
        fails("imbalance > 1", "parallel_efficiency < 0.9")


def test_unit_that_does_not_fit_is_refused():
    with pytest.raises(ConditionError, match="expected a plain number or %"):
        fails("imbalance > 3s")
    with pytest.raises(ConditionError, match="expected a unit of time"):
        fails("step_time_s > 3%")
    with pytest.raises(ConditionError, match="expected a unit of bytes"):
        fails("resident_bytes > 3s")


def test_all_wrong_conditions_are_reported_at_once():
    with pytest.raises(ConditionError, match=r"nosuch.*neither"):
        fails("nosuch > 1", "neither < 2")
