# SPDX-License-Identifier: BSD-3-Clause
"""`perfield serve` as a user starts it: what it prints, and why it may refuse."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from perfield import commands
from twins import twin


@pytest.fixture
def run(tmp_path):
    """A small run."""
    return twin.write_run(tmp_path / "perfield-run", 2, 2)


@contextlib.contextmanager
def started(*words, cwd=None, env=None, program=("-m", "perfield.commands"), end=signal.SIGINT):
    """The address that `perfield serve` prints. env : instead of `--no-browser`, a user's environment.
    end : the signal that ends it."""
    port = [] if "--socket" in words else ["--port", "0"]
    command = [sys.executable, *program, "serve", *port, *words]
    command += ["--no-browser"] if env is None else []
    hup = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup's would be inherited
    process = subprocess.Popen(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    signal.signal(signal.SIGHUP, hup)
    with process:
        try:
            for line in process.stdout:
                if found := re.search(r"the page is at (\S+)(?: after .*)?; Ctrl-C ends it", line):
                    yield found[1]
                    break
            else:
                raise AssertionError(process.stderr.read())
        finally:
            process.send_signal(end)
            _, errors = process.communicate(timeout=120)
            assert "Traceback" not in errors and process.returncode == 0, errors


def test_newest_run_is_served_and_interrupt_ends_it(run):
    with started(cwd=run.parent) as address:
        assert re.fullmatch(r"http://localhost:\d+/\?token=[\w-]{43}", address)
        assert asked(address)["name"] == "perfield-run"


def asked(address):
    """What the server at a printed address says of its run."""
    place, _, token = address.partition("?token=")
    request = urllib.request.Request(f"{place}api/run", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


BUSY = """
import sys, threading
from perfield import commands
from perfield.serve import server

def answer_for_ever(followed):
    run = followed.view().run
    def read():
        while True:
            run.values(run.columns.names, [0, 1] * 500)
    for _ in range(8):
        threading.Thread(target=read, daemon=True).start()

server._prepare = answer_for_ever
sys.exit(commands.main(sys.argv[1:]))
"""


def test_interrupt_ends_it_amid_an_answer(run):
    with started(str(run), program=("-c", BUSY)) as address:
        urllib.request.urlopen(address, timeout=120).close()


@pytest.mark.parametrize("variables", [{}, {"DISPLAY": ":77"}], ids=["no window", "no browser"])
def test_without_a_browser_the_address_is_printed_and_the_page_served(run, tmp_path, variables):
    if not variables:  # a browser in the terminal would wait for the page that waits for it
        (tmp_path / "w3m").write_text("#!/bin/sh\nexec /bin/sleep 1000\n")
        (tmp_path / "w3m").chmod(0o755)
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    env |= {"PATH": str(tmp_path), "TERM": "xterm", **variables}
    with started(str(run), env=env) as address, urllib.request.urlopen(address, timeout=120) as answer:
        assert answer.status == 200


def test_token_is_made_and_printed_where_others_can_reach(run, tmp_path):
    with started(str(run), "--address", "127.0.0.1", "--token", "new") as address:
        assert re.search(r"/\?token=[\w-]{43}$", address)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address.partition("?")[0] + "api/run", timeout=120)
    file = tmp_path / "token"
    file.write_text("a-token-of-my-own\n")
    file.chmod(0o600)
    with started(str(run), "--address", "0.0.0.0", "--token", str(file)) as address:
        assert address.endswith("/?token=a-token-of-my-own") and socket.gethostname() in address


def test_token_is_left_out_only_where_the_user_says_so(run, capsys):
    with started(str(run), "--token", "none") as address:
        assert re.fullmatch(r"http://localhost:\d+/", address)
        assert asked(address)["n_ranks"] == 2
    assert commands.main(["serve", str(run), "--token", "none", "--address", "0.0.0.0"]) == 2
    assert "0.0.0.0 can be reached by others; it needs a token" in capsys.readouterr().err


BROWSER = """#!/bin/sh
tr '\\0' '\\n' < /proc/$$/cmdline > seen.new
file=$(echo "$1" | sed 's,file://,,')
cat "$file" >> seen.new
stat -c '%a' "$file" "$(dirname "$file")" >> seen.new
mv seen.new seen
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_browser_gets_a_private_file_and_no_token(run, tmp_path, end):
    for name in ("xdg-open", "www-browser"):
        (tmp_path / name).write_text(BROWSER)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "temporary").mkdir()
    env = {name: value for name, value in os.environ.items() if name not in ("BROWSER", "WAYLAND_DISPLAY")}
    env |= {"PATH": f"{tmp_path}:{env['PATH']}", "DISPLAY": ":77", "TMPDIR": str(tmp_path / "temporary")}
    env |= {"BROWSER": str(tmp_path / "xdg-open")}
    with started(str(run), cwd=tmp_path, env=env, end=end) as address:
        until = time.monotonic() + 60
        while not (tmp_path / "seen").exists() and time.monotonic() < until:
            time.sleep(0.01)
        seen = (tmp_path / "seen").read_text()
    arguments, _, rest = seen.partition("<!doctype html>")
    token = address.partition("?token=")[2]
    assert arguments.strip().endswith("/page.html") and token not in arguments
    assert f"url={address}" in rest and rest.split()[-2:] == ["600", "700"]
    assert not list((tmp_path / "temporary").iterdir())


