# SPDX-License-Identifier: BSD-3-Clause
"""The inside of a logged step on the page: what the server answers, and what a reader sees and does."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pytest
from drivers.driven_chromium import opened_tab
from drivers.page_layout import BROKEN
from drivers.served import served
from known_runs.simulated_waits import compute, recv, send, simulate, step
from known_runs.waiting_runs import write_waiting_run
from matplotlib.image import imread

from perfield import commands
from perfield.serve import stored, timeline
from perfield.serve.followed import Followed
from perfield.serve.page_files import LIBRARY, page_files

MS = 1_000_000
N_RANKS, SLOW_MS = 4, 80
LATE_SENDER, COMPUTES = (0xD5, 0x5E, 0x00), (0xB9, 0xD3, 0xE8)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """4 steps. In step 1 rank 3 computes 80 ms; rank 2 waits for it, rank 1 for 2, and rank 0 for 1. The log
    of step 2 is missing."""
    programs = [[] for _ in range(N_RANKS)]
    for number in range(4):
        for rank, program in enumerate(programs):
            is_last = rank == N_RANKS - 1
            program += [compute((SLOW_MS if number == 1 else 10) * MS if is_last else MS)]
            program += [] if is_last else [recv(rank + 1)]
            program += [send(rank - 1)] if rank else []
            program += [step()]
    path = tmp_path_factory.mktemp("of") / "perfield-run"
    return write_waiting_run(path, simulate(programs), lambda step: step != 2)


@pytest.fixture(scope="module")
def client(run):
    with served(run) as asked:
        yield asked


def test_arrays_are_lanes_calls_waits_and_messages(client):
    assert client.json("/api/run")["logged"] == [0, 1, 3]
    arrays, header = client.packed("/api/timeline?frame=1")
    seconds = {
        name: arrays[name] * header["tick_s"] for name in ("end", "wait_begin", "wait_end", "wait_late")
    }
    assert arrays["rank"].tolist() == [0, 1, 2, 3] and header["seconds"] == pytest.approx(0.08, rel=0.01)
    assert seconds["end"] == pytest.approx([header["seconds"]] * 4, rel=0.01)
    waits = sorted(zip(arrays["wait_rank"].tolist(), arrays["wait_cause"].tolist()))
    assert waits == [(0, 1), (1, 2), (2, 3)] and arrays["wait_is_sure"].all()
    assert {header["kinds"][kind] for kind in arrays["wait_kind"]} == {"late sender"}
    assert seconds["wait_end"] - seconds["wait_begin"] == pytest.approx([0.079] * 3, rel=0.01)
    assert seconds["wait_late"] == pytest.approx(seconds["wait_end"], abs=1e-4)
    assert {header["does"][does] for does in arrays["wait_does"]} == {"sends"}
    assert {header["calls"][name] for name in arrays["call_name"]} == {"MPI_Recv", "MPI_Send"}
    pairs = zip(arrays["message_source"].tolist(), arrays["message_target"].tolist())
    assert sorted(pairs) == [(1, 0), (2, 1), (3, 2)]
    assert header["who"].startswith("Rank 3 costs the others 2") and not header["left_out"]


def test_step_without_a_log_is_refused_in_words(client):
    status, sentence = client.refusal("/api/timeline?frame=2")
    assert status == 404 and "frame 2 has no log of one step" in sentence


def test_ranks_and_calls_beyond_a_limit_are_left_out_and_counted(run, monkeypatch):
    monkeypatch.setattr(timeline, "MOST_LANES", 2)
    arrays, header = timeline.parts(Followed(run).view(), 1)
    assert arrays["rank"].tolist() == [0, 1] and arrays["call_rank"].max() == 1
    assert header["left_out"] == "2 of 4 ranks: those that wait longest, and for whom."
    monkeypatch.setattr(timeline, "MOST_LANES", 4)
    monkeypatch.setattr(timeline, "MOST_ROWS", 1)
    arrays, header = timeline.parts(Followed(run).view(), 1)
    assert all(len(arrays[name]) == 1 for name in ("call_rank", "wait_rank", "message_sent"))
    assert header["left_out"] == "The shortest are left out: 5 calls, 2 waits and 2 messages."


def test_file_holds_the_logged_steps_that_have_room(run, monkeypatch):
    view = Followed(run, read_s=60).view()
    assert _kept(view)[0] == [0, 1, 3]
    monkeypatch.setitem(stored.SHARES, "timelines", 1e-9)
    kept, notes = _kept(view)
    assert kept == [] and "0 of 3 logged steps can be seen from inside here." in notes


def _kept(view):
    parts, notes = stored.stored(view, 20e6)
    return json.loads(gzip.decompress(parts[0]))["run"]["logged"], notes


# --- in a browser ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab(client, tmp_path_factory):
    if LIBRARY not in page_files():
        pytest.skip("installed without vtk.js, which the page needs")
    with opened_tab("about:blank", tmp_path_factory.mktemp("browser"), "1500,1037", webgl=True) as shown:
        yield shown


def show(tab, address):
    tab.visit(address)
    tab.until("document.body.dataset.ready === 'true'")


def here(tab, second, row):
    """A place in the picture, in pixels of the page."""
    return tab.value(
        f"(() => {{ const {{ lanes }} = perfield.timeline, b = lanes.canvas.getBoundingClientRect();"
        f"const [x, y] = lanes.at({second}, {row}); return [b.left + x, b.top + y] }})()"
    )


def colour(tab, second, row):
    x, y = here(tab, second, row + 0.35)  # beside the words in the middle
    seen = np.round(255 * imread(io.BytesIO(tab.picture()))[..., :3]).astype(int)
    return tuple(seen[round(y), round(x)].tolist())


def mouse(tab, kind, place, **more):
    tab.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], **more)


def drag(tab, begin, end, **more):
    for kind, place in (("mousePressed", begin), ("mouseMoved", end), ("mouseReleased", end)):
        mouse(tab, kind, place, button="left", clickCount=1, **more)


def check_pictures(tab):
    """Rank 3 computes while rank 2 waits for it."""
    assert colour(tab, 0.04, 3) == pytest.approx(COMPUTES, abs=4)
    assert colour(tab, 0.04, 2) == pytest.approx(LATE_SENDER, abs=4)
    assert colour(tab, 0.0005, 2) == pytest.approx(COMPUTES, abs=4)
    words = tab.value("perfield.timeline.lanes.sentencesOf()")
    assert words[0].startswith("Rank 3 costs the others 2") and words[0].endswith("waiting in step 2.")


def test_page_shows_waits_where_ranks_wait_and_zooms(tab, client):
    show(tab, f"http://localhost:{client.port}/#frame=1")
    tab.value("document.getElementById('inside').click()")
    tab.until("perfield.timeline.found?.frame === 1 && !!perfield.pictures.mesh")
    assert "inside=1" in tab.value("location.hash")
    check_pictures(tab)
    mouse(tab, "mouseMoved", here(tab, 0.04, 2.5))
    tip = tab.value("document.getElementById('tip').innerText")
    assert tip.startswith("rank 2, 40") and "for rank 3 (late sender)\nuntil rank 3 sends\nin MPI_Recv" in tip
    drag(tab, here(tab, 0.02, 1.5), here(tab, 0.06, 2.5))
    assert tab.value("perfield.timeline.lanes.times") == pytest.approx([0.02, 0.06], rel=0.02)
    assert tab.value("perfield.timeline.lanes.rows") == [1, 3]
    drag(tab, here(tab, 0.05, 2), here(tab, 0.04, 2), modifiers=8)  # shift
    assert tab.value("perfield.timeline.lanes.times") == pytest.approx([0.03, 0.07], rel=0.02)
    mouse(tab, "mouseWheel", here(tab, 0.05, 2), deltaX=0, deltaY=-100)
    from_s, to_s = tab.value("perfield.timeline.lanes.times")
    assert to_s - from_s == pytest.approx(0.04 / 1.25, rel=0.02) and from_s < 0.05 < to_s
    tab.press("0")
    assert tab.value("perfield.timeline.lanes.isWhole") and not tab.complaints
    assert tab.value("document.getElementById('message').hidden")


def test_click_chooses_a_rank_with_its_messages(tab, client):
    show(tab, f"http://localhost:{client.port}/#frame=1&inside=1")
    tab.until("perfield.timeline.found && !!perfield.pictures.mesh")
    tab.click(*here(tab, 0.04, 2.5))
    tab.until("perfield.chosen === 2")
    lines = tab.value("perfield.timeline.lanes.linesOf().map(({from, to}) => [from[0], to[0]])")
    assert sorted(map(tuple, lines)) == [(2, 1), (2, 1), (3, 2), (3, 2)]  # messages, and what ended waits
    assert tab.value("[...perfield.timeline.lanes.bright].sort()") == [1, 2, 3]
    rows = tab.value("perfield.timeline.table()")
    assert rows[0] == ["rank", "what", "begin_s", "end_s", "other_rank"]
    assert {row[1] for row in rows[1:]} == {"MPI_Recv", "MPI_Send", "waiting: late sender", "message to"}


def test_step_that_was_not_logged_leads_to_one_that_was(tab, client):
    show(tab, f"http://localhost:{client.port}/#frame=2&inside=1")
    tab.until("!perfield.timeline.instead.hidden")
    words = tab.value("perfield.timeline.instead.innerText")
    assert words.startswith("Step 3 was not logged, so nobody knows when its calls were made.")
    tab.value("perfield.timeline.instead.querySelector('button').click()")
    tab.until("perfield.timeline.found?.frame === 1")
    tab.value("document.getElementById('logged-after').click()")
    tab.until("perfield.timeline.found?.frame === 3")
    tab.value("document.getElementById('timeline-end').click()")
    assert tab.value("perfield.timeline.isOn") is False and "inside" not in tab.value("location.hash")
    assert tab.value("document.querySelector('#heat canvas').clientWidth") > 0 and not tab.complaints


@pytest.mark.parametrize("width", [360, 800, 1024, 1280, 1500, 2560])
def test_nothing_overlaps_or_is_cut_at_any_width(tab, client, width):
    show(tab, f"http://localhost:{client.port}/#frame=1&inside=1")
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    try:
        tab.until("perfield.timeline.found && perfield.timeline.lanes.canvas.clientWidth > 0")
        assert tab.value(BROKEN) == []
    finally:
        tab.call("Emulation.clearDeviceMetricsOverride")


def test_one_file_shows_the_inside_of_a_step(tab, run, tmp_path):
    target = tmp_path / "run.html"
    assert commands.main(["export", str(run), "--to", "html", "-o", str(target)]) == 0
    show(tab, f"file://{target}#frame=1&inside=1")
    tab.until("perfield.timeline.found?.frame === 1")
    check_pictures(tab)
    tab.value("perfield.set({frame: 2})")
    tab.until("perfield.timeline.instead.innerText.startsWith('Step 3 has no time line in this page.')")
    assert not tab.complaints
