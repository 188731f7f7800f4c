# SPDX-License-Identifier: BSD-3-Clause
"""When messages and collective operations began and ended: sums in each step, each event in some steps."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.call_numbers import CALL

from perfield import _bridge
from perfield.run.streams import TYPES
from twins import twin

# The functions for sources of events: see bridge/recorder/source.h.
EVENTS = f"""
  #include <pthread.h>
  enum {{ SEND = {CALL["send"]}, ISEND = {CALL["isend"]}, RECV = {CALL["recv"]}, IRECV = {CALL["irecv"]},
         WAITALL = {CALL["waitall"]}, ALLREDUCE = {CALL["allreduce"]}, BCAST = {CALL["bcast"]} }};
  typedef struct {{ uint64_t stamp, after; }} Entered;
  typedef struct {{ uint32_t channel, number; }} MessageId;
  typedef struct {{ int32_t peer; uint32_t flags; uint64_t bytes, posted, wait_begin, wait_end;
                   MessageId id; }} Received;
  typedef struct {{ uint16_t call; uint32_t communicator, number, flags; uint64_t out, in, begun, wait_begin,
                   wait_end; }} Collective;
  Entered perfield_call_enter(uint16_t call, const void* caller, const void* frame);
  void perfield_call_exit(uint16_t call, uint64_t entered, uint64_t exited);
  void perfield_call_exit_bytes(uint16_t, uint64_t entered, uint64_t exited, uint64_t out, uint64_t in);
  void perfield_message(uint16_t call, int32_t peer, uint64_t bytes);
  uint64_t perfield_source_ticks(void);
  uint32_t perfield_msg_send(uint16_t call, int32_t peer, uint64_t bytes, uint64_t begun, MessageId id);
  uint64_t perfield_msg_send_complete(uint16_t, int32_t peer, uint32_t token, uint64_t begin, uint64_t end);
  uint64_t perfield_msg_recv_complete(const Received*);
  uint64_t perfield_collective_done(const Collective*);
  typedef struct {{ uint32_t name; int32_t size, my_rank; const char* label; int32_t is_used, n_dims;
                   const int32_t *dims, *periodic; }} Communicator;
  void perfield_source_communicator(const Communicator*);
  static uint32_t isend(int peer, uint64_t bytes, uint32_t number) {{
    uint64_t entered = perfield_call_enter(ISEND, 0, 0).stamp;
    uint32_t token = 0;
    if (entered) token = perfield_msg_send(ISEND, peer, bytes, entered, (MessageId){{100 + peer, number}});
    if (entered) perfield_call_exit(ISEND, entered, 0);
    return token;
  }}
  static void wait_for(uint32_t token, int peer, double ms) {{
    uint64_t entered = perfield_call_enter(WAITALL, 0, 0).stamp;
    work(ms);
    if (!entered) return;
    perfield_msg_send_complete(ISEND, peer, token, entered, 0);
    perfield_call_exit(WAITALL, entered, 0);
  }}
  static void recv(int peer, uint64_t bytes, uint32_t number, double ms) {{
    uint64_t entered = perfield_call_enter(RECV, 0, 0).stamp;
    work(ms);
    if (!entered) return;
    Received a = {{peer, 1, bytes, entered, entered, 0, {{200 + peer, number}}}};
    perfield_msg_recv_complete(&a);
    perfield_call_exit(RECV, entered, 0);
  }}
  static void collective(uint16_t call, uint32_t communicator, uint32_t number, int root, double ms) {{
    uint64_t entered = perfield_call_enter(call, 0, 0).stamp;
    work(ms);
    if (!entered) return;
    Collective c = {{call, communicator, number, root, 24, 16, entered, entered, 0}};
    perfield_collective_done(&c);
    perfield_call_exit_bytes(call, entered, 0, 24, 16);
  }}
