# SPDX-License-Identifier: BSD-3-Clause
"""What the threads of OpenMP do, in programs of LLVM's runtime and of GCC's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import WITH_ONE_MPI

import perfield

PROGRAM = Path(__file__).parent / "programs/openmp.c"
MS = 1e-3
NO_OMPT = "has no OMPT"
OWN_TOOL = "brings or names an OMPT tool of its own"


@pytest.fixture
def openmp(mpi, perfield_flags, bin_dir, tmp_path):
    """openmp(what, n=1, by="clang", flags=(), env=None): the run and process of programs/openmp.c."""

    def run(what: str, n: int = 1, by: str = "clang", flags=(), env=None):
        assert shutil.which(by), f"{by} is not installed; see .ci/packages"
        words = [
            mpi.cc,
            "-O1",
            "-Wall",
            "-fopenmp",
            *flags,
            PROGRAM,
            *perfield_flags("--cflags"),
            "-o",
            "omp",
        ]
        chosen = {"OMPI_CC": by, "MPICH_CC": by}
        subprocess.run([*words, "-rdynamic"], cwd=tmp_path, env=os.environ | chosen, check=True)
        env = {"OMP_WAIT_POLICY": "passive", **(env or {})}  # cores are shared
        result = mpi.run(n, bin_dir / "perfield-exec", "./omp", what, env=env, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "perfield-run"), result

    return run


def of_threads(run, kind: str, rank: int = 0, n_threads: int = 4) -> np.ndarray:
    """Times of a rank's threads in s, (n steps, n_threads)."""
    names = [f"thread_{thread}_{kind}_time_s" for thread in range(n_threads)]
    return np.array([[f.values[name][rank] for name in names] for f in run.frames() if f.kind == "step"])


def of_rank(run, name: str, rank: int = 0) -> np.ndarray:
    return np.array([f.values[name][rank] for f in run.frames() if f.kind == "step"])


@WITH_ONE_MPI
@pytest.mark.parametrize("what", ["imbalance", "loop", "explicit"])
def test_a_late_thread_lets_the_others_wait_in_barriers(openmp, what):
    run, result = openmp(what, n=2)
    for rank in range(2):
        computes, waits = (of_threads(run, kind, rank) for kind in ("parallel", "barrier"))
        late = computes.argmax(axis=1)  # threads are numbered as they began
        steps = np.arange(len(late))
        others = np.delete(np.arange(4)[None].repeat(len(late), 0).ravel(), steps * 4 + late).reshape(-1, 3)
        assert (computes[steps, late] >= 59 * MS).all()
        less = np.median(waits[steps[:, None], others].min(axis=1) - waits[steps, late])
        assert 40 * MS <= less <= 70 * MS
    assert "ompt" in run.rank_entries[0]["sources"]
    assert NO_OMPT not in result.stderr


def test_times_of_threads_fit_into_the_step(openmp):
    run, _ = openmp("imbalance", n=2)
    for rank in range(2):
        step_s = of_rank(run, "step_time_s", rank)
        computes, waits = (of_threads(run, kind, rank) for kind in ("parallel", "barrier"))
        idle = of_rank(run, "omp_idle_time_s", rank)
        # A thread without a core ends its wait in a later step, never before it is over.
        assert ((computes + waits).cumsum(axis=0) <= step_s.cumsum()[:, None] + MS).all()
        np.testing.assert_allclose(computes.sum(axis=1), of_rank(run, "omp_parallel_time_s", rank))
        np.testing.assert_allclose(waits.sum(axis=1), of_rank(run, "omp_barrier_time_s", rank))
        np.testing.assert_allclose(computes.max(axis=1), of_rank(run, "omp_longest_parallel_time_s", rank))
        alone = step_s - computes[:, 0] - waits[:, 0]  # the first thread, outside of regions
        assert (alone >= 9 * MS).all()
        of_all = (computes + waits).sum() + idle.sum() + alone.sum()
        np.testing.assert_allclose(of_all, 4 * step_s.sum(), atol=step_s.max())
        assert (of_rank(run, "omp_threads", rank) == 4).all()


