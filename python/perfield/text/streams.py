# SPDX-License-Identifier: BSD-3-Clause
"""Makes the standard streams take whatever a command prints, in any locale, also where they are closed."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import sys
from collections.abc import Callable
from typing import Any

_ERRORS = "perfield"  # how what a stream's encoding lacks is written
_PLAIN = {"µ": b"u", "π": b"pi", "…": b"..."}  # what perfield itself prints beyond ASCII
_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]")
_KEPT = "perfield_write"  # of a stream, its own function
_BYTES = range(0xDC80, 0xDD00)  # of a path that is not UTF-8, as Python keeps them in a text


def prepare_streams() -> None:
    """Opens closed streams on /dev/null, so that no file that is opened later takes their numbers, and lets
    them take any text: a path has its own bytes, and what the encoding lacks becomes plain, or "?"."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    codecs.register_error(_ERRORS, _written)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)
            if not hasattr(stream, _KEPT):
                setattr(stream, _KEPT, stream.write)
                stream.write = _Shown(stream.write)


def draw_line(words: str) -> None:
    """Writes a line over the last one on the terminal of stderr; a line that follows replaces it, too."""
    Unfiltered(sys.stderr).write(f"\r\x1b[K{shown(words)}")
    sys.stderr.flush()


def shown(text: str) -> str:
    """A text whose control characters, apart from the ends of lines and tabs, are written as "\\x1b": names
    in a run may hold them, and a terminal would obey."""
    return text if text.isprintable() else _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


class Unfiltered:
    """A stream that `prepare_streams` has prepared, as it was: it takes control characters, as of bars."""

    def __init__(self, stream: Any):
        self._stream = stream
        self.write = getattr(stream, _KEPT, stream.write)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Shown:
    """Writes what a stream is given as `shown` has it. write : of the stream."""

    def __init__(self, write: Callable[[str], int]):
        self._write = write

    def __call__(self, text: str) -> int:
        return self._write(shown(text))


def say(words: str) -> None:
    """Prints a line on stderr, if that can be."""
    with contextlib.suppress(OSError, ValueError):
        print(words, file=sys.stderr, flush=True)


def give_up(stream: io.TextIOBase) -> None:
    """Lets a stream drop what it could not write; else Python complains about that at its end."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def _written(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return b"".join(
        bytes([ord(letter) - 0xDC00]) if ord(letter) in _BYTES else _PLAIN.get(letter, b"?")
        for letter in letters
    ), error.end
