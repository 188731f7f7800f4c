# SPDX-License-Identifier: BSD-3-Clause
"""Closing lines on waiting, of runs whose streams say when messages were begun and awaited."""

import re

import pytest
from known_runs.simulated_waits import (
    access,
    collective,
    complete,
    compute,
    end_exposure,
    irecv,
    isend,
    lock,
    post,
    recv,
    send,
    simulate,
    step,
    unlock,
    wait,
)
from known_runs.waiting_runs import MONOTONIC_NS, write_waiting_run

import perfield
from perfield import _bridge
from perfield.derived import waits

MS = 1_000_000


def lines_of(path) -> dict[str, str]:
    lines = _bridge.summary_lines(str(path))
    assert all(len(line) <= 140 for line in lines if "perfield report" not in line), lines
    return {line[:11].strip(): line[11:] for line in lines}


def ring(n_steps=12, ranks=4, late=2, rounds=1):
    """Each rank sends to the next, then all meet; one rank computes 20 ms, the others 1 ms."""
    programs = [[] for _ in range(ranks)]
    for _ in range(n_steps):
        for rank, program in enumerate(programs):
            for _ in range(rounds):
                program += [compute(20 * MS if rank == late else MS)]
                program += [isend((rank + 1) % ranks, "s"), irecv((rank - 1) % ranks, "r"), wait("s", "r")]
            program += [collective("allreduce"), step()]
    return simulate(programs)


def chain(n_steps=12):
    """In each step 0 waits for 1, 1 for 2 and 2 for 3, which computes 10 ms longer."""
    programs = [[], [], [], []]
    for _ in range(n_steps):
        for rank, program in enumerate(programs):
            program += [collective("barrier"), compute(11 * MS if rank == 3 else MS)]
            program += [recv(rank + 1)] if rank < 3 else []
            program += [send(rank - 1)] if rank else []
            program += [step()]
    return simulate(programs)


def in_ms(text: str) -> float:
    """The first time of a line."""
    number, unit = re.search(r"([\d.]+) (s|ms|µs)\b", text).groups()
    return float(number) * {"s": 1e3, "ms": 1.0, "µs": 1e-3}[unit]


@pytest.mark.parametrize("logged", [True, False])
def test_late_rank_is_named_with_what_it_costs(tmp_path, logged):
    path = write_waiting_run(tmp_path / "run", ring(), lambda step: logged)
    lines = lines_of(path)
    assert lines["waits"].startswith("rank 2 costs the others ")
    assert re.search(r" of all known waiting \((late sender|n-to-n)\)$", lines["waits"])
    sums = waits.wait_sums(perfield.open(path))
    assert in_ms(lines["waits"]) == pytest.approx(sums.caused_s[2] * 1e3, rel=0.01)
    assert lines["explained"].startswith("100 % of the time in MPI exactly; ranks wait ")
    assert in_ms(lines["explained"]) == pytest.approx(sums.sure()["time_s"].sum() * 1e3, rel=0.01)
    assert "late sender" in lines["explained"] and "n-to-n" in lines["explained"]


def regions_of_a_ring(n_steps=12):
    """Rank 2 is 19 ms longer in `solve`; all are as long in `flux`, and rank 0 is longer in `write`."""
    programs = [[] for _ in range(4)]
    for _ in range(n_steps):
        for rank, program in enumerate(programs):
            program += [compute(3 * MS, "flux"), compute((20 if rank == 2 else 1) * MS, "solve")]
            program += [compute(2 * MS, "write")] * (rank == 0)
            program += [isend((rank + 1) % 4, "s"), irecv((rank - 1) % 4, "r"), wait("s", "r")]
            program += [collective("allreduce"), step()]
    return simulate(programs)


def test_region_in_which_the_waiting_begins_is_named(tmp_path):
    path = write_waiting_run(tmp_path / "run", regions_of_a_ring())
    lines = lines_of(path)
    assert lines["delay"].endswith(" of that waiting is caused by rank 2 in region solve")
    sums = waits.wait_sums(perfield.open(path))
    reported = dict(zip(sums.parts, sums.caused_in_s[:, 2]))
    assert in_ms(lines["delay"]) == pytest.approx(reported["solve"] * 1e3, rel=0.01)
    assert reported["solve"] > 0.8 * sums.caused_s[2]


def test_time_in_no_region_is_said_to_be_none(tmp_path):
    programs = [[collective("barrier")] for _ in range(3)]
    for _ in range(12):
        for rank, program in enumerate(programs):
            program += [compute(MS, "flux"), compute((20 if rank == 2 else 1) * MS)]
            program += [collective("allreduce"), step()]
    path = write_waiting_run(tmp_path / "run", simulate(programs))
    assert lines_of(path)["delay"].endswith("caused by rank 2 in no region")


def test_no_region_is_named_where_none_holds_half_of_it(tmp_path):
    programs = [[collective("barrier")] for _ in range(3)]
    for _ in range(12):
        for rank, program in enumerate(programs):
            program += [compute((10 if rank == 2 else 1) * MS, name) for name in ("a", "b", "c")]
            program += [collective("allreduce"), step()]
    assert "delay" not in lines_of(write_waiting_run(tmp_path / "run", simulate(programs)))


