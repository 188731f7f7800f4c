# SPDX-License-Identifier: BSD-3-Clause
"""Files of weights, as METIS, ParMETIS and Zoltan read them."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from known_runs import fake_run

from perfield.analysis.cell_costs import CellCosts
from perfield.balance.graph import dual_graph
from perfield.balance.weights import write_metis, write_parmetis, write_zoltan
from perfield.pictures.blocks import dataset_of


@pytest.fixture
def costs():
    """Two cubes of 27 cells, the cells of the second three times as costly; a third rank has no cells."""
    return CellCosts(
        rank=np.array([0, 1]),
        block=np.array([0, 0]),
        n_cells=np.array([27, 27]),
        cost_s=np.array([1e-6, 3e-6]),
        measured=np.ones(2, bool),
        n_ranks=3,
        n_steps=10,
    )


@pytest.fixture
def graph():
    return dual_graph([dataset_of(fake_run.cube(rank, "image", cells=3)) for rank in range(2)])


def test_metis_file_has_each_cell_with_weight_and_neighbours(costs, graph, tmp_path):
    unit_s = write_metis(tmp_path / "mesh.graph", costs, graph)
    lines = (tmp_path / "mesh.graph").read_text().splitlines()
    assert lines[0] == "54 117 010"
    assert lines[1 + 2] == "500 2 6 12 28"  # numbered from 1
    assert lines[1 + 27].split()[0] == "1500"
    assert unit_s == pytest.approx(2e-9)


@pytest.mark.skipif(not shutil.which("gpmetis"), reason="gpmetis (Debian: metis) is not installed")
def test_gpmetis_balances_the_costs(costs, graph, tmp_path):
    write_metis(tmp_path / "mesh.graph", costs, graph)
    command = ["gpmetis", tmp_path / "mesh.graph", "2"]
    assert "54, #Edges: 117" in subprocess.run(command, check=True, capture_output=True, text=True).stdout
    part = np.loadtxt(tmp_path / "mesh.graph.part.2", dtype=int)
    load_s = np.bincount(part, costs.of_cells)
    assert load_s.max() / load_s.mean() < 1.1  # as the pieces are, it is 1.5


def test_metis_weights_alone_are_one_per_cell(costs, tmp_path):
    write_metis(tmp_path / "vwgt", costs, None)
    assert (tmp_path / "vwgt").read_text().split() == ["500"] * 27 + ["1500"] * 27


def test_parmetis_files_say_the_distribution_and_weights_of_each_rank(costs, tmp_path):
    write_parmetis(tmp_path, costs)
    assert (tmp_path / "vtxdist.txt").read_text().split() == ["0", "27", "54", "54"]
    weights = [(tmp_path / f"vwgt.{rank}.txt").read_text().split() for rank in range(3)]
    assert weights == [["500"] * 27, ["1500"] * 27, []]


def test_zoltan_files_number_cells_through_all_ranks(costs, tmp_path):
    write_zoltan(tmp_path, costs)
    rows = np.loadtxt(tmp_path / "objects.1.txt")
    assert rows[:, 0].tolist() == list(range(27, 54))
    assert rows[:, 1] == pytest.approx(3e-6)
    assert (tmp_path / "objects.2.txt").read_text() == ""
