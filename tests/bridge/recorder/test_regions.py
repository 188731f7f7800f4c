# SPDX-License-Identifier: BSD-3-Clause
"""Regions in the recorder: nested, recursive, open over the end of a step, in threads."""

from __future__ import annotations

import math
import re

import pytest
from compiled.call_numbers import CALL

from perfield.configuration import in_force

MS = 1e-3
# The functions for sources of events: see bridge/recorder/source.h.
EVENTS = """
  typedef struct { uint64_t stamp, after; } Entered;
  Entered perfield_call_enter(uint16_t call, const void* caller, const void* frame);
  void perfield_call_exit(uint16_t call, uint64_t entered, uint64_t exited);
  void perfield_message(uint16_t call, int32_t peer, uint64_t bytes);
  typedef struct { int32_t peer; uint32_t flags; uint64_t bytes, posted, begin, end, id; } Received;
  uint64_t perfield_msg_recv_complete(const Received*);
  void perfield_source_start(int rank, int size, const char* mpi);
"""


def about(value: float, expected: float) -> bool:
    """Equal up to rounding of seconds: in these programs time passes only in work()."""
    return value == pytest.approx(expected, abs=1e-9)


def test_inner_time_is_in_the_outer_time_but_not_its_self_time(measured):
    run, _ = measured("""
      perfield_region outer = REGION("outer"), inner = REGION("inner");
      perfield_initialize();
      perfield_region_begin(outer); work(10);
      perfield_region_begin(inner); work(30); perfield_region_end(inner);
      perfield_region_end(outer);
      perfield_step(0, 0.0);
    """)
    values = run.frame(0).values
    assert about(values["outer_time_s"][0], 40 * MS)
    assert about(values["outer_self_time_s"][0], 10 * MS)
    assert about(values["inner_time_s"][0], 30 * MS)


def test_recursion_counts_every_entry_and_times_the_outermost(measured):
    run, _ = measured(
        """
      perfield_initialize();
      descend(REGION("descend"), 5);
      perfield_step(0, 0.0);
    """,
        before="""
      static void descend(perfield_region r, int n) {
        perfield_region_begin(r);
        work(4);
        if (n > 1) descend(r, n - 1);
        perfield_region_end(r);
      }
    """,
    )
    values = run.frame(0).values
    assert values["descend_count"][0] == 5
    assert about(values["descend_time_s"][0], 20 * MS)
    assert about(values["descend_self_time_s"][0], 20 * MS)


def test_region_open_over_a_step_end_counts_in_both_steps(measured):
    run, _ = measured("""
      perfield_region r = REGION("long");
      perfield_initialize();
      work(10); perfield_region_begin(r); work(20);
      perfield_step(0, 0.0);
      work(30); perfield_region_end(r); work(10);
      perfield_step(1, 1.0);
      work(1);
      perfield_step(2, 2.0);
    """)
    times = [frame.values["long_time_s"][0] for frame in run.frames()]
    counts = [frame.values["long_count"][0] for frame in run.frames()]
    assert about(times[0], 20 * MS)
    assert about(times[1], 30 * MS)
    assert counts[:2] == [1, 0]  # the entry counts in its own step
    assert math.isnan(times[2])  # not entered is not zero


def test_region_begun_before_initialize_is_unknown(measured):
    run, _ = measured("""
      perfield_region all = REGION("all");
      perfield_region_begin(all);
      perfield_initialize();
      for (int s = 0; s < 3; ++s) { work(1); perfield_step(s, s); }
      perfield_region_end(all);
    """)
    assert "all_time_s" not in run.frame(0).values


def test_enclosing_region_takes_the_whole_step(measured):
    run, _ = measured("""
      perfield_region all = REGION("all");
      perfield_initialize();
      perfield_region_begin(all);
      for (int s = 0; s < 20; ++s) { work(1); perfield_step(s, s); }
      perfield_region_end(all);
    """)
    for frame in list(run.frames())[1:]:
        assert frame.values["all_time_s"][0] == pytest.approx(frame.values["step_time_s"][0], abs=1e-9)


def test_mismatched_ends_close_inner_regions_with_a_warning(measured):
    run, result = measured("""
      perfield_region outer = REGION("outer"), inner = REGION("inner"), stray = REGION("stray");
      perfield_initialize();
      perfield_region_end(stray);
      perfield_region_begin(outer); perfield_region_begin(inner); work(5);
      perfield_region_end(outer);
      work(10);
      perfield_step(0, 0.0);
    """)
    values = run.frame(0).values
    assert about(values["inner_time_s"][0], 5 * MS)
    assert about(values["outer_time_s"][0], 5 * MS)
    assert result.stderr.count("perfield: events that could not be right") == 1


