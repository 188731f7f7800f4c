# SPDX-License-Identifier: BSD-3-Clause
import pytest

from perfield.analysis.words import begin_of_list, counted, did_you_mean, shortened


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 ranks"), (1, "1 rank"), (2, "2 ranks"), (12000, "12,000 ranks")]
)
def test_one_thing_is_singular_and_all_other_counts_are_plural(count, words):
    assert counted(count, "rank") == words


def test_a_long_name_keeps_its_begin_and_its_end():
    name = "Foam::fvMatrix<double>::solveSegregated(Foam::dictionary)"
    assert shortened(name, len(name)) == name
    short = shortened(name, 34)
    assert (len(short), short[:12], short[-11:]) == (34, name[:12], name[-11:])


def test_a_name_of_several_lines_becomes_one_printable_line():
    assert shortened("two  words\x1b", 34) == "two words\\x1b"


def test_a_long_list_is_cut_behind_a_comma():
    assert begin_of_list("0-3,8") == "0-3,8"
    cut = begin_of_list(",".join(map(str, range(0, 100, 2))))
    assert len(cut) <= 40
    assert cut.endswith("22,24,...")


def test_a_wrong_name_gets_the_nearest_known_ones():
    known = ["compute_time_s", "waiting_time_s", "cells"]
    assert did_you_mean("compute_tim_s", known, 1) == "did you mean compute_time_s?"
    assert did_you_mean("time_s", known) == "did you mean waiting_time_s or compute_time_s?"
    assert did_you_mean("xyz", known) == ""
