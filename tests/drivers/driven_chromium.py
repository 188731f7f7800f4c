# SPDX-License-Identifier: BSD-3-Clause
"""Drives headless Chromium by its DevTools protocol, as a user would: it sees pages of this machine only."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drivers.chromium import browser

PATIENCE_S = 180.0


class Tab:
    """An open page. The network beyond this machine is cut off."""

    def __init__(self, socket: Any, loop: asyncio.AbstractEventLoop):
        self._socket, self._loop, self._number = socket, loop, 0
        self.complaints: list[str] = []
        """Errors of the page's scripts, and what it failed to load."""
        for domain in ("Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict:
        """Calls a method of the protocol; returns its result."""
        self._number += 1
        message = json.dumps({"id": self._number, "method": method, "params": parameters})
        return self._loop.run_until_complete(self._answered(message))

    async def _answered(self, message: str) -> dict:
        await self._socket.write_message(message)
        while True:
            said = json.loads(await asyncio.wait_for(self._socket.read_message(), PATIENCE_S))
            entry = said.get("params", {}).get("entry", {})
            if said.get("method") == "Runtime.exceptionThrown" or entry.get("level") == "error":
                self.complaints.append(json.dumps(said["params"]))
            if said.get("id") == self._number:
                assert "error" not in said, said["error"]
                return said["result"]

    def value(self, script: str) -> Any:
        """The value of an expression in JavaScript."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def until(self, script: str) -> Any:
        """The value of an expression as soon as it is true."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            with contextlib.suppress(AssertionError):  # between two pages no script can run
                if found := self.value(script):
                    return found
            time.sleep(0.05)
        raise AssertionError(f"never true: {script}; the page said {self.complaints}")

    def press(self, key: str) -> None:
        """Presses a key on what has the focus."""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=_CODES[key]
            )

    def click(self, x: float, y: float) -> None:
        """Moves the pointer to a place of the page, in pixels, and clicks."""
        for kind, button in (("mouseMoved", "none"), ("mousePressed", "left"), ("mouseReleased", "left")):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def visit(self, address: str) -> None:
        """Loads another page, or the same one anew, and forgets those before.

        A tab keeps 50 entries of its history; beyond, Chromium drops some that scripts added, so that Back
        leaves the page.
        """
        self.call("Page.navigate", url="about:blank")
        self._loaded("about:blank")
        self.call("Page.navigate", url=address)
        self._loaded(address)
        self.call("Page.resetNavigationHistory")

    def _loaded(self, address: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            with contextlib.suppress(AssertionError):  # between two pages no script can run
                here, state = self.value("[location.href, document.readyState]")
                if here.split("#")[0] == address.split("#")[0] and state == "complete":
                    return
            time.sleep(0.05)
        raise AssertionError(f"{address} was never loaded; the page said {self.complaints}")

    def picture(self) -> bytes:
        """What the page looks like, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])


_CODES = {"ArrowRight": 39, "ArrowLeft": 37, "0": 48}


@contextlib.contextmanager
def opened_tab(address: str, place: Path, size: str = "1500,1050", webgl: bool = False) -> Iterator[Tab]:
    """A tab that shows the page at an address. place : for the browser's files. webgl : 3-D, in software."""
    from tornado.websocket import websocket_connect

    async def connected(tab: str) -> Any:
        return await websocket_connect(tab, max_message_size=2**26)

    profile = place / "profile"
    words = ["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run"]
    words += ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"] if webgl else ["--disable-gpu"]
    words += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"]
    words += ["--remote-debugging-port=0", f"--user-data-dir={profile}", f"--window-size={size}", address]
    loop = asyncio.new_event_loop()
    with subprocess.Popen(
        [browser(), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        socket = None
        try:
            tab = _page(profile / "DevToolsActivePort", process)
            socket = loop.run_until_complete(connected(tab))
            yield Tab(socket, loop)
        finally:
            if socket is not None:
                loop.run_until_complete(_left(socket))
            try:  # a browser that closes itself leaves no files in /tmp
                process.wait(timeout=20 if socket is not None else 0)
            except subprocess.TimeoutExpired:
                process.kill()
            loop.close()


async def _left(socket: Any) -> None:
    """Closes the browser and waits until its end is closed, so that no task and no socket is left open."""
    with contextlib.suppress(Exception):  # it may have ended
        await socket.write_message(json.dumps({"id": 0, "method": "Browser.close"}))
    socket.close()
    while await socket.read_message() is not None:
        pass
    await asyncio.sleep(0.05)  # the tasks that read end, too


def _page(ports: Path, process: subprocess.Popen) -> str:
    """The address of the open page in the protocol."""
    from urllib.request import ProxyHandler, build_opener

    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        assert process.poll() is None, "Chromium ended"
        with contextlib.suppress(OSError, IndexError, ValueError, StopIteration):
            port = ports.read_text().split()[0]
            with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{port}/json", timeout=5) as answer:
                tabs = json.loads(answer.read())
            return next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        time.sleep(0.1)
    raise AssertionError("Chromium opened no page")
