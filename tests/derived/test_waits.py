# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of runs: who waited for whom, in which steps, as tables, fields of frames and sums."""

import re
from functools import partial

import numpy as np
import pytest
from known_runs.simulated_waits import (
    KINDS,
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
from known_runs.waiting_runs import MONOTONIC_NS, ORIGIN_NS, with_waits, write_waiting_run

import perfield
from perfield.analysis.waits import words
from perfield.derived import event_blocks, samples, waits
from perfield.derived.providers import waits as wait_fields
from perfield.derived.view import per_step
from perfield.fields.waits import (
    CAUSED,
    COLLECTIVE,
    LATE_RECEIVER,
    LATE_SENDER,
    ONE_SIDED,
    WAIT_NAMES,
    region_of,
)
from perfield.run.collectives import communicators_of
from perfield.symbols.functions import MPI
from twins import twin

MS = 1_000_000


def ring(n_steps=8, ranks=4, late=2):
    """Each rank sends to the next, then all meet; one rank computes 20 ms, the others 1 ms."""
    programs = [[] for _ in range(ranks)]
    for _ in range(n_steps):
        for rank, program in enumerate(programs):
            program += [compute(20 * MS if rank == late else MS)]
            program += [isend((rank + 1) % ranks, "s"), irecv((rank - 1) % ranks, "r"), wait("s", "r")]
            program += [collective("allreduce"), step()]
    return simulate(programs)


def one_sided(n_steps=4):
    """Rank 0 opens its window late; rank 2 holds a lock for which rank 1 waits."""
    programs = [[], [], []]
    for _ in range(n_steps):
        programs[0] += [compute(10 * MS), post(1), end_exposure(), compute(30 * MS), step()]
        programs[1] += [access(0), complete(), compute(2 * MS), lock(0), unlock(0), step()]
        programs[2] += [compute(9 * MS), lock(0), compute(20 * MS), unlock(0), compute(11 * MS), step()]
    return simulate(programs)


def alternating(n_steps=4):
    """Rank 1 is late for the first message of a step, rank 0 for the second: in sums that cancels."""
    programs = [[], []]
    for _ in range(n_steps):
        programs[0] += [compute(MS), recv(1), compute(11 * MS), send(1), step()]
        programs[1] += [compute(11 * MS), send(0), compute(MS), recv(0), step()]
    return simulate(programs)


def pairs(simulation):
    """The truth: s by (step, rank, cause, kind)."""
    found = {}
    for one in simulation.waits:
        key = one.step, one.rank, one.cause, one.kind
        found[key] = found.get(key, 0.0) + one.time_ns * 1e-9
    return found


def stated(table):
    """The same of a table of wait states."""
    sums = table.groupby(["step", "rank", "cause", "kind"])["time_s"].sum()
    return {key: value for key, value in sums.items() if value > 0}


@pytest.mark.parametrize("logged", [True, False], ids=["logged", "rows of one message"])
def test_who_waited_for_whom_is_exact_in_logs_and_in_rows_of_one_message(tmp_path, logged):
    simulation = ring()
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation, lambda step: logged))
    table = run.wait_states(slice(None))
    assert set(table["exactness"]) == {"exact"}
    assert stated(table) == pytest.approx(pairs(simulation), abs=1e-9)


def test_late_posts_are_exact_in_logs_and_rows_and_locks_in_logs_alone(tmp_path):
    simulation = one_sided()
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation, lambda step: step == 2))
    table = run.wait_states(slice(None))
    long = table[table["time_s"] > 1e-3]
    assert set(long["exactness"]) == {"exact"}
    assert set(long["kind"]) == {"late_one_sided"}
    expected = {key: value for key, value in pairs(simulation).items() if value > 1e-3}
    assert {key[1:3] for key in expected} == {(1, 0), (1, 2)}
    seen = {key: value for key, value in expected.items() if key[2] == 0 or key[0] == 2}
    assert stated(long) == pytest.approx(seen, abs=1e-9)
    assert set(long["call"]) == {"win_start", "lock"}
    frame = with_waits(run).frame(2)
    assert frame.values[ONE_SIDED][1] == pytest.approx(
        expected[2, 1, 0, KINDS[-1]] + expected[2, 1, 2, KINDS[-1]]
    )


