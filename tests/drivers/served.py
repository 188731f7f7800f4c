# SPDX-License-Identifier: BSD-3-Clause
"""A server of a run in this process, and requests to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from perfield.commands._reporter import RunReporter
from perfield.serve import followed
from perfield.serve.packed import unpacked
from perfield.serve.server import Server


class Client:
    """Asks a server, over a connection for each request."""

    def __init__(self, server: Server):
        self.server, self.port = server, server.server_port

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, Any]:
        """Status, body and headers of an answer. headers : `_` stands for `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            named = {"Host": f"localhost:{self.port}"}
            named |= {name.replace("_", "-"): value for name, value in headers.items()}
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in named.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def body(self, path: str) -> bytes:
        """The body of an answer that must come."""
        status, body, _ = self.ask(path)
        assert status == 200, body
        return body

    def json(self, path: str) -> Any:
        """An answer in JSON."""
        return json.loads(self.body(path))

    def packed(self, path: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """An answer of arrays and a header."""
        return unpacked(self.body(path))

    def refusal(self, path: str) -> tuple[int, str]:
        """Status and sentence of an answer that must not come."""
        status, body, _ = self.ask(path)
        assert status >= 400, body[:200]
        return status, json.loads(body)["error"]


@contextlib.contextmanager
def served(
    path: Path,
    mesh: Path | None = None,
    agrees: Callable[[str], bool] = lambda place: False,
    other: Path | None = None,
    **options: Any,
) -> Iterator[Client]:
    """A server of a run, at a free port. mesh, agrees : of `Followed`. other : a run beside it. options : of
    `Server`."""
    beside = followed.Followed(other) if other is not None else None
    shown = followed.Followed(path, mesh, agrees=agrees, reporter=RunReporter(), other=beside)
    with Server(shown, **options) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Client(server)
        finally:
            server.shutdown()
            thread.join()
