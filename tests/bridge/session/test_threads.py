# SPDX-License-Identifier: BSD-3-Clause
"""Times of a region over the threads of a rank: smallest, mean, longest, and their imbalance."""

from __future__ import annotations

import json

import pytest

import perfield
from twins import twin

# Four threads live through each step and take turns in the region `loop`: time passes only in work(), so
# thread n takes n * 10 ms in step 0 and n * 20 ms in step 1. The first of them also enters `alone`.
BEFORE = """
#include <pthread.h>
#include <sched.h>
static pthread_barrier_t all;
static _Atomic int turn;
static perfield_region loop, alone;
static double unit_ms;
__attribute__((constructor)) static void prepare(void) { pthread_barrier_init(&all, NULL, 4); }
static void* in_thread(void* argument) {
  long n = (long)argument;
  pthread_barrier_wait(&all);
  while (turn != n - 1) sched_yield();
  perfield_region_begin(loop);
  work(n * unit_ms);
  perfield_region_end(loop);
  perfield_region_begin(loop);
  perfield_region_end(loop);
  if (n == 1) { perfield_region_begin(alone); work(5); perfield_region_end(alone); }
  ++turn;
  pthread_barrier_wait(&all);
  return NULL;
}
"""
STEPS = """
  loop = REGION("loop"); alone = REGION("alone");
  perfield_initialize();
  for (int step = 0; step < 2; ++step) {
    pthread_t threads[4];
    turn = 0;
    unit_ms = 10 * (step + 1);
    for (long n = 1; n <= 4; ++n) pthread_create(&threads[n - 1], NULL, in_thread, (void*)n);
    for (int n = 0; n < 4; ++n) pthread_join(threads[n], NULL);
    perfield_step(step, step);
    if (step == 1) print_values();
  }
"""


@pytest.fixture
def threaded(measured):
    """threaded(**settings): (run, values that the program itself printed) of the program above."""

    def run(**settings):
        env = {f"PERFIELD_{key.upper()}": value for key, value in settings.items()}
        found, result = measured(STEPS, before=BEFORE, flags=("-pthread",), env=env)
        printed = dict(line.split() for line in result.stdout.splitlines())
        return found, {name: float.fromhex(value) for name, value in printed.items() if value != "nan"}

    return run


EXPECTED = {
    "loop_count": 8,
    "loop_thread_count": 4,
    "loop_thread_min_time_s": 0.010,
    "loop_thread_mean_time_s": 0.025,
    "loop_time_s": 0.040,
    "loop_thread_imbalance": 1.6,
    "alone_thread_count": 1,
    "alone_thread_min_time_s": 0.005,
    "alone_thread_mean_time_s": 0.005,
    "alone_time_s": 0.005,
    "alone_thread_imbalance": 1.0,
}


def test_smallest_mean_and_longest_thread_are_fields(threaded):
    run, printed = threaded()
    for number, factor in ((0, 1), (1, 2)):
        for name, value in EXPECTED.items():
            grows = factor if name.startswith("loop") and name.endswith("_s") else 1
            assert run.frame(number).values[name][0] == pytest.approx(value * grows, rel=1e-3), name
    for name in EXPECTED:
        assert printed[name] == pytest.approx(run.frame(1).values[name][0], rel=1e-6), name


def test_steps_in_one_frame_add_times_up_and_compute_the_imbalance_again(threaded):
    run, _ = threaded(sum_every="2")
    values = {name: column[0] for name, column in run.frame(0).values.items()}
    assert values["loop_thread_min_time_s"] == pytest.approx(0.030, rel=1e-3)
    assert values["loop_thread_mean_time_s"] == pytest.approx(0.075, rel=1e-3)
    assert values["loop_time_s"] == pytest.approx(0.120, rel=1e-3)
    assert values["loop_thread_imbalance"] == pytest.approx(1.6, rel=1e-3)
    assert (values["loop_count"], values["loop_thread_count"]) == (16, 4)


def test_fields_say_how_threads_combine(threaded):
    fields = threaded()[0].columns.kinds
    over = {
        name: fields[f"<region>_{name}"].over_threads for name in ("count", "time_s", "thread_min_time_s")
    }
    assert over == {"count": "sum", "time_s": "longest", "thread_min_time_s": "shortest"}


def test_run_without_shared_regions_has_no_fields_of_threads(measured):
    body = 'perfield_region r = REGION("loop"); perfield_initialize();'
    body += "perfield_region_begin(r); work(1); perfield_region_end(r); perfield_step(0, 0);"
    run, _ = measured(body)
    assert "loop_time_s" in run.columns.names
    assert [name for name in run.columns.names if "thread" in name] == []


OPENMP = """
  perfield_region loop = REGION("loop");
  perfield_initialize();
  for (int step = 0; step < 3; ++step) {
    #pragma omp parallel num_threads(rank == 0 ? 3 : 1)
    {
      perfield_region_begin(loop);
      usleep(rank == 0 ? 20000 * (1 + omp_get_thread_num()) : 10000);
      perfield_region_end(loop);
    }
    perfield_step(step, step);
  }
"""


def test_ranks_of_a_hybrid_program_say_their_threads(measured, perfield_cli):
    run, _ = measured(OPENMP, n=2, before="#include <omp.h>", flags=("-fopenmp",), mpi=True, real_time=True)
    for frame in run.frames():
        values = {name: column for name, column in frame.values.items() if name.startswith("loop_")}
        assert values["loop_thread_count"].tolist() == [3, 1]
        assert values["loop_count"].tolist() == [3, 1]
        shortest, mean, longest = (
            values[f"loop_{name}"] for name in ("thread_min_time_s", "thread_mean_time_s", "time_s")
        )
        assert 0.02 <= shortest[0] < mean[0] < longest[0]
        assert shortest[1] == mean[1] == longest[1]
        assert values["loop_thread_imbalance"] == pytest.approx(longest / mean)
    (row,) = json.loads(perfield_cli("info", run.path, "--regions", "--json").stdout)["regions"]
    assert row["threads"] == 3 and 1 < row["thread_imbalance"] < 3
    assert perfield.open(run.path).columns.names == run.columns.names


def test_table_of_regions_says_threads_where_they_shared_one(threaded, perfield_cli):
    run, _ = threaded()
    rows = json.loads(perfield_cli("info", run.path, "--regions", "--json").stdout)["regions"]
    reported = {
        row["name"]: (row["threads"], pytest.approx(row["thread_imbalance"], rel=1e-3)) for row in rows
    }
    assert reported == {"loop": (4, 1.6), "alone": (1, 1.0)}
    header = perfield_cli("info", run.path, "--regions").stdout.splitlines()[0].split()
    assert header[-3:] == ["threads", "thread_imbalance", "name"]


def test_table_of_regions_has_no_columns_of_threads_without_them(perfield_cli, tmp_path):
    path = twin.write_run(tmp_path / "run")
    assert "thread" not in perfield_cli("info", path, "--regions").stdout
