# SPDX-License-Identifier: BSD-3-Clause
"""The topology picture: nodes as planes with ranks and values, messages, and switches."""

from __future__ import annotations

import itertools
import math
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import layout_filter
import numpy as np
from arrows import LINES, in_lines, show_arrows
from colours import CATEGORIES, OUTLINE, TEXT, colour, font_size, plain
from drawing import IN_PARAVIEW, pv
from flat_layout import AREA as FLAT_AREA
from flat_layout import WORDS
from frames import Frames
from labels import Camera, Label, Labels
from layouts import direction, has_letters
from outliers import in_words, named
from palette import PALETTE, WARNING_TEXT
from processes import of_first
from scene import FREE, Pictures, aim, set_title
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkPolyData

LAYERS = (
    *("planes", "machine", "ranks", "measurements", "messages", "labels"),
    *("switches", "links", "devices", "collectives", "threads", "thread_places"),
)
STATIC = ("switches", "links", "devices", "collectives", "thread_places")  # not shown if a run has none
UP = (0.0, 1.0, 0.0)
FROM_ABOVE = math.radians(8)  # of the view on several nodes
COLLECTIVE = PALETTE[3]  # as neither messages nor values have it
THREAD = PALETTE[2]
WARNING, LINE = 0.075, 0.018  # height of the warning above two lines of words, and of each further line
WHITE, PLANE, SWITCH = (1.0, 1.0, 1.0), (0.9, 0.9, 0.9), (0.8, 0.8, 0.8)
NAMED = 3  # devices that all carry names
REGIMES = ("regime_shade", "regime")  # arrays whose colours say who is slow
KEPT_FREE = 256  # labels may cover the cells of more ranks
SLICES = 4  # in which names avoid a cell
TILE, ALONG = 12, 32  # pixels in which names avoid lines, and places that are looked at on each
PIECES = 16  # in which names avoid a switch
HOSTS = 30  # more nodes are not named, and no more switches
ON_LINES = ("messages", "collectives")  # layers below the ranks, which the flat layout shows for themselves
AREA = (*FREE[:2], 0.13, 0.81)  # for the picture, as FREE; below it are words, above it names
WITH_COLLECTIVES = (*FREE[:2], 0.21, 0.81)  # with more words, and names of the last row that reach below it


def show_layers(pictures: Pictures, view: Any, layer: str, field: str) -> list[Any]:
    """Shows all layers: one coloured by a field, and the others plain.

    Parts of the machine take the colours of their ranks' mean, devices those of their own values. Returns all
    proxies, the picture itself last.
    """
    layers = Layers(pictures, view)
    layers.colour(layer, field)
    look(pictures, view)
    return layers.proxies


