# SPDX-License-Identifier: BSD-3-Clause
"""Asks for an X display before anything draws. Without one, Debian's ParaView aborts its program."""

from __future__ import annotations

import ctypes


def has_display() -> bool:
    """Whether this process can open an X display.

    The connection stays open: an X server that loses its last client resets and then refuses others.
    """
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:
        return False
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XOpenDisplay.argtypes = [ctypes.c_char_p]
    return bool(x11.XOpenDisplay(None))
