# SPDX-License-Identifier: BSD-3-Clause
"""The page of `perfield serve` in headless Chromium, as a reader uses it."""

from __future__ import annotations

import io
import json
import shutil

import numpy as np
import pytest
from drivers.driven_chromium import Tab, opened_tab
from drivers.page_layout import BROKEN
from drivers.served import served
from known_runs.device_runs import GB, kernel_s, write_device_run
from known_runs.foam_cases import write_case, write_mesh
from matplotlib import colormaps
from matplotlib.image import imread

import perfield
from perfield.pictures.blocks import MeshMissingError
from perfield.serve import about, one_rank, routes, surface
from perfield.serve.page_files import LIBRARY, page_files
from twins import twin

if LIBRARY not in page_files():
    pytest.skip("installed without vtk.js, which the page needs", allow_module_level=True)

CHOSEN = (0xD6, 0x00, 0x6C)  # the colour of the chosen rank, of marks.js
N_RANKS, N_STEPS = 8, 10


@pytest.fixture(scope="module")
def tab(client, tmp_path_factory):
    """A browser that shows the run of 8 ranks."""
    with opened_tab(address(client), tmp_path_factory.mktemp("browser"), "1500,1037", webgl=True) as shown:
        yield shown


def address(client, choice: str = "") -> str:
    return f"http://localhost:{client.port}/#{choice}"


def show(tab: Tab, client, choice: str = "") -> None:
    """Opens the page anew. choice : what is behind # in its address."""
    tab.visit(address(client, choice))
    ready(tab)


def ready(tab: Tab) -> None:
    tab.until("document.body.dataset.ready === 'true'")


def text(tab: Tab, selector: str) -> str:
    return tab.value(f"document.querySelector('{selector}').innerText")


def pixels(tab: Tab) -> np.ndarray:
    """What is seen, (height, width, 3), 0 to 255."""
    return np.round(255 * imread(io.BytesIO(tab.picture()))[..., :3]).astype(int)


def box(tab: Tab, selector: str) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of an element, in pixels."""
    found = tab.value(
        f"(() => {{ const b = document.querySelector('{selector}').getBoundingClientRect();"
        "return [b.left, b.top, b.right, b.bottom].map(Math.round) })()"
    )
    return tuple(found)


def part(seen: np.ndarray, place: tuple[int, int, int, int]) -> np.ndarray:
    left, top, right, bottom = place
    return seen[top:bottom, left:right]


def middle(tab: Tab, picture: str, rank: int) -> tuple[float, float]:
    """Where the middle of a rank's piece, or of its cell in the machine, is on the page."""
    x, y = tab.value(
        f"(() => {{ const p = perfield.pictures.{picture}, b = p.view.stage.getBoundingClientRect();"
        f"const [x, y] = (p.view.lens ?? p.view).pixel(...p.middle({rank}));"
        "return [b.left + x, b.top + y] })()"
    )
    return x, y


def is_marked(tab: Tab, selector: str) -> bool:
    """Whether the colour of the chosen rank is seen in an element."""
    near = np.abs(part(pixels(tab), box(tab, selector)) - CHOSEN).sum(axis=-1) < 30
    return bool(near.sum() > 10)


def colour_of(value: float, field: dict) -> np.ndarray:
    low, high = field["scale"]
    return np.array(colormaps[field["map"]]((value - low) / (high - low))[:3]) * 255


def test_head_names_program_ranks_and_run(tab, client):
    show(tab, client)
    assert text(tab, "#run-name") == "heat"
    assert text(tab, "#run-facts") == "8 ranks, 10 frames, perfield-run"


def test_pixels_show_values_of_field_and_step(tab, client, run):
    fields = {field["name"]: field for field in client.json("/api/run")["fields"]}
    steps = perfield.open(run)
    last = N_RANKS - 1  # its piece is in front of all others
    for name, frame in (("compute_time_s", 2), ("waiting_time_s", 2), ("exchange_time_s", 7)):
        show(tab, client, f"frame={frame}&field={name}")
        seen = pixels(tab)
        for picture, rank in (("mesh", last), ("machine", 0), ("machine", 3), ("machine", last)):
            x, y = middle(tab, picture, rank)
            value = steps.frame(frame).values[name][rank]
            assert seen[round(y), round(x)] == pytest.approx(colour_of(value, fields[name]), abs=6), (
                name,
                picture,
            )
    assert not tab.complaints


def test_choosers_change_both_pictures(tab, client):
    show(tab, client, "frame=2&field=resident_bytes")
    tab.until("perfield.heat.about?.name === 'resident_bytes'")
    places = [box(tab, f"#{card} .stage") for card in ("mesh", "machine", "heat")]
    first = pixels(tab)
    tab.value(
        "(() => { const chooser = document.getElementById('field'); chooser.value = 'compute_time_s';"
        "chooser.dispatchEvent(new Event('change')) })()"
    )
    tab.until("perfield.about.name === 'compute_time_s' && perfield.heat.about === perfield.about")
    second = pixels(tab)
    assert all((part(first, place) != part(second, place)).any() for place in places)
    tab.press("ArrowRight")
    tab.until("perfield.frame === 3 && document.getElementById('step-words').innerText.includes('step 4')")
    assert (part(second, places[2]) != part(pixels(tab), places[2])).any()  # the mark of the step
    assert "frame=3" in tab.value("location.hash") and not tab.complaints
    for beyond, last in ((99, N_STEPS - 1), (-1, 0)):
        tab.value(f"perfield.set({{frame: {beyond}}})")
        assert tab.value("perfield.frame") == last


