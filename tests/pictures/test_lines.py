# SPDX-License-Identifier: BSD-3-Clause
"""Which messages become lines, and how thick these are."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from perfield.pictures.lines import (
    Pairs,
    PairSums,
    calls_of,
    heaviest,
    joined,
    pairs_of,
    placed,
    radii,
    unknown_of,
)
from perfield.run.frame import MESSAGES, UNKNOWN


def pairs_with(sent_bytes: list[float], sent_count: list[float] | None = None) -> Pairs:
    n_pairs = len(sent_bytes)
    values = {"sent_bytes": np.array(sent_bytes, float)}
    values["sent_count"] = np.array(sent_count or [1] * n_pairs, float)
    return Pairs(np.arange(n_pairs, dtype=np.int32), np.arange(n_pairs, dtype=np.int32) + 1, values)


def test_heaviest_pairs_stay_and_the_rest_is_summed_in_words():
    drawn, words = heaviest(pairs_with([1, 50, 3, 40, 6]), most=2)
    assert drawn.source.tolist() == [1, 3]
    assert drawn.values["sent_bytes"].tolist() == [50, 40]
    assert words == "2 of 5 lines drawn; the rest carry 10 % of the bytes"
    assert heaviest(pairs_with([1] * 3210))[1].startswith("200 of 3,210 lines drawn; the rest carry 94 %")


def test_all_pairs_are_drawn_where_there_is_room():
    pairs = pairs_with([1, 2, 3])
    assert heaviest(pairs, most=3) == (pairs, "")


def test_equal_bytes_are_chosen_by_number_of_messages():
    drawn, words = heaviest(pairs_with([0, 0, 0], [1, 9, 2]), most=1)
    assert drawn.source.tolist() == [1]
    assert words == "1 of 3 lines drawn; the rest carry none of the bytes"


def test_equal_pairs_are_taken_from_all_over_the_run():
    drawn, _ = heaviest(pairs_with([8] * 1000), most=200)
    per_quarter = np.bincount(drawn.source // 250)
    assert per_quarter.min() > 35


def test_line_tapers_to_the_receiver_and_thickens_with_the_logarithm_of_bytes():
    thick = radii(pairs_with([0, 10, 1e5, 1e9, 1e12]), 2.0, 13)
    assert thick.shape == (5, 13)
    assert np.all(np.diff(thick, axis=1) < 0)
    np.testing.assert_allclose(thick[:, -1] / thick[:, 0], 0.25, rtol=1e-6)
    np.testing.assert_allclose(thick[:, 0], [0.6, 0.6, 1.3, 2.0, 2.0], rtol=1e-6)


def test_radius_of_no_lines_is_empty():
    assert radii(pairs_with([]), 1.0, 2).shape == (0, 2)
    assert heaviest(pairs_with([]))[1] == ""


def test_values_of_files_and_devices_are_no_calls():
    values = dict.fromkeys(("isend_bytes", "isend_count", "io_read_bytes", "io_read_count", "sent_bytes"))
    values |= dict.fromkeys(("device_copy_to_bytes", "device_copy_to_count"))
    assert calls_of(SimpleNamespace(values=values)) == ["isend"]


def frame_of(messages: np.ndarray) -> SimpleNamespace:
    return SimpleNamespace(messages=messages, values=dict.fromkeys(("isend_bytes", "put_bytes")))


def random_messages(random: np.random.Generator, n_ranks: int, lowest: int) -> np.ndarray:
    """Unsorted messages, several per pair; a source or target below 0 is not a rank of this world."""
    messages = np.zeros(int(random.integers(0, 900)), MESSAGES)
    for end in ("source", "target"):
        messages[end] = random.integers(lowest, n_ranks, len(messages))
    messages["call"] = random.choice(["isend", "put"], len(messages))
    for name in ("count", "bytes", "empty", "largest"):
        messages[name] = random.integers(0, 3, len(messages))
    return messages


@pytest.mark.parametrize("seed", range(24))
def test_sums_by_pair_choose_the_same_lines_as_all_values_do(seed):
    random = np.random.default_rng(seed)
    n_ranks = int(random.integers(1, 30))
    has_place = np.sort(random.permutation(n_ranks)[: 1 + n_ranks // (1 + seed % 2)])
    cells = SimpleNamespace(rank=has_place, n_ranks=n_ranks)
    sums = PairSums(cells)
    messages = random_messages(random, n_ranks, UNKNOWN if seed % 3 else 0)
    for _ in range(2):  # the second frame has the same peers
        frame = frame_of(messages)
        pairs, unknown = pairs_of(frame), unknown_of(frame)
        every = joined(pairs.chosen(placed(pairs, cells)), unknown.chosen(placed(unknown, cells)))
        expected, words = heaviest(every)
        chosen, same_words = heaviest(sums.of(frame))
        found = sums.in_full(frame, chosen)
        assert same_words == words
        np.testing.assert_array_equal([found.source, found.target], [expected.source, expected.target])
        assert list(found.values) == list(expected.values)
        for name, values in expected.values.items():
            np.testing.assert_array_equal(found.values[name], values, err_msg=name)
        left_out = [messages[what].sum() - every.values[f"sent_{what}"].sum() for what in ("count", "bytes")]
        assert list(sums.left_out(frame)) == left_out
        messages = messages.copy()
        messages["bytes"] = random.integers(0, 9, len(messages))


def test_new_peers_in_the_next_frame_are_seen():
    sums = PairSums(SimpleNamespace(rank=np.arange(3), n_ranks=3))
    messages = np.zeros(2, MESSAGES)
    messages["target"], messages["bytes"] = [1, 2], [5, 7]
    assert sums.of(frame_of(messages)).target.tolist() == [1, 2]
    messages["target"] = [2, 2]
    found = sums.of(frame_of(messages))
    assert (found.target.tolist(), found.values["sent_bytes"].tolist()) == ([2], [12])


def test_messages_with_two_unknown_ends_belong_to_no_rank():
    messages = np.zeros(1, MESSAGES)
    messages["source"] = messages["target"] = UNKNOWN
    messages["count"] = 4
    sums = PairSums(SimpleNamespace(rank=np.arange(3), n_ranks=3))
    frame = frame_of(messages)
    assert len(sums.of(frame).source) == 0 and sums.left_out(frame) == (4, 0)
