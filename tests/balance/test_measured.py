# SPDX-License-Identifier: BSD-3-Clause
"""Costs per cell as a run measured them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from known_runs import fake_run
from known_runs.foam_cases import write_case

import perfield
from perfield.balance import BalanceError, measure
from perfield.balance.measured import ordinary_steps
from perfield.pictures.blocks import MeshMissingError, dataset_of
from perfield.pictures.pieces import choose_pieces
from twins import twin


def open_run(path, **how):
    return perfield.open(twin.write_run(path, **{"ranks": 4, "steps": 5} | how))


def test_costs_are_the_compute_times_over_the_cells(tmp_path):
    run = open_run(tmp_path / "run")
    costs = measure(run, range(5))
    computed = np.mean([frame.values["compute_time_s"] for frame in run.frames()], axis=0)
    assert costs.n_cells.tolist() == [64] * 4
    assert costs.load_s == pytest.approx(computed)
    assert costs.measured.all() and costs.n_steps == 5


def test_mesh_on_disk_and_cells_of_the_run_give_the_same(tmp_path):
    run = open_run(tmp_path / "run")
    with_mesh = measure(run, range(5), choose_pieces(run))
    assert with_mesh.cost_s.tolist() == measure(run, range(5)).cost_s.tolist()


def test_region_counts_its_own_compute_time(tmp_path):
    run = open_run(tmp_path / "run")
    assert measure(run, [0], region="solve").load_s == pytest.approx([1e-3, 2e-3, 3e-3, 4e-3])


def test_unknown_region_names_a_near_one(tmp_path):
    with pytest.raises(BalanceError, match=r"has no region 'solv'; did you mean solve?"):
        measure(open_run(tmp_path / "run"), [0], region="solv")


def test_rank_without_entries_gets_the_mean(tmp_path):
    write_case(tmp_path / "case", ranks=4)
    run = open_run(tmp_path / "run", mesh=False, change_step=lambda rank, step, values: rank != 2)
    costs = measure(run, range(5), choose_pieces(run, tmp_path / "case"))
    assert costs.measured.tolist() == [True, True, False, True]
    assert costs.cost_s[2] == pytest.approx(costs.cost_s[[0, 1, 3]].mean())


def test_region_that_a_rank_did_not_enter_costs_it_nothing(tmp_path):
    def change(rank, step, values):
        if rank == 1:
            values["regions"] = [twin.region_row(2, 200_000)]

    run = open_run(tmp_path / "run", change_step=change)
    assert measure(run, range(5), region="solve").load_s[1] == 0


def test_region_measured_by_block_gives_each_block_its_cost(tmp_path):
    def change(rank, step, values):
        values["regions"] = [twin.region_row(3, 540_000), twin.region_row(4, 80_000)]

    regions = ("solve", "exchange", ("flux", 0), ("flux", 1))
    run = open_run(tmp_path / "run", regions=regions, mesh=False, change_step=change)
    blocks = [(number, dataset_of(fake_run.cube(0, "image", cells))) for number, cells in ((0, 3), (1, 2))]
    costs = measure(run, range(5), SimpleNamespace(blocks=lambda rank, frame: blocks), "flux")
    assert costs.n_cells.tolist() == [27, 8] * 4
    assert costs.cost_s == pytest.approx([20e-6, 10e-6] * 4)


def test_mesh_of_another_step_is_refused(tmp_path):
    write_case(tmp_path / "case", ranks=4)
    cells = ("cells", "1", "rank", "sum", "last")

    def change(rank, step, values):
        values["quantities"] = [{"region": twin.OF_RANK, "quantity": 0, "value": 2}]

    run = open_run(tmp_path / "run", quantities=(cells,), change_step=change)
    assert measure(run, range(5)).n_cells.tolist() == [2, 2, 2, 2]
    with pytest.raises(BalanceError, match="rank 0 has 1 cells in the mesh that was found, but 2 in step 4"):
        measure(run, range(5), choose_pieces(run, tmp_path / "case"))


def test_output_steps_are_left_out(tmp_path):
    def change(rank, step, values):
        if step == 3:
            values["quantities"] = [{"region": twin.OF_RANK, "quantity": twin.FILE_WRITE, "value": 10**7}]

    assert ordinary_steps(open_run(tmp_path / "run", change_step=change)).tolist() == [0, 1, 2, 4]


def test_run_without_mesh_is_refused(tmp_path):
    with pytest.raises(MeshMissingError, match="described a mesh, and no pieces are on disk"):
        measure(open_run(tmp_path / "run", mesh=False), range(5))


def test_run_without_steps_is_refused(tmp_path):
    with pytest.raises(BalanceError, match="has no step to take costs from"):
        measure(open_run(tmp_path / "run", steps=1), [])