@pytest.mark.parametrize(("picture", "rank", "other"), [("mesh", 7, "machine"), ("machine", 2, "mesh")])
def test_pick_says_the_rank_and_marks_it_everywhere(tab, client, run, picture, rank, other):
    show(tab, client, "frame=4&field=compute_time_s")
    assert not is_marked(tab, f"#{other} .stage")
    tab.click(*middle(tab, picture, rank))
    tab.until(
        "document.querySelectorAll('#panel .chart').length > 0"
        "&& !!perfield.heat.heat && !!perfield.matrix.matrix"
    )
    values = perfield.open(run).frame(4).values
    printed = text(tab, "#panel")
    assert printed.startswith(f"Rank {rank}\n") and f"host\n{'ab'[rank // 4]}\n" in printed
    assert f"compute time\n{1000 * values['compute_time_s'][rank]:.3g} ms" in printed
    before, after = (rank - 1) % N_RANKS, (rank + 1) % N_RANKS
    sent, received = (2 * (who + 1) * N_STEPS for who in (rank, before))  # kB; see twin.step_values
    rows = tab.value("[...document.querySelectorAll('.partners tbody tr')].map((row) => row.innerText)")
    assert sorted(row.split() for row in rows) == sorted(
        [[str(after), *f"{sent} kB".split(), "-"], [str(before), "-", *f"{received} kB".split()]]
    )
    for card in (other, "heat", "matrix"):
        assert is_marked(tab, f"#{card} .stage"), card
    assert not tab.complaints


def test_machine_zooms_where_the_pointer_is_and_shows_all_again(tab, client):
    show(tab, client, "frame=4&field=compute_time_s")
    tab.until("perfield.pictures.machine.size.join() === perfield.pictures.machine.wanted.join()")
    before = middle(tab, "machine", 5)
    wheel = {"type": "mouseWheel", "x": before[0], "y": before[1], "deltaX": 0, "deltaY": -300}
    tab.call("Input.dispatchMouseEvent", **wheel)
    tab.until("perfield.pictures.machine.view.zoom > 1.5")
    assert middle(tab, "machine", 5) == pytest.approx(before, abs=1)
    tab.click(*before)
    tab.until("perfield.chosen === 5")
    tab.value("document.querySelector('#machine .stage canvas').focus()")
    tab.press("0")
    tab.until("perfield.pictures.machine.view.zoom === 1")
    assert not tab.complaints


def test_mark_leaves_the_colours_of_what_it_marks(tab, client, run):
    show(tab, client, "frame=2&field=compute_time_s&rank=3")
    tab.until("perfield.heat.heat?.complete && perfield.pictures.machine.values")
    field = next(one for one in client.json("/api/run")["fields"] if one["name"] == "compute_time_s")
    left, top = box(tab, "#heat .stage")[:2]
    x, y, wide, high = tab.value("perfield.heat.grid.box")
    seen, steps = pixels(tab), perfield.open(run)

    def cell(rank, step):
        here = seen[
            round(top + y + (rank + 0.5) / N_RANKS * high), round(left + x + (step + 0.5) / 10 * wide)
        ]
        return np.abs(here - colour_of(steps.frame(step).values[field["name"]][rank], field)).max()

    assert max(cell(3, step) for step in range(N_STEPS)) <= 6
    assert min(cell(5, step) for step in range(N_STEPS)) > 20  # it fades
    for rank, is_chosen in ((3, True), (5, False)):
        at = middle(tab, "machine", rank)
        wanted = colour_of(steps.frame(2).values[field["name"]][rank], field)
        assert (np.abs(seen[round(at[1]), round(at[0])] - wanted).max() <= 6) == is_chosen


def test_newest_step_is_one_that_all_ranks_have_delivered(tab, client):
    show(tab, client, "frame=2")
    tab.value("perfield.run.frames.n_present = [8, 8, 8, 8, 8, 8, 8, 8, 7, 5]; perfield.set({follow: true})")
    assert tab.value("[perfield.frame, perfield.follow]") == [7, True]


@pytest.mark.parametrize("width", [360, 800, 1024, 1280, 2560])
def test_nothing_overlaps_or_is_cut_at_any_width(tab, client, width):
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    show(tab, client, "frame=2&rank=3")
    assert tab.value("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.value(BROKEN) == []
    tab.call("Emulation.clearDeviceMetricsOverride")


def test_finding_shows_its_field_step_and_rank(tab, client):
    show(tab, client, "frame=0&field=resident_bytes")
    cards = client.json("/api/findings")["findings"]
    number, card = next((n, card) for n, card in enumerate(cards) if card["rank"] is not None)
    tab.until("document.querySelectorAll('#panel .finding').length > 0")
    printed = text(tab, f"#panel .finding:nth-child({number + 1})")
    assert card["words"] in printed and card["remedy"] in printed and card["cost"] in printed
    tab.value(f"document.querySelectorAll('#panel .finding-title')[{number}].click()")
    wanted = [card["frame"], card["field"], card["rank"]]
    assert tab.value("[perfield.frame, perfield.about.name, perfield.chosen]") == wanted
    tab.until("document.getElementById('panel').innerText.includes('PUs')")
    tab.value("window.open = () => (window.opened = {}); document.getElementById('report').click()")
    tab.until("window.opened?.location?.startsWith('blob:')")
    assert not tab.complaints


def keydown(tab: Tab, key: str, **more: bool) -> None:
    """Presses a key on the page."""
    about = json.dumps({"key": key, "bubbles": True, **more})
    tab.value(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {about}))")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("rank 6", "perfield.chosen === 6"),
        ("step 4", "perfield.frame === 3"),
        ("waiting time", "perfield.about.name === 'waiting_time_s'"),
        ("host b", "perfield.chosen === 7"),  # which computes longest there
        ("play", "perfield.controls.playing"),
    ],
)
def test_search_finds_ranks_steps_fields_hosts_and_commands(tab, client, words, found):
    show(tab, client, "frame=1&field=compute_time_s")
    keydown(tab, "k", ctrlKey=True)
    tab.value(
        f"(() => {{ const box = document.querySelector('.palette input'); box.value = '{words}';"
        "box.dispatchEvent(new Event('input'));"
        "box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true})) })()"
    )
    assert tab.value(f"{found} && !document.querySelector('.palette').open") and not tab.complaints


