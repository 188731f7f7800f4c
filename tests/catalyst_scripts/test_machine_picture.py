# SPDX-License-Identifier: BSD-3-Clause
"""The machine picture in ParaView: names, words, colours of its parts, and a camera that fills it."""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from drivers.in_paraview import in_paraview, in_vtk
from known_runs.device_runs import kernel_s, write_device_run

import perfield
from perfield.output.picture_series import PictureSeries
from perfield.pictures.topology_picture import OPTIONAL_LAYERS, topology_scene
from perfield.topology import Network, place, read_machines
from twins import twin

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
VIEW = """
import machine_picture
from scene import Pictures, new_view
pictures = Pictures.from_environment()
view = new_view()
view.ViewSize = (1280, 720)
"""
SHOWN = f"""{VIEW}
layers = machine_picture.Layers(pictures, view)
layers.colour("measurements", "solve_time_s")
machine_picture.look(pictures, view)
picture, displays = layers.proxies[-1], layers._displays
names = machine_picture.Names(pictures, view, "measurements", "solve_time_s", picture)
"""


NETWORK = Network(
    ("left", "right", "spine"), ((0, 2), (1, 2)), {"a": 0, "b": 0, "c": 1, "d": 1}, "topology.conf"
)

HOT = twin.one_hot_rank(3)


def machine_pictures(
    path: Path,
    hosts: tuple[str, ...],
    last: int = 1,
    network: Network | None = None,
    without: tuple[str, ...] = (),
    hot: Callable = HOT,
    layout: str = "planes",
) -> Path:
    """The machine pictures of a run of 4 ranks: of its first and its last step."""
    run = twin.write_run(path / "run", ranks=4, steps=last + 1, hosts=hosts, change_step=hot)
    for host in hosts:
        text = (MACHINES / "two-packages-4-cores.xml").read_text()
        (run / "machine" / f"{host}.xml").write_text(text)
    opened = perfield.open(run)
    placement = place(opened.rank_entries, read_machines(run / "machine")[0], network)
    scene = topology_scene(opened, placement, without=without)
    PictureSeries(opened, [0, last], path / "pictures", None, scene, layout=layout).write()
    return path / "pictures"


LOOKS = f"""{SHOWN}
import itertools
from labels import Camera
visible = [one for one in displays.values() if one.Visibility]
result = {{
    "representations": [[one.Representation, one.Opacity] for one in visible],
    "colours": [list(one.ColorArrayName) for one in visible if "CELLS" in list(one.ColorArrayName)],
    "switches": list(displays["switches"].ColorArrayName) if "switches" in displays else [],
}}
camera = Camera(view)
planes = machine_picture.layout_filter.leaves(picture.GetClientSideObject().GetOutputDataObject(0))["planes"]
result["spans"] = []
for n in range(planes.GetNumberOfCells()):
    box = planes.GetCell(n).GetBounds()
    pixels = camera.pixels(list(itertools.product(box[0:2], box[2:4], box[4:6])))
    result["spans"].append([float(pixels[:, 0].min()), float(pixels[:, 0].max())])
low = [about["bounds"] for name, about in pictures.description["layers"].items() if about["bounds"]]
pixels = camera.pixels([corner for box in low for corner in itertools.product(box[0:2], box[2:4], box[4:6])])
result["size"] = (pixels.max(axis=0) - pixels.min(axis=0)).tolist()
import labels
arrange = labels.arrange
def keep(*given):
    placed = arrange(*given)
    cells, ends = [list(box) for box in given[-1]], [[one.at, list(one.box)] for one in placed]
    result["kept"] = [[one.text for one in placed], ends, cells]
    return placed

labels.arrange = keep
names.at(pictures.description["steps"][1]["shown_at"])
result["texts"] = [text.Text for text in names.proxies if getattr(text, "Text", "")]
labels.arrange = arrange
names.show("messages", "sent_bytes")
names.at()
texts = [text for text in names.proxies if getattr(text, "Text", "")]
result["of_messages"] = [text.Text for text in texts if pv.GetDisplayProperties(text, view).Visibility]
"""
OF_MACHINES = {
    "one node": (("a",), None),
    "two nodes": (("a", "b"), None),
    "switches": (tuple("abcd"), NETWORK),
}


@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    """looks(machine): what the picture of one OF_MACHINES shows, seen once."""

    @functools.cache
    def look(machine: str) -> dict[str, list]:
        hosts, network = OF_MACHINES[machine]
        return in_vtk(LOOKS, machine_pictures(tmp_path_factory.mktemp("machine"), hosts, network=network))

    return look


def test_the_rank_that_stands_out_is_named_with_host_core_and_value(looks):
    texts = looks("two nodes")["texts"]
    assert [text for text in texts if text.startswith("rank")] == ["rank 3, b, core 3: 61 ms"]
    assert not any(text.startswith("rank") for text in looks("two nodes")["of_messages"])
    assert {"a", "b"} <= set(texts), "planes carry the names of their hosts"
    assert any("thick at the sender" in text for text in texts)
    assert not any("scheduling" in text for text in texts)


