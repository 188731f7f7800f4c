# SPDX-License-Identifier: BSD-3-Clause
"""Loads the library that reads OTF2, and keeps it from printing."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from functools import cache
from types import ModuleType

from perfield.traces.errors import TraceError

_kept: list[Callable] = []  # keeps callbacks alive: the library calls them until the process ends


@cache
def otf2_modules() -> tuple[ModuleType, ModuleType]:
    """The modules `otf2` (definitions) and `_otf2` (the library's own functions).

    Raises TraceError if they are not installed.
    """
    try:
        import _otf2
        import otf2
    except (ImportError, OSError) as error:
        raise TraceError(
            f"reading a trace needs the Python module otf2, which cannot be loaded here ({error}). Install "
            "Debian's package python3-otf2 for Debian's Python, or `pip install otf2` for another one."
        ) from error
    _silence(_otf2)
    _mend_inter_communicators(otf2)
    return otf2, _otf2


def _mend_inter_communicators(otf2: ModuleType) -> None:
    """Up to 3.2 the module cannot read inter-communicators: it has their fields in the wrong order."""
    kind = otf2.definitions.InterComm
    fields = {field.name: field for field in kind._fields}
    if "group" in fields:
        kind._fields = tuple(fields[name] for name in ("name", "groupA", "groupB", "parent", "flags"))


@contextmanager
def quiet_callbacks() -> Iterator[io.StringIO]:
    """Collects stderr, where the module otf2 prints exceptions of its callbacks instead of raising them.

    Raises KeyboardInterrupt if one of them was a KeyboardInterrupt.
    """
    with redirect_stderr(io.StringIO()) as stderr:
        try:
            yield stderr
        finally:
            if "\nKeyboardInterrupt" in stderr.getvalue():
                raise KeyboardInterrupt


def reason(error: Exception, stderr: io.StringIO) -> str:
    """Why the library failed: the last exception in a callback, if any, else the text of `error`."""
    lines = [line for line in stderr.getvalue().splitlines() if line and not line[0].isspace()]
    if lines:
        return lines[-1]
    words = str(error)
    return "the library otf2 gives no reason" if "Unknown error code" in words else words


def _silence(library: ModuleType) -> None:
    """Keeps the library from printing errors, since it raises them, too."""
    arguments = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_int)
    handler = ctypes.CFUNCTYPE(ctypes.c_int, *arguments, ctypes.c_char_p, ctypes.c_void_p)
    try:
        register = library.Config.conf.lib.OTF2_Error_RegisterCallback
    except AttributeError:  # another version, which prints
        return
    _kept.append(handler(lambda data, file, line, function, code, form, words: code))
    register.restype = ctypes.c_void_p
    register(_kept[-1], None)
