# SPDX-License-Identifier: BSD-3-Clause
"""The costliest finding comes first, and ranks that are slow for where they sit are reported once."""

from __future__ import annotations

import numpy as np

from perfield.analysis.findings import Answer, Finding, Picture, ranked


def finding(kind, saved_s, *ranks, lost_s=0.0):
    picture = Picture("heat_map", "compute_time_s")
    return Finding(kind, "", saved_s, "", picture, ranks=np.array(ranks, np.int64), lost_s=lost_s)


def kinds(*findings):
    return [each.kind for each in ranked([Answer("", findings)])]


def test_costliest_comes_first_and_what_has_no_known_cost_last():
    found = finding("noise", None), finding("output steps", 1.0), finding("imbalance", 2.0, 3)
    assert kinds(*found) == ["imbalance", "output steps", "noise"]


def test_what_takes_much_comes_before_what_saves_little():
    """Noise that costs 95 % of the steps, although nobody knows what of that could be saved."""
    found = finding("output steps", 1.0), finding("noise", None, lost_s=9.5), finding("far device", None)
    assert kinds(*found) == ["noise", "output steps", "far device"]


def test_what_is_taken_explains_nothing():
    found = finding("shared cores", None, 0, 1, lost_s=9.0), finding("imbalance", 4.0, 1)
    assert kinds(*found) == ["shared cores", "imbalance"]


def test_taken_pus_hide_no_imbalance_of_work():
    found = finding("taken PUs", 9.0, 0, 1), finding("imbalance", 4.0, 1), finding("late rank", 4.0, 1)
    assert kinds(*found) == ["taken PUs", "imbalance"]


def test_imbalance_of_ranks_that_share_a_core_is_reported_as_sharing():
    assert kinds(finding("shared cores", 3.0, 0, 1), finding("imbalance", 4.0, 1)) == ["shared cores"]


def test_imbalance_of_others_or_of_much_more_time_stays():
    both = ["imbalance", "shared cores"]
    assert kinds(finding("shared cores", 3.0, 0, 1), finding("imbalance", 4.0, 2)) == both
    assert kinds(finding("shared cores", 1.0, 0, 1), finding("imbalance", 4.0, 1)) == both
    assert kinds(finding("shared cores", None, 0, 1), finding("imbalance", 4.0, 1)) == both


def test_rank_that_all_wait_for_comes_behind_files_that_explain_half_of_it():
    late, files = finding("rank that all wait for", 1.4, 3), finding("I/O through few ranks", 1.2, 5)
    assert kinds(late, files, finding("output steps", 1.3)) == ["output steps", files.kind, late.kind]
    assert kinds(late, finding("I/O through few ranks", 0.6, 5)) == [late.kind, files.kind]