class Layers:
    """All layers of the picture in a view; one is coloured at a time.

    What was shown once is kept, so colouring another layer is cheap. reader : reads planes. picture : shows
    them in a layout.
    """

    def __init__(self, pictures: Pictures, view: Any):
        self._pictures, self._view = pictures, view
        self.reader = pictures.read("topology")
        self.picture = reader = _arranged(self.reader, pictures.layout)
        written = _layers(reader)
        sizes = _column(written.get("machine"), "n_ranks")
        self._has_idle_parts = sizes is None or bool((sizes == 0).any())
        self._blocks = {
            name: pv.ExtractBlock(registrationName=name, Input=reader, Selectors=[selector(reader, name)])
            for name in LAYERS
            if name in written and (name not in STATIC or written[name].GetNumberOfCells())
        }
        self._others: list[Any] = []  # proxies that show blocks
        self._displays: dict[str, Any] = {}
        self.coloured: list[Any] = []

    @property
    def proxies(self) -> list[Any]:
        """All sources, the picture itself last."""
        return [*self._others, *self._blocks.values(), *dict.fromkeys([self.reader, self.picture])]

    def colour(self, layer: str, field: str, scale: Any = None) -> None:
        """Colours a layer by a field, and no other. scale : both ends of a step's own colours."""
        for display in self.coloured:
            display.SetScalarBarVisibility(self._view, False)
        about = self._pictures.arrays(f"topology/{layer}")[field]
        in_parts = layer == "measurements" and field in self._pictures.arrays("topology/machine")
        self._plain("planes", PLANE)
        idle = in_parts and self._has_idle_parts
        for name, is_shown in {"idle parts": idle, "parts": in_parts, "machine": not in_parts}.items():
            if is_shown:
                self._plain(name, WHITE)
            elif name in self._displays:
                self._displays[name].Visibility = 0
        colours = {"ranks": WHITE, "measurements": WHITE, "messages": OUTLINE, "labels": TEXT}
        for name, rgb in (
            colours
            | {"switches": SWITCH, "links": OUTLINE, "devices": SWITCH, "collectives": COLLECTIVE}
            | {"thread_places": THREAD}
        ).items():
            if name in ON_LINES and name != layer and self._is_from_the_front:
                self._hide(name)
            else:
                self._plain(name, rgb)
        if "threads" in self._displays:  # they cover the measurements
            self._displays["threads"].Visibility = 0
        # Values have the arrays of ranks, too, and no numbers on them.
        coloured = "measurements" if layer == "ranks" and self._is_from_the_front else layer
        block = self._blocks[coloured]
        block.UpdatePipeline()
        self.coloured = [self._display(coloured)]
        if (
            layer == "switches"
            and "links" in self._blocks
            and field in self._pictures.arrays("topology/links")
        ):
            pv.ColorBy(self._display("links"), ("CELLS", field))
        if in_parts:  # before the layer, as this fits the colours to the data
            pv.ColorBy(self._display("parts"), ("CELLS", field))
            for name in ("switches", "devices"):
                if name in self._blocks and field in self._pictures.arrays(f"topology/{name}"):
                    pv.ColorBy(self._display(name), ("CELLS", field))
        colour(self._display(coloured), self._view, field, about, names_of(block, field), scale)

    def also(self, layer: str, field: str) -> Any:
        """Colours one more layer, beside that of `colour`; returns its legend, which has the same place."""
        about = self._pictures.arrays(f"topology/{layer}")[field]
        block, display = self._blocks[layer], self._display(layer)
        block.UpdatePipeline()
        self.coloured.append(display)
        return colour(display, self._view, field, about, names_of(block, field))

    def _plain(self, name: str, rgb: tuple[float, float, float]) -> None:
        """Shows a layer, if the picture has it, in one colour."""
        if name in self._blocks or name.endswith("parts"):
            plain(self._display(name), rgb)

    @property
    def _is_from_the_front(self) -> bool:
        """Whether lines of messages would run over what is coloured."""
        return self._pictures.layout == "flat" or is_overview(self._pictures)

    def _hide(self, name: str) -> None:
        if name in self._displays:
            self._displays[name].Visibility = 0

    def _display(self, name: str) -> Any:
        """Shows a layer, or the "parts" of the machine that have ranks, or the "idle parts"."""
        if name not in self._displays:
            if name == "messages":
                tubes, self._displays[name] = show_arrows(self._blocks[name], self._view)
                self._others.insert(0, tubes)
            else:
                source = self._parts(name == "parts") if name.endswith("parts") else self._blocks[name]
                display = pv.Show(source, self._view)
                self._displays[name] = _filled(display)
                display.LineWidth = 2.0
        self._displays[name].Visibility = 1
        return self._displays[name]

    def _parts(self, with_ranks: bool) -> Any:
        parts = pv.Threshold(registrationName="parts of the machine", Input=self._blocks["machine"])
        parts.Scalars = ["CELLS", "n_ranks"]
        parts.LowerThreshold, parts.UpperThreshold = (1, 2**31) if with_ranks else (0, 0)
        parts.ThresholdMethod = "Between"
        self._others.insert(0, parts)
        return parts


