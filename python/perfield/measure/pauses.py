# SPDX-License-Identifier: BSD-3-Clause
"""Pauses measuring around parts of a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from perfield._recorder import pause, resume


@contextmanager
def paused() -> Iterator[None]:
    """Pauses measuring inside `with perfield.paused():`. perfield counts nothing there and its clock stops.

    As a decorator, `@perfield.paused()`, it pauses during each call of the function.
    """
    pause()
    try:
        yield
    finally:
        resume()
