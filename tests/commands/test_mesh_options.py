# SPDX-License-Identifier: BSD-3-Clause
"""--mesh and --rank-array: a run whose program described no mesh is shown on a file with ranks."""

from __future__ import annotations

import json
import os

import pytest
from known_runs.mesh_file_writers import row_of_cubes, write_ensight, write_vtu

import perfield
from twins import twin

RANKS = 3


@pytest.fixture
def without_mesh(tmp_path):
    """A run of three ranks whose program described no mesh."""
    return twin.write_run(tmp_path / "run", ranks=RANKS, steps=3, mesh=False)


def described(run):
    """What pictures.json says."""
    return json.loads((run / "pictures/pictures.json").read_text())


def test_render_shows_ranks_on_a_file_and_its_title_says_so(perfield_cli, without_mesh, tmp_path):
    path = write_ensight(tmp_path, {"mpi_rank_id": [0, 2, 1, 1]})
    result = perfield_cli("render", without_mesh, "--mesh", path, "--rank-array", "mpi_rank_id")
    assert result.returncode == 0, result.stderr
    assert "mesh from results.case, ranks by mpi_rank_id" in result.stdout
    pictures = described(without_mesh)
    assert pictures["mesh_way"] == "mesh from results.case, ranks by mpi_rank_id"
    assert pictures["layers"]["geometry"]["bounds"] == [0, 4, 0, 1, 0, 1]


def test_a_described_mesh_needs_no_words_in_titles(perfield_cli, tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=2, steps=2)
    assert perfield_cli("render", run).returncode == 0
    assert described(run)["mesh_way"] == ""


def test_render_goes_on_with_the_next_way_and_says_why(perfield_cli, tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=2, steps=2)
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(2, {"p": [1, 2]}))
    result = perfield_cli("render", run, "--mesh", path, "--rank-array", "owner")
    assert result.returncode == 0, result.stderr
    assert "note: " in result.stdout and "has no array 'owner'; it has p." in result.stdout
    assert "Shown instead: mesh as the program described it." in result.stdout
    assert (run / "pictures/geometry.pvd").exists()


def test_ranks_without_cells_are_reported(perfield_cli, without_mesh, tmp_path):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(2, {"rank": [0, 2]}))
    result = perfield_cli("render", without_mesh, "--mesh", path)
    assert "gives no cell to 1 of 3 ranks (1), so these have no piece" in result.stdout
    assert "1 of 3 ranks have no mesh, or an empty piece: 1" in result.stdout


def test_info_says_where_the_mesh_comes_from(perfield_cli, without_mesh, tmp_path):
    path = write_vtu(tmp_path / "m.vtu", row_of_cubes(3, {"rank": [0, 1, 2]}))
    result = perfield_cli("info", without_mesh, "--mesh", path)
    assert "\nmesh       from m.vtu, ranks by rank\n" in result.stdout
    run = twin.write_run(tmp_path / "described", ranks=2, steps=2)
    assert "\nmesh       as the program described it\n" in perfield_cli("info", run).stdout


def test_a_plain_file_of_no_use_is_reported_by_info_and_render(perfield_cli, without_mesh, tmp_path):
    path = tmp_path / "m.vtu"
    path.write_text("nothing")
    for command in ("info", "render"):
        result = perfield_cli(command, without_mesh, "--mesh", path)
        assert result.returncode == 0
        assert "m.vtu" in result.stdout and "it is damaged" in result.stdout


def test_a_run_without_a_mesh_is_shown_as_boxes_and_every_command_says_so(perfield_cli, without_mesh):
    result = perfield_cli("render", without_mesh)
    assert result.returncode == 0, result.stderr
    assert "so ranks are boxes." in result.stdout
    assert described(without_mesh)["mesh_way"] == "boxes placed by messages, not by space"
    printed = perfield_cli("info", without_mesh).stdout
    assert "\nmesh       boxes placed by messages, not by space\n" in printed


def test_boxes_are_shown_in_the_place_of_a_described_mesh(perfield_cli, tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=2, steps=2)
    result = perfield_cli("render", run, "--mesh", "boxes")
    assert result.returncode == 0, result.stderr
    assert described(run)["mesh_way"] == "boxes placed by messages, not by space"


def test_a_mesh_that_the_run_wrote_is_found_and_reported(perfield_cli, without_mesh, tmp_path):
    path = write_ensight(tmp_path, {"mpi_rank_id": [0, 2, 1, 1]})
    begin, end = perfield.open(without_mesh).realtime_ns
    os.utime(path, ns=(begin + (end - begin) // 2,) * 2)
    info = json.loads((without_mesh / "run.json").read_text())
    (without_mesh / "run.json").write_text(json.dumps({**info, "working_directory": str(tmp_path)}))
    printed = perfield_cli("info", without_mesh).stdout
    assert "\nmesh       from results.case, written during the run, ranks by mpi_rank_id\n" in printed
    os.utime(path, ns=(end + 1,) * 2)
    assert "\nmesh       boxes" in perfield_cli("info", without_mesh).stdout
