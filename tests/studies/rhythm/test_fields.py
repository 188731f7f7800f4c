# SPDX-License-Identifier: BSD-3-Clause
"""Frames that carry the rhythm of their ranks: phase, phase gradient and R."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from known_runs import rhythm_runs

import perfield
from perfield.run import AnyRun
from perfield.studies.rhythm.fields import RHYTHM
from perfield.studies.rhythm.model import RhythmError
from twins import twin


def frames_of(path, stamps, **options):
    return perfield.open(rhythm_runs.write(path / "run", stamps, **options)).with_fields(RHYTHM)


def test_each_frame_says_who_is_ahead_and_by_how_much(tmp_path):
    run = frames_of(tmp_path, rhythm_runs.even(4, 6, behind_s=[0, 0.1, 0.2, 0.3]))
    for number in (1, 3):
        values = run.frame(number).values
        assert values["phase_steps"] == pytest.approx([0.15, 0.05, -0.05, -0.15])
        assert values["phase_gradient_steps"] == pytest.approx(
            [0.3, 0.1, 0.1, 0.1]
        )  # a ring: 0 receives from 3
        r = abs(np.exp(2j * np.pi * np.array([0, 0.1, 0.2, 0.3])).mean())
        assert values["order_parameter"] == pytest.approx([r] * 4)


def test_last_frame_has_all_ranks_that_are_within_half_a_step(tmp_path):
    run = frames_of(tmp_path, rhythm_runs.even(4, 6, behind_s=[0, 0.1, 0.2, 0.3]))
    assert np.isfinite(run.frame(-1).values["phase_steps"]).all()
    assert np.isfinite(run.frame(0).values["phase_steps"]).all()


def test_rank_without_a_phase_is_absent(tmp_path):
    stamps = rhythm_runs.even(3, 6)
    del stamps[1][3:]
    values = frames_of(tmp_path, stamps).frame(4).values
    for name in RHYTHM:
        assert np.isnan(values[name][1])
    assert values["phase_steps"][[0, 2]] == pytest.approx([0, 0])


def test_damaged_step_leaves_the_rhythm_of_the_others(tmp_path):
    path = rhythm_runs.write(tmp_path / "run", rhythm_runs.even(2, 6))
    stream = next((path / "stream").iterdir())
    data = bytearray(stream.read_bytes())
    for entry in twin.decode(bytes(data))[0]:
        if entry["type"] == "step" and entry["index"] == 3:
            data[entry["end"] - 1] ^= 0xFF
    stream.write_bytes(data)
    frames = list(perfield.open(path).with_fields(RHYTHM).frames())
    assert [frame.index for frame in frames] == [0, 1, 2, 4, 5]
    for frame in frames:
        assert frame.values["phase_steps"] == pytest.approx([0, 0])


def test_groups_are_compared_among_themselves(tmp_path):
    def grouped(rank, values):
        values.update(monotonic_ns=10**12, group="coarse" if rank > 1 else "fine")

    fine, coarse = rhythm_runs.even(2, 6), rhythm_runs.even(2, 3, period_s=2.0, behind_s=[0, 0.2])
    run = frames_of(tmp_path, {**fine, 2: coarse[0], 3: coarse[1]}, change_rank=grouped)
    assert run.frame(1).values["phase_steps"] == pytest.approx([0, 0, 0.05, -0.05])


def test_run_without_messages_has_no_gradient(tmp_path):
    def silent(rank, step, values):
        values["messages"] = []

    values = frames_of(tmp_path, rhythm_runs.even(3, 5), change=silent).frame(1).values
    assert "phase_gradient_steps" not in values and "phase_steps" in values


def test_everything_else_is_the_runs_own(tmp_path):
    run = frames_of(tmp_path, rhythm_runs.even(2, 4))
    plain = perfield.open(run.path)
    assert copy.copy(run).n_ranks == 2
    assert isinstance(run, AnyRun) and len(run) == 4 and run.n_ranks == 2
    assert [frame.index for frame in run.frames()] == [frame.index for frame in plain.frames()]
    assert set(run.frame(0).values) - set(plain.frame(0).values) == set(RHYTHM)


def test_run_of_one_step_is_refused(tmp_path):
    with pytest.raises(RhythmError, match="measure more steps"):
        frames_of(tmp_path, rhythm_runs.even(2, 1))
