# SPDX-License-Identifier: BSD-3-Clause
"""The finding "late rank": on whom waiting begins, where both ends of messages say so."""

from dataclasses import replace

import numpy as np
import pytest
from known_runs.observed_runs import observed_run
from known_runs.simulated_waits import compute, irecv, isend, simulate, step, wait
from known_runs.waiting_runs import write_waiting_run

import perfield
from perfield.analysis.findings import answers, needs, wait_causes, waited_for
from perfield.analysis.waits import words
from perfield.analysis.waits.coverage import ENOUGH
from perfield.derived.observe import observe
from perfield.report import report

MS = 1_000_000


def star(who, n_steps=40, ranks=4, late_ms=20):
    """One rank comes 20 ms later than the others, who all receive from it. who : step -> rank."""
    programs = [[] for _ in range(ranks)]
    for number in range(n_steps):
        late = int(who(number))
        for rank, program in enumerate(programs):
            program += [compute((1 + late_ms * (rank == late)) * MS)]
            if rank == late:
                names = [f"to {other}" for other in range(ranks) if other != late]
                program += [isend(int(name[3:]), name) for name in names] + [wait(*names)]
            else:
                program += [irecv(late, "r"), wait("r")]
            program += [step()]
    return simulate(programs)


def found_in(path):
    observed = observe(perfield.open(path), needs())
    return observed, list(wait_causes.find(observed))


def test_late_rank_is_named_with_kind_seconds_and_through_whom(tmp_path):
    simulation = star(lambda number: 2)
    path = write_waiting_run(tmp_path / "run", simulation, busy_in_mpi=[2])
    observed, (finding,) = found_in(path)
    assert finding.kind == "late rank" and finding.ranks.tolist() == [2]
    caused = observed.waiting.caused_s[2]
    assert caused >= sum(w.time_ns for w in simulation.waits if w.cause == 2) * 1e-9 * 0.99
    assert "waits 800 ms for it (late sender, in 40 steps), and so do 2 more ranks" in finding.words
    assert " s of it by its time in no region, although it computes no longer than others" in finding.words
    assert finding.saved_s == pytest.approx(0.8, rel=0.1) and finding.chance < 1e-3
    assert "sends" in finding.remedy


def test_report_says_the_late_rank_once(tmp_path):
    path = write_waiting_run(tmp_path / "run", star(lambda number: 2), busy_in_mpi=[2])
    kinds = [finding.kind for finding in report(perfield.open(path)).findings]
    assert kinds.count("late rank") == 1 and "rank that all wait for" not in kinds


def test_rank_that_computes_longer_is_an_imbalance_and_no_late_rank(tmp_path):
    path = write_waiting_run(tmp_path / "run", star(lambda number: 2))
    observed, found = found_in(path)
    assert observed.waiting.caused_s[2] > 0 and not found


def test_lateness_that_moves_by_chance_is_no_late_rank(tmp_path):
    chance = np.random.default_rng(7)
    who = chance.integers(0, 4, 40)
    path = write_waiting_run(tmp_path / "run", star(lambda number: who[number]), busy_in_mpi=range(4))
    observed, found = found_in(path)
    assert observed.waiting.explained > 0.9 and not found


def test_root_that_passes_on_what_it_waits_for_is_no_late_rank(tmp_path):
    """Rank 0 gets a number of each rank, the last of another one each time, and answers all."""
    chance = np.random.default_rng(7)
    programs = [[] for _ in range(4)]
    for _ in range(60):
        for rank, program in enumerate(programs):
            program += [compute(int((5 + chance.uniform(0, 2) - 1.0 * (rank == 2)) * MS))]
            if rank == 0:
                for kind, way in ((irecv, "from"), (isend, "to")):
                    program += [kind(other, f"{way} {other}") for other in (1, 2, 3)]
                    program += [wait(*(f"{way} {other}" for other in (1, 2, 3)))]
            else:
                program += [isend(0, "s"), wait("s"), irecv(0, "r"), wait("r")]
            program += [step()]
    path = write_waiting_run(tmp_path / "run", simulate(programs), busy_in_mpi=range(4))
    observed, found = found_in(path)
    assert observed.waiting.caused_s.argmax() == 0 and not found


def test_nothing_is_said_where_little_is_explained(tmp_path):
    path = write_waiting_run(tmp_path / "run", star(lambda number: 2), busy_in_mpi=[2])
    observed, found = found_in(path)
    assert found
    little = replace(observed, waiting=replace(observed.waiting, mpi_s=observed.waiting.mpi_s * 3))
    assert little.waiting.explained < ENOUGH
    assert not list(wait_causes.find(little)) and not wait_causes.is_explained(little)
    assert answers(little, [wait_causes])[0].missing == ("explanations",), "nor is the answer no"
    assert words.cause_rows(observed.waiting, 1) and words.cause_regions(observed.waiting, 1)
    assert not words.cause_rows(little.waiting, 1) and not words.cause_regions(little.waiting, 1)
    reported = words.sentences(little.waiting)
    assert not any("of waiting" in sentence for sentence in reported)
    assert "Too little of it is explained to say which rank costs the others most." in reported


def test_runs_without_stamps_leave_the_question_open(tmp_path):
    (answer,) = answers(observed_run(), [wait_causes])
    assert answer.missing == ("wait_states",) and not answer.findings


def test_rank_that_calls_name_is_reported_only_where_stamps_do_not_explain_the_waiting(tmp_path):
    waited, waiting = np.zeros((60, 8)), np.full((60, 8), 0.02)
    waited[:, 2], waiting[:, 2] = 0.105, 0.005
    named = [(rank, 2, 60, 0.9) for rank in range(8) if rank != 2]
    without = observed_run(waits=named, waited_for_time_s=waited, waiting_time_s=waiting)
    assert [found.kind for found in waited_for.find(without)] == ["rank that all wait for"]
    stamps, _ = found_in(write_waiting_run(tmp_path / "run", star(lambda number: 2, ranks=8)))
    assert not list(waited_for.find(replace(without, waiting=stamps.waiting)))