def test_search_lists_all_fields_by_group_with_units_and_says_what_it_does_not_find(tab, client):
    show(tab, client, "frame=1")
    tab.value("document.getElementById('find').click()")
    rows = tab.value(
        "[...document.querySelectorAll('.palette-row')].map((row) => row.innerText.split('\\n'))"
    )
    fields = client.json("/api/run")["fields"]
    assert {field["title"] for field in fields} <= {row[0] for row in rows}
    assert any(row[1:] in (["ms"], ["s"], ["µs"]) for row in rows)
    groups = tab.value("[...document.querySelectorAll('.palette-group')].map((one) => one.innerText)")
    assert {"Fields: time", "Fields: waiting", "Commands"} <= set(groups)
    tab.value(
        "(() => { const box = document.querySelector('.palette input'); box.value = 'nosuchthing';"
        "box.dispatchEvent(new Event('input')) })()"
    )
    assert "Nothing has this name" in text(tab, "#found") and not tab.complaints


def test_all_is_reached_by_keys_and_the_address(tab, client):
    show(tab, client, "frame=1&field=compute_time_s")
    tab.until("perfield.findings.cards !== null")
    for key, holds in (
        ("]", "perfield.chosen === 0"),
        ("]", "perfield.chosen === 1"),
        ("[", "perfield.chosen === 0"),
        ("d", "location.hash.includes('ends=')"),
        ("a", "!location.hash.includes('ends=')"),
        ("m", "perfield.layers.messages"),
        ("Escape", "perfield.chosen === null"),
        ("1", "perfield.about.name === perfield.findings.cards[0].field"),
        ("?", "document.querySelector('.keys').open"),
    ):
        keydown(tab, key)
        assert tab.value(holds), key
    for words in ("Ctrl-K", "next rank", "show a finding"):
        assert words in text(tab, ".keys")
    tab.value("document.querySelector('.keys').close(); location.hash = '#frame=6&field=step_time_s&rank=2'")
    tab.until("perfield.frame === 6 && perfield.chosen === 2 && perfield.about.name === 'step_time_s'")
    assert not tab.complaints


def test_page_is_dark_where_the_reader_wants_it(tab, client):
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    tab.call("Emulation.setEmulatedMedia", features=dark)
    show(tab, client, "frame=1&field=compute_time_s")
    for card in ("mesh", "machine", "heat", "matrix", "panel"):
        left, _, _, bottom = box(tab, f"#{card}")
        assert pixels(tab)[bottom - 6, left + 12].max() < 60, card
    tab.call("Emulation.setEmulatedMedia", features=[])
    tab.until("perfield.pictures.mesh.view.renderer.getBackground()[0] === 1")
    left, _, _, bottom = box(tab, "#mesh")
    assert pixels(tab)[bottom - 6, left + 12].min() > 200 and not tab.complaints


def test_panel_asks_once_and_says_what_is_left_out(tab, client, monkeypatch):
    monkeypatch.setattr(one_rank, "MOST_PARTNERS", 1)
    monkeypatch.setattr(one_rank, "MOST_REGIONS", 1)
    show(tab, client)
    asked = []
    answer = routes.API["rank"]
    monkeypatch.setitem(routes.API, "rank", lambda *words: (asked.append(words), answer(*words))[1])
    tab.value("perfield.set({rank: 4})")
    tab.until("document.querySelectorAll('#panel .chart').length === 1")
    assert "1 more with fewer bytes" in text(tab, "#panel") and "more with less time" in text(tab, "#panel")
    begin = tab.value("performance.now()")
    tab.until(f"performance.now() > {begin} + 1000")
    assert len(asked) == 1


def test_panel_of_long_run_says_the_step_of_its_numbers(tab, run, monkeypatch):
    monkeypatch.setattr(one_rank, "MOST_FRAMES", 4)  # of 10 steps, so of every third
    computed = perfield.open(run).frame(6).values["compute_time_s"][5]
    with served(run) as client:
        show(tab, client, "frame=7&rank=5&field=step_time_s")
        tab.until("document.querySelectorAll('#panel .chart').length > 0 && !!perfield.shown")
        assert "step 7" in text(tab, "#panel")  # the one before the step that is shown
        assert f"compute time\n{1000 * computed:.3g} ms" in text(tab, "#panel")
        tab.value("document.querySelector('.chart').dispatchEvent(new MouseEvent('click', {clientX: 1e5}))")
        tab.until("perfield.frame === 9")
    assert not tab.complaints


