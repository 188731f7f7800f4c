# SPDX-License-Identifier: BSD-3-Clause
"""Shows a page in the user's browser, if one can have a window here."""

from __future__ import annotations

import os
import sys

WINDOWS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Variables of which one is set where a browser can show a page. BROWSER: of an editor, or of the user."""


def show(address: str) -> None:
    """Opens the page if a browser can have a window here; else its printed address must do.

    A browser in the terminal, as many login nodes have, would wait for a page that is served after it.
    """
    import webbrowser

    if sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in WINDOWS):
        webbrowser.open(address)
