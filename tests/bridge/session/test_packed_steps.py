# SPDX-License-Identifier: BSD-3-Clause
"""How many bytes a step takes on disk, and which steps are written in full."""

from __future__ import annotations

import pytest
from compiled.call_numbers import CALL

from twins import twin

# Each step exchanges with all partners, enters regions for times that differ, and waits.
EXCHANGE = """
  typedef struct { uint64_t stamp, after; } Entered;
  Entered perfield_call_enter(uint16_t call, const void* caller, const void* frame);
  void perfield_call_exit(uint16_t call, uint64_t entered, uint64_t exited);
  void perfield_message(uint16_t call, int32_t peer, uint64_t bytes);
  typedef struct { int32_t peer; uint32_t flags; uint64_t bytes, posted, begin, end, id; } Received;
  uint64_t perfield_msg_recv_complete(const Received*);
  static unsigned seed = 7;
  static double varied(double ms) { return ms * (0.7 + 0.6 * rand_r(&seed) / RAND_MAX); }
  static void call(uint16_t number, int partner, double ms) {
    uint64_t entered = perfield_call_enter(number, 0, 0).stamp;
    if (number != RECV) perfield_message(number, partner, 800);
    work(varied(ms));
    Received received = {partner, 1, 800, 0, entered, 0, 0};
    if (number == RECV) perfield_msg_recv_complete(&received);
    perfield_call_exit(number, entered, 0);
  }
"""
STEPS = """
  perfield_region outer = REGION("outer"), inner[REGIONS];
  char name[20];
  for (int r = 0; r + 1 < REGIONS; ++r) sprintf(name, "part %d", r), inner[r] = REGION(name);
  perfield_initialize();
  for (int step = 0; step < N_STEPS; ++step) {
    perfield_region_begin(outer);
    for (int r = 0; r + 1 < REGIONS; ++r) {
      perfield_region_begin(inner[r]); work(varied(3)); perfield_region_end(inner[r]);
    }
    perfield_region_end(outer);
    for (int p = 1; p <= PARTNERS; ++p) call(SEND, p, 0.002);
    for (int p = 1; p <= PARTNERS; ++p) call(RECV, p, 0.05);
    perfield_step(step, 0.001 * step);
  }
"""


@pytest.fixture
def exchanged(measured, perfield_flags):
    """exchanged(partners, regions, steps): the run, and its step entries as the twin reads them."""

    def make(partners, regions, steps):
        numbers = {"SEND": CALL["isend"], "RECV": CALL["recv"], "PARTNERS": partners}
        numbers |= {"REGIONS": regions, "N_STEPS": steps}
        flags = [f"-D{name}={value}" for name, value in numbers.items()]
        run, _ = measured(STEPS, before=EXCHANGE, flags=[*flags, *perfield_flags("--libs")])
        return run, entries_of(run)

    return make


def entries_of(run):
    (stream,) = (run.path / "stream").glob("*.pf")
    entries, holes = twin.decode(stream.read_bytes())
    assert holes == []
    return [entry for entry in entries if entry["type"] == "step" and entry["body"]["kind"] == 0]


@pytest.mark.parametrize(("partners", "regions", "most"), [(26, 10, 900), (6, 3, 400)])
def test_step_takes_few_bytes(exchanged, partners, regions, most):
    run, entries = exchanged(partners, regions, 200)
    assert len(entries) == len(run) == 200
    body = entries[150]["body"]
    rows = [len(body[table]) for table in ("regions", "messages", "waits")]
    assert rows == [regions, 2 * partners, partners]
    sizes = [entry["end"] - entry["offset"] for entry in entries]
    mean = sum(sizes) / len(sizes)
    print(f"{mean:.0f} B per step, {sum(sizes[1:64]) / 63:.0f} B packed, {sizes[0]} B in full")
    assert mean <= most


def test_one_of_64_steps_is_written_in_full(exchanged):
    _, entries = exchanged(3, 2, 150)
    assert [entry["index"] for entry in entries if entry["version"] == 3] == [0, 64, 128]


def test_new_partners_are_soon_written_in_full(measured, perfield_flags):
    """Steps before 10 know 3 partners, later ones 12."""
    text = STEPS.replace("p <= PARTNERS", "p <= (step < 10 ? 3 : 12)")
    numbers = {"SEND": CALL["isend"], "RECV": CALL["recv"], "REGIONS": 2, "N_STEPS": 40}
    flags = [f"-D{name}={value}" for name, value in numbers.items()]
    run, _ = measured(text, before=EXCHANGE, flags=[*flags, *perfield_flags("--libs")])
    entries = entries_of(run)
    assert [entry["index"] for entry in entries if entry["version"] == 3] == [0, 10]
    assert all(frame.values["sent_count"] == [3 if n < 10 else 12] for n, frame in enumerate(run.frames()))
