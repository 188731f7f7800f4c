# SPDX-License-Identifier: BSD-3-Clause
"""Hands the page to whoever has the token that the printed address holds. It needs no network.

Each request for the page and for its websocket brings the token in its address: a cookie would go to the
other ports of localhost, too. bokeh signs its sessions with a key of this server, so none can be made up.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Callable, Mapping
from logging import ERROR, getLogger
from typing import TYPE_CHECKING

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.server.auth_provider import AuthProvider, User
from bokeh.server.server import Server
from bokeh.settings import settings
from tornado.web import HTTPError, RequestHandler

from perfield.serve.security import new_token
from perfield.sliders.page import Page

if TYPE_CHECKING:
    from perfield.sliders.experiment import Base

ADDRESS = "127.0.0.1"


class PortError(OSError):
    """The port cannot be taken; the text says why and what to do."""


def serve(bases: Mapping[str, Base], port: int, ready: Callable[[str], None]) -> None:
    """Serves the page until the process is interrupted. port : 0 takes a free one.

    ready : called once with the page's address. bokeh's scripts come from this server, none from a network.
    Raises PortError if the port is taken.
    """
    settings.resources = "server"
    getLogger("tornado.access").setLevel(ERROR)  # the user need not read who was refused
    application = Application(FunctionHandler(lambda document: Page(bases).show(document)))
    _check(port)
    token = new_token()
    server = Server(
        {"/": application},
        address=ADDRESS,
        port=port,
        auth_provider=_Guard(token),
        sign_sessions=True,
        secret_key=secrets.token_bytes(32),
    )
    server.start()
    ready(f"http://localhost:{server.port}/?token={token}")
    server.run_until_shutdown()  # handles SIGINT and SIGTERM


class _Guard(AuthProvider):
    """Lets in whose address has the token."""

    login_url = "/"  # bokeh wants one; nobody is led there, as `get_user` refuses

    def __init__(self, token: str):
        self._token = token
        super().__init__()

    @property
    def get_user(self) -> Callable[[RequestHandler], User]:
        """Who asks. It raises HTTPError 401 if the token is wrong."""
        return self._user

    def _user(self, request: RequestHandler) -> User:
        given = request.get_argument("token", "")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            reason = "A token is needed: open the whole address that perfield sliders printed"
            raise HTTPError(401, reason=reason)
        return User("reader")


def _check(port: int) -> None:
    """Raises PortError if the port is taken; bokeh would leave a socket open then."""
    try:
        socket.create_server((ADDRESS, port)).close()
    except OSError as error:
        raise PortError(
            f"port {port} cannot be taken: {error.strerror}; choose another by --port; 0 takes any."
        ) from error