def test_one_sided_partners_are_no_messages(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", one_sided(), lambda step: step == 2))
    assert run.messages(slice(None)).empty
    assert not run.frame(1).values["sent_count"].any()
    assert not run.frame(2).values["received_count"].any()
    kinds = run.arrivals().compute()["kind"]
    assert set(kinds.tolist()) == {3}


def test_sums_of_several_messages_give_bounds_and_logs_the_truth(tmp_path):
    simulation = alternating(n_steps=4)
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation, lambda step: step == 2))
    table, truth = run.wait_states(slice(None)), pairs(simulation)
    in_log = table[table["step"] == 2]
    assert stated(in_log) == pytest.approx({key: v for key, v in truth.items() if key[0] == 2}, abs=1e-9)
    of_steps = table.groupby(["step", "rank"])["time_s"].sum()
    for (index, rank), time_s in of_steps.items():
        assert time_s <= sum(v for key, v in truth.items() if key[:2] == (index, rank)) + 1e-9


def test_events_are_on_the_common_clock_and_sorted(tmp_path):
    def later(rank, values):
        values["monotonic_ns"] = MONOTONIC_NS + 7 * MS * rank

    simulation = ring(n_steps=3)
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation, change_rank=later))
    events = run.arrivals().compute()
    key = events["step"] * run.n_ranks + events["rank"]
    assert (np.diff(key) >= 0).all() and set(events["count"].tolist()) == {1}
    truth = simulation.events()
    for rank in range(4):
        expected = truth["begun"][truth["rank"] == rank].min() + ORIGIN_NS + 7 * MS * rank
        assert events["begun"][events["rank"] == rank].min() == expected


def test_arrivals_of_a_step_are_those_of_all_steps(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", ring(n_steps=4), lambda step: step % 2 == 0))
    everything = run.arrivals().compute()
    for index in range(4):
        of_step = everything[everything["step"] == index].reset_index(drop=True)
        assert run.arrivals(index).equals(of_step)
    assert (run.arrivals([3, 1])["step"] == np.repeat([1, 3], 12)).all()
    with pytest.raises(KeyError, match="step 99 is not in"):
        run.arrivals(99)


def test_rows_of_logged_steps_are_not_counted_twice(tmp_path):
    simulation = ring(n_steps=4)
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation, lambda step: step == 1))
    events = run.arrivals().compute()
    assert len(events) == len(simulation.events())
    from_row = events["flags"] & 2 > 0
    assert set(events["step"][from_row].tolist()) == {0, 2, 3}


def test_members_of_communicators_are_known_and_clashing_names_are_not_used(tmp_path):
    simulation = ring(n_steps=2)
    sound = perfield.open(write_waiting_run(tmp_path / "sound", simulation))
    events = sound.arrivals().compute()
    assert set(events["size"][events["kind"] == 2].tolist()) == {4}
    clashing = perfield.open(write_waiting_run(tmp_path / "clash", simulation, world_ranks=[0, 1, 1, 0]))
    events = clashing.arrivals().compute()
    of_collectives = events[events["kind"] == 2]
    assert not of_collectives["channel"].any() and not of_collectives["number"].any()
    assert "n_to_n" not in set(clashing.wait_states(slice(None))["kind"])


def test_self_has_one_name_on_all_ranks_and_clashes_with_nothing():
    reported = [(7, rank, {"size": 1, "rank": 0, "label": ""}) for rank in range(3)]
    assert not any(one.clash for one in communicators_of(reported))


