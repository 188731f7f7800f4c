# SPDX-License-Identifier: BSD-3-Clause
"""The stamps of steps, and the system's clocks at stamp 0."""

from __future__ import annotations

import time

import pytest

import twin

SLACK_NS = 1000  # between a stamp and what the program reads itself
# Each rank reads CLOCK_MONOTONIC right before and right behind each perfield_step, which takes its stamp
# in between.
BRACKETED = """
  long long at[STEPS][2];
  perfield_initialize();
  for (int s = 0; s < STEPS; ++s) {
    usleep(1000 * (s % 10 == 0));
    at[s][0] = monotonic();
    perfield_step(s, s);
    at[s][1] = monotonic();
  }
  char name[64];
  snprintf(name, sizeof name, "brackets-%d", rank);
  FILE* file = fopen(name, "w");
  for (int s = 0; s < STEPS; ++s) fprintf(file, "%lld %lld\\n", at[s][0], at[s][1]);
  fclose(file);
"""
BEFORE = """
#include <stdio.h>
enum { STEPS = 300 };
static long long monotonic(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
"""


def steps_of(run, rank: int) -> list[dict]:
    """The bodies of a rank's step entries, in turn."""
    entries = [e for file in (run.path / "stream").glob("*.pf") for e in twin.decode(file.read_bytes())[0]]
    return [e["body"] for e in entries if e["type"] == "step" and e["rank"] == rank and not e["body"]["kind"]]


@pytest.mark.parametrize("clock", ["counter", "monotonic"])
def test_stamps_of_all_ranks_of_a_node_are_true_on_its_monotonic_clock(measured, tmp_path, clock):
    run, _ = measured(BRACKETED, n=3, mpi=True, before=BEFORE, env={"PERFIELD_CLOCK": clock})
    for rank, entry in enumerate(run.rank_entries):
        brackets = [
            map(int, line.split()) for line in (tmp_path / f"brackets-{rank}").read_text().splitlines()
        ]
        steps = steps_of(run, rank)
        assert len(steps) == len(brackets) == 300
        behind = 0
        for (before, after), step in zip(brackets, steps):
            closed = step["end_ns"] + entry["monotonic_ns"]
            began = step["begin_ns"] + entry["monotonic_ns"]
            assert before - SLACK_NS <= closed <= after + SLACK_NS
            assert behind - SLACK_NS <= began <= closed, "a step begins while the one before closes"
            behind = closed


def test_rank_entry_pairs_the_clocks_at_stamp_0(measured):
    before_ns = time.time_ns() - time.monotonic_ns()
    run, _ = measured("perfield_initialize(); perfield_step(0, 0);", real_time=True)
    after_ns = time.time_ns() - time.monotonic_ns()
    (entry,) = run.rank_entries
    apart = entry["realtime_ns"] - entry["monotonic_ns"]
    slack_ns = 10_000_000  # the system's clock may be slewed or the test interrupted meanwhile
    assert min(before_ns, after_ns) - slack_ns <= apart <= max(before_ns, after_ns) + slack_ns
    assert entry["realtime_error_ns"] >= -1
