# SPDX-License-Identifier: BSD-3-Clause
"""Phases of whole runs: steps without a frame, entries of several steps, groups, clocks, growing runs."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import rhythm_runs

import perfield
from perfield.studies.rhythm.model import RhythmError
from perfield.studies.rhythm.of_run import closed_steps, phases_of_run
from twins import twin

TURN = 2 * np.pi


def opened(path, stamps, **options):
    return perfield.open(rhythm_runs.write(path / "run", stamps, **options))


def turns(run, times, **options):
    """Steps that each rank completed at `times`."""
    return phases_of_run(run, times=np.array(times), **options).phase.values / TURN


def test_ranks_follow_each_other_by_their_delay(tmp_path):
    run = opened(tmp_path, rhythm_runs.even(3, 4, behind_s=[0, 0.25, 0.5]))
    assert turns(run, [1, 2.5]) == pytest.approx(np.array([[1, 2.5], [0.75, 2.25], [0.5, 2]]))


def test_steps_that_were_not_measured_have_phases(tmp_path):
    def skip(rank, step, values):
        values["flags"] = rhythm_runs.NOT_MEASURED if step % 3 else 0

    run = opened(tmp_path, rhythm_runs.even(2, 7), change=skip)
    assert len(run) == 3  # frames
    assert turns(run, [1.5, 4.25]) == pytest.approx(np.array([[1.5, 4.25]] * 2))


def test_entries_of_several_steps_count_all_of_them(tmp_path):
    def sums(rank, step, values):
        values.update(span=5, begin_ns=(step - 4) * 10**9, end_ns=(step + 1) * 10**9)
        return step % 5 == 4

    run = opened(tmp_path, rhythm_runs.even(1, 10), change=sums)
    assert turns(run, [2, 5, 7.5]) == pytest.approx(np.array([[2, 5, 7.5]]))


def test_ranks_that_add_up_different_numbers_of_steps_have_phases_of_their_own(tmp_path):
    def sums(rank, step, values):
        if rank:
            values.update(span=2, begin_ns=(step - 1) * 10**9)
        return not rank or step % 2 == 1

    run = opened(tmp_path, rhythm_runs.even(2, 6), change=sums)
    assert turns(run, [1.25, 1.75, 3.5]) == pytest.approx(np.array([[1.25, 1.75, 3.5]] * 2))


def test_lost_entries_leave_no_phase(tmp_path):
    stamps = rhythm_runs.even(2, 4)
    stamps[1][1] = None
    run = opened(tmp_path, stamps)
    assert turns(run, [0.5, 1.5, 2.5]) == pytest.approx(
        np.array([[0.5, 1.5, 2.5], [0.5, np.nan, 2.5]]), nan_ok=True
    )


def test_rank_that_ends_early_has_no_phase_afterwards(tmp_path):
    stamps = rhythm_runs.even(2, 4)
    del stamps[1][2:]
    found = phases_of_run(opened(tmp_path, stamps), times=np.array([1.5, 3.5]))
    assert np.isnan(found.phase.values).tolist() == [[False, False], [False, True]]


def test_setup_and_end_are_no_steps(tmp_path):
    run = opened(tmp_path, rhythm_runs.even(1, 3))
    assert closed_steps(run).sizes["step"] == 3
    assert np.isnan(turns(run, [-0.5, 3.5])).all()


def test_groups_count_their_own_steps(tmp_path):
    stamps = {**rhythm_runs.even(1, 6, period_s=1.0), 1: rhythm_runs.even(1, 3, period_s=2.0)[0]}

    def grouped(rank, values):
        values.update(monotonic_ns=10**12, group="coarse" if rank else "fine")

    run = opened(tmp_path, stamps, change_rank=grouped)
    found = phases_of_run(run, times=np.array([4.0]))
    assert found.phase.values / TURN == pytest.approx(np.array([[4], [2]]))
    assert found.group.values.tolist() == ["fine", "coarse"]
    assert found.period_s.values == pytest.approx([1, 2])


def test_chosen_ranks_and_steps(tmp_path):
    run = opened(tmp_path, rhythm_runs.even(4, 6, behind_s=[0, 0.1, 0.2, 0.3]))
    found = phases_of_run(run, ranks=[3, 1], steps=slice(2, 3), samples=5)
    assert found.oscillator.values.tolist() == [1, 3]
    assert found.time.values[[0, -1]] == pytest.approx([2.1, 4.3])
    assert found.sizes["time"] == 5
    assert found.sel(oscillator=3).phase.values[-1] == pytest.approx(4 * TURN)


def test_communication_topology_comes_from_the_messages(tmp_path):
    run = opened(tmp_path, rhythm_runs.even(4, 5))  # a ring: rank r sends to r + 1
    found = phases_of_run(run)
    assert (found.receiver.values.tolist(), found.sender.values.tolist()) == ([0, 1, 2, 3], [3, 0, 1, 2])
    some = phases_of_run(run, ranks=[1, 2])
    assert (some.receiver.values.tolist(), some.sender.values.tolist()) == ([1], [0])


def test_run_without_messages_has_phases_and_no_edges(tmp_path):
    def silent(rank, step, values):
        values["messages"] = []

    found = phases_of_run(opened(tmp_path, rhythm_runs.even(3, 5), change=silent))
    assert "receiver" not in found and np.isfinite(found.phase.values).any()


def test_uncompared_clocks_of_nodes_make_phases_uncertain(tmp_path):
    errors = {"realtime_error_ns": 50_000_000}  # of each host: 0.1 s between two
    run = opened(tmp_path, rhythm_runs.even(2, 4), hosts=("a", "b"), rank_values=errors)
    uncertainty = phases_of_run(run).phase_uncertainty.values / TURN
    assert uncertainty[0] < 1e-5
    assert uncertainty[1] == pytest.approx(0.1, rel=1e-3)


def test_growing_run_keeps_its_phases(tmp_path):
    times = np.arange(0.5, 6)
    short = opened(tmp_path / "short", rhythm_runs.even(2, 3), ended=False, change_rank=live)
    assert short.state == "running"
    before = turns(short, times)
    after = turns(opened(tmp_path / "long", rhythm_runs.even(2, 6)), times)
    assert np.isnan(before[:, 3:]).all()
    assert before[:, :3] == pytest.approx(after[:, :3])


def live(rank, values):
    twin.live_rank(rank, values)
    values.update(monotonic_ns=10**12)


def test_run_without_steps_is_refused_with_a_remedy(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", steps=0))
    with pytest.raises(RhythmError, match=r"closed no step.*perfield steps"):
        phases_of_run(run)


def test_run_of_one_step_is_refused_with_a_remedy(tmp_path):
    run = opened(tmp_path, rhythm_runs.even(2, 1))
    with pytest.raises(RhythmError, match=r"one step.*measure more"):
        phases_of_run(run)


def test_absent_ranks_and_steps_are_named(tmp_path):
    run = opened(tmp_path, rhythm_runs.even(2, 3))
    with pytest.raises(RhythmError, match="no rank 2; choose some of the ranks 0 to 1"):
        phases_of_run(run, ranks=[0, 2])
    with pytest.raises(RhythmError, match="none of the steps 7 to 9; it closed the steps 0 to 2"):
        phases_of_run(run, steps=slice(7, 9))