def _arranged(reader: Any, layout: str) -> Any:
    """The picture in a layout; "" leaves out the filter by which the user can choose another."""
    if not layout:
        return reader
    if IN_PARAVIEW:
        picture = pv.ProgrammableFilter(registrationName="layout", Input=reader)
        picture.PythonPath = str(Path(layout_filter.__file__).parent)  # for other processes than this one
        picture.Script = layout_filter.SCRIPTS[layout]
    else:
        picture = pv.Changed(reader, lambda data, made: layout_filter.arranged(data, made, layout))
    picture.UpdatePipeline()
    return picture


def look(
    pictures: Pictures, view: Any, area: tuple[float, float, float, float] = AREA, layer: str = ""
) -> None:
    """Points the camera at the picture: flat or of one node from the front, at several planes so that none
    hides another, unless the pipeline's options say otherwise.

    area : left, right, bottom and top of what it may fill, as fractions of the view. layer : the one with
    colours.
    """
    around = _hull(pictures, layer)
    if around is not None:
        n_nodes = layout_filter.sizes_of(_written(pictures)).n_nodes
        default = (direction(pictures.layout, n_nodes), UP)
        area = FLAT_AREA if (pictures.layout, area) == ("flat", AREA) else area
        aim(view, pictures, "topology", around.tolist(), default, area)
        if pictures.layout == "flat":
            view.UseFXAA = 0  # it bends the edges of small cells
        return
    layers = pictures.description["layers"]
    boxes = [
        about["bounds"] for name, about in layers.items() if name.startswith("topology/") and about["bounds"]
    ]
    if area == AREA and (layers.get("topology/collectives") or {}).get("bounds"):
        area = WITH_COLLECTIVES
    corners = [corner for box in boxes for corner in itertools.product(box[0:2], box[2:4], box[4:6])]
    default = (_direction(pictures), UP)
    aim(view, pictures, "topology", corners or [(0, 0, 0), (1, 1, 1)], default, area)
    if is_overview(pictures):
        view.UseFXAA = 0  # it bends the edges of small cells


def _hull(pictures: Pictures, layer: str) -> Any:
    """Points (n, 3) around the picture; None where it shows planes, or an overview."""
    if pictures.layout in ("", "planes"):
        return None
    return layout_filter.hull(pictures.layout, _written(pictures), layer in ON_LINES)


def _written(pictures: Pictures) -> dict[str, Any]:
    """The layers as they are written, by name."""
    return _layers(pictures.read("topology"))


def _direction(pictures: Pictures) -> tuple[float, float, float]:
    layers = _written(pictures)
    nodes = layers.get("planes") or layers["ranks"]
    z = np.unique(vtk_to_numpy(nodes.GetPoints().GetData())[:, 2]) if nodes.GetNumberOfPoints() else []
    if len(z) < 2:
        return (0.0, 0.0, -1.0)
    left, right = nodes.GetBounds()[:2]
    sideways = math.atan2(1.05 * (right - left), np.diff(z).min())  # each plane ends where the next begins
    flat = math.cos(FROM_ABOVE)
    return (math.sin(sideways) * flat, -math.sin(FROM_ABOVE), -math.cos(sideways) * flat)


def is_overview(pictures: Pictures) -> bool:
    """Whether each node is one cell, and no rank is shown."""
    return "rank" not in pictures.arrays("topology/measurements")


def _filled(display: Any) -> Any:
    """Makes cells opaque, in their pure colours; returns the display."""
    display.Representation = "Surface"
    display.Ambient, display.Diffuse, display.Specular = 1.0, 0.0, 0.0
    return display


