# SPDX-License-Identifier: BSD-3-Clause
"""What all frames of a run say together: kinds of steps, regions, values over all steps."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run

from perfield.output import survey as module
from perfield.output.survey import over_steps, survey


@pytest.fixture
def run(tmp_path):
    """40 steps of 4 ranks; rank 1 computes twice as long. Each 20th step writes 1 MB and takes 9 s."""
    run = fake_run.FakeRun(tmp_path, ranks=4, steps=40)
    for frame in run.frames():
        of_rank = np.array([1.0, 2.0, 1.0, 1.0]) + 0.001 * abs(frame.index - 7)
        frame.values["compute_time_s"] = of_rank + (9.0 if frame.index % 20 == 19 else 0.0)
        frame.values["mpi_time_s"] = 2.5 - of_rank
        frame.values["io_write_bytes"] = np.full(4, 1e6 if frame.index % 20 == 19 else 0.0)
        frame.values["i_flux_compute_time_s"] = 0.5 * of_rank
        frame.values["solve_time_s"] = np.full(4, 2.5)
    return run


def test_output_steps_typical_and_slowest_are_reported(run):
    kinds = survey(run).kinds
    assert np.flatnonzero(kinds.is_output).tolist() == [19, 39]
    assert (kinds.typical in (18, 20), kinds.slowest) == (True, 38)


def test_regions_are_ordered_by_compute_time_not_by_time_with_waiting(run):
    for frame in run.frames():
        frame.values["solve_time_s"] = np.array([9.0, 2.0, 9.0, 9.0])
        frame.values["solve_compute_time_s"] = np.full(4, 2.0)
    assert survey(run).regions == ["i_flux", "solve"]


def test_region_without_calls_inside_is_ordered_by_its_time(run):
    for frame in run.frames():
        frame.values["solve_time_s"] = np.array([9.0, 2.0, 9.0, 9.0])
        frame.values["solve_compute_time_s"] = np.full(4, np.nan)
    assert survey(run).regions == ["solve", "i_flux"]


def test_values_over_steps_are_those_of_computing_waiting_and_regions(run):
    made = survey(run).over_steps
    fields = ("compute_time_s", "mpi_time_s", "i_flux_compute_time_s", "solve_time_s")
    assert set(made) == {
        *(f"{name}_{kind}" for name in fields for kind in ("mean", "p95", "maximum")),
        *("compute_time_imbalance", "i_flux_compute_time_imbalance"),
    }
    flux = np.array([frame.values["i_flux_compute_time_s"] for frame in run.frames()])
    assert made["i_flux_compute_time_s_mean"].values == pytest.approx(flux.mean(axis=0))
    assert made["i_flux_compute_time_s_p95"].values == pytest.approx(np.percentile(flux, 95, axis=0))
    assert made["i_flux_compute_time_s_maximum"].values == pytest.approx(flux.max(axis=0))
    assert made["compute_time_s_mean"].words == "mean of 40 steps"


def test_a_field_that_some_steps_lack_says_in_how_many_it_is_known():
    values = np.array([[1.0, 3.0], [np.nan, np.nan], [3.0, np.nan]])
    made = over_steps({"critical_path_time_s": values}, "3 steps")
    assert made["critical_path_time_s_mean"].words == "mean of 2 of 3 steps"
    assert made["critical_path_time_s_mean"].values.tolist() == [2.0, 3.0]


def test_wanted_fields_are_given_over_steps(run):
    made = survey(run, ["sent_bytes", "rank", "nonsense"]).over_steps
    assert made["sent_bytes_mean"].values.tolist() == [200.0, 200.0, 200.0, 0.0]
    assert not [name for name in made if name.startswith(("rank", "nonsense"))]


def test_imbalance_is_the_share_of_the_ranks_mean():
    values = np.array([[1.0, 3.0], [30.0, 10.0], [np.nan, 5.0], [0.0, 0.0]])
    shares = over_steps({"compute_time_s": values}, "4 steps")["compute_time_imbalance"].values
    assert shares == pytest.approx([(0.5 + 1.5) / 2, (1.5 + 0.5 + 1.0) / 3])


def test_rank_that_is_always_absent_stays_absent():
    values = np.array([[1.0, np.nan], [3.0, np.nan]])
    made = over_steps({"compute_time_s": values}, "2 steps")
    for array in made.values():
        assert np.isnan(array.values).tolist() == [False, True]


def test_one_step_and_one_rank_are_not_summarised():
    assert over_steps({"compute_time_s": np.ones((1, 4))}, "1 step") == {}
    assert "compute_time_imbalance" not in over_steps({"compute_time_s": np.ones((9, 1))}, "9 steps")


def test_long_runs_are_sampled_and_say_so(run, monkeypatch):
    monkeypatch.setattr(module, "MOST_VALUES", 40 * 4)
    made = survey(run).over_steps["compute_time_s_maximum"]
    assert made.words == "maximum of 10 of 40 steps"
    taken = [run.frame(number).values["compute_time_s"] for number in range(0, 40, 4)]
    assert made.values == pytest.approx(np.max(taken, axis=0))


def test_ages_of_a_changing_mesh_are_known(run):
    for frame in run.frames():
        frame.mesh_version[2] = 1 + (frame.index >= 10)
    assert survey(run).mesh_since.tolist() == [0] * 10 + [10] * 30


def test_without_mpi_the_time_of_steps_says_their_kinds(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=5)
    for frame in run.frames():
        frame.values["compute_time_s"][:] = np.nan
    assert survey(run).kinds.slowest == 4


def test_progress_counts_frames(run):
    seen = []
    survey(run, progress=seen.append)
    assert seen == list(range(40))
