# SPDX-License-Identifier: BSD-3-Clause
"""Counters of regions that a source of events reads itself."""

from __future__ import annotations

import numpy as np
from compiled.counting import counters_of, series

SOURCE = """
#include <stdint.h>
uint32_t perfield_quantity_define(const char*, const char*, uint8_t, uint8_t, uint8_t, const char*);
void perfield_quantity_reading(uint32_t quantity, uint64_t value);
static uint32_t counter(const char* name) { return perfield_quantity_define(name, "1", 0, 0, 0, 0); }
"""


def test_source_passes_on_its_own_counters(measured, perfield_flags):
    run, _ = measured(
        """
      uint32_t faults = counter("page-faults"), other = counter("PAPI_TOT_INS");
      if (!faults || !other || counter("page-faults") != faults) return 8;
      perfield_initialize();
      for (int s = 0; s < 2; ++s) {
        perfield_quantity_reading(faults, 100000 + 50 * s);
        perfield_begin("solve");
        perfield_quantity_reading(faults, 100007 + 50 * s);
        perfield_end("solve");
        perfield_step(s, s);
      }
    """,
        before=SOURCE,
        flags=perfield_flags("--libs"),
    )
    assert counters_of(run) == ["PAPI_TOT_INS", "page-faults"]
    assert series(run, "solve_page_faults") == [7, 7]
    assert series(run, "solve_PAPI_TOT_INS") == [0, 0]


def test_late_counter_is_there_from_then_on(measured, perfield_flags):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_begin("solve"); perfield_end("solve");
      perfield_step(0, 0);
      perfield_begin("solve");
      work(1);
      uint32_t late = counter("energy");
      perfield_quantity_reading(late, 5000);
      perfield_begin("inner");
      perfield_quantity_reading(late, 5002);
      perfield_end("inner");
      perfield_step(1, 1);
      work(1);
      perfield_quantity_reading(late, 5005);
      perfield_end("solve");
      perfield_step(2, 2);
    """,
        before=SOURCE,
        flags=perfield_flags("--libs"),
    )
    assert counters_of(run) == ["energy"]
    assert series(run, "solve_energy") == [0, 2, 3]
    assert series(run, "inner_energy")[1] == 2


def test_field_names_are_unique_for_any_counter_and_region(measured, perfield_flags):
    run, result = measured(
        """
      const char* names[] = {"page_faults", "page-faults", "mpi_time_s", "self_time_s"};
      uint32_t counters[4];
      for (int i = 0; i < 4; ++i) counters[i] = counter(names[i]);
      perfield_initialize();
      perfield_begin("solve");
      for (int i = 0; i < 4; ++i) perfield_quantity_reading(counters[i], 10 + i);
      perfield_begin("solve_page"); work(2); perfield_end("solve_page");
      for (int i = 0; i < 4; ++i) perfield_quantity_reading(counters[i], 100 * (i + 1));
      perfield_end("solve");
      perfield_begin("solve_page_faults"); work(3); perfield_end("solve_page_faults");
      perfield_step(0, 0);
      print_values();
    """,
        before=SOURCE,
        flags=perfield_flags("--libs"),
    )
    rows = [line.split() for line in result.stdout.splitlines()]
    reported = {name: float.fromhex(value) for name, value in rows if name.startswith("solve")}
    frame = run.frame(0)
    assert len({name for name, _ in rows}) == len(rows)
    assert reported.keys() == {name for name in frame.values if name.startswith("solve")}
    for name, value in reported.items():
        assert np.array_equal(frame.values[name][0], value, equal_nan=True), name
    assert reported["solve_page_faults"] == 200 - 11  # of page-faults
    assert reported["solve_counter_mpi_time_s"] == 300 - 12
    assert reported["solve_counter_self_time_s"] == 400 - 13
    assert reported["solve_self_time_s"] == 0


def test_adding_to_an_invalid_quantity_does_no_harm(measured, perfield_flags):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_begin("solve");
      perfield_quantity_reading(0, 5);
      perfield_quantity_reading(99, 5);
      perfield_quantity_reading(-1, 5);
      perfield_end("solve");
      perfield_step(0, 0);
    """,
        before=SOURCE,
        flags=perfield_flags("--libs"),
    )
    assert series(run, "solve_count") == [1]
    assert counters_of(run) == []