"""
MS = 1_000_000
UNKNOWN = np.iinfo(np.int64).min


class Recorded:
    """What a program's one rank wrote."""

    def __init__(self, run, result):
        self.run, self.said = run, result.stderr
        (path,) = (run.path / "stream").glob("*.pf")
        self.entries, holes = twin.decode(path.read_bytes())
        assert holes == []
        index = _bridge.StreamIndex(str(path))
        assert index.refresh() and index.damage == []
        of_events = index.places[index.places["type"] == TYPES["events"]]
        self.read = _bridge.read_events(str(path), of_events["offset"])
        assert self.read["whole"].all()

    def steps(self):
        """Bodies of the steps, as the twin reads them."""
        return [e["body"] for e in self.entries if e["type"] == "step" and e["body"]["kind"] == 0]

    def row(self, step, call, peer=1):
        """The only row of messages of that call and peer."""
        (row,) = (r for r in self.steps()[step]["messages"] if r["call"] == CALL[call] and r["peer"] == peer)
        return row

    def logged(self):
        """The steps that are logged."""
        return sorted(set(self.read["logs"]["step"].tolist()))

    def events(self, step):
        """Its events, with stamps from the begin of the step, in ms."""
        begin = next(
            e["body"]["begin_ns"]
            for e in self.entries
            if e["type"] == "step" and e["body"]["kind"] == 0 and e["index"] >= step
        )
        rows = self.read["events"][self.read["events"]["step"] == step]
        return [
            {key: row[key].item() for key in ("kind", "call", "peer", "channel", "number", "bytes", "flags")}
            | {
                key: None if row[key] == UNKNOWN else (int(row[key]) - begin) / MS
                for key in ("begun", "wait_begin", "wait_end")
            }
            for row in rows
        ]

    def end(self):
        return next(e["body"] for e in self.entries if e["type"] == "end")


@pytest.fixture
def recorded(measured, perfield_flags):
    """recorded(body): a program with the functions above, as Recorded."""

    def make(body, before="", **more):
        flags = (*perfield_flags("--libs"), "-lpthread")
        return Recorded(*measured(body, before=EVENTS + before, flags=flags, **more))

    return make


def sums(row, body):
    """Sums of stamps from the begin of the step, in ms; None: not known."""
    names = ("begun_sum", "wait_begin_sum", "wait_end_sum")
    return [(row[n] - row["count"] * body["begin_ns"]) / MS if row[n] else None for n in names]


ONE_EXCHANGE = """
  perfield_initialize();
  for (int step = 0; step < STEPS; ++step) {
    work(1);
    uint32_t token = isend(1, 800, step + 1);
    work(2);
    recv(1, 8, 7 * step + 7, 4);
    wait_for(token, 1, 8);
    collective(ALLREDUCE, 55, step + 1, 0, 16);
    perfield_step(step, 0);
  }
"""


def exchanges(steps):
    return ONE_EXCHANGE.replace("STEPS", str(steps))


def near(values):
    return pytest.approx(values, abs=0.01)  # ms


def test_one_message_keeps_its_stamps_number_and_channel(recorded):
    run = recorded(exchanges(5))
    for step in (0, 3):  # logged, and not
        body = run.steps()[step]
        sent, received = run.row(step, "isend"), run.row(step, "recv")
        assert sums(sent, body) == near([1, 7, 15])
        assert sums(received, body) == near([3, 3, 7])
        assert (sent["number"], sent["channel"]) == (step + 1, 101)
        assert (received["number"], received["channel"]) == (7 * step + 7, 201)
        (operation,) = body["collectives"]
        assert sums(operation, body) == near([15, 15, 31])
        assert (operation["communicator"], operation["call"], operation["flags"]) == (
            55,
            CALL["allreduce"],
            0,
        )
        assert (operation["count"], operation["bytes_out"], operation["bytes_in"]) == (1, 24, 16)
        assert operation["number"] == step + 1
        assert body["waits"] == [{"peer": 1, "count": 1, "ns": pytest.approx(4 * MS, abs=10_000)}]


def test_several_messages_keep_sums(recorded):
    body = """
      perfield_initialize();
      for (int step = 0; step < 4; ++step) {
        for (int n = 1; n <= 3; ++n) { work(n); recv(1, 1000 * n, 3 * step + n, 2); }
        collective(BCAST, 9, 2 * step + 1, 1, 1);
        collective(BCAST, 9, 2 * step + 2, 0, 1);
        perfield_step(step, 0);
      }
    """
    run = recorded(body)
    step = run.steps()[3]
    row = run.row(3, "recv")
    assert sums(row, step) == near([1 + 5 + 10, 1 + 5 + 10, 3 + 7 + 12])
    assert (row["count"], row["number"]) == (3, 12)
    (operation,) = step["collectives"]
    assert (operation["count"], operation["flags"], operation["number"]) == (2, 1, 8)


