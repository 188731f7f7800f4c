# SPDX-License-Identifier: BSD-3-Clause
"""Labels name only what stands out: few ranks far from the others, a node once, in waiting who causes it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from perfield.output.images import SCRIPTS


@pytest.fixture
def module(monkeypatch):
    """outliers.py, which imports its neighbours as pipelines do."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import outliers

    yield outliers
    for name in ("outliers", "palette", "ticks"):
        sys.modules.pop(name, None)


def of(*values):
    return dict(enumerate(values))


ALIKE = np.random.default_rng(7).normal(2.55, 0.03, 64).tolist()


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((1, 1, 1, 9), [3]),
        ((1, 1.2, 1.1, 1.3), []),
        (((9,) * 8 + (1,) * 8), []),
        ((0, 0, 0, 0), []),
        ((1,) * 20 + (8, 2, 9, 8), [22, 20, 23]),
        ((2.54, 2.55, 2.56, 2.53, 2.55, 2.56, 2.55, 2.56), []),
        (ALIKE, []),
        ((*ALIKE, 3.2), [64]),
        ((5,), []),
        ((), []),
    ],
)
def test_few_values_stand_out_if_they_are_far_above_the_others(module, values, found):
    assert module.outliers(of(*values)) == found


def test_in_waiting_the_rank_that_waits_least_stands_out(module):
    waits = of(39.0, 40.1, 38.5, 0.2, 40.6, 39.1, 39.9, 40.0)
    assert module.outliers(waits, "waiting_time_s") == [3]
    assert module.outliers(waits, "waiting_time_s_mean") == [3]
    assert module.outliers(waits, "compute_time_s") == []


def test_a_node_is_named_once_in_place_of_its_ranks(module):
    nodes = {rank: f"n{rank // 4}" for rank in range(32)}
    one_rank = of(*(9 if rank == 13 else 1 for rank in range(32)))
    one_node = of(*(9 if rank // 4 == 3 else 1 for rank in range(32)))
    assert module.named(one_rank, nodes) == [[13]]
    assert module.named(one_node, nodes) == [[12, 13, 14, 15]]
    mixed = {**one_node, 0: 12}
    assert module.named(mixed, nodes) == [[0], [12, 13, 14, 15]]


def test_no_rank_is_named_where_chance_would_choose(module):
    equal = of(*((9,) * 3 + (1,) * 29))
    assert module.named(equal, {}) == []
    assert module.named({**equal, 0: 10}, {}) == [[0], [1], [2]]


def test_values_have_the_unit_of_the_legend(module):
    about = {"unit": "s", "range": [0.0, 1.7], "scale": [0.0, 0.03]}
    assert module.in_words({3: 0.0194}, [3], about, "compute_time_s") == ": 19.4 ms"
    assert module.in_words({3: 1.7}, [3], about, "compute_time_s") == ": 1,700 ms"
    assert module.in_words({3: 0.0002}, [3], about, "waiting_time_s") == ": only 0.2 ms"
    two = {1: 0.02, 2: 0.03}
    assert module.in_words(two, [1, 2], about, "compute_time_s") == ", 2 ranks: mean 25 ms"
