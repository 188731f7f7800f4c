# SPDX-License-Identifier: BSD-3-Clause
"""The page as one file: opened from disk in headless Chromium, and what it lacks when a run is large."""

from __future__ import annotations

import gzip
import json
import re

import numpy as np
import pytest
from drivers.driven_chromium import opened_tab

import perfield
from perfield import commands
from perfield.commands._reporter import RunReporter
from perfield.serve import stored
from perfield.serve.compact import rounded
from perfield.serve.followed import Followed
from perfield.serve.one_file import PageError, joined, one_file
from perfield.serve.page_files import LIBRARY, page_files
from perfield.serve.reduced import reduced
from twins import twin

if LIBRARY not in page_files():
    pytest.skip("installed without vtk.js, which the page needs", allow_module_level=True)

EVIL = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 2'><!--\u2028"
N_RANKS, N_STEPS = 8, 10


def change_rank(rank, values):
    values["host"] = "<b>a" if rank < 4 else "<i>b"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """8 ranks with names that are HTML and code; rank 5 computes twice as long."""
    regions = (EVIL, "exchange")
    path = twin.write_run(
        tmp_path_factory.mktemp("of") / "perfield-run",
        N_RANKS,
        N_STEPS,
        regions=regions,
        change_rank=change_rank,
        change_step=twin.one_hot_rank(5),
    )
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**info, "command": [f"./{EVIL}"]}))
    return path


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    """The run as one file."""
    target = tmp_path_factory.mktemp("sent") / "perfield-run.html"
    assert commands.main(["export", str(run), "--to", "html", "-o", str(target)]) == 0
    return target


@pytest.fixture(scope="module")
def tab(page, tmp_path_factory):
    """A browser that shows the file."""
    place = tmp_path_factory.mktemp("browser")
    with opened_tab(f"file://{page}", place, "1500,1037", webgl=True) as shown:
        ready(shown)
        yield shown


def ready(tab):
    tab.until("document.body.dataset.ready === 'true' && perfield.heat.heat && perfield.matrix.matrix")


def test_file_opens_from_disk_without_requests_and_names_stay_text(tab, page, run):
    assert tab.value("performance.getEntriesByType('resource').length") == 0
    html = re.sub(rb"/\*!.*?\*/", b"", page.read_bytes(), flags=re.DOTALL)  # without licences
    assert set(re.findall(rb"(?:src|href)=[\"'][^\"']*", html)) == {b'href="data:,'}
    assert b"window.hit" not in html and tab.value("window.hit") is None
    assert any("window.hit" in title for title in tab.value("perfield.run.fields.map(({title}) => title)"))
    assert "<b>a" in tab.value("perfield.run.ranks.host[0]")
    assert tab.value("perfield.pictures.mesh.surface !== undefined")
    assert tab.value("getComputedStyle(document.querySelector('.switch')).display") == "none"
    assert not tab.complaints


def test_file_shows_what_the_run_has(tab, run):
    steps = perfield.open(run)
    for field in ("compute_time_s", "resident_bytes"):
        tab.value(f"perfield.set({{frame: 3, field: '{field}', rank: null}})")
        tab.until(f"perfield.about.name === '{field}' && perfield.heat.about === perfield.about")
        tab.until(f"perfield.shown[2] === perfield.values.known('{field}', 3)?.[2]")
        shown = tab.value("[...perfield.shown]")
        assert shown == pytest.approx(steps.frame(3).values[field], rel=3e-4)
        heat = tab.value("[perfield.heat.heat.arrays.values.shape, [...perfield.heat.heat.arrays.values]]")
        wanted = [steps.frame(at).values[field] for at in range(N_STEPS)]
        assert np.reshape(heat[1], heat[0]) == pytest.approx(np.transpose(wanted), rel=3e-4)
    sent = np.zeros((N_RANKS, N_RANKS))
    for row in steps.rows(range(N_STEPS), "messages"):
        sent[row["source"], row["target"]] += row["bytes"]
    assert tab.value("[...perfield.matrix.matrix.arrays.bytes]") == pytest.approx(sent.ravel(), rel=3e-4)
    assert not tab.complaints


def test_finding_step_and_rank_are_chosen_in_a_file(tab, run):
    tab.until("perfield.findings.cards?.length > 0 && !!document.querySelector('.finding')")
    tab.value("document.querySelector('.finding').click()")
    tab.until("perfield.chosen === 5 && document.querySelectorAll('#panel .chart').length > 0")
    rows = tab.value("[...document.querySelectorAll('.partners tbody tr')].map((row) => row.innerText)")
    assert sorted(row.split() for row in rows) == [["4", "-", "100", "kB"], ["6", "120", "kB", "-"]]
    frame = tab.value("perfield.frame")
    tab.press("ArrowRight")
    tab.until(f"perfield.frame === {frame + 1}")
    assert f"frame={frame + 1}" in tab.value("location.hash") and "rank=5" in tab.value("location.hash")
    tab.value("perfield.toggleLayer('messages')")
    tab.until("perfield.messages.length === 8")
    assert not tab.complaints


