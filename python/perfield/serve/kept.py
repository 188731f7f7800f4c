# SPDX-License-Identifier: BSD-3-Clause
"""Keeps the newest few answers that are dear to make; several who ask at once wait for one making."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """At most `most` values by key; the one that was asked for longest ago makes room. For many threads."""

    def __init__(self, most: int):
        self._most = most
        self._lock = Lock()
        self._values: OrderedDict[Hashable, tuple[Lock, list[Value]]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key; makes it if it is not kept. Whatever `make` raises goes through, and the next
        who asks tries again."""
        with self._lock:
            lock, found = self._values.setdefault(key, (Lock(), []))
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        with lock:
            if not found:
                found.append(make())
            return found[0]