def test_rows_say_how_many_messages_one_call_completed(recorded):
    body = """
      perfield_initialize();
      for (int step = 0; step < 5; ++step) {
        int n = step == 3 ? 3 : step == 4 ? 2 : 1;
        for (int call = 0; call < 2; ++call) {
          uint32_t tokens[3];
          for (int k = 0; k < n; ++k) tokens[k] = isend(1, 8, k + 1);
          work(1);
          uint64_t entered = perfield_call_enter(WAITALL, 0, 0).stamp;
          for (int k = 0; k < n; ++k) {
            Received a = {2, 0, 8, entered, entered, 0, {200, 1}};
            perfield_msg_recv_complete(&a);
            perfield_msg_send_complete(ISEND, 1, tokens[k], entered, 0);
            Collective c = {ALLREDUCE, 55, k + 1, 0, 8, 8, entered, entered, 0};
            perfield_collective_done(&c);
          }
          perfield_call_exit(WAITALL, entered, 0);
        }
        recv(2, 8, 1, 0);
        perfield_step(step, 0);
      }
    """
    run = recorded(body, env={"PERFIELD_ARRIVALS_EVERY": "0"})
    most = [
        [
            run.row(n, "isend")["most_in_call"],
            run.row(n, "recv", 2)["most_in_call"],
            operation["most_in_call"],
        ]
        for n, (operation,) in ((n, run.steps()[n]["collectives"]) for n in range(5))
    ]
    assert most == [[1] * 3, [1] * 3, [1] * 3, [3] * 3, [2] * 3]


def test_sizes_of_messages_fill_eight_bins(recorded):
    sizes = [0, 63, 64, 511, 512, 4095, 4096, 2**15, 2**18 - 1, 2**18, 2**21, 2**24 - 1, 2**24, 2**40]
    calls = "".join(f"recv(1, {size}ull, 1, 0); perfield_message(SEND, 2, {size}ull);" for size in sizes)
    run = recorded(f"perfield_initialize(); {calls} perfield_step(0, 0);")
    for call, peer in (("recv", 1), ("send", 2)):
        row = run.row(0, call, peer)
        assert {name: row[name] for name in twin.sizes_of()} == twin.sizes_of(*sizes)


def test_sums_are_unknown_where_a_stamp_is(recorded):
    """A send that is still open, one that another step ended, and messages of sources without stamps."""
    body = """
      perfield_initialize();
      work(1);
      uint32_t open = 0;
      for (int step = 0; step < 6; ++step) {
        if (step) wait_for(open, 1, 1);
        open = isend(1, 8, step + 1);
        if (step == 3) wait_for(open, 1, 1), open = 0;
        recv(2, 8, 0, 1);
        perfield_message(SEND, 3, 8);
        perfield_step(step, 0);
      }
    """
    run = recorded(body)
    known = [[value is not None for value in sums(run.row(n, "isend"), run.steps()[n])] for n in range(6)]
    assert known == [[True, False, False]] * 3 + [[True] * 3] + [[True, False, False]] * 2
    assert sums(run.row(4, "send", 3), run.steps()[4]) == [None] * 3
    assert run.row(4, "send", 3)["count"] == 1
    assert run.row(4, "recv", 2)["number"] == 0


def test_pauses_do_not_join_a_send_with_a_later_wait(recorded):
    body = """
      perfield_initialize();
      for (int step = 0; step < 4; ++step) {
        uint32_t token = isend(1, 8, 1);
        perfield_pause(); work(1); perfield_resume();
        perfield_msg_send_complete(ISEND, 1, token, perfield_source_ticks(), 0);
        perfield_step(step, 0);
      }
    """
    run = recorded(body, env={"PERFIELD_ARRIVALS_EVERY": "0"})
    assert [sums(run.row(n, "isend"), run.steps()[n])[1:] for n in range(4)] == [[None, None]] * 4


