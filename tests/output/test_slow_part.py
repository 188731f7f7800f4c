# SPDX-License-Identifier: BSD-3-Clause
"""A slow core, socket, node or switch among many is seen in the first image; a zoom leads to its ranks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from drivers.in_paraview import in_vtk
from known_runs.many_nodes import SLOW_S, USUAL_S, large_run, placed

from perfield.output.image_plan import plan_images
from perfield.output.images import draw_images
from perfield.output.picture_series import PictureSeries
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.topology_picture import topology_scene
from perfield.pictures.zoom import zoom
from perfield.topology import select

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")
images = pytest.importorskip("matplotlib.image", reason="matplotlib is not installed")

NODES, PER_NODE, PER_LEAF, NODE = 400, 8, 24, 133
FIRST = NODE * PER_NODE  # rank of the node
LEAF = NODE // PER_LEAF
OF_LEAF = range(LEAF * PER_LEAF * PER_NODE, (LEAF + 1) * PER_LEAF * PER_NODE)
SLOW = {  # what is slow: its ranks, and the name that the overview says
    "core": ({FIRST + 5}, "n0133"),
    "socket": (set(range(FIRST + 4, FIRST + 8)), "n0133"),
    "node": (set(range(FIRST, FIRST + 8)), "n0133"),
    "switch": (set(OF_LEAF), f"leaf{LEAF}"),
}
DRAW = """
import machine_picture
from pathlib import Path
from scene import Pictures, new_view
result = {}
for path in sorted(Path().glob("*/*/pictures.json")):
    pictures, view = Pictures(path.parent), new_view(alone=True)
    view.ViewSize = (1280, 720)
    made = machine_picture.show_layers(pictures, view, "measurements", "compute_time_s")
    names = machine_picture.Names(pictures, view, "measurements", "compute_time_s", made[-1])
    names.at(pictures.description["steps"][0]["shown_at"])
    pv.SaveScreenshot(str(path.parent / "shown.png"), view, ImageResolution=(1280, 720))
    texts = [one for one in names.proxies if getattr(one, "Text", "").endswith(" ms")]
    result[str(path.parent)] = [one.Text for one in texts if pv.GetDisplayProperties(one, view).Visibility]
"""


@dataclass(frozen=True)
class Shown:
    """What a picture shows: labels with values, and where its pixels are as slow as what is slow."""

    labels: list[str]
    slow: np.ndarray


def write(path: Path, run, placement, zoomed: str = "") -> None:
    """Writes the machine's picture of a run, with a zoom on a name."""
    lines = None
    if zoomed:
        chosen = select(placement, [zoomed])
        placement, lines = zoom(placement, chosen, run.frames()).placement, LineChoice(either=chosen)
    path.mkdir(parents=True)
    scene = topology_scene(run, placement, lines=lines)
    PictureSeries(run, [0], path, None, scene).write()


