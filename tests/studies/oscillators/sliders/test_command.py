# SPDX-License-Identifier: BSD-3-Clause
"""`perfield lab sliders` in a browser: the page loads without a network, and moving a slider changes it."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

pytest.importorskip("bokeh", reason="bokeh is not installed")

from bokeh.util.token import generate_jwt_token, generate_session_id
from drivers.chromium import browser
from drivers.driven_chromium import opened_tab

from perfield import commands
from perfield.serve import connections
from twins import twin

STATE = "Bokeh.documents[0].get_model_by_name('state').text"


@contextlib.contextmanager
def served(*words: object) -> Iterator[str]:
    """The address of a page that `perfield lab sliders` serves."""
    command = [sys.executable, "-m", "perfield.commands", "lab", "sliders", "--port", "0", "--no-browser"]
    with subprocess.Popen([*command, *map(str, words)], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r"http://localhost:\d+/\?token=[\w-]{43}", process.stdout.readline())[0]
        finally:
            process.terminate()
            process.wait(timeout=120)


def test_slider_that_moves_changes_the_picture(tmp_path):
    browser()
    run = twin.write_run(tmp_path / "run", ranks=4, steps=8)
    with served(run) as address, opened_tab(address, tmp_path) as tab:
        tab.until("window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle")
        assert tab.value("Bokeh.documents[0].get_model_by_name('preset').value") == "run run"
        before, picture = tab.value(STATE), tab.picture()
        # Focus the handle of the slider inside the page's shadow trees, as Tab would, and press an arrow.
        found = (
            "(() => { const all = root => [...root.querySelectorAll('*')].flatMap("
            "e => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);"
            "const slider = all(document).find(e => /coupling, times/.test(e.textContent) && "
            "e.classList.contains('bk-slider-title'));"
            "slider.parentNode.querySelector('.noUi-handle').focus(); return true; })()"
        )
        assert tab.value(found)
        for _ in range(8):
            tab.press("ArrowRight")
        tab.until("Bokeh.documents[0].get_model_by_name('coupling').value > 1.3")
        changed = tab.until(f"{STATE} != {before!r} && !{STATE}.includes('computing') && {STATE}")
        assert "4 oscillators" in changed
        assert tab.picture() != picture
        assert not tab.complaints, (
            tab.complaints
        )  # neither errors nor scripts that a network should have brought


def test_axes_of_time_follow_a_longer_preset(tmp_path):
    browser()
    with served() as address, opened_tab(address, tmp_path) as tab:
        tab.until("window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle")
        before = tab.value(STATE)
        preset = "Bokeh.documents[0].get_model_by_name('preset')"
        longer = f"{preset}.options.find(title => title.startsWith('Figure 9'))"
        assert tab.value(f"(() => {{ {preset}.value = {longer}; return true; }})()")
        tab.until(f"{STATE} != {before!r} && !{STATE}.includes('computing') && Bokeh.documents[0].is_idle")
        tab.until("Bokeh.documents[0].get_model_by_name('order').x_range.end > 999")  # periods


def test_page_and_its_socket_need_the_token():
    with served() as address:
        page, _, token = address.partition("?token=")
        for wrong in (page, f"{page}?token=x{token}", f"{page}autoload.js?bokeh-autoload-element=a"):
            with pytest.raises(urllib.error.HTTPError, match="401") as refused:
                urllib.request.urlopen(wrong, timeout=60)
            refused.value.close()
            assert "A token is needed" in refused.value.reason
        with urllib.request.urlopen(address, timeout=60) as answer:
            shown = answer.read().decode()
        of_the_page = re.search(r'"token":"([^"]+)"', shown)[1]
        assert b"ACK" in websocket(page, f"?token={token}", of_the_page)
        assert b"ACK" not in websocket(page, "", of_the_page)
        made_up = generate_jwt_token(generate_session_id())
        assert b"ACK" not in websocket(page, f"?token={token}", made_up)


def test_idle_connections_make_room_for_readers():
    with served() as address, contextlib.ExitStack() as idle:
        port = int(re.search(r":(\d+)/", address)[1])
        first, *_ = [
            idle.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            for _ in range(connections.MOST)
        ]
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert b"bokeh" in answer.read()
        assert first.recv(1) == b""  # the oldest one was closed


def websocket(page: str, query: str, session: str) -> bytes:
    """What the websocket of a page says until bokeh acknowledges the session, or the connection ends."""
    port = int(page.rpartition(":")[2].strip("/"))
    words = [
        f"GET /ws{query} HTTP/1.1",
        f"Host: localhost:{port}",
        f"Origin: http://localhost:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        f"Sec-WebSocket-Protocol: bokeh, {session}",
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall("\r\n".join([*words, "", ""]).encode())
        said = b""
        while b"ACK" not in said and b"Content-Length" not in said and (part := raw.recv(1 << 16)):
            said += part
            if b"\x88" in part.partition(b"\r\n\r\n")[2][:1]:  # the frame that closes
                break
        return said


def test_missing_bokeh_names_the_extra(capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("perfield.studies.oscillators.sliders")]:
        monkeypatch.delitem(sys.modules, name)
    # Bokeh alone: modules that are imported here keep this function.
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "bokeh" else found(name))
    assert commands.main(["lab", "sliders", "--no-browser"]) == 2
    assert "call pip install 'perfield[lab]'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="0"):
        commands.main(["--help"])  # loads all commands


def test_run_that_is_none_is_reported(tmp_path, capsys):
    assert commands.main(["lab", "sliders", str(tmp_path / "nothing"), "--no-browser"]) == 2
    assert "nothing does not exist" in capsys.readouterr().err


def test_taken_port_is_reported(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert commands.main(["lab", "sliders", "--port", str(port), "--no-browser"]) == 2
    assert f"port {port} cannot be taken" in capsys.readouterr().err


def test_impossible_port_is_reported(capsys):
    assert commands.main(["lab", "sliders", "--port", "70000"]) == 2
    assert "--port 70000 is not a port; expected 0 to 65535." in capsys.readouterr().err