class Names:
    """The words on a topology picture: the highest ranks, the hosts, and what a reader has to know.

    Call `at` after each change of the view's time, or `follow` once.
    """

    def __init__(self, pictures: Pictures, view: Any, layer: str, field: str, picture: Any):
        """picture : the source that `show_layers` returned last."""
        self._pictures, self._view, self._layer, self._picture = pictures, view, layer, picture
        self._shown, self._state, self._busy = field, None, False
        self._rows = _rows_in_words(pictures)  # the same at all times
        around, bounds = _hull(pictures, "messages"), pictures.bounds("topology")
        if around is not None:
            bounds = np.stack([around.min(axis=0), around.max(axis=0)], axis=1).ravel().tolist()
        self._labels = Labels(view, bounds)
        self._frames = Frames(view)
        self._warning = self._text(WARNING, 22, WARNING_TEXT)
        self._legend = self._text(0.015, 17, TEXT)

    @property
    def proxies(self) -> list[Any]:
        """All sources of the names, for the one who deletes the view."""
        return [*self._labels.proxies, *self._frames.proxies, self._warning, self._legend]

    def show(self, layer: str, field: str) -> None:
        """Names the highest ranks of another field, of another layer, from now on."""
        self._layer, self._shown = layer, field

    def follow(self, block: Any) -> None:
        """Keeps the words true when time, camera or colours change. block : the measurements' source."""
        display = pv.GetDisplayProperties(block, self._view)
        self._view.SMProxy.AddObserver("StartEvent", lambda *_: self._keep_up(display))

    def _keep_up(self, display: Any) -> None:
        view = self._view
        camera = (view.CameraPosition, view.CameraFocalPoint, view.CameraViewUp, view.ViewSize)
        lengths = (view.CameraParallelScale, view.CameraViewAngle, view.CameraParallelProjection)
        chosen = list(display.ColorArrayName)[1]
        state = (*map(tuple, camera), *lengths, view.ViewTime, chosen)
        if self._busy or state == self._state:
            return
        self._busy = True
        try:
            self._state, self._shown = state, chosen
            self.at(view.ViewTime)
        except Exception:  # an error must not reach the program that draws
            traceback.print_exc()
        finally:
            self._busy = False

    @property
    def _is_shown(self) -> bool:
        """Whether ranks are named by the array that colours them; by no other are they named."""
        known = self._pictures.arrays("topology/measurements")
        return self._layer == "measurements" and self._shown in known and self._shown not in CATEGORIES

    def at(self, time: float | None = None) -> None:
        """Writes the names and words of a time; None takes the picture as it is."""
        if time is None:
            self._picture.UpdatePipeline()
        else:
            self._picture.UpdatePipeline(time)
        layers = dict.fromkeys(LAYERS, vtkPolyData())  # some may be left out
        layers |= _layers(self._picture)
        values, switches, camera = layers["measurements"], layers["switches"], Camera(self._view)
        self._is_flat, self._marked, self._sizes = bool(len(_lines(layers["ranks"]))), [], []
        names, kept = list(self._ranks(layers)), []
        if is_overview(self._pictures):
            names, avoid = self._frames.around(names, self._sizes, camera)
            kept = [_around_all(layers, camera)]
        elif self._is_flat:
            self._frames.draw(self._marked)
            names += self._devices(layers["devices"])
            kept = [camera.box([(x, y, 0.0), (to, up, 0.0)]) for x, to, y, up in _lines(layers["ranks"])]
            kept += _tiles(layers["messages"], camera) if self._layer in ON_LINES else []
            avoid = []
        else:
            names += [*_hosts(layers["planes"]), *_switches(switches), *self._devices(layers["devices"])]
            kept = [*_boxes(values, camera), *_boxes(layers["ranks"], camera)]
            kept += _tiles(layers["messages"], camera)
            avoid = [*_bars(switches, camera), *_boxes(layers["machine"], camera)]
        placed = self._labels.show(names, avoid=avoid, kept=kept)
        if is_overview(self._pictures) and len(placed) < len(names):
            self._labels.show(names, avoid=avoid)
        self._warning.Text = _words(layers["measurements"], "sharing")
        words = in_lines(filter(None, self._explained(layers)), self._view)
        self._legend.Text = words
        higher = LINE * max(0, words.count("\n") - 1)  # the warning is above all lines of the words
        pv.GetDisplayProperties(self._warning, self._view).Position = [0.02, WARNING + higher]

    def _ranks(self, layers: dict[str, Any]) -> Iterator[Label]:
        """The names of the ranks, or in an overview of the nodes, that stand out."""
        measurements, machine, ranks = (layers[name] for name in ("measurements", "machine", "ranks"))
        values = _column(measurements, self._shown)
        if not self._is_shown or self._shown in REGIMES or values is None:
            return
        about = self._pictures.arrays("topology/measurements")[self._shown]
        rank, core, free = (_column(measurements, name) for name in ("rank", "core_id", "unbound"))
        hosts, switches = _texts(measurements, "host_name"), _texts(measurements, "switch_name")
        of = {n: name for n, name in enumerate(hosts if rank is not None else switches) if name}
        known = _known(values)
        for place, group in enumerate(named(known, of, self._shown)):
            n = group[0]
            name = [] if len(group) > 1 and rank is None else [hosts[n]]
            name += [switches[n]] if switches and switches[n] else []
            if rank is not None and len(group) == 1:
                core_name = f"core {core[n]:.0f}" if np.isfinite(core[n]) else "unbound" if free[n] else ""
                name = [f"rank {rank[n]}", *name, core_name]
            kind = "ranks" if rank is not None else "nodes"
            name = ", ".join(filter(None, name)) + in_words(known, group, about, self._shown, kind)
            if rank is None:  # the middle of the nodes' cells and of their strips
                corners = [_corners(data, n).copy() for n in group for data in (measurements, machine)]
                corners = np.concatenate(corners)  # VTK has one cell for all
                at = (corners.min(axis=0) + corners.max(axis=0)) / 2
                self._sizes.append(tuple(np.ptp(corners[:, :2], axis=0).tolist()))
            elif self._is_flat:
                yield Label(name, self._mark(layers, group), 1000.0 - place, (0.0, -1.0), near=True)
                continue
            else:  # the upper edge of the rank's number: below are lines
                box = ranks.GetCell(n).GetBounds()
                at = np.array([sum(box[:2]) / 2, box[3], box[4]])
            yield Label(name, tuple(at.tolist()), 1000.0 - place, (0.6, -1.0) if rank is None else (0.3, 1.0))

    def _mark(self, layers: dict[str, Any], group: list[int]) -> tuple[float, float, float]:
        """Frames a rank's value, or the node of several, in a flat picture; the middle of its lower edge."""
        values = layers["measurements"]
        boxes = [values.GetCell(n).GetBounds() for n in group]
        if len(group) > 1 and layers["machine"].GetNumberOfCells():
            own = np.flatnonzero(
                _column(layers["machine"], "node_id") == _column(values, "node_id")[group[0]]
            )
            boxes += [layers["machine"].GetCell(n).GetBounds() for n in own.tolist()]
        around = np.array(boxes)
        space = 2.0 * layers["ranks"].GetFieldData().GetArray(layout_filter.PIXEL).GetValue(0)
        left, low = around[:, [0, 2]].min(axis=0) - space
        right, high = around[:, [1, 3]].max(axis=0) + space
        z = 2 * layout_filter.IN_FRONT
        self._marked.append([(left, low, z), (right, low, z), (right, high, z), (left, high, z)])
        return ((left + right) / 2, low, z)

    def _devices(self, devices: Any) -> Iterator[Label]:
        """The names of devices with their values of a field that is theirs: of all if they are few, else of
        those that stand out."""
        values = _column(devices, self._shown)
        about = self._pictures.arrays("topology/devices").get(self._shown)
        if not (self._is_shown and self._shown.startswith("device_")) or values is None or about is None:
            return
        names, hosts = devices.GetCellData().GetAbstractArray("device"), _texts(devices, "host_name")
        known = _known(values)
        for [n] in [[n] for n in known] if len(known) <= NAMED else named(known, {}, self._shown):
            name = f"{names.GetValue(n)}, {hosts[n]}{in_words(known, [n], about, self._shown)}"
            at = _corners(devices, n)[1:3].mean(axis=0)  # the middle of its right edge
            yield Label(name, tuple(at.tolist()), 500.0, (1.0, 0.0))

    def _explained(self, layers: dict[str, Any]) -> Iterator[str]:
        if self._layer == "measurements":
            shown = [name for name in ("switches", "devices") if layers[name].GetNumberOfCells()]
            added_up = self._shown in _all_words(layers["devices"], "added_up") and "devices" in shown
            averaged = [name for name in shown if not (added_up and name == "devices")]
            parts = " and ".join(["parts of the machine", *averaged]) + ": mean of their ranks"
            parts += "; devices: sum over the ranks that use them" * added_up
            has_means = self._shown in self._pictures.arrays("topology/machine")
            words = _words(layers["measurements"], "explained")
            yield (words or parts) if has_means else words.partition(";")[0]
        if np.any(_column(layers["measurements"], "unbound") == 1):
            yield "pointed: ranks that may run on all PUs above"
        if layers["thread_places"].GetNumberOfCells():
            yield "marks in ranks: the PUs of each thread"
        is_hidden = self._is_flat or is_overview(self._pictures)
        hidden = [name for name in ON_LINES if is_hidden and name != self._layer]
        if layers["messages"].GetNumberOfCells() and "messages" not in hidden:
            yield LINES
        rows = _all_words(layers["ranks"], layout_filter.ROWS)
        yield f"rows from the top: {', '.join(rows)}" if rows else self._rows
        for name in ON_LINES:
            yield "" if name in hidden else _words(layers[name], "in_words")

    def _text(self, height: float, points: int, rgb: tuple[float, float, float]) -> Any:
        text = pv.Text(registrationName="words", Text="")
        display = pv.Show(text, self._view, "TextSourceRepresentation")
        display.WindowLocation = "Any Location"
        display.Position = [0.02, height]
        display.Color = rgb
        display.Justification = "Left"
        display.FontSize, display.LineSpacing = font_size(self._view, points), 1.3
        display.BackgroundColor = [1.0, 1.0, 1.0, 0.8]
        display.ShowBorder, display.BorderThickness = "Always", 0.0  # else it has no background
        return text


