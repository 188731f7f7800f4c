# SPDX-License-Identifier: BSD-3-Clause
"""Two steps of a run, and two runs, side by side on the page of `perfield serve`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from drivers.driven_chromium import opened_tab
from drivers.page_layout import BROKEN
from drivers.served import served

import perfield
from perfield import commands
from perfield.serve.page_files import LIBRARY, page_files
from twins import twin

HOT = 2
CHANGED = [2, 3]  # from 3 ms to 61 ms, and from 4 ms to 1 ms, which is 5 % of a step
CHANGE = "perfield.compared.change"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of 4 ranks, the same with a slow rank, and one of 2 ranks."""
    room = tmp_path_factory.mktemp("two")
    before = twin.write_run(room / "before", 4, 10)
    after = twin.write_run(room / "after", 4, 10, change_step=twin.one_hot_rank(HOT), run_id=7)
    return before, after, twin.write_run(room / "few", 2, 6, run_id=9)


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    if LIBRARY not in page_files():
        pytest.skip("installed without vtk.js, which the page needs")
    with opened_tab("about:blank", tmp_path_factory.mktemp("browser"), "1280,900", webgl=True) as shown:
        yield shown


def show(tab, client, choice: str) -> None:
    tab.visit(f"http://localhost:{client.port}/#{choice}")
    tab.complaints.clear()  # of the page before, whose server has ended
    tab.until("document.body.dataset.ready === 'true'")


def test_steps_of_a_run_are_compared_as_perfield_compare_does(runs):
    with served(runs[0]) as client:
        said = client.json("/api/compare?before=2&before_end=3&after=7&after_end=8")
        assert said["words"].startswith("step 8 takes ") and said["ranks"] == []
        same = client.json("/api/compare?before=2&before_end=3&after=2&after_end=3")
        assert same["words"] == "These are the same steps."
        assert (
            "ends before it begins"
            in client.refusal("/api/compare?before=4&before_end=4&after=2&after_end=3")[1]
        )
        assert client.refusal("/api/compare?before=2&before_end=3&after=7&after_end=11")[0] == 404
        assert client.refusal("/api/other/run")[0] == 404
        assert client.json("/api/run")["other"] is None


def test_two_runs_are_compared_and_ranks_beyond_chance_named(runs):
    before, after, few = runs
    with served(after, other=before) as client:
        assert client.json("/api/run")["other"] == "before"
        assert client.json("/api/other/run")["name"] == "before"
        said = client.json("/api/compare?before=0&before_end=10&after=0&after_end=10")
        assert said["ranks"] == CHANGED and "times as long per step as before" in said["words"]
    with served(after, other=few) as client:
        said = client.json("/api/compare?before=0&before_end=6&after=0&after_end=10")
        assert said["ranks"] == [] and said["words"]


def test_run_is_not_compared_with_itself(runs, capsys):
    assert commands.main(["serve", str(runs[0]), "--with", str(runs[0]), "--no-browser"]) != 0
    assert "are the same run" in capsys.readouterr().err


def test_page_shows_two_steps_and_their_change(tab, runs):
    with served(runs[0]) as client:
        show(tab, client, "frame=7&field=compute_time_s")
        tab.value("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'b', bubbles: true}))")
        tab.value("perfield.set({beside: 2})")
        tab.until("perfield.compared.meshes.length === 2 && perfield.compared.machines.length === 2")
        tab.until(f"{CHANGE}.shown && document.getElementById('chance').textContent.startsWith('step 8')")
        steps = perfield.open(runs[0])
        values = [steps.frame(frame).values["compute_time_s"] for frame in (7, 2)]
        assert tab.value(f"Array.from({CHANGE}.shown)") == pytest.approx(values[0] - values[1], abs=1e-9)
        assert "with=2" in tab.value("location.hash")
        names = tab.value("[...document.querySelectorAll('#mesh .pane-name')].map((one) => one.innerText)")
        assert names[0].startswith("step 8") and names[1].startswith("step 3") and "change" in names[2]
        # what turns one picture turns all, and the colours of both steps are those of the legend
        tab.value("perfield.pictures.mesh.view.camera.azimuth(30)")
        places = [tab.value(f"{one}.view.camera.getPosition()") for one in (
            "perfield.pictures.mesh", "perfield.compared.meshes[0]", "perfield.compared.meshes[1]"
        )]  # fmt: skip
        assert places[1] == pytest.approx(places[0]) and places[2] == pytest.approx(places[0])
        tab.value("perfield.pictures.machine.view.zoomAt(50, 50, 3)")
        assert tab.value("perfield.compared.machines[1].view.zoom") == 3
        assert tab.value("perfield.compared.machines[0].colours === perfield.colours")
        ends = tab.value("[...document.querySelectorAll('#change .legend-end')].map((one) => one.innerText)")
        assert ends[0] == f"-{ends[1]}"
        tab.value("document.getElementById('with-end').click()")
        tab.until("!location.hash.includes('with=') && document.getElementById('compare').hidden")
        tab.value("history.back()")
        tab.until("perfield.compared.wanted === 2")
    assert not tab.complaints


def test_page_shows_two_runs_and_marks_what_is_beyond_chance(tab, runs):
    before, after, _ = runs
    with served(after, other=before) as client:
        show(tab, client, "frame=4&field=compute_time_s")
        said = tab.until("document.getElementById('chance').textContent")
        assert said.startswith("Over all steps: after takes ") and tab.value(f"{CHANGE}.beyond") is None
        tab.value("document.getElementById('with-mean').click()")
        assert tab.until(f"{CHANGE}.beyond && [...{CHANGE}.beyond]") == CHANGED
        assert "before: mean of steps 1 to 10" in tab.value("document.getElementById('mesh').innerText")
        means = [
            np.mean([perfield.open(run).frame(frame).values["compute_time_s"] for frame in range(10)], axis=0)
            for run in (after, before)
        ]
        assert tab.value(f"Array.from({CHANGE}.shown)") == pytest.approx(means[0] - means[1], rel=1e-4)
        words = json.dumps(tab.value(f"{CHANGE}.rankWords({HOT})"))
        assert "more than chance" in words and "+57.9 ms" in words
    assert not tab.complaints


def test_runs_of_different_sizes_have_no_change(tab, runs):
    with served(runs[1], other=runs[2]) as client:
        show(tab, client, "frame=8&field=compute_time_s&rank=3")
        tab.until("document.querySelectorAll('#machine .pane.instead').length === 1")
        printed = tab.value("document.getElementById('machine').innerText")
        assert "4 and 2 ranks" in printed and "few: no such step" in printed
        assert tab.value("perfield.compared.before.shown.every(Number.isNaN)")
    assert not tab.complaints


@pytest.mark.parametrize("width", [400, 1280, 2560])
def test_nothing_overlaps_while_comparing(tab, runs, width):
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    with served(runs[1], other=runs[0]) as client:
        show(tab, client, "frame=4&rank=1")
        tab.until("perfield.compared.machines.length === 2")
        assert tab.value("document.documentElement.scrollWidth <= window.innerWidth")
        assert tab.value(BROKEN) == []
    tab.call("Emulation.clearDeviceMetricsOverride")
