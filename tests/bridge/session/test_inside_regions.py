# SPDX-License-Identifier: BSD-3-Clause
"""Splits a region's time into its own work and its calls: nested, in threads, over step ends."""

from __future__ import annotations

import math

import pytest

MS = 1e-3

# Calls as a source says them: so many milliseconds in a call of that kind.
CALLS = """
#include <stdint.h>
enum { SEND = 1, WAIT = 18, BARRIER = 45 };
struct entered { uint64_t stamp, after; };
struct entered perfield_call_enter(uint16_t, const void*, const void*) __attribute__((weak));
void perfield_call_exit(uint16_t, uint64_t, uint64_t) __attribute__((weak));
uint32_t perfield_quantity_define(const char*, const char*, uint8_t, uint8_t, uint8_t, const char*)
  __attribute__((weak));
struct operation { uint32_t count, bytes, time, time_inside; };
uint64_t perfield_operation_enter(const struct operation*, const void*) __attribute__((weak));
void perfield_operation_leave(const struct operation*, uint64_t, uint64_t) __attribute__((weak));
void perfield_source_present(const char*) __attribute__((weak));
static uint64_t enter(int kind) {
  int here;
  return perfield_call_enter((uint16_t)kind, 0, &here).stamp;
}
static void leave(int kind, uint64_t stamp) { perfield_call_exit((uint16_t)kind, stamp, 0); }
/* As writing a file for so many milliseconds. */
static void write_file(double ms) {
  static struct operation file;
  if (!file.time) {
    file.count = perfield_quantity_define("file_write_count", "1", 1, 0, 0, 0);
    file.bytes = perfield_quantity_define("file_write", "B", 1, 0, 0, 0);
    file.time = perfield_quantity_define("file_time", "ticks", 1, 0, 0, 0);
    file.time_inside = perfield_quantity_define("file_time", "ticks", 0, 0, 2, 0);
  }
  int here;
  uint64_t stamp = perfield_operation_enter(&file, &here);
  work(ms);
  if (stamp) perfield_operation_leave(&file, stamp, 100);
}
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


def test_region_time_is_own_work_plus_inner_calls(measured):
    run, _ = measured(
        """
      perfield_region solve = REGION("solve");
      perfield_initialize();
      call(BARRIER, 100);
      perfield_region_begin(solve);
      work(10); call(SEND, 2); call(WAIT, 5); write_file(3); call(WAIT, 1);
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


def test_inner_regions_calls_count_for_the_outer_too(measured):
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


def test_unmeasured_regions_calls_count_for_the_enclosing_one(measured):
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


def test_region_open_over_step_end_splits_its_calls(measured):
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


def test_pause_belongs_to_no_region(measured):
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


def test_unmeasured_steps_leave_nothing_behind(measured):
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


def test_reading_values_inside_a_call_loses_nothing(measured):
    """perfield_values credits the time so far at once, to the call and to the regions around it."""
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
    printed = dict(line.split() for line in result.stdout.splitlines())
    assert float.fromhex(printed["r_mpi_wait_time_s"]) == pytest.approx(3 * MS)
    names = ("mpi_wait_time_s", "r_mpi_wait_time_s", "r_time_s", "r_compute_time_s")
    assert [ms(run, 0, name) for name in names] == about(7, 7, 12, 5)


def test_region_shows_the_thread_longest_in_calls(measured):
    """Then time in calls and own work are of one thread, and fit into the region's time."""
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


def test_operation_time_counts_for_regions_and_rank(measured):
    run, _ = measured(
        """
      perfield_region r = REGION("r");
      perfield_initialize();
      perfield_source_present("io");
      write_file(1);
      perfield_region_begin(r);
      work(6); write_file(4);
      uint64_t stamp = enter(WAIT);
      write_file(2);  /* what MPI writes itself */
      leave(WAIT, stamp);
      perfield_region_end(r);
      perfield_step(0, 0.0);
    """,
        before=CALLS,
    )
    assert [ms(run, 0, f"r_{name}_time_s") for name in ("file", "mpi", "compute")] == about(4, 2, 6)
    values = run.frame(0).values
    assert [values[f"io_{name}"][0] for name in ("write_count", "write_bytes")] == [2, 200]
    assert ms(run, 0, "io_time_s") == pytest.approx(5)


def test_reading_values_inside_an_operation_loses_nothing(measured):
    run, result = measured(
        """
      perfield_initialize();
      perfield_begin("r");
      static struct operation slow;
      slow.time = perfield_quantity_define("slow_time", "ticks", 1, 0, 0, 0);
      slow.time_inside = perfield_quantity_define("slow_time", "ticks", 0, 0, 2, 0);
      uint64_t stamp = perfield_operation_enter(&slow, __builtin_frame_address(0));
      work(3);
      print_values();
      work(4);
      perfield_operation_leave(&slow, stamp, 0);
      work(5);
      perfield_end("r");
      perfield_step(0, 0.0);
    """,
        before=CALLS,
    )
    printed = dict(line.split() for line in result.stdout.splitlines())
    for name in ("slow_time_s", "r_slow_time_s"):
        assert float.fromhex(printed[name]) == pytest.approx(3 * MS), name
        assert ms(run, 0, name) == pytest.approx(7), name


def test_run_without_calls_in_regions_has_no_such_fields(measured):
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
        "r_time_per_call_s",
        "r_self_time_s",
    ]
