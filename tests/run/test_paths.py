# SPDX-License-Identifier: BSD-3-Clause
"""Call paths of regions in runs: which rows belong to which path, and what damage does."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from perfield.derived import tables
from perfield.derived.stacks import stacks_of
from twins import twin

REGIONS = ("main", "solve", "pEqn", "UEqn")
MAIN, SOLVE, P, U = range(1, 5)
P_MPI = 0  # quantity of write_run
UNIT = 50_000  # ns, of all times here
# The paths of even ranks: (number, around it, region). Odd ranks have other numbers.
PATHS = [(1, 0, MAIN), (2, 1, P), (3, 2, SOLVE), (4, 1, U), (5, 4, SOLVE)]


def number(rank, path):
    return path if rank % 2 == 0 or not path else 100 - path


def path_row(rank, path, region, whole=0, own=0, mpi=0, count=0):
    times = {"inclusive_sum_ns": whole * UNIT, "inclusive_max_ns": whole * UNIT, "self_sum_ns": own * UNIT}
    return {"path": number(rank, path), "region": region, "count": count, "mpi_ns": mpi * UNIT, **times}


def nested(rank, step, values):
    """main(20) = pEqn(10) with solve(8, 3 of it MPI), UEqn(6) with solve(2 + rank)."""
    more = rank
    values["regions"] = [
        twin.region_row(MAIN, (20 + more) * UNIT, 4 * UNIT),
        twin.region_row(SOLVE, (10 + more) * UNIT, (10 + more) * UNIT, count=6),
        twin.region_row(P, 10 * UNIT, 2 * UNIT),
        twin.region_row(U, (6 + more) * UNIT, 4 * UNIT),
    ]
    values["quantities"] = [
        {"region": region, "quantity": P_MPI, "value": 3 * UNIT} for region in (MAIN, SOLVE, P)
    ]
    values["paths"] = [
        path_row(rank, 2, P),
        path_row(rank, 3, SOLVE, 8, 8, 3, 5),
        path_row(rank, 4, U),
        path_row(rank, 5, SOLVE, 2 + more, 2 + more, 0, 1),
    ]


@pytest.fixture
def made(tmp_path):
    """made(change, paths): the run of two ranks and two steps, with definitions of these paths."""

    def make(change=nested, paths=PATHS):
        path = twin.write_run(tmp_path / "run", 2, 2, regions=REGIONS, change_step=change, ended=False)
        for rank in range(2):
            writer = twin.Writer(next((path / "stream").glob("*.pf")), rank)
            writer.sequence = 1000
            if paths:
                rows = [(number(rank, own), number(rank, around), region) for own, around, region in paths]
                writer.add("paths", twin.paths_body(rows))
        return perfield.open(path)

    return make


def units(table, rank, column="time_s"):
    """The times of one step by path."""
    rows = table[(table["rank"] == rank) & (table["step"] == table["step"].min())]
    return {path: round(1e9 * value / UNIT, 6) for path, value in zip(rows["path"], rows[column])}


def test_one_region_inside_two_others_has_a_row_for_each(made):
    table = made().paths().compute()
    assert units(table, 0) == {
        **{"main": 20, "pEqn < main": 10, "solve < pEqn < main": 8},
        **{"UEqn < main": 6, "solve < UEqn < main": 2},
    }
    assert units(table, 1)["solve < UEqn < main"] == 3, "ranks have numbers of their own"
    assert table.groupby("path")["count"].sum()["solve < pEqn < main"] == 20
    assert set(table[table["path"] == "solve < pEqn < main"]["region"]) == {"solve"}


def test_a_region_on_one_path_has_its_own_numbers_there(made):
    table = made().paths().compute()
    assert units(table, 0, "self_time_s")["pEqn < main"] == 2
    assert units(table, 0, "mpi_time_s") == {
        **{"main": 3, "pEqn < main": 3, "solve < pEqn < main": 3},
        **{"UEqn < main": 0, "solve < UEqn < main": 0},
    }


def test_own_times_of_paths_add_up_to_the_outermost_region(made):
    table = made().paths().compute()
    assert sum(units(table, 1, "self_time_s").values()) == pytest.approx(units(table, 1)["main"])


def test_what_found_no_room_is_on_other_paths(made):
    def change(rank, step, values):
        nested(rank, step, values)
        values["paths"][3] |= {"path": 0}

    assert units(made(change).paths().compute(), 0)["solve < other paths"] == 2


def test_rows_of_lost_definitions_are_on_other_paths(made):
    found = units(made(paths=[row for row in PATHS if row[0] != 4]).paths().compute(), 0)
    assert found["UEqn < other paths"] == 6 and found["solve < other paths"] == 2
    assert sum(found.values()) == 46


def test_damaged_definitions_that_contain_themselves_are_lost(made):
    found = units(made(paths=[*PATHS[:3], (4, 5, U), (5, 4, SOLVE)]).paths().compute(), 0)
    assert found["solve < other paths"] == 2 and found["solve < pEqn < main"] == 8


def test_runs_without_paths_have_none(made):
    def without(rank, step, values):
        nested(rank, step, values)
        del values["paths"]

    run = made(without, paths=None)
    assert not len(run.paths().compute()) and not run.known_paths.all and tables.paths(run) == ([], 0)


def test_a_step_that_is_not_there_is_an_error(made):
    with pytest.raises(KeyError, match="step 77"):
        made().paths(77)


def test_the_table_of_paths_says_what_balancing_would_save_there(made):
    rows, n = tables.paths(made())
    assert n == 2 and [row["path"] for row in rows] == ["solve < UEqn < main", "solve < pEqn < main"]
    assert rows[0]["balancing_saves_s"] == pytest.approx(2 * 0.5 * UNIT * 1e-9)  # 3 and 2, in two steps
    assert rows[0]["largest_compute_time_s"] == pytest.approx(3 * UNIT * 1e-9) and rows[0]["of_rank"] == 1
    assert rows[1]["largest_compute_time_s"] == pytest.approx(5 * UNIT * 1e-9), "of 8, 3 are waiting in MPI"
    assert rows[1]["mpi_share"] == pytest.approx(3 / 8) and rows[1]["imbalance"] == pytest.approx(1)


def test_stacks_divide_the_steps_of_each_rank(made):
    run = made()
    stacks = stacks_of(run, np.arange(len(run)))
    names = [tuple(frame.name for frame in stack) for stack in stacks.all]
    of = dict(zip(names, 1e9 * stacks.time_s / UNIT))
    assert of["main", "pEqn", "solve"] == pytest.approx([10, 10])
    assert of["main", "pEqn", "solve", "MPI"] == pytest.approx([6, 6])
    assert of["main", "UEqn", "solve"] == pytest.approx([4, 6])
    steps = np.sum([run.frame(number).values["step_time_s"] for number in range(len(run))], axis=0)
    assert stacks.time_s.sum(axis=0) == pytest.approx(steps)