@pytest.mark.parametrize("machine", OF_MACHINES)
def test_labels_and_their_lines_cover_no_rank_and_no_message(looks, machine):
    texts, placed, kept = looks(machine)["kept"]
    assert any(text.startswith("rank 3") for text in texts) and len(kept) > 8
    for at, (left, right, bottom, top) in placed:
        end = [min(max(at[0], left), right), min(max(at[1], bottom), top)]
        along = [[a + (b - a) * n / 20 for a, b in zip(at, end)] for n in range(1, 21)]
        for x0, x1, y0, y1 in kept:
            assert left >= x1 or right <= x0 or bottom >= y1 or top <= y0
            assert not any(x0 < x < x1 and y0 < y < y1 for x, y in along)


def test_parts_of_the_machine_have_the_colours_of_the_field(looks):
    colours = looks("one node")["colours"]
    assert colours == [["CELLS", "solve_time_s"]] * 2, "the parts with ranks, and the ranks"


def test_switches_have_names_and_the_colours_of_the_field(looks):
    shown = looks("switches")
    assert shown["switches"] == ["CELLS", "solve_time_s"]
    assert {"left", "right", "spine"} <= set(shown["texts"])
    assert any("parts of the machine and switches: mean of their ranks" in text for text in shown["texts"])


def test_devices_carry_their_names_and_values_of_their_own_fields(tmp_path):
    run = perfield.open(write_device_run(tmp_path / "run"))
    PictureSeries(run, [0, 1, 2], tmp_path / "pictures", None, topology_scene(run)).write()
    script = f"""{VIEW}
made = machine_picture.show_layers(pictures, view, "measurements", "device_kernel_time_s")
names = machine_picture.Names(pictures, view, "measurements", "device_kernel_time_s", made[-1])
shown_at = pictures.description["steps"][1]["shown_at"]
result = {{}}
for field in ("device_kernel_time_s", "device_utilisation_share", "solve_time_s"):
    names.show("measurements", field)
    names.at(shown_at)
    texts = [text for text in names.proxies if getattr(text, "Text", "")]
    result[field] = [text.Text for text in texts if pv.GetDisplayProperties(text, view).Visibility]
"""
    shown = in_vtk(script, tmp_path / "pictures")
    of_devices = {field: {text for text in shown[field] if text.startswith("nvidia")} for field in shown}
    several, one = kernel_s(0, 1) + kernel_s(1, 1), kernel_s(2, 1)
    assert of_devices == {
        "device_kernel_time_s": {f"nvidia{n}, node0: {s * 1e3:.3g} ms" for n, s in enumerate((several, one))},
        "device_utilisation_share": {"nvidia0, node0: 0.75", "nvidia1, node0: 0.75"},  # though they are equal
        "solve_time_s": set(),
    }


def test_picture_is_shown_without_the_layers_that_were_left_out(tmp_path):
    script = f"""{SHOWN}
names.at(pictures.description["steps"][1]["shown_at"])
direction = [a - b for a, b in zip(view.CameraFocalPoint, view.CameraPosition)]
result = [sorted(displays), direction[0] > 0]
"""
    pictures = machine_pictures(tmp_path, ("a", "b"), network=NETWORK, without=OPTIONAL_LAYERS)
    shown, is_from_aside = in_vtk(script, pictures)
    assert {"ranks", "measurements"} <= set(shown) and not set(OPTIONAL_LAYERS) & set(shown)
    assert is_from_aside, "no plane hides another"


def test_cells_hide_what_is_behind_them(looks):
    shown = looks("two nodes")["representations"]
    assert shown == [["Surface", 1.0]] * len(shown)


@pytest.mark.parametrize("machine", OF_MACHINES)
def test_picture_fills_the_image_and_no_plane_hides_another(looks, machine):
    spans, (width, height) = looks(machine)["spans"], looks(machine)["size"]
    assert width == pytest.approx(0.73 * 1280, rel=0.01) or height == pytest.approx(0.68 * 720, rel=0.01)
    assert min(width / (0.73 * 1280), height / (0.68 * 720)) > 0.6
    assert all(left[1] <= right[0] + 1 for left, right in zip(spans, spans[1:]))


FLAT = f"""{SHOWN}
from labels import Camera
result = {{}}
names._labels.show, show = lambda *given, **kept: result.update(placed=[
    [one.text, list(one.box)] for one in show(*given, **kept)]), names._labels.show
names.at(pictures.description["steps"][1]["shown_at"])
shown = machine_picture.layout_filter.leaves(picture.GetClientSideObject().GetOutputDataObject(0))
camera = Camera(view)
for layer in ("ranks", "measurements", "machine", "switches", "labels"):
    data = shown[layer]
    result[layer] = [camera.box(machine_picture._corners(data, n)) for n in range(data.GetNumberOfCells())]
result["words"] = names._legend.Text
result["tubes"] = "messages" in displays
pv.SaveScreenshot("flat.png", view, ImageResolution=(1280, 720))
"""


