# SPDX-License-Identifier: BSD-3-Clause
"""Messages, collectives and waits of one rank of a trace, counted as perfield's wrappers of MPI do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from perfield.run.fields import CALL_CLASSES, CALL_NUMBERS, SENDING_CALLS
from perfield.traces.definitions import Trace
from perfield.traces.thread import Thread

_COLLECTIVE = frozenset(number for number, kind in CALL_CLASSES.items() if kind == "collective")
_COLLECTIVES = ("collective", "start_collective", "end_collective")  # kinds of event
_WAITING_FOR_ONE = frozenset(CALL_NUMBERS[name] for name in ("recv", "mrecv", "wait"))


class Messages:
    """Counts since the last step was closed.

    messages : (peer, call) -> [count, bytes, empty, largest]. bytes : call -> [out, in] of calls that are
    told of as a whole. waits : peer -> [count, ticks] of calls that waited for it alone.
    """

    def __init__(self, trace: Trace, rank: int, thread_of: Callable[[int, int], Thread]):
        """thread_of(location, time) : the thread."""
        self.messages: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        self.bytes: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        self.waits: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        self.handlers: dict[str, Callable[..., None]] = {
            name: getattr(self, f"_{name}")
            for name in ("send", "isend", "receive", "put", "change", *_COLLECTIVES)
        } | {"ireceive": self._receive, "get": self._put}
        self._peers, self._windows, self._rank, self._thread_of = trace.peers, trace.windows, rank, thread_of
        self._started: dict[int, int] = {}  # request -> its non-blocking collective

    def returned(self, thread: Thread, call: int, ticks: int) -> None:
        """A call has returned: if it waited for one message, it waited for the peer that sent it."""
        if call in _WAITING_FOR_ONE and len(thread.peers) == 1:
            wait = self.waits[thread.peers[0]]
            wait[0] += 1
            wait[1] += ticks

    def take(self) -> None:
        """Forgets what was counted: it has been taken."""
        self.messages.clear()
        self.bytes.clear()
        self.waits.clear()

    def _count(self, peer: int, call: int, n_bytes: int) -> None:
        row = self.messages[peer, call]
        row[0] += 1
        row[1] += n_bytes
        row[2] += not n_bytes
        row[3] = max(row[3], n_bytes)

    def _sent(self, location, time, comm, place, n_bytes, otherwise) -> None:
        call = self._thread_of(location, time).call
        peer = self._peers.world_rank(comm, place, self._rank)
        self._count(peer, call if call in SENDING_CALLS else CALL_NUMBERS[otherwise], n_bytes)

    def _send(self, location, time, receiver, comm, tag, n_bytes) -> None:
        self._sent(location, time, comm, receiver, n_bytes, "send")

    def _isend(self, location, time, receiver, comm, tag, n_bytes, request) -> None:
        self._sent(location, time, comm, receiver, n_bytes, "isend")

    def _receive(self, location, time, sender, comm, tag, n_bytes, request=0) -> None:
        peer = self._peers.world_rank(comm, sender, self._rank)
        self._count(peer, CALL_NUMBERS["recv"], n_bytes)
        self._thread_of(location, time).peers.append(peer)

    # --- one-sided -----------------------------------------------------------------------------------

    def _put(self, location, time, window, remote, n_bytes, matching) -> None:
        call = self._thread_of(location, time).call
        if call in SENDING_CALLS:  # the trace tells of copies to devices by the same events
            self._count(
                self._peers.world_rank(self._windows.get(window, -1), remote, self._rank), call, n_bytes
            )

    def _change(self, location, time, window, remote, kind, n_sent, n_received, matching) -> None:
        self._put(location, time, window, remote, n_sent, matching)

    # --- collectives ---------------------------------------------------------------------------------

    def _collective(self, location, time, operation, comm, root, n_sent, n_received) -> None:
        self._count_collective(self._thread_of(location, time).call, n_sent, n_received)

    def _start_collective(self, location, time, request) -> None:
        self._started[request] = self._thread_of(location, time).call

    def _end_collective(self, location, time, operation, comm, root, n_sent, n_received, request) -> None:
        self._count_collective(self._started.pop(request, 0), n_sent, n_received)

    def _count_collective(self, call, n_sent, n_received) -> None:
        if call in _COLLECTIVE:  # making a communicator is one in the trace, but not here
            row = self.bytes[call]
            row[0] += n_sent
            row[1] += n_received