# --- the log ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "ends"),  # of the stretches of which one step each is logged
    [
        (None, [1, 2, 4, 8, 16, 32, 64, 128, 192]),
        ("1", list(range(1, 193))),
        ("48", [1, 2, 4, 8, 16, 32, 48, 96, 144, 192]),
        ("0", []),
    ],
)
def test_arrivals_every_logs_one_step_of_each_stretch(recorded, every, ends):
    run = recorded(exchanges(192), env={"PERFIELD_ARRIVALS_EVERY": every} if every else {})
    steps = run.logged()
    assert len(steps) == len(ends)
    assert all(first <= step < end for first, step, end in zip([0, *ends], steps, ends))
    assert len(run.read["events"]) == 3 * len(steps)
    assert [run.row(n, "recv")["wait_end_sum"] != 0 for n in range(192)] == [True] * 192


@pytest.mark.parametrize("period", [2, 3, 4, 8])
def test_logged_steps_do_not_lock_to_a_period_of_the_program(recorded, period):
    """4 of 8 steps are logged by chance; a chosen multiple would be in the same place of each period."""
    run = recorded(exchanges(1024), env={"PERFIELD_ARRIVALS_EVERY": "8"})
    seen = np.bincount(np.array(run.logged()) % period, minlength=period)
    mean = seen.sum() / period
    assert (abs(seen - mean) < 4 * np.sqrt(mean)).all(), seen


def test_step_that_is_not_measured_passes_its_log_on(recorded):
    env = {"PERFIELD_ARRIVALS_EVERY": "16", "PERFIELD_MEASURE_EVERY": "8", "PERFIELD_SKIP_STEPS": "3"}
    steps = np.array(recorded(exchanges(256), env=env).logged())
    assert ((steps - 3) % 8 == 0).all()
    assert 256 / 16 <= len(steps) <= 256 / 16 + 4


def test_log_keeps_each_event(recorded):
    run = recorded(exchanges(3))
    send, receive, operation = run.events(2)
    assert send == near_event(0, "isend", 1, (101, 3, 800), (1, 7, 15))
    assert receive == near_event(1, "recv", 1, (201, 21, 8), (3, 3, 7))
    assert operation == near_event(2, "allreduce", -1, (55, 3, 24), (15, 15, 31))


def near_event(kind, call, peer, message, stamps, flags=0):
    values = {"kind": kind, "call": CALL[call], "peer": peer, "flags": flags}
    values |= dict(zip(("channel", "number", "bytes"), message))
    return values | {n: near(t) for n, t in zip(("begun", "wait_begin", "wait_end"), stamps)}


def test_log_says_roots_wildcards_and_open_sends(recorded):
    body = """
      perfield_initialize();
      work(1);
      uint32_t token = isend(1, 8, 1);
      uint64_t entered = perfield_call_enter(RECV, 0, 0).stamp;
      Received a = {4, 3, 8, entered, entered, 0, {200, 1}};
      perfield_msg_recv_complete(&a);
      perfield_call_exit(RECV, entered, 0);
      collective(BCAST, 9, 1, 1, 1);
      perfield_step(0, 0);
      wait_for(token, 1, 1);
      perfield_step(1, 0);
    """
    run = recorded(body)
    send, receive, operation = run.events(0)
    assert (send["begun"], send["wait_begin"], send["wait_end"]) == (near(1), None, None)
    assert (receive["flags"], operation["flags"]) == (8, 1)
    assert run.events(1) == []


def test_logged_step_inside_a_longer_span_keeps_its_events(recorded):
    run = recorded(exchanges(40), env={"PERFIELD_SUM_EVERY": "16"})
    assert [body["span"] for body in run.steps()] == [16, 16, 8]
    assert len(run.logged()) == 7
    assert all(len(run.read["events"][run.read["events"]["step"] == step]) == 3 for step in run.logged())
    row = run.row(0, "recv")
    assert row["count"] == 16 and row["wait_end_sum"] - row["wait_begin_sum"] == pytest.approx(
        64 * MS, rel=1e-4
    )


def test_unmeasured_steps_are_not_logged(recorded):
    run = recorded(exchanges(40), env={"PERFIELD_MEASURE_EVERY": "4"})
    assert {step % 4 for step in run.logged()} == {0}


