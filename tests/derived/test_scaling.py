# SPDX-License-Identifier: BSD-3-Clause
"""What is read of a run for a comparison of runs: which frames count, and what they hold."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from perfield.analysis.scaling_laws import ScalingError
from perfield.derived.scaling import measured, scaling_of
from twins import twin


def opened(tmp_path, **words):
    words = {"ranks": 4, "steps": 6} | words
    return perfield.open(twin.write_run(tmp_path / "run", **words))


def with_cells(rank, step, values):
    """32 cells on each rank, declared as one more quantity."""
    values["quantities"].append({"region": twin.OF_RANK, "quantity": len(twin.QUANTITIES), "value": 32})


def test_steps_regions_memory_and_program_are_read(tmp_path):
    found = measured(opened(tmp_path))
    slowest = np.array([twin.solve_ns(3, step) for step in range(6)]) / 1e9
    assert found.regions["solve"] == pytest.approx(slowest)
    assert found.step_s == pytest.approx(slowest + 200e-6)
    assert found.compute_largest_s == pytest.approx(slowest + 100e-6)
    mean = np.mean([[twin.solve_ns(rank, step) for step in range(6)] for rank in range(4)], axis=0) / 1e9
    assert found.compute_mean_s == pytest.approx(mean + 100e-6)
    assert found.memory_bytes.tolist() == [50_000_000.0 + rank for rank in range(4)]
    assert (found.program, found.n_ranks, found.steps_end) == ("heat", 4, "")
    assert found.calls == {"solve": 4.0, "exchange": 4.0}


def test_frames_without_some_rank_do_not_count(tmp_path):
    found = measured(opened(tmp_path, change_step=lambda rank, step, values: not (rank == 1 and step == 3)))
    assert len(found.step_s) == 5


def test_frame_of_several_steps_counts_as_their_mean(tmp_path):
    alone, added = measured(opened(tmp_path / "a")), measured(opened(tmp_path / "b", sum_every=2))
    assert added.step_s == pytest.approx(alone.step_s / 2)
    assert added.regions["solve"] == pytest.approx(alone.regions["solve"] / 2)
    assert added.calls["solve"] == 2.0


def test_cells_of_all_ranks_are_the_size(tmp_path):
    quantities = (*twin.QUANTITIES, ("cells", "1", "rank", "sum"))
    assert measured(opened(tmp_path)).sizes == {}
    run = opened(tmp_path / "cells", quantities=quantities, change_step=with_cells)
    assert measured(run).sizes == {"cells": 128.0}


def test_steps_that_write_output_are_marked(tmp_path):
    def write(rank, step, values):
        if step == 2:
            values["quantities"].append(
                {"region": twin.OF_RANK, "quantity": twin.FILE_WRITE, "value": 10_000_000}
            )

    found = measured(opened(tmp_path, change_step=write))
    assert np.flatnonzero(found.is_output).tolist() == [2]


def test_same_run_named_twice_is_refused(tmp_path):
    run = opened(tmp_path)
    with pytest.raises(ScalingError, match="are the same run; name each run once"):
        scaling_of([run, perfield.open(run.path)])


def test_run_that_still_runs_is_compared_without_its_whole_time(tmp_path):
    found = measured(opened(tmp_path, ended=False, change_rank=twin.live_rank))
    assert len(found.step_s) == 6 and np.isnan(found.whole_s)