def test_click_into_heat_map_chooses_rank_and_step(tab, client):
    show(tab, client, "frame=4")
    tab.until("perfield.heat.heat?.complete")
    left, top, right, bottom = box(tab, "#heat .stage")
    where = tab.value("JSON.parse(JSON.stringify(perfield.heat.grid.box))")
    x = left + where[0] + (8 + 0.5) / N_STEPS * where[2]
    y = top + where[1] + (5 + 0.5) / N_RANKS * where[3]
    assert x < right and y < bottom
    tab.click(x, y)
    tab.until("perfield.chosen === 5 && perfield.frame === 8 && perfield.panel.data")
    assert text(tab, "#panel").startswith("Rank 5\n") and "step 9" in text(tab, "#step-words")


def test_heat_map_shows_a_brushed_part_and_sorts_ranks(tab, client, run):
    show(tab, client, "frame=4&field=compute_time_s")
    tab.until("perfield.heat.heat?.complete && perfield.matrix.matrix?.complete")
    left, top = box(tab, "#heat .stage")[:2]
    x, y, wide, high = tab.value("perfield.heat.grid.box")
    begin, end = (
        (left + x + (step + 0.5) / N_STEPS * wide, top + y + (rank + 0.5) / N_RANKS * high)
        for rank, step in ((1, 2), (4, 6))
    )
    for kind, (at_x, at_y) in (("mousePressed", begin), ("mouseMoved", end), ("mouseReleased", end)):
        tab.call("Input.dispatchMouseEvent", type=kind, x=at_x, y=at_y, button="left", clickCount=1)
    assert tab.value("[perfield.heat.span, perfield.span, perfield.frame]") == [[2, 6], [2, 7], 4]
    assert tab.value("[...perfield.ranks]") == tab.value("perfield.heat.rows") == [1, 2, 3, 4]
    assert text(tab, "#step-words") == "mean of steps 3 to 7"
    assert "part=2-6&ranks=1-4&mean=1" in tab.value("location.hash")
    computed = [perfield.open(run).frame(frame).values["compute_time_s"] for frame in range(2, 7)]
    tab.value("perfield.drawn.then(() => (window.mean = Array.from(perfield.shown)))")
    assert tab.until("window.mean") == pytest.approx(np.mean(computed, axis=0), rel=1e-5)
    tab.until("document.querySelector('#matrix .caption').textContent.includes('5 steps')")
    sent = client.packed("/api/matrix?from=2&to=7")[0]["bytes"]
    tab.until(f"perfield.matrix.matrix.arrays.bytes.reduce((a, b) => a + b, 0) === {sent.sum()}")
    tab.click((begin[0] + end[0]) / 2, top + y + 3)  # the first row, the step in the middle
    assert tab.value("[perfield.chosen, perfield.frame]") == [1, 4]
    tab.value("document.querySelector('#heat canvas').dispatchEvent(new MouseEvent('dblclick'))")
    assert tab.value("[perfield.heat.span, perfield.span, perfield.ranks]") == [None, None, None]
    tab.value(
        "(() => { const sort = document.getElementById('sort'); sort.value = 'value';"
        "sort.dispatchEvent(new Event('change')) })()"
    )
    values = perfield.open(run).frame(4).values["compute_time_s"]
    assert tab.value("perfield.heat.rows") == np.argsort(-values, kind="stable").tolist()
    assert tab.value("perfield.heat.grid.rowName(0)") == str(values.argmax()) and not tab.complaints


def test_part_of_the_steps_and_ranks_is_in_the_address(tab, client, run):
    show(tab, client, "frame=4&field=compute_time_s&part=2-6&ranks=0,3-5&mean=1")
    tab.until("perfield.heat.heat?.complete")
    assert tab.value("[perfield.heat.span, perfield.heat.rows]") == [[2, 6], [0, 3, 4, 5]]
    assert text(tab, "#step-words") == "mean of steps 3 to 7"
    tab.value("document.getElementById('all').click()")
    assert "part=" not in tab.value("location.hash") and tab.value("perfield.ranks") is None
    tab.value("history.back()")
    tab.until("perfield.heat.rows.length === 4 && perfield.average")
    show(tab, client, "frame=4&field=compute_time_s&part=7-99&ranks=x")  # as far as the run has it
    tab.until("perfield.heat.heat?.complete")
    assert tab.value("[perfield.span, perfield.ranks, perfield.average]") == [[7, 10], None, False]
    assert not tab.complaints


def test_heat_map_sorts_ranks_by_node_and_along_the_mesh(tab, client):
    show(tab, client, "frame=4&field=compute_time_s")
    tab.until("perfield.heat.heat?.complete && perfield.pictures.mesh?.centres")
    tab.value("perfield.run.ranks.node = [1, 0, 1, 0, 1, 0, 1, 0]; perfield.heat.sort('node')")
    assert tab.value("perfield.heat.rows") == [1, 3, 5, 7, 0, 2, 4, 6]
    assert tab.value("perfield.heat.grid.groups") == [4]
    square = [[0, 0], [9, 9], [0, 9], [9, 0]] * 2  # two corners lie side by side only along an edge
    places = [[*place, 0 if n < 4 else 9] for n, place in enumerate(square)]
    tab.value(f"perfield.pictures.mesh.centres = Float32Array.from({np.ravel(places).tolist()})")
    tab.value("perfield.heat.sort('mesh')")
    rows = tab.value("perfield.heat.rows")
    apart = [np.count_nonzero(np.subtract(places[a], places[b])) for a, b in zip(rows, rows[1:])]
    assert sorted(rows) == list(range(8)) and apart == [1] * 7 and not tab.complaints