def test_region_times_of_threads_add_up(measured):
    run, _ = measured(
        """
      perfield_initialize();
      pthread_t t[4];
      for (int i = 0; i < 4; ++i) pthread_create(&t[i], 0, thread, 0);
      for (int i = 0; i < 4; ++i) pthread_join(t[i], 0);
      perfield_step(0, 0.0);
    """,
        before="""
      #include <pthread.h>
      static void* thread(void* unused) {
        (void)unused;
        perfield_region r = REGION("part");
        for (int i = 0; i < 100; ++i) { perfield_region_begin(r); perfield_region_end(r); }
        return 0;
      }
    """,
        flags=["-pthread"],
    )
    values = run.frame(0).values
    assert values["part_count"][0] == 400


def test_open_region_of_a_worker_is_in_every_step(measured):
    run, _ = measured(
        """
      perfield_initialize();
      pthread_t t;
      pthread_create(&t, 0, thread, 0);
      while (!inside) usleep(100);
      for (int s = 0; s < 5; ++s) { work(5); perfield_step(s, s); }
      done = 1;
      pthread_join(t, 0);
    """,
        before="""
      #include <pthread.h>
      static volatile int inside, done;
      static void* thread(void* unused) {
        (void)unused;
        perfield_region r = REGION("worker");
        perfield_region_begin(r);
        inside = 1;
        while (!done) usleep(200);
        perfield_region_end(r);
        return 0;
      }
    """,
        flags=["-pthread"],
    )
    for frame in list(run.frames())[1:]:
        assert frame.values["worker_time_s"][0] == pytest.approx(frame.values["step_time_s"][0], abs=1e-9)


def test_regions_are_chosen_by_name_and_glob(measured):
    run, _ = measured(
        """
      perfield_initialize();
      const char* names[] = {"iflux_edge", "vflux_edge", "vflux_cell", "update"};
      for (int i = 0; i < 4; ++i) { perfield_begin(names[i]); work(1); perfield_end(names[i]); }
      perfield_step(0, 0.0);
    """,
        env={"PERFIELD_REGIONS": "iflux_edge,vflux_*"},
    )
    values = run.frame(0).values
    assert {name for name in values if name.endswith("_count") and "flux" in name} == {
        "iflux_edge_count",
        "vflux_edge_count",
        "vflux_cell_count",
    }
    assert not any(name.startswith("update") for name in values)


def test_pipeline_next_measures_only_its_call_site(measured):
    run, _ = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        flux(2);
        perfield_pipeline_next();
        flux(10);
        flux(2);
        perfield_step(s, s);
      }
    """,
        before="""
      static void flux(double ms) {
        perfield_begin("flux"); work(ms); perfield_end("flux");
      }
    """,
        env={"PERFIELD_REGIONS": ""},
    )
    for frame in run.frames():
        assert frame.values["flux_count"][0] == 1
        assert about(frame.values["flux_time_s"][0], 10 * MS)


def test_nested_regions_can_be_armed_at_once(measured):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_pipeline_next();
      perfield_begin("outer"); work(5);
      perfield_pipeline_next();
      perfield_begin("inner"); work(5);
      perfield_end("inner"); perfield_end("outer");
      perfield_begin("inner"); perfield_end("inner");
      perfield_step(0, 0.0);
    """,
        env={"PERFIELD_REGIONS": ""},
    )
    values = run.frame(0).values
    assert (values["outer_count"][0], values["inner_count"][0]) == (1, 1)
    assert about(values["outer_time_s"][0], 10 * MS)


def test_pipeline_next_that_arms_nothing_warns_once(measured):
    _, result = measured("""
      perfield_initialize();
      for (int s = 0; s < 3; ++s) { perfield_pipeline_next(); perfield_step(s, s); }
    """)
    assert result.stderr.count("perfield_pipeline_next was called but no region was entered") == 1


def test_time_on_a_block_is_kept_per_block(measured):
    run, _ = measured("""
      perfield_region flux = REGION("flux");
      perfield_initialize();
      for (int block = 0; block < 3; ++block) {
        perfield_region_begin_on(flux, block); work(5 * (block + 1)); perfield_region_end(flux);
      }
      perfield_step(0, 0.0);
    """)
    frame = run.frame(0)
    for block in range(3):
        assert about(frame.block_values["flux_time_s"][(0, block)], 5 * MS * (block + 1))


