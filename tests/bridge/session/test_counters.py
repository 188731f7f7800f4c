# SPDX-License-Identifier: BSD-3-Clause
"""Counters of regions, with this machine's kernel."""

from __future__ import annotations

import json
import re

import pytest
from compiled.counting import PAGES, counters_of, series


def counted(result, *counters: str) -> None:
    """Skips the test if this kernel refuses a counter and perfield says so."""
    found = re.search(r"not all `counters` can be had.*", result.stderr)
    if found and any(counter in found.group() for counter in counters):
        pytest.skip(f"this machine refuses the counter: {found.group()}")
    assert not found, result.stderr


@pytest.fixture
def faults(measured):
    """faults(body, before="", **more): run by `measured`, with pages to touch, whose faults are counted."""

    def run(body: str, before: str = "", **more):
        found, result = measured(
            body, before=PAGES + before, env={"PERFIELD_COUNTERS": "page_faults"}, **more
        )
        counted(result, "page_faults")
        return found

    return run


def test_region_counts_pages_it_touches_first(faults):
    run = faults(
        """
      char* memory = pages(1000);
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        perfield_begin("touching"); touch(memory, 100 * s, 100 * s + 10 * (s + 1)); perfield_end("touching");
        perfield_begin("idle"); perfield_end("idle");
        perfield_step(s, s);
      }
    """
    )
    assert counters_of(run) == ["page_faults"]
    assert series(run, "touching_page_faults") == [10, 20, 30]
    assert series(run, "idle_page_faults") == [0, 0, 0]


def test_inner_region_counts_for_both_and_recursion_once(faults):
    run = faults(
        """
      char* memory = pages(1000);
      perfield_initialize();
      /* In the first step pages of perfield's own fault, too. */
      for (int s = 0; s < 2; ++s, memory += 4096 * 100) {
        perfield_begin("outer");
        touch(memory, 0, 5);
        perfield_begin("inner"); touch(memory, 5, 25); perfield_begin("inner"); touch(memory, 25, 35);
        perfield_end("inner"); perfield_end("inner");
        perfield_end("outer");
        perfield_step(s, s);
      }
    """
    )
    assert series(run, "outer_page_faults")[1] == 35
    assert series(run, "inner_page_faults")[1] == 30


def test_region_open_at_step_end_has_a_share_in_each(faults):
    run = faults(
        """
      char* memory = pages(1000);
      perfield_initialize();
      perfield_begin("long");
      for (int s = 0; s < 4; ++s) { work(1); touch(memory, 100 * s, 100 * s + 60); perfield_step(s, s); }
      work(1);
      touch(memory, 900, 940);
      perfield_end("long");
      perfield_step(4, 4);
    """
    )
    assert series(run, "long_page_faults")[1:] == [60, 60, 60, 40]


def test_region_entered_while_paused_counts_after_the_pause(faults):
    run = faults(
        """
      char* memory = pages(1000);
      perfield_initialize();
      perfield_pause();
      perfield_begin("long"); touch(memory, 0, 50);
      perfield_resume();
      work(1);
      touch(memory, 50, 80);
      perfield_pause(); touch(memory, 80, 180); perfield_resume();
      touch(memory, 180, 187);
      perfield_end("long");
      perfield_step(0, 0);
    """
    )
    assert 37 <= series(run, "long_page_faults")[0] < 50  # and some pages of the code of pausing


def test_threads_counts_add_up_when_another_closes_the_step(faults):
    run = faults(
        """
      pthread_t threads[3];
      char* memory = pages(1000);
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        for (int t = 0; t < 3; ++t, memory += 4096 * 100)
          pthread_create(&threads[t], NULL, work_in_thread, memory);
        pthread_barrier_wait(&all);
        work(1);
        perfield_step(s, s);
        work(1);
        pthread_barrier_wait(&all);
        for (int t = 0; t < 3; ++t) pthread_join(threads[t], NULL);
      }
      perfield_step(3, 3);
    """,
        before="""
static pthread_barrier_t all;
__attribute__((constructor)) static void prepare(void) { pthread_barrier_init(&all, NULL, 4); }
static void* work_in_thread(void* memory) {
  perfield_begin("shared");
  touch(memory, 0, 20);
  pthread_barrier_wait(&all);
  pthread_barrier_wait(&all);
  touch(memory, 20, 50);
  perfield_end("shared");
  return NULL;
}
""",
        flags=("-pthread",),
    )
    found = series(run, "shared_page_faults")
    # A thread also touches its stack and perfield's tables.
    assert 60 <= found[0] < 90
    assert all(150 <= count < 180 for count in found[1:3]), found
    assert 90 <= found[3] < 120


