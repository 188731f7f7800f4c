# SPDX-License-Identifier: BSD-3-Clause
"""Which messages become lines."""

from __future__ import annotations

import numpy as np

from perfield.analysis.pair_keys import pair_keys
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.lines import Pairs
from perfield.run.frame import UNKNOWN

SOURCE = np.array([0, 0, 1, 2, 3, 3], np.int32)
TARGET = np.array([0, 1, 0, 3, 2, UNKNOWN], np.int32)


def chosen(**conditions) -> list[tuple[int, int]]:
    keep = LineChoice(**conditions).keeps(SOURCE, TARGET)
    return list(zip(SOURCE[keep].tolist(), TARGET[keep].tolist()))


def ranks(*numbers: int) -> np.ndarray:
    mask = np.zeros(4, bool)
    mask[list(numbers)] = True
    return mask


def test_all_messages_are_kept_by_default():
    assert len(chosen()) == len(SOURCE)
    assert LineChoice().is_all


def test_senders_and_receivers_are_both_conditions():
    assert chosen(senders=ranks(0, 3)) == [(0, 0), (0, 1), (3, 2), (3, UNKNOWN)]
    assert chosen(receivers=ranks(0)) == [(0, 0), (1, 0)]
    assert chosen(senders=ranks(1, 3), receivers=ranks(0)) == [(1, 0)]


def test_either_end_may_be_one_of_the_zoomed_ranks():
    assert chosen(either=ranks(1, 3)) == [(0, 1), (1, 0), (2, 3), (3, 2), (3, UNKNOWN)]


def test_messages_between_groups_are_kept_and_unknown_groups_are_not():
    assert chosen(apart=(np.array([0, 0, 1, 2]),)) == [(2, 3), (3, 2)]
    assert chosen(apart=(np.array([0, 1, -1, 2]),)) == [(0, 1), (1, 0)]
    assert chosen(apart=(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 2]))) == [(2, 3), (3, 2)]


def test_pairs_that_are_left_out_keep_no_unknown_peers():
    assert chosen(left_out=np.sort(pair_keys([0, 2], [1, 3]))) == [(0, 0), (1, 0), (3, 2)]


def test_the_heaviest_are_drawn_and_words_say_the_choice():
    size = np.arange(4.0)
    pairs = Pairs(SOURCE[:4], TARGET[:4], {"sent_bytes": size, "sent_count": size})
    drawn, words = LineChoice(most=1, words="only between nodes").heaviest(pairs)
    assert drawn.source.tolist() == [2]
    assert words == "only between nodes; 1 of 4 lines drawn; the rest carry 50 % of the bytes"
