# SPDX-License-Identifier: BSD-3-Clause
"""Phases of programs that were measured, that still run, and whose traces were imported."""

from __future__ import annotations

import time

import numpy as np
import pytest
from conftest import kill_session, start_command

import perfield
from perfield.run import RunError
from perfield.studies.rhythm.model import course, phases
from perfield.studies.rhythm.of_run import phases_of_run

TURN = 2 * np.pi


def test_ranks_that_wait_for_each_other_do_not_drift(rhythm_run):
    words = ["--sleep", 0.01, "--steps", 40, "--unequal", 1, "--send-to", "1,-1"]
    found = course(phases_of_run(perfield.open(rhythm_run(4, "pisolver", *words))))
    assert found.drift is None
    assert found.widest.spread < 4  # one step for each of three messages on the way, and a part of one


def test_program_that_runs_has_phases_that_stay(rhythm_programs, bin_dir, tmp_path):
    words = ["run", "--oversubscribe", "-n", 2, "--", rhythm_programs / "pisolver"]
    process = start_command(
        [bin_dir / "perfield", *words, "--sleep", 0.02, "--steps", 100_000, "--send-to", "1,-1"], tmp_path
    )
    try:
        run = with_steps(tmp_path / "perfield-run", 10)
        assert run.state == "running"
        early = phases_of_run(run, samples=50)
        run = with_steps(tmp_path / "perfield-run", int(run.steps_closed.min()) + 10)
        later = phases_of_run(run, times=early.time.values)
    finally:
        kill_session(process.pid)
        process.communicate()
    known = np.isfinite(early.phase.values)
    assert known.mean() > 0.5
    np.testing.assert_array_equal(later.phase.values[known], early.phase.values[known])


def with_steps(path, n):
    """The run at `path`, once each rank has written n steps."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            run = perfield.open(path)
        except (RunError, OSError):
            time.sleep(0.05)
            continue
        if run.n_ranks == 2 and run.steps_closed.min() >= n:
            return run
        time.sleep(0.1)
    pytest.fail(f"{path} did not get {n} steps within a minute")


def test_imported_trace_has_the_phases_of_its_steps(perfield_cli, tmp_path):
    small_traces = pytest.importorskip("small_traces", reason="the module otf2 is not installed")
    step, behind = 20_000, 5_000  # ns
    with small_traces.Writer(tmp_path / "trace", ranks=3) as trace:
        for rank in range(3):
            trace.inside(rank, "MPI_Init", 1000, 9000)
            for number in range(20):
                begin = 10_000 + rank * behind + number * step
                trace.inside(rank, "time_step", begin, begin + step)
    result = perfield_cli("import", trace.anchor, "--step-region", "time_step")
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    found = phases_of_run(run)
    middle = found.phase.isel(time=len(found.time) // 2) / TURN
    assert np.diff(middle.values) == pytest.approx([-behind / step] * 2)
    assert course(found).end.state == "wavefront"
    assert course(found).end.slope == pytest.approx(-behind / step)
    # The Dataset of measured steps gives the same, since all steps were measured.
    np.testing.assert_allclose(phases(run.steps, found.time.values).phase, found.phase)
