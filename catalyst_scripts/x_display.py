# SPDX-License-Identifier: BSD-3-Clause
"""Asks for an X display before anything draws. Without one, Debian's ParaView aborts its program."""

from __future__ import annotations

import ctypes


def draws_by_x() -> bool:
    """Whether this ParaView draws by X; builds with OSMesa or EGL need no display."""
    import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  provides the window
    from vtkmodules.vtkRenderingCore import vtkRenderWindow

    return vtkRenderWindow().GetClassName().startswith("vtkX")


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
