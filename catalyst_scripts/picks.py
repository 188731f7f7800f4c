# SPDX-License-Identifier: BSD-3-Clause
"""Selects the same ranks in all views: who picks a cell of the mesh sees its core, and the other way.

Before a view is drawn, ParaView's selections of its displays are compared with what was seen last. A new one,
by the mouse or by Find Data, is turned into ranks. Their pieces of the mesh and their cells of the machine
are selected, and a text in the corner of each view says which ranks they are, where they sit, the value that
is shown, and whom they exchange messages with. A part of the machine represents its ranks, a line for both
its ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import layout_filter
import numpy as np
import paraview.simple as pv
from colours import TEXT, font_size
from follow import RANKS, Watcher, shown_layers, watch
from mesh_values import pieces_of
from paraview.modules.vtkRemotingViews import vtkSMSelectionHelper
from scene import Pictures
from ticks import amount, unit_for, unit_of
from vtkmodules.util.numpy_support import vtk_to_numpy

MESH = "geometry"
OF_RANKS = (RANKS, "topology/ranks")  # their cells are selected on the machine
FOUND_BY_RANK = ("rank", "source", "target", "lower_rank", "higher_rank")
CELL = 0  # VTK's number for cells in selections
NAMED = 4  # ranks that are described with all that is known
PARTNERS = 3  # that are named, of each direction
WIDTH = 3.0  # pixels of a selection's lines
COLOUR = (1.0, 0.0, 1.0)  # ParaView's, of selections


def link(views: list[Any], pictures: Pictures) -> Picks:
    """Links the selections of some views of the GUI from now on."""
    picks = Picks(views, pictures)
    watch(views, picks)
    return picks


class Picks(Watcher):
    """The ranks that are selected in some views: `ranks`, ascending."""

    def __init__(self, views: list[Any], pictures: Pictures):
        super().__init__()
        self._views, self._pictures = views, pictures
        self.ranks: list[int] = []
        self._seen: dict[Any, Any] = {}  # selection of each source when it was looked at last
        self._texts: dict[Any, tuple[Any, Any]] = {}
        self._styled: set[Any] = set()

    def look(self, view: Any) -> None:
        """Takes over what was selected since the views were drawn last, and keeps the words true."""
        if self._take_over(view.ViewTime):
            self._select()
            self._to_draw = [other for other in self._views if other.SMProxy is not view.SMProxy]
        for one in self._views:
            self._write(one, view.ViewTime)

    def _sources(self) -> dict[Any, tuple[Any, str]]:
        """The sources that the views show, and the layer of each, by proxy."""
        found = {}
        for view in self._views:
            for display, layer in shown_layers(view, self._pictures):
                found[display.Input.SMProxy] = (display.Input, layer)
                if display.SMProxy not in self._styled:
                    self._styled.add(display.SMProxy)
                    display.SelectionLineWidth = WIDTH  # else edges of cells hide it
        return found

    def _take_over(self, time: float) -> bool:
        """Notes the ranks of new selections; returns whether there were any, or all are gone."""
        new, gone = [], False
        for proxy, (source, layer) in self._sources().items():
            now, before = _selection(proxy), self._seen.get(proxy)
            self._seen[proxy] = now
            if now != before:
                gone = gone or now is None
                if now is not None:
                    new.append((source, layer))
        if new:
            self.ranks = sorted(set().union(*(self._ranks(source, layer, time) for source, layer in new)))
        elif gone:
            self.ranks = []
        return bool(new) or gone

    def _ranks(self, source: Any, layer: str, time: float) -> set[int]:
        """The ranks that the selection of a source holds."""
        selected = source.SMProxy.GetSelectionOutput(0)
        selected.UpdatePipeline(time)
        data = selected.GetClientSideObject().GetOutputDataObject(0)
        if layer == MESH:
            return {rank for rank, _, piece in pieces_of(data)}
        found: set[int] = set()
        for leaf in _leaves(data):
            columns = [_column(leaf, name) for name in FOUND_BY_RANK]
            if any(column is not None for column in columns):
                found.update(int(r) for column in columns if column is not None for r in column if r >= 0)
            else:
                found.update(self._below(leaf, time))
        return found

    def _below(self, parts: Any, time: float) -> Iterator[int]:
        """The ranks below some parts of the machine, or on some nodes."""
        layers = self._machine(time)
        hosts = _column(parts, "node_id")
        if hosts is None:
            ends = [_column(parts, name) for name in ("source_node", "target_node")]  # a line between nodes
            hosts = np.concatenate([end for end in ends if end is not None] or [[]])
        own, kinds, ids = (_column(layers.get("machine"), n) for n in ("node_id", "topology_type", "id"))
        ranks = _column(layers.get("measurements"), "rank")
        if ranks is None or _column(parts, "topology_type") is None or kinds is None:
            of_node = self._ranks_of_nodes(layers)
            yield from itertools.chain.from_iterable(of_node.get(int(node), ()) for node in hosts)
            return
        of_rank = _column(layers["measurements"], "node_id")
        left, right = _ends(layers["measurements"])
        from_left, to_right = _ends(layers["machine"])
        chosen = zip(hosts, _column(parts, "topology_type"), _column(parts, "id"))
        for node, kind, number in chosen:
            for part in np.flatnonzero((own == node) & (kinds == kind) & (ids == number)):
                inside = (of_rank == node) & (left >= from_left[part] - 1e-3)
                yield from (int(r) for r in ranks[inside & (right <= to_right[part] + 1e-3)])

    def _ranks_of_nodes(self, layers: dict[str, Any]) -> dict[int, list[int]]:
        """The ranks on each node, by the node's number in the picture."""
        nodes = _column(layers.get("measurements"), "node_id")
        names = _names(layers.get("measurements"), "host_name")
        number = {name: int(node) for name, node in zip(names, nodes if nodes is not None else ())}
        found: dict[int, list[int]] = {}
        for rank, host in enumerate(self._pictures.description["places"]["host"]):
            if host in number:
                found.setdefault(number[host], []).append(rank)
        return found

    def _machine(self, time: float) -> dict[str, Any]:
        """The layers of the machine as written, at a time; none if the pictures have no machine."""
        if not any(layer.startswith("topology/") for layer in self._pictures.description["layers"]):
            return {}
        reader = self._pictures.read("topology")
        reader.UpdatePipeline(time)
        return layout_filter.leaves(reader.GetClientSideObject().GetOutputDataObject(0))

    def _select(self) -> None:
        """Selects the ranks wherever a view shows them."""
        for proxy, (source, layer) in self._sources().items():
            if not self.ranks or (layer != MESH and layer not in OF_RANKS):
                proxy.CleanSelectionInputs(0)
            elif layer == MESH and not _is_surface(source):
                blocks = _blocks(source, self.ranks)
                _set_selection(proxy, "BlockSelectorsSelectionSource", BlockSelectors=blocks)
            elif layer in OF_RANKS:
                name, numbers = self._numbers(source)
                ends = [float(end) for stretch in stretches(numbers) for end in stretch]
                wanted = {"ArrayName": [name], "Thresholds": ends, "FieldType": [CELL]}
                _set_selection(proxy, "ThresholdSelectionSource", **wanted)
            self._seen[proxy] = _selection(proxy)

    def _numbers(self, source: Any) -> tuple[str, list[int]]:
        """The array and the numbers in it that find the ranks' cells: ranks, or of an overview nodes."""
        data = source.GetClientSideObject().GetOutputDataObject(0)
        leaf = next(iter(_leaves(data)), None)
        if _column(leaf, "rank") is not None:
            return "rank", self.ranks
        of_node = self._ranks_of_nodes({"measurements": leaf})
        return "node_id", [node for node, ranks in of_node.items() if set(ranks) & set(self.ranks)] or [-1]

    def _write(self, view: Any, time: float) -> None:
        """Says in the corner of a view which ranks are selected."""
        text = self._words(view, time) if self.ranks else ""
        if view.SMProxy not in self._texts:
            if not text:
                return
            self._texts[view.SMProxy] = _corner(view)
        source, display = self._texts[view.SMProxy]
        if source.Text != text:
            source.Text = text
            display.Visibility = int(bool(text))

    def _words(self, view: Any, time: float) -> str:
        if len(self.ranks) > NAMED:
            return f"selected: {named(self.ranks)}"
        layers = self._machine(time)
        lines = []
        for rank in self.ranks:
            lines.append(self._place(rank) + self._value(rank, view, layers))
            lines += [f"  {line}" for line in self._partners(rank, layers)]
        return "\n".join(lines)

    def _place(self, rank: int) -> str:
        places = self._pictures.description["places"]
        words = [places[name][rank] if rank < len(places[name]) else "" for name in ("host", "core")]
        return ", ".join(filter(None, [f"rank {rank}", *words]))

    def _value(self, rank: int, view: Any, layers: dict[str, Any]) -> str:
        """The rank's value of the array that a view shows."""
        known = self._pictures.arrays(RANKS)
        shown = (list(display.ColorArrayName)[1] for display, _ in shown_layers(view, self._pictures))
        field = next((name for name in shown if name in known and name != "rank"), None)
        ranks, values = (_column(layers.get("measurements"), name) for name in ("rank", field))
        if field is None or ranks is None or values is None or not np.any(ranks == rank):
            return ""
        value, about = float(values[ranks == rank][0]), known[field]
        scale, unit = unit_of(about)
        number = f"{amount(value * scale)} {unit}".rstrip() if np.isfinite(value) else "absent"
        return f": {about['title']} {number}"

    def _partners(self, rank: int, layers: dict[str, Any]) -> Iterator[str]:
        """The ranks that this one sends to and receives from, in the order of bytes."""
        lines = layers.get("messages")
        names = ("sent_bytes", "sent_count")
        size, unit = next(
            ((n, u) for n, u in zip(names, ("B", "")) if _of_pairs(lines, n) is not None), ("", "")
        )
        if not size:
            return
        sizes = _of_pairs(lines, size)
        ends = {"sends to": ("source", "target"), "receives from": ("target", "source")}
        for words, (own, other) in ends.items():
            mine = np.flatnonzero(_of_pairs(lines, own) == rank)
            if not len(mine):
                continue
            mine = mine[np.argsort(-sizes[mine], kind="stable")]
            scale, shown_unit = unit_for(unit, float(sizes[mine[0]]))
            named = [
                f"{int(_of_pairs(lines, other)[n])} ({f'{amount(sizes[n] * scale)} {shown_unit}'.rstrip()})"
                for n in mine[:PARTNERS]
            ]
            more = [f"{len(mine) - PARTNERS} more"] * (len(mine) > PARTNERS)
            yield f"{words} {', '.join([*named, *more])}"


