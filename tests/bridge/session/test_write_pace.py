# SPDX-License-Identifier: BSD-3-Clause
"""Writing takes at most 0.5 % of the time, however slow it is: on numbers alone, and in programs whose writes
take time. Time is the test's own clock there, so no busy machine can change a result."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SHARE = 0.005
FIRST_CREDIT_MS = 10
UNTIL_SURE = 5  # writes that come early before spans double
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Writes:
    """What came of a run: how many writes, in ms; steps per entry at the end; the most that was gathered."""

    n: int
    spent_ms: float
    elapsed_ms: float
    span: int
    most_bytes: int
    most_steps: int

    def may_take_ms(self, of_one_ms: float) -> float:
        """0.5 % of the time, and the early writes: until all are known to be slow, and for each doubling."""
        early = UNTIL_SURE + math.log2(self.span)
        return SHARE * self.elapsed_ms + FIRST_CREDIT_MS + early * of_one_ms


@pytest.fixture(scope="module")
def paced(build_c, tmp_path_factory):
    """paced(*costs, steps=100_000): writes of `ms` each from a step on, given as step, ms, step, ms, ..."""
    program = build_c(
        (Path(__file__).parent / "programs/paced_writes.cpp").read_text(),
        f"-I{ROOT / 'bridge'}",
        str(ROOT / "bridge/session/write_pace.cpp"),
        name="paced_writes.cpp",
        mpi=False,
    )

    def run(*costs: float, steps: int = 100_000, step_ms: float = 1.1, entry: int = 2000) -> Writes:
        words = map(str, [program, steps, step_ms, entry, *costs])
        text = subprocess.run(list(words), capture_output=True, text=True, check=True).stdout
        return Writes(*(float(word) if "." in word else int(word) for word in text.split()))

    return run


@pytest.mark.parametrize("ms", [0.1, 0.3, 1, 3, 10, 30, 100])
def test_writing_takes_half_a_percent(paced, ms):
    found = paced(0, ms, steps=1_000_000)
    assert found.spent_ms <= found.may_take_ms(ms)
    assert found.most_bytes < 1.01 * MEGABYTE
    assert found.n >= 20


def test_cheap_writes_follow_each_step(paced):
    assert paced(0, 0.002).n == 100_000


@pytest.mark.parametrize("ms", [0.1, 1, 2.5])
def test_spans_stay_where_gathering_is_enough(paced, ms):
    assert paced(0, ms).span == 1


def test_disk_that_becomes_slow_later_is_noticed_at_once(paced):
    before, after = paced(0, 0.002, steps=50_000), paced(0, 0.002, 50_000, 100, steps=100_000)
    of_slow_part_ms = after.spent_ms - before.spent_ms
    elapsed_ms = after.elapsed_ms - before.elapsed_ms
    early = UNTIL_SURE + math.log2(after.span)
    assert of_slow_part_ms <= SHARE * elapsed_ms + 100 + early * 100  # 0.1 s is the most credit


def test_slow_start_leaves_no_trace(paced):
    found = paced(0, 100, 2000, 0.002)
    assert found.span == 1
    assert found.n > 90_000


def test_one_hiccup_lengthens_no_span_and_stops_no_viewer_for_long(paced):
    found = paced(0, 0.002, 50_000, 1000, 50_001, 0.002)
    assert found.span == 1
    assert found.n > 99_000


def test_two_hiccups_stop_viewers_for_20_s(paced):
    found = paced(0, 0.002, 500, 1000, 502, 0.002, steps=2000, step_ms=100)
    assert 150 < found.most_steps <= 200


def test_writes_that_speed_up_again_follow_each_step_again(paced):
    found = paced(0, 2, 50_000, 0.002)
    assert found.span == 1
    assert found.n > 49_000


# --- in a program ------------------------------------------------------------------------------

# The program's own write, which perfield calls: writing entries takes time of the test's clock.
SLOW = r"""
#include <string.h>
#include <sys/syscall.h>
static int writes;
ssize_t write(int file, const void* bytes, size_t n) {
  if (n > 8 && !memcmp(bytes, "\xF1pfentr\n", 8)) ++writes, clock_ns += (long long)(MS_OF_WRITE * 1e6);
  return syscall(SYS_write, file, bytes, n);
}
#ifdef NO_MEMORY
#include <errno.h>
void* mremap(void* old, size_t size, size_t wanted, int flags, ...) { return errno = ENOMEM, (void*)-1; }
#endif
"""
PROGRAM = """
  const char* names[10] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  perfield_initialize();
  long long begin = clock_ns;
  for (int step = 0; step < STEPS; ++step) {
    for (int i = 0; i < 10; ++i) { perfield_begin(names[i]); perfield_end(names[i]); }
    work(1.1);
    perfield_step(step, step);
  }
  printf("%d writes in %.3f ms", writes, (double)(clock_ns - begin) * 1e-6);
  perfield_finalize();
"""


@pytest.fixture
def slowly_written(measured):
    """slowly_written(ms, steps, env={}, *flags): what a program with such slow writes says; its Writes."""

    def run(ms: float, steps: int, env: dict[str, str] | None = None, *flags: str) -> tuple[str, Writes]:
        run, result = measured(
            PROGRAM, before=SLOW, flags=[f"-DMS_OF_WRITE={ms}", f"-DSTEPS={steps}", *flags], env=env
        )
        n, elapsed = re.match(r"(\d+) writes in (\S+) ms", result.stdout).groups()
        spans = run.frame_headers(range(len(run)))["span"].tolist()
        assert sum(spans) == steps
        counts = [frame.values["a_count"][0] for frame in (run.frame(0), run.frame(-1))]
        assert counts == [spans[0], spans[-1]]
        found = Writes(int(n), int(n) * ms, float(elapsed), max(spans), 0, 0)
        return result.stderr, found

    return run


@pytest.mark.parametrize(("ms", "steps"), [(0.1, 4000), (1, 4000), (100, 100_000)])
def test_program_with_slow_writes_spends_half_a_percent_on_them(slowly_written, ms, steps):
    said, found = slowly_written(ms, steps)
    assert found.spent_ms <= found.may_take_ms(ms)
    assert (found.span > 1) == (ms == 100)
    assert said.count("stage") == (1 if ms == 100 else 0)
    assert said.count("from now on more steps share an entry") == (1 if ms == 100 else 0)


def test_without_memory_for_more_entries_spans_alone_keep_the_share(slowly_written):
    _, found = slowly_written(10, 30_000, {}, "-DNO_MEMORY")
    assert found.spent_ms <= found.may_take_ms(10)
    assert found.span >= 4  # 1 with memory, as 10 ms may come each 2 s, in which a megabyte gathers


def test_gathering_beyond_flush_seconds_is_reported(slowly_written):
    said, found = slowly_written(1, 4000, {"PERFIELD_FLUSH_SECONDS": "0.1"})
    assert found.span == 1
    assert said.count("takes 1 ms, and perfield spends 0.5 % of the time on it; so entries are gathered") == 1
    assert "for up to 0.2 s" in said and "set stage to" in said


def test_flush_seconds_of_zero_writes_each_step_at_any_cost(slowly_written):
    said, found = slowly_written(0.1, 1000, {"PERFIELD_FLUSH_SECONDS": "0"})
    assert found.n >= 1000
    assert "gathered" not in said
