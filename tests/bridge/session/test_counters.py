# SPDX-License-Identifier: BSD-3-Clause
"""Counters of regions: what the kernel counts inside them, and what is said where it does not."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from perfield.run.fields import description

# Memory of so many pages, each of which faults when it is touched first.
PAGES = """
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
static char* pages(long n) {
  char* memory = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, n * 4096, MADV_NOHUGEPAGE);
  return memory;
}
static void touch(char* memory, long from, long to) {
  for (long i = from; i < to; ++i) ((volatile char*)memory)[i * 4096] = 1;
}
"""

# A kernel of the test's own: it counts 1000 instructions, 500 cycles and 7 of each other event between two
# reads of a group. KERNEL_ERRNO: it refuses events of this type (KERNEL_REFUSES) so. ROOM: how many events it
# counts in a group.
KERNEL = """
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#ifndef KERNEL_ERRNO
#define KERNEL_ERRNO 0
#endif
#ifndef KERNEL_REFUSES
#define KERNEL_REFUSES ~0u
#endif
#ifndef ROOM
#define ROOM 8
#endif
#define FIRST 1000
static int used = FIRST, leader_of[3000], n_of[3000], reads_of[3000];
static uint64_t speed_of[3000];
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[5];
  for (int i = 0; i < 5; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_perf_event_open) {
    struct perf_event_attr* event = (struct perf_event_attr*)a[0];
    int leader = (int)a[3];
    if (KERNEL_ERRNO && (KERNEL_REFUSES == ~0u || event->type == KERNEL_REFUSES)) {
      errno = KERNEL_ERRNO;
      return -1;
    }
    if (leader >= 0 && n_of[leader] >= ROOM) { errno = EINVAL; return -1; }
    int fd = used++;
    leader_of[fd] = leader < 0 ? fd : leader;
    n_of[leader_of[fd]]++;
    speed_of[fd] = event->type == PERF_TYPE_HARDWARE && event->config == PERF_COUNT_HW_INSTRUCTIONS ? 1000
                 : event->type == PERF_TYPE_HARDWARE && event->config == PERF_COUNT_HW_CPU_CYCLES ? 500 : 7;
    return fd;
  }
  if (number == SYS_fcntl) { errno = EMFILE; return -1; }
  if (number == SYS_close) return 0;
  if (number == SYS_read) {
    int leader = (int)a[0], n = 3;
    uint64_t* values = (uint64_t*)a[1];
    uint64_t reads = ++reads_of[leader];
    values[0] = n_of[leader];
    values[1] = reads * 100;           /* ns that the group was wanted */
    values[2] = reads * 100 / SHARING; /* ... and counted */
    for (int fd = FIRST; fd < used; ++fd)
      if (leader_of[fd] == leader) values[n++] = reads * speed_of[fd] / SHARING;
    return 8 * n;
  }
  errno = ENOSYS;
  return -1;
}
"""


def counted(result, *counters: str) -> None:
    """Skips where this kernel refuses one of the counters, if that is told."""
    found = re.search(r"not all `counters` can be had.*", result.stderr)
    if found and any(counter in found.group() for counter in counters):
        pytest.skip(f"this machine refuses the counter: {found.group()}")
    assert not found, result.stderr


def series(run, name: str) -> list[float]:
    """A field of rank 0 in all frames."""
    return [float(frame.values[name][0]) for frame in run.frames()]


def test_a_region_counts_the_pages_that_it_touches_first(measured):
    run, result = measured(
        """
      char* memory = pages(1000);
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        perfield_begin("touching"); touch(memory, 100 * s, 100 * s + 10 * (s + 1)); perfield_end("touching");
        perfield_begin("idle"); perfield_end("idle");
        perfield_run(s, s);
      }
    """,
        before=PAGES,
        env={"PERFIELD_COUNTERS": "page_faults"},
    )
    counted(result, "page_faults")
    assert run.ranks[0]["counters"] == ["page_faults"]
    assert series(run, "touching_page_faults") == [10, 20, 30]
    assert series(run, "idle_page_faults") == [0, 0, 0]


def test_a_region_inside_another_counts_for_both_and_a_recursive_one_once(measured):
    run, result = measured(
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
        perfield_run(s, s);
      }
    """,
        before=PAGES,
        env={"PERFIELD_COUNTERS": "page_faults"},
    )
    counted(result, "page_faults")
    assert series(run, "outer_page_faults")[1] == 35
    assert series(run, "inner_page_faults")[1] == 30


