# SPDX-License-Identifier: BSD-3-Clause
"""Hands the page to whoever has the token that the printed address holds. It needs no network.

Each request for the page and for its websocket brings the token in its address: a cookie would go to the
other ports of localhost, too. bokeh signs its sessions with a key of this server, so none can be made up.
Connections are bounded as those of `perfield serve`.
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
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.settings import settings
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop, PeriodicCallback
from tornado.iostream import IOStream
from tornado.web import HTTPError, RequestHandler

from perfield.serve.connections import Connections
from perfield.serve.security import new_token
from perfield.studies.oscillators.sliders.page import Page

if TYPE_CHECKING:
    from perfield.studies.oscillators.sliders.experiment import Base

ADDRESS = "127.0.0.1"
MOST_BODY = 1 << 16  # bytes of a request: nobody posts anything
LOOK_MS = 500.0  # between looks for connections that are too slow


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
    listening = _listen(port)
    port, token, held = listening.getsockname()[1], new_token(), Connections()
    pages = BokehTornado(
        {"/": application},
        extra_websocket_origins=[f"localhost:{port}"],
        auth_provider=_Guard(token, held),
        sign_sessions=True,
        secret_key=secrets.token_bytes(32),
    )
    http = _BoundedServer(pages, held)
    http.add_sockets([listening])
    server = BaseServer(IOLoop.current(), pages, http)
    server.start()
    PeriodicCallback(http.look, LOOK_MS).start()
    ready(f"http://localhost:{port}/?token={token}")
    server.run_until_shutdown()  # handles SIGINT and SIGTERM


class _BoundedServer(HTTPServer):
    """A server of HTTP that takes a connection only if `held` does."""

    def initialize(self, pages: BokehTornado, held: Connections) -> None:
        """What tornado calls in place of a constructor."""
        super().initialize(pages, max_body_size=MOST_BODY)
        self._held = held
        self._streams: dict[IOStream, socket.socket] = {}

    def handle_stream(self, stream: IOStream, address: tuple) -> None:
        """Serves a new connection, or closes it where all others are busy."""
        self.look()
        if not self._held.add(stream.socket):
            return stream.close()
        self._streams[stream] = stream.socket
        super().handle_stream(stream, address)

    def look(self) -> None:
        """Forgets connections that have ended, websockets included, and ends those that are too slow."""
        for stream in [stream for stream in self._streams if stream.closed()]:
            self._held.remove(self._streams.pop(stream))
        self._held.end_slow()


class _Guard(AuthProvider):
    """Lets in whose address has the token, and notes that the connection is a reader's."""

    login_url = "/"  # bokeh wants one; nobody is led there, as `get_user` refuses

    def __init__(self, token: str, held: Connections):
        self._token, self._held = token, held
        super().__init__()

    @property
    def get_user(self) -> Callable[[RequestHandler], User]:
        """Who asks. It raises HTTPError 401 if the token is wrong."""
        return self._user

    def _user(self, request: RequestHandler) -> User:
        given = request.get_argument("token", "")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            reason = "A token is needed: open the whole address that perfield lab sliders printed"
            raise HTTPError(401, reason=reason)
        websocket = getattr(request, "ws_connection", None)  # has taken the stream of its request
        connection = (websocket or request.request.connection).stream.socket
        self._held.know(connection)
        if websocket is not None:
            self._held.answer(connection)  # it lasts as long as the page
        else:
            self._held.wait(connection)
        return User("reader")


def _listen(port: int) -> socket.socket:
    """A socket that listens on the port, without waiting. Raises PortError if it is taken."""
    try:
        listening = socket.create_server((ADDRESS, port))
    except OSError as error:
        raise PortError(
            f"port {port} cannot be taken: {error.strerror}; choose another by --port; 0 takes any."
        ) from error
    listening.setblocking(False)
    return listening
