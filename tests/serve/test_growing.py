# SPDX-License-Identifier: BSD-3-Clause
"""Runs that grow while they are shown, and odd ones: killed, damaged, without steps or mesh."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from drivers.served import served

from perfield.serve import followed
from twins import twin


def live(path, ranks=4, steps=3, **options):
    """A run that is still running: its ranks are this process."""
    return twin.write_run(path, ranks, steps, ended=False, change_rank=twin.live_rank, **options)


def writer(path, rank, sequence, room="stream"):
    """Writes more entries of a rank."""
    made = twin.Writer(next((path / room).glob("*.pf")), rank)
    made.sequence = sequence
    return made


def add_step(path, step, ranks=4, only=None, change=None):
    """Appends a step to a run of `live`."""
    first = 1 + 2 + len(twin.QUANTITIES) + 1
    for rank in range(ranks) if only is None else only:
        values = twin.step_values(rank, ranks, step)
        if change:
            change(rank, values)
        writer(path, rank, first + step).add("step", twin.step_body(**values), index=step)


def test_frames_come_as_they_come(tmp_path):
    path = live(tmp_path / "perfield-run")
    with served(path) as client:
        about = client.json("/api/run")
        assert (about["state"], about["live"], about["n_frames"]) == ("running", True, 3)
        heat = "/api/heat?field=solve_time_s"
        assert client.packed(heat)[0]["values"].shape == (4, 3)
        assert client.json(f"/api/run?since={about['version']}")["unchanged"]
        add_step(path, 3, only=(0, 1))
        partial = client.json(f"/api/run?since={about['version']}")
        assert partial["n_frames"] == 4 and partial["frames"]["n_present"] == [4, 4, 4, 2]
        assert np.isnan(client.packed(heat)[0]["values"][2:, 3]).all()
        n_pairs = len(client.packed("/api/messages?frame=3")[0]["source"])
        matrix = client.packed("/api/matrix?from=3&to=4")[0]["bytes"].sum()
        add_step(path, 3, only=(2, 3))
        whole = client.json(f"/api/run?since={partial['version']}")
        assert whole["version"] > partial["version"] and whole["frames"]["n_present"][3] == 4
        assert np.isfinite(client.packed(heat)[0]["values"]).all()
        assert (n_pairs, len(client.packed("/api/messages?frame=3")[0]["source"])) == (2, 4)
        assert client.packed("/api/matrix?from=3&to=4")[0]["bytes"].sum() > matrix
        answer = client.json("/api/rank?rank=2")
        assert answer["frames"] == [0, 1, 2, 3] and answer["fields"]["step_time_s"][3] is not None


def test_field_that_appears_late_is_reported_with_its_range(tmp_path):
    path = live(tmp_path / "perfield-run")

    def enters_late(rank, values):
        values["regions"].append(twin.region_row(3, 7_000_000))

    with served(path) as client:
        before = client.json("/api/run")
        assert "late_time_s" not in [field["name"] for field in before["fields"]]
        assert client.refusal("/api/values?field=late_time_s")[0] == 404
        for rank in range(4):
            late = {"id": 3, "name": "late", "file": "heat.cpp", "line": 9, "block": -1, "armed_at": 0}
            writer(path, rank, 10).add("region", twin.json_body(late), index=3)
        add_step(path, 4, change=enters_late)
        after = client.json("/api/run")
        late = next(field for field in after["fields"] if field["name"] == "late_time_s")
        assert late["range"] == pytest.approx([0.007, 0.007]) and late["title"] == "late time"
        values = np.frombuffer(client.body("/api/values?field=late_time_s"), "<f4").reshape(4, 4)
        assert values[3] == pytest.approx(0.007)


def test_mesh_that_appears_late_is_reported(tmp_path):
    path = live(tmp_path / "perfield-run", mesh=False)
    with served(path) as client:
        assert client.json("/api/run")["mesh"] == {"versions": [0], "late": True}
        for rank in range(4):
            writer(path, rank, 0, "stream")
            made = twin.Writer(path / "mesh" / next((path / "stream").glob("*.pf")).name, rank)
            made.add("mesh", twin.slab_mesh(rank, 4), index=1)
        add_step(path, 3)
        about = client.json("/api/run")
        assert about["mesh"]["versions"] == [0, 1] and about["frames"]["mesh_version"] == [0, 0, 0, 1]
        assert set(client.packed("/api/mesh?version=1")[0]["rank"]) == {0, 1, 2, 3}
        assert "no rank has a mesh of version 0" in client.packed("/api/mesh?version=0")[1]["reason"]


def test_run_without_a_step_waits_for_its_first(tmp_path):
    path = live(tmp_path / "perfield-run", steps=0)
    with served(path) as client:
        about = client.json("/api/run")
        assert about["n_frames"] == 0 and "No step was closed yet." in about["notes"]
        assert about["mesh"] == {"reason": "The run has no frame yet, so its mesh is not known."}
        assert client.refusal("/api/messages?frame=0")[0] == 404
        assert client.body("/api/values?field=step_time_s") == b""
        assert client.packed("/api/heat?field=step_time_s")[0]["values"].shape == (4, 0)
        assert client.json("/api/rank?rank=0")["frames"] == []
        assert client.packed("/api/matrix")[0]["bytes"].sum() == 0
        add_step(path, 0)
        about = client.json("/api/run")
        assert about["n_frames"] == 1 and about["mesh"] == {"versions": [0], "late": False}


def test_run_of_one_step_and_run_of_none_are_shown(tmp_path):
    with served(twin.write_run(tmp_path / "one", 3, 1)) as client:
        about = client.json("/api/run")
        assert about["n_frames"] == 1 and about["first_frame"] == 0
        assert client.packed("/api/heat?field=compute_time_s")[1]["complete"]
    with served(twin.write_run(tmp_path / "whole", 3, 0)) as client:
        about = client.json("/api/run")
        assert about["frames"]["kind"] == ["whole"] and about["frames"]["title"] == ["from start to end"]
        assert any(note.startswith("The program marked no time steps") for note in about["notes"])
        assert len(client.body("/api/values?field=step_time_s")) == 3 * 4
        assert client.json("/api/rank?rank=1")["frames"] == [0]


def test_killed_run_is_reported(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 4, 3, ended=False)
    with served(path) as client:
        about = client.json("/api/run")
    assert about["state"] == "killed" and not about["live"]
    assert any(note.startswith("The run was killed") for note in about["notes"])


def test_ranks_that_share_cores_are_reported(tmp_path):
    def on_one_core(rank, values):
        values["cpuset"] = "0"

    path = twin.write_run(tmp_path / "perfield-run", 2, 3, change_rank=on_one_core)
    with served(path) as client:
        notes = client.json("/api/run")["notes"]
    assert "2 ranks on 1 PU, bound: times include scheduling." in notes


def test_damage_is_reported_and_the_rest_is_shown(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 4, 3)
    stream = next((path / "stream").glob("*.pf"))
    data = bytearray(stream.read_bytes())
    data[len(data) // 2] ^= 0xFF
    stream.write_bytes(data)
    with served(path) as client:
        about = client.json("/api/run")
        assert any("were passed over" in note for note in about["notes"])
        assert client.ask("/api/machine")[0] == client.ask("/api/mesh")[0] == 200


def test_run_that_vanishes_is_reported_and_the_server_goes_on(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 2, 2)
    with served(path) as client:
        assert client.json("/api/run")["n_frames"] == 2
        shutil.rmtree(path)
        for name in ("values?field=step_time_s", "messages?frame=0", "rank?rank=0"):
            status, body, _ = client.ask(f"/api/{name}")
            assert status in (200, 404, 503), body
        assert client.ask("/api/run")[0] in (200, 503)


def test_large_run_is_read_anew_less_often(tmp_path, monkeypatch):
    path = live(tmp_path / "perfield-run")
    monkeypatch.setattr(followed, "AT_MOST_EVERY_S", 0.5)
    shown = followed.Followed(path)
    first = shown.view()
    assert shown.view() is first  # at once
    now = followed.time.monotonic()
    monkeypatch.setattr(followed.time, "monotonic", lambda: now + 1000)
    add_step(path, 3)
    assert len(shown.view().run) == 4 and len(first.run) == 3
