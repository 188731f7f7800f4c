# SPDX-License-Identifier: BSD-3-Clause
"""The events of logged steps: entries that the slow twin writes, whole and damaged, read by the bridge."""

from __future__ import annotations

import numpy as np
import pytest

from perfield import _bridge
from twins import events_twin, twin

UNKNOWN = np.iinfo(np.int64).min
STAMPS = ("begun", "wait_begin", "wait_end")


def exchange(n_partners, repeats, begin=5_000_000):
    """Non-blocking receives and sends, a Waitall and an Allreduce, several times."""
    now = begin
    for turn in range(1, repeats + 1):
        wait = {"wait_begin": now + 900_000, "wait_end": now + 1_234_567}
        for peer in range(n_partners):
            place = {"channel": 0xDEAD0000 + peer, "number": turn, "bytes": 8 * peer}
            yield {"kind": events_twin.RECEIVE, "call": twin.RECV, "peer": peer, "begun": now} | place | wait
            yield (
                {"kind": events_twin.SEND, "call": twin.ISEND, "peer": peer, "begun": now + 70} | place | wait
            )
            now += 150
        now += 2_000_000
        done = {"begun": now, "wait_begin": now, "wait_end": now + 5_000, "number": turn, "channel": 77}
        yield {"kind": events_twin.COLLECTIVE, "call": 57, "peer": -1, "flags": events_twin.ROOT} | done
        yield {"kind": events_twin.SEND, "call": twin.ISEND, "peer": 0, "begun": now + 9_000}  # still open
        now += 10_000


def wild_events(n):
    random = np.random.default_rng(11)
    for _ in range(n):
        stamps = random.integers(0, 2**62, 3) * random.integers(0, 2, 3)
        yield {
            "kind": int(random.integers(0, 4)),
            "flags": int(random.integers(0, 64)),
            "call": int(random.integers(0, 2**16)),
            "peer": int(random.integers(-(2**31), 2**31)),
            "channel": int(random.integers(0, 2**32)),
            "number": int(random.integers(0, 2**32)),
            "bytes": int(random.integers(0, 2**63)),
        } | dict(zip(STAMPS, map(int, stamps)))


CASES = {
    "exchange": list(exchange(26, 3)),
    "wild": list(wild_events(300)),
    "none": [],
    "one": [{"kind": 1, "call": 12, "peer": 3, "begun": 9, "wait_begin": 10, "wait_end": 11}],
}


@pytest.fixture
def stream(tmp_path):
    """stream(body, ...): a stream file with an `events` entry of step 64, 65, ... for each body, all of rank
    3, and the offsets of these entries."""

    def write(*bodies):
        path = tmp_path / "node.pf"
        path.unlink(missing_ok=True)
        writer = twin.Writer(path, 3)
        for step, body in enumerate(bodies, 64):
            writer.add("events", body, index=step)
        index = _bridge.StreamIndex(str(path))
        assert index.refresh()
        return path, index

    return write


def events_of(path, offsets):
    return _bridge.read_events(str(path), np.asarray(offsets, np.uint64))


def rows_of(read, number=0):
    """The events of an entry, as the twin has them."""
    begin, end = read["event_start"][number : number + 2]
    rows = []
    for row in read["events"][begin:end]:
        values = {key: int(row[key]) for key in events_twin.EVENT_KEYS}
        rows.append({key: 0 if value == UNKNOWN else value for key, value in values.items()})
    return rows


@pytest.mark.parametrize("events", CASES.values(), ids=CASES)
def test_events_are_what_the_twin_wrote(stream, events):
    body = events_twin.pack_events(events, first=7, all=5_000, lost=(9, 123, 456))
    path, index = stream(body)
    read = events_of(path, index.places["offset"])
    expected = [dict.fromkeys(events_twin.EVENT_KEYS, 0) | event for event in events]
    assert read["whole"].tolist() == [True]
    assert rows_of(read) == expected == events_twin.unpack_events(body)["events"]
    assert set(read["events"]["step"].tolist()) <= {64} and set(read["events"]["rank"].tolist()) <= {3}
    log = read["logs"][0]
    assert [int(log[name]) for name in ("step", "rank", "n", "first", "all")] == [
        64,
        3,
        len(events),
        7,
        5_000,
    ]
    assert [int(log[name]) for name in ("lost", "lost_begin", "lost_end")] == [9, 123, 456]


def test_an_event_of_an_exchange_takes_few_bytes():
    events = CASES["exchange"]
    assert len(events_twin.pack_events(events)) / len(events) < 16


def test_damage_costs_only_its_entry(stream):
    bodies = [events_twin.pack_events(list(exchange(3, 1, begin))) for begin in (10, 20, 30)]
    path, index = stream(*bodies)
    offsets, data = index.places["offset"].tolist(), path.read_bytes()
    for at in range(offsets[1], offsets[2], 7):
        flipped = bytearray(data)
        flipped[at] ^= 0x10
        path.write_bytes(flipped)
        read = events_of(path, offsets)
        assert read["whole"].tolist() == [True, False, True]
        assert [rows_of(read, n) == rows_of(events_of(path, offsets), n) for n in (0, 2)] == [True, True]
        assert rows_of(read, 1) == [] and len(rows_of(read, 2)) == 8
        assert len(_scanned(path).places) == 2


def _scanned(path):
    index = _bridge.StreamIndex(str(path))
    assert index.refresh()
    return index


def test_no_bytes_break_the_reading(stream):
    """Bodies whose checksum is right, with every truncation, many flipped bits, and random ones."""
    body = events_twin.pack_events(list(exchange(4, 2)))
    random = np.random.default_rng(2)
    wrong = [body[:length] for length in range(0, len(body), 8)]
    for bit in range(0, 8 * len(body), 5):
        flipped = bytearray(body)
        flipped[bit // 8] ^= 1 << bit % 8
        wrong.append(bytes(flipped))
    wrong += [body[:48] + random.bytes(size) for size in (8, 80, 800) for _ in range(100)]
    path, index = stream(*wrong)
    read = events_of(path, index.places["offset"])
    assert len(read["whole"]) == len(wrong) and not read["whole"][: len(body) // 8].any()


def test_too_many_events_are_refused(stream):
    start = events_twin.START.pack(1025, 0, 1025, 9 * 1025, 0, 0, 0, 0)
    body = start + b"\0" * (9 * 1025 + 7)
    path, index = stream(body, events_twin.START.pack(2**32 - 1, 0, 0, 0, 0, 0, 0, 0))
    assert events_of(path, index.places["offset"])["whole"].tolist() == [False, False]


def test_other_entries_are_no_events(tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=1, steps=1)
    (path,) = (run / "stream").iterdir()
    offsets = _scanned(path).places["offset"]
    read = events_of(path, offsets)
    assert not read["whole"].any() and len(read["events"]) == 0 and not read["event_start"].any()