def test_log_that_overflowed_says_so_in_its_events(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", ring(n_steps=2), lost=3))
    assert (run.arrivals().compute()["flags"] & 16).all()


def test_whole_run_and_its_steps_have_the_same_states_in_any_blocks(tmp_path, monkeypatch):
    simulation = alternating(n_steps=9)
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation))
    whole = stated(run.wait_states(slice(None)))
    monkeypatch.setattr(event_blocks, "EVENTS_AT_ONCE", 1)
    assert run.wait_states().npartitions == 9
    assert stated(run.wait_states().compute()) == pytest.approx(whole)
    sums = waits.wait_sums(run)
    assert sums.late["time_s"].sum() == pytest.approx(sum(whole.values()))


def chain(ranks=4):
    """Rank 0 waits for 1, 1 for 2, 2 for 3, which computes 20 ms."""
    programs = []
    for rank in range(ranks):
        program = [collective("barrier")] + [compute(20 * MS)] * (rank == ranks - 1)
        program += [recv(rank + 1)] * (rank < ranks - 1) + [send(rank - 1)] * (rank > 0)
        programs.append([*program, step()])
    return simulate(programs)


def travelling(ranks=11, n_steps=13):
    """Rank 0 is 20 ms late in the second step; each rank hears of its left neighbour in each step."""
    programs = []
    for rank in range(ranks):
        program = [collective("barrier")]
        for number in range(n_steps):
            program += [compute(20 * MS if (rank, number) == (0, 1) else MS)]
            program += [send(rank + 1)] * (rank < ranks - 1)
            program += [irecv(rank - 1, "left"), wait("left")] * (rank > 0)
            program += [step()]
        programs.append(program)
    return simulate(programs)


def test_a_chain_of_waiting_ranks_costs_the_rank_at_its_begin(tmp_path):
    simulation = chain()
    caused = perfield.open(write_waiting_run(tmp_path / "run", simulation)).caused_waits(0).set_index("rank")
    assert caused.time_s[3] == pytest.approx(0.06, rel=0.01)
    assert caused.time_s.drop(3).sum() < 0.001


