# SPDX-License-Identifier: BSD-3-Clause
"""If pictures inside a program fail, perfield prints one sentence and the program runs on."""

from __future__ import annotations

import pytest

THROUGH = "the program is through"


def sentences(result) -> list[str]:
    """perfield's lines on stderr."""
    return [line for line in result.stderr.splitlines() if line.startswith("perfield: ")]


def assert_through(result, *words: str) -> None:
    """Fails unless the program finished and perfield printed one sentence with these words."""
    assert result.returncode == 0, result.stderr
    assert THROUGH in result.stdout
    said = sentences(result)
    assert len(said) == 1, result.stderr
    for word in words:
        assert word in said[0]


@pytest.fixture
def script(tmp_path):
    """script(text): a pipeline with this text; returns its path."""

    def write(text: str):
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return write


HEAD = """
from mpi4py import MPI
import paraview.simple as pv
from paraview import catalyst
options = catalyst.Options()
options.GlobalTrigger = "TimeStep"
rank = MPI.COMM_WORLD.rank
producer = pv.PVTrivialProducer(registrationName="geometry")
"""


def test_pipeline_error_on_one_rank_ends_pictures_on_all(in_process, program, script):
    path = script(HEAD + 'if rank == 1: raise KeyError("no such thing")\n')
    result = in_process(program(), ranks=0, scripts=path)
    assert_through(result, "rank 1", "KeyError", "no such thing", "perfield render")
    assert "mine.py" in result.stderr  # from Python's traceback


def test_later_pipeline_error_ends_pictures_at_that_step(in_process, program, script):
    text = """
extractor = pv.CreateExtractor("VTM", producer, registrationName="g")
extractor.Trigger = "TimeStep"
extractor.Writer.FileName = "g_{timestep:06d}.vtm"
options.ExtractsOutputDirectory = "mine"
def catalyst_execute(info):
    if info.timestep == 1 and rank == 0:
        raise SystemExit(3)
"""
    result = in_process(program(), n=1, scripts=script(HEAD + text))
    assert_through(result, "rank 0", "SystemExit")
    assert (result.cwd / "mine/g_000000.vtm").exists()
    assert not (result.cwd / "mine/g_000002.vtm").exists()


def test_syntax_error_in_a_pipeline_names_its_line(in_process, program, script):
    result = in_process(program(), scripts=script("import os\nthis is (wrong\n"))
    assert_through(result, "mine.py, line 2")


def test_missing_pipeline_is_reported(in_process, program):
    assert_through(in_process(program(), scripts="nowhere.py"), "nowhere.py")


def test_without_display_extracts_are_written_but_no_images(in_process, program):
    result = in_process(program(), n=1, images="true")
    assert_through(result, "no X display")
    folder = result.cwd / "perfield-run/catalyst"
    assert len(list(folder.glob("geometry_*.vtm"))) == 3 and not list(folder.glob("*.png"))


def test_view_without_display_ends_pictures_but_not_the_program(in_process, program, script):
    result = in_process(program(), n=1, scripts=script(HEAD + "pv.CreateRenderView()\n"))
    assert_through(result, "no X display", "DISPLAY")


def test_waiting_for_a_rank_ends_after_catalyst_patience(in_process, program):
    result = in_process(program("if (rank == 1) continue;"), patience=2)
    assert_through(result, "catalyst_patience", "all ranks")


def test_program_without_steps_reports_that_no_picture_was_made(in_process, program):
    result = in_process(program("break;"))
    assert_through(result, "no picture was made in the program")
    assert not (result.cwd / "perfield-run/catalyst").exists()


@pytest.mark.parametrize(
    "name, value", [("PERFIELD_STEP_REGION", "solve"), ("PERFIELD_STEP_CALL", "Allreduce@solve-3f2a")]
)
def test_steps_that_ranks_close_alone_are_a_configuration_error(in_process, program, name, value):
    result = in_process(program(), env={name: value})
    assert result.returncode == 0 and THROUGH in result.stdout
    assert "catalyst_in_process (PERFIELD_CATALYST_IN_PROCESS)" in result.stderr
    assert f'{name.removeprefix("PERFIELD_").lower()} = "{value}"' in result.stderr
    assert not (result.cwd / "perfield-run").exists()


def test_wrong_catalyst_python_is_reported(in_process, program, tmp_path):
    other = tmp_path / "python3.9"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert_through(in_process(program(), python=other), "python3.9", "catalyst_python")
    result = in_process(program(), python="/nowhere/python3", env={"PERFIELD_RUN_DIRECTORY": "second"})
    assert_through(result, "/nowhere/python3", "catalyst_python")


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("paraview", ("no module paraview", "python3-paraview")),
        ("mpi4py", ("has no mpi4py", "python3-mpi4py", "pip install 'perfield[catalyst]'")),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(in_process, program, tmp_path, package, words):
    hidden = tmp_path / "hide"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        f"package = {package!r}\n"
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == package:\n"
        "            raise ModuleNotFoundError(name)\n"
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == package else find(name, *more)\n"
    )
    result = in_process(program(), env={"PYTHONPATH": str(hidden)})
    assert_through(result, *words)


def test_catalyst_keys_are_found_and_wrong_ones_corrected(perfield_cli, tmp_path):
    (tmp_path / "perfield.toml").write_text("[catalyst]\nin_process = true\nevery = 5\n")
    result = perfield_cli("setup", "config", cwd=tmp_path)
    assert "perfield.toml:2" in result.stdout and "perfield.toml:3" in result.stdout
    (tmp_path / "perfield.toml").write_text("[catalyst]\nin_proces = true\n")
    result = perfield_cli("setup", "config", cwd=tmp_path)
    assert "did you mean in_process?" in result.stdout + result.stderr