@pytest.mark.parametrize("machine", ["one node", "switches"])
def test_flat_picture_shows_the_slow_rank_in_the_legends_colour_and_its_name_beside_all_cells(
    tmp_path, machine
):
    image = pytest.importorskip("matplotlib.image", reason="matplotlib is not installed")
    from matplotlib import colormaps

    hosts, network = OF_MACHINES[machine]
    pictures = machine_pictures(tmp_path, hosts, network=network, layout="flat")
    shown = in_vtk(FLAT, pictures)
    [(name, label)] = shown["placed"]
    assert name.startswith(f"rank 3, {hosts[-1]}, core 3: 61 ms")
    for box in itertools.chain(*(shown[layer] for layer in ("ranks", "measurements", "machine", "switches"))):
        assert 0.01 * 1280 <= box[0] < box[1] <= 0.81 * 1280 and 0.15 * 720 <= box[2] <= box[3] <= 0.86 * 720
        assert label[0] >= box[1] or label[1] <= box[0] or label[2] >= box[3] or label[3] <= box[2]
    assert not shown["tubes"] and "thick at the sender" not in shown["words"]
    low, high = json.loads((pictures / "pictures.json").read_text())["layers"]["topology/measurements"][
        "arrays"
    ]["solve_time_s"]["scale"]
    pixels = image.imread(pictures / "flat.png")[::-1, :, :3]
    for value, box in zip((1, 1, 1, 61), shown["measurements"]):
        expected = colormaps["viridis"]((value / 1e3 - low) / (high - low))[:3]
        inside = pixels[math.ceil(box[2]) + 2 : int(box[3]) - 2, math.ceil(box[0]) + 2 : int(box[1]) - 2]
        assert inside.size and np.abs(inside - expected).max() < 0.02


@pytest.mark.parametrize("layout, has_pus", [("flat", False), ("planes", True)])
def test_the_legend_of_parts_has_no_row_that_the_layout_leaves_out(tmp_path, layout, has_pus):
    script = f"""{VIEW}
machine_picture.show_layers(pictures, view, "machine", "topology_type")
result = [word.strip() for word in pv.GetColorTransferFunction("topology_type").Annotations[1::2]]
"""
    words = in_vtk(script, machine_pictures(tmp_path, ("a",), layout=layout))
    assert {"node", "core"} <= set(words) and ("PU" in words) == has_pus and "pu" not in words


def test_names_in_the_gui_follow_time_and_chosen_array(tmp_path):
    script = f"""{VIEW}
pv._DisableFirstRenderCameraReset()
machine_picture.open_in(view, pictures)
sources = {{key[0]: source for key, source in pv.GetSources().items()}}
def named():
    pv.Render(view)
    texts = [shape for shape in view.Representations if "TextSource" in shape.GetXMLName()]
    texts = [text.Input.Text for text in texts if text.Visibility and hasattr(text.Input, "Text")]
    texts = [text for text in texts if text.startswith("rank")]
    return sorted(texts)
display = pv.GetDisplayProperties(sources["measurements"], view)
pv.ColorBy(display, ("CELLS", "solve_time_s"))
result = []
for step in pictures.description["steps"]:
    view.ViewTime = step["shown_at"]
    result.append(named())
pv.ColorBy(display, ("CELLS", "isend_bytes"))
result.append(named())
"""

    def hot(rank, step, values):
        twin.one_hot_rank(step)(rank, step, values)

    first, second, sent = in_paraview(script, machine_pictures(tmp_path, ("a",), last=3, hot=hot))
    assert (first, second) == (["rank 0, a, core 0: 61 ms"], ["rank 3, a, core 3: 61 ms"])
    assert sent == [], "no rank sends far more than the others"


def test_four_ranks_on_two_pus_are_reported_on_the_first_picture(tmp_path):
    def on_two_pus(rank, values):
        values["cpuset"] = "0-1"

    run = twin.write_run(tmp_path / "run", change_rank=on_two_pus)
    (run / "machine" / "node0.xml").write_text((MACHINES / "two-packages-4-cores.xml").read_text())
    run = perfield.open(run)
    PictureSeries(run, [0, 4], tmp_path / "pictures", None, topology_scene(run)).write()
    script = f"""{VIEW}
made = machine_picture.show_layers(pictures, view, "measurements", "compute_time_s")
names = machine_picture.Names(pictures, view, "measurements", "compute_time_s", made[-1])
names.at(pictures.description["steps"][0]["shown_at"])
texts = [text.Text for text in names.proxies if getattr(text, "Text", "")]
shown = made[-1].GetClientSideObject().GetOutputDataObject(0)
bars = machine_picture.layout_filter.leaves(shown)["measurements"]
result = [texts, [bars.GetCell(n).GetBounds()[:2] for n in range(4)]]
"""
    texts, spans = in_vtk(script, tmp_path / "pictures")
    [reported] = [text for text in texts if "scheduling" in text]
    assert reported.startswith("4 ranks on 2 PUs, unbound: times include scheduling")
    widths = [right - left for left, right in spans]
    assert widths == pytest.approx([widths[0]] * 4) and spans == sorted(spans), "side by side, none on top"
    assert all(one[1] < other[0] for one, other in zip(spans, spans[1:]))