def test_a_delay_that_travels_ten_steps_costs_the_rank_and_step_of_its_begin(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", travelling()))
    caused = run.caused_waits().compute()
    began = caused[(caused["rank"] == 0) & (caused["step"] == 1)].time_s.sum()
    assert began == pytest.approx(10 * 0.019, rel=0.05)
    assert caused.time_s.sum() - began < 0.01


def by_regions(n_steps=8):
    """Rank 1 is 10 ms longer in `flux` in even steps, rank 2 in `solve` in odd ones; all meet in each."""
    programs = [[collective("barrier")] for _ in range(3)]
    for number in range(n_steps):
        for rank, program in enumerate(programs):
            late = {1: "flux", 2: "solve"}.get(rank if rank == 1 + number % 2 else 0)
            program += [compute((11 if late == name else 1) * MS, name) for name in ("flux", "solve")]
            program += [compute(MS), collective("allreduce"), step()]
    return simulate(programs)


@pytest.mark.parametrize("logged", [True, False], ids=["logged", "rows of one message"])
def test_what_a_rank_costs_is_divided_among_its_regions(tmp_path, logged):
    run = perfield.open(write_waiting_run(tmp_path / "run", by_regions(), lambda step: logged))
    caused = run.caused_waits().compute()
    long = caused[caused["time_s"] > 0.001].groupby(["step", "rank", "region"])["time_s"].sum()
    expected = {(n, 1 + n % 2, "solve" if n % 2 else "flux"): 0.02 for n in range(8)}
    assert long.to_dict() == pytest.approx(expected, rel=0.05)
    sums = waits.wait_sums(run)
    of_rank = dict(zip(sums.parts, sums.caused_in_s[:, 1]))
    assert of_rank["flux"] == pytest.approx(0.08, rel=0.05) and of_rank["solve"] < 0.001
    assert list(of_rank) == ["flux", "solve", "no region", "other reasons"]
    assert sums.caused_s[1] == pytest.approx(caused[caused["rank"] == 1]["time_s"].sum())


def test_costs_of_bounds_are_divided_as_far_as_regions_explain_them(tmp_path):
    """Rank 1 waits for rank 2, and then computes 2 ms before it sends. With two messages each, nobody knows
    that it waited."""
    programs = [[collective("barrier")] for _ in range(3)]
    for _ in range(4):
        programs[0] += [recv(1), recv(1), step()]
        programs[1] += [recv(2), recv(2), compute(2 * MS, "flux"), send(0), send(0), step()]
        programs[2] += [compute(20 * MS, "solve"), send(1), send(1), step()]
    run = perfield.open(write_waiting_run(tmp_path / "run", simulate(programs), lambda step: False))
    assert "at least" in set(run.wait_states(slice(None))["exactness"])
    caused = run.caused_waits(1).set_index(["rank", "region"])["time_s"]
    assert caused[1, "flux"] == pytest.approx(0.002, rel=0.05)
    assert caused[1, "other reasons"] > 0.015
    assert caused[2, "solve"] > 0.015 and (2, "other reasons") not in caused


def test_sampled_functions_replace_regions_where_there_are_none(tmp_path, monkeypatch):
    programs = [[collective("barrier")] for _ in range(2)]
    for _ in range(6):
        for rank, program in enumerate(programs):
            program += [compute((1 + 20 * rank) * MS), collective("allreduce"), step()]
    run = perfield.open(write_waiting_run(tmp_path / "run", simulate(programs), regions=()))
    names = ("relax", "assemble", MPI)
    table = np.zeros(6, samples.TABLE)
    table["frame"], table["rank"], table["function"] = 2, np.arange(6) % 2, np.arange(6) // 2
    table["time_s"] = [0.003, 0.105, 0.003, 0.018, 0.1, 0.0]  # of ranks 0 and 1 in each
    table["count"] = 1000 * table["time_s"] + 1
    taken = samples.Samples([samples.Function(name, "") for name in names], table, 0, [])
    run.derived["samples"] = taken
    monkeypatch.setattr(type(run), "has_samples", True)
    sums = waits.wait_sums(run)
    assert sums.part == "function" and MPI not in sums.parts
    of_rank = dict(zip(sums.parts, sums.caused_in_s[:, 1]))
    assert of_rank["relax"] == pytest.approx(0.102, rel=0.02)
    assert of_rank["assemble"] == pytest.approx(0.015, rel=0.02)
    assert sums.caused_s[1] == pytest.approx(0.12, rel=0.01)
    assert re.search("10[23] ms of it by its time in function relax", words.who_costs_most(sums))
    table["count"] = 1  # one sample may be chance
    of_rank = waits.wait_sums(run)
    assert dict(zip(of_rank.parts, of_rank.caused_in_s[:, 1]))["other reasons"] == pytest.approx(
        0.12, rel=0.01
    )
    assert "function" not in words.who_costs_most(of_rank)


def test_regions_have_fields_of_what_they_cost(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", by_regions()))
    frames = with_waits(run)
    for number in range(1, 8):
        values = frames.frame(number).values
        of_regions = values["flux_caused_wait_time_s"] + values["solve_caused_wait_time_s"]
        assert of_regions == pytest.approx(values[CAUSED], abs=1e-4)
        assert values["flux_caused_wait_time_s"][1] == pytest.approx(0 if number % 2 else 0.02, rel=0.05)


def test_pictures_take_the_regions_in_which_ranks_differ_most(tmp_path, monkeypatch):
    monkeypatch.setattr(wait_fields, "MOST_REGIONS", 1)
    programs = [[collective("barrier")] for _ in range(2)]
    for _ in range(3):
        for rank, program in enumerate(programs):
            program += [
                compute((1 + 9 * rank) * MS, "flux"),
                compute(MS, "solve"),
                collective("barrier"),
                step(),
            ]
    run = perfield.open(write_waiting_run(tmp_path / "run", simulate(programs)))
    assert run.all_fields.provider(wait_fields.Waits).uneven_regions() == ["flux"]
    values = run.with_fields(["solve_caused_wait_time_s"]).frame(1).values
    assert not values["solve_caused_wait_time_s"].any()
    assert {name for name in values if region_of(name)} == {"solve_caused_wait_time_s"}


def test_message_that_crosses_the_end_of_a_step_is_matched_across_blocks(tmp_path, monkeypatch):
    programs = [[], []]
    for _ in range(4):  # the send of each step is received in the next one
        programs[0] += [compute(15 * MS), send(1), step()]
    programs[1] += [step()]
    for _ in range(4):
        programs[1] += [compute(MS), recv(0), step()]
    simulation = simulate(programs)
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation))
    monkeypatch.setattr(event_blocks, "EVENTS_AT_ONCE", 1)
    table = run.wait_states().compute()
    assert stated(table) == pytest.approx(pairs(simulation), abs=1e-9) and len(table)