def test_other_machine_is_reported_how_to_reach_the_page(monkeypatch):
    from perfield.commands._browser import way_to

    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    assert way_to("http://localhost:9000/?token=x") == ""
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
    monkeypatch.setattr(socket, "gethostname", lambda: "login1")
    way = " after ssh -L 9000:localhost:9000 login1 where your browser is"
    assert way_to("http://localhost:9000/?token=x") == way
    assert way_to("http://login1:9000/?token=x") == ""


def test_socket_is_printed_with_the_way_to_it(run, tmp_path, capsys):
    with started(str(run), "--socket", "page.sock", cwd=tmp_path) as address:
        assert address == "http://localhost:8017/"
        assert (tmp_path / "page.sock").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "page.sock").exists()
    assert commands.main(["serve", str(run), "--socket", "page.sock", "--address", "0.0.0.0"]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_server_starts_without_vtk_and_pandas():
    script = "import sys, perfield.serve.server\n"
    script += "print(*{'pandas', 'xarray', 'scipy.stats', 'vtkmodules'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert printed.stdout == "\n", printed.stdout


@pytest.mark.parametrize(
    ("text", "mode", "sentence"),
    [
        ("a-token-of-my-own", 0o644, "can be read by other users"),
        ("short", 0o600, "has 5 characters; expected a token of at least 16"),
        ("with spaces and more", 0o600, "expected a token of at least 16 letters"),
    ],
)
def test_poor_tokens_are_refused(run, tmp_path, capsys, text, mode, sentence):
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(mode)
    assert commands.main(["serve", str(run), "--no-browser", "--token", str(file)]) == 2
    assert sentence in capsys.readouterr().err
    file.unlink()
    assert commands.main(["serve", str(run), "--no-browser", "--token", str(file)]) == 2
    assert "there is no such file; without --token perfield makes a token" in capsys.readouterr().err


def test_taken_and_impossible_ports_are_reported(run, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert commands.main(["serve", str(run), "--no-browser", "--port", port]) == 2
    assert f"port {port} of localhost cannot be taken" in capsys.readouterr().err
    assert commands.main(["serve", str(run), "--port", "70000"]) == 2
    assert "expected 0 to 65535" in capsys.readouterr().err


def test_what_is_no_run_and_no_mesh_is_reported(run, tmp_path, capsys):
    assert commands.main(["serve", str(tmp_path / "nothing"), "--no-browser"]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert commands.main(["serve", str(run), "--no-browser", "--mesh", str(tmp_path / "none")]) == 2
    assert "give a mesh file, as results.case" in capsys.readouterr().err
    (run / "machine" / "a.xml").symlink_to("/etc/hostname")
    assert commands.main(["serve", str(run), "--no-browser"]) == 2
    assert "leads out of the run directory" in capsys.readouterr().err
