# SPDX-License-Identifier: BSD-3-Clause
"""Samples of functions in real programs whose shares are known."""

from __future__ import annotations

import errno
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import WITH_ONE_MPI

import perfield

PROGRAMS = Path(__file__).parent / "programs"
RATE = 2000  # samples per second: enough of them in a short run


@pytest.fixture
def shares(mpi, build_c, bin_dir, tmp_path):
    """shares(*words, strip=False, env=None): run and process of a copy of programs/shares.c."""
    plugged = build_c(PROGRAMS / "plugged.c", "-shared", "-fPIC", name="libplugged.c", mpi=False)
    shutil.copy(plugged, tmp_path / "libplugged.so")

    def run(*words, n=1, strip=False, env=None):
        shutil.copy(build_c(PROGRAMS / "shares.c", "-ldl", "-lpthread", by=mpi), tmp_path)
        if strip:
            subprocess.run(["strip", "shares"], cwd=tmp_path, check=True)
        env = {"PERFIELD_SAMPLE": str(RATE), **(env or {})}
        command = [bin_dir / "perfield-exec", "./shares", *map(str, words)]
        result = mpi.run(n, *command, env=env, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "perfield-run"), result

    return run


def times(run):
    """CPU time in s by function of the program."""
    return run.samples().compute().groupby("function")["time_s"].sum()


@WITH_ONE_MPI
def test_functions_have_their_shares_of_the_cpu_time_inlined_ones_too(shares):
    run, result = shares(250)
    used = float(run.steps["cpu_user_time_s"].sum())
    assert run.samples().compute()["time_s"].sum() == pytest.approx(used, rel=0.1, abs=0.05)
    found = times(run)[["cheap", "middle", "costly"]]
    count = run.samples().compute()["count"].sum()
    assert count > 1000
    spent = np.array(re.search("^spent (.*)$", result.stdout, re.MULTILINE)[1].split(), float)
    assert spent / spent.sum() == pytest.approx([0.1, 0.3, 0.6], abs=0.1)
    # Within two points, and four standard deviations where there are few samples.
    error = max(0.02, 4 * (0.25 / count) ** 0.5)
    assert (found / found.sum()).to_numpy() == pytest.approx(spent / spent.sum(), abs=error)


@WITH_ONE_MPI
def test_a_library_that_is_opened_later_has_its_share(shares, tmp_path):
    run, _ = shares(150, tmp_path / "libplugged.so")
    table = run.samples().compute()
    assert set(table[table["function"] == "plugged"]["module"]) == {str(tmp_path / "libplugged.so")}
    assert table[table["function"] == "plugged"]["step"].min() >= 3
    later = table[table["step"] > 10].groupby("function")["time_s"].sum()
    assert later["plugged"] == pytest.approx(later["costly"], rel=0.25)


@WITH_ONE_MPI
def test_a_second_thread_has_a_number_of_its_own(shares):
    run, _ = shares(150, "", "thread")
    of_thread = run.samples().compute().groupby("thread")["function"].agg(set)
    assert "beside" not in of_thread[0] and any("beside" in found for found in of_thread[1:])


@WITH_ONE_MPI
def test_a_thread_that_takes_the_place_of_another_is_sampled(shares):
    run, _ = shares(200, "", "relay")
    of_thread = run.samples().compute().groupby("thread")["function"].agg(set)
    assert any("relayed" in found for found in of_thread[1:])


@WITH_ONE_MPI
def test_a_program_without_steps_keeps_all_its_samples(shares):
    run, result = shares(300, "", "whole")
    table = run.samples().compute()
    assert "no step closed" in repr(run)
    assert table["thread"].nunique() == 2  # so none is perfield's own
    periods = table["time_s"] / table["count"]
    assert periods.max() == pytest.approx(1 / RATE, rel=0.05)
    spent = sum(map(float, re.search("^spent (.*)$", result.stdout, re.MULTILINE)[1].split()))
    assert spent > 0.25 and table[table["thread"] == 0]["time_s"].sum() == pytest.approx(spent, rel=0.1)


@WITH_ONE_MPI
def test_stripped_programs_name_the_place_where_a_function_begins(shares):
    run, _ = shares(150, strip=True)
    named = [name for name in times(run).index if name.startswith("shares+0x")]
    assert len(named) >= 3  # cheap, costly, and work, into which middle is inlined
    assert times(run)[named].sum() > 0.8 * times(run).sum()


def test_each_rank_says_its_own_functions(shares):
    run, _ = shares(100, n=2)
    assert set(run.samples().compute()["rank"]) == {0, 1}


@WITH_ONE_MPI
@pytest.mark.parametrize(
    ("number", "sentence"),
    [(errno.EACCES, "perf_event_open is forbidden here"), (errno.EMFILE, "perf_event_open fails (Too many")],
    ids=["forbidden", "no descriptors"],
)
def test_a_kernel_that_refuses_is_reported_in_one_line_and_nothing_else_changes(
    shares, tmp_path, number, sentence
):
    made = ["cc", "-shared", "-fPIC", PROGRAMS / "no_samples.c", "-o", "no_samples.so", "-ldl"]
    subprocess.run(made, cwd=tmp_path, check=True)
    env = {"LD_PRELOAD": str(tmp_path / "no_samples.so"), "NO_SAMPLES": str(number)}
    run, result = shares(20, n=2, env=env)
    assert result.stderr.count("functions are not sampled: ") == 1 and sentence in result.stderr
    assert len(run) == 20 and not run.has_samples and not len(run.samples().compute())


@WITH_ONE_MPI
def test_without_the_setting_nothing_is_sampled(shares):
    run, _ = shares(20, env={"PERFIELD_SAMPLE": "0"})
    assert not run.has_samples
    assert "sampling" not in run.rank_entries[0]["sources"]


@WITH_ONE_MPI
def test_samples_keep_to_their_part_of_record_limit(shares):
    run, result = shares(400, env={"PERFIELD_RECORD_LIMIT": "200000", "PERFIELD_SAMPLE": "10000"})
    size = sum(file.stat().st_size for file in (run.path / "stream").iterdir())
    assert size <= 1.05 * 200_000
    periods = run.samples().compute()["time_s"] / run.samples().compute()["count"]
    assert periods.max() > 1.9 * periods.min()  # fewer samples, each of which counts more
    used = float(run.steps["cpu_user_time_s"].sum())
    assert run.samples().compute()["time_s"].sum() == pytest.approx(used, rel=0.15)  # up to the end
    assert "samples of functions found no room" not in result.stderr


@WITH_ONE_MPI
def test_a_file_that_was_built_anew_names_nothing(shares, tmp_path):
    run, _ = shares(100)
    program = tmp_path / "shares"
    subprocess.run(["cc", "-x", "c", "-", "-o", program], input=b"int main(void) { return 7; }", check=True)
    assert perfield.open(run.path).sampled.changed == [str(program)]
    assert not {"cheap", "costly"} & set(times(perfield.open(run.path)).index)
