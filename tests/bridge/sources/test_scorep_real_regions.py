# SPDX-License-Identifier: BSD-3-Clause
"""Regions and steps of a program built with a real Score-P, if one is on PATH."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import perfield

PROGRAM = Path(__file__).resolve().parent / "programs/nested_regions.c"
QUIET = {"SCOREP_ENABLE_PROFILING": "false", "SCOREP_ENABLE_TRACING": "false"}
STEPS, RANKS = 5, 2

pytestmark = pytest.mark.skipif(shutil.which("scorep") is None, reason="there is no scorep on PATH")


@pytest.fixture
def nested(with_scorep, perfield_flags, mpirun, bin_dir):
    """nested(*arguments, **environment): runs programs/nested_regions.c with perfield's wrappers."""
    program = with_scorep(PROGRAM, *perfield_flags("--cflags"))

    def run(*arguments: str, **environment: str) -> perfield.Run:
        result = mpirun(RANKS, bin_dir / "perfield-exec", program, *arguments, env={**QUIET, **environment})
        assert result.returncode == 0, result.stderr
        return perfield.open(result.cwd / "perfield-run")

    return run


@pytest.mark.parametrize("timer", ["tsc", "clock_gettime", "gettimeofday"])
def test_steps_and_regions_are_right_with_any_timer(nested, timer):
    run = nested(SCOREP_TIMER=timer, PERFIELD_REGIONS="flux*", PERFIELD_STEP_REGION="time_step")
    assert len(run) == STEPS
    for frame in run.frames():
        values = frame.values
        assert values["flux_edge_count"].tolist() == RANKS * [2]
        assert values["flux_count"].tolist() == RANKS * [4]
        assert (values["flux_time_s"] >= 0.00399).all()
        assert (values["flux_edge_time_s"] >= values["flux_time_s"]).all()
        assert (values["step_time_s"] >= values["flux_edge_time_s"]).all()
    assert run.ends[0]["faults"] == {}
    assert run.ends[0]["dropped_events"] == {}


def test_main_is_measured_from_waking_on(nested):
    run = nested(PERFIELD_REGIONS="main")
    (frame,) = run.frames()
    assert frame.values["main_count"].tolist() == RANKS * [1]
    assert (frame.values["main_time_s"] >= STEPS * 0.00399).all()


def test_only_armed_calls_of_a_function_are_measured(nested):
    run = nested("arms", PERFIELD_REGIONS="", PERFIELD_STEP_REGION="time_step")
    for frame in run.frames():
        # flux_edge at its second place, and each time flux at the second place inside it.
        assert frame.values["flux_edge_count"].tolist() == RANKS * [1]
        assert frame.values["flux_count"].tolist() == RANKS * [2]
