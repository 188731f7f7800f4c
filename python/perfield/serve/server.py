# SPDX-License-Identifier: BSD-3-Clause
"""Speaks HTTP: a thread for each connection, GET and HEAD only, every refusal a sentence.

A slow browser holds up its own connection alone, since answers are complete before they are sent.
"""

from __future__ import annotations

import gzip
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from perfield.serve.followed import Followed
from perfield.serve.page_files import INDEX, LIBRARY, WITHOUT_LIBRARY, PageFile, page_files
from perfield.serve.routes import Answer, answer, failure
from perfield.serve.security import HEADERS, Gate, is_local_address

LOCALHOST = "127.0.0.1"
IDLE_S = 60.0  # without a byte from or to a browser; then its connection is closed
PIECE = 1 << 16  # bytes sent at once
SMALL = 1024  # bytes; less is not compressed
LONGEST = 2048  # characters of a request's address
METHODS = "GET, HEAD"


class PortError(OSError):
    """The port or address cannot be taken; the text says why and what to do."""


class Server(ThreadingHTTPServer):
    """The server of one run. It has taken its port; `serve_forever` answers requests."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self,
        followed: Followed,
        address: str = LOCALHOST,
        port: int = 0,
        token: str = "",
        page: Path | None = None,
    ):
        """address : to listen on; localhost needs no token. port : 0 takes a free one. token : that every
        browser needs, "" for none. page : another folder of the page's files.

        Raises PortError if the port cannot be taken, ValueError without a token where one is needed.
        """
        local = is_local_address(address)
        if not local and not token:
            raise ValueError(f"listening on {address}, which others can reach, needs a token.")
        self.followed = followed
        self.page = page_files(page) if page is not None else page_files()
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            super().__init__((LOCALHOST if address == "localhost" else address, port), _Handler)
        except OSError as error:
            raise PortError(
                f"port {port} of {address} cannot be taken: {error.strerror or error}. Maybe another "
                "perfield serve runs there; choose another port by --port; 0 takes any that is free."
            ) from error
        self.gate = Gate(token, local, f"perfield_{self.server_port}")
        self._address = address

    @property
    def url(self) -> str:
        """What to open in a browser, with the token if one is needed."""
        name = "localhost" if self._address in ("localhost", LOCALHOST) else self._address
        if name in ("0.0.0.0", "::"):
            name = socket.gethostname()
        name = f"[{name}]" if ":" in name else name
        return f"http://{name}:{self.server_port}/" + (f"?token={self.gate.token}" if self.gate.token else "")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a browser that went away; anything else is a fault of ours."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "perfield"
    sys_version = ""
    timeout = IDLE_S
    disable_nagle_algorithm = True  # else each answer on a kept connection waits 40 ms for a confirmation

    def do_GET(self) -> None:
        """Answers a request."""
        if len(self.path) > LONGEST:
            return self._refuse("the request's address is too long.", HTTPStatus.REQUEST_URI_TOO_LONG)
        gate, headers = self.server.gate, self.headers
        try:
            target = urlsplit(self.path)
        except ValueError:
            return self._refuse("the request's address is malformed.", HTTPStatus.BAD_REQUEST)
        refused = gate.wrong_name(headers.get("Host", ""))
        if refused is None and gate.token and target.path == "/" and "token" in parse_qs(target.query):
            return self._let_in(parse_qs(target.query)["token"][0])
        begin, _, rest = target.path.partition("/")
        room, _, name = rest.partition("/") if not begin else ("", "", "")
        if refused is None and room == "api":
            refused = gate.refusal(headers.get("Cookie", ""), headers.get("Sec-Fetch-Site", ""))
        if refused is not None:
            return self._refuse(refused.sentence, refused.status)
        if target.path == "/":
            return self._send_file(self.server.page[INDEX])
        if room == "page" and name in self.server.page:
            return self._send_file(self.server.page[name])
        if target.path == f"/page/{LIBRARY}":
            return self._refuse(WITHOUT_LIBRARY, HTTPStatus.NOT_FOUND)
        if room == "api":
            return self._send(self._answered(name, target.query))
        shown = unquote(target.path)[:80].encode("ascii", "backslashreplace").decode()
        return self._refuse(
            f"there is no {shown!r} here; the page is at / and the run's numbers at /api/run.",
            HTTPStatus.NOT_FOUND,
        )

    do_HEAD = do_GET

    def _answered(self, name: str, query: str) -> Answer:
        try:
            return answer(self.server.followed, name, query)
        except Exception:
            traceback.print_exc()
            sentence = (
                "perfield serve could not make this answer; its terminal says more. Please report that."
            )
            return failure(sentence, HTTPStatus.INTERNAL_SERVER_ERROR)

    def _let_in(self, token: str) -> None:
        """Gives the cookie for the right token and leads on, so that the token leaves the address line."""
        if not self.server.gate.knows(token):
            return self._refuse("this token is not the one of this server.", HTTPStatus.UNAUTHORIZED)
        more = {"Location": "/", "Set-Cookie": self.server.gate.set_cookie()}
        return self._send(Answer(b"", "text/plain; charset=utf-8", HTTPStatus.SEE_OTHER), more)

    def _send_file(self, file: PageFile) -> None:
        more = {"ETag": file.tag, "Cache-Control": "no-cache"}  # to be kept, and asked for each time
        if self.headers.get("If-None-Match") == file.tag:
            return self._send(Answer(b"", file.kind, HTTPStatus.NOT_MODIFIED), more)
        return self._send(Answer(file.body, file.kind), more)

    def _refuse(self, sentence: str, status: int) -> None:
        self._send(failure(sentence[:1].upper() + sentence[1:], status))

    def _send(self, answered: Answer, more: Mapping[str, str] = {}) -> None:
        body, headers = answered.body, {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
        asked = getattr(self, "headers", None) or {}  # none if the request could not be read
        if len(body) >= SMALL and "gzip" in asked.get("Accept-Encoding", ""):
            body = gzip.compress(body, compresslevel=1, mtime=0)
            headers["Content-Encoding"] = "gzip"
        headers |= {"Content-Type": answered.kind, "Content-Length": str(len(body)), **HEADERS, **more}
        self.send_response(answered.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            view = memoryview(body)
            for begin in range(0, len(view), PIECE):  # a time limit counts for each piece
                self.wfile.write(view[begin : begin + PIECE])

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Any refusal of the library, as ours look."""
        del explain
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self.close_connection = True
            body = failure(f"Only {METHODS} are answered here.", HTTPStatus.METHOD_NOT_ALLOWED)
            return self._send(body, {"Allow": METHODS, "Connection": "close"})
        self.close_connection = True
        words = message or HTTPStatus(code).phrase
        return self._send(failure(f"The request is malformed: {words}.", code), {"Connection": "close"})

    def log_message(self, format: str, *words: Any) -> None:
        """Says nothing: the terminal is for the user."""


def serve(server: Server, ready: Callable[[str], None]) -> None:
    """Answers requests until the process is interrupted. ready : is called once with the page's address.

    Meanwhile it makes what a page asks for first.
    """
    with server:
        Thread(target=_prepare, args=(server.followed,), daemon=True).start()
        try:
            ready(server.url)
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return


def _prepare(followed: Followed) -> None:
    for name in ("run", "machine", "mesh"):
        answer(followed, name, "")  # kept, or why not, which whoever asks is told again