@WITH_ONE_MPI
def test_idle_time_after_a_region_is_no_waiting(openmp):
    run, _ = openmp("imbalance")
    waits = of_threads(run, "barrier")
    assert (waits.max(axis=1) <= of_rank(run, "omp_longest_parallel_time_s") + MS).all()
    assert (of_rank(run, "omp_idle_time_s") >= 3 * 9 * MS).all()


@WITH_ONE_MPI
def test_nested_regions_count_once(openmp):
    run, _ = openmp("nested")
    computes, waits = of_threads(run, "parallel"), of_threads(run, "barrier")
    assert (computes + waits <= of_rank(run, "step_time_s")[:, None] + MS).all()
    assert (computes.max(axis=1) >= 59 * MS).all()
    assert (waits.max(axis=1) >= 30 * MS).all()


@WITH_ONE_MPI
def test_a_task_that_runs_while_its_thread_waits_is_computing(openmp):
    run, _ = openmp("tasks")
    computes = of_threads(run, "parallel").sum(axis=1)
    assert (computes >= 4 * 14 * MS).all()


@WITH_ONE_MPI
def test_fork_does_no_harm(openmp):
    run, _ = openmp("fork")
    assert len(of_threads(run, "parallel")) >= 4


@WITH_ONE_MPI
def test_gcc_s_runtime_gives_cpu_time_and_says_so_once(openmp):
    run, result = openmp("burn", n=2, by="gcc")
    assert result.stderr.count(NO_OMPT) == 1
    assert "ompt" not in run.rank_entries[0]["sources"]
    for rank in range(2):
        names = [f"thread_{thread}_cpu_time_s" for thread in range(4)]
        totals = [sum(of_rank(run, name, rank)[1:]) for name in names]
        n_steps = len(of_rank(run, names[0])) - 1
        assert max(totals) >= 0.9 * n_steps * 60 * MS
        assert sorted(totals)[0] <= n_steps * 20 * MS
        assert "omp_parallel_time_s" not in run.frame(0).values


@WITH_ONE_MPI
def test_a_tool_of_the_program_comes_first(openmp):
    run, result = openmp("imbalance", flags=["-DOWN_TOOL=1"])
    assert "own tool for LLVM" in result.stderr
    assert result.stderr.count(OWN_TOOL) == 1
    assert "omp_parallel_time_s" not in run.frame(0).values


@WITH_ONE_MPI
def test_a_tool_of_the_program_that_declines_leaves_the_threads_to_perfield(openmp):
    run, result = openmp("imbalance", flags=["-DOWN_TOOL=0"])
    assert "own tool for LLVM" in result.stderr
    assert OWN_TOOL not in result.stderr
    assert (of_threads(run, "parallel").max(axis=1) >= 59 * MS).all()


@WITH_ONE_MPI
def test_a_tool_that_the_user_names_comes_first(openmp):
    run, result = openmp("imbalance", env={"OMP_TOOL_LIBRARIES": "/nowhere/libtool.so"})
    assert result.stderr.count(OWN_TOOL) == 1
    assert "omp_parallel_time_s" not in run.frame(0).values


LATE = """
  void* library = dlopen("libomp.so.5", RTLD_NOW | RTLD_GLOBAL);
  if (!library) library = dlopen("/usr/lib/llvm-14/lib/libomp.so.5", RTLD_NOW | RTLD_GLOBAL);
  void (*parallel)(void (*)(void*), void*, unsigned, unsigned);
  *(void**)&parallel = dlsym(library, "GOMP_parallel");
  if (!parallel) return 3;
  for (int step = 0; step < 4; ++step) {
    parallel(rest, NULL, 4, 0);
    perfield_step(step, step);
  }
"""


def test_a_runtime_that_is_loaded_late_is_followed(measured):
    before = "#include <dlfcn.h>\n#include <unistd.h>\nstatic void rest(void* unused) { usleep(5000); }\n"
    run, _ = measured(LATE, before=before, real_time=True, flags=["-ldl"])
    assert (of_threads(run, "parallel")[1:] >= 4 * MS).all()