def test_rank_at_which_a_chain_begins_is_named_and_not_its_neighbours(tmp_path):
    text = lines_of(write_waiting_run(tmp_path / "run", chain()))["waits"]
    assert text.startswith("rank 3 costs the others ") and "100 % of all known waiting" in text


@pytest.mark.parametrize("logged", [True, False])
def test_late_one_sided_partner_is_named_with_what_it_costs(tmp_path, logged):
    programs = [[], [], []]
    for _ in range(12):
        programs[0] += [collective("barrier"), compute(20 * MS), post(1), end_exposure(), step()]
        programs[1] += [collective("barrier"), access(0), complete(), lock(0), unlock(0), step()]
        programs[2] += [collective("barrier"), lock(0), compute(90 * MS), unlock(0), step()]
    lines = lines_of(write_waiting_run(tmp_path / "run", simulate(programs), lambda step: logged))
    assert "late one-sided" in lines["explained"]
    if logged:  # locks are in logs alone
        assert lines["waits"].startswith("rank 2 costs the others ")
        assert lines["waits"].endswith("(late one-sided)")
    assert "messages" not in lines


def test_sums_of_several_messages_give_a_lower_bound(tmp_path):
    path = write_waiting_run(tmp_path / "run", ring(rounds=3), lambda step: step % 4 == 0)
    text = lines_of(path)["explained"]
    assert "by a lower bound" in text and not text.startswith("100 %")
    sums = waits.wait_sums(perfield.open(path))
    assert in_ms(text) == pytest.approx(sums.sure()["time_s"].sum() * 1e3, rel=0.01)


def test_rows_of_several_steps_are_used_without_a_log(tmp_path):
    path = write_waiting_run(tmp_path / "run", ring(), span=3)
    assert in_ms(lines_of(path)["explained"]) == pytest.approx(
        waits.wait_sums(perfield.open(path)).sure()["time_s"].sum() * 1e3, rel=0.01
    )


def test_nobody_is_named_where_too_little_is_explained(tmp_path):
    programs = [[], [], [], []]  # all receive from rank 2, which computes 20 ms longer
    for _ in range(40):
        for rank, program in enumerate(programs):
            program += [compute(21 * MS if rank == 2 else MS)]
            program += [send(other) for other in (0, 1, 3)] if rank == 2 else [recv(2)]
            program += [step()]
    simulation = simulate(programs)
    found = lines_of(write_waiting_run(tmp_path / "all", simulation))
    assert found["waits"].startswith("rank 2 costs the others ")
    assert "too little" not in found["explained"]
    # Of two thirds of the waiting, nobody knows for whom.
    found = lines_of(write_waiting_run(tmp_path / "few", simulation, without=[1, 3]))
    assert "waits" not in found and "delay" not in found
    assert found["explained"].endswith("; too little to name who makes others wait")


def test_balanced_ranks_accuse_nobody(tmp_path):
    assert "waits" not in lines_of(write_waiting_run(tmp_path / "run", ring(late=-1)))


def test_log_that_overflowed_and_clashing_communicators_explain_less(tmp_path):
    clashing = write_waiting_run(tmp_path / "clash", ring(), world_ranks=[0, 1, 1, 0])
    assert "n-to-n" not in lines_of(clashing)["explained"]
    assert not lines_of(clashing)["explained"].startswith("100 %")


def test_runs_without_stamps_have_no_such_line(tmp_path):
    path = write_waiting_run(tmp_path / "run", ring(), without=range(4))
    assert "explained" not in lines_of(path) and "waits" not in lines_of(path)


def test_clocks_of_two_hosts_are_joined_by_their_comparisons(tmp_path):
    """Host b's clock is 7 s ahead; rank 2 is the first there."""

    def ahead(rank, values):
        values["monotonic_ns"] = MONOTONIC_NS + (7_000 * MS if rank >= 2 else 0)

    body = {"reference_rank": 0, "monotonic_ns": MONOTONIC_NS, "offset_ns": -7_000 * MS, "drift_ppb": 0}
    body |= {"round_trip_ns": 2_000, "wander_ppb": 0, "compared_ns": [MONOTONIC_NS, MONOTONIC_NS + 10**9]}
    path = write_waiting_run(
        tmp_path / "run", ring(), hosts=("a", "b"), change_rank=ahead, clocks=((2, body),)
    )
    text = lines_of(path)["waits"]
    assert text.startswith("rank 2 costs the others ")
    sums = waits.wait_sums(perfield.open(path))
    assert in_ms(text) == pytest.approx(sums.caused_s[2] * 1e3, rel=0.01)


def test_clocks_that_nothing_compares_explain_nothing(tmp_path):
    def unsynchronised(rank, values):
        values["monotonic_ns"] = MONOTONIC_NS + 3_000 * MS * rank
        values["realtime_error_ns"] = -1

    path = write_waiting_run(tmp_path / "run", ring(), hosts=("a", "b", "c", "d"), change_rank=unsynchronised)
    lines = lines_of(path)
    assert "waits" not in lines and lines["explained"].startswith("nothing of the time in MPI exactly")


def test_of_many_events_only_the_newest_steps_are_looked_at(tmp_path):
    """Some 144,000 events: more than are kept."""
    path = write_waiting_run(tmp_path / "run", ring(n_steps=60, rounds=300))
    text = lines_of(path)["explained"]
    assert re.search(r", in the last \d+ steps", text)
