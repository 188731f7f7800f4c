# SPDX-License-Identifier: BSD-3-Clause
"""Folders of perfield: what may be written, replaced and removed there, and what is the user's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from perfield.catalyst_scripts.owned_folder import (
    HEAD,
    LIST,
    NotOursError,
    OwnedFolder,
    check_new_file,
    new_file,
)

FOREIGN = "the user's own\n"


def contents(folder: Path) -> dict[str, str]:
    """Everything below a folder: the text of files, the aim of links; but for perfield's list."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_text()
        for path in folder.rglob("*")
        if path.name != LIST and (path.is_symlink() or path.is_file())
    }


@pytest.fixture
def home(tmp_path) -> Path:
    """A folder of the user's with a file in it."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "notes.txt").write_text(FOREIGN)
    return folder


@pytest.fixture
def made(tmp_path) -> Path:
    """A folder of perfield's with two files."""
    folder = OwnedFolder(tmp_path / "made")
    folder.write("geometry/one.vtm", "1")
    folder.write("geometry.pvd", "2")
    return folder.path


def test_folder_of_the_user_is_refused_before_anything_is_written(home):
    with pytest.raises(NotOursError, match=r"home is not empty, and perfield's list .* name another place"):
        OwnedFolder(home)
    assert contents(home) == {"notes.txt": FOREIGN} and not (home / LIST).exists()


@pytest.mark.parametrize("already", ["nothing", "empty", "marked inside"])
def test_new_empty_and_own_folders_are_taken(tmp_path, already):
    if already != "nothing":
        (tmp_path / "pictures").mkdir()
    if already == "marked inside":
        OwnedFolder(tmp_path / "pictures/plots").write("heat.png", "a plot")
    OwnedFolder(tmp_path / "pictures").write("geometry.pvd", "text")
    assert contents(tmp_path / "pictures")["geometry.pvd"] == "text"


def test_only_listed_and_unchanged_files_are_replaced_and_removed(made):
    (made / "geometry/two.vtm").write_text(FOREIGN)  # not listed
    (made / "geometry.pvd").write_text(FOREIGN)  # changed
    again = OwnedFolder(made)
    for name in ("geometry/two.vtm", "geometry.pvd"):
        with pytest.raises(NotOursError, match=f"{name} was not written by perfield, or was changed since"):
            again.write(name, "perfield's")
    again.remove_stale()
    assert contents(made) == {"geometry/two.vtm": FOREIGN, "geometry.pvd": FOREIGN}
    OwnedFolder(made).remove_stale()
    assert contents(made) == {"geometry/two.vtm": FOREIGN, "geometry.pvd": FOREIGN}


def test_own_files_are_replaced_and_those_of_an_earlier_time_removed(made):
    again = OwnedFolder(made)
    again.write("geometry/two.vtm", "3")
    again.write("geometry.pvd", "4")
    again.remove_stale("geometry")
    assert contents(made) == {"geometry/two.vtm": "3", "geometry.pvd": "4"}
    last = OwnedFolder(made)
    last.remove_stale()
    assert contents(made) == {} and not (made / "geometry").exists()


def test_a_file_that_was_cut_off_by_a_kill_is_still_perfields(made):
    owned = OwnedFolder(made)
    with pytest.raises(KeyboardInterrupt), owned.writing("geometry.pvd") as place:
        place.write_text("half")
        raise KeyboardInterrupt
    with (made / LIST).open("a") as opened:
        opened.write('{"name": "geometry.pvd", "by')
    assert contents(made) == {"geometry/one.vtm": "1", "geometry.pvd": "2"}
    OwnedFolder(made).write("geometry.pvd", "5")
    assert contents(made)["geometry.pvd"] == "5"


@pytest.mark.parametrize("name", ["made", "made/geometry", "made/geometry/one.vtm", f"made/{LIST}"])
def test_nothing_is_written_or_removed_through_a_link(tmp_path, made, home, name):
    OwnedFolder(home / "own").write("one.vtm", "1")  # what the list in `made` names, elsewhere
    aim = home / "own" if (tmp_path / name).is_dir() else home / "notes.txt"
    (tmp_path / name).rename(tmp_path / "moved")
    (tmp_path / name).symlink_to(aim)
    before = contents(home)
    with pytest.raises(NotOursError):
        owned = OwnedFolder(made)
        owned.write("geometry/one.vtm", "perfield's")
    if name.startswith("made/geometry"):
        OwnedFolder(made).remove_stale()
    assert contents(home) == before and (tmp_path / name).is_symlink()


