# SPDX-License-Identifier: BSD-3-Clause
"""Stretches of a program that are not measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from perfield._recorder import pause, resume


@contextmanager
def paused() -> Iterator[None]:
    """`with perfield.paused():` counts nothing in its block, and no time passes for perfield in it.

    As a decorator of a function, `@perfield.paused()`, it does so whenever that is called.
    """
    pause()
    try:
        yield
    finally:
        resume()
