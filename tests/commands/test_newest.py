# SPDX-License-Identifier: BSD-3-Clause
"""Commands without the name of a run take the newest one here, and say which it is."""

from __future__ import annotations

import json

import pytest

from twins import twin


def write(path, start_ns):
    """A run directory that started then."""
    twin.write_run(path, ranks=2, steps=3)
    facts = json.loads((path / "run.json").read_text()) | {"start_ns": start_ns}
    (path / "run.json").write_text(json.dumps(facts))


@pytest.fixture
def folder(tmp_path):
    """Three runs; the one in the middle by number started last. Other things have similar names."""
    for name, start_ns in (
        ("perfield-run", 10**18),
        ("perfield-run-2", 3 * 10**18),
        ("perfield-run-10", 2 * 10**18),
    ):
        write(tmp_path / name, start_ns)
    write(tmp_path / "perfield-run-old", 4 * 10**18)
    (tmp_path / "perfield-run-11").mkdir()
    (tmp_path / "perfield-run-12").write_text("no run")
    return tmp_path


NEWEST = "perfield: using perfield-run-2, the newest of 3 runs\n"


def test_info_takes_the_run_that_started_last(perfield_cli, folder):
    result = perfield_cli("info", cwd=folder)
    assert (result.returncode, result.stderr) == (0, NEWEST)
    assert result.stdout.startswith("perfield-run-2: ")


def test_json_of_the_newest_run_stays_json(perfield_cli, folder):
    result = perfield_cli("info", "--json", cwd=folder)
    assert json.loads(result.stdout)["run"] == "perfield-run-2"


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (("render", "--topology"), "perfield-run-2/pictures/topology.pvd"),
        (("export", "--to", "zarr"), "perfield-run-2.zarr"),
        (("plot", "--only", "regions"), "perfield-run-2/pictures/plots/regions.png"),
        (("steps",), "perfield-run-2"),
        (("setup", "collect"), "perfield-run-2"),
    ],
)
def test_other_commands_take_the_newest_run(perfield_cli, folder, words, made):
    result = perfield_cli(*words, cwd=folder)
    assert (result.returncode, result.stderr) == (0, NEWEST)
    assert (folder / made).exists()


def test_open_takes_the_newest_run(perfield_cli, folder):
    result = perfield_cli("open", cwd=folder, env={"DISPLAY": None, "WAYLAND_DISPLAY": None})
    assert result.stderr.startswith(NEWEST)
    assert "Copy perfield-run-2/pictures to a machine with ParaView" in result.stderr
    assert (folder / "perfield-run-2/pictures/topology.pvd").exists()


def test_named_run_is_taken_without_a_word(perfield_cli, folder):
    result = perfield_cli("info", "perfield-run", cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("perfield-run: ")


def test_newest_run_follows_the_configured_name(perfield_cli, tmp_path):
    (tmp_path / "runs").mkdir()
    for n, name in enumerate(("case", "case-2")):
        write(tmp_path / "runs" / name, 10**18 + n)
    result = perfield_cli("info", cwd=tmp_path, env={"PERFIELD_RUN_DIRECTORY": "runs/case"})
    assert result.stderr == "perfield: using runs/case-2, the newest of 2 runs\n"


def test_only_run_is_named(perfield_cli, tmp_path):
    write(tmp_path / "perfield-run", 10**18)
    assert perfield_cli("info", cwd=tmp_path).stderr == "perfield: using perfield-run\n"


def test_no_run_gives_a_sentence(perfield_cli, tmp_path):
    result = perfield_cli("info", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr == (
        "perfield info: found no run perfield-run, perfield-run-2, ... here; name a run directory, or "
        "measure a program: perfield run -n 8 ./a.out\n"
    )


def test_runs_of_other_names_are_listed_where_none_is_the_newest(perfield_cli, tmp_path):
    for name in ("perfield-demo", "before"):
        write(tmp_path / name, 10**18)
    said = perfield_cli("info", cwd=tmp_path).stderr
    assert "here; name one of the others, before and perfield-demo, or measure a program" in said


def test_run_in_which_nothing_was_measured_is_passed_over(perfield_cli, folder):
    claimed = folder / "perfield-run-13"  # as `perfield setup env` leaves it
    (claimed / "stream").mkdir(parents=True)
    facts = json.loads((folder / "perfield-run/run.json").read_text()) | {"start_ns": 4 * 10**18}
    (claimed / "run.json").write_text(json.dumps(facts))
    passed_over = "; perfield-run-13 is newer, but nothing was measured there yet\n"
    for words in (("info",), ("report", "--text")):
        result = perfield_cli(*words, cwd=folder)
        assert (result.returncode, result.stderr) == (0, NEWEST.strip() + passed_over)
    (claimed / "stream/.staged-node0").write_text('{"host": "node0", "directory": "/tmp"}')
    assert "using perfield-run-13, the newest of 4" in perfield_cli("setup", "collect", cwd=folder).stderr


def test_run_that_is_still_empty_is_taken_where_there_is_no_other(perfield_cli, tmp_path):
    (tmp_path / "perfield-run/stream").mkdir(parents=True)
    facts = {"run_id": "0123456789abcdef", "start_ns": 10**18}
    (tmp_path / "perfield-run/run.json").write_text(json.dumps(facts))
    result = perfield_cli("info", cwd=tmp_path)
    assert result.returncode == 2 and "no rank has checked in" in result.stderr
