# SPDX-License-Identifier: BSD-3-Clause
"""Regions whose time per call differs, as the face fluxes of the dissertation's figures 7.7 to 7.14."""

from __future__ import annotations

import numpy as np
from known_runs.observed_runs import observed_run

from perfield.analysis.findings import time_per_call

COUNTS = np.array([1000, 1500, 800, 1200, 1000, 900, 1100, 1300.0])
COSTLY = np.array([1, 1, 2.5, 1, 1, 1, 1, 1])


def run_of(per_call, counts=COUNTS, **fields):
    """A region "flux" that runs so often in each step, with so much time for each call."""
    random = np.random.default_rng(0)
    time = per_call * counts * np.exp(0.02 * random.standard_normal((60, 8)))
    fields = {"compute_time_s": time, **fields}
    return observed_run(regions={"flux": "Flux::face"}, flux_time_s=time, flux_count=counts, **fields)


def only(found):
    """The one finding."""
    (one,) = found
    return one


def test_a_rank_whose_calls_take_longer_is_named_with_its_counts():
    found = only(time_per_call.find(run_of(4e-6 * COSTLY)))
    assert found.kind == "time that counts do not explain" and found.ranks.tolist() == [2]
    assert found.regions == ("Flux::face",) and found.picture.field == "flux_time_s"
    assert " for each call of Flux::face (9.97 µs, the mean is 4.54 µs)" in found.words
    assert "800 times in a step there, and 1,100 times in the mean." in found.words


def test_counts_that_explain_the_time_are_no_finding():
    assert not list(time_per_call.find(run_of(4e-6, COUNTS * COSTLY)))


def test_cells_that_explain_the_time_of_a_call_are_left_to_the_imbalance():
    assert not list(time_per_call.find(run_of(4e-6 * COSTLY, np.full(8, 1000.0), cells=500 * COSTLY)))


def test_a_region_that_runs_once_in_a_step_has_no_counts_to_ask():
    assert not list(time_per_call.find(run_of(0.1 * COSTLY, np.ones(8))))


def test_seconds_are_reported_once_by_the_imbalance():
    """Alone it has a cost; where the same ranks are costly in all, that is what the imbalance costs."""
    assert only(time_per_call.find(run_of(4e-6 * COSTLY))).saved_s is None
    even = run_of(4e-6 * COSTLY, compute_time_s=0.02 * np.ones(8))
    assert only(time_per_call.find(even)).saved_s > 0


def test_several_regions_make_one_finding():
    run = run_of(4e-6 * COSTLY)
    run.regions["other"] = "other"
    run.tables.update(other_time_s=0.5 * run.of("flux_time_s"), other_count=run.of("flux_count"))
    found = only(time_per_call.find(run))
    assert found.regions == ("Flux::face", "other") and found.words.endswith("The same is true of other.")
