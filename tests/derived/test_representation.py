# SPDX-License-Identifier: BSD-3-Clause
"""How an open run shows itself: in a line, and as a table in notebooks."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

import perfield
from perfield.derived import representation
from twins import twin


def test_run_shows_name_state_ranks_steps_and_imbalance(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=4, steps=5, hosts=("a", "b"))
    # Compute time is 1.1, 2.1, 3.1 and 4.1 ms, and 2 us more in the median step.
    expected = f"{4.102 / 2.602:.2f}"
    words = repr(perfield.open(path))
    assert words == f"<perfield run '{path}': finished, 4 ranks on 2 hosts, 5 steps, imbalance {expected}>"


def test_only_some_frames_of_a_long_run_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(representation, "MOST_READ", 3)
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=9))
    read = []
    places = run.places
    monkeypatch.setattr(run, "places", lambda frames: read.extend(frames) or places(frames))
    assert "imbalance about 1." in repr(run)
    assert set(read) == {0, 4, 8}


def test_notebook_shows_a_table_with_a_line_of_imbalance(tmp_path):
    def hot(rank, values):
        values["host"] = "<odd & host>"

    path = twin.write_run(tmp_path / "run", ranks=2, steps=4, regions=("a<b", "c"), change_rank=hot)
    table = ET.fromstring(perfield.open(path)._repr_html_().replace("<br>", "<br/>"))
    rows = {row.find("th").text: row.find("td") for row in table}
    named = ["run", "command", "ranks", "steps", "regions", "imbalance", "computing", "findings"]
    assert list(rows) == named
    assert rows["regions"].text == "a<b, c"
    assert rows["imbalance"].text.startswith("median 1.31, largest 1.31")
    points = rows["imbalance"].find(".//polyline").get("points").split()
    assert len(points) == 4
    assert len(rows["computing"].findall(".//rect")) == 4 * 2
    assert "Rank 1 computes 1.31 times as long" in rows["findings"].text


def test_notebook_leaves_findings_of_a_large_run_to_the_report(tmp_path, monkeypatch):
    monkeypatch.setattr(representation, "MOST_VALUES", 3)
    shown = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=2))._repr_html_()
    assert "perfield report" in shown and "Rank 1 computes" not in shown


def test_endless_names_and_control_characters_of_a_run_stay_short_and_plain(tmp_path):
    path = twin.write_run(tmp_path / "run\x1b[31m", ranks=2, steps=4, regions=("<b>" * 700_000, "c"))
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**info, "command": ["<img src=x>" * 200_000]}))
    run = perfield.open(path)
    shown = run._repr_html_()
    assert len(shown) < 100_000 and "<img" not in shown and "<b><b>" not in shown
    assert "\x1b" not in shown and "\x1b" not in repr(run)


@pytest.mark.parametrize("options", [{"steps": 0, "ended": False}, {"change_step": twin.without_calls}])
def test_run_without_steps_or_calls_shows_itself(tmp_path, options):
    run = perfield.open(twin.write_run(tmp_path / "run", **options))
    assert "4 ranks on 1 host" in repr(run)
    assert ("no step closed" in run._repr_html_()) == (options.get("steps") == 0)


def test_damaged_run_shows_itself_and_its_damage(tmp_path):
    path = twin.write_run(tmp_path / "run")
    stream = next((path / "stream").iterdir())
    data = bytearray(stream.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 200] = b"x" * 200
    stream.write_bytes(data)
    run = perfield.open(path)
    assert "4 ranks" in repr(run)
    assert "damage" in run._repr_html_()


def test_removed_run_still_shows_itself(tmp_path):
    path = twin.write_run(tmp_path / "run")
    run = perfield.open(path)
    next((path / "stream").iterdir()).unlink()
    assert repr(run) == f"<perfield run '{path}': finished, 4 ranks on 1 host, 5 steps>"
