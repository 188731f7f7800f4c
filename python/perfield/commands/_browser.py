# SPDX-License-Identifier: BSD-3-Clause
"""What commands that serve a page share: its port, and how it opens in a browser."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from perfield.commands import CommandError

WINDOWS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""One of these is set where a browser can show a page. BROWSER: an editor's, or a user's choice."""


def add_page_options(parser: argparse.ArgumentParser, port: int) -> None:
    """Adds --port and --no-browser. port : the default."""
    parser.add_argument(
        "--port", type=int, default=port, metavar="N", help=f"of the page; 0 for any that is free ({port})"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def check_port(arguments: argparse.Namespace) -> None:
    """Raises CommandError if --port is none."""
    if not 0 <= arguments.port < 65536:
        raise CommandError(f"--port {arguments.port} is no port; expected 0 to 65535.")


def opener(arguments: argparse.Namespace) -> Callable[[str], None]:
    """What prints the address of a page that is ready, and opens it in a browser unless told not to."""

    def ready(address: str) -> None:
        print(f"the page is at {address}; Ctrl-C ends it", flush=True)
        if not arguments.no_browser:
            show(address)

    return ready


def show(address: str) -> None:
    """Opens the page if a browser can have a window here; else its printed address must do.

    A browser in the terminal, as many login nodes have, would wait for a page that is not served yet.
    """
    import webbrowser

    if sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in WINDOWS):
        webbrowser.open(address)
