# SPDX-License-Identifier: BSD-3-Clause
import numpy as np

from perfield.text import begin_of_list, did_you_mean, first_of, in_list, in_ranks, shortened


def test_ranks_and_names_in_a_list():
    assert in_ranks(np.array([2])) == "rank 2"
    assert in_ranks(np.array([5, 2])) == "ranks 5 and 2"
    assert in_ranks(np.arange(7)) == "ranks 0, 1, 2 and 4 more"
    assert (in_list([]), in_list(["a"]), in_list(["a", "b"])) == ("", "a", "a and b")
    assert (first_of(range(3), 3), first_of(range(4), 3)) == ("0, 1, 2", "0, 1, 2, ...")


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
