# SPDX-License-Identifier: BSD-3-Clause
"""How long calls lasted once nobody was late, by plain Python from the definitions: slow, and short enough to
check by reading. It is the twin of bridge/waits/transfers.cpp, for events of single messages."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from compiled.call_numbers import CALL

from perfield.analysis.waits import UNKNOWN

SEND, RECEIVE, COLLECTIVE = 0, 1, 2
ROOT, MEAN, OVERFLOW = 1, 4, 16
TESTS = {CALL[name] for name in ("test", "testall", "testany", "testsome")}
ALL_TO_ALL = {CALL[name] for name in ("barrier", "allreduce", "alltoall", "fence")}
ONE_TO_ALL = {CALL[name] for name in ("bcast", "scatter")}
ALL_TO_ONE = {CALL[name] for name in ("reduce", "gather")}


def transfers(events: np.ndarray) -> list[tuple]:
    """(step, rank, partner, kind, is_alone, n, bytes, last_bytes, time_ns) of each transfer, sorted."""
    events = [e for e in events if e["count"] == 1 and not e["flags"] & MEAN]
    return sorted([*_of_calls(events), *_of_operations(events)])


def _of_calls(events: list) -> list[tuple]:
    ends = {}
    for e in events:
        if e["kind"] != COLLECTIVE and e["number"] and e["channel"] and e["peer"] != e["rank"]:
            pair = (e["rank"], e["peer"]) if e["kind"] == SEND else (e["peer"], e["rank"])
            ends[(*pair, e["channel"], e["number"], e["kind"])] = e
    calls = defaultdict(list)
    for e in events:
        if e["wait_begin"] != UNKNOWN and e["wait_end"] != UNKNOWN:
            calls[e["rank"], e["wait_begin"], e["wait_end"]].append(e)
    found = []
    for (rank, begin, end), members in calls.items():
        begun = []  # when the partner of each message was there
        for e in members:
            pair = (e["rank"], e["peer"]) if e["kind"] == SEND else (e["peer"], e["rank"])
            other = ends.get((*pair, e["channel"], e["number"], 1 - e["kind"] if e["kind"] < 2 else 2))
            is_known = e["kind"] != COLLECTIVE and other is not None and other["begun"] != UNKNOWN
            is_matched = is_known and (e["kind"] == RECEIVE or other["wait_end"] != UNKNOWN)
            if not is_matched or e["call"] in TESTS or e["flags"] & OVERFLOW:
                break
            if e["kind"] == RECEIVE or other["begun"] <= end:
                begun.append((other["begun"], e))
        else:
            if begun:
                found.append(_of_call(rank, begin, end, members, begun))
    return found


def _of_call(rank: int, begin: int, end: int, members: list, begun: list) -> tuple:
    last, message = max(begun, key=lambda one: one[0])
    time_ns = end - min(max(last, begin), end)
    before = [
        at
        for at, e in begun
        if e is not message and (e["kind"] == message["kind"] or e["peer"] != message["peer"])
    ]
    is_alone = message["kind"] == RECEIVE and begin <= last <= end
    is_alone = is_alone and all(last - at >= time_ns for at in before)
    received = [int(e["bytes"]) for e in members if e["kind"] == RECEIVE]
    sent = [int(e["bytes"]) for e in members if e["kind"] == SEND]
    larger = received if received and sum(received) >= sum(sent) else sent
    size = len(larger), sum(larger), int(message["bytes"])
    about = int(message["step"]), rank, int(message["peer"]), int(message["kind"])
    return (*about, is_alone, *size, float(time_ns))


def _of_operations(events: list) -> list[tuple]:
    operations = defaultdict(list)
    for e in events:
        if e["kind"] == COLLECTIVE and e["channel"] and e["number"]:
            operations[e["channel"], e["number"]].append(e)
    found = []
    for members in operations.values():
        if len(members) != members[0]["size"] or len(members) < 2:
            continue
        for e in members:
            others = [o for o in members if not o["flags"] & ROOT]
            roots = [o for o in members if o["flags"] & ROOT]
            if e["begun"] != e["wait_begin"]:
                continue  # it does not block
            if e["call"] in ALL_TO_ALL:
                needed = members
            elif e["call"] in ONE_TO_ALL and not e["flags"] & ROOT:
                needed = roots
            elif e["call"] in ALL_TO_ONE and e["flags"] & ROOT:
                needed = others
            else:
                continue
            last = max(needed, key=lambda o: o["begun"])
            time_ns = e["wait_end"] - min(max(last["begun"], e["begun"]), e["wait_end"])
            size = len(members), int(e["bytes"]), int(e["bytes"])
            about = int(e["step"]), int(e["rank"]), int(last["rank"]), COLLECTIVE
            found.append((*about, bool(last["begun"] >= e["begun"]), *size, float(time_ns)))
    return found
