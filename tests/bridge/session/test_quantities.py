# SPDX-License-Identifier: BSD-3-Clause
"""Quantities declared by a source: of regions and ranks, sums and states, over steps and threads."""

from __future__ import annotations

import math

import pytest
from compiled.counting import series

import perfield
from twins import twin

SOURCE = """
#include <stdint.h>
#include <pthread.h>
#include <semaphore.h>
enum { REGION_SCOPE, RANK_SCOPE }; enum { SUM, MAX, LAST }; enum { THREADS_SUM, THREADS_MAX, LONGEST };
uint32_t perfield_quantity_define(const char*, const char*, uint8_t, uint8_t, uint8_t, const char*);
void perfield_quantity_add(uint32_t, uint64_t);
void perfield_quantity_set(uint32_t, uint64_t);
static uint32_t define(const char* name, const char* unit, int scope, int steps, int threads) {
  return perfield_quantity_define(name, unit, (uint8_t)scope, (uint8_t)steps, (uint8_t)threads, "help");
}
static uint32_t q[4];
static sem_t done;
static void (*task)(long);
static void* in_thread(void* n) { task((long)n); sem_post(&done); for (;;) pause(); }
/* One thread after the other, none of which ends before the steps do. */
static void threads(long n, void (*what)(long)) {
  task = what;
  for (long i = 0; i < n; ++i) {
    pthread_t thread;
    pthread_create(&thread, 0, in_thread, (void*)i);
    sem_wait(&done);
  }
}
"""


@pytest.fixture
def declared(measured, perfield_flags):
    """declared(body, before): runs a program that declares quantities, and gives (run, result)."""

    def run(body: str, before: str = "", **more):
        return measured(body, before=SOURCE + before, flags=(*perfield_flags("--libs"), "-lpthread"), **more)

    return run


def test_amounts_count_once_for_each_open_region(declared):
    run, _ = declared(
        """
      q[0] = define("flops", "1", REGION_SCOPE, SUM, THREADS_SUM);
      perfield_initialize();
      perfield_quantity_add(q[0], 1000);  /* in no region */
      perfield_begin("outer"); perfield_quantity_add(q[0], 1);
      perfield_begin("inner"); perfield_quantity_add(q[0], 10);
      perfield_begin("inner"); perfield_quantity_add(q[0], 100); perfield_end("inner");
      perfield_end("inner");
      perfield_step(0, 0);
      work(1);
      perfield_quantity_add(q[0], 7);
      perfield_end("outer");
      perfield_step(1, 1);
    """
    )
    assert series(run, "outer_flops") == [111, 7]
    assert series(run, "inner_flops")[0] == 110
    assert math.isnan(series(run, "inner_flops")[1])


def test_sums_and_states_of_a_rank_in_shown_units(declared):
    run, result = declared(
        """
      q[0] = define("moved", "B", RANK_SCOPE, SUM, THREADS_SUM);
      q[1] = define("in_use", "B", RANK_SCOPE, LAST, THREADS_SUM);
      q[2] = define("largest", "1", RANK_SCOPE, MAX, THREADS_SUM);
      q[3] = define("used", "uJ", RANK_SCOPE, SUM, THREADS_SUM);
      perfield_initialize();
      for (int i = 1; i <= 3; ++i) {
        perfield_quantity_add(q[0], 100); perfield_quantity_add(q[3], 500000);
        perfield_quantity_set(q[1], 10 * (4 - i)); perfield_quantity_set(q[2], i == 2 ? 9 : i);
      }
      print_values();
      perfield_step(0, 0);
      perfield_step(1, 1);
    """
    )
    assert [series(run, name)[0] for name in ("moved_bytes", "in_use_bytes", "largest", "used_J")] == [
        *(300, 10, 9, 1.5)
    ]
    assert [series(run, name)[1] for name in ("moved_bytes", "used_J")] == [0, 0]
    assert math.isnan(series(run, "in_use_bytes")[1])  # a state that nobody stated is absent
    printed = dict(line.split() for line in result.stdout.splitlines())
    assert [
        float.fromhex(printed[name]) for name in ("moved_bytes", "in_use_bytes", "largest", "used_J")
    ] == [*(300, 10, 9, 1.5)]


def test_threads_join_by_sum_largest_or_longest(declared):
    run, _ = declared(
        """
      q[0] = define("sum", "1", REGION_SCOPE, SUM, THREADS_SUM);
      q[1] = define("largest", "1", REGION_SCOPE, SUM, THREADS_MAX);
      q[2] = define("read_time", "ns", REGION_SCOPE, SUM, LONGEST);
      q[3] = define("write_time", "ns", REGION_SCOPE, SUM, LONGEST);
      perfield_initialize();
      threads(3, work_of);
      perfield_step(0, 0);
    """,
        before="""
      static void work_of(long n) {
        static const int read[] = {5, 1, 4}, written[] = {0, 6, 1};
        perfield_begin("r");
        perfield_quantity_add(q[0], 1 + n); perfield_quantity_add(q[1], 1 + n);
        perfield_quantity_add(q[2], read[n] * 1000000); perfield_quantity_add(q[3], written[n] * 1000000);
        perfield_end("r");
      }
    """,
    )
    values = run.frame(0).values
    assert [values[f"r_{name}"][0] for name in ("sum", "largest")] == [6, 3]
    assert [values[f"r_{name}_time_s"][0] for name in ("read", "write")] == pytest.approx([1e-3, 6e-3])


