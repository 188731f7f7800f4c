# SPDX-License-Identifier: BSD-3-Clause
"""`perfield info`, `render` and `report` show the undamaged part of damaged runs."""

from __future__ import annotations

import os

import pytest

import perfield
from perfield import commands
from twins import twin

STEPS = 6


@pytest.fixture
def run(tmp_path):
    """Three ranks, STEPS steps, a mesh and fields."""
    return twin.write_run(tmp_path / "run", ranks=3, steps=STEPS)


def only_file(folder):
    """The only file in a folder of the run."""
    (file,) = folder.iterdir()
    return file


def flipped(data, at):
    """The bytes with one flipped bit."""
    return data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]


def test_info_shows_the_rest_whichever_byte_is_flipped(tmp_path, capsys):
    run = twin.write_run(tmp_path / "run", ranks=2, steps=3)  # a few of each kind of entry
    file = only_file(run / "stream")
    data = file.read_bytes()
    for at in range(0, len(data), 83):
        file.write_bytes(flipped(data, at))
        assert commands.main(["info", str(run)]) == 0, f"byte {at}"
        shown = capsys.readouterr()
        assert "damage" in shown.out and "steps" in shown.out, f"byte {at}"
        assert commands.main(["info", str(run), "--ranks", "--regions", "--steps", "--messages"]) == 0


def damages(data, entries):
    """Ways to damage a file of entries: name of the way -> damaged bytes."""
    middle = entries[len(entries) // 2]
    end = entries[-1]["offset"]
    return {
        "each 997th byte flipped": bytes(b ^ 4 if at % 997 == 500 else b for at, b in enumerate(data)),
        "cut in the middle": data[: middle["offset"] + 70],
        "a hole of zeros": data[: middle["offset"] + 60] + bytes(3000) + data[middle["offset"] + 3060 :],
        "garbage between entries": data[:end] + os.urandom(5000) + data[end:],
        "first entry lost": data[entries[0]["end"] :],
        "everything twice": data + data,
        "header says 4 GB": data[:end] + data[end : end + 12] + b"\xff\xff\xff\xff" + data[end + 16 :],
        "empty": b"",
    }


WAYS = list(damages(bytes(10000), [{"offset": 100, "end": 200}] * 3))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("room", ["stream", "mesh"])
def test_render_shows_the_rest_or_says_why_it_cannot(run, room, way, capsys, tmp_path):
    file = only_file(run / room)
    entries = twin.decode(file.read_bytes())[0]
    file.write_bytes(damages(file.read_bytes(), entries)[way])
    code = commands.main(["render", str(run), "-o", str(tmp_path / "pictures"), "--steps", "all"])
    shown = capsys.readouterr()
    if (room, way) == ("stream", "empty"):
        assert code != 0 and "no `rank` entry" in shown.err
        return
    assert code == 0, shown.err
    assert (tmp_path / "pictures/topology.pvd").is_file()
    if room == "stream" or way != "empty":
        assert (tmp_path / "pictures/geometry.pvd").is_file()


def test_losing_one_rank_keeps_the_frames_of_the_others(run):
    file = only_file(run / "stream")
    data = file.read_bytes()
    for entry in twin.decode(data)[0]:
        if entry["rank"] == 1:
            data = flipped(data, entry["offset"] + 50)
    file.write_bytes(data)
    found = perfield.open(run)
    assert len(found) == STEPS and found.rank_entries[1] is None
    for frame in found.frames():
        assert frame.present.tolist() == [True, False, True]
    assert found.damage


def test_reports_speak_of_the_rest_when_a_node_lost_its_file(tmp_path, capsys):
    run = twin.write_run(tmp_path / "run", ranks=4, steps=STEPS, hosts=("a", "b"))
    next((run / "stream").glob("b*")).unlink()  # of the last ranks
    assert commands.main(["report", str(run), "--text"]) == 0
    assert "2 of 4 ranks never checked in, so nothing is known of them." in capsys.readouterr().out
    assert commands.main(["info", str(run), "--waits", "--ranks"]) == 0
    assert capsys.readouterr().out.count("never checked in") == 2
