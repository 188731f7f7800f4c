# SPDX-License-Identifier: BSD-3-Clause
"""What only some steps touch, by threads that are mostly idle: each step holds exactly its own."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.call_numbers import CALL

# The functions for sources of events: see bridge/recorder/source.h.
EVENTS = f"""
  #include <pthread.h>
  #include <semaphore.h>
  typedef struct {{ uint64_t stamp, after; }} Entered;
  Entered perfield_call_enter(uint16_t call, const void* caller, const void* frame);
  void perfield_call_exit(uint16_t call, uint64_t entered, uint64_t exited);
  void perfield_message(uint16_t call, int32_t peer, uint64_t bytes);
  typedef struct {{ int32_t peer; uint32_t flags; uint64_t bytes, posted, begin, end, id; }} Received;
  uint64_t perfield_msg_recv_complete(const Received*);
  uint32_t perfield_quantity_define(const char*, const char*, uint8_t, uint8_t, uint8_t, const char*);
  void perfield_quantity_add(uint32_t, uint64_t);
  void perfield_quantity_set(uint32_t, uint64_t);
  static void visit(perfield_region region, double ms) {{
    perfield_region_begin(region); work(ms); perfield_region_end(region);
  }}
  static void send(int peer) {{
    uint64_t entered = perfield_call_enter({CALL["send"]}, 0, 0).stamp;
    perfield_message({CALL["send"]}, peer, 8);
    Received answer = {{peer, 1, 8, 0, entered, 0, 0}};
    perfield_msg_recv_complete(&answer);
    perfield_call_exit({CALL["send"]}, entered, 0);
  }}
  /* A thread that visits a region whenever it is asked to, and one that does so once and ends. */
  static sem_t go, gone;
  static perfield_region visited;
  static void* visitor(void* stays) {{
    do {{ sem_wait(&go); visit(visited, 1); sem_post(&gone); }} while (stays);
    return 0;
  }}
  static pthread_t started(void* stays) {{
    pthread_t thread;
    pthread_create(&thread, 0, visitor, stays);
    return thread;
  }}
  static void visit_on_thread(void) {{ sem_post(&go); sem_wait(&gone); }}
"""


@pytest.fixture
def touching(measured, perfield_flags):
    """touching(body): runs a program with the functions above, and returns its frames."""

    def run(body: str, **more):
        run, _ = measured(body, before=EVENTS, flags=(*perfield_flags("--libs"), "-lpthread"), **more)
        return list(run.frames())

    return run


def entered(frames, name: str) -> list[float]:
    """How often a region was entered in each frame; 0 where it was not."""
    counts = [frame.values.get(f"{name}_count", np.zeros(1))[0] for frame in frames]
    return [0 if np.isnan(count) else int(count) for count in counts]


def test_regions_and_partners_count_in_the_steps_that_touch_them(touching):
    frames = touching("""
      perfield_region often = REGION("often"), rarely = REGION("rarely");
      perfield_initialize();
      for (int s = 0; s < 1004; ++s) {
        visit(often, 1);
        if (s % 100 == 3) visit(rarely, 2);
        if (s == 0) for (int peer = 120; peer > 0; --peer) send(peer);
        if (s == 1002) { send(5); send(100); send(5); }
        perfield_step(s, s);
      }
    """)
    assert entered(frames, "often") == [1] * 1004
    assert entered(frames, "rarely") == [int(s % 100 == 3) for s in range(1004)]
    sent = [frame.messages for frame in frames]
    assert [len(rows) for rows in sent] == [120, *[0] * 1001, 2, 0]
    # In the order in which the partners came first.
    assert sent[0]["target"].tolist() == list(range(120, 0, -1))
    assert list(zip(sent[1002]["target"].tolist(), sent[1002]["count"].tolist())) == [(100, 1), (5, 2)]
    assert frames[1002].waits["count"].sum() == 3
    assert frames[1003].waits["count"].sum() == 0


def test_threads_count_where_they_were_busy(touching):
    """One thread lives and is idle at times; others end, and each takes the place of the one before."""
    frames = touching("""
      visited = REGION("there");
      sem_init(&go, 0, 0); sem_init(&gone, 0, 0);
      perfield_initialize();
      for (int s = 0; s < 4; ++s) {
        if (s == 0) started(&go);
        if (s == 0 || s == 3) visit_on_thread();
        perfield_step(s, s);
      }
      visit_on_thread();
      for (int s = 4; s < 8; ++s) {
        pthread_t one = started(0), other = started(0);
        if (s < 6) { visit_on_thread(); visit_on_thread(); }
        perfield_step(s, s);
        if (s >= 6) { visit_on_thread(); visit_on_thread(); }
        (void)one; (void)other;
      }
    """)
    assert entered(frames, "there")[:5] == [1, 0, 0, 1, 3]
    assert sum(entered(frames, "there")) == 1 + 1 + 3 + 2 + 2


def test_open_regions_count_once_and_pauses_count_nothing(touching):
    frames = touching("""
      perfield_region all = REGION("all"), armed = REGION("armed"), late = REGION("late");
      perfield_initialize();
      perfield_region_begin(all);
      for (int s = 0; s < 6; ++s) {
        if (s == 2) { perfield_pause(); visit(late, 1); perfield_resume(); }
        if (s == 3) { perfield_region_begin(late); work(1); perfield_pause(); work(5); }
        if (s == 4) { perfield_resume(); work(1); perfield_region_end(late); }
        if (s == 1 || s == 5) { perfield_pipeline_next(); visit(armed, 3); }
        work(1);
        perfield_step(s, s);
      }
      perfield_region_end(all);
    """)
    assert entered(frames, "all") == [1, 0, 0, 0, 0, 0]
    assert [frame.values["all_time_s"][0] for frame in frames] == pytest.approx(
        [0.001, 0.004, 0.001, 0.001, 0.002, 0.004]
    )
    assert entered(frames, "late") == [0, 0, 0, 1, 0, 0]
    assert [frames[s].values["late_time_s"][0] for s in (3, 4)] == pytest.approx([0.001, 0.001])
    assert entered(frames, "armed") == [0, 1, 0, 0, 0, 1]


def test_quantities_hold_in_the_steps_that_add_or_set_them(touching):
    frames = touching("""
      uint32_t flops = perfield_quantity_define("flops", "1", 0, 0, 0, "");
      uint32_t level = perfield_quantity_define("level", "1", 0, 2, 1, "");
      uint32_t moved = perfield_quantity_define("moved", "B", 1, 0, 0, "");
      perfield_region region = REGION("work");
      perfield_initialize();
      for (int s = 0; s < 5; ++s) {
        perfield_region_begin(region);
        if (s % 2 == 0) perfield_quantity_add(flops, 10 + (unsigned)s);
        if (s == 3) perfield_quantity_set(level, 0);
        if (s == 4) perfield_quantity_add(moved, 64);
        if (s == 2) { perfield_step(s, s); perfield_quantity_add(flops, 7); }
        perfield_region_end(region);
        if (s != 2) perfield_step(s, s);
      }
    """)

    def series(name: str) -> list[float]:
        return [frame.values[name][0] if name in frame.values else np.nan for frame in frames]

    np.testing.assert_array_equal(series("work_flops"), [10, 0, 12, 7, 14])
    np.testing.assert_array_equal(series("work_level"), [np.nan, np.nan, np.nan, 0, np.nan])
    np.testing.assert_array_equal(series("moved_bytes"), [0, 0, 0, 0, 64])
