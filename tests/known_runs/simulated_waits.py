# SPDX-License-Identifier: BSD-3-Clause
"""Simulates MPI programs on a simple network, so that every wait, its cause and its length are known.

Each rank is a list of operations, which the functions below make:

    programs = [
        [compute(10_000_000), send(1), step()],
        [recv(0), step()],
    ]
    simulation = simulate(programs)
    simulation.events()  # EVENT array: a log of every step
    simulation.waits     # the truth: one Wait per call that waited for another rank

All times are ns. The network is instantaneous but for Network's few numbers; messages progress without calls.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from compiled.call_numbers import CALL

from perfield.analysis.waits import EVENT, KINDS, UNKNOWN

SEND, RECEIVE, COLLECTIVE, SYNCHRONISATION = 0, 1, 2, 3
ROOT, SINGLE, MEAN, EXCLUSIVE = 1, 2, 4, 32
WINDOW = 0xABC2  # name of the one window; epochs end on the channel WINDOW ^ 2
OF_LOCKS = [CALL[name] for name in ("lock", "flush", "unlock")]

SYNCHRONOUS = {"ssend", "issend"}
ONE_TO_N = {"bcast", "scatter", "scatterv", "ibcast", "iscatter", "iscatterv"}
N_TO_ONE = {"reduce", "gather", "gatherv", "ireduce", "igather", "igatherv"}


@dataclass(frozen=True)
class Network:
    """What messages and collective operations take."""

    latency_ns: int = 1_000
    ns_per_byte: float = 0.1
    overhead_ns: int = 100  # of any call
    collective_ns: int = 5_000
    eager_limit: int = 4096  # larger messages wait for their receive
    extra_ns: Callable[[Message], int] = lambda message: 0  # that a message takes beyond that
    # Whether MPI_Win_start and MPI_Win_lock return at once, and later calls wait.
    defers: bool = False


@dataclass(frozen=True)
class Operation:
    """One operation of one rank."""

    name: str
    peer: int = -1
    source: int = -1
    tag: int = 0
    bytes: int = 8
    ns: int = 0
    call: str = ""
    communicator: str = "world"
    root: int = 0
    requests: tuple[str, ...] = ()
    region: str = ""
    peers: tuple[int, ...] = ()
    is_exclusive: bool = True


def compute(ns: float, region: str = "") -> Operation:
    """Compute for so long, in a region; "" is not a region."""
    return Operation("compute", ns=int(ns), region=region)


def send(peer: int, bytes: int = 8, tag: int = 0, call: str = "send") -> Operation:
    """Send, blocking: MPI_Send, or MPI_Ssend as `call`."""
    return Operation("send", peer, tag=tag, bytes=bytes, call=call)


def recv(peer: int, tag: int = 0) -> Operation:
    """Receive, blocking."""
    return Operation("recv", source=peer, tag=tag)


def isend(peer: int, request: str, bytes: int = 8, tag: int = 0, call: str = "isend") -> Operation:
    """Start to send."""
    return Operation("isend", peer, tag=tag, bytes=bytes, call=call, requests=(request,))


def irecv(peer: int, request: str, tag: int = 0) -> Operation:
    """Post a receive."""
    return Operation("irecv", source=peer, tag=tag, requests=(request,))


def wait(*requests: str) -> Operation:
    """Wait for one request, or for all of several."""
    return Operation("wait", requests=requests, call="wait" if len(requests) == 1 else "waitall")


def wait_some(*requests: str) -> Operation:
    """Call MPI_Waitsome until all of these are complete. They must not need later operations of this rank."""
    return Operation("wait", requests=requests, call="waitsome")


def test_all(*requests: str, ns: float = 0) -> Operation:
    """Call MPI_Testall until all of these are complete, and compute for so long after each call before."""
    return Operation("poll", requests=requests, ns=int(ns))


def sendrecv(peer: int, source: int, bytes: int = 8, tag: int = 0) -> Operation:
    """Send to one rank and receive from another."""
    return Operation("sendrecv", peer, source, tag, bytes, call="sendrecv")


def collective(call: str, root: int = 0, communicator: str = "world", bytes: int = 8) -> Operation:
    """Take part in a blocking collective operation, or in a fence. `root` is a rank of the world."""
    return Operation("collective", bytes=bytes, call=call, communicator=communicator, root=root)


def start(call: str, request: str, root: int = 0, communicator: str = "world", bytes: int = 8) -> Operation:
    """Start a collective operation that does not block: "iallreduce", ..."""
    return Operation("start", -1, -1, 0, bytes, 0, call, communicator, root, (request,))


def post(*origins: int) -> Operation:
    """Expose the window to some ranks."""
    return Operation("epoch", call="win_post", peers=origins)


def access(*targets: int) -> Operation:
    """Begin to access the windows of some ranks."""
    return Operation("epoch", call="win_start", peers=targets)


def complete() -> Operation:
    """End the access."""
    return Operation("epoch", call="win_complete")


def end_exposure() -> Operation:
    """Wait until all origins have ended their access."""
    return Operation("epoch", call="win_wait")


def lock(target: int, is_exclusive: bool = True) -> Operation:
    """Lock the window of a rank."""
    return Operation("lock", target, call="lock", is_exclusive=is_exclusive)


def flush(target: int) -> Operation:
    """Complete the transfers under a lock."""
    return Operation("lock", target, call="flush")


def unlock(target: int) -> Operation:
    """Give a lock back."""
    return Operation("lock", target, call="unlock")


def step() -> Operation:
    """Close a step."""
    return Operation("step")


@dataclass
class Message:
    """A message, with the stamps of both ends; None until they are known."""

    sender: int
    receiver: int
    tag: int
    number: int
    bytes: int = 0
    call: str = ""
    sent: int | None = None
    posted: int | None = None


@dataclass
class Gathering:
    """One collective operation: when each member came."""

    call: str
    communicator: str
    number: int
    root: int
    begun: dict[int, int] = field(default_factory=dict)


@dataclass
class Epoch:
    """One epoch of an origin on the window of a target."""

    origin: int
    target: int
    number: int
    posted: int | None = None
    completed: int | None = None


@dataclass
class Hold:
    """A lock of one rank's window by another.

    unlocked : its unlock was entered. n_before : how many had given it back when this one was granted.
    """

    rank: int
    target: int
    is_exclusive: bool
    granted: int | None = None
    unlocked: int | None = None
    n_before: int = 0

    def conflicts(self, other: Hold) -> bool:
        return self.is_exclusive or other.is_exclusive


@dataclass
class Lock:
    """The lock of a window: those who have it, those who wait in order, and those who had it."""

    holders: list[Hold] = field(default_factory=list)
    queue: list[Hold] = field(default_factory=list)
    former: list[Hold] = field(default_factory=list)

    def ask(self, hold: Hold, now: int) -> None:
        self.queue.append(hold)
        self.grant(now)

    def grant(self, now: int) -> None:
        while self.queue and not any(self.queue[0].conflicts(other) for other in self.holders):
            hold = self.queue.pop(0)
            hold.granted, hold.n_before = now, len(self.former)
            self.holders.append(hold)
            if hold.unlocked is not None:
                self.release(hold, now)

    def release(self, hold: Hold, now: int) -> None:
        self.holders.remove(hold)
        self.former.append(hold)
        self.grant(now)


@dataclass(frozen=True)
class Wait:
    """One call in which a rank waited for another: the truth."""

    step: int
    rank: int
    cause: int
    kind: str
    time_ns: int
    wait_begin: int
    wait_end: int


@dataclass
class Request:
    """What a rank will wait for, or has waited for."""

    kind: int
    what: Message | Gathering | Epoch | Hold
    begun: int
    step: int  # it began
    bytes: int
    call: str = ""


@dataclass
class Ended:
    """A request, and the call that blocked for it."""

    request: Request
    rank: int
    wait_begin: int
    wait_end: int
    step: int
    call: str


class Deadlock(Exception):
    """No rank can go on."""


class _Rank:
    def __init__(self, program: Sequence[Operation]):
        self.program = program
        self.next = 0
        self.now = 0
        self.step = 0
        self.entered: tuple[int, list[Request]] | None = None  # the call in which it blocks
        self.open: dict[str, Request] = {}
        self.sent: dict[tuple[int, int], int] = {}
        self.posted: dict[tuple[int, int], int] = {}
        self.joined: dict[str, int] = {}
        self.accessed: dict[int, int] = {}  # epochs so far, by target; and by origin
        self.exposed: dict[int, int] = {}
        self.access: list[Epoch] = []  # the present ones
        self.exposure: list[Epoch] = []
        self.held: dict[int, Hold] = {}


class Simulation:
    """A simulated run: its truth, and the events that perfield would have of it."""

    def __init__(
        self, programs: Sequence[Sequence[Operation]], network: Network, members: dict[str, Sequence[int]]
    ):
        self.network = network
        self.n_ranks = len(programs)
        self.members = {"world": tuple(range(self.n_ranks)), **{k: tuple(v) for k, v in members.items()}}
        self.waits: list[Wait] = []
        self.computed: dict[tuple[int, int], dict[str, int]] = {}  # ns by region, of rank and step
        self.ended: list[Ended] = []
        self._unfinished: list[tuple[int, Request]] = []
        self._messages: dict[tuple[int, int, int, int], Message] = {}
        self._gatherings: dict[tuple[str, int], Gathering] = {}
        self._epochs: dict[tuple[int, int, int], Epoch] = {}
        self._locks: dict[int, Lock] = {}
        self._ranks = [_Rank(program) for program in programs]
        self._run()
        self.end_ns = [rank.now for rank in self._ranks]
        self.n_steps = max(rank.step for rank in self._ranks)
        self.regions = tuple(sorted({name for of_step in self.computed.values() for name in of_step} - {""}))

    def _run(self) -> None:
        # The rank that is earliest goes first, so that locks are asked for in the order of time.
        going = True
        while going:
            left = [i for i, rank in enumerate(self._ranks) if rank.next < len(rank.program)]
            going = any(
                self._advance(i, self._ranks[i]) for i in sorted(left, key=lambda i: self._ranks[i].now)
            )
        stuck = [i for i, rank in enumerate(self._ranks) if rank.next < len(rank.program)]
        if stuck:
            where = [f"rank {i} in {self._ranks[i].program[self._ranks[i].next]}" for i in stuck]
            raise Deadlock("; ".join(where))
        for number, rank in enumerate(self._ranks):
            self._unfinished += [(number, request) for request in rank.open.values()]

    def _advance(self, number: int, rank: _Rank) -> bool:
        """Run the next operation of a rank; False if nothing changes, as another rank must go on first."""
        operation = rank.program[rank.next]
        if operation.name == "compute":
            rank.now += operation.ns
            of_step = self.computed.setdefault((number, rank.step), {})
            of_step[operation.region] = of_step.get(operation.region, 0) + operation.ns
        elif operation.name == "step":
            rank.step += 1
        elif operation.name in ("isend", "irecv", "start"):
            rank.open[operation.requests[0]] = self._begin(number, rank, operation)
            rank.now += self.network.overhead_ns
        else:
            is_new = rank.entered is None  # then others may go on
            if is_new:
                rank.entered = (rank.now, self._needed(number, rank, operation))
            entered, requests = rank.entered
            completed = [self._completion(number, request) for request in requests]
            if None in completed:
                return is_new
            if operation.call == "waitsome":
                until = max(entered, min(completed))
                rest = [one for one, at in zip(requests, completed) if at > until]
                requests = [one for one, at in zip(requests, completed) if at <= until]
                completed = [until]
            else:
                rest = []
            end = max([entered, *completed]) + self.network.overhead_ns
            if operation.name == "poll":
                entered, end = self._poll(number, rank, operation, entered, max(completed))
            self._note(number, rank, requests, entered, end, operation.call or "recv")
            rank.now = end
            rank.entered = (end + self.network.overhead_ns, rest) if rest else None
            if rest:
                return True
        rank.next += 1
        return True

    def _poll(
        self, number: int, rank: _Rank, operation: Operation, entered: int, completed: int
    ) -> tuple[int, int]:
        """Begin and end of the wait in a loop of tests, the first entered at `entered`: perfield counts the
        time inside them as if they had followed one another directly until the end."""
        overhead_ns = self.network.overhead_ns
        n_unanswered = max(0, math.ceil((completed - entered) / (overhead_ns + operation.ns)))
        computed = n_unanswered * operation.ns
        of_step = self.computed.setdefault((number, rank.step), {})
        of_step[""] = of_step.get("", 0) + computed
        end = entered + computed + (n_unanswered + 1) * overhead_ns
        return entered + computed, end

    def _needed(self, number: int, rank: _Rank, operation: Operation) -> list[Request]:
        """What a blocking operation waits for."""
        if operation.name in ("wait", "poll"):
            return [rank.open.pop(name) for name in operation.requests]
        if operation.name == "sendrecv":
            return [
                self._begin(number, rank, operation, "isend"),
                self._begin(number, rank, operation, "irecv"),
            ]
        if operation.name in ("epoch", "lock"):
            found = (self._partners if operation.name == "epoch" else self._lock)(number, rank, operation)
            return [Request(SYNCHRONISATION, one, rank.now, rank.step, 0, operation.call) for one in found]
        return [self._begin(number, rank, operation)]

    def _partners(self, number: int, rank: _Rank, operation: Operation) -> list[Epoch]:
        """The epochs that a call begins or ends."""
        if operation.call == "win_start":
            rank.access = [self._epoch(number, peer, rank.accessed, peer) for peer in operation.peers]
        if operation.call == "win_post":
            rank.exposure = [self._epoch(peer, number, rank.exposed, peer) for peer in operation.peers]
            for epoch in rank.exposure:
                epoch.posted = rank.now
        if operation.call == "win_complete":
            for epoch in rank.access:
                epoch.completed = rank.now
        return rank.access if operation.call in ("win_start", "win_complete") else rank.exposure

    def _epoch(self, origin: int, target: int, counted: dict[int, int], peer: int) -> Epoch:
        counted[peer] = counted.get(peer, 0) + 1
        key = (origin, target, counted[peer])
        return self._epochs.setdefault(key, Epoch(*key))

    def _lock(self, number: int, rank: _Rank, operation: Operation) -> list[Hold]:
        """The lock that a call asks for, needs or gives back."""
        lock = self._locks.setdefault(operation.peer, Lock())
        if operation.call == "lock":
            rank.held[operation.peer] = Hold(number, operation.peer, operation.is_exclusive)
            lock.ask(rank.held[operation.peer], rank.now)
        hold = rank.held[operation.peer]
        if operation.call == "unlock":
            hold.unlocked = rank.now
            if hold.granted is not None:
                lock.release(hold, rank.now)
        return [hold]

    def _begin(self, number: int, rank: _Rank, operation: Operation, name: str = "") -> Request:
        name = name or operation.name
        if name in ("send", "isend"):
            place = (operation.peer, operation.tag)
            rank.sent[place] = rank.sent.get(place, 0) + 1
            message = self._message(number, operation.peer, operation.tag, rank.sent[place])
            message.sent, message.bytes, message.call = rank.now, operation.bytes, operation.call
            return Request(SEND, message, rank.now, rank.step, operation.bytes)
        if name in ("recv", "irecv"):
            place = (operation.source, operation.tag)
            rank.posted[place] = rank.posted.get(place, 0) + 1
            message = self._message(operation.source, number, operation.tag, rank.posted[place])
            message.posted = rank.now
            return Request(RECEIVE, message, rank.now, rank.step, 0)
        joined = rank.joined.get(operation.communicator, 0) + 1
        rank.joined[operation.communicator] = joined
        key = (operation.communicator, joined)
        gathering = self._gatherings.setdefault(
            key, Gathering(operation.call, operation.communicator, joined, operation.root)
        )
        assert (gathering.call, gathering.root) == (operation.call, operation.root), "the program is wrong"
        gathering.begun[number] = rank.now
        return Request(COLLECTIVE, gathering, rank.now, rank.step, operation.bytes)

    def _message(self, sender: int, receiver: int, tag: int, number: int) -> Message:
        key = (sender, receiver, tag, number)
        return self._messages.setdefault(key, Message(sender, receiver, tag, number))

    def _is_rendezvous(self, message: Message) -> bool:
        return message.call in SYNCHRONOUS or message.bytes > self.network.eager_limit

    def _completion(self, rank: int, request: Request) -> int | None:
        """When a request is complete; None if that is not known yet."""
        what, network = request.what, self.network
        if isinstance(what, Gathering):
            return self._completion_of(rank, what)
        if isinstance(what, (Epoch, Hold)):
            needed = self._needed_by(request)
            return None if needed is None else max(request.begun, needed + network.latency_ns)
        transfer = network.latency_ns + int(what.bytes * network.ns_per_byte) + network.extra_ns(what)
        if request.kind == SEND and not self._is_rendezvous(what):
            return what.sent
        if what.sent is None or what.posted is None:
            return None
        if self._is_rendezvous(what):
            return max(what.sent, what.posted) + transfer
        return max(what.sent + transfer, what.posted)

    def _needed_by(self, request: Request) -> int | None:
        """When what a synchronisation needs has happened; long ago, if it needs nothing."""
        what, defers = request.what, self.network.defers
        if request.call == "win_post" or (defers and request.call in ("win_start", "lock")):
            return -self.network.latency_ns
        if isinstance(what, Hold):
            return what.granted
        return what.completed if request.call == "win_wait" else what.posted

    def _completion_of(self, rank: int, gathering: Gathering) -> int | None:
        begun, cost = gathering.begun, self.network.collective_ns
        everyone = len(begun) == len(self.members[gathering.communicator])
        if gathering.call in ONE_TO_N:
            if rank == gathering.root:
                return begun[rank]
            return max(begun[rank], begun[gathering.root]) + cost if gathering.root in begun else None
        if gathering.call in N_TO_ONE and rank != gathering.root:
            return begun[rank]
        return max(begun.values()) + cost if everyone else None

    def _note(
        self, number: int, rank: _Rank, requests: list[Request], entered: int, end: int, call: str
    ) -> None:
        """Keep what a call waited for, and whether another rank was late."""
        late = []
        for request in requests:
            late += self._lateness(number, request, entered, end)
            self.ended.append(Ended(request, number, entered, end, rank.step, call))
        # A late partner posts its receives and sends at nearly the same time: it is a late sender.
        late.sort(key=lambda one: (-one[0], one[1]))
        others = [one for one in late if one[2] != "late_receiver"]
        if others and others[0][0] >= 0.95 * late[0][0] and others[0][1] == late[0][1]:
            late = others
        if late and late[0][0] > 0:
            time_ns, cause, kind = late[0]
            self.waits.append(Wait(rank.step, number, cause, kind, time_ns, entered, end))

    def _lateness(self, rank: int, request: Request, entered: int, end: int) -> list[tuple[int, int, str]]:
        """(time waited for it, whom, kind) of one request."""
        what = request.what
        if isinstance(what, Gathering):
            others = {other: begun for other, begun in what.begun.items() if other != rank}
            if what.call in ONE_TO_N:
                if rank == what.root:
                    return []
                others, kind = {what.root: what.begun[what.root]}, "late_broadcast"
            elif what.call in N_TO_ONE:
                if rank != what.root:
                    return []
                kind = "early_reduce"
            else:
                kind = {"barrier": "barrier", "ibarrier": "barrier", "fence": "late_one_sided"}.get(
                    what.call, "n_to_n"
                )
            if not others:
                return []
            last = max(others, key=lambda other: (others[other], -other))
            return [(min(end, others[last]) - entered, last, kind)]
        if isinstance(what, Epoch):
            cause = what.origin if request.call == "win_wait" else what.target
            needed = self._needed_by(request)
            return [(min(end, needed) - entered, cause, "late_one_sided")] if cause != rank else []
        if isinstance(what, Hold):
            return self._lateness_of_lock(request, entered, end)
        if what.sender == what.receiver:
            return []
        if request.kind == RECEIVE:
            return [(min(end, what.sent) - entered, what.sender, "late_sender")]
        if self._is_rendezvous(what):
            return [(min(end, what.posted) - entered, what.receiver, "late_receiver")]
        return []

    def _lateness_of_lock(self, request: Request, entered: int, end: int) -> list[tuple[int, int, str]]:
        """For the one who unlocked last of those who had the lock before, while the call lasted."""
        hold = request.what
        if self.network.defers and request.call == "lock":
            return []
        former = self._locks[hold.target].former[: hold.n_before]
        before = [other for other in former if other.conflicts(hold)]
        last = max(before, key=lambda other: (other.unlocked, -other.rank), default=None)
        return [] if last is None else [(min(end, last.unlocked) - entered, last.rank, "late_one_sided")]

    def waited(self, n_steps: int | None = None) -> np.ndarray:
        """The truth as (n_steps, n_ranks, kinds), ns."""
        total = np.zeros((n_steps or self.n_steps + 1, self.n_ranks, len(KINDS)))
        for one in self.waits:
            total[one.step, one.rank, KINDS.index(one.kind)] += one.time_ns
        return total

    def events(
        self, logged: Callable[[int], bool] = lambda step: True, offsets_ns: Sequence[int] | None = None
    ) -> np.ndarray:
        """What perfield has of the run: logs of the steps that `logged` names, rows of the others.

        offsets_ns : by how much each rank's clock is ahead.
        Returns an EVENT array, in the order of ranks, steps and stamps.
        """
        offsets = offsets_ns or [0] * self.n_ranks
        all_events = [self._event(one) for one in self.ended]
        all_events += [self._open_event(rank, request) for rank, request in self._unfinished]
        events = np.array([event for event in all_events if event is not None], EVENT)
        if events.size == 0:
            return events
        for name in ("begun", "wait_begin", "wait_end"):
            known = events[name] != UNKNOWN
            events[name][known] += np.asarray(offsets)[events["rank"][known]]
        in_log = np.array([logged(int(one)) for one in events["step"]])
        events = np.concatenate([events[in_log], _rows_of(events[~in_log])])
        order = np.lexsort(
            (events["kind"], events["wait_end"], events["begun"], events["step"], events["rank"])
        )
        return events[order]

    def _event(self, one: Ended) -> tuple:
        request, what = one.request, one.request.what
        if isinstance(what, Gathering):
            size = len(self.members[what.communicator])
            flags = ROOT if what.call in ONE_TO_N | N_TO_ONE and what.root == one.rank else 0
            name = 1_000 + list(self.members).index(what.communicator)
            place = (-1, CALL[what.call], COLLECTIVE, flags, name, what.number, 1, size)
            return (one.step, one.rank, *place, 0, request.bytes, request.begun, one.wait_begin, one.wait_end)
        if request.kind == SYNCHRONISATION:
            if isinstance(what, Epoch):
                ends = request.call in ("win_complete", "win_wait")
                peer, flags = what.origin + what.target - one.rank, 0
                channel, number = WINDOW ^ 2 if ends else WINDOW, what.number
            else:
                peer, channel, number = what.target, WINDOW, 0
                flags = EXCLUSIVE if request.call == "lock" and what.is_exclusive else 0
            place = (peer, CALL[request.call], SYNCHRONISATION, flags, channel, number, 1, 0)
            return (one.step, one.rank, *place, 0, 0, request.begun, one.wait_begin, one.wait_end)
        is_send = request.kind == SEND
        peer = what.receiver if is_send else what.sender
        call = what.call if is_send else one.call
        # perfield counts a send when it begins and a receive when it has arrived. If a send is waited for in
        # a later step, its stamps come too late for its entry.
        stamps = (one.wait_begin, one.wait_end)
        step = request.step if is_send else one.step
        if is_send and one.step != request.step:
            stamps = (UNKNOWN, UNKNOWN)
        place = (peer, CALL[call], request.kind, 0, what.tag + 1, what.number, 1, 0)
        return (step, one.rank, *place, 0, what.bytes, request.begun, *stamps)

    def _open_event(self, rank: int, request: Request) -> tuple | None:
        """Of a send that nobody waited for."""
        if request.kind != SEND:
            return None
        return self._event(Ended(request, rank, UNKNOWN, UNKNOWN, request.step, ""))


def _rows_of(events: np.ndarray) -> np.ndarray:
    """The rows that perfield keeps of the events of steps that it does not log."""
    rows: dict[tuple, list] = {}
    for event in events[~np.isin(events["call"], OF_LOCKS)]:  # these are in logs alone
        call = CALL["recv"] if event["kind"] == RECEIVE else event["call"]
        key = (event["step"], event["rank"], event["kind"], event["peer"], call)
        if event["kind"] == COLLECTIVE:
            key += (event["channel"],)
        rows.setdefault(key, []).append(event)
    made = np.zeros(len(rows), EVENT)
    for row, (key, members) in zip(made, rows.items()):
        # The row keeps the place of the message that was counted last: of a call, of its last request.
        stamp = "wait_end" if key[2] != SEND else "begun"
        last = max(enumerate(members), key=lambda one: (one[1][stamp], one[0]))[1]
        for name in EVENT.names:
            row[name] = last[name]
        row["call"] = key[4]
        row["count"] = len(members)
        row["most_in_call"] = max(Counter(int(event["wait_begin"]) for event in members).values())
        row["flags"] = np.bitwise_or.reduce([event["flags"] for event in members])
        row["flags"] |= SINGLE if len(members) == 1 else MEAN
        row["bytes"] = sum(int(event["bytes"]) for event in members)
        for name in ("begun", "wait_begin", "wait_end"):
            stamps = [int(event[name]) for event in members]
            row[name] = UNKNOWN if UNKNOWN in stamps else sum(stamps) // len(stamps)
    return made


def simulate(
    programs: Sequence[Sequence[Operation]],
    network: Network | None = None,
    communicators: dict[str, Sequence[int]] | None = None,
) -> Simulation:
    """Run programs, one per rank.

    communicators : members of each beside "world", in world ranks.
    Raises Deadlock if the programs stop, as MPI's would.
    """
    return Simulation(programs, network or Network(), communicators or {})


def random_programs(
    chance: random.Random, n_ranks: int, n_steps: int, phases: int = 3
) -> list[list[Operation]]:
    """Programs that exchange, send and gather in random order, after computing for random times."""
    programs: list[list[Operation]] = [[] for _ in range(n_ranks)]

    def some_time() -> int:
        return chance.choice([0, 0, 1_000, 30_000, 1_000_000, 20_000_000]) * chance.randint(1, 3)

    for _ in range(n_steps):
        for _ in range(chance.randint(1, phases)):
            for program in programs:
                program.append(compute(some_time()))
            chance.choice(_PHASES)(chance, programs, some_time)
        for program in programs:
            program.append(step())
    return programs


def _some_bytes(chance: random.Random) -> int:
    return chance.choice([0, 8, 1_000, 100_000])


def _exchange(chance: random.Random, programs: list[list[Operation]], some_time: Callable[[], int]) -> None:
    """Each rank with some others, by Irecv, Isend and Waitall in either order."""
    n_ranks = len(programs)
    pairs = [(a, b) for a in range(n_ranks) for b in range(a + 1, n_ranks) if chance.random() < 0.6]
    bytes_, tag, sends_first = _some_bytes(chance), chance.randint(0, 2), chance.random() < 0.3
    for rank, program in enumerate(programs):
        others = [a + b - rank for a, b in pairs if rank in (a, b)]
        receives = [irecv(other, f"r{other}", tag) for other in others]
        sends = [isend(other, f"s{other}", bytes_, tag) for other in others]
        program += sends + receives if sends_first else receives + sends
        if chance.random() < 0.5:
            program.append(compute(some_time()))
        if others:
            program.append(wait(*(one.requests[0] for one in receives + sends)))


def _bundles(chance: random.Random, programs: list[list[Operation]], some_time: Callable[[], int]) -> None:
    """Some pairs of ranks, with several messages of each partner in one Waitall, in calls of Waitsome or in a
    loop of Testall, some computed for apart, and collective operations beside them."""
    n_ranks = len(programs)
    pairs = [(a, b) for a in range(n_ranks) for b in range(a + 1, n_ranks) if chance.random() < 0.5]
    n_of, bytes_ = {pair: chance.randint(1, 4) for pair in pairs}, _some_bytes(chance)
    call, n_collectives = chance.choice(["isend", "isend", "issend"]), chance.choice([0, 0, 1, 3])
    for _ in range(chance.randint(1, 2)):
        for rank, program in enumerate(programs):
            requests = []
            for pair, n in n_of.items():
                if rank not in pair:
                    continue
                other = sum(pair) - rank
                for tag in range(n):
                    if chance.random() < 0.3:
                        program.append(compute(some_time()))
                    program += [
                        irecv(other, f"r{other}.{tag}", tag),
                        isend(other, f"s{other}.{tag}", bytes_, tag, call),
                    ]
                    requests += [f"r{other}.{tag}", f"s{other}.{tag}"]
            for number in range(n_collectives):
                program.append(start("iallreduce", f"c{number}"))
                requests.append(f"c{number}")
            if requests:
                between_ns = chance.choice([0, 2_000])
                poll = partial(test_all, ns=between_ns)
                program.append(chance.choice([wait, wait, wait_some, poll])(*requests))


def _shift(chance: random.Random, programs: list[list[Operation]], some_time: Callable[[], int]) -> None:
    """Sendrecv round the ring."""
    n_ranks, bytes_ = len(programs), _some_bytes(chance)
    for rank, program in enumerate(programs):
        program.append(sendrecv((rank + 1) % n_ranks, (rank - 1) % n_ranks, bytes_))


def _one_way(chance: random.Random, programs: list[list[Operation]], some_time: Callable[[], int]) -> None:
    """Several blocking messages from one rank to another."""
    sender, receiver = chance.sample(range(len(programs)), 2)
    for _ in range(chance.randint(1, 3)):
        bytes_, call = _some_bytes(chance), chance.choice(["send", "send", "ssend"])
        programs[sender] += [compute(some_time()), send(receiver, bytes_, 1, call)]
        programs[receiver] += [compute(some_time()), recv(sender, 1)]


def _gathering(chance: random.Random, programs: list[list[Operation]], some_time: Callable[[], int]) -> None:
    """A blocking collective operation."""
    call = chance.choice(
        ["barrier", "allreduce", "alltoall", "bcast", "reduce", "gather", "scatter", "fence"]
    )
    root = chance.randrange(len(programs))
    for program in programs:
        program.append(collective(call, root))


def _started(chance: random.Random, programs: list[list[Operation]], some_time: Callable[[], int]) -> None:
    """A collective operation that does not block, with computation before its wait."""
    call, root = (
        chance.choice(["ibarrier", "iallreduce", "ibcast", "ireduce"]),
        chance.randrange(len(programs)),
    )
    for program in programs:
        program += [start(call, "c", root), compute(some_time()), wait("c")]


def _epochs(chance: random.Random, programs: list[list[Operation]], some_time: Callable[[], int]) -> None:
    """Ranks access the windows of others."""
    n_ranks = len(programs)
    pairs = [(a, b) for a in range(n_ranks) for b in range(n_ranks) if a != b and chance.random() < 0.4]
    for rank, program in enumerate(programs):
        origins = [a for a, b in pairs if b == rank]
        targets = [b for a, b in pairs if a == rank]
        if origins:
            program.append(post(*origins))
        if targets:
            program += [compute(some_time()), access(*targets), compute(some_time()), complete()]
        if origins:
            program += [compute(some_time()), end_exposure()]


def _locks(chance: random.Random, programs: list[list[Operation]], some_time: Callable[[], int]) -> None:
    """Some ranks lock the window of one."""
    target = chance.randrange(len(programs))
    for program in programs:
        if chance.random() < 0.7:
            program += [lock(target, chance.random() < 0.7), compute(some_time())]
            if chance.random() < 0.5:
                program += [flush(target), compute(some_time())]
            program.append(unlock(target))


_PHASES = (_exchange, _exchange, _bundles, _bundles, _shift, _one_way, _gathering, _started, _epochs, _locks)
