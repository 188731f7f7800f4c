# SPDX-License-Identifier: BSD-3-Clause
"""The programs of testcase/waits: their logs show what is planted, and perfield says the same as the logs."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from drivers.hosts import run_on_hosts, why_no_hosts

import perfield
from twins.waits_truth import LONG_NS, Wait, long_waits, read_logs, waits_of

pytestmark = pytest.mark.alone

DELAY_MS = 60
# Ranks that wait keep the cores busy with MPICH, and delay the late one further.
RANKS = {"openmpi": 11, "mpich": 7}
STEPS = 49
# Longer than the kernel lets another process run before a rank that is ready comes back to its core.
SLICE_NS = 12e6
CLOSE = {"rel": 0.05, "abs": SLICE_NS}

# Scenario -> (waiting rank, causing rank, kind, delays) in each of its steps; None: all other ranks.
PLANTED = {
    "late_sender_recv": [(0, 1, "late_sender", 1.0)],
    "late_sender_wait": [(0, 1, "late_sender", 0.75)],
    "late_sender_waitall": [(0, 3, "late_sender", 1.0)],
    "late_sender_sendrecv": [(0, 1, "late_sender", 1.0)],
    "late_neighbour": [(1, 2, "late_sender", 1.0), (3, 2, "late_sender", 1.0)],
    "late_receiver": [(0, 1, "late_receiver", 1.0)],
    "late_at_allreduce": [(None, 4, "n_to_n", 1.0)],
    "late_at_barrier": [(None, 5, "barrier", 1.0)],
    "late_at_bcast": [(None, 0, "late_broadcast", 1.0)],
    "late_at_reduce": [(0, 3, "early_reduce", 1.0)],
    "alternating": [(0, 1, "late_sender", 1.0), (1, 0, "late_sender", 1.0)],
    "chain": [(rank, rank + 1, "late_sender", 1.0) for rank in range(3)],
    "two_causes": [(0, 1, "late_sender", 1.0), (0, 2, "late_sender", 1.0)],
    "put_fence": [(None, 2, "late_one_sided", 1.0)],
    "late_post": [(0, 2, "late_one_sided", 1.0), (1, 2, "late_one_sided", 1.0)],
    "late_complete": [(2, 0, "late_one_sided", 1.0)],
    "lock": [(1, 0, "late_one_sided", 1.0)],
}
QUIET = ("eager", "clean")


@pytest.fixture(scope="module", params=["waits_c", "waits_f08"])
def measured(request, mpi, build_case, bin_dir, tmp_path_factory) -> Path:
    """The folder of a run of all scenarios, in each language and with each MPI: logs and perfield-run."""
    program = build_case("waits") / request.param
    folder = tmp_path_factory.mktemp(f"{request.param}-{mpi.name}")
    result = mpi.run(RANKS[mpi.name], bin_dir / "perfield-exec", program, "all", DELAY_MS, cwd=folder,
                     env={"PERFIELD_ARRIVALS_EVERY": "1"})  # fmt: skip
    assert result.returncode == 0, result.stderr
    return folder


def expected(scenario: str, n_ranks: int) -> Counter:
    """(waiting rank, causing rank, kind) of the scenario's steps, how often."""
    counted = Counter()
    for rank, cause, kind, _ in PLANTED[scenario]:
        for each in range(n_ranks) if rank is None else [rank]:
            counted[each, cause, kind] += each != cause
    return +counted


def test_logs_show_what_is_planted(measured):
    # A barrier begins each step; and waiting ranks that spin on few cores make short waits everywhere.
    found = defaultdict(Counter)
    longest = defaultdict(float)
    lines = read_logs(measured)
    for wait in waits_of(lines):
        key = (wait.rank, wait.cause, wait.kind)
        if wait.time_ns > 0.6 * DELAY_MS * 1e6 and (
            wait.kind != "barrier" or wait.scenario == "late_at_barrier"
        ):
            found[wait.scenario][key] += 1
        longest[wait.scenario, key] = max(longest[wait.scenario, key], wait.time_ns)
    for scenario, planted in PLANTED.items():
        wanted = expected(scenario, len({line.rank for line in lines}))
        assert set(found[scenario]) >= set(wanted), scenario
        for rank, cause, kind, delays in planted:
            if rank is not None:
                assert longest[scenario, (rank, cause, kind)] > 0.6 * delays * DELAY_MS * 1e6, scenario


def test_a_delay_crosses_ten_steps(measured, mpi):
    if mpi.name == "mpich":
        pytest.skip("here waiting ranks delay others by as much as was planted")
    lines = [line for line in read_logs(measured) if line.scenario == "crossing"]
    ranks = RANKS["openmpi"]
    first = min(line.step for line in lines)
    longest = {}
    for wait in waits_of(lines):
        if wait.kind == "late_sender" and wait.cause == wait.rank - 1:
            longest[wait.rank] = max(longest.get(wait.rank, wait), wait, key=lambda each: each.time_ns)
    assert sorted(longest) == list(range(1, ranks))
    assert [longest[rank].step - first for rank in range(1, ranks)] == list(range(ranks - 1))


def states_of(run: perfield.run.RunDirectory):
    table = run.wait_states(slice(None))
    # MPICH needs the target to serve a lock. Where that takes longer than the holder, the wait is a bound.
    return table[(table.exactness == "exact") | (table.call == "lock")]