def test_events_beyond_the_log_are_lost_and_reported(recorded):
    body = """
      perfield_initialize();
      for (int step = 0; step < 2; ++step) {
        for (int n = 1; n <= 30000; ++n) { if (n == 30000) work(5); recv(1, 8, n, 0.001); }
        perfield_step(step, 0);
      }
    """
    run = recorded(body, env={"PERFIELD_ARRIVALS_EVERY": "2"})
    assert run.logged() == [0, 1]
    logs = run.read["logs"]
    of_step = logs[logs["step"] == 0]
    kept = int(of_step["n"].sum())
    assert kept == 2**20 // 48 and set(of_step["lost"].tolist()) == {30_000 - kept}
    assert of_step["first"].tolist() == list(range(0, kept, 1024)) and set(of_step["all"].tolist()) == {kept}
    rows = run.read["events"][run.read["events"]["step"] == 0]
    assert rows["number"].tolist() == list(range(1, kept + 1))
    assert rows["wait_end"][-1] <= of_step["lost_begin"][0] < of_step["lost_end"][0] - 5 * MS
    assert run.row(0, "recv")["count"] == 30_000
    assert run.end()["lost_events"] == 2 * (30_000 - kept)
    assert (
        f"{2 * (30_000 - kept):,} messages and collective operations of logged steps found no room"
        in run.said
    )
    assert run.said.count("found no room") == 1


def test_small_record_limit_gives_up_events_before_steps(recorded):
    body = """
      perfield_initialize();
      for (int step = 0; step < 64; ++step) {
        for (int n = 1; n <= 2000; ++n) recv(n % 50, 8, n, 0.001);
        perfield_step(step, 0);
      }
    """
    limit = 200_000
    run = recorded(body, env={"PERFIELD_ARRIVALS_EVERY": "1", "PERFIELD_RECORD_LIMIT": str(limit)})
    assert sum(path.stat().st_size for path in (run.run.path / "stream").glob("*.pf")) <= limit
    assert run.end()["lost_events"] > 0 and "found no room" in run.said
    assert sum(body["span"] for body in run.steps()) == 64


def test_threads_log_at_once(recorded):
    body = """
      perfield_initialize();
      work(1);
      pthread_t threads[3];
      for (int step = 0; step < 20; ++step) {
        for (long t = 0; t < 3; ++t) pthread_create(&threads[t], 0, worker, (void*)t);
        for (int t = 0; t < 3; ++t) pthread_join(threads[t], 0);
        perfield_step(step, 0);
      }
    """
    before = """
      static void* worker(void* t) {
        for (int n = 1; n <= 500; ++n) {
          uint32_t token = isend((int)(long)t, n, n);
          perfield_msg_send_complete(ISEND, (int)(long)t, token, perfield_source_ticks(), 0);
        }
        return 0;
      }
    """
    run = recorded(body, before, env={"PERFIELD_ARRIVALS_EVERY": "1"})
    for step in range(20):
        rows = run.read["events"][run.read["events"]["step"] == step]
        for peer in range(3):
            of_peer = rows[rows["peer"] == peer]
            assert of_peer["number"].tolist() == list(range(1, 501)) == of_peer["bytes"].tolist()
            assert (of_peer["wait_end"] != UNKNOWN).all()
            assert run.row(step, "isend", peer)["wait_end_sum"] != 0


# --- tables, communicators, costs ---------------------------------------------------------------------------


def test_communicators_beyond_the_table_add_up_and_are_reported(recorded):
    body = """
      perfield_initialize();
      for (int step = 0; step < 3; ++step) {
        for (int c = 1; c <= 500; ++c) collective(ALLREDUCE, c, 1, 0, 0);
        collective(BCAST, 0, 0, 0, 0);
        perfield_step(step, 0);
      }
    """
    run = recorded(body)
    for step in run.steps():
        rows = {(row["communicator"], row["call"]): row["count"] for row in step["collectives"]}
        assert len(rows) == 384 + 2
        assert rows[0, CALL["allreduce"]] == 116 and rows[384, CALL["allreduce"]] == 1
        assert rows[0, CALL["bcast"]] == 1
    assert run.end()["dropped_collectives"] == 3 * 116
    assert "a table of communicators was full: 348 collective operations" in run.said


