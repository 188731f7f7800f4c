# SPDX-License-Identifier: BSD-3-Clause
"""A region's own work and its time in calls, told apart: nested, in threads, over closings."""

from __future__ import annotations

import math

import pytest

MS = 1e-3

# Calls as a source tells them: so many milliseconds in a call of that kind.
CALLS = """
#include <stdint.h>
enum { SEND = 1, WAIT = 18, BARRIER = 45, POSIX_WRITE = 102, KERNEL = 105 };
struct entered { uint64_t stamp, after; };
struct entered perfield_call_enter(uint16_t, const void*, const void*) __attribute__((weak));
void perfield_call_leave(uint16_t, uint64_t, uint64_t, uint64_t) __attribute__((weak));
void perfield_source_count(uint16_t, uint64_t, uint64_t, uint64_t, uint64_t) __attribute__((weak));
void perfield_source_present(const char*) __attribute__((weak));
static uint64_t enter(int kind) {
  int here;
  return perfield_call_enter((uint16_t)kind, 0, &here).stamp;
}
static void leave(int kind, uint64_t stamp) { perfield_call_leave((uint16_t)kind, stamp, 0, 0); }
static void call(int kind, double ms) {
  uint64_t stamp = enter(kind);
  work(ms);
  if (stamp) leave(kind, stamp);
}
"""


def ms(run, frame: int, field: str) -> float:
    """A field of rank 0 in ms."""
    return run.frame(frame).values[field][0] / MS


def about(*milliseconds: float):
    return pytest.approx(milliseconds, abs=1e-6)


def test_a_regions_time_is_its_own_work_and_the_calls_inside_it(measured):
    run, _ = measured(
        """
      perfield_region solve = REGION("solve");
      perfield_initialize();
      call(BARRIER, 100);
      perfield_region_begin(solve);
      work(10); call(SEND, 2); call(WAIT, 5); call(POSIX_WRITE, 3); call(WAIT, 1);
      perfield_region_end(solve);
      perfield_step(0, 0.0);
    """,
        before=CALLS,
    )
    fields = ("solve_time_s", "solve_mpi_time_s", "solve_mpi_p2p_time_s", "solve_mpi_wait_time_s")
    assert [ms(run, 0, name) for name in fields] == about(21, 8, 2, 6)
    assert [ms(run, 0, f"solve_{name}_time_s") for name in ("file", "compute")] == about(3, 10)
    assert "solve_mpi_io_time_s" not in run.frame(0).values  # did not occur in the run
    assert "solve_mpi_collective_time_s" not in run.frame(0).values  # in no region


def test_calls_of_an_inner_region_are_also_inside_the_outer_one(measured):
    run, _ = measured(
        """
      perfield_region outer = REGION("outer"), inner = REGION("inner");
      perfield_initialize();
      perfield_region_begin(outer);
      call(SEND, 1);
      for (int i = 0; i < 3; ++i) { perfield_region_begin(inner); call(SEND, 2); perfield_region_end(inner); }
      call(SEND, 1);
      perfield_region_end(outer);
      perfield_step(0, 0.0);
    """,
        before=CALLS,
    )
    assert [ms(run, 0, f"{name}_mpi_time_s") for name in ("outer", "inner")] == about(8, 6)
    assert [ms(run, 0, f"{name}_compute_time_s") for name in ("outer", "inner")] == about(0, 0)


def test_calls_in_a_recursion_count_once(measured):
    run, _ = measured(
        """
      perfield_initialize();
      descend(REGION("descend"), 5);
      perfield_step(0, 0.0);
    """,
        before=CALLS
        + """
      static void descend(perfield_region r, int n) {
        perfield_region_begin(r);
        work(1); call(WAIT, 3);
        if (n > 1) descend(r, n - 1);
        perfield_region_end(r);
      }
    """,
    )
    names = ("descend_time_s", "descend_mpi_wait_time_s", "descend_compute_time_s")
    assert [ms(run, 0, name) for name in names] == about(20, 15, 5)


def test_a_region_that_is_not_measured_hands_its_calls_to_the_one_around_it(measured):
    run, _ = measured(
        """
      perfield_region outer = REGION("outer"), left_out = REGION("left_out");
      perfield_initialize();
      perfield_region_begin(outer); perfield_region_begin(left_out);
      call(WAIT, 4);
      perfield_region_end(left_out); perfield_region_end(outer);
      perfield_step(0, 0.0);
    """,
        before=CALLS,
        env={"PERFIELD_REGIONS": "outer"},
    )
    assert ms(run, 0, "outer_mpi_time_s") == pytest.approx(4)