def test_100000_regions_are_bounded_with_exact_sums(measured):
    run, result = measured("""
      perfield_initialize();
      char name[32];
      for (int i = 0; i < 100000; ++i) {
        snprintf(name, sizeof name, "region %d", i);
        perfield_begin(name); perfield_end(name);
      }
      perfield_step(0, 0.0);
    """)
    counts = [v[0] for name, v in run.frame(0).values.items() if name.endswith("_count") and "region" in name]
    assert sum(counts) == 100000
    assert len(counts) <= in_force("max_regions")
    assert "raise max_regions" in result.stderr


def test_very_deep_recursion_is_survived(measured):
    run, result = measured("""
      perfield_region r = REGION("deep");
      perfield_initialize();
      for (int i = 0; i < 1000; ++i) perfield_region_begin(r);
      work(7);
      for (int i = 0; i < 1000; ++i) perfield_region_end(r);
      for (int i = 0; i < 70000; ++i) perfield_region_begin(r);
      for (int i = 0; i < 70000; ++i) perfield_region_end(r);
      perfield_step(0, 0.0);
    """)
    values = run.frame(0).values
    assert values["deep_count"][0] == 71000
    assert values["deep_time_s"][0] == values["deep_self_time_s"][0] == 0.007
    assert run.ends[0]["faults"] == run.ends[0]["dropped_events"] == {}
    assert "perfield: " not in result.stderr


def test_too_deep_regions_are_counted_with_one_warning_per_node(measured):
    body = """
      perfield_region outer = REGION("outer"), inner = REGION("inner");
      perfield_initialize();
      for (int i = 0; i < 300; ++i) perfield_region_begin(outer);
      for (int i = 0; i < 5; ++i) { perfield_region_begin(inner); work(1); perfield_region_end(inner); }
      perfield_pause();
      perfield_region_begin(inner); perfield_region_end(inner);
      perfield_resume();
      for (int i = 0; i < 300; ++i) perfield_region_end(outer);
      perfield_step(0, 0.0);
    """
    run, result = measured(body, n=2)
    values = run.frame(0).values
    assert values["outer_count"][0] == 300
    assert values["inner_count"][0] == 5
    assert values["outer_time_s"][0] == 0.005
    assert run.ends[0]["faults"] == {}
    assert run.ends[0]["dropped_events"] == {"too_deep": 5}
    sentence = r"perfield: 5 regions were entered more than (\d+) levels deep: .*; so many on rank [01]\n"
    (levels,) = re.findall(sentence, result.stderr)
    assert int(levels) <= 300


def test_unclosed_inner_regions_keep_outer_times(measured):
    run, _ = measured("""
      perfield_region outer = REGION("outer"), deep = REGION("deep"), next = REGION("next");
      perfield_initialize();
      perfield_region_begin(outer);
      for (int i = 0; i < 400; ++i) perfield_region_begin(deep);
      work(3);
      perfield_region_end(outer);  /* as after a longjmp */
      work(50);
      perfield_region_begin(next); work(2); perfield_region_end(next);
      perfield_step(0, 0.0);
    """)
    values = run.frame(0).values
    assert values["outer_time_s"][0] == 0.003
    assert values["next_time_s"][0] == values["next_self_time_s"][0] == 0.002
    assert sum(run.ends[0]["faults"].values()) == 400


def test_threads_beyond_the_limit_are_skipped_with_a_warning(measured):
    run, result = measured(
        """
      perfield_initialize();
      pthread_barrier_init(&all, 0, 601);
      pthread_t t[600];
      for (int i = 0; i < 600; ++i) if (pthread_create(&t[i], 0, thread, 0)) return 3;
      pthread_barrier_wait(&all);
      for (int i = 0; i < 600; ++i) pthread_join(t[i], 0);
      perfield_step(0, 0.0);
      for (int i = 0; i < 600; ++i) {  /* one after the other, so each reuses a place */
        if (pthread_create(&t[i], 0, thread, &all)) return 3;
        pthread_join(t[i], 0);
      }
      perfield_step(1, 1.0);
      puts("the answer is 42");
    """,
        before="""
      #include <pthread.h>
      static pthread_barrier_t all;
      static void* thread(void* alone) {
        perfield_begin("part");
        if (!alone) pthread_barrier_wait(&all);
        perfield_end("part");
        return 0;
      }
    """,
        flags=["-pthread"],
    )
    assert result.stdout == "the answer is 42\n"
    counts = [frame.values["part_count"][0] for frame in run.frames()]
    (without_room,) = re.findall(r"threads_without_room, (\d+) times", result.stderr)
    assert 0 < int(without_room) < 600
    assert counts == [600 - int(without_room), 600]
    assert result.stderr.count("perfield: events that could not be right") == 1