def test_a_region_that_is_open_where_a_step_closes_has_its_share_in_each(measured):
    run, result = measured(
        """
      char* memory = pages(1000);
      perfield_initialize();
      perfield_begin("long");
      for (int s = 0; s < 4; ++s) { work(1); touch(memory, 100 * s, 100 * s + 60); perfield_run(s, s); }
      work(1);
      touch(memory, 900, 940);
      perfield_end("long");
      perfield_run(4, 4);
    """,
        before=PAGES,
        env={"PERFIELD_COUNTERS": "page_faults"},
    )
    counted(result, "page_faults")
    assert series(run, "long_page_faults")[1:] == [60, 60, 60, 40]


def test_a_region_that_was_entered_while_paused_counts_from_there_on(measured):
    run, result = measured(
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
      perfield_run(0, 0);
    """,
        before=PAGES,
        env={"PERFIELD_COUNTERS": "page_faults"},
    )
    counted(result, "page_faults")
    assert 37 <= series(run, "long_page_faults")[0] < 50  # and some pages of the code of pausing


def test_what_threads_count_in_a_region_adds_up_also_where_another_closes_the_step(measured):
    run, result = measured(
        """
      pthread_t threads[3];
      char* memory = pages(1000);
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        for (int t = 0; t < 3; ++t, memory += 4096 * 100)
          pthread_create(&threads[t], NULL, work_in_thread, memory);
        pthread_barrier_wait(&all);
        work(1);
        perfield_run(s, s);
        work(1);
        pthread_barrier_wait(&all);
        for (int t = 0; t < 3; ++t) pthread_join(threads[t], NULL);
      }
      perfield_run(3, 3);
    """,
        before=PAGES
        + """
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
        env={"PERFIELD_COUNTERS": "page_faults"},
    )
    counted(result, "page_faults")
    found = series(run, "shared_page_faults")
    # Beside those pages a thread touches its stack, and perfield's tables.
    assert 60 <= found[0] < 90
    assert all(150 <= count < 180 for count in found[1:3]), found
    assert 90 <= found[3] < 120