def test_region_states_belong_to_open_regions(declared):
    run, _ = declared(
        """
      q[0] = define("depth", "1", REGION_SCOPE, MAX, THREADS_MAX);
      perfield_initialize();
      perfield_begin("outer");
      perfield_begin("inner"); perfield_quantity_set(q[0], 8); perfield_end("inner");
      perfield_quantity_set(q[0], 3);
      perfield_end("outer");
      perfield_begin("third"); perfield_end("third");
      perfield_step(0, 0);
    """
    )
    assert [series(run, f"{name}_depth")[0] for name in ("outer", "inner")] == [8, 8]
    assert math.isnan(series(run, "third_depth")[0])


def test_nothing_counts_in_pauses_and_unmeasured_steps(declared):
    run, _ = declared(
        """
      q[0] = define("moved", "B", RANK_SCOPE, SUM, THREADS_SUM);
      q[1] = define("flops", "1", REGION_SCOPE, SUM, THREADS_SUM);
      q[2] = define("largest", "1", RANK_SCOPE, MAX, THREADS_SUM);
      perfield_initialize();
      perfield_begin("r");
      for (int s = 0; s < 4; ++s) {
        work(1);
        for (int part = 0; part < 3; ++part) {
          if (part == 1) perfield_pause();
          for (int i = 0; i < 2; ++i) perfield_quantity_add(q[i], s + 1);
          perfield_quantity_set(q[2], part == 1 ? 99 : 5 - part);
          if (part == 1) perfield_resume();
        }
        perfield_step(s, s);
      }
    """,
        env={"PERFIELD_MEASURE_EVERY": "2"},
    )
    assert series(run, "moved_bytes") == [2, 6]
    assert series(run, "r_flops") == [2, 6]
    assert series(run, "largest") == [5, 5]


def test_invalid_quantity_is_refused_in_a_sentence(declared):
    run, result = declared(
        """
      uint32_t moved = define("moved", "B", RANK_SCOPE, SUM, THREADS_SUM);
      if (!moved || define("moved", "B", RANK_SCOPE, SUM, THREADS_SUM) != moved) return 8;
      if (define("moved", "1", RANK_SCOPE, SUM, THREADS_SUM)) return 9;
      if (define("weight", "kg", RANK_SCOPE, SUM, THREADS_SUM)) return 10;
      if (define("pages", "1", REGION_SCOPE, SUM, LONGEST)) return 11;
      perfield_initialize();
      perfield_quantity_add(0, 5);
      perfield_step(0, 0);
    """
    )
    assert "the quantity moved is not measured: it is defined already, in B, and another" in result.stderr
    assert "its unit is 'kg'; expected is one of 1, B, ticks, ns, uJ and ppm" in result.stderr
    assert "only a time inside regions that adds up over steps can be that of the longest" in result.stderr
    assert series(run, "moved_bytes") == [0]


def test_at_most_64_quantities(declared):
    _, result = declared(
        """
      int n = 0;
      for (int i = 0; i < 70; ++i) {
        char name[20];
        sprintf(name, "metric %d", i);
        n += define(name, "1", RANK_SCOPE, SUM, THREADS_SUM) != 0;
      }
      if (n < 40 || n > 64) return 8;
      perfield_initialize();
      perfield_step(0, 0);
    """
    )
    assert "the quantity metric 69 is not measured: there is room for 64 quantities" in result.stderr


def test_amounts_beyond_the_table_go_to_other_regions(declared):
    run, result = declared(
        """
      uint32_t many[40];
      char name[20];
      for (int i = 0; i < 40; ++i) {
        sprintf(name, "m%d", i);
        many[i] = define(name, "1", REGION_SCOPE, SUM, THREADS_SUM);
      }
      perfield_initialize();
      for (int r = 0; r < 9; ++r) {
        sprintf(name, "region%d", r);
        perfield_begin(name);
        for (int i = 0; i < 40; ++i) perfield_quantity_add(many[i], 1);
        perfield_end(name);
      }
      perfield_begin("other regions"); perfield_end("other regions");
      perfield_step(0, 0);
    """,
        env={"PERFIELD_MAX_REGIONS": "16"},
    )
    body = next(
        entry["body"]
        for path in (run.path / "stream").glob("*.pf")
        for entry in twin.decode(path.read_bytes())[0]
        if entry["type"] == "step" and entry["body"]["kind"] == 0
    )
    rows = [row for row in body["quantities"] if row["region"] != twin.OF_RANK]
    others = [row for row in rows if row["region"] == 0]
    assert sum(row["value"] for row in rows) == 9 * 40
    assert len(rows) - len(others) == 4 * 16 and others
    assert "a table of (region, quantity) pairs was full: 296 amounts" in result.stderr


def test_rows_of_undefined_quantities_are_skipped(tmp_path):
    def strange(rank, step, values):
        values["quantities"] += [
            {"region": 1, "quantity": 900, "value": 5},
            {"region": twin.OF_RANK, "quantity": 901, "value": 5},
            {"region": 1, "quantity": 3, "value": 11},
        ]

    quantities = (*twin.QUANTITIES, ("flops", "1", "region"))
    path = twin.write_run(tmp_path / "run", ranks=2, steps=1, change_step=strange, quantities=quantities)
    frame = perfield.open(path).frame(0)
    assert frame.values["solve_flops"].tolist() == [11, 11]
    assert frame.values["exchange_flops"].tolist() == [0, 0]
