# SPDX-License-Identifier: BSD-3-Clause
"""What commands that serve a page share: its port, its address, and how it opens in a browser.

The address holds a token, and other users see the arguments of every process. So a browser is given a file
that leads on to the address, and that only its owner can read.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from perfield.commands import CommandError

WINDOWS = ("DISPLAY", "WAYLAND_DISPLAY")
"""One of these is set where a browser can show a page. Where only BROWSER is, the browser runs in the
terminal, or it is an editor's on another machine, which cannot read a file here; but it opens addresses that
are printed."""
PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={0}">
<title>perfield</title>
<p><a href="{0}">The page of perfield</a>
"""


def add_page_options(parser: argparse.ArgumentParser, port: int) -> None:
    """Adds --port and --no-browser. port : the default."""
    parser.add_argument(
        "--port", type=int, default=port, metavar="N", help=f"of the page; 0 for any that is free ({port})"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def check_port(arguments: argparse.Namespace) -> None:
    """Raises CommandError if --port is none."""
    if not 0 <= arguments.port < 65536:
        raise CommandError(f"--port {arguments.port} is not a port; expected 0 to 65535.")


@contextlib.contextmanager
def opener(arguments: argparse.Namespace) -> Iterator[Callable[[str], None]]:
    """What prints the address of a page that is ready, and opens it in a browser unless it must not.

    Within it, SIGTERM and the end of the terminal raise KeyboardInterrupt, so that no file is left behind.
    """
    with _interrupted_by("SIGTERM", "SIGHUP"), contextlib.ExitStack() as until_the_end:

        def ready(address: str) -> None:
            print(f"the page is at {address}{way_to(address)}; Ctrl-C ends it", flush=True)
            if not arguments.no_browser and _has_window():
                import webbrowser

                webbrowser.open(until_the_end.enter_context(leading_to(address)))

        yield ready


@contextlib.contextmanager
def leading_to(address: str) -> Iterator[str]:
    """The address of a private file that leads a browser on to a page; the file is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="perfield-page-") as folder:
        file = Path(folder, "page.html")
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(PAGE.format(html.escape(address)))
        yield file.as_uri()


def way_to(address: str) -> str:
    """Behind the address: how to reach it from where the user sits, if that is another machine."""
    parts = urlsplit(address)
    if parts.hostname != "localhost" or not os.environ.get("SSH_CONNECTION"):
        return ""
    return f" after ssh -L {parts.port}:localhost:{parts.port} {socket.gethostname()} where your browser is"


def _has_window() -> bool:
    """Whether a browser can have a window here; else the printed address must do.

    A browser in the terminal, as many login nodes have, would wait for a page that is not served yet.
    """
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in WINDOWS)


@contextlib.contextmanager
def _interrupted_by(*names: str) -> Iterator[None]:
    """Signals that end the process raise KeyboardInterrupt; one that is ignored (nohup) stays ignored."""
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {n: signal.getsignal(n) for n in numbers if signal.getsignal(n) == signal.SIG_DFL}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
