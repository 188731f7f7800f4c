# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations, communicators and sizes of messages of a run."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from known_runs import collective_runs

import perfield
from perfield.derived.view import per_step
from perfield.run.collectives import SIZES, communicators_of
from perfield.run.schema import checked
from twins import twin


@pytest.fixture
def run(tmp_path):
    return perfield.open(collective_runs.write_run(tmp_path / "run", steps=3))


def test_communicators_have_their_members_in_order_of_place(run):
    found = {one.name: one for one in run.communicators}
    assert [one.size for one in run.communicators] == [8, 4, 4, 2, 2, 2, 2]
    assert found[collective_runs.WORLD].members.tolist() == list(range(8))
    assert found[collective_runs.ROW + 1].members.tolist() == [4, 5, 6, 7]
    assert found[collective_runs.COLUMN + 2].members.tolist() == [2, 6]
    assert found[collective_runs.COLUMN + 2].in_words == "ranks 2, 6"
    assert found[collective_runs.ROW].in_words == "rows"
    assert not any(one.clash for one in run.communicators)


def test_members_without_perfield_are_unknown():
    (one,) = communicators_of([(5, 9, {"size": 4, "rank": 3}), (5, 2, {"size": 4, "rank": 0})])
    assert (one.size, one.places.tolist(), one.members.tolist()) == (4, [0, 3], [2, 9])


@pytest.mark.parametrize(
    ("reported", "words"),
    [
        ([(0, 3, 0), (1, 3, 0)], "ranks 0 and 1 claim the same place 0"),
        ([(0, 3, 0), (0, 3, 1)], "rank 0 claims the places 0 and 1"),
        ([(0, 3, 0), (1, 4, 1)], "rank 0 says that it has 3 ranks, and others say 4"),
    ],
)
def test_communicators_of_one_name_are_reported(reported, words):
    (one,) = communicators_of([(9, rank, {"size": size, "rank": place}) for rank, size, place in reported])
    assert words in one.clash
    assert one.members.tolist() == sorted({rank for rank, _, _ in reported})


def test_each_rank_has_a_communicator_of_its_own_without_a_clash():
    (one,) = communicators_of([(2, rank, {"size": 1, "rank": 0}) for rank in range(3)])
    assert one.clash == ""


@pytest.mark.parametrize("body", [{}, {"size": -1, "rank": 0}, {"size": 2, "rank": 2}, {"size": "x"}])
def test_damaged_descriptions_are_left_out(body):
    assert communicators_of([(9, 0, body)]) == []


def test_frame_holds_the_operations_of_each_rank(run):
    table = run.frame(1).collectives
    row = table[(table["rank"] == 5) & (table["call"] == "alltoall")]
    assert row.tolist() == [(5, collective_runs.ROW + 1, "alltoall", 2, 48_000, 9_000)]
    assert len(table) == 24
    assert pickle.loads(pickle.dumps(run.frame(1))).collectives.tolist() == table.tolist()


def test_operations_are_a_frame_of_data_over_steps(run):
    rows = run.collectives([2, 0])
    assert list(rows.columns) == ["step", "rank", "communicator", "call", "count", "bytes_out", "bytes_in"]
    assert len(rows) == 48 and set(rows["step"]) == {0, 2}
    assert run.collectives().compute()["bytes_out"].sum() == 3 * (36 * 8_000 + 8 * (24 + 80))


def test_frames_of_several_entries_add_up_operations(tmp_path):
    run = perfield.open(collective_runs.write_run(tmp_path / "run", steps=4)).at_span(2)
    table = run.frame(0).collectives
    assert table[(table["rank"] == 3) & (table["call"] == "alltoall")]["bytes_out"].tolist() == [64_000]
    mean = per_step(run).frame(0).collectives
    assert mean[(mean["rank"] == 3) & (mean["call"] == "alltoall")]["bytes_out"].tolist() == [32_000]


def test_sizes_of_messages_are_counted_by_bin(tmp_path):
    def sized(rank, step, values):
        values["messages"] = [
            {"peer": (rank + 1) % 4, "call": twin.ISEND, "count": 3, "bytes": 70_063, "largest": 70_000}
            | twin.sizes_of(0, 63, 70_000)
        ]

    run = perfield.open(twin.write_run(tmp_path / "run", change_step=sized))
    rows = run.message_sizes(1)
    assert list(rows.columns) == ["step", "source", "target", "call", *SIZES]
    assert rows["source"].tolist() == [0, 1, 2, 3] and set(rows["call"]) == {"isend"}
    np.testing.assert_array_equal(rows[list(SIZES)], [[2, 0, 0, 0, 1, 0, 0, 0]] * 4)


def grid_of(name: int, dims: list[int], ranks: range, **more) -> list[tuple[int, int, dict]]:
    """What the ranks of a Cartesian communicator say of it."""
    body = {"size": len(ranks), "dims": dims, "periodic": [0] * len(dims), **more}
    return [(name, rank, {**body, "rank": place}) for place, rank in enumerate(ranks)]


def test_grids_are_reported_in_the_order_in_which_they_were_made():
    first, second = communicators_of([*grid_of(9, [2, 2], range(4)), *grid_of(5, [4], range(4, 8))])
    assert (first.dims, first.periodic) == ((2, 2), (False, False))
    assert first.coordinates.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert second.members.tolist() == [4, 5, 6, 7] and second.coordinates.tolist() == [[0], [1], [2], [3]]


def test_a_grid_that_was_only_made_is_no_communicator_of_the_run(tmp_path):
    def described(rank):
        reported = collective_runs.descriptions(rank)
        made = {"size": 8, "rank": rank, "dims": [4, 2], "periodic": [1, 0], "used": False}
        return [(99, made), *reported, *([(98, {**made, "dims": [2, 4]}), (98, {**made, "used": True})])]

    run = perfield.open(collective_runs.write_run(tmp_path / "run", described))
    assert [(one.name, one.used) for one in run.grids] == [(99, False)]  # 98 says two things of its axes
    assert 98 in {one.name for one in run.communicators}
    assert 99 not in {one.name for one in run.communicators}


@pytest.mark.parametrize(
    "more",
    [{"dims": [3, 2]}, {"dims": [4, 0]}, {"dims": "4"}, {"periodic": [1]}, {"dims": []}, {"dims": [2, 2.0]}],
)
def test_damaged_axes_of_a_grid_make_it_no_grid(more):
    (one,) = communicators_of(
        [
            (9, rank, checked("communicator", {**body, **more})[0])
            for _, rank, body in grid_of(9, [2, 2], range(4))
        ]
    )
    assert (one.size, one.dims, one.periodic) == (4, (), ())