def test_processor_counters_count_or_are_reported_absent(measured):
    run, result = measured(
        """
      perfield_initialize();
      perfield_begin("loop"); for (volatile int i = 0; i < 1000000; ++i) {} perfield_end("loop");
      perfield_step(0, 0);
    """,
        env={"PERFIELD_COUNTERS": "instructions,branches"},
    )
    for counter in ("instructions", "branches"):
        if f"loop_{counter}" in run.frame(0).values:
            assert series(run, f"loop_{counter}")[0] > 1e6
        else:
            assert re.search(rf"not all `counters` can be had.*{counter}", result.stderr), result.stderr


def test_without_counters_nothing_is_printed(measured):
    run, result = measured(
        'perfield_initialize(); perfield_begin("solve"); perfield_end("solve"); perfield_step(0, 0);'
    )
    assert counters_of(run) == []
    assert "counters" not in result.stderr


def test_closing_all_descriptors_loses_counts_but_keeps_files(measured, tmp_path):
    _, result = measured(
        """
      char* memory = pages(100);
      perfield_initialize();
      perfield_begin("solve"); touch(memory, 0, 10); perfield_end("solve");
      perfield_step(0, 0);
      for (int fd = 3; fd < 4096; ++fd) close(fd);
      FILE* files[20];
      for (int i = 0; i < 20; ++i) files[i] = fopen("result.txt", "a+");
      fputs("the answer is 42\\n", files[0]);
      fflush(files[0]);
      perfield_begin("solve"); touch(memory, 10, 20); perfield_end("solve");
      perfield_step(1, 1);
      char text[100] = "";
      rewind(files[1]);
      return fgets(text, 100, files[1]) && !strcmp(text, "the answer is 42\\n") ? 0 : 8;
    """,
        before=PAGES,
        env={"PERFIELD_COUNTERS": "page_faults,task_clock"},
    )
    assert result.returncode == 0
    assert (tmp_path / "result.txt").read_text() == "the answer is 42\n"


def test_threads_beyond_the_descriptor_share_are_reported(measured):
    _, result = measured(
        """
      struct rlimit few = {40, 40};
      setrlimit(RLIMIT_NOFILE, &few);
      perfield_initialize();
      for (int t = 0; t < 6; ++t) pthread_create(&threads[t], NULL, work_in_thread, NULL);
      for (int t = 0; t < 6; ++t) pthread_join(threads[t], NULL);
      perfield_step(0, 0);
      FILE* one_more = fopen("result.txt", "w");
      return one_more ? 0 : 8;
    """,
        before="""
#include <pthread.h>
#include <sys/resource.h>
static pthread_t threads[6];
static pthread_barrier_t all;
__attribute__((constructor)) static void prepare(void) { pthread_barrier_init(&all, NULL, 6); }
static void* work_in_thread(void* nothing) {
  perfield_begin("solve");
  pthread_barrier_wait(&all);
  perfield_end("solve");
  return nothing;
}
""",
        flags=("-pthread",),
        env={"PERFIELD_COUNTERS": "page_faults,minor_faults,major_faults,task_clock"},
    )
    counted(result, "page_faults", "task_clock")
    assert re.search(r"`counters` of 4 threads were not counted", result.stderr), result.stderr


def test_run_records_the_configuration_in_force(measured, tmp_path):
    measured("perfield_initialize();", env={"PERFIELD_COUNTERS": "task_clock"})
    noted = json.loads((tmp_path / "perfield-run/run.json").read_text())["configuration"]
    assert noted["counters"] == ["task_clock"]
