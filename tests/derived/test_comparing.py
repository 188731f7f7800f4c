# SPDX-License-Identifier: BSD-3-Clause
"""What a comparison reads of a run, against the run's own Dataset."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import mixed_spans

import perfield
from perfield.derived.comparing import mean_by_rank, measured, mesh_changes
from perfield.derived.observe import observe
from perfield.run import RunError
from twins import twin


def test_numbers_per_step_are_those_of_the_dataset(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=6))
    found, steps = measured(run, "run"), run.steps.compute()
    assert (found.n_ranks, found.regions) == (4, {"solve": "solve", "exchange": "exchange"})
    np.testing.assert_allclose(found.means["step_time_s"], steps.step_time_s.mean("rank"))
    solve = steps.region_time_s.sel(region="solve")
    np.testing.assert_allclose(found.means["solve_time_s"], solve.fillna(0).mean("rank"))
    np.testing.assert_allclose(found.sums["sent_bytes"], steps.sent_bytes.sum("rank"))
    np.testing.assert_allclose(found.largest["resident_bytes"], steps.resident_bytes.max("rank"))
    cost = steps.region_compute_time_s.sel(region="solve").fillna(0)
    np.testing.assert_allclose(found.unbalanced["solve"], cost.max("rank") - cost.mean("rank"))
    np.testing.assert_allclose(found.tables["compute_time_s"], steps.compute_time_s, rtol=1e-6)


def test_ranks_that_did_not_enter_a_region_count_as_zero(tmp_path):
    def only_rank_0(rank, step, values):
        if rank:
            values["regions"] = [row for row in values["regions"] if row["id"] != 1]

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=3, change_step=only_rank_0))
    of_rank_0 = run.steps.region_time_s.sel(region="solve", rank=0).compute()
    np.testing.assert_allclose(measured(run, "run").means["solve_time_s"], of_rank_0 / 4)


def test_frames_of_several_steps_give_the_values_of_one(tmp_path):
    one = measured(perfield.open(twin.write_run(tmp_path / "one")), "one")
    ten = measured(perfield.open(twin.write_run(tmp_path / "ten", sum_every=10)), "ten")
    np.testing.assert_allclose(ten.means["step_time_s"], one.means["step_time_s"] / 10)
    np.testing.assert_allclose(ten.tables["mpi_time_s"], one.tables["mpi_time_s"] / 10)
    np.testing.assert_allclose(ten.largest["resident_bytes"], one.largest["resident_bytes"])


def test_found_steps_that_were_joined_give_the_values_of_one(tmp_path):
    """Short steps that perfield found are joined: here two are single ones, then three make one."""

    def label(rank, step, values):
        values["label"] = step if step < 2 else 3 * step - 2

    path = twin.write_run(tmp_path / "run", steps=6, change_step=label)
    whole = measured(perfield.open(path), "run")
    (stream,) = (path / "stream").iterdir()
    noted = twin.Writer(stream, 0)
    noted.sequence = 1000
    noted.add("sites", twin.json_body({"found": "0123456789abcdef", "sites": [], "modules": []}))
    run = perfield.open(path)
    held = [1, 1, 3, 3, 3, 3]
    assert run.steps_held(np.arange(6)).tolist() == held
    found = measured(run, "run")
    assert found.spans.tolist() == held
    np.testing.assert_allclose(found.means["step_time_s"], whole.means["step_time_s"] / held)
    assert observe(run, ["step_time_s"]).span.tolist() == held
    mean_s = mean_by_rank(run, "step_time_s", np.arange(6))
    np.testing.assert_allclose(mean_s, run.steps.step_time_s.sum("step") / sum(held))


def test_steps_that_not_all_ranks_closed_are_left_out_and_reported(tmp_path):
    def rank_3_stops(rank, step, values):
        return not (rank == 3 and step == 4)

    path = twin.write_run(tmp_path / "run", steps=5, ended=False, change_step=rank_3_stops)
    found = measured(perfield.open(path), "run")
    assert found.positions.tolist() == [0, 1, 2, 3]
    assert found.left_out == ("1 of 5 steps of run are left out, as not all ranks closed them",)


def test_uneven_steps_are_left_out_and_reported(tmp_path):
    def other_label(rank, step, values):
        values["label"] = step + (rank == 2 and step == 1)

    run = perfield.open(twin.write_run(tmp_path / "run", steps=5, change_step=other_label))
    found = measured(run, "run")
    assert found.positions.tolist() == [0, 2, 3, 4]
    assert "ranks may have done different things" in found.left_out[0]


def test_run_without_even_steps_is_refused(tmp_path):
    def all_uneven(rank, step, values):
        values["label"] = rank

    run = perfield.open(twin.write_run(tmp_path / "run", steps=2, change_step=all_uneven))
    with pytest.raises(RunError, match="no step in which all ranks did the same"):
        measured(run, "run")


def test_mean_by_rank_leaves_absent_values_out(tmp_path):
    def rank_2_never_solves(rank, step, values):
        values["regions"] = [row for row in values["regions"] if rank != 2 or row["id"] != 1]

    run = perfield.open(twin.write_run(tmp_path / "run", steps=6, change_step=rank_2_never_solves))
    found = mean_by_rank(run, "solve_time_s", np.array([1, 2, 4]))
    solve = run.steps.region_time_s.sel(region="solve").isel(step=[1, 2, 4]).compute()
    np.testing.assert_allclose(found, solve.mean("step"))
    assert np.isnan(found[2]) and np.isfinite(found[[0, 1, 3]]).all()


def test_mean_by_rank_is_that_of_all_steps_however_long_frames_are(tmp_path):
    spans = [1, 1, 2, 4, 4]
    paths = [
        mixed_spans.write(tmp_path / str(n), {0: each, 1: each}) for n, each in enumerate(([1] * 12, spans))
    ]
    one, several = (
        mean_by_rank(run, "compute_time_s", np.arange(len(run))) for run in map(perfield.open, paths)
    )
    np.testing.assert_allclose(several, one)


def test_unknown_field_is_refused_with_the_nearest_name(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run"))
    with pytest.raises(RunError, match="has no field 'solve_tim_s'; did you mean solve_time_s"):
        mean_by_rank(run, "solve_tim_s", np.arange(2))


def test_a_mesh_that_changes_is_noticed(tmp_path):
    def new_mesh(rank, step, values):
        values["mesh_version"] = 2 if rank == 1 and step >= 3 else 1

    run = perfield.open(twin.write_run(tmp_path / "run", steps=5, change_step=new_mesh))
    assert mesh_changes(run, np.arange(5))
    assert not mesh_changes(run, np.arange(3)) and not mesh_changes(run, np.arange(3, 5))


def test_a_mesh_on_disk_changes_with_its_number_of_cells(tmp_path):
    def refined(rank, step, values):
        values["mesh_version"] = 0
        cells = 64 + 8 * (rank == 1 and step == 3)
        values["quantities"] = [{"region": twin.OF_RANK, "quantity": 0, "value": cells}]

    declared = (("cells", "1", "rank", "sum", "last"),)
    path = twin.write_run(tmp_path / "run", steps=5, mesh=False, quantities=declared, change_step=refined)
    run = perfield.open(path)
    assert mesh_changes(run, np.arange(5)) and not mesh_changes(run, np.arange(3))
