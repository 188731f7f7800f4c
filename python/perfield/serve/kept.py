# SPDX-License-Identifier: BSD-3-Clause
"""Keeps the newest few answers that are costly to make; several who ask at once wait for one making."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """At most `most` values by key and about `most_bytes`. What was asked for longest ago makes room.
    The newest is always kept. For many threads."""

    def __init__(self, most: int, most_bytes: int):
        self._most, self._most_bytes = most, most_bytes
        self._lock = Lock()
        self._values: OrderedDict[Hashable, tuple[Lock, list[Value]]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key; makes it if it is not kept. Whatever `make` raises goes through, and the next
        who asks tries again."""
        with self._lock:
            lock, found = self._values.setdefault(key, (Lock(), []))
            self._values.move_to_end(key)
            self._make_room()
        with lock:
            if not found:
                found.append(make())
            return found[0]

    def _make_room(self) -> None:
        sizes = [_size(found) for _, found in self._values.values()]
        size = sum(sizes)
        while len(self._values) > 1 and (len(self._values) > self._most or size > self._most_bytes):
            self._values.popitem(last=False)
            size -= sizes.pop(0)


def _size(found: list[Any]) -> int:
    """The bytes of a value, if it is made, and if it is bytes or states them."""
    return sum(len(value) if isinstance(value, bytes) else getattr(value, "nbytes", 0) for value in found)
