# SPDX-License-Identifier: BSD-3-Clause
"""perfield render: computing and what ranks cost the others are the first pair of pictures, where the
second is known and does not take long to find."""

from __future__ import annotations

import json

import pytest
from known_runs.simulated_waits import compute, irecv, isend, simulate, step, wait
from known_runs.waiting_runs import write_waiting_run

from perfield import commands
from perfield.output.image_plan import default_values

MS = 1_000_000
CAUSED = "caused_wait_time_s"


def ring(n_steps=6, ranks=4):
    """Each rank sends to the next; rank 2 computes 20 ms and the others 1 ms."""
    programs = [[] for _ in range(ranks)]
    for _ in range(n_steps):
        for rank, program in enumerate(programs):
            program += [compute(20 * MS if rank == 2 else MS)]
            program += [
                isend((rank + 1) % ranks, "s"),
                irecv((rank - 1) % ranks, "r"),
                wait("s", "r"),
                step(),
            ]
    return simulate(programs)


@pytest.fixture
def rendered(tmp_path, capsys):
    """rendered(run, *options): the description of the pictures, and what was printed."""

    def render(path, *options):
        assert commands.main(["render", str(path), "-o", str(tmp_path / "pictures"), *options]) == 0
        description = json.loads((tmp_path / "pictures/pictures.json").read_text())
        return description, capsys.readouterr().out

    return render


def test_first_pair_is_computing_and_caused_waiting(tmp_path, rendered):
    description, said = rendered(write_waiting_run(tmp_path / "run", ring(), lambda number: number % 2 == 0))
    assert default_values(description)[:3] == ["compute_time_s", CAUSED, "waiting_time_s"]
    assert {CAUSED, f"{CAUSED}_mean"} <= set(description["layers"]["topology/measurements"]["arrays"])
    assert "no picture shows which ranks the others wait for" not in said


def test_regions_show_what_they_cost_where_asked_for(tmp_path, rendered):
    name = "solve_caused_wait_time_s"
    description, _ = rendered(write_waiting_run(tmp_path / "run", ring()), "--fields", name)
    shown = description["layers"]["topology/measurements"]["arrays"][name]
    assert (shown["title"], shown["unit"]) == ("solve caused waiting of others", "s")
    assert shown["range"][1] > 0.01


def test_run_without_stamps_keeps_computing_and_waiting(tmp_path, rendered):
    description, said = rendered(write_waiting_run(tmp_path / "run", ring(), without=range(4)))
    assert default_values(description)[:2] == ["compute_time_s", "waiting_time_s"]
    assert "no picture shows which ranks the others wait for" not in said


def test_run_with_many_events_says_what_is_left_out_and_how_to_have_it(tmp_path, rendered, monkeypatch):
    path = write_waiting_run(tmp_path / "run", ring())
    monkeypatch.setattr("perfield.derived.event_blocks.EVENTS_AT_ONCE", 40)  # it has 48
    description, said = rendered(path)
    assert CAUSED not in description["layers"]["topology/measurements"]["arrays"]
    assert (
        "note: no picture shows which ranks the others wait for, as that takes about 48 events; --fields "
        "compute_time_s,caused_wait_time_s reads them\n"
    ) in said
    description, said = rendered(path, "--fields", f"compute_time_s,{CAUSED}")
    assert CAUSED in description["layers"]["topology/measurements"]["arrays"]


def test_run_of_which_little_is_explained_keeps_computing_and_waiting(tmp_path, rendered):
    path = write_waiting_run(tmp_path / "run", ring(), without=(0, 2), busy_in_mpi=(1, 3))
    description, said = rendered(path)
    assert CAUSED not in description["layers"]["topology/measurements"]["arrays"]
    assert "of the time in MPI calls is explained; --fields" in said


def test_chosen_fields_are_not_joined_by_caused_waiting(tmp_path, rendered):
    description, _ = rendered(write_waiting_run(tmp_path / "run", ring()), "--fields", "sent_bytes")
    assert CAUSED not in description["layers"]["topology/measurements"]["arrays"]