def assert_same(truth: list[Wait], states) -> None:
    """Each long wait of the logs is a state of perfield's, with its cause and length, and no other is.

    The program reads the clock before perfield does. Where its core goes to another process in between,
    the two differ by that one's time slice. This is rare.
    """
    waits, found = defaultdict(list), defaultdict(list)
    for wait in truth:
        waits[wait.step, wait.rank, wait.kind].append(wait)
    for row in states.itertuples():
        found[row.step, row.rank, row.kind].append((row.time_s * 1e9, row.cause))
    differences = []
    for key, of_key in waits.items():
        long = sorted((wait for wait in of_key if wait.time_ns >= LONG_NS), key=lambda wait: -wait.time_ns)
        reported = sorted(found[key], reverse=True)[: len(long)]
        times = [time for time, _ in reported]
        assert times == pytest.approx([w.time_ns for w in long], **CLOSE), (key, long)
        differences += [abs(time / wait.time_ns - 1) for time, wait in zip(times, long)]
        for wait in long:  # several of nearly the same length may come in any order
            near = [cause for time, cause in reported if time == pytest.approx(wait.time_ns, **CLOSE)]
            assert any(wait.names(cause) for cause in near), (wait, reported)
    assert sorted(differences)[len(differences) * 9 // 10] < 0.05
    for key, of_key in found.items():
        long = [time for time, _ in of_key if time >= LONG_NS + SLICE_NS]
        assert len(long) <= len([wait for wait in waits[key] if wait.time_ns >= LONG_NS]), (key, of_key)


def test_perfield_names_every_wait_of_logged_steps(measured):
    lines = read_logs(measured)
    run = perfield.open(measured / "perfield-run")
    assert len(run) == STEPS
    assert_same(waits_of(lines), states_of(run))


def test_perfield_names_waits_of_single_messages_without_a_log(mpi, build_case, bin_dir, tmp_path):
    program = build_case("waits") / "waits_c"
    result = mpi.run(RANKS[mpi.name], bin_dir / "perfield-exec", program, "all", DELAY_MS, cwd=tmp_path,
                     env={"PERFIELD_ARRIVALS_EVERY": "0"})  # fmt: skip
    assert result.returncode == 0, result.stderr
    lines = read_logs(tmp_path)
    run = perfield.open(tmp_path / "perfield-run")
    states = run.wait_states(slice(None))
    truth = defaultdict(float)
    for wait in waits_of(lines):
        truth[wait.step, wait.rank, wait.kind] += wait.time_ns
    reported = states[states.exactness != "uncertain"].groupby(["step", "rank", "kind"]).time_s.sum() * 1e9
    for key, time_ns in reported.items():  # exact or a bound: never above the truth
        assert time_ns <= 1.05 * truth[key] + SLICE_NS, key
    exact = states[states.exactness == "exact"]
    causes = range(-1, RANKS[mpi.name])
    found = {(row.step, row.rank, row.kind, row.cause) for row in exact.itertuples()}
    # Two do the same call twice in a step, so sums are all that is known of it; locks are in logs alone.
    unknown = ("alternating", "late_at_barrier", "lock")
    single = [wait for wait in long_waits(lines) if wait.scenario not in unknown]
    missed = [
        wait
        for wait in single
        if not any(
            (wait.step, wait.rank, wait.kind, cause) in found and wait.names(cause) for cause in causes
        )
    ]
    assert single and not missed


# What starts the ranks on four hosts. Open MPI's default for windows serves no hosts without a fast network.
ON_HOSTS = {
    "openmpi": "mpirun --mca osc pt2pt --host n1:3,n2:3,n3:3,n4:2 -x PERFIELD_ARRIVALS_EVERY",
    "mpich": "mpirun.mpich -hosts n1:2,n2:2,n3:2,n4:1",
}


@pytest.mark.skipif(bool(why_no_hosts()), reason=why_no_hosts() or "hosts can be made")
@pytest.mark.parametrize("name", ["waits_c", "waits_f08"])
def test_perfield_names_every_wait_on_four_hosts(name, mpi, build_case, bin_dir, tmp_path):
    words = [*ON_HOSTS[mpi.name].split(), "-n", RANKS[mpi.name], bin_dir / "perfield-exec"]
    words += [build_case("waits") / name, "all", DELAY_MS]
    environment = {"PERFIELD_ARRIVALS_EVERY": "1", "MH_FIRST": "1"}
    if mpi.name == "mpich":  # hangs where hosts differ in their boot id
        environment["MH_ONE_KERNEL"] = "1"
    result = run_on_hosts("n1,n2;n3,n4", words, tmp_path, environment)
    assert result.returncode == 0, result.stderr
    lines = read_logs(tmp_path)
    assert {line.scenario for line in lines} == {*PLANTED, *QUIET, "crossing"}
    assert_same(waits_of(lines), states_of(perfield.open(tmp_path / "perfield-run")))


def test_an_unknown_scenario_is_refused(mpi, build_case):
    result = mpi.run(7, build_case("waits") / "waits_c", "late_breakfast")
    assert result.returncode == 2
    assert "usage: waits SCENARIO|all [MILLISECONDS], on 7 ranks or more" in result.stderr