def test_wall_clock_and_histogram_stand_beside_steps_and_colours(tab, client, run):
    begins = client.json("/api/run")["frames"]["begin_s"]
    assert len(begins) == N_STEPS and all(a < b for a, b in zip(begins, begins[1:]))
    show(tab, client, "frame=4&field=compute_time_s&rank=3")
    tab.until("perfield.heat.heat?.complete && !!document.querySelector('.histogram .chart-now')")
    assert tab.value("perfield.heat.grid.timeName(0)").startswith("0 ")
    tab.value(
        "import('/page/histogram.js').then(({counted}) =>"
        " (window.counts = counted(perfield.shown, [0, 1e-9])));0"
    )
    assert tab.until("window.counts")[-1] == N_RANKS  # what lies beyond counts at the end
    assert "ranks by value" in tab.value("document.querySelector('.histogram').getAttribute('aria-label')")
    assert not tab.complaints


def test_choices_are_taken_back_and_cards_are_enlarged_and_saved(tab, client):
    show(tab, client, "frame=4&field=compute_time_s")
    tab.until("perfield.heat.heat?.complete && perfield.matrix.matrix?.complete")
    tab.value("perfield.set({rank: 3}); perfield.set({field: 'step_time_s'}); history.back()")
    tab.until("perfield.about.name === 'compute_time_s' && perfield.chosen === 3")
    tab.value("history.back()")
    tab.until("perfield.chosen === null && perfield.frame === 4")
    tab.value(
        "window.saved = []; HTMLAnchorElement.prototype.click = function () { saved.push(this.download) };"
        "for (const one of document.querySelectorAll('.card-menu button')) one.click()"
    )
    tab.until("saved.length === 11")
    assert tab.value("saved.filter((name) => name.endsWith('.svg')).length") == 3
    tab.value(DRAWN)
    assert {"rect", "text", "image"} <= set(tab.until("window.drawn"))
    assert tab.value("saved.filter((name) => name.endsWith('.csv')).length") == 4
    assert tab.value("perfield.heat.table().length") == N_RANKS + 1
    keydown(tab, "Escape")
    assert tab.value("document.querySelector('.large') === null") and not tab.complaints


DRAWN = """(() => {
  URL.createObjectURL = (blob) => {
    const parsed = (text) => new DOMParser().parseFromString(text, blob.type).querySelectorAll('*');
    blob.text().then((text) => (window.drawn = [...parsed(text)].map((one) => one.tagName)));
    return '';
  };
  document.querySelector('#heat .card-menu button:nth-child(3)').click();
})()"""


def test_ranks_beyond_a_value_are_shown_alone(tab, client, run):
    show(tab, client, "frame=4&field=compute_time_s")
    tab.until("perfield.heat.heat?.complete")
    values = perfield.open(run).frame(4).values["compute_time_s"]
    words = json.dumps(["over", f"{1e3 * np.median(values):.6g}"])
    tab.value(f"import('/page/parts.js').then(({{parts}}) => (window.parts = parts(perfield, {words})));0")
    assert tab.until("window.parts")[0]["note"] == f"{(values > np.median(values)).sum()} ranks"
    tab.value("import('/page/parts.js').then(({parts}) => parts(perfield, ['host', 'b'])[0].run());0")
    tab.until("perfield.heat.rows.join() === '4,5,6,7'")
    assert not tab.complaints


def test_ends_of_the_legend_are_typed_dragged_and_those_of_the_step(tab, client, run):
    show(tab, client, "frame=4&field=compute_time_s")
    values = perfield.open(run).frame(4).values["compute_time_s"]
    usual = tab.value("[perfield.colours.low, perfield.colours.high]")
    assert tab.value("document.querySelectorAll('#legend input.legend-end').length") == 2
    tab.value(
        "(() => { const end = document.querySelectorAll('#legend input')[1]; end.value = '1.5';"
        "end.dispatchEvent(new Event('change')) })()"
    )
    unit = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[text(tab, "#legend .legend-unit")]
    assert tab.value("perfield.colours.high") == pytest.approx(1.5 * unit)
    assert "ends=" in tab.value("location.hash")
    show(tab, client, tab.value("location.hash").removeprefix("#"))
    assert tab.value("perfield.colours.high") == pytest.approx(1.5 * unit)
    tab.value("document.querySelector('#legend .legend-bar').dispatchEvent(new MouseEvent('dblclick'))")
    assert tab.value("[perfield.colours.low, perfield.colours.high]") == pytest.approx(
        [values.min(), values.max()], rel=1e-6
    )
    left, top, right, bottom = box(tab, "#legend .legend-bar")
    grip = box(tab, "#legend .legend-grip:last-child")
    at = {"x": (grip[0] + grip[2]) / 2, "y": (top + bottom) / 2, "button": "left", "clickCount": 1}
    tab.call("Input.dispatchMouseEvent", type="mousePressed", **at)
    for x in ((left + right) / 2 + 20, (left + right) / 2):
        tab.call("Input.dispatchMouseEvent", **{**at, "x": x}, type="mouseMoved")
    tab.call("Input.dispatchMouseEvent", **{**at, "x": x}, type="mouseReleased")
    whole = [min(usual[0], values.min()), max(usual[1], values.max())]
    assert tab.value("perfield.colours.high") == pytest.approx(sum(whole) / 2, rel=0.05)
    tab.value("document.querySelector('#legend button').click()")
    assert tab.value("[perfield.colours.low, perfield.colours.high]") == usual
    assert "ends=" not in tab.value("location.hash") and not tab.complaints


