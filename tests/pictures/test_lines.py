# SPDX-License-Identifier: BSD-3-Clause
"""Which messages become lines, and how thick these are."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from perfield.pictures.lines import Pairs, calls_of, heaviest, radii


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
