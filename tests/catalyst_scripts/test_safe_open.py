# SPDX-License-Identifier: BSD-3-Clause
"""Files that somebody else may have made are opened only if they are regular and of a known size."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from perfield.catalyst_scripts.safe_open import UnsafeFileError, safe_open, safe_read, why_unsafe


def planted(kind: str, place: Path) -> None:
    """Puts something at a place of a run directory."""
    outside = place.parent.parent / "outside"
    outside.write_text("secret")
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(place))
    elif kind == "directory":
        place.mkdir()
    else:
        place.symlink_to({"link": "../outside", "device": "/dev/zero", "link to nothing": "../nothing"}[kind])


@pytest.mark.parametrize("kind", ["pipe", "socket", "directory", "link", "device", "link to nothing"])
def test_what_is_no_regular_file_is_a_sentence(tmp_path, kind):
    place = tmp_path / "run/run.json"
    place.parent.mkdir()
    planted(kind, place)
    said = why_unsafe(place, tmp_path / "run")
    with pytest.raises(UnsafeFileError) as caught:
        safe_read(place, tmp_path / "run")
    assert str(caught.value) == said and str(place) in said
    assert ("link that leads out" if "link" in kind or kind == "device" else kind) in said


def test_device_named_by_the_user_is_refused_and_a_link_is_not(tmp_path):
    (tmp_path / "here").mkdir()
    planted("link", tmp_path / "here/named")
    assert safe_read(tmp_path / "here/named") == b"secret"
    with pytest.raises(UnsafeFileError, match="/dev/zero is a device, expected a regular file"):
        safe_open("/dev/zero")


def test_links_stay_inside_the_run_which_may_be_one(tmp_path):
    (tmp_path / "run/stream").mkdir(parents=True)
    (tmp_path / "run/stream/a.pf").write_text("data")
    (tmp_path / "run/stream/b.pf").symlink_to("a.pf")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.pf").write_text("secret")
    (tmp_path / "run/mesh").symlink_to("../elsewhere")
    (tmp_path / "run/loop").symlink_to("loop")
    (tmp_path / "link").symlink_to("run")
    for name in ("a.pf", "b.pf"):
        assert safe_read(tmp_path / "link/stream" / name, tmp_path / "link") == b"data"
    for name in ("mesh", "loop"):
        with pytest.raises(UnsafeFileError, match=f"run/{name} is a link that leads out"):
            safe_read(tmp_path / "run" / name / "a.pf", tmp_path / "run")
    with pytest.raises(FileNotFoundError):
        safe_read(tmp_path / "run/stream/c.pf", tmp_path / "run")


def test_size_is_checked_before_memory_is_taken(tmp_path):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnsafeFileError, match="1,099,511,627,776 bytes, expected at most 100"):
        safe_read(tmp_path / "large", most=100)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_of_a_stranger_in_a_run_are_refused(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    os.chown(tmp_path / "run.json", 12345, -1)
    with pytest.raises(UnsafeFileError, match="belongs to user 12345"):
        safe_read(tmp_path / "run.json", tmp_path)
    os.chown(tmp_path, 12345, -1)
    assert safe_read(tmp_path / "run.json", tmp_path) == b"{}"  # a run of another user
