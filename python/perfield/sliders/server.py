# SPDX-License-Identifier: BSD-3-Clause
"""Hands the page to browsers of this machine, without a network."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.server.server import Server
from bokeh.settings import settings

from perfield.sliders.page import Page

if TYPE_CHECKING:
    from perfield.sliders.experiment import Base

ADDRESS = "127.0.0.1"  # nobody else's: the page has no users and no secrets


class PortError(OSError):
    """The port cannot be taken; the text says why and what to do."""


def serve(bases: Mapping[str, Base], port: int, ready: Callable[[str], None]) -> None:
    """Serves the page until the process is interrupted. port : 0 takes a free one.

    ready : called once with the page's address. bokeh's scripts come from this server, none from a network.
    Raises PortError if the port is taken.
    """
    settings.resources = "server"
    application = Application(FunctionHandler(lambda document: Page(bases).show(document)))
    _check(port)
    server = Server({"/": application}, address=ADDRESS, port=port)
    server.start()
    ready(f"http://localhost:{server.port}/")
    server.run_until_shutdown()  # handles SIGINT and SIGTERM


def _check(port: int) -> None:
    """Raises PortError if the port is taken; bokeh would leave a socket open then."""
    try:
        socket.create_server((ADDRESS, port)).close()
    except OSError as error:
        raise PortError(
            f"port {port} cannot be taken: {error.strerror}; choose another by --port; 0 takes any."
        ) from error
