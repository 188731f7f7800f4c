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
import urllib.request

import pytest

import twin
from perfield import commands


@pytest.fixture
def run(tmp_path):
    """A small run."""
    return twin.write_run(tmp_path / "perfield-run", 2, 2)


@contextlib.contextmanager
def started(*words, cwd=None, env=None, program=("-m", "perfield.commands")):
    """The address that `perfield serve` prints. env : instead of `--no-browser`, a user's environment."""
    command = [sys.executable, *program, "serve", "--port", "0", *words]
    command += ["--no-browser"] if env is None else []
    with subprocess.Popen(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            for line in process.stdout:
                if found := re.search(r"the page is at (\S+); Ctrl-C ends it", line):
                    yield found[1]
                    break
            else:
                raise AssertionError(process.stderr.read())
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)
            assert "Traceback" not in errors and process.returncode == 0, errors


def test_newest_run_is_served_and_interrupt_ends_it(run):
    with started(cwd=run.parent) as address:
        assert re.fullmatch(r"http://localhost:\d+/", address)
        with urllib.request.urlopen(f"{address}api/run", timeout=120) as answer:
            assert json.load(answer)["name"] == "perfield-run"


BUSY = """
import sys, threading
from perfield import commands
from perfield.serve import server

def answer_for_ever(followed):
    run = followed.view().run
    def read():
        while True:
            run.columns.read(run.places([0, 1] * 500), run.columns.names)
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


def test_server_starts_without_vtk_and_pandas():
    script = "import sys, perfield.serve.server\n"
    script += "print(*{'pandas', 'xarray', 'scipy.stats', 'vtkmodules'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == "\n", told.stdout


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
    assert "there is no such file; --token new makes a token" in capsys.readouterr().err


def test_taken_and_impossible_ports_are_told(run, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert commands.main(["serve", str(run), "--no-browser", "--port", port]) == 2
    assert f"port {port} of localhost cannot be taken" in capsys.readouterr().err
    assert commands.main(["serve", str(run), "--port", "70000"]) == 2
    assert "expected 0 to 65535" in capsys.readouterr().err


def test_what_is_no_run_and_no_mesh_is_told(run, tmp_path, capsys):
    assert commands.main(["serve", str(tmp_path / "nothing"), "--no-browser"]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert commands.main(["serve", str(run), "--no-browser", "--mesh", str(tmp_path / "none")]) == 2
    assert "give a mesh file, as results.case" in capsys.readouterr().err
    (run / "machine" / "a.xml").symlink_to("/etc/hostname")
    assert commands.main(["serve", str(run), "--no-browser"]) == 2
    assert "leads out of the run directory" in capsys.readouterr().err
