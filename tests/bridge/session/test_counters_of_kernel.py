# SPDX-License-Identifier: BSD-3-Clause
"""Counters of regions with a stand-in for the kernel that counts or refuses: fields and messages."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compiled.counting import KERNEL, counters_of, series

SOLVE = 'perfield_initialize(); perfield_begin("solve"); perfield_end("solve"); perfield_step(0, 0);'


def test_program_and_python_get_identical_counts(measured):
    run, result = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        for (int i = 0; i < 3 + s; ++i) { perfield_begin("solve"); perfield_end("solve"); }
        if (s) { perfield_begin("late"); perfield_end("late"); }
        perfield_step(s, s);
      }
      print_values();
    """,
        before=KERNEL,
        env={"PERFIELD_COUNTERS": "instructions,cycles,task_clock,r1a8"},
    )
    printed = {name: float.fromhex(value) for name, value in map(str.split, result.stdout.splitlines())}
    frame = run.frame(2)
    names = [name for name in printed if re.match(r"(solve|late)_", name)]
    wanted = {"solve_instructions", "solve_cycles", "solve_task_clock_time_s", "solve_r1a8"}
    assert wanted | {"solve_instructions_per_cycle", "late_cycles"} <= set(names)
    for name in names:
        assert np.array_equal(frame.values[name][0], printed[name], equal_nan=True), name
    assert np.isnan(run.frame(0).values["late_instructions"][0])
    assert set(run.frame(0).values) == set(frame.values)


def test_instructions_and_cycles_give_instructions_per_cycle(measured):
    run, _ = measured(
        """
      perfield_initialize();
      for (int i = 0; i < 5; ++i) { perfield_begin("solve"); perfield_end("solve"); }
      perfield_step(0, 0);
    """,
        before=KERNEL,
        env={"PERFIELD_COUNTERS": "instructions,cycles"},
    )
    assert series(run, "solve_instructions") == [5000]
    assert series(run, "solve_cycles") == [2500]
    assert series(run, "solve_instructions_per_cycle") == [2]


def test_dataset_has_counters_by_region(measured):
    run, _ = measured(
        """
      perfield_initialize();
      for (int i = 0; i < 3; ++i) { perfield_begin("solve"); perfield_end("solve"); }
      perfield_begin("halo"); perfield_end("halo");
      perfield_step(0, 0);
    """,
        before=KERNEL,
        env={"PERFIELD_COUNTERS": "instructions,cycles,task_clock"},
    )
    dataset = run.steps
    by_region = dataset["region_instructions"].isel(step=0, rank=0)
    assert by_region.sel(region="solve") == 3000
    assert by_region.sel(region="halo") == 1000
    assert (dataset["region_instructions_per_cycle"] == 2).all()
    assert dataset["region_task_clock_time_s"].attrs["units"] == "s"


def test_counters_beyond_one_group_use_several(measured):
    run, _ = measured(
        SOLVE,
        before="#define ROOM 2\n" + KERNEL,
        env={"PERFIELD_COUNTERS": "branches,instructions,branch_misses,cycles,cache_misses"},
    )
    assert series(run, "solve_instructions") == [1000]
    assert series(run, "solve_cycles") == [500]
    for name in ("branches", "branch_misses", "cache_misses"):
        assert series(run, f"solve_{name}") == [7]


def test_counters_sharing_registers_are_scaled_and_reported_as_estimates(measured):
    run, result = measured(
        SOLVE,
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
def test_refused_counters_have_no_fields_and_a_reason(measured, error, words):
    run, result = measured(
        SOLVE,
        before=f"#define KERNEL_REFUSES PERF_TYPE_HARDWARE\n#define KERNEL_ERRNO {error}\n" + KERNEL,
        n=2,
        env={"PERFIELD_COUNTERS": "instructions,page_faults,cycles"},
    )
    sentences = [line for line in result.stderr.splitlines() if "not all `counters`" in line]
    assert len(sentences) == 1, result.stderr  # of both ranks
    assert "instructions and cycles: " + words in sentences[0]
    assert counters_of(run) == ["page_faults"]
    assert series(run, "solve_page_faults") == [7]
    assert not [name for name in run.frame(0).values if "instructions" in name or "cycles" in name]
