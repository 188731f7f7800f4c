# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel says of a rank's threads: where each may run, and how long they waited for a CPU."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

TWO_CPUS = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU alone")
FLAGS = ["-D_GNU_SOURCE", "-pthread", "-Wno-unused-function"]
BEFORE = """
#include <pthread.h>
#include <sched.h>
static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set)) perror("pin");
}
static volatile int done;
/* Uses 40 ms of CPU time of its thread, whatever else the machine does. */
static double used_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
static void compute(void) {
  const double begin = used_ms();
  volatile double x = 0;
  while (used_ms() < begin + 40)
    for (int i = 0; i < 100000; ++i) x += i;
}
static void* worker(void* cpu) {
  pin(*(int*)cpu);
  compute();
  while (!done) usleep(1000);
  return 0;
}
static void* helper(void* cpu) {
  pin(*(int*)cpu);
  while (!done) usleep(100000); /* to wake often would be much, where the machine is busy */
  return 0;
}
static unsigned long long waited(void) {
  unsigned long long on, delay = 0;
  FILE* file = fopen("/proc/self/schedstat", "r");
  if (!file || fscanf(file, "%llu %llu", &on, &delay) != 2) delay = 0;
  if (file) fclose(file);
  return delay;
}
"""


def cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


@TWO_CPUS
def test_rank_has_the_cpus_of_all_threads_that_compute(measured):
    first, second = cpus()[:2]
    body = f"""
      int first = {first}, second = {second};
      pthread_t thread;
      perfield_initialize();
      pin(first);
      pthread_create(&thread, 0, worker, &second);
      compute();
      usleep(60000);
      for (int s = 0; s < 3; ++s) perfield_step(s, s);
      perfield_finalize();
      done = 1;
      pthread_join(thread, 0);
    """
    run, _ = measured(body, before=BEFORE, flags=FLAGS, real_time=True)
    (entry,) = run.rank_entries
    assert entry["cpuset"] in (f"{first},{second}", f"{first}-{second}")
    assert sorted(entry["cpusets_of_threads"]) == [str(first), str(second)]


@TWO_CPUS
def test_thread_that_sleeps_has_no_part_in_the_cpus(measured):
    first, second = cpus()[:2]
    body = f"""
      int second = {second};
      pthread_t thread;
      perfield_initialize();
      pin({first});
      pthread_create(&thread, 0, helper, &second);
      compute();
      for (int s = 0; s < 3; ++s) perfield_step(s, s);
      perfield_finalize();
      done = 1;
      pthread_join(thread, 0);
    """
    run, _ = measured(body, before=BEFORE, flags=FLAGS, real_time=True)
    assert run.rank_entries[0]["cpuset"] == str(first)
    assert not run.rank_entries[0].get("cpusets_of_threads")


@TWO_CPUS
def test_cpus_that_the_program_chooses_itself_are_known_after_a_short_run(measured):
    last = cpus()[-1]
    body = f"perfield_initialize(); pin({last}); perfield_step(0, 0);"
    run, _ = measured(body, before=BEFORE, flags=FLAGS, real_time=True)
    assert run.rank_entries[0]["cpuset"] == str(last)


def test_run_delay_is_that_of_the_kernel(measured):
    """The program sleeps and computes on a CPU that others may use, and reads what the kernel says of it."""
    if not any(map(int, Path("/proc/self/schedstat").read_text().split())):
        pytest.skip("this kernel counts no run delay")
    body = """
      perfield_initialize();
      unsigned long long before = waited();
      for (int s = 0; s < 4; ++s) {
        usleep(20000);
        compute();
        perfield_step(s, s);
      }
      printf("%llu\\n", waited() - before);
    """
    run, result = measured(body, before=BEFORE, flags=FLAGS, real_time=True)
    reported_s = float(result.stdout) * 1e-9
    found_s = sum(frame.values["run_delay_time_s"][0] for frame in run.frames())
    assert found_s == pytest.approx(reported_s, abs=0.05)
    for frame in run.frames():
        delayed_s, compute_s, step_s = (
            frame.values[f"{name}_s"][0] for name in ("delayed_compute_time", "compute_time", "step_time")
        )
        assert delayed_s >= 0 and compute_s >= 0 and delayed_s + compute_s <= step_s + 1e-9
