# SPDX-License-Identifier: BSD-3-Clause
"""Samples by region and path, and programs that make sampling hard."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import perfield

PROGRAMS = Path(__file__).parent / "programs"
RATE = 2000  # samples per second: enough of them in a short run
SURE = 4  # standard deviations


@pytest.fixture
def sampled(mpirun, build_c, bin_dir, tmp_path):
    """sampled(what, steps, env=None): run and process of programs/odd_samples.c, which sends no messages."""
    program = build_c(PROGRAMS / "odd_samples.c", "-lpthread")

    def run(what, steps, env=None):
        env = {"PERFIELD_SAMPLE": str(RATE), **(env or {})}
        result = mpirun(1, bin_dir / "perfield-exec", program, what, str(steps), env=env, cwd=tmp_path)
        assert result.returncode == 0 and "done" in result.stdout, result.stderr
        return perfield.open(tmp_path / "perfield-run"), result

    return run


def counts(run, *columns):
    return run.samples().compute().groupby([*columns])["count"].sum()


def test_samples_are_in_the_region_in_which_the_function_ran(sampled):
    run, _ = sampled("nested", 150)
    found = counts(run, "function", "region")
    for function, region in {
        "of_pressure": "solve < pEqn",
        "of_velocity": "solve < UEqn",
        "in_no_region": "no region",
    }.items():
        assert found[function][region] > 0.98 * found[function].sum()
    assert set(found["assemble"].index) == {"pEqn", "UEqn"}


def test_sampled_shares_are_the_cpu_time_of_the_paths(sampled):
    run, result = sampled("nested", 200)
    paths = ["pEqn", "solve < pEqn", "UEqn", "solve < UEqn"]
    found = run.samples().compute().groupby("region")["time_s"].sum()[paths]
    spent = np.array(re.search("^spent (.*)$", result.stdout, re.MULTILINE)[1].split(), float)
    n = counts(run, "region")[paths].sum()
    assert n > 500
    # Within two points, and four standard deviations where there are few samples.
    error = max(0.02, SURE * (0.25 / n) ** 0.5)
    assert (found / found.sum()).to_numpy() == pytest.approx(spent / spent.sum(), abs=error)


def test_paths_without_room_are_other_paths_of_their_region(sampled):
    run, result = sampled("many", 20, {"PERFIELD_MAX_PATHS": "64"})
    assert run.ends[0]["dropped_paths"] > 0
    assert result.stderr.count("raise max_paths (now 64)") == 1
    paths = set(run.paths().compute()["path"])
    assert 100 < sum(path.endswith(" < other paths") for path in paths) < 200
    assert any(region.endswith(" < other paths") for region in run.samples().compute()["region"])


def test_threads_of_some_microseconds_change_nothing(sampled):
    run, result = sampled("brief", 100)
    assert "not all threads" not in result.stderr
    assert run.paths().compute().groupby("path")["count"].sum()["inside"] == 20 * len(run)
    assert counts(run, "function")["in_no_region"] > 100


def test_two_hundred_threads_have_samples_in_their_own_regions(sampled):
    run, result = sampled("many", 30)
    found = counts(run, "function", "region")["in_thread"]
    # Where the machine has no room for the rings of all, it says so.
    assert len(found) > (10 if "not all threads" in result.stderr else 150)
    assert all(region.startswith("thread ") or region == "not known" for region in found.index)
    assert found.get("not known", 0) < 0.02 * found.sum()


@pytest.mark.parametrize("children", ["forks", "clones"])
def test_children_are_not_sampled_and_end_as_usual(sampled, children):
    run, _ = sampled(children, 60)
    assert "in_no_region" in counts(run, "function") and "of_pressure" not in counts(run, "function")
    assert len(run) == 60 and not run.damage


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program makes code of x86-64")
def test_code_that_the_program_makes_is_code_without_a_file(sampled):
    run, _ = sampled("made", 60)
    assert counts(run, "function", "region")["code without a file", "inside"] > 100


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program makes code of x86-64")
def test_code_that_the_program_lists_for_perf_has_its_name(sampled):
    run, _ = sampled("listed", 60)
    assert counts(run, "function", "region")['flow::made(int) "?"', "inside"] > 100


def test_a_seccomp_filter_is_reported_in_one_line_and_nothing_else_changes(sampled, tmp_path):
    made = ["cc", "-shared", "-fPIC", PROGRAMS / "no_perf_calls.c", "-o", "no_perf_calls.so"]
    subprocess.run(made, cwd=tmp_path, check=True)
    run, result = sampled("nested", 30, {"LD_PRELOAD": str(tmp_path / "no_perf_calls.so")})
    assert result.stderr.count("functions are not sampled: perf_event_open is forbidden here") == 1
    assert not run.has_samples and run.paths().compute()["path"].nunique() == 4