@pytest.mark.parametrize("name", ["../home/notes.txt", "{home}/notes.txt", "geometry/../../home/notes.txt"])
def test_a_list_names_nothing_outside_its_folder(made, home, name):
    size, digest = len(FOREIGN), "0" * 32
    copied = OwnedFolder(home.parent / "copy").write("notes.txt", FOREIGN)
    rows = [json.loads(line) for line in (copied.parent / LIST).read_text().splitlines()]
    row = {**rows[1], "name": name.format(home=home)}
    assert row["bytes"] == size and row["hash"] != digest
    with (made / LIST).open("a") as opened:
        opened.write(json.dumps(row) + "\n")
    OwnedFolder(made).remove_stale()
    assert contents(home) == {"notes.txt": FOREIGN}


def test_folders_that_perfield_chose_below_a_named_one_are_no_links(tmp_path, home):
    run = tmp_path / "run"
    run.mkdir()
    (run / "pictures").symlink_to(home)
    with pytest.raises(NotOursError, match="pictures is a symbolic link"):
        OwnedFolder(run / "pictures/plots", below=run)
    (tmp_path / "latest").symlink_to(run)  # the user's own name of a run
    OwnedFolder(tmp_path / "latest/analysis", below=tmp_path / "latest").write("report.html", "page")
    assert (run / "analysis/report.html").read_text() == "page"


def test_in_a_shared_folder_only_listed_files_are_replaced(tmp_path):
    room = tmp_path / "analysis"
    room.mkdir()
    (room / "node0.idx").write_text("index")
    (room / "report.html").write_text(FOREIGN)
    owned = OwnedFolder(room, is_shared=True)
    with pytest.raises(NotOursError, match=r"report.html was not written by perfield"):
        owned.write("report.html", "page")
    owned.write("other.html", "page")
    OwnedFolder(room, is_shared=True).write("other.html", "new page")
    assert contents(room) == {"node0.idx": "index", "report.html": FOREIGN, "other.html": "new page"}


def test_named_file_is_complete_or_unchanged(tmp_path):
    path = tmp_path / "heat.svg"
    for text in ("first", "second"):
        with new_file(path) as place:
            assert place.suffix == ".svg"
            place.write_text(text)
        assert contents(tmp_path) == {"heat.svg": text}
    with pytest.raises(ValueError, match="no data"), new_file(path) as place:
        place.write_text("half")
        raise ValueError("no data")
    assert contents(tmp_path) == {"heat.svg": "second"}


def test_links_folders_and_devices_are_never_replaced(tmp_path, home):
    (tmp_path / "link").symlink_to(home / "notes.txt")
    (tmp_path / "dangling").symlink_to(home / "gone.txt")
    os.mkfifo(tmp_path / "fifo")
    for name, words in (
        ("link", "is a symbolic link"),
        ("dangling", "is a symbolic link"),
        ("fifo", "is not a regular file"),
        ("home", "is not a regular file"),
        ("nowhere/file", "nowhere is not a directory"),
    ):
        with pytest.raises(NotOursError, match=words), new_file(tmp_path / name) as place:
            place.write_text("perfield's")
    assert contents(home) == {"notes.txt": FOREIGN}
    with pytest.raises(NotOursError, match="exists already and was left as it is"):
        check_new_file(home / "notes.txt", replaces=False)
    with pytest.raises(NotOursError, match="symbolic link"):
        check_new_file(tmp_path / "dangling", replaces=False)


@pytest.mark.parametrize("planted", ["a text", "a pipe", "a link", "too large"])
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_list_that_is_none_of_perfields_is_refused_and_left_as_it_is(tmp_path, home, planted, is_shared):
    room, listed = tmp_path / "room", tmp_path / "room" / LIST
    room.mkdir()
    if planted == "a pipe":
        os.mkfifo(listed)  # it would wait for a reader
    elif planted == "a link":
        listed.symlink_to(home / "notes.txt")
    else:
        listed.write_text(FOREIGN if planted == "a text" else json.dumps(HEAD) + "\n")
    if planted == "too large":
        os.truncate(listed, 1 << 40)
    before = listed.lstat()
    with pytest.raises(NotOursError, match=f"{LIST} is not the list that perfield keeps .* move it away, or"):
        OwnedFolder(room, is_shared=is_shared)
    assert listed.lstat() == before and contents(home) == {"notes.txt": FOREIGN}


def test_a_listed_file_of_holes_is_not_read(made):
    os.truncate(made / "geometry.pvd", 1 << 40)
    with (made / LIST).open("a") as rows:
        rows.write(json.dumps({"name": "geometry.pvd", "bytes": 1 << 40, "hash": "any"}) + "\n")
    assert not OwnedFolder(made).is_ours("geometry.pvd")  # within seconds: it would read 1 TB
