# SPDX-License-Identifier: BSD-3-Clause
"""The stamps of steps, and the system's clocks at stamp 0."""

from __future__ import annotations

import time

import pytest

from twins import twin

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

# A CLOCK_MONOTONIC of the test's own, which runs faster by a ten-thousandth from `faster_from` on.
CHANGING = """
#include <sys/syscall.h>
static _Atomic long long faster_from = 1LL << 62;
int clock_gettime(clockid_t id, struct timespec* t) {
  syscall(SYS_clock_gettime, id, t);
  const long long ns = t->tv_sec * 1000000000LL + t->tv_nsec;
  const long long more = id == CLOCK_MONOTONIC && ns > faster_from ? (ns - faster_from) / 10000 : 0;
  t->tv_sec = (ns + more) / 1000000000LL;
  t->tv_nsec = (ns + more) % 1000000000LL;
  return 0;
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


def test_stamps_follow_a_monotonic_clock_whose_rate_changes(measured, tmp_path):
    """The second of two long steps runs at another rate, which must not move its begin by 20 us."""
    body = """
      long long at[3];
      perfield_initialize();
      work(400);
      at[0] = monotonic();
      perfield_step(0, 0);
      at[1] = monotonic();
      faster_from = at[1];
      usleep(400000);
      at[2] = monotonic();
      perfield_step(1, 1);
      FILE* file = fopen("times", "w");
      fprintf(file, "%lld %lld %lld %lld", at[0], at[1], at[2], monotonic());
      fclose(file);
    """
    run, _ = measured(body, before=BEFORE + CHANGING, real_time=True, env={"PERFIELD_CLOCK": "counter"})
    (entry,) = run.rank_entries
    assert entry["clock"] != "monotonic"
    before, behind, second, last = map(int, (tmp_path / "times").read_text().split())
    steps = steps_of(run, 0)
    closed, began, end = (
        stamp + entry["monotonic_ns"]
        for stamp in (steps[0]["end_ns"], steps[1]["begin_ns"], steps[1]["end_ns"])
    )
    slack_ns = 5 * SLACK_NS  # the clock may be read a while after the stamp was taken, at another rate
    assert before - slack_ns <= closed <= began <= behind + slack_ns
    assert second - slack_ns <= end <= last + slack_ns


def test_rank_entry_pairs_the_clocks_at_stamp_0(measured):
    before_ns = time.time_ns() - time.monotonic_ns()
    run, _ = measured("perfield_initialize(); perfield_step(0, 0);", real_time=True)
    after_ns = time.time_ns() - time.monotonic_ns()
    (entry,) = run.rank_entries
    apart = entry["realtime_ns"] - entry["monotonic_ns"]
    slack_ns = 10_000_000  # the system's clock may be slewed or the test interrupted meanwhile
    assert min(before_ns, after_ns) - slack_ns <= apart <= max(before_ns, after_ns) + slack_ns
    assert entry["realtime_error_ns"] >= -1