def test_no_other_script_runs_and_nothing_is_fetched(tab):
    tab.value(
        "(() => { const one = document.createElement('script'); one.textContent = 'window.hit = 3';"
        "document.body.append(one); fetch('https://example.org').catch(() => (window.refused = true)) })()"
    )
    tab.until("window.refused")
    assert tab.value("window.hit") is None
    assert len(tab.complaints) >= 2 and all("Content Security Policy" in one for one in tab.complaints)
    tab.complaints.clear()


def test_large_run_is_joined_and_the_page_says_so(run, tab, tmp_path, monkeypatch):
    monkeypatch.setattr("perfield.serve.reduced.LEAST_FRAMES", 5)
    monkeypatch.setattr("perfield.serve.reduced.MOST_FRAMES", 5)
    made = one_file(Followed(run, reporter=RunReporter(), read_s=1e9).view())
    assert made.notes[-1].startswith("10 frames are joined, 2 each")
    (tmp_path / "large.html").write_bytes(made.html)
    tab.visit(f"file://{tmp_path}/large.html#frame=1&field=compute_time_s")
    ready(tab)
    tab.value("perfield.set({rank: null})")
    tab.until("document.querySelector('.notes')?.innerText.includes('10 frames are joined, 2 each')")
    assert tab.value("perfield.run.n_frames") == 5
    assert tab.value("document.getElementById('step-words').innerText") == "steps 3 to 4 together"
    steps = perfield.open(run)
    mean = np.mean([steps.frame(at).values["compute_time_s"] for at in (2, 3)], axis=0)
    assert tab.value("[...perfield.shown]") == pytest.approx(mean, rel=3e-4)
    assert not tab.complaints


def test_ranks_share_values_once_few_frames_are_left(run):
    view = Followed(run, read_s=1e9).view()
    names = ["compute_time_s", "resident_bytes", "step_time_s"]
    whole = reduced(view, names, 1e6)
    assert (whole.frames_each, whole.ranks_each, whole.sentences(view)) == (1, 1, [])
    size = sum(map(len, whole.zipped.values())) * 4 / 3
    few = reduced(view, names, size * 0.8)
    assert few.frames_each == 1 and few.ranks_each > 1, "fewer than LEAST_FRAMES frames stay apart"
    first = np.arange(0, N_RANKS, few.ranks_each)
    wanted = np.fmax.reduceat(whole.tables["compute_time_s"], first, axis=1)
    assert few.tables["compute_time_s"] == pytest.approx(wanted)
    assert few.sentences(view)[0].startswith(f"{few.ranks_each} ranks that follow one another")


def test_mesh_that_is_too_large_is_left_out_with_its_size(run):
    view = Followed(run, read_s=1e9).view()
    parts, _ = stored.stored(view, 5_000)
    index = json.loads(gzip.decompress(parts[0]))
    assert re.fullmatch(r"The mesh takes .* kB, too much for this file.*", index["run"]["mesh"]["reason"])


def test_rounded_values_keep_three_digits():
    values = np.array([0, 1, 4096, -7, np.nan, np.inf, 1.2345678e-30, 3.4e38])
    kept = rounded(values)
    assert kept[:4].tolist() == [0, 1, 4096, -7] and np.isnan(kept[4:6]).all()
    assert kept[6:] == pytest.approx(values[6:], rel=2.5e-4)


def test_modules_become_one_script():
    script = joined(
        {
            "main.js": "import * as all from './a.js';\nimport { one as two } from './a.js';\n"
            "import('./vtk.js');",
            "a.js": "export const one = 1;\nexport async function ask() {}\n",
            "vtk.js": "var q=1;export{q as vtkActor};\n",
        },
        "main.js",
    )
    assert "const all = load('a.js');" in script and "const { one: two } = load('a.js');" in script
    assert "return { one, ask };" in script and "return { vtkActor: q };" in script
    refused = (("export default 1;", "export default"), ("import { a } from './b.js';", "imports b.js"))
    for text, wrong in refused:
        with pytest.raises(PageError, match=wrong):
            joined({"main.js": text, "vtk.js": ""}, "main.js")


def test_options_of_other_formats_are_refused(run, tmp_path, capsys):
    for words in (["--steps", "1"], ["--span", "2"], ["--fields", "step_time_s"]):
        target = tmp_path / "page.html"
        assert commands.main(["export", str(run), "--to", "html", "-o", str(target), *words]) == 2
        assert words[0] in capsys.readouterr().err and not target.exists()
