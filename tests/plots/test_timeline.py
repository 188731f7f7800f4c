# SPDX-License-Identifier: BSD-3-Clause
"""The timeline of a logged step shows who computed, who waited, and for whom."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.simulated_waits import collective, compute, lock, recv, send, simulate, step, unlock
from known_runs.waiting_runs import write_waiting_run

import perfield
from perfield import commands

figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
from perfield.plots import wait_timeline  # noqa: E402
from perfield.plots.style import PlotError, new_figure  # noqa: E402

MS = 1_000_000
COMPUTING, CALLS, WAITING = "computing: outside MPI", "in an MPI call", "waiting for another rank"


def chain(n_steps=3, slow_step=1, ranks=4):
    """Rank 3 computes 10 ms, 80 ms in one step; rank 2 waits for it, rank 1 for 2, and rank 0 for 1."""
    programs = [[] for _ in range(ranks)]
    for number in range(n_steps):
        for rank, program in enumerate(programs):
            last = ranks - 1
            program += [compute((80 if number == slow_step else 10) * MS if rank == last else MS)]
            program += [recv(rank + 1)] if rank < last else []
            program += [send(rank - 1)] if rank else []
            program += [step()]
    return simulate(programs)


@pytest.fixture
def run(tmp_path):
    """Three steps of the chain, of which the first and the second are logged."""
    return perfield.open(write_waiting_run(tmp_path / "run", chain(), lambda step: step < 2))


def drawn(run, *options):
    axes = new_figure((10, 5)).subplots()
    wait_timeline(run, *options, axes=axes)
    axes.figure.canvas.draw()
    return axes


def bars(axes, words):
    """(lane, begin, end) of the bars of one kind, in the unit of the axis."""
    found = [one for one in axes.collections if one.get_label() == words]
    corners = [path.vertices for one in found for path in one.get_paths()]
    return sorted((round(float(c[:4, 1].mean())), c[:, 0].min(), c[:, 0].max()) for c in corners)


def texts(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def title(axes):
    return next(text for text in texts(axes) if " waiting in step" in text)


def test_waiting_is_drawn_where_and_as_long_as_ranks_wait(run):
    axes = drawn(run, 1)
    assert axes.get_xlabel().startswith("ms since step")
    lengths = {lane: end - begin for lane, begin, end in bars(axes, WAITING) if end - begin > 1}
    truth = {one.rank: one.time_ns / MS for one in chain().waits if one.step == 1}
    assert lengths == pytest.approx(truth, rel=1e-3)
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"rank {rank}" for rank in range(4)]


def test_labels_name_kind_time_and_cause_and_the_title_who_it_began_with(run):
    axes = drawn(run, 1)
    labels = texts(axes)
    for rank in range(3):
        own = [label for label in labels if label.endswith(f"for rank {rank + 1}")]
        assert own and own[0].startswith("late sender: ")
    assert "rank 3 sends" in labels
    assert not any(label == "rank 2 sends" for label in labels), "it sent late as it waited itself"
    words = title(axes).split()
    waited = sum(one.time_ns for one in chain().waits if one.step == 1) / MS
    assert words[:5] == ["Rank", "3", "costs", "the", "others"]
    assert (float(words[5]), words[6]) == (pytest.approx(waited, rel=0.1), "ms")


def test_arrows_go_from_the_late_rank_to_the_one_that_waited(run):
    axes = drawn(run, 1)
    arrows = [one for one in axes.texts if getattr(one, "arrow_patch", None) is not None]
    # they end at the edge of a bar, which is 0.56 wide
    ends = sorted((one.xyann[1], one.xy[1]) for one in arrows)
    assert ends == [(cause, cause - 0.72) for cause in (1, 2, 3)]
    for one in arrows:
        assert one.xy[0] == pytest.approx(one.xyann[0], abs=0.01), "a wait ends when the late rank comes"


def test_step_with_the_longest_waiting_is_chosen_of_those_that_are_logged(tmp_path):
    simulation = chain(n_steps=5, slow_step=2)
    run = perfield.open(write_waiting_run(tmp_path / "a", simulation, lambda step: step != 1))
    assert "in step 3" in title(drawn(run)), "the program counts its steps from 1"
    run = perfield.open(write_waiting_run(tmp_path / "b", simulation, lambda step: step in (0, 1)))
    assert "in step 2" in title(drawn(run)), "the longest is not logged"


def test_first_step_is_chosen_only_if_no_other_is_logged(tmp_path):
    simulation = chain(n_steps=4, slow_step=0)
    run = perfield.open(write_waiting_run(tmp_path / "a", simulation))
    assert "in step 1" not in title(drawn(run))
    run = perfield.open(write_waiting_run(tmp_path / "b", simulation, lambda step: step == 0))
    assert "in step 1" in title(drawn(run))


def test_log_in_a_frame_of_several_steps_has_no_timeline(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", chain(4))).at_span(2)
    assert len(run) == 2 and len(run.logged_steps) == 4
    with pytest.raises(PlotError, match="no logged step in a frame of its own"):
        drawn(run)


def test_several_steps_are_one_after_the_other(run):
    axes = drawn(run, slice(0, 1))
    assert "in steps 1 to 2" in title(axes)
    assert len([bar for bar in bars(axes, COMPUTING) if bar[0] == 3]) == 2


def test_collective_operation_has_an_arrow_to_each_rank_that_waited(tmp_path):
    times = (MS, MS, 50 * MS, MS)
    programs = [[compute(time), collective("allreduce"), step()] for time in times]
    run = perfield.open(write_waiting_run(tmp_path / "run", simulate(programs)))
    axes = drawn(run)
    assert sum(label.startswith("n-to-n: ") for label in texts(axes)) == 3
    assert "rank 2 enters MPI_Allreduce" in texts(axes)


def test_many_ranks_are_those_that_wait_longest_and_those_they_wait_for(tmp_path, monkeypatch):
    monkeypatch.setattr("perfield.plots.timeline.MOST_LANES", 3)
    programs = [[compute(MS), step()] for _ in range(8)]
    programs[7] = [compute(60 * MS), send(5), step()]
    programs[5] = [recv(7), step()]
    programs[2] = [compute(9 * MS), send(1), step()]
    programs[1] = [recv(2), step()]
    run = perfield.open(write_waiting_run(tmp_path / "run", simulate(programs)))
    axes = drawn(run)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["rank 0", "rank 5", "rank 7"]
    assert "3 ranks: those that wait longest" in axes.get_title(loc="left").replace("\n", " ")


def test_step_without_a_log_has_no_timeline(run, tmp_path):
    with pytest.raises(PlotError, match=r"step 2 of .* was not logged; logged steps are 0, 1\."):
        drawn(run, 2)
    bare = perfield.open(write_waiting_run(tmp_path / "bare", chain(), lambda step: False))
    with pytest.raises(PlotError, match="arrivals_every may have been 0"):
        drawn(bare)


def test_steps_must_follow_each_other(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", chain(4)))
    with pytest.raises(PlotError, match="follow each other, at most 64; these are 2 between steps 0 and 2"):
        drawn(run, [0, 2])


def test_step_in_which_nobody_waits_says_so(tmp_path):
    programs = [[compute(MS), step()] for _ in range(3)]
    programs[0] = [compute(MS), send(1), step()]
    programs[1] = [compute(50 * MS), recv(0), step()]
    run = perfield.open(write_waiting_run(tmp_path / "run", simulate(programs)))
    axes = drawn(run)
    assert "Nobody is known to wait in step" in " ".join(texts(axes))
    assert not bars(axes, WAITING)


def test_command_draws_the_chosen_step(run, tmp_path):
    file = tmp_path / "waits.svg"
    words = ["plot", str(run.path), "--only", "waits", "-o", str(file)]
    assert commands.main([*words, "--steps", "1"]) == 0
    assert "waiting in step 1" in file.read_text()
    assert commands.main(words) == 0
    assert "waiting in step 2" in file.read_text(), "rank 3 is slowest there"
    assert np.array_equal(run.logged_steps, [0, 1])


def test_holder_of_a_lock_is_said_to_unlock(tmp_path):
    programs = [[compute(90 * MS), step()], [lock(0), compute(60 * MS), unlock(0), compute(30 * MS), step()]]
    programs += [[compute(5 * MS), lock(0), unlock(0), compute(30 * MS), step()]]
    axes = drawn(perfield.open(write_waiting_run(tmp_path / "run", simulate(programs), lambda step: True)))
    assert "rank 1 enters MPI_Win_unlock" in texts(axes)
    assert any("late one-sided" in text for text in texts(axes))