def test_fields_of_frames_hold_the_waiting_by_kind(tmp_path):
    simulation = ring()
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation))
    truth = simulation.waited(len(run)) * 1e-9
    frames = with_waits(run)
    kinds = [[KINDS.index("late_sender")], [KINDS.index("late_receiver")]]
    kinds += [[KINDS.index(name) for name in ("barrier", "n_to_n", "late_broadcast", "early_reduce")]]
    kinds += [[KINDS.index("late_one_sided")]]
    for number, frame in enumerate(frames.frames()):
        for name, columns in zip((LATE_SENDER, LATE_RECEIVER, COLLECTIVE, ONE_SIDED), kinds):
            assert frame.values[name] == pytest.approx(truth[number][:, columns].sum(axis=1), abs=1e-9)
    assert not WAIT_NAMES.intersection(run.frame(0).values)


def test_fields_of_a_frame_do_not_depend_on_blocks(tmp_path, monkeypatch):
    run = perfield.open(write_waiting_run(tmp_path / "run", ring()))
    whole = [frame.values for frame in with_waits(run).frames()]
    monkeypatch.setattr(event_blocks, "EVENTS_AT_ONCE", 1)
    one_by_one = with_waits(perfield.open(run.path))
    for number in (5, 0, -1, 3):
        for name in (LATE_SENDER, COLLECTIVE):
            assert one_by_one.frame(number).values[name] == pytest.approx(whole[number][name], abs=1e-12)


def test_run_without_stamps_has_no_events_and_no_fields(tmp_path):
    path = write_waiting_run(tmp_path / "run", ring(), without=range(4))
    run = perfield.open(path)
    assert not run.has_arrivals.any()
    assert len(run.arrivals().compute()) == 0 and run.wait_states(slice(None)).empty
    assert run.wait_states().compute().empty and run.caused_waits().compute().empty
    assert not WAIT_NAMES.intersection(with_waits(run).frame(0).values)
    assert not waits.wait_sums(run).is_known