def test_lower_end_of_the_legend_is_dragged_and_moved_by_keys(tab, client):
    show(tab, client, "frame=4&field=compute_time_s")
    low, high = tab.value("[perfield.colours.low, perfield.colours.high]")
    left, top, right, bottom = box(tab, "#legend .legend-bar")
    at = {"x": left, "y": (top + bottom) / 2, "button": "left", "clickCount": 1}
    tab.call("Input.dispatchMouseEvent", type="mousePressed", **at)
    for kind in ("mouseMoved", "mouseReleased"):
        tab.call("Input.dispatchMouseEvent", **{**at, "x": (left + right) / 2}, type=kind)
    assert tab.value("perfield.colours.low") == pytest.approx((low + high) / 2, rel=0.05)
    before = tab.value("perfield.colours.low")
    tab.value("document.querySelector('#legend .legend-grip').focus()")
    tab.press("ArrowRight")
    assert tab.value("perfield.colours.low") == pytest.approx(before + 0.02 * (high - low))
    tab.press("ArrowRight")  # the end that was drawn anew has the focus
    assert tab.value("perfield.colours.low") == pytest.approx(before + 0.04 * (high - low))
    assert tab.value("perfield.frame") == 4 and not tab.complaints


NAMED = ("button", "slider", "textbox", "combobox", "checkbox", "listbox", "image", "link", "searchbox")