def test_overfull_entry_adds_up_exactly_in_other_peers(measured, perfield_flags):
    run, result = measured(
        """
      perfield_initialize();
      pthread_t t[40];
      for (int i = 0; i < 40; ++i) pthread_create(&t[i], 0, thread, 0);
      while (ready < 40) usleep(100);
      perfield_step(0, 0.0);
      done = 1;
      for (int i = 0; i < 40; ++i) pthread_join(t[i], 0);
    """,
        before=EVENTS
        + """
      #include <pthread.h>
      static _Atomic int ready, done;
      static void* thread(void* unused) {
        (void)unused;
        for (int peer = 1; peer <= 100; ++peer) {
          uint64_t entered = perfield_call_enter(SEND, 0, 0).stamp;
          perfield_message(SEND, peer, 8);
          Received answer = {peer, 1, 8, 0, entered, 0, 0};
          perfield_msg_recv_complete(&answer);
          perfield_call_exit(SEND, entered, 0);
        }
        ++ready;
        while (!done) usleep(100);
        return 0;
      }
    """,
        flags=["-pthread", f"-DSEND={CALL['send']}", *perfield_flags("--libs")],
        env={"PERFIELD_MAX_PEERS": "20", "PERFIELD_MAX_REGIONS": "10"},
    )
    frame = run.frame(0)
    assert frame.values["sent_count"][0] == 4000
    assert frame.values["sent_bytes"][0] == 32000
    assert frame.waits["count"].sum() == 4000
    assert -1 in frame.messages["target"]
    assert "raise max_peers" in result.stderr


def test_each_of_4096_peers_is_named_with_three_calls_and_its_waits(measured, perfield_flags):
    calls = [CALL[name] for name in ("isend", "recv", "put")]
    run, result = measured(
        """
        perfield_source_start(0, 4097, "a stand-in");
        static const uint16_t calls[] = {CALLS};
        for (int peer = 1; peer <= 4096; ++peer)
          for (int c = 0; c < 3; ++c) {
            uint64_t entered = perfield_call_enter(calls[c], 0, 0).stamp;
            Received received = {peer, 1, 8, 0, entered, 0, 0};
            if (c == 1) perfield_msg_recv_complete(&received);
            else perfield_message(calls[c], peer, 8);
            perfield_call_exit(calls[c], entered, 0);
          }
        perfield_step(0, 0);
        """,
        before=EVENTS,
        flags=[f"-DCALLS={','.join(map(str, calls))}", *perfield_flags("--libs")],
    )
    frame = run.frame(0)
    assert len(frame.messages) == 2 * 4096
    assert len(frame.received) == len(frame.waits) == 4096
    assert "other peers" not in result.stderr


def test_regions_defined_before_initialize_have_the_configured_room(measured):
    run, _ = measured(
        """
      static perfield_region r[6000];
      char name[32];
      for (int i = 0; i < 6000; ++i) { snprintf(name, sizeof name, "early %d", i); r[i] = REGION(name); }
      perfield_initialize();
      for (int i = 0; i < 6000; ++i) { perfield_region_begin(r[i]); perfield_region_end(r[i]); }
      perfield_step(0, 0.0);
    """,
        env={"PERFIELD_MAX_REGIONS": "10000"},
    )
    counts = [
        v[0] for name, v in run.frame(0).values.items() if name.startswith("early_") and "count" in name
    ]
    assert counts == [1] * 6000


def test_unclosed_unmeasured_inner_region_keeps_outer_time(measured):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_begin("A"); perfield_begin("B"); work(10); perfield_end("A");
      perfield_step(0, 0.0);
    """,
        env={"PERFIELD_REGIONS": "A"},
    )
    assert about(run.frame(0).values["A_time_s"][0], 10 * MS)


@pytest.mark.parametrize(
    ("begin", "end"), [("perfield_initialize();", ""), ("MPI_Init(NULL, NULL);", "MPI_Finalize();")]
)
def test_unknown_step_region_gives_a_warning(measured, begin, end):
    body = f'{begin} perfield_region r = REGION("work"); perfield_region_begin(r); perfield_region_end(r);'
    run, result = measured(f"{body} perfield_finalize(); {end}", env={"PERFIELD_STEP_REGION": "wrok"})
    assert result.stderr.count("the region wrok (step_region) never ended") == 1
    assert run.steps_closed.tolist() == [0]
    assert [frame.kind for frame in run.frames()] == ["whole"]
