# SPDX-License-Identifier: BSD-3-Clause
"""Makes the standard streams take whatever a command prints, in any locale, also where they are closed."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import signal
import sys

_ERRORS = "perfield"  # how what a stream's encoding lacks is written
_PLAIN = {"µ": b"u", "π": b"pi", "…": b"..."}  # what perfield itself prints beyond ASCII
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


def exit_code(returncode: int) -> int:
    """The exit code of a command for that of its child: as a shell gives it where a signal ended the child; 0
    where that was because the reader of our output has ended."""
    if returncode >= 0:
        return returncode
    return 0 if returncode == -signal.SIGPIPE else 128 - returncode


def _written(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return b"".join(
        bytes([ord(letter) - 0xDC00]) if ord(letter) in _BYTES else _PLAIN.get(letter, b"?")
        for letter in letters
    ), error.end
