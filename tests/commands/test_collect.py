# SPDX-License-Identifier: BSD-3-Clause
"""`perfield setup collect`, and `perfield info` for streams that are still on their nodes."""

from __future__ import annotations

import json
import os

import pytest

from perfield import commands
from twins import twin


@pytest.fixture
def run(tmp_path):
    """A run of two hosts; one has staged its stream on a disk of this host."""
    path = twin.write_run(tmp_path / "run", ranks=4, steps=3, hosts=("a", "b"))
    facts = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(facts, indent=2))  # as the recorder writes it
    stream = next((path / "stream").glob("b-*.pf"))
    staged = tmp_path / f"perfield-{facts['run_id']}-{stream.stem}"
    staged.mkdir()
    stream.rename(staged / "stream.pf")
    note = {"host": "b", "directory": str(staged)}
    (path / "stream" / f".staged-{stream.stem}").write_text(json.dumps(note))
    return path


def test_info_lists_staged_streams(run, capsys):
    assert commands.main(["info", str(run)]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("damage     1 stream is still staged on host b (in ")
    assert line.endswith(f"call on each of these hosts: perfield setup collect {run}")


def test_collect_moves_staged_streams_into_the_run(run, capfd):
    assert commands.main(["setup", "collect", str(run)]) == 0
    assert capfd.readouterr().out.startswith("collected  b-")
    assert commands.main(["info", str(run)]) == 0
    said = capfd.readouterr().out
    assert "steps      3 on 4 ranks" in said and "damage" not in said


def test_collect_refuses_a_directory_that_is_no_run(tmp_path, capfd):
    assert commands.main(["setup", "collect", str(tmp_path)]) == 2
    assert f"{tmp_path} holds no run.json of perfield; give the directory" in capfd.readouterr().err


def test_names_in_notes_control_no_terminal(run, capfd):
    note = {"host": "a\x1b]0;title\x07\nelsewhere", "directory": "/nowhere/\x1b[31m"}
    (run / "stream/.staged-planted").write_text(json.dumps(note))
    note["host"] = os.uname().nodename
    (run / "stream/.staged-here").write_text(json.dumps(note))
    commands.main(["setup", "collect", str(run)])
    commands.main(["info", str(run)])
    out, err = capfd.readouterr()
    assert (
        "on host a?]0;title??elsewhere; collect" in out and "/nowhere/?[31m/stream.pf does not exist" in err
    )
    assert "\x1b" not in out + err and r"a\x1b]0;title\x07\nelsewhere" in out
