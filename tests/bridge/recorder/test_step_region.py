# SPDX-License-Identifier: BSD-3-Clause
"""Which leaves of step_region close a step: nested entries, threads, ends that are missing."""

from __future__ import annotations

import pytest

import perfield

SETTINGS = {"PERFIELD_STEP_REGION": "advance"}
# Each coarse step advances the next finer level twice, so a step has 1 + 2 + 4 entries.
RECURSION = """
static void advance(int level) {
  perfield_begin("advance");
  work(1);
  if (level < 2) { advance(level + 1); advance(level + 1); }
  perfield_end("advance");
}
"""
STEP = 'perfield_begin("advance"); work(1); perfield_end("advance");'


def counts(run, region: str = "advance") -> list[float]:
    """How often rank 0 entered the region in each step."""
    return [frame.values[f"{region}_count"][0] for frame in run.frames()]


def test_recursive_time_stepping_closes_one_step_per_coarse_step(measured):
    run, result = measured(
        "perfield_initialize(); work(5); for (int s = 0; s < 10; ++s) advance(0);",
        before=RECURSION,
        env=SETTINGS,
    )
    assert counts(run) == [7] * 10
    assert [frame.values["advance_time_s"][0] for frame in run.frames()] == pytest.approx([0.007] * 10)
    assert "step_region" not in result.stderr


def test_first_entry_ends_setup_and_inner_entries_do_not(measured):
    run, _ = measured(
        """
      perfield_begin("input"); work(20); perfield_end("input");
      perfield_begin("solver"); advance(0); perfield_end("solver");
    """,
        before=RECURSION,
        mpi=True,
        env=SETTINGS,
    )
    assert run.setup.values["input_count"][0] == run.setup.values["solver_count"][0] == 1
    assert counts(run) == [7]


def test_recursion_beyond_the_stack_closes_one_step(measured):
    run, _ = measured(
        "perfield_initialize(); for (int s = 0; s < 3; ++s) dive(300);",
        before="""
static void dive(int deeper) {
  perfield_begin("advance");
  if (deeper) dive(deeper - 1);
  perfield_end("advance");
}
""",
        env=SETTINGS,
    )
    assert counts(run) == [301] * 3


@pytest.mark.parametrize("depth", [300, 70_000])
def test_step_below_many_open_regions_closes_its_step(measured, depth):
    run, _ = measured(
        f"""
      perfield_region outer = REGION("outer");
      perfield_initialize();
      for (int i = 0; i < {depth}; ++i) perfield_region_begin(outer);
      for (int s = 0; s < 4; ++s) {{ {STEP} }}
      for (int i = 0; i < {depth}; ++i) perfield_region_end(outer);
    """,
        env=SETTINGS,
    )
    assert counts(run) == [1] * 4


def test_only_the_thread_that_entered_first_closes_steps(measured):
    run, result = measured(
        """
      perfield_initialize();
      perfield_begin("advance");
      pthread_t other;
      for (int s = 0; s < 5; ++s) {
        if (s) perfield_begin("advance");
        if (pthread_create(&other, 0, thread, 0)) return 3;
        pthread_join(other, 0);
        perfield_end("advance");
      }
    """,
        before="""
#include <pthread.h>
static void* thread(void* unused) {
  perfield_begin("advance"); perfield_end("advance");
  return unused;
}
""",
        flags=["-pthread"],
        env=SETTINGS,
    )
    assert counts(run) == [2] * 5
    assert "step_region" not in result.stderr


ALTERNATING = """
#include <pthread.h>
static pthread_barrier_t turn;
static void* thread(void* unused) {
  for (int s = 0; s < 6; ++s) {
    pthread_barrier_wait(&turn);
    perfield_begin("advance"); perfield_end("advance");
    pthread_barrier_wait(&turn);
  }
  return unused;
}
"""


def test_thread_that_closed_steps_goes_on_and_a_busier_one_is_reported(measured):
    run, result = measured(
        """
      perfield_initialize();
      pthread_t other;
      pthread_barrier_init(&turn, 0, 2);
      if (pthread_create(&other, 0, thread, 0)) return 3;
      for (int s = 0; s < 6; ++s) {
        if (s < 2) { perfield_begin("advance"); perfield_end("advance"); }
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
      }
      pthread_join(other, 0);
    """,
        before=ALTERNATING,
        flags=["-pthread"],
        env=SETTINGS,
    )
    assert counts(run) == [1, 2]
    (line,) = [line for line in result.stderr.splitlines() if "step_region" in line]
    assert "closed 2 steps on rank 0, but another thread left it 6 times" in line


def test_next_thread_takes_over_when_the_closing_thread_ends(measured):
    run, _ = measured(
        f"""
      perfield_initialize();
      pthread_t other;
      if (pthread_create(&other, 0, thread, 0)) return 3;
      pthread_join(other, 0);
      for (int s = 0; s < 3; ++s) {{ {STEP} }}
    """,
        before="""
#include <pthread.h>
static void* thread(void* unused) {
  perfield_begin("advance"); perfield_end("advance"); perfield_begin("advance");
  return unused;
}
""",
        flags=["-pthread"],
        env=SETTINGS,
    )
    assert len(run) == 4


JUMP = """
#include <setjmp.h>
static jmp_buf back;
static void advance(int fails) {
  perfield_begin("advance");
  if (fails) longjmp(back, 1);
  perfield_end("advance");
}
"""


def test_entry_left_by_longjmp_ends_with_the_region_around_it(measured):
    run, _ = measured(
        """
      perfield_initialize();
      for (volatile int s = 0; s < 6; ++s) {
        perfield_begin("loop");
        if (s == 3) perfield_begin("deeper");  /* the next entry is at another level */
        if (!setjmp(back)) advance(s == 2);
        if (s == 3) perfield_end("deeper");
        perfield_end("loop");
      }
    """,
        before=JUMP,
        env=SETTINGS,
    )
    assert counts(run) == [1, 1, 2, 1, 1]
    assert sum(run.ends[0]["faults"].values()) == 1


def test_entry_that_stays_open_is_reported(measured):
    run, result = measured(
        """
      perfield_initialize();
      for (volatile int s = 0; s < 6; ++s) if (!setjmp(back)) advance(s == 2);
    """,
        before=JUMP,
        env=SETTINGS,
    )
    assert len(run) == 2
    (line,) = [line for line in result.stderr.splitlines() if "step_region" in line]
    assert "after 2 steps and never left, but entered and left 3 times inside itself" in line
    assert "call its end there" in line


def test_end_without_begin_closes_no_step(measured):
    run, _ = measured(f'perfield_initialize(); {STEP} perfield_end("advance"); {STEP}', env=SETTINGS)
    assert counts(run) == [1, 1]


def test_armed_entries_close_steps_as_others_do(measured):
    run, _ = measured(
        f"""
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {{ perfield_pipeline_next(); {STEP} {STEP} }}
    """,
        env=SETTINGS,
    )
    assert len(run) == 6


def test_recursive_functions_close_one_step(build_c, execute, tmp_path):
    program = build_c(
        """
volatile int sink;
extern "C" void advance(int level) {
  if (level < 2) { advance(level + 1); advance(level + 1); }
  sink = level;
}
int main() { for (int i = 0; i < 10; ++i) advance(0); }
""",
        "-O3",
        "-finstrument-functions",
        name="levels.cpp",
        mpi=False,
    )
    result = execute("perfield-exec", program, env={**SETTINGS, "PERFIELD_REGIONS": "advance"})
    assert result.returncode == 0, result.stderr
    assert counts(perfield.open(tmp_path / "perfield-run")) == [7] * 10