def test_communicators_are_described(recorded):
    body = r"""
      perfield_initialize();
      int32_t dims[] = {4, 3}, periodic[] = {0, 1};
      Communicator ocean = {4000000001u, 12, 3, "ocean \"west\"", 1}, grid = ocean;
      perfield_source_communicator(&ocean);
      grid.name = 5, grid.is_used = 0, grid.n_dims = 2, grid.dims = dims, grid.periodic = periodic;
      perfield_source_communicator(&grid);
      perfield_step(0, 0);
    """
    ocean, grid = (e for e in recorded(body).entries if e["type"] == "communicator")
    assert ocean["index"] == 4_000_000_001
    assert ocean["body"] == {"name": 4_000_000_001, "size": 12, "rank": 3, "label": 'ocean "west"'}
    of_grid = {"name": 5, "used": False, "dims": [4, 3], "periodic": [0, 1]}
    assert grid["body"] == {**ocean["body"], **of_grid}


VARIED = """
  static unsigned seed = 7;
  static double varied(double ms) { return ms * (0.5 + 1.0 * rand_r(&seed) / RAND_MAX); }
"""


def test_unlogged_step_of_26_partners_stays_below_1500_bytes(recorded):
    body = """
      perfield_initialize();
      uint32_t tokens[26];
      uint64_t posted[26];
      perfield_region inner[10];
      char name[20];
      for (int r = 0; r < 10; ++r) sprintf(name, "part %d", r), inner[r] = REGION(name);
      for (int step = 0; step < 200; ++step) {
        for (int r = 0; r < 10; ++r) {
          perfield_region_begin(inner[r]); work(varied(3)); perfield_region_end(inner[r]);
        }
        for (int p = 0; p < 26; ++p) posted[p] = perfield_source_ticks(), work(varied(0.002));
        for (int p = 0; p < 26; ++p) tokens[p] = isend(p, 800, step + 1), work(varied(0.002));
        uint64_t entered = perfield_call_enter(WAITALL, 0, 0).stamp, left = 0;
        work(varied(6));
        for (int p = 0; p < 26; ++p) {
          Received a = {p, 0, 800, posted[p], entered, left, {200 + p, step + 1}};
          left = perfield_msg_recv_complete(&a);
          perfield_msg_send_complete(ISEND, p, tokens[p], entered, left);
        }
        perfield_call_exit(WAITALL, entered, 0);
        for (int p = 0; p < 26; ++p) recv(p, 8, step + 1, varied(0.2));
        collective(ALLREDUCE, 55, step + 1, 0, varied(0.5));
        perfield_step(step, 0);
      }
    """
    run = recorded(body, VARIED, env={"PERFIELD_ARRIVALS_EVERY": "64"})
    entries = [e for e in run.entries if e["type"] == "step" and e["body"]["kind"] == 0]
    sizes = np.array([e["end"] - e["offset"] for e in entries])
    logs = [e["end"] - e["offset"] for e in run.entries if e["type"] == "events"]
    packed = np.array([e["version"] == twin.PACKED for e in entries])
    print(
        f"packed {sizes[packed].mean():.0f} B, full {sizes[~packed].mean():.0f} B, logs {np.mean(logs):.0f} B"
    )
    assert len(entries[100]["body"]["messages"]) == 52 and packed.mean() > 0.9
    assert sizes[packed].max() < 1_500
    assert sizes.mean() < 1_500


def test_log_takes_memory_only_where_it_is_used(recorded):
    """Pages that the process has touched, as the kernel counts them."""
    body = """
      perfield_initialize();
      for (int step = 0; step < 20; ++step) {
        for (int n = 0; n < 52; ++n) recv(n % 26, 800, step + 1, 0.001);
        perfield_step(step, 0);
      }
      char line[200];
      FILE* smaps = fopen("/proc/self/smaps_rollup", "r");
      while (fgets(line, sizeof line, smaps)) if (!strncmp(line, "Private_Dirty:", 14)) printf("%s", line);
      fclose(smaps);
    """
    kb = {}
    for every in ("0", "1"):
        run = recorded(body, "#include <string.h>\n", env={"PERFIELD_ARRIVALS_EVERY": every})
        kb[every] = run.steps()[-1]["perfield_bytes"] / 1024
    assert kb["1"] - kb["0"] <= 4  # 52 events of 48 bytes
    assert kb["0"] < 1024
