# SPDX-License-Identifier: BSD-3-Clause
"""Speaks HTTP: a thread for each connection, GET and HEAD only, every refusal a sentence.

A slow browser holds up its own connection alone, since answers are complete before they are sent, and
`connections` bounds how many it may have, how long each takes, and what waits to be read.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import io
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

from perfield.serve import unix_socket
from perfield.serve.connections import BusyError, Connections
from perfield.serve.followed import Followed
from perfield.serve.packed import as_json
from perfield.serve.page_files import INDEX, LIBRARY, WITHOUT_LIBRARY, PageFile, page_files
from perfield.serve.routes import Answer, answer, failure
from perfield.serve.security import HEADERS, Gate, is_local_address

LOCALHOST = "127.0.0.1"
SMALL = 1024  # bytes; less is not compressed
LONGEST = 2048  # characters of a request's address
MOST_HEAD = (
    80_000  # bytes of a request, whose first line alone may have 65,536 before Python's library refuses it
)
FULL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
MAKERS = 8  # requests for numbers that are worked on at once
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
        socket_path: Path | None = None,
    ):
        """address : to listen on. port : 0 takes a free one. token : that every browser needs; "" for none,
        on localhost only. page : another folder of its files. socket_path : of a Unix socket to listen on
        instead.

        Raises PortError if the port or path cannot be taken, ValueError without a token where one is needed.
        """
        local = socket_path is not None or is_local_address(address)
        if not local and not token:
            raise ValueError(f"listening on {address}, which others can reach, needs a token.")
        self.followed = followed
        self.page = page_files(page) if page is not None else page_files()
        self.connections = Connections()
        self.makers = BoundedSemaphore(MAKERS)
        self.gate = Gate(token, local)
        self.socket_path, self._address = socket_path, address
        self._bound: tuple[int, int] | None = None
        if socket_path is not None:
            self.address_family = socket.AF_UNIX
        else:
            self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            super().__init__((LOCALHOST if address == "localhost" else address, port), _Handler)
        except unix_socket.PlaceError as error:
            raise PortError(f"no socket can be made: {error}.") from error
        except OSError as error:
            if socket_path is not None:
                raise PortError(
                    f"no socket can be made at {socket_path}: {error.strerror or error}."
                ) from error
            raise PortError(
                f"port {port} of {address} cannot be taken: {error.strerror or error}. Maybe another "
                "perfield serve runs there; choose another port by --port; 0 takes any that is free."
            ) from error

    @property
    def url(self) -> str:
        """What to open in a browser, with the token if one is needed; for a Unix socket, its path."""
        if self.socket_path is not None:
            return str(self.socket_path.absolute())
        name = "localhost" if self._address in ("localhost", LOCALHOST) else self._address
        if name in ("0.0.0.0", "::"):
            name = socket.gethostname()
        name = f"[{name}]" if ":" in name else name
        return f"http://{name}:{self.server_port}/" + (f"?token={self.gate.token}" if self.gate.token else "")

    def server_bind(self) -> None:
        """Takes the port, or the path."""
        if self.socket_path is None:
            return super().server_bind()
        self._bound = unix_socket.bind(self.socket, self.socket_path)
        self.server_name, self.server_port = "localhost", 0

    def server_close(self) -> None:
        """Gives the port or the path back."""
        super().server_close()
        if self.socket_path is not None and self._bound is not None:
            unix_socket.remove(self.socket_path, self._bound)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for a new connection; else says why not."""
        if self.connections.add(request):
            return True
        body = failure("All connections to perfield serve are busy; try again.", 503).body
        with contextlib.suppress(OSError):  # a new connection takes a few bytes without waiting
            request.sendall(FULL % len(body) + body)
        return False

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection."""
        self.connections.remove(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called several times a second: ends connections that are too slow."""
        self.connections.end_slow()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a browser that went away; anything else is a fault of ours."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "perfield"
    sys_version = ""

    def setup(self) -> None:
        """Prepares a connection."""
        # else each answer on a kept connection waits 40 ms for a confirmation
        self.disable_nagle_algorithm = self.server.socket_path is None
        super().setup()
        self.rfile = _Head(self.rfile)

    def handle_one_request(self) -> None:
        """Waits for a request and answers it."""
        self.rfile.left = MOST_HEAD
        self.server.connections.wait(self.connection)
        super().handle_one_request()

    def do_GET(self) -> None:
        """Answers a request."""
        self.server.connections.answer(self.connection)
        if "Transfer-Encoding" in self.headers or self.headers.get_all("Content-Length", ["0"]) != ["0"]:
            self.close_connection = True  # else the body would be read as the next request
            sentence = f"a body came with {self.command}; nothing is read here."
            return self._refuse(sentence, HTTPStatus.BAD_REQUEST, {"Connection": "close"})
        if len(self.path) > LONGEST:
            return self._refuse("the request's address is too long.", HTTPStatus.REQUEST_URI_TOO_LONG)
        gate, headers = self.server.gate, self.headers
        try:
            target = urlsplit(self.path)
        except ValueError:
            return self._refuse("the request's address is malformed.", HTTPStatus.BAD_REQUEST)
        refused = gate.wrong_name(headers.get("Host", ""))
        begin, _, rest = target.path.partition("/")
        room, _, name = rest.partition("/") if not begin else ("", "", "")
        if refused is None and room == "api":
            refused = gate.refusal(headers.get("Authorization", ""), headers.get("Sec-Fetch-Site", ""))
        if refused is not None:
            return self._refuse(refused.sentence, refused.status)
        if target.path == "/":
            return self._send_file(self.server.page[INDEX])
        if room == "page" and name in self.server.page:
            return self._send_file(self.server.page[name])
        if target.path == f"/page/{LIBRARY}":
            return self._refuse(WITHOUT_LIBRARY, HTTPStatus.NOT_FOUND)
        if room == "api":
            self.server.connections.know(self.connection)
            if name == "session":
                return self._send(Answer(as_json({"session": gate.session})))
            with self.server.makers:
                answered = self._answered(name, target.query)
            return self._send(answered)
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

    def _send_file(self, file: PageFile) -> None:
        more = {"ETag": file.tag, "Cache-Control": "no-cache"}  # to be kept, and asked for each time
        if self.headers.get("If-None-Match") == file.tag:
            return self._send(Answer(b"", file.kind, HTTPStatus.NOT_MODIFIED), more)
        return self._send(Answer(file.body, file.kind), more)

    def _refuse(self, sentence: str, status: int, more: Mapping[str, str] = {}) -> None:
        self._send(failure(sentence[:1].upper() + sentence[1:], status), more)

    def _send(self, answered: Answer, more: Mapping[str, str] = {}) -> None:
        try:
            with self.server.connections.sending(self.connection, len(answered.body)):
                self._write(answered, more)
        except BusyError as error:
            self._write(failure(str(error), HTTPStatus.SERVICE_UNAVAILABLE), {"Retry-After": "5"})

    def _write(self, answered: Answer, more: Mapping[str, str]) -> None:
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
            self.wfile.write(body)

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


class _Head:
    """The bytes of a connection; a request may take `left` of them."""

    def __init__(self, file: io.BufferedIOBase):
        self._file, self.left = file, MOST_HEAD

    def readline(self, limit: int) -> bytes:
        """A line; raises LineTooLong, which Python's library answers, if the request has too many bytes."""
        line = self._file.readline(min(limit, self.left + 1))
        self.left -= len(line)
        if self.left < 0:
            raise http.client.LineTooLong("request")
        return line

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


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
        answer(followed, name, "")  # kept, or why not, which whoever asks gets again
