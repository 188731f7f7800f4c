# SPDX-License-Identifier: BSD-3-Clause
"""Pipes, devices and links in place of files of a run cost a sentence and no command waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import perfield
from perfield.child_python import run_code
from perfield.commands import main
from perfield.topology import placement_of
from twins import twin

LIMIT_S = 60  # far more than a command takes; in a pipe it would wait for ever
READING = {  # commands that read a run
    "info": ("info", "RUN", "--ranks", "--messages"),
    "steps": ("steps", "RUN"),
    "fields": ("fields", "RUN"),
    "report": ("report", "RUN", "--text"),
    "plot": ("plot", "RUN", "--only", "imbalance"),
    "render": ("render", "RUN", "--steps", "1"),
    "export": ("export", "RUN", "--to", "perfetto", "-o", "trace"),
    "placement": ("placement", "RUN"),
    "rhythm": ("lab", "rhythm", "RUN"),
    "compare": ("compare", "RUN", "--steps", "1", "2"),
    "balance": ("balance", "RUN"),
    "collect": ("setup", "collect", "RUN"),
}
KINDS = {
    "pipe": os.mkfifo,
    "device": lambda place: place.symlink_to("/dev/zero"),
    "link": lambda place: place.symlink_to("/etc/passwd"),
}
FILES = {  # a file of a run, and what says that it is not read
    "stream/node0.pf": lambda run: run.damage,
    "mesh/node0.pf": lambda run: run.damage,
    "machine/node0.xml": lambda run: placement_of(run).notes,
    "machine/network.txt": lambda run: placement_of(run).notes,
}


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """Interrupts what waits."""

    def too_long(*_: object) -> None:
        raise AssertionError(f"it waited for {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    """A run of two hosts with a machine and a network; each file is named for its host."""
    path = twin.write_run(tmp_path / "run", ranks=4, steps=4, hosts=("node0", "node1"))
    for room in ("stream", "mesh"):
        for file in list((path / room).iterdir()):
            file.rename(file.with_name(f"{file.name[:5]}.pf"))
    (path / "machine/network.txt").write_text("SwitchName=s0 Nodes=node[0-1]\n")
    monkeypatch.chdir(tmp_path)
    return path


def replaced(file: Path, kind: str) -> None:
    """Puts a pipe, a device or a link in place of a file of a run, or of a folder."""
    if file.exists():
        file.rename(file.with_name(f"{file.name}-before"))
    KINDS[kind](file)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_rest_of_a_run_is_read_and_a_sentence_names_the_file(run, name, kind):
    replaced(run / name, kind)
    read = perfield.open(run)
    said = [sentence for sentence in FILES[name](read) if name in sentence]
    assert said and ("pipe" if kind == "pipe" else "link that leads out") in said[0]
    assert read.n_ranks == 4 and (read.rank_entries[3] or {})["host"] == "node1"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["run.json", "stream"])
def test_without_what_a_run_needs_a_sentence_names_it(run, name, kind, capfd):
    replaced(run / name, kind)
    assert main(["info", "run"]) == 2
    said = capfd.readouterr().err
    assert f"run/{name} is a" in said and said.count("\n") == 1, said


@pytest.mark.parametrize("command", READING)
def test_no_command_waits_for_pipes(run, command, capfd):
    for name in (*FILES, "analysis", "pictures", "follow"):
        replaced(run / name, "pipe")
    words = ["run" if word == "RUN" else word for word in READING[command]]
    code = main(words)
    assert code in (0, 1, 2), capfd.readouterr().err
    assert "is an error in perfield" not in capfd.readouterr().err


@pytest.mark.parametrize("command", sorted(set(READING) - {"collect"}))
def test_run_json_that_is_a_pipe_is_a_sentence(run, command, capfd):
    replaced(run / "run.json", "pipe")
    assert main(["run" if word == "RUN" else word for word in READING[command]]) == 2
    said = capfd.readouterr().err
    assert "run.json is a pipe" in said and said.count("\n") == 1, said


def test_pictures_are_described_by_a_regular_file(run, capfd):
    from perfield.commands.open import pictures_of

    (run / "pictures").mkdir()
    os.mkfifo(run / "pictures/pictures.json")
    assert pictures_of(run / "pictures") == []


@pytest.mark.parametrize("named", ["option", "setting"])
def test_mesh_that_is_a_pipe_is_a_sentence(run, capfd, named, tmp_path):
    os.mkfifo(tmp_path / "mesh.vtu")
    words = ["--mesh", "mesh.vtu"]
    if named == "setting":
        twin.write_run(tmp_path / "other", ranks=2, steps=1, config={"mesh_path": str(tmp_path / "mesh.vtu")})
        words = []
    main(["render", "other" if named == "setting" else "run", "--steps", "1", "--geometry", *words])
    said = capfd.readouterr()
    assert "mesh.vtu is not a regular file" in said.out + said.err


NAMED = {
    "regimes of .npy": ("times.npy", "lab", "regimes", "PIPE"),
    "regimes of .csv": ("times.csv", "lab", "regimes", "PIPE"),
    "oscillate": ("model.toml", "lab", "oscillate", "--config", "PIPE"),
    "oscillate, whose model names a matrix": ("matrix.mtx", "lab", "oscillate", "--config", "named.toml"),
    "inject": ("trace", "lab", "inject", "--trace", "PIPE", "-n", "1", "true"),
}


@pytest.mark.parametrize("case", NAMED)
def test_named_file_that_is_a_pipe_is_a_sentence(tmp_path, monkeypatch, case, capfd):
    name, *words = NAMED[case]
    monkeypatch.chdir(tmp_path)
    os.mkfifo(name)
    Path("named.toml").write_text('[topology]\nfile = "matrix.mtx"\n')
    assert main([name if word == "PIPE" else word for word in words]) == 2
    said = capfd.readouterr().err
    assert f"{name} is " in said and said.count("\n") == 1, said


def test_records_that_are_pipes_are_a_sentence(tmp_path):
    from perfield.derived.numpy_files import read_numpy

    os.mkfifo(tmp_path / "matvec.0.npy")
    with pytest.raises(ValueError, match="is a pipe, expected a regular file"):
        read_numpy(tmp_path / "matvec.0.npy")


def test_settings_of_matplotlib_in_the_current_directory_are_not_read(tmp_path):
    (tmp_path / "matplotlibrc").write_text("animation.ffmpeg_path: ./planted\ntext.usetex: True\n")
    code = """
import os
from perfield.commands import main
main(["none"])
import matplotlib
print([matplotlib.rcParams[name] for name in ("animation.ffmpeg_path", "text.usetex")], os.getcwd())
"""
    done = subprocess.run(run_code(sys.executable, code), cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == f"['ffmpeg', False] {tmp_path}", done.stderr