def _known(values: np.ndarray) -> dict[int, float]:
    """Cell -> its value, of those that have one."""
    cells = np.flatnonzero(np.isfinite(values)).tolist()
    return dict(zip(cells, values[cells].tolist()))


def _around_all(layers: dict[str, Any], camera: Camera) -> tuple[float, ...]:
    """The box in pixels around all nodes, and the names of their switches."""
    shown = [layers[name] for name in ("measurements", "machine", "planes", "labels")]
    bounds = np.array([data.GetBounds() for data in shown if data.GetNumberOfPoints()])
    return camera.box([bounds[:, 0::2].min(axis=0), bounds[:, 1::2].max(axis=0)])


def _lines(ranks: Any) -> list[list[float]]:
    """The boxes of the lines of nodes in a flat picture: left, right, low, high; none in others."""
    lines = ranks.GetFieldData().GetArray(layout_filter.LINES)
    return [] if lines is None else vtk_to_numpy(lines).tolist()


def _boxes(data: Any, camera: Camera) -> list[tuple[float, ...]]:
    """Boxes in pixels that cover cells, (left, right, bottom, top), SLICES for each, as they may be oblique;
    none if the data have many cells."""
    boxes, along = [], np.linspace(0.0, 1.0, SLICES + 1)[:, None]
    for cell in range(data.GetNumberOfCells() if data.GetNumberOfCells() <= KEPT_FREE else 0):
        corners = _corners(data, cell)  # of a pointed cell, the ends are between its lower and upper corners
        right = len(corners) // 2
        low = corners[0] + (corners[1] - corners[0]) * along
        high = corners[right + 1] + (corners[right] - corners[right + 1]) * along
        boxes += [camera.box([*low[n : n + 2], *high[n : n + 2]]) for n in range(SLICES)]
    return boxes