def test_screen_readers_get_a_name_of_all_that_is_operated_or_drawn(tab, client):
    show(tab, client, "frame=4&field=compute_time_s&rank=3&with=2")
    tab.until("perfield.heat.heat?.complete && perfield.matrix.matrix?.complete && !!perfield.pictures.mesh")
    tab.until("document.querySelectorAll('#panel .chart').length > 0")
    nodes = [node for node in tab.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
    kinds = [node["role"]["value"] for node in nodes]
    assert kinds.count("slider") >= 5 and kinds.count("image") >= 4
    nameless = [kind for kind, node in zip(kinds, nodes) if kind in NAMED and not node["name"].get("value")]
    assert nameless == []
    assert tab.value("document.getElementById('frame').getAttribute('aria-valuetext')") == text(
        tab, "#step-words"
    )
    assert not tab.complaints


def test_tables_of_cards_hold_what_they_show(tab, client, run):
    show(tab, client, "frame=4&field=compute_time_s")
    tab.until("perfield.heat.heat?.complete && perfield.matrix.matrix?.complete")
    values = perfield.open(run).frame(4).values["compute_time_s"]
    tab.value(
        "window.tables = []; HTMLAnchorElement.prototype.click = () => {};"
        "URL.createObjectURL = (blob) => (blob.text().then((text) => tables.push(text)), '');"
        "for (const one of document.querySelectorAll('.card-menu button'))"
        " if (one.innerText.includes('CSV') || one.textContent.includes('CSV')) one.click()"
    )
    tab.until("tables.length === 4")
    tables = [[row.split(",") for row in one.split("\r\n")[:-1]] for one in tab.value("tables")]
    of_ranks = [one for one in tables if one[0] == ["rank", "host", "core", "compute_time_s"]]
    assert len(of_ranks) == 2  # of the mesh and of the machine
    for rank, row in enumerate(of_ranks[0][1:]):
        assert row[:2] == [str(rank), "ab"[rank // 4]]
        assert float(row[3]) == pytest.approx(values[rank], rel=1e-6)
    heat = next(one for one in tables if one[0][1:2] == ["step 1"])
    assert len(heat) == N_RANKS + 1 and float(heat[4][5]) == pytest.approx(values[3], rel=1e-6)
    assert not tab.complaints


def test_legend_of_the_matrix_says_the_ends_of_its_colours(tab, client):
    show(tab, client)
    tab.until("!!document.querySelector('#matrix .matrix-ends') && perfield.matrix.matrix.complete")
    # Rank 0 sends 20 kB, rank 7 sends 160 kB; the colours span a decade.
    assert text(tab, "#matrix .matrix-ends").split("\n") == ["16 kB", "160 kB"]


def test_long_title_of_a_step_is_whole(tab, client):
    show(tab, client)
    fits = tab.value(
        "(() => { const words = document.getElementById('step-words');"
        "words.textContent = 'step 17, time 8.525, a typical step';"
        "return words.scrollWidth <= words.clientWidth && words.scrollHeight <= words.clientHeight })()"
    )
    assert fits


def test_reload_keeps_what_was_chosen(tab, client):
    show(tab, client, "step=7&field=waiting_time_s&rank=6")
    tab.press("ArrowLeft")
    tab.until("location.hash.includes('frame=5')")
    show(tab, client, tab.value("location.hash").removeprefix("#"))
    assert tab.value("document.getElementById('field').value") == "waiting_time_s"
    assert "step 6" in text(tab, "#step-words")
    tab.until("document.getElementById('panel').innerText.startsWith('Rank 6')")


def test_page_shows_fields_versions_and_cells_of_a_mesh_on_disk(tab, tmp_path):
    path = twin.write_run(tmp_path / "run", 2, 3, mesh=False, change_step=timed, started_in=".")
    write_case(path, ranks=2)
    for rank in range(2):
        write_mesh(path / f"processor{rank}/0.5/polyMesh", rank + 10)
    with served(path) as client:
        show(tab, client, "frame=0&own=p")
        assert tab.value("[...document.getElementById('own').options].map((one) => one.value)") == ["", "p"]
        assert tab.value("perfield.own") == "p" and "mesh from" in text(tab, "#mesh .picture-notes").lower()
        assert tab.value("perfield.pictures.mesh.surface.actor.getProperty().getEdgeVisibility()")
        tab.press("ArrowRight")
        tab.until("perfield.pictures.mesh.version === 1 && perfield.pictures.mesh.mesh.bounds[0] === 10")
    assert not tab.complaints


def timed(rank, step, values):
    """The program's time: 0, 0.5, 1."""
    values["time"] = 0.5 * step


def test_two_browsers_choose_apart(tab, client, tmp_path):
    show(tab, client, "frame=1&rank=1")
    with opened_tab(address(client, "frame=8&rank=4"), tmp_path, "1280,800", webgl=True) as second:
        ready(second)
        tab.press("ArrowRight")
        tab.until("perfield.frame === 2")
        assert [second.value("perfield.frame"), second.value("perfield.chosen")] == [8, 4]
        assert [tab.value("perfield.frame"), tab.value("perfield.chosen")] == [2, 1]
        assert not second.complaints


def test_running_run_grows_on_the_page(tab, tmp_path):
    whole = twin.write_run(tmp_path / "whole", 4, 6, mesh=False, change_rank=twin.live_rank)
    growing = twin.write_run(tmp_path / "run", 4, 3, ended=False, mesh=False, change_rank=twin.live_rank)
    with served(growing) as client:
        show(tab, client)
        assert tab.value("[perfield.run.n_frames, perfield.frame, perfield.run.state]") == [3, 2, "running"]
        for stream in (growing / "stream").iterdir():
            shutil.copy(whole / "stream" / stream.name, stream)
        tab.until("perfield.run.n_frames === 6 && perfield.run.state === 'finished'")
        tab.until("perfield.shown && perfield.frame === 5")  # it followed
        assert "step 6" in text(tab, "#step-words")
        tab.until("perfield.pictures.mesh?.mesh.way.startsWith('boxes')")
        assert tab.value("perfield.pictures.machine !== null") and not tab.complaints


def test_mesh_card_says_in_one_sentence_why_it_is_empty(tab, tmp_path):
    def silent(rank, step, body):
        body["messages"] = []

    with served(twin.write_run(tmp_path / "run", 2, 3, mesh=False, change_step=silent)) as client:
        show(tab, client)
        tab.until("!!document.querySelector('#mesh .instead')")
        assert text(tab, "#mesh .instead").startswith("No rank of ")
        assert tab.value("document.querySelector('#mesh .picture-notes').hidden")
        assert not tab.complaints


def test_many_ranks_begin_with_the_overview(tab, run, monkeypatch):
    for name in ("MANY_RANKS", "MOST_CELLS"):
        monkeypatch.setattr(about, name, N_RANKS - 1)
    with served(run) as client:
        show(tab, client, "frame=3")
        assert tab.value("perfield.pictures.machine.machine.overview && perfield.pictures.mesh === null")
        tab.click(*middle(tab, "machine", 5))  # the node of ranks 4 to 7, of which 7 computes longest
        tab.until("document.getElementById('panel').innerText.startsWith('Rank 7')")
        load = "[...document.querySelectorAll('#mesh button')].find(b => b.textContent === 'Load the mesh')"
        tab.value(f"{load}.click()")
        tab.until("!!perfield.pictures.mesh?.surface && perfield.pictures.mesh.view.cells.length === 1")
    assert not tab.complaints


def test_device_shows_the_sum_of_its_ranks_and_says_so(tab, tmp_path):
    hit = "{layer: perfield.pictures.machine.layers.get('devices'), cell: 0}"
    with served(write_device_run(tmp_path / "run")) as client:
        show(tab, client, "frame=1&field=device_kernel_time_s")
        reported = tab.value(f"perfield.pictures.machine.partAt({hit})")
        assert (reported["name"], reported["nRanks"], reported["joined"]) == ("nvidia0 on node0", 2, "sum")
        assert reported["value"] == pytest.approx(kernel_s(0, 1) + kernel_s(1, 1))
        show(tab, client, "frame=1&field=device_memory_bytes")
        reported = tab.value(f"perfield.pictures.machine.partAt({hit})")
        assert reported["joined"] == "mean" and reported["value"] == pytest.approx(9 * GB)
    assert not tab.complaints


COUNT_VALUES = """
const fetched = window.fetch;
window.asked = window.answered = 0;
window.fetch = (path, ...more) => {
  if (!path.startsWith('api/values')) return fetched(path, ...more);
  window.asked += 1;
  return fetched(path, ...more).finally(() => setTimeout(() => (window.answered += 1), 200));
};
"""


def test_slow_tunnel_shows_what_was_chosen_last(tab, client, run):
    show(tab, client, "frame=2&field=compute_time_s")
    tab.call("Network.enable")
    slow = {"latency": 300, "downloadThroughput": 20_000, "uploadThroughput": 20_000}
    tab.call("Network.emulateNetworkConditions", offline=False, **slow)
    tab.value(COUNT_VALUES)
    for name, frame in (("waiting_time_s", 7), ("resident_bytes", 1), ("compute_time_s", 4)):
        tab.value(f"perfield.set({{field: '{name}', frame: {frame}}})")  # the last is here already
    tab.until("asked > 1 && answered === asked")
    assert tab.value("Array.from(perfield.shown)") == pytest.approx(perfield.open(run).frame(4).values[name])
    assert tab.value("document.getElementById('field').value") == name and not tab.complaints
    fast = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    tab.call("Network.emulateNetworkConditions", offline=False, **fast)


def test_page_says_what_fails_and_stays(tab, client):
    show(tab, client, "frame=2")
    tab.call("Network.enable")
    speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    tab.call("Network.emulateNetworkConditions", offline=True, **speed)
    tab.value("perfield.set({rank: 3})")
    tab.until("!document.getElementById('message').hidden")
    assert "server does not answer" in text(tab, "#message")
    assert tab.value("!!perfield.pictures.mesh.surface && perfield.frame") == 2
    tab.call("Network.emulateNetworkConditions", offline=False, **speed)
    tab.value("perfield.set({rank: 4})")
    tab.until("document.getElementById('panel').innerText.includes('PUs')")
    tab.complaints.clear()  # the browser reports the lost connection itself


def test_step_without_own_field_is_shown_grey_and_reported(tab, client, monkeypatch):
    own = surface.own_field

    def of_others(view, field, position):
        if position == 4:
            raise MeshMissingError(f"no piece has the field '{field}' in frame 4.")
        return own(view, field, position)

    monkeypatch.setattr(surface, "own_field", of_others)
    show(tab, client, "frame=3&field=compute_time_s&own=temperature")
    place = box(tab, "#machine .stage")
    before = part(pixels(tab), place)
    tab.press("ArrowRight")
    tab.until(
        "!document.getElementById('message').hidden && perfield.shown[0] === perfield.values.known("
        "'compute_time_s', 4)[0]"
    )
    assert "no piece has the field 'temperature' in frame 4" in text(tab, "#message")
    tab.until("perfield.pictures.mesh.surface.actor.getTextures().length === 1")
    assert tab.value("Array.from(perfield.pictures.mesh.surface.texels.slice(0, 3))") == tab.value(
        "Array.from(perfield.colours.absent)"
    )
    assert (part(pixels(tab), place) != before).any()
    tab.complaints.clear()  # the browser reports the refusal itself


def test_play_draws_each_step_over_a_slow_tunnel(tab, client):
    show(tab, client, "frame=4&field=compute_time_s&own=temperature")
    tab.call("Network.enable")
    tab.call(
        "Network.emulateNetworkConditions",
        **{"offline": False, "latency": 300, "downloadThroughput": -1, "uploadThroughput": -1},
    )
    tab.value(
        "(() => { window.drawn = []; const { pictures } = perfield, paint = pictures.paint;"
        "pictures.paint = (...all) => { drawn.push(perfield.frame); paint.apply(pictures, all) } })()"
    )
    tab.value("void perfield.controls.play(true)")
    tab.until("perfield.frame === 9 && !perfield.controls.playing")
    assert tab.value("drawn") == [5, 6, 7, 8, 9] and not tab.complaints
    tab.call(
        "Network.emulateNetworkConditions",
        **{"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
    )


def test_run_without_steps_is_drawn_once_it_has_some(tab, tmp_path):
    change = {"change_rank": twin.live_rank}
    whole = twin.write_run(tmp_path / "whole", 4, 6, **change)
    growing = twin.write_run(tmp_path / "run", 4, 0, ended=False, **change)
    with served(growing) as client:
        show(tab, client)
        assert tab.value("perfield.run.n_frames") == 0
        for path in (path for path in whole.rglob("*") if path.is_file()):
            shutil.copy(path, growing / path.relative_to(whole))
        tab.until("perfield.run.n_frames === 6 && perfield.shown !== null")
        tab.until("perfield.heat.grid.cells?.colours.high === perfield.about.scale[1]")
        assert not text(tab, "#message span") and not tab.complaints


def test_token_of_the_address_opens_other_tabs_of_this_port_only(run, tmp_path):
    with (
        served(run, token="t" * 20) as client,
        served(run, token="u" * 20) as other,
        opened_tab(f"{client.server.url}#rank=3", tmp_path, webgl=True) as tab,
    ):
        ready(tab)
        assert "token" not in tab.value("location.href") and "rank=3" in tab.value("location.hash")
        assert "t" * 20 not in tab.value("JSON.stringify(localStorage)")
        show(tab, client)  # as a link of the report does
        tab.visit(address(other))
        tab.until("document.body.dataset.ready === 'failed'")
        assert "A token is needed" in text(tab, "#message")


def test_private_file_leads_a_browser_to_the_page(run, tmp_path):
    from perfield.commands._browser import leading_to

    with (
        served(run, token="t" * 20) as client,
        leading_to(client.server.url) as file,
        opened_tab(file, tmp_path, webgl=True) as tab,
    ):
        tab.until("location.protocol === 'http:'")
        ready(tab)
