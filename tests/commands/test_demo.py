# SPDX-License-Identifier: BSD-3-Clause
"""perfield demo unpacks a run that every command reads, once, and into no folder of the user's."""

from __future__ import annotations

import pytest

import perfield
from perfield.commands import main
from perfield.commands.demo import ARCHIVE

MOST_BYTES = 3_000_000  # of the archive, which is part of every installation


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The demonstration, unpacked."""
    path = tmp_path_factory.mktemp("demo") / "perfield-demo"
    assert main(["demo", str(path)]) == 0
    return path


def test_demo_is_small_and_names_what_to_call_next(folder, capsys):
    assert ARCHIVE.stat().st_size <= MOST_BYTES
    assert main(["demo", str(folder)]) == 0, "it is there already"
    said = capsys.readouterr().out
    assert f"report {folder} --text" in said and said.endswith(f"serve {folder}\n")


def test_demo_is_a_whole_run_with_a_mesh_of_its_own(folder):
    run = perfield.open(folder)
    assert run.state == "finished" and not run.damage
    cells = run.steps.cells.sum("rank").values
    assert cells[-1] > 1.2 * cells[0], "the mesh is refined as the water spreads"


def test_demo_is_read_by_the_report(folder, capsys):
    assert main(["report", str(folder), "--text"]) == 0
    assert "mesh::update" in capsys.readouterr().out


def test_mesh_of_the_demo_is_found_in_it(folder):
    pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")
    from perfield.pictures import choose_pieces

    pieces = choose_pieces(perfield.open(folder))
    assert str(folder) in pieces.origin


def test_no_private_path_is_in_the_demo(folder):
    for path in folder.rglob("*"):
        text = path.read_bytes() if path.is_file() else b""
        assert not [name for name in ("home", "root", "tmp", "work") if f"/{name}/".encode() in text], path


def test_folder_of_the_user_is_left_as_it_is(tmp_path, capsys):
    (tmp_path / "notes").write_text("mine")
    assert main(["demo", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
