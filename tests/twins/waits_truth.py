# SPDX-License-Identifier: BSD-3-Clause
"""The waits that the logs of testcase/waits show, by the definitions of docs/waiting.md, slow and plain."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LONG_NS = 10e6  # a planted delay is longer, and what a busy machine adds is nearly always shorter
CLOSE_NS = 1e6  # ranks that come so close to one another are equally late
NUMBERS = ("step", "peer", "tag", "root", "begun", "wait_begin", "wait_end")
TO_ALL, TO_ROOT, FROM_ROOT = {"barrier", "allreduce", "fence"}, {"reduce"}, {"bcast"}
KIND_TO_ALL = {"barrier": "barrier", "allreduce": "n_to_n", "fence": "late_one_sided"}


@dataclass(frozen=True)
class Line:
    """One line of a log, with the rank that wrote it; stamps in ns of CLOCK_MONOTONIC."""

    rank: int
    step: int
    scenario: str
    kind: str
    call: str
    peer: int
    tag: int
    root: int
    begun: int
    wait_begin: int
    wait_end: int


@dataclass(frozen=True)
class Wait:
    """A rank that waited: in which step, for whom, in which wait state, how long.

    as_late : all ranks that came as late as `cause`, within CLOSE_NS; more than one may be named.
    """

    step: int
    scenario: str
    rank: int
    cause: int
    kind: str
    time_ns: float
    as_late: frozenset[int] = frozenset()

    def names(self, cause: int) -> bool:
        """Whether it is right to say that the rank waited for `cause`, -1 for "not known"."""
        return cause == self.cause or (len(self.as_late) > 1 and cause in {-1, *self.as_late})


def read_logs(folder: Path) -> list[Line]:
    """All lines of waits-<rank>.csv in a folder, by rank, in the order of the log."""
    lines = []
    for path in sorted(folder.glob("waits-*.csv"), key=lambda path: int(path.stem.split("-")[1])):
        with path.open() as file:
            for row in csv.DictReader(file):
                del row["group"]
                values = {name: int(text) if name in NUMBERS else text for name, text in row.items()}
                lines.append(Line(rank=int(path.stem.split("-")[1]), **values))
    return lines


def waits_of(lines: Iterable[Line]) -> list[Wait]:
    """Every wait, however short."""
    lines = list(lines)
    return [
        *_late_senders(lines),
        *_late_receivers(lines),
        *_at_collectives(lines),
        *_late_posts(lines),
        *_late_completes(lines),
        *_locks(lines),
    ]


def long_waits(lines: Iterable[Line]) -> list[Wait]:
    """The waits that were planted, and those that came of them."""
    return [wait for wait in waits_of(lines) if wait.time_ns >= LONG_NS]


def _pairs(lines: list[Line]) -> list[tuple[Line, Line]]:
    """Sends with their receives: messages of the same ranks and tag do not overtake one another."""
    sends, receives = defaultdict(list), defaultdict(list)
    for line in lines:
        if line.kind == "send":
            sends[line.rank, line.peer, line.tag].append(line)
        elif line.kind == "receive":
            receives[line.peer, line.rank, line.tag].append(line)
    assert {key: len(lines) for key, lines in sends.items()} == {
        key: len(lines) for key, lines in receives.items()
    }, "the logs hold messages that were sent and not received"
    return [pair for key in sends for pair in zip(sends[key], receives[key])]


def _late_senders(lines: list[Line]) -> Iterable[Wait]:
    """Of the messages that a call waits for, the one that was sent last explains it."""
    calls = defaultdict(list)
    for send, receive in _pairs(lines):
        if send.rank != receive.rank:
            calls[receive.rank, receive.wait_begin, receive.wait_end].append((send, receive))
    for messages in calls.values():
        send, receive = max(messages, key=lambda pair: pair[0].begun)
        time_ns = min(receive.wait_end, send.begun) - receive.wait_begin
        if time_ns > 0:
            yield Wait(receive.step, receive.scenario, receive.rank, send.rank, "late_sender", time_ns)


def _late_receivers(lines: list[Line]) -> Iterable[Wait]:
    """A send that returned before its receive was posted was eager and waited for nobody."""
    for send, receive in _pairs(lines):
        if send.call != "send" or send.wait_end < receive.begun:
            continue
        time_ns = receive.begun - send.begun
        if time_ns > 0:
            yield Wait(send.step, send.scenario, send.rank, receive.rank, "late_receiver", time_ns)


def _at_collectives(lines: list[Line]) -> Iterable[Wait]:
    """All ranks take part in each, in the same order."""
    by_rank = defaultdict(list)
    for line in lines:
        if line.kind == "collective":
            by_rank[line.rank].append(line)
    for members in zip(*by_rank.values(), strict=True):
        last = max(members, key=lambda line: line.begun)
        assert len({line.call for line in members}) == 1, members
        for line in members:
            cause, kind = last, ""
            if line.call in TO_ALL:
                kind = KIND_TO_ALL[line.call]
            elif line.call in FROM_ROOT and line.rank != line.root:
                kind, cause = "late_broadcast", next(each for each in members if each.rank == line.root)
            elif line.call in TO_ROOT and line.rank == line.root:
                kind = "early_reduce"
                cause = max((each for each in members if each is not line), key=lambda each: each.begun)
            time_ns = min(cause.begun, line.wait_end) - line.begun
            if kind and time_ns > 0:
                late = {each.rank for each in members if each.begun > cause.begun - CLOSE_NS}
                as_late = frozenset(late if kind != "late_broadcast" else {cause.rank})
                yield Wait(line.step, line.scenario, line.rank, cause.rank, kind, time_ns, as_late)


def _one_sided(line: Line, cause: Line) -> Iterable[Wait]:
    time_ns = min(cause.begun, line.wait_end) - line.wait_begin
    if time_ns > 0:
        yield Wait(line.step, line.scenario, line.rank, cause.rank, "late_one_sided", time_ns)


def _epochs(lines: list[Line]) -> list[dict[str, Line]]:
    """The call -> line of each epoch between an origin and a target: the nth of each kind belong together."""
    by_call = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line.call in ("win_start", "win_complete"):
            by_call[line.rank, line.peer][line.call].append(line)
        elif line.call in ("win_post", "win_wait"):
            by_call[line.peer, line.rank][line.call].append(line)
    return [
        dict(zip(calls, members))
        for calls in by_call.values()
        for members in zip(*calls.values(), strict=True)
    ]


def _late_posts(lines: list[Line]) -> Iterable[Wait]:
    """An origin waits in the first call that does not return before the target's post."""
    for epoch in _epochs(lines):
        post, start, complete = (epoch[call] for call in ("win_post", "win_start", "win_complete"))
        yield from _one_sided(start if start.wait_end >= post.begun else complete, post)