def test_the_program_and_python_are_told_the_same_counts_to_the_last_bit(measured, tmp_path):
    run, _ = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        for (int i = 0; i < 3 + s; ++i) { perfield_begin("solve"); perfield_end("solve"); }
        if (s) { perfield_begin("late"); perfield_end("late"); }
        perfield_run(s, s);
      }
      perfield_value values[200];
      int n = perfield_values(200, values);
      for (int i = 0; i < n; ++i) printf("%s %a\\n", values[i].name, values[i].value);
    """,
        before="#define SHARING 1\n" + KERNEL,
        env={"PERFIELD_COUNTERS": "instructions,cycles,task_clock,r1a8"},
    )
    result = dict(line.split() for line in _.stdout.splitlines())
    told = {name: float.fromhex(value) for name, value in result.items()}
    frame = run.frame(2)
    names = [name for name in told if re.match(r"(solve|late)_", name)]
    wanted = {"solve_instructions", "solve_cycles", "solve_task_clock_time_s", "solve_r1a8"}
    assert wanted | {"solve_instructions_per_cycle", "late_cycles"} <= set(names)
    for name in names:
        assert np.array_equal(frame.values[name][0], told[name], equal_nan=True), name
    assert np.isnan(run.frame(0).values["late_instructions"][0])
    assert set(run.frame(0).values) == set(frame.values)


def test_instructions_and_cycles_give_instructions_per_cycle(measured):
    run, _ = measured(
        """
      perfield_initialize();
      for (int i = 0; i < 5; ++i) { perfield_begin("solve"); perfield_end("solve"); }
      perfield_run(0, 0);
    """,
        before="#define SHARING 1\n" + KERNEL,
        env={"PERFIELD_COUNTERS": "instructions,cycles"},
    )
    assert series(run, "solve_instructions") == [5000]
    assert series(run, "solve_cycles") == [2500]
    assert series(run, "solve_instructions_per_cycle") == [2]


def test_the_dataset_of_a_run_has_its_counters_by_region(measured):
    run, _ = measured(
        """
      perfield_initialize();
      for (int i = 0; i < 3; ++i) { perfield_begin("solve"); perfield_end("solve"); }
      perfield_begin("halo"); perfield_end("halo");
      perfield_run(0, 0);
    """,
        before="#define SHARING 1\n" + KERNEL,
        env={"PERFIELD_COUNTERS": "instructions,cycles,task_clock"},
    )
    dataset = run.dataset()
    by_region = dataset["region_instructions"].isel(step=0, rank=0)
    assert by_region.sel(region="solve") == 3000
    assert by_region.sel(region="halo") == 1000
    assert (dataset["region_instructions_per_cycle"] == 2).all()
    assert dataset["region_task_clock_time_s"].attrs["units"] == "s"


def test_counters_that_do_not_fit_into_one_group_are_counted_in_several(measured):
    run, _ = measured(
        'perfield_initialize(); perfield_begin("solve"); perfield_end("solve"); perfield_run(0, 0);',
        before="#define SHARING 1\n#define ROOM 2\n" + KERNEL,
        env={"PERFIELD_COUNTERS": "branches,instructions,branch_misses,cycles,cache_misses"},
    )
    assert series(run, "solve_instructions") == [1000]
    assert series(run, "solve_cycles") == [500]
    for name in ("branches", "branch_misses", "cache_misses"):
        assert series(run, f"solve_{name}") == [7]


def test_counters_that_share_the_registers_are_scaled_and_told_to_be_estimates(measured):
    run, result = measured(
        'perfield_initialize(); perfield_begin("solve"); perfield_end("solve"); perfield_run(0, 0);',
        before="#define SHARING 4\n" + KERNEL,
        env={"PERFIELD_COUNTERS": "instructions"},
    )
    assert series(run, "solve_instructions") == [1000]
    assert result.stderr.count("their fields are estimates") == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("ENOENT", "the kernel offers no such counter on this machine"),
        ("EACCES", "the kernel or the container forbids it (kernel.perf_event_paranoid is "),
        ("EPERM", "the kernel or the container forbids it"),
        ("ENOSYS", "this kernel has no perf_event_open"),
        ("EINVAL", "the processor does not know this event"),
    ],
)
def test_counters_that_a_machine_refuses_have_no_fields_and_are_told_with_the_reason(measured, error, words):
    run, result = measured(
        'perfield_initialize(); perfield_begin("solve"); perfield_end("solve"); perfield_run(0, 0);',
        before=f"#define SHARING 1\n#define KERNEL_REFUSES PERF_TYPE_HARDWARE\n#define KERNEL_ERRNO {error}\n"
        + KERNEL,
        n=2,
        env={"PERFIELD_COUNTERS": "instructions,page_faults,cycles"},
    )
    sentences = [line for line in result.stderr.splitlines() if "not all `counters`" in line]
    assert len(sentences) == 1, result.stderr  # of both ranks
    assert "instructions and cycles: " + words in sentences[0]
    assert run.ranks[1]["counters"] == ["page_faults"]
    assert series(run, "solve_page_faults") == [7]
    assert not [name for name in run.frame(0).values if "instructions" in name or "cycles" in name]


def test_counters_of_this_very_processor_count_or_are_told_to_be_absent(measured):
    run, result = measured(
        """
      perfield_initialize();
      perfield_begin("loop"); for (volatile int i = 0; i < 1000000; ++i) {} perfield_end("loop");
      perfield_run(0, 0);
    """,
        env={"PERFIELD_COUNTERS": "instructions,branches"},
    )
    for counter in ("instructions", "branches"):
        if f"loop_{counter}" in run.frame(0).values:
            assert series(run, f"loop_{counter}")[0] > 1e6
        else:
            assert re.search(rf"not all `counters` can be had.*{counter}", result.stderr), result.stderr


def test_without_counters_nothing_is_said_of_them(measured):
    run, result = measured(
        'perfield_initialize(); perfield_begin("solve"); perfield_end("solve"); perfield_run(0, 0);'
    )
    assert run.ranks[0]["counters"] == []
    assert "counters" not in result.stderr


def test_a_program_that_closes_all_descriptors_keeps_its_files_and_loses_its_counts(measured, tmp_path):
    _, result = measured(
        """
      char* memory = pages(100);
      perfield_initialize();
      perfield_begin("solve"); touch(memory, 0, 10); perfield_end("solve");
      perfield_run(0, 0);
      for (int fd = 3; fd < 4096; ++fd) close(fd);
      FILE* files[20];
      for (int i = 0; i < 20; ++i) files[i] = fopen("result.txt", "a+");
      fputs("the answer is 42\\n", files[0]);
      fflush(files[0]);
      perfield_begin("solve"); touch(memory, 10, 20); perfield_end("solve");
      perfield_run(1, 1);
      char text[100] = "";
      rewind(files[1]);
      return fgets(text, 100, files[1]) && !strcmp(text, "the answer is 42\\n") ? 0 : 8;
    """,
        before=PAGES,
        env={"PERFIELD_COUNTERS": "page_faults,task_clock"},
    )
    assert result.returncode == 0
    assert (tmp_path / "result.txt").read_text() == "the answer is 42\n"


def test_threads_whose_counters_would_take_too_many_descriptors_are_told(measured):
    _, result = measured(
        """
      struct rlimit few = {40, 40};
      setrlimit(RLIMIT_NOFILE, &few);
      perfield_initialize();
      for (int t = 0; t < 6; ++t) pthread_create(&threads[t], NULL, work_in_thread, NULL);
      for (int t = 0; t < 6; ++t) pthread_join(threads[t], NULL);
      perfield_run(0, 0);
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


