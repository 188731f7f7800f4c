# SPDX-License-Identifier: BSD-3-Clause
"""Steps, mesh sizes and scopes of solvers of a fake OpenFOAM, with labels of both sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import run_command

import perfield

HOST = Path(__file__).resolve().parent / "openfoam_host"
MS = 1e-3


@pytest.fixture(scope="module", params=["int", "long"])
def solve(request, build_foam, bin_dir, tmp_path_factory):
    """solve(what): runs the fake solver under perfield; returns its folder and what it printed."""
    programs = build_foam(HOST, f"-DLABEL={request.param}")

    def run(what: str):
        folder = tmp_path_factory.mktemp(what)
        command = [bin_dir / "perfield-exec", programs / "solver", what]
        result = run_command(command, {"PERFIELD_CLOCK": "monotonic"}, folder, 60)
        assert result.returncode == 0, result.stderr
        return folder, result.stdout + result.stderr

    return run


@pytest.fixture(scope="module")
def loop(solve):
    """The run of the solver whose function objects take 30 ms after every fourth step of 5 ms."""
    return perfield.open(solve("loop")[0] / "perfield-run")


def test_function_objects_count_in_the_step_whose_time_they_carry(loop):
    assert [frame.time for frame in loop.frames()] == [0.5 * n for n in range(1, 9)]
    for frame in loop.frames():
        took = 35 * MS if frame.label % 4 == 0 else 5 * MS
        assert frame.values["step_time_s"] == pytest.approx(took), frame.label


def test_cells_and_points_are_those_of_all_meshes_alive_at_the_end_of_the_step(solve):
    run = perfield.open(solve("meshes")[0] / "perfield-run")
    frames = list(run.frames())
    np.testing.assert_array_equal([frame.values["cells"][0] for frame in frames], [701, 1401, 1431, 1401])
    np.testing.assert_array_equal([frame.values["points"][0] for frame in frames], [1008, 2008, 2018, 2008])


def test_loop_without_run_is_reported_with_what_to_do(solve):
    _, printed = solve("own_loop")
    lines = [line for line in printed.splitlines() if "without calling Foam::Time::run()" in line]
    assert len(lines) == 1, printed
    assert lines[0].startswith("perfield: ")
    assert "set step_region" in lines[0]


def test_tool_that_advances_the_time_a_few_times_is_not_warned(solve):
    assert "Foam::Time::run()" not in solve("mesher")[1]


@pytest.fixture(scope="module")
def scopes(solve):
    """The run of the solver that calls GAMGSolver::solve (1 ms) and interfaceProperties::correct (2 ms)."""
    folder, printed = solve("scopes")
    assert printed.count("caught") == 1
    return list(perfield.open(folder / "perfield-run").frames())


def test_functions_of_the_library_become_regions(scopes):
    for frame in scopes:
        assert frame.values["GAMGSolver__solve_count"] == [1]
        assert frame.values["GAMGSolver__solve_time_s"] == pytest.approx(1 * MS)
        assert frame.values["GAMGSolver__solve_time_s"][0] < frame.values["step_time_s"][0]


def test_scope_inside_one_of_the_same_name_counts_once(scopes):
    counts = [frame.values["interface__correct_count"][0] for frame in scopes]
    assert counts == [1] * 6
    assert all(frame.values["interface__correct_time_s"][0] >= 2 * MS for frame in scopes)


def test_exception_through_a_scope_leaves_later_steps_right(scopes):
    times = [frame.values["interface__correct_time_s"][0] for frame in scopes]
    for frame, time_s in zip(scopes[3:], times[3:]):
        assert time_s <= frame.values["step_time_s"][0] - 1 * MS  # GAMGSolver::solve is not inside


def test_regions_of_a_library_opened_in_a_step_begin_with_the_next_step(solve):
    run = perfield.open(solve("plugin")[0] / "perfield-run")
    counts = [frame.values["interface__correct_count"][0] for frame in run.frames()]
    np.testing.assert_array_equal(counts[1:], [1, 1])


def test_library_that_is_closed_and_opened_elsewhere_is_measured_again(solve):
    run = perfield.open(solve("reopened")[0] / "perfield-run")
    counts = [frame.values["wallDist__correct_count"][0] for frame in run.frames()]
    np.testing.assert_array_equal(counts, [np.nan, 1] * 3)
