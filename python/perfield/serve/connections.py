# SPDX-License-Identifier: BSD-3-Clause
"""Bounds what browsers may hold of the server: connections, time, and bytes that are not read yet.

Nobody is trusted to end a connection: one that is too slow is shut down, which ends the wait of its
thread. Where there are too many, one that never showed the token makes room for a new one, the oldest first;
then one of a reader that waits for its next request. So whoever cannot see the run cannot keep readers of it
out.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

MOST = 64  # connections; a browser opens up to 6
REQUEST_S = 60.0  # from an answer, or the connection's begin, until the next request is complete
SEND_S = 60.0  # for an answer, and the time that its bytes take at the rate below
SLOWEST = 10_000  # bytes/s
MOST_BYTES = 1 << 28  # of answers that are being sent


class BusyError(Exception):
    """Too much is being sent already."""


@dataclass
class _Line:
    since: float
    end: float | None  # when it is shut down
    is_waiting: bool = True  # for a request
    is_known: bool = False


class Connections:
    """The open connections of a server. For many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._lines: dict[socket.socket, _Line] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, connection: socket.socket) -> bool:
        """Takes in a new connection; False if all others are busy with a reader's request."""
        now = time.monotonic()
        with self._lock:
            if len(self._lines) >= MOST:
                can_go = [one for one, line in self._lines.items() if line.is_waiting or not line.is_known]
                if not can_go:
                    return False
                self._shut(min(can_go, key=lambda one: (self._lines[one].is_known, self._lines[one].since)))
            self._lines[connection] = _Line(now, now + REQUEST_S)
        return True

    def remove(self, connection: socket.socket) -> None:
        """Forgets a connection that ends."""
        with self._lock:
            self._lines.pop(connection, None)

    def know(self, connection: socket.socket) -> None:
        """Notes that a connection's reader may see the run."""
        self._set(connection, is_known=True)

    def wait(self, connection: socket.socket) -> None:
        """Notes that a connection waits for a request."""
        now = time.monotonic()
        self._set(connection, is_waiting=True, since=now, end=now + REQUEST_S)

    def answer(self, connection: socket.socket) -> None:
        """Notes that a request is complete, so that nobody need hurry but perfield."""
        self._set(connection, is_waiting=False, end=None)

    @contextlib.contextmanager
    def sending(self, connection: socket.socket, size: int) -> Iterator[None]:
        """While an answer of so many bytes is sent. Raises BusyError if all of them come to too many."""
        with self._lock:
            if self._bytes and self._bytes + size > MOST_BYTES:
                raise BusyError(
                    f"perfield serve is sending {self._bytes >> 20} MiB to slow browsers; try again later."
                )
            self._bytes += size
        self._set(connection, end=time.monotonic() + SEND_S + size / SLOWEST)
        try:
            yield
        finally:
            with self._lock:
                self._bytes -= size

    def end_slow(self) -> None:
        """Shuts down connections whose time is over."""
        now = time.monotonic()
        with self._lock:
            for connection in [
                c for c, line in self._lines.items() if line.end is not None and line.end < now
            ]:
                self._shut(connection)

    def _set(self, connection: socket.socket, **values: object) -> None:
        with self._lock:
            if line := self._lines.get(connection):
                for name, value in values.items():
                    setattr(line, name, value)

    def _shut(self, connection: socket.socket) -> None:
        del self._lines[connection]
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