SOURCE = """
#include <stdint.h>
int perfield_source_counter(const char* name);
void perfield_source_counter_stands(int counter, uint64_t value);
"""


def test_a_source_hands_over_counters_that_it_reads_by_itself(measured, perfield_flags):
    run, _ = measured(
        """
      int faults = perfield_source_counter("page-faults"), other = perfield_source_counter("PAPI_TOT_INS");
      if (faults < 0 || other < 0 || perfield_source_counter("page-faults") != faults) return 8;
      perfield_initialize();
      for (int s = 0; s < 2; ++s) {
        perfield_source_counter_stands(faults, 100000 + 50 * s);
        perfield_begin("solve");
        perfield_source_counter_stands(faults, 100007 + 50 * s);
        perfield_end("solve");
        perfield_run(s, s);
      }
    """,
        before=SOURCE,
        flags=perfield_flags("--libs"),
    )
    assert run.ranks[0]["counters"] == ["page-faults", "PAPI_TOT_INS"]
    assert series(run, "solve_page_faults") == [7, 7]
    assert series(run, "solve_PAPI_TOT_INS") == [0, 0]


def test_a_counter_that_a_source_finds_late_is_there_from_then_on(measured, perfield_flags):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_begin("solve"); perfield_end("solve");
      perfield_run(0, 0);
      perfield_begin("solve");
      work(1);
      int late = perfield_source_counter("energy");
      perfield_source_counter_stands(late, 5000);
      perfield_begin("inner");
      perfield_source_counter_stands(late, 5002);
      perfield_end("inner");
      perfield_run(1, 1);
      work(1);
      perfield_source_counter_stands(late, 5005);
      perfield_end("solve");
      perfield_run(2, 2);
    """,
        before=SOURCE,
        flags=perfield_flags("--libs"),
    )
    assert run.ranks[0]["counters"] == ["energy"]
    assert series(run, "solve_energy") == [0, 2, 3]
    assert series(run, "inner_energy")[1] == 2


def test_there_is_room_for_sixteen_counters_of_other_sources(measured, perfield_flags):
    _, result = measured(
        """
      for (int i = 0; i < 18; ++i) {
        char name[20];
        sprintf(name, "metric %d", i);
        printf("%d ", perfield_source_counter(name));
      }
      perfield_initialize();
      perfield_source_counter_stands(-1, 5);
      perfield_source_counter_stands(99, 5);
      perfield_run(0, 0);
    """,
        before=SOURCE,
        flags=perfield_flags("--libs"),
    )
    assert result.stdout.split() == [str(i) for i in range(16)] + ["-1", "-1"]


def test_each_field_of_a_counter_says_what_it_is():
    assert description("solve_cache_misses", "solve").meaning.startswith(
        "region 'solve': accesses that missed"
    )
    assert description("solve_task_clock_time_s", "solve").unit == "s"
    assert description("solve_instructions_per_cycle", "solve").direction == "higher"
    assert "counted" in description("solve_r1a8", "solve").meaning


def test_the_configuration_in_force_is_noted_with_the_run(measured, tmp_path):
    measured("perfield_initialize();", env={"PERFIELD_COUNTERS": "task_clock"})
    noted = json.loads((tmp_path / "perfield-run/run.json").read_text())["configuration"]
    assert noted["counters"] == ["task_clock"]