def _late_completes(lines: list[Line]) -> Iterable[Wait]:
    """A target waits for the origin that completes last."""
    calls = defaultdict(list)
    for epoch in _epochs(lines):
        calls[epoch["win_wait"].rank, epoch["win_wait"].begun].append(epoch)
    for epochs in calls.values():
        last = max(epochs, key=lambda epoch: epoch["win_complete"].begun)
        yield from _one_sided(last["win_wait"], last["win_complete"])


def _locks(lines: list[Line]) -> Iterable[Wait]:
    """A rank waits for the holder that unlocks last before it has the lock itself; all are exclusive."""
    held = defaultdict(list)  # target -> its locks, each from the lock to the unlock
    for line in lines:  # of one rank they come in the order of time
        if line.call == "lock":
            held[line.peer].append([line])
        elif line.call in ("flush", "unlock"):
            next(one for one in reversed(held[line.peer]) if one[0].rank == line.rank).append(line)
    for line in lines:
        if line.call not in ("lock", "flush", "unlock"):
            continue
        own = next(one for one in held[line.peer] if line in one)
        if len(own) > 2 and line.call == "unlock":
            continue  # after its flush, the rank has the lock
        # Where the lock itself does not wait, a flush or the end shows that the other one had it before.
        holders = [
            others[-1]
            for others in held[line.peer]
            if others[0].rank != line.rank
            and others[0].begun < line.begun < others[-1].begun <= line.wait_end
            and (
                line.call == "lock" or others[1].wait_end < line.begun or others[-1].wait_end < line.wait_end
            )
        ]
        if holders:
            yield from _one_sided(line, max(holders, key=lambda unlock: unlock.begun))
