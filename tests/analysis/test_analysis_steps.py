# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of steps: output steps, the typical step, the slowest, and what balancing would save."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.analysis.steps import kinds_of_steps, output_steps, savings_s


def steady(n_steps=40, n_ranks=4, seed=3):
    """Compute times near 1 s on all ranks."""
    return 1 + 0.01 * np.random.default_rng(seed).random((n_steps, n_ranks))


def every_20th(n_steps=40, n_ranks=4, bytes_each=1e6):
    """Bytes written by each rank: much in each 20th step, nothing else."""
    written = np.zeros((n_steps, n_ranks))
    written[19::20] = bytes_each
    return written


def test_steps_that_write_every_20th_time_are_output():
    kinds = kinds_of_steps(steady(), every_20th())
    assert np.flatnonzero(kinds.is_output).tolist() == [19, 39]


def test_slow_output_step_is_neither_typical_nor_slowest():
    compute = steady()
    compute[19] += 10.0
    compute[7, 2] += 1.0
    kinds = kinds_of_steps(compute, every_20th())
    assert kinds.slowest == 7
    assert kinds.typical not in (7, 19, 39)


def test_typical_step_is_nearest_to_the_medians_of_all_ranks():
    compute = np.array([[9.0, 1.0], [2.0, 1.0], [2.1, 1.1], [2.2, 1.4], [1.0, 1.2]])
    assert kinds_of_steps(compute).typical == 2  # medians: 2.1, 1.1


def test_log_lines_of_some_steps_are_no_output():
    assert not kinds_of_steps(steady(), every_20th(bytes_each=80.0)).is_output.any()


def test_steps_that_all_write_alike_are_no_output():
    assert not output_steps(np.full((10, 4), 1e6)).any()


def test_output_stands_out_above_steady_writing():
    written = every_20th() + 2e4
    assert np.flatnonzero(output_steps(written)).tolist() == [19, 39]


def test_file_time_says_output_where_bytes_are_unknown():
    seconds = every_20th() * 1e-6
    kinds = kinds_of_steps(steady(), np.full((40, 4), np.nan), seconds)
    assert np.flatnonzero(kinds.is_output).tolist() == [19, 39]
    short = kinds_of_steps(steady(), None, seconds * 1e-3)
    assert not short.is_output.any()


def test_bytes_decide_before_file_time():
    seconds = np.zeros((40, 4))
    seconds[5] = 3.0
    kinds = kinds_of_steps(steady(), every_20th(), seconds)
    assert np.flatnonzero(kinds.is_output).tolist() == [19, 39]


def test_absent_ranks_and_steps_are_passed_over():
    compute = steady(5)
    compute[2] = np.nan
    compute[:, 1] = np.nan
    compute[4, 3] = 7.0
    kinds = kinds_of_steps(compute)
    assert kinds.slowest == 4
    assert kinds.typical not in (2, 4)


@pytest.mark.parametrize("compute", [np.zeros((0, 4)), np.full((3, 4), np.nan), np.zeros((3, 0))])
def test_run_without_compute_times_has_no_typical_step(compute):
    kinds = kinds_of_steps(compute)
    assert (kinds.typical, kinds.slowest) == (None, None)


def test_steps_that_are_all_output_are_still_shown():
    written = np.array([[0.0], [1e6], [0.0]])
    compute = np.array([[np.nan], [1.0], [np.nan]])
    assert kinds_of_steps(compute, written).typical == 1


def test_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"written_bytes has the shape \(40, 3\), but compute_s has"):
        kinds_of_steps(steady(), every_20th(n_ranks=3))
    with pytest.raises(ValueError, match="expected \\(n_steps, n_ranks\\)"):
        kinds_of_steps(np.ones(4))


def test_saving_is_the_time_beyond_the_mean_summed_over_steps():
    compute = np.array([[3.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
    assert savings_s(compute) == pytest.approx(2.0)


def test_rank_outside_a_region_counts_as_zero():
    assert savings_s(np.array([[4.0, np.nan], [np.nan, np.nan]])) == pytest.approx(2.0)
    assert savings_s(np.zeros((0, 4))) == 0.0