def _tiles(lines: Any, camera: Camera) -> list[tuple[float, ...]]:
    """Boxes in pixels that straight lines pass, on a grid of TILE pixels."""
    if not lines.GetNumberOfCells():
        return []
    ends = vtk_to_numpy(lines.GetPoints().GetData()).reshape(-1, 2, 3)
    between = np.linspace(0.0, 1.0, ALONG)[None, :, None]
    passed = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * between
    tiles = np.unique(camera.pixels(passed.reshape(-1, 3)) // TILE, axis=0) * TILE
    return [(x, x + TILE, y, y + TILE) for x, y in tiles.tolist()]


def _bars(switches: Any, camera: Camera) -> list[tuple[float, ...]]:
    """Boxes in pixels that cover the switches, several for each, as they may be long, oblique and bent."""
    boxes = []
    for cell in range(switches.GetNumberOfCells() if switches.GetNumberOfCells() <= HOSTS else 0):
        along = _corners(switches, cell).reshape(-1, 2, 3)
        for piece in np.array_split(np.arange(len(along) - 1), min(PIECES, len(along) - 1)):
            boxes.append(camera.box(along[piece[0] : piece[-1] + 2]))
    return boxes


def _hosts(planes: Any) -> list[Label]:
    """The names of the nodes, above their planes."""
    names = _texts(planes, "host_name")
    if not 0 < len(names) <= HOSTS:
        return []
    tops = [_corners(planes, n)[2:4].mean(axis=0) for n in range(len(names))]
    labels = enumerate(zip(names, tops))
    return [Label(name, tuple(top.tolist()), -n, (0.0, 1.0)) for n, (name, top) in labels]


def _rows_in_words(pictures: Pictures) -> str:
    """The names of the rows of the planes; "" where letters beside the first plane name them."""
    layers = _written(pictures)
    sizes = layout_filter.sizes_of(layers)
    named = pictures.layout == "flat" or (sizes is not None and has_letters(pictures.layout, sizes.n_nodes))
    if sizes is None or "machine" not in layers or named:
        return ""
    return f"rows of a node, from the top: {', '.join(_rows(layers))}"


def _rows(layers: dict[str, Any]) -> list[str]:
    """The names of the rows of the planes, from top to bottom."""
    machine, devices = layers["machine"], layers.get("devices")
    texts = machine.GetFieldData().GetAbstractArray("topology_type_names")
    kinds, cells = np.unique(_column(machine, "topology_type"), return_index=True)
    found = zip(kinds.tolist(), cells.tolist())
    heights = {texts.GetValue(kind): _corners(machine, cell)[0][1] for kind, cell in found}
    if devices is not None and devices.GetNumberOfCells():
        heights["devices"] = _corners(devices, 0)[0][1]
    names = sorted(heights, key=heights.get, reverse=True)
    return [*(name.upper() if len(name) < 3 or name == "numa" else name for name in names), "rank", "values"]


def _corners(data: Any, cell: int) -> Any:
    """The points of a cell, (n, 3), counter-clockwise from the lower left."""
    return vtk_to_numpy(data.GetCell(cell).GetPoints().GetData())


def _switches(switches: Any) -> list[Label]:
    """The names of the switches: above them, or at their right ends if they are one above the other."""
    names, levels = (switches.GetCellData().GetAbstractArray(name) for name in ("switch", "level"))
    if not 0 < switches.GetNumberOfCells() <= HOSTS:
        return []
    boxes = np.array([switches.GetCell(n).GetBounds() for n in range(switches.GetNumberOfCells())])
    level = vtk_to_numpy(levels)
    labels = []
    for n, box in enumerate(boxes):
        beside = (level == level[n]) & (boxes[:, 4] <= box[5]) & (box[4] <= boxes[:, 5])
        corners = _corners(switches, n)
        if beside.sum() > 1:
            at, towards = corners[-2:].mean(axis=0), (1.0, 0.0)
        else:
            upper = corners[1::2]
            at, towards = (upper[(len(upper) - 1) // 2] + upper[len(upper) // 2]) / 2, (0.0, 1.0)
        labels.append(Label(names.GetValue(n), tuple(at.tolist()), 100.0 + float(level[n]), towards))
    return labels


def _column(data: Any, name: str) -> Any:
    """A cell array; None if there is none."""
    array = data.GetCellData().GetArray(name) if data is not None else None
    return None if array is None else vtk_to_numpy(array)


def _texts(data: Any, name: str) -> list[str]:
    """What a cell array's numbers mean, for each cell; empty if there is no such array."""
    texts, numbers = data.GetFieldData().GetAbstractArray(f"{name}_names"), _column(data, name)
    return [] if numbers is None else [texts.GetValue(int(number)) for number in numbers]


def _words(data: Any, name: str) -> str:
    """A sentence in the field data; "" if there is none."""
    return next(iter(_all_words(data, name)), "")


def _all_words(data: Any, name: str) -> list[str]:
    """The texts of an array in the field data."""
    texts = data.GetFieldData().GetAbstractArray(name)
    return [texts.GetValue(n) for n in range(texts.GetNumberOfValues())] if texts is not None else []


def selector(reader: Any, layer: str) -> str:
    """ParaView's selector for a layer in the reader's data."""
    data = of_first(reader)
    nested = isinstance(data.GetBlock(0), vtkCompositeDataSet)
    return f"/Root/Block0/{layer}" if nested else f"/Root/{layer}"


def names_of(block: Any, field: str) -> dict[int, str] | None:
    """The meaning of those of a category's numbers that are seen, from the picture's field data; None if it
    has none."""
    data = of_first(block)
    is_composite = isinstance(data, vtkCompositeDataSet)
    for leaf in layout_filter.leaves(data).values() if is_composite else [data]:
        texts = leaf.GetFieldData().GetAbstractArray(f"{field}_names")
        values = leaf.GetCellData().GetArray(field)
        if texts is not None and values is not None:
            first = {int(values.GetValue(cell)): cell for cell in range(values.GetNumberOfTuples())[::-1]}
            seen = [value for value in sorted(first) if _is_seen(leaf.GetCell(first[value]))]
            return {value: WORDS.get(word := texts.GetValue(value), word) for value in seen}
    return None


def _is_seen(cell: Any) -> bool:
    """Whether a cell has an area or needs none: the flat layout gives rows that repeat others no height."""
    ends = np.array(cell.GetBounds())
    return cell.GetCellDimension() < 2 or int((ends[1::2] > ends[::2]).sum()) > 1


def _layers(proxy: Any) -> dict[str, Any]:
    """The layers that a source shows, by name."""
    return layout_filter.leaves(of_first(proxy))


def open_in(view: Any, pictures: Pictures) -> Any:
    """Fills a view of the GUI; returns the picture's reader."""
    field = pictures.first_field("topology/measurements")
    layer = "ranks" if field == "rank" else "measurements"
    made = show_layers(pictures, view, layer, field)
    picture = made[-1]
    title = pictures.arrays(f"topology/{layer}")[field]["title"]
    set_title(view, title, pictures.titles(f"topology/{layer}", field), picture)
    names = Names(pictures, view, layer, field, picture)
    names.at()
    names.follow(block_of(made, "measurements"))
    return pictures.read("topology")


def block_of(made: list[Any], layer: str) -> Any:
    """The source of one layer, of all proxies that `show_layers` returned."""
    chosen = selector(made[-1], layer)
    return next(proxy for proxy in made if list(getattr(proxy, "Selectors", [])) == [chosen])
