# SPDX-License-Identifier: BSD-3-Clause
"""Files that one rank of a trace read and wrote. What MPI itself reads and writes is not the program's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perfield.run.fields import CALL_CLASSES, CALL_NAMES
from perfield.traces.definitions import UNDEFINED, Trace
from perfield.traces.thread import Thread

READ, WRITE, FLUSH = 0, 1, 2  # modes of an operation; a flush counts as writing, without bytes
FILE_CALLS = {"posix_read": 101, "posix_write": 102, "stdio_read": 103, "stdio_write": 104}  # no call of MPI
FILE_CLASS = 6  # of time in them, behind those of MPI
_MPI_IO = frozenset(number for number, kind in CALL_CLASSES.items() if kind == "io")


@dataclass
class _Operation:
    """An operation under way. owns_call : it is itself the call that its thread is inside."""

    call: int
    mode: int
    owns_call: bool


class Files:
    """Follows operations on files; bytes go to `bytes` (call -> [out, in]), which Messages has, too."""

    def __init__(self, trace: Trace, bytes: dict[int, list[int]], thread_of: Callable[[int, int], Thread]):
        self.handlers: dict[str, Callable[..., None]] = {
            f"{what}_file": getattr(self, f"_{what}") for what in ("begin", "issue", "end", "cancel")
        }
        self._files, self._bytes, self._thread_of = trace.files, bytes, thread_of
        self._operations: dict[tuple[int, int], _Operation] = {}  # by handle and matching id

    def _begin(self, location, time, handle, mode, flags, asked, matching) -> None:
        if mode not in (READ, WRITE, FLUSH):
            return
        thread = self._thread_of(location, time)
        paradigm = self._files.get(handle, "POSIX")
        call = thread.call
        if call:  # of MPI, or of another operation that this one is part of
            if paradigm == "MPI-IO" and call in _MPI_IO:
                self._operations[handle, matching] = _Operation(call, mode, False)
            return
        way = "read" if mode == READ else "write"
        if paradigm == "MPI-IO":
            call = next(number for number, name in CALL_NAMES.items() if name == f"file_{way}")
        else:
            call = FILE_CALLS[f"{'stdio' if paradigm == 'ISOC' else 'posix'}_{way}"]
        thread.begin_call(time, call, depth=1)
        self._operations[handle, matching] = _Operation(call, mode, True)

    def _end_call(self, location, time, operation: _Operation) -> None:
        thread = self._thread_of(location, time)
        if operation.owns_call and thread.call == operation.call:
            thread.end_call(time)
        operation.owns_call = False

    def _issue(self, location, time, handle, matching) -> None:
        """The operation goes on beside the program."""
        operation = self._operations.get((handle, matching))
        if operation:
            self._end_call(location, time, operation)

    def _end(self, location, time, handle, done, matching) -> None:
        operation = self._operations.pop((handle, matching), None)
        if not operation:
            return
        self._end_call(location, time, operation)
        if done != UNDEFINED and operation.mode != FLUSH:
            self._bytes[operation.call][1 if operation.mode == READ else 0] += done

    def _cancel(self, location, time, handle, matching) -> None:
        self._end(location, time, handle, 0, matching)