def named(ranks: Sequence[int]) -> str:
    """Some ranks in words: "12 ranks: 0-7, 9, 12-14", of many the first stretches."""
    parts = [str(low) if low == high else f"{low}-{high}" for low, high in stretches(ranks)]
    more = ["..."] * (len(parts) > 2 * NAMED)
    return f"{len(ranks)} ranks: {', '.join([*parts[: 2 * NAMED], *more])}"


def stretches(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The first and last number of each stretch of numbers without a gap."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _selection(proxy: Any) -> Any:
    """What distinguishes two selections of a source; None if nothing is selected."""
    chosen = proxy.GetSelectionInput(0)
    return None if chosen is None else (chosen.GetGlobalID(), chosen.GetMTime())


def _set_selection(proxy: Any, kind: str, **properties: Sequence[Any]) -> None:
    made = pv.servermanager.ProxyManager().SMProxyManager.NewProxy("sources", kind)
    for name, values in properties.items():
        for number, value in enumerate(values):
            made.GetProperty(name).SetElement(number, value)
    made.UpdateVTKObjects()
    chosen = vtkSMSelectionHelper.NewAppendSelectionsFromSelectionSource(made)
    proxy.SetSelectionInput(0, chosen, 0)
    chosen.UnRegister(None)
    made.UnRegister(None)


def _is_surface(source: Any) -> bool:
    """Whether a source shows edges of pieces only."""
    return source.GetXMLName() in (
        "FeatureEdges",
        "PolyDataNormals",
        "ExtractSurface",
        "DataSetSurfaceFilter",
    )


def _blocks(source: Any, ranks: list[int]) -> list[str]:
    """Selectors for the blocks of some ranks."""
    data = source.GetClientSideObject().GetOutputDataObject(0)
    return [f"//{name}" for rank, name, _ in pieces_of(data) if rank in set(ranks)]


def _leaves(data: Any) -> Iterable[Any]:
    return layout_filter.leaves(data).values() if data.IsA("vtkCompositeDataSet") else [data]


def _column(data: Any, name: str | None) -> Any:
    """A cell array; None if there is none."""
    array = None if data is None or name is None else data.GetCellData().GetArray(name)
    return None if array is None else vtk_to_numpy(array)


def _of_pairs(lines: Any, name: str) -> Any:
    """An array of messages by pairs of ranks; in the field data where lines are between nodes."""
    array = lines.GetFieldData().GetArray(name) if lines is not None else None
    return _column(lines, name) if array is None else vtk_to_numpy(array)


def _names(data: Any, name: str) -> list[str]:
    """What a cell array's numbers mean, for each cell."""
    texts = None if data is None else data.GetFieldData().GetAbstractArray(f"{name}_names")
    numbers = _column(data, name)
    return [] if texts is None or numbers is None else [texts.GetValue(int(n)) for n in numbers]


def _ends(cells: Any) -> tuple[np.ndarray, np.ndarray]:
    """The left and the right end of each cell."""
    boxes = np.array([cells.GetCell(n).GetBounds() for n in range(cells.GetNumberOfCells())]).reshape(-1, 6)
    return boxes[:, 0], boxes[:, 1]


def _corner(view: Any) -> tuple[Any, Any]:
    """An empty text in the upper right corner of a view, and its display."""
    active = pv.GetActiveSource()
    text = pv.Text(registrationName="selected ranks", Text="")
    display = pv.Show(text, view, "TextSourceRepresentation")
    display.WindowLocation = "Upper Right Corner"
    display.Color = TEXT
    display.Justification = "Left"
    display.FontSize, display.LineSpacing = font_size(view, 20), 1.2
    display.BackgroundColor = [1.0, 1.0, 1.0, 0.9]
    display.ShowBorder, display.BorderThickness = "Always", 2.0
    display.BorderColor, display.Padding = COLOUR, 4
    pv.SetActiveSource(active)  # a new source takes its place
    return text, display
