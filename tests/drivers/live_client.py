# SPDX-License-Identifier: BSD-3-Clause
"""A ParaView without a window that waits for a live connection, prints what it sees, and obeys.

with live_client.Client(tmp_path) as client:
    ...                                   # start what connects to client.address
    until(lambda: len(client.seen()) >= 3)  # ranges of `heat`, in the order in which they came
    client.say("pause"); client.say("go")
    client.vanish()
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, select, sys, time
from paraview.simple import *
from paraview import live

link = live.ConnectToCatalyst("localhost", int(sys.argv[1]))

def pump(seconds):
    until = time.time() + seconds
    while time.time() < until:
        live.ProcessServerNotifications()
        time.sleep(0.01)

def answer(**what):
    print(json.dumps(what), flush=True)

def obey():
    if select.select([sys.stdin], [], [], 0)[0]:
        word = sys.stdin.readline().strip()
        if not word:
            sys.exit()
        live.PauseCatalyst(link, word == "pause")
        answer(said=word)

answer(said="waiting")
while True:
    pump(0.1)
    manager = link.GetInsituProxyManager()
    if manager and manager.GetNumberOfProxies("sources") >= 2:
        break
data = {name: live.ExtractCatalystData(link, name) for name in ("geometry", "topology")}
last = None
while True:
    pump(0.1)
    obey()
    for source in data.values():
        source.UpdatePipeline()
    heat, steps = data["geometry"].PointData["heat"], data["topology"].CellData["step_time_s"]
    if heat is not None and steps is not None and heat.GetRange(0) != last:
        last = heat.GetRange(0)
        sent = data["geometry"].PointData["sendrecv_bytes_to_0"]  # if rank 0 is in focus
        answer(heat=last, step_time_s=steps.GetRange(0), sent_to_0=sent and sent.GetRange(0))
"""


def free_port() -> int:
    """A port of this machine that nothing listens on, below those that the system gives to connections."""
    while True:
        with contextlib.suppress(OSError), socket.socket() as listening:
            listening.bind(("", random.randrange(10_000, 32_000)))
            return listening.getsockname()[1]


class Client:
    """A waiting ParaView. folder : where its output, `words`, goes. address : host:port, for `live`."""

    def __init__(self, folder: Path, port: int | None = None):
        port = port or free_port()
        self.address = f"localhost:{port}"
        self.words = folder / f"client-{port}.txt"
        with self.words.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SCRIPT, str(port)],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                text=True,
            )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.vanish()

    def answers(self) -> list[dict]:
        """All that it said."""
        lines = self.words.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def seen(self) -> list[tuple[float, float]]:
        """The ranges of `heat` that it saw, in their order."""
        return [tuple(words["heat"]) for words in self.answers() if "heat" in words]

    def say(self, word: str) -> None:
        """Orders it to "pause" or to "go"; `answers` says when it has."""
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def has_said(self, word: str) -> bool:
        """Whether it has obeyed, or is "waiting"."""
        return {"said": word} in self.answers()

    def vanish(self) -> None:
        """Kills it."""
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