def test_a_region_open_over_a_steps_end_has_each_steps_calls_in_that_step(measured):
    run, _ = measured(
        """
      perfield_region all = REGION("all"), part = REGION("part");
      perfield_initialize();
      perfield_source_present("pmpi");
      perfield_region_begin(all);
      call(WAIT, 1);
      perfield_region_begin(part); call(SEND, 2);
      perfield_step(0, 0.0);
      call(SEND, 4); perfield_region_end(part); call(WAIT, 8);
      perfield_step(1, 1.0);
      work(1);
      perfield_step(2, 2.0);
      call(WAIT, 16); perfield_region_end(all);
      perfield_step(3, 3.0);
    """,
        before=CALLS,
    )
    assert [ms(run, n, "all_mpi_time_s") for n in range(4)] == about(3, 12, 0, 16)
    assert [ms(run, n, "all_mpi_wait_time_s") for n in range(4)] == about(1, 8, 0, 16)
    assert [ms(run, n, "part_mpi_time_s") for n in range(2)] == about(2, 4)
    assert math.isnan(run.frame(2).values["part_mpi_time_s"][0])  # not entered is not zero


def test_a_pause_belongs_to_no_region(measured):
    run, _ = measured(
        """
      perfield_region r = REGION("r");
      perfield_initialize();
      perfield_region_begin(r);
      call(WAIT, 1);
      perfield_pause(); call(WAIT, 100); perfield_resume();
      call(WAIT, 2); work(3);
      perfield_region_end(r);
      perfield_step(0, 0.0);
    """,
        before=CALLS,
    )
    assert [ms(run, 0, f"r_{name}_time_s") for name in ("mpi", "compute")] == about(3, 3)


def test_steps_that_are_not_measured_leave_nothing_behind(measured):
    run, _ = measured(
        """
      perfield_region all = REGION("all");
      perfield_initialize();
      perfield_region_begin(all);
      for (int s = 0; s < 4; ++s) { call(WAIT, s + 1); work(1); perfield_step(s, s); }
    """,
        before=CALLS,
        env={"PERFIELD_MEASURE_EVERY": "2"},
    )
    assert [ms(run, n, "all_mpi_time_s") for n in range(2)] == about(1, 3)
    assert [ms(run, n, "all_compute_time_s") for n in range(2)] == about(1, 1)


def test_a_look_in_the_middle_of_a_call_parts_it_and_loses_nothing(measured):
    """What perfield_values finds is credited at once, to the call and to the regions around it."""
    run, result = measured(
        """
      perfield_region r = REGION("r");
      perfield_initialize();
      perfield_region_begin(r);
      uint64_t stamp = enter(WAIT);
      work(3);
      print_values();
      work(4);
      leave(WAIT, stamp);
      work(5);
      perfield_region_end(r);
      perfield_step(0, 0.0);
    """,
        before=CALLS,
    )
    told = dict(line.split() for line in result.stdout.splitlines())
    assert float.fromhex(told["r_mpi_wait_time_s"]) == pytest.approx(3 * MS)
    names = ("mpi_wait_time_s", "r_mpi_wait_time_s", "r_time_s", "r_compute_time_s")
    assert [ms(run, 0, name) for name in names] == about(7, 7, 12, 5)


def test_threads_of_a_region_show_the_one_that_spent_most_in_calls(measured):
    """So that time in calls and the region's own work are of one thread, and fit into the region's time."""
    run, _ = measured(
        """
      perfield_region r = REGION("r");
      perfield_initialize();
      for (int kind = 0; kind < 3; ++kind) {
        pthread_t thread;
        pthread_create(&thread, 0, in_thread, (void*)(long)kind);
        sem_wait(&done);
      }
      perfield_step(0, 0.0);
    """,
        before="#include <pthread.h>\n#include <semaphore.h>\n"
        + CALLS
        + """
      static sem_t done;  /* one thread after the other, but none ends before the step */
      static void* in_thread(void* kind) {
        perfield_begin("r");
        if ((long)kind == 0) work(9);
        if ((long)kind == 1) { call(SEND, 4); call(WAIT, 2); }
        if ((long)kind == 2) { call(WAIT, 5); }
        perfield_end("r");
        sem_post(&done);
        for (;;) pause();
      }
    """,
        flags=("-lpthread",),
    )
    names = ("time_s", "mpi_p2p_time_s", "mpi_wait_time_s", "mpi_time_s", "compute_time_s")
    assert [ms(run, 0, f"r_{name}") for name in names] == about(9, 4, 2, 6, 3)


def test_time_of_a_device_is_not_the_threads_and_files_told_afterwards_are(measured):
    run, _ = measured(
        """
      perfield_region r = REGION("r");
      perfield_initialize();
      perfield_region_begin(r);
      work(10);
      perfield_source_count(KERNEL, 1, 7000000, 0, 0);
      perfield_source_count(POSIX_WRITE, 1, 4000000, 0, 0);
      perfield_region_end(r);
      perfield_step(0, 0.0);
    """,
        before=CALLS,
    )
    assert [ms(run, 0, f"r_{name}_time_s") for name in ("file", "compute")] == about(4, 6)
    assert "r_mpi_time_s" not in run.frame(0).values


def test_a_run_without_calls_inside_regions_has_no_fields_of_them(measured):
    run, _ = measured(
        """
      perfield_initialize();
      call(WAIT, 3);
      perfield_begin("r"); work(1); perfield_end("r");
      perfield_step(0, 0.0);
    """,
        before=CALLS,
    )
    assert [name for name in run.frame(0).values if name.startswith("r_")] == [
        "r_time_s",
        "r_count",
        "r_self_time_s",
    ]