def test_partner_without_stamps_is_absent_and_its_messages_unexplained(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", ring(), without=[2]))
    values = with_waits(run).frame(3).values
    assert np.isnan(values[LATE_SENDER][2]) and np.isnan(values[CAUSED][2])
    assert not (run.wait_states(slice(None))["cause"] == 2).any()
    sums = waits.wait_sums(run)
    assert np.isnan(sums.caused_s[2]) and sums.shares["unexplained"] > 0.3


def test_nothing_is_said_of_a_run_that_never_waits(tmp_path):
    programs = [[compute(MS), step()] * 3 for _ in range(2)]
    run = perfield.open(write_waiting_run(tmp_path / "run", simulate(programs)))
    values = with_waits(run).frame(1).values
    assert values[LATE_SENDER].tolist() == [0, 0] and np.nan_to_num(values[CAUSED]).tolist() == [0, 0]
    assert np.isnan(waits.wait_sums(run).explained)


def unsynchronised(rank, values, error_ns=50 * MS):
    """Nodes that only CLOCK_REALTIME compares, which is uncertain by more than any wait lasts."""
    values["realtime_error_ns"] = error_ns


def test_uncertain_clocks_name_nobody(tmp_path):
    clocks = {"hosts": ("a", "b", "c", "d"), "change_rank": unsynchronised}
    run = perfield.open(write_waiting_run(tmp_path / "run", ring(), **clocks))
    table = run.wait_states(slice(None))
    assert len(table) and set(table["exactness"]) <= {"uncertain"}
    assert not np.nan_to_num(with_waits(run).frame(2).values[LATE_SENDER]).any()
    assert waits.wait_sums(run).shares["exact"] < 0.01


def test_clocks_that_nothing_synchronises_are_infinitely_uncertain(tmp_path):
    clocks = {"hosts": ("a", "b"), "change_rank": partial(unsynchronised, error_ns=-1)}
    run = perfield.open(write_waiting_run(tmp_path / "run", ring(), **clocks))
    assert np.isinf(run.clock_errors_ns[2:]).all()
    of_others = run.wait_states(slice(None)).query("rank < 2 and cause >= 2")
    assert set(of_others["exactness"]) <= {"uncertain"}


def test_entries_that_add_up_steps_give_bounds(tmp_path):
    simulation = ring(n_steps=8)
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation, span=4))
    sums = waits.wait_sums(run)
    assert len(run) == 2 and (run.spans == 4).all()
    truth = sum(pairs(simulation).values())
    assert 0 <= sums.late["time_s"].sum() <= truth + 1e-9
    mean = per_step(with_waits(run)).frame(1).values[COLLECTIVE]
    assert mean == pytest.approx(with_waits(run).frame(1).values[COLLECTIVE] / 4)


def test_ranks_at_different_rates_are_matched_by_the_numbers_of_messages(tmp_path):
    programs = [[], []]
    for _ in range(6):  # rank 1 closes two steps while rank 0 closes one
        programs[0] += [compute(20 * MS), send(1), step()]
        programs[1] += [compute(MS), recv(0), step(), compute(MS), step()]
    simulation = simulate(programs)
    run = perfield.open(write_waiting_run(tmp_path / "run", simulation))
    table = run.wait_states(slice(None))
    late = table[(table["rank"] == 1) & (table["cause"] == 0)]
    truth = sum(v for (_, rank, cause, _), v in pairs(simulation).items() if (rank, cause) == (1, 0))
    assert late["time_s"].sum() == pytest.approx(truth, rel=0.05)


def test_snapshots_read_arrivals_in_other_processes(tmp_path):
    import pickle

    from perfield.run.snapshot import Snapshot

    run = perfield.open(write_waiting_run(tmp_path / "run", ring(), lambda step: step % 2 == 0))
    received = pickle.loads(pickle.dumps(Snapshot(run))).run
    assert waits.arrivals(received).compute().equals(run.arrivals().compute())
    assert (received.clock_errors_ns == run.clock_errors_ns).all()
    assert stated(run.wait_states().compute(scheduler="processes")) == stated(run.wait_states(slice(None)))


def test_damaged_entries_of_communicators_and_logs_are_left_out(tmp_path):
    path = write_waiting_run(tmp_path / "run", ring(n_steps=2))
    stream = next((path / "stream").glob("*.pf"))
    writer = twin.Writer(stream, 0)
    writer.sequence = 100
    for body in ({"name": "x"}, {"name": 1000}, {"name": -1, "size": 2, "rank": 0}, {"size": 4, "rank": 9}):
        writer.add("communicator", twin.json_body(body))
    writer.add("events", b"\xff" * 64, index=1)
    run = perfield.open(path)
    assert len(run.arrivals().compute()) == len(perfield.open(path).arrivals().compute()) > 0
    assert [(one.name, one.size, one.clash) for one in run.communicators] == [(1000, 4, "")]
