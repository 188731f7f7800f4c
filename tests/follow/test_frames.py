# SPDX-License-Identifier: BSD-3-Clause
"""Which frames of a growing run are taken, and how the lag behind the program is counted."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.simulated_waits import compute, irecv, isend, simulate, step, wait
from known_runs.waiting_runs import write_waiting_run

import perfield
from perfield.derived.providers import waits
from perfield.fields.waits import CAUSED
from perfield.follow.frames import NewFrames
from perfield.follow.status import in_words
from twins import twin


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def growing(tmp_path):
    """growing(n, last=..., **changes): a running run of 3 ranks that has closed n steps."""

    def write(n: int, change_rank=twin.live_rank, **changes):
        return perfield.open(
            twin.write_run(
                tmp_path / "run", ranks=3, steps=n, change_rank=change_rank, ended=False, **changes
            )
        )

    return write


def add_step(run, step: int, ranks=(0, 1, 2)) -> None:
    """Some ranks close one more step."""
    (path,) = (run.path / "stream").glob("*.pf")
    for rank in ranks:
        writer = twin.Writer(path, rank)
        writer.sequence = 1000 + step
        writer.add("step", twin.step_body(**twin.step_values(rank, 3, step)), index=step)


def taken(frames: NewFrames) -> list[int]:
    """Indexes of all frames that can be taken now."""
    return [frame.index for frame in iter(frames.take, None)]


def test_all_frames_are_taken_in_order_as_they_come(growing):
    run = growing(4)
    frames = NewFrames(run)
    assert taken(frames) == [0, 1, 2, 3] and not frames.have_ended
    add_step(run, 4)
    assert taken(frames) == []
    frames.refresh()
    assert taken(frames) == [4] and frames.taken == 5


def test_a_frame_waits_until_its_last_rank_closed_it(growing):
    run = growing(1)
    frames = NewFrames(run)
    add_step(run, 1, ranks=(0, 2))
    frames.refresh()
    assert taken(frames) == [0]
    add_step(run, 1, ranks=(1,))
    frames.refresh()
    assert taken(frames) == [1] and not frames.notes


def test_an_incomplete_frame_is_shown_and_reported_once_the_patience_is_over(growing):
    run, clock = growing(1), Clock()
    frames = NewFrames(run, patience=20.0, clock=clock)
    add_step(run, 1, ranks=(0,))
    frames.refresh()
    assert taken(frames) == [0]
    clock.now = 21.0
    assert taken(frames) == [1]
    (note,) = frames.notes
    assert note.startswith("step 2 is shown without ranks 1, 2, which did not close it within 21 s")


def test_newest_passes_over_the_others_and_counts_them(growing):
    run = growing(6)
    frames = NewFrames(run, newest=True)
    assert taken(frames) == [5] and (frames.taken, frames.passed_over) == (1, 5)
    assert in_words(frames) == "shown 1 of 6 frames, passed over 5; up to date"


def test_every_leaves_out_frames_of_the_count(growing):
    frames = NewFrames(growing(7), every=3)
    assert taken(frames) == [0, 3, 6] and in_words(frames) == "shown 3 of 3 frames; up to date"


def test_lag_counts_waiting_frames_and_the_programs_time_between(growing):
    run = growing(4)
    frames = NewFrames(run)
    frames.take()
    stamps = [twin.step_values(0, 3, step)["realtime_ns"] for step in range(4)]
    lag = frames.lag
    assert lag.frames == 3 and lag.seconds == pytest.approx((stamps[3] - stamps[0]) * 1e-9)
    assert in_words(frames) == f"shown 1 of 4 frames; 3 frames ({lag.seconds:.1f} s) behind"


def test_a_silent_rank_elsewhere_ends_the_run_only_after_the_patience(growing):
    clock = Clock()
    frames = NewFrames(growing(2, change_rank=None), patience=20.0, clock=clock)
    assert taken(frames) == [0, 1]
    assert not frames.have_ended  # its process cannot be asked: a step may be long
    clock.now = 21.0
    assert frames.have_ended


def test_a_run_without_steps_is_one_frame_once_it_has_ended(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=0)
    frames = NewFrames(perfield.open(path))
    assert [frame.kind for frame in iter(frames.take, None)] == ["whole"] and frames.have_ended


def test_waiting_is_read_once_for_all_frames_that_wait(tmp_path, monkeypatch):
    def program(rank: int) -> list:
        exchange = [isend((rank + 1) % 3, "s"), irecv((rank - 1) % 3, "r"), wait("s", "r")]
        return [compute((1 + rank) * 1_000_000), *exchange, step()] * 5

    run = perfield.open(write_waiting_run(tmp_path / "run", simulate([program(rank) for rank in range(3)])))
    expected = run.values([CAUSED])[:, 0]
    read, of_steps = [], waits.waits_of_steps

    def counted(run, positions, *more):
        read.append(positions.tolist())
        return of_steps(run, positions, *more)

    monkeypatch.setattr(waits, "waits_of_steps", counted)
    frames = NewFrames(run, fields=[CAUSED, "step_time_s", "nothing"])
    found = []
    for frame in iter(frames.take, None):
        found.append(frame.values[CAUSED])
        frames.refresh()
    np.testing.assert_allclose(found, expected)
    assert read == [[0, 1, 2, 3, 4]]