def shown(path: Path) -> dict[tuple[str, str], Shown]:
    """Draws all pictures in a folder's folders."""
    from matplotlib import colormaps

    found = {}
    for folder, labels in in_vtk(DRAW, path).items():
        about = json.loads((path / folder / "pictures.json").read_text())
        low, high = about["layers"]["topology/measurements"]["arrays"]["compute_time_s"]["scale"]
        expected = colormaps["viridis"]((SLOW_S - low) / (high - low))[:3]
        pixels = images.imread(path / folder / "shown.png")[:, : int(0.79 * 1280), :3]  # without the legend
        found[tuple(folder.split("/"))] = Shown(labels, (np.abs(pixels - expected) < 0.05).all(axis=2))
    return found


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A function that gives the overview of a run with a slow thing, or the zoom on what it names."""
    path, drawn = tmp_path_factory.mktemp("slow"), {}

    def of(what: str, kind: str) -> Shown:
        if (what, kind) not in drawn:
            ranks, name = SLOW[what]
            run = large_run(path, NODES, PER_NODE, ranks)
            folder = path / f"{what}-{kind}"
            write(folder / what / kind, run, placed(run, PER_LEAF), name if kind == "zoom" else "")
            drawn.update(shown(folder))
        return drawn[what, kind]

    return of


CASES = [what if what == "core" else pytest.param(what, marks=pytest.mark.long) for what in SLOW]


def spread(slow: np.ndarray) -> tuple[int, int]:
    """Width and height in pixels of the area around all pixels."""
    rows, columns = np.nonzero(slow)
    return int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1


@pytest.mark.parametrize("what", CASES)
def test_the_overview_shows_and_names_what_is_slow(pictures, what):
    _, name = SLOW[what]
    overview = pictures(what, "overview")
    assert overview.labels, "the slow nodes are named, and no others"
    assert all(name in label for label in overview.labels)
    one_node = f", leaf{LEAF}: 200 ms"
    (label,) = overview.labels
    assert label == f"leaf{LEAF}, 24 nodes: mean 200 ms" if what == "switch" else label.endswith(one_node)
    size, (width, height) = int(overview.slow.sum()), spread(overview.slow)
    ordinary = 25  # pixels of a node's side, of 400 nodes
    if what == "switch":
        assert size > 24 * 100
        assert width < 8 * ordinary and height < 8 * ordinary
    else:
        assert size > 100
        assert width <= ordinary and height <= ordinary, "one place only"


@pytest.mark.long
def test_a_slow_node_differs_from_a_node_with_one_slow_rank(pictures):
    whole, one = (int(pictures(what, "overview").slow.sum()) for what in ("node", "core"))
    assert whole > 1.2 * one, "the strip with the mean is slow as well"


@pytest.mark.parametrize("what", CASES)
def test_the_zoom_names_what_stands_out_in_it(pictures, what):
    """Half of a node, or all of a switch, is no exception: its colour says it."""
    named = {"core": "rank 1069, n0133, core 5: 200 ms", "node": "n0133, 8 ranks: mean 200 ms"}
    assert pictures(what, "zoom").labels == ([named[what]] if what in named else [])


@pytest.mark.long
def test_the_zoom_shows_which_part_is_slow(pictures):
    sizes = {what: int(pictures(what, "zoom").slow.sum()) for what in SLOW}
    assert 100 < sizes["core"] < sizes["socket"] < sizes["node"] < sizes["switch"]


@pytest.mark.long
def test_one_slow_rank_of_a_hundred_thousand_is_seen_in_the_first_image(tmp_path):
    run = large_run(tmp_path, 10_000, 10, {66_666})
    write(tmp_path / "many" / "overview", run, placed(run, 18))
    write(tmp_path / "many" / "zoom", run, placed(run, 18), "n6666")
    pictures = shown(tmp_path)
    overview = pictures["many", "overview"]
    assert overview.labels == ["n6666, leaf370: 200 ms"]
    assert overview.slow.sum() >= 9, "three by three pixels, framed and named"
    assert max(spread(overview.slow)) <= 8, "one place only"
    assert "rank 66666, n6666, core 6: 200 ms" in pictures["many", "zoom"].labels
    assert USUAL_S < SLOW_S


def test_switches_of_the_flat_machine_are_drawn(tmp_path):
    run = large_run(tmp_path, 4, 2)
    write(tmp_path / "pictures", run, placed(run, 2))
    about = json.loads((tmp_path / "pictures/pictures.json").read_text())
    planned = plan_images(about, ["level"], [0])
    assert [image["layer"] for image in planned] == ["topology/switches"]
    assert len(draw_images(tmp_path / "pictures", planned)) == 1


def test_no_layout_arranges_the_cells_of_an_overview(tmp_path):
    write(tmp_path / "overview", large_run(tmp_path, 130, 1), None)
    about = json.loads((tmp_path / "overview/pictures.json").read_text())
    assert about["layout"] == ""
    layers = {image["layer"] for image in plan_images(about, None) if "layer" in image}
    assert layers == {"topology/measurements"}, "no images of parts of nodes, and of messages that are alike"
