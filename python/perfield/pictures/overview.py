# SPDX-License-Identifier: BSD-3-Clause
"""The topology picture of many nodes: one cell per node, and one line per pair of nodes or switches.

It has the layers of the full picture, so all pipelines show it. A node's cell is coloured by the largest
value of its ranks, so that one slow rank among a million shows; a strip below it has their mean.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkPolyData
from vtkmodules.vtkFiltersCore import vtkAppendPolyData

from perfield.topology import LEVELS, Grid, Placement, grid, sharing

from .collectives import clashes, overview_layer
from .line_choice import LEFT_OUT, LineChoice
from .lines import Pairs, radii
from .machine_values import CLASSES, LARGEST, NOT_AVERAGED, RankGroups
from .node_pairs import NodePairs
from .row_labels import write
from .topology_polydata import (
    attach,
    attach_names,
    attach_nodes,
    attach_numbers,
    attach_to_points,
    rectangles,
    segments,
)
from .words import attach_words

if TYPE_CHECKING:
    from perfield.run import Frame
    from perfield.run.collectives import Communicator

MARGIN = 0.06  # free space on each side of a cell
STRIP = 0.28  # height of the strip with the mean, in cells; none where cells are too small
BORDER = 0.15  # of a block's plane around its cells
BEHIND, IN_FRONT = 0.1, 0.6  # of planes behind cells, and of lines before them; letters are twice as near
LINE_RADIUS = 0.08  # of the thickest line between nodes, in cells
SWITCH_RADIUS = 0.03  # of the thickest line between switches, in blocks
SIDEWAYS = 1.3  # lines run as many radii to the right of the straight way, so that A to B and B to A differ
NAMES = 0.75  # height of a switch's name, in cells, but at most:
LARGEST_NAME = 0.035  # of the height of all blocks
BAR = (0.2, 0.5)  # lower and upper end of a switch's bar above its block
EXPLAINED = "one cell per node: the largest value of its ranks"


class Overview:
    """What all frames of a run share in its overview: places of nodes, and datasets that stay the same.

    placement : of the ranks. notes : sentences on what is unknown about the machine. without : the layers to
    leave out.
    """

    def __init__(
        self,
        placement: Placement,
        lines: LineChoice,
        without: frozenset[str] = frozenset(),
        statistics: Collection[str] | None = (),
        communicators: Sequence[Communicator] = (),
    ):
        """lines : which messages become lines. statistics : the fields whose statistics over ranks
        nodes and switches get; None is all. communicators : of the run."""
        self.placement, self.without = placement, without
        self.notes = (*placement.notes, *clashes(communicators))
        self._communicators = communicators
        self._statistics = statistics
        self._grid = grid(placement.switches)
        blocks = self._grid.block if self._grid.has_switches else None
        self._bundles = NodePairs(placement.node_id, lines, blocks)
        placed = np.flatnonzero(placement.node_id >= 0)
        self._values = RankGroups(placement.node_id[placed], placed, len(placement.nodes))
        self._sharing = sharing(placement)
        self._labels = _switch_names(placement, self._grid)
        self._planes = _planes(placement, self._grid)
        left, right = self._grid.x - 0.5 + MARGIN, self._grid.x + 0.5 - MARGIN
        low, high = self._grid.y - 0.5 + MARGIN, self._grid.y + 0.5 - MARGIN
        strip = low + (STRIP if self._grid.is_coarse else 0.0)
        own = strip if self._grid.is_coarse else high
        self._machine = self._cells(np.stack([left, right, low, own], axis=1), -BEHIND / 2)
        self._measurements = self._cells(np.stack([left, right, strip, high], axis=1), 0.0)
        self._switches, self._switch_values = self._bars(placed)
        self._of_ranks = attach_nodes(rectangles(np.zeros((0, 4)), 0.0), np.zeros(0))

    def layers(self, frame: Frame) -> dict[str, vtkPolyData]:
        """The layers of a frame by name; ranks, links and devices are empty.

        machine : a cell per node, with the mean of its ranks under each field's name, the largest value under
        the name with `_rank_max`, and other statistics as in the full picture. It is a strip, or lies behind
        the measurements, where cells are too small for strips. measurements : a cell per node, with the
        largest value under the field's name. Both have node_id, host_name, n_ranks and, where switches are
        known, switch_name.
        messages : lines between nodes, with source_node and target_node, or between switches, with
        source_switch and target_switch; sums of the messages as in the full picture, and hops.
        collectives : a bar up and a bar down in each node's cell, the bytes that its ranks give and get in
        collective operations of all communicators, with the arrays of the full picture.
        planes : a rectangle behind the nodes of each switch. switches : a bar above them, with values as in
        machine, where there is room for it.
        """
        machine, measurements, switches = vtkPolyData(), vtkPolyData(), vtkPolyData()
        machine.ShallowCopy(self._machine)
        measurements.ShallowCopy(self._measurements)
        switches.ShallowCopy(self._switches)
        for name, column in frame.values.items():
            if name not in NOT_AVERAGED:
                attach(measurements, {name: self._attach_values(machine, self._values, name, column)})
                self._attach_values(switches, self._switch_values, name, column)
            elif name in CLASSES:
                attach(measurements, {name: self._values.mean_and_largest(column)[1]})
        when = f" in step {frame.label}" if frame.kind == "step" else ""
        words = self._sharing.with_switches(frame.values.get("involuntary_switches"), when)
        attach_names(measurements, "sharing", [words] if words else [])
        strip = "; the strip below it: their mean" * self._grid.is_coarse
        strip += "; bars: the mean below each switch" * bool(self._grid.header)
        attach_names(measurements, "explained", [EXPLAINED + strip])
        return {
            **self.without_values(),
            "machine": machine,
            "measurements": measurements,
            "messages": vtkPolyData() if "messages" in self.without else self._messages(frame),
            "switches": switches,
            "collectives": overview_layer(
                frame, self.placement.node_id, self._grid, self._communicators, IN_FRONT / 2
            ),
        }

    def without_values(self) -> dict[str, vtkPolyData]:
        """The layers of all frames, without messages and without the values of any."""
        return {
            "planes": self._planes,
            "machine": self._machine,
            "ranks": self._of_ranks,
            "measurements": self._measurements,
            "labels": self._labels,
            "switches": self._switches,
            "links": self._of_ranks,
            "devices": self._of_ranks,
            "collectives": self._of_ranks,
        }

    def groups(self) -> dict[str, RankGroups]:
        """The ranks of each cell of a layer; their places are ranks."""
        return {
            "machine": self._values,
            "measurements": self._values,
            "switches": self._switch_values,
        }

    def middles(self) -> np.ndarray:
        """Where the lines of messages of each node end, float32 (n_nodes, 3)."""
        z = np.full(len(self._grid.x), IN_FRONT)
        return np.stack([self._grid.x, self._grid.y, z], axis=1).astype(np.float32)

    def _attach_values(
        self, layer: vtkPolyData, ranks_of: RankGroups, name: str, column: np.ndarray
    ) -> np.ndarray:
        """Attaches a field to groups of ranks; returns the largest value of each."""
        mean, largest = ranks_of.mean_and_largest(column)
        attach(layer, {name: mean, name + LARGEST: largest})
        if self._statistics is None or name in self._statistics:
            attach(layer, {name + suffix: values for suffix, values in ranks_of.others(column).items()})
        return largest

    def _cells(self, boxes: np.ndarray, z: float) -> vtkPolyData:
        """A cell per node, with what says which node it is."""
        nodes, switches = self.placement.nodes, self.placement.switches
        number = {host: n for n, host in enumerate(dict.fromkeys(node.host for node in nodes))}
        numbers = np.arange(len(nodes), dtype=np.int32)
        arrays = {
            **{"topology_type": np.zeros(len(nodes), np.int32), "node_id": numbers, "id": numbers},
            "host_name": np.array([number[node.host] for node in nodes], np.int32),
            "n_ranks": self._values.n_ranks,
        }
        dataset = rectangles(boxes, z)
        attach_names(dataset, "host_name_names", number)
        attach_names(dataset, "topology_type_names", LEVELS)
        if switches.name:
            unknown = len(switches.name)
            arrays["switch_name"] = np.where(switches.of_node < 0, unknown, switches.of_node).astype(np.int32)
            attach_names(dataset, "switch_name_names", [*switches.name, ""])
        attach_nodes(attach(dataset, arrays), np.repeat(numbers, 4))
        return attach_words(dataset)

    def _bars(self, placed: np.ndarray) -> tuple[vtkPolyData, RankGroups]:
        """A bar for each switch above its block, without values, and the ranks below it."""
        places, switches = self._grid, self.placement.switches
        shown = np.flatnonzero(places.switch >= 0) if places.header else np.zeros(0, np.int64)
        number = np.full(len(places.switch), len(shown))
        number[shown] = np.arange(len(shown))
        group = number[places.block[self.placement.node_id[placed]]]
        below = group < len(shown)
        left, right, _, top = places.boxes[shown].T
        bars = rectangles(np.stack([left, right, top + BAR[0], top + BAR[1]], axis=1), 0.0)
        switch = places.switch[shown]
        about = {"name": switch, "id": switches.id[switch], "level": switches.level[switch]}
        about["n_nodes"] = np.bincount(places.block, minlength=len(number))[shown].astype(np.int32)
        attach_names(attach(bars, about), "name_names", switches.name)
        attach_nodes(bars, np.repeat(self._middle_node[shown], 4))
        return attach_words(bars), RankGroups(group[below], placed[below], len(shown))

    def _messages(self, frame: Frame) -> vtkPolyData:
        bundles = self._bundles.of(frame)
        pairs, between = bundles.pairs, bundles.between
        if between == "nodes":
            where, radius = np.stack([self._grid.x, self._grid.y], axis=1), LINE_RADIUS
        else:
            boxes = self._grid.boxes
            where = np.stack([boxes[:, :2].mean(axis=1), boxes[:, 2:].mean(axis=1)], axis=1)
            radius = max(LINE_RADIUS, SWITCH_RADIUS * float(np.median(boxes[:, 1] - boxes[:, 0])))
        start, end = where[pairs.source], where[pairs.target]
        along = (end - start) / np.maximum(np.linalg.norm(end - start, axis=1, keepdims=True), 1e-9)
        sideways = SIDEWAYS * radius * along[:, ::-1] * (1.0, -1.0)
        ends = np.full((len(start), 2, 3), IN_FRONT, np.float32)
        ends[:, 0, :2], ends[:, 1, :2] = start + sideways, end + sideways
        arrays = self._ends(pairs, between)
        dataset = attach(segments(ends), {**arrays, "inside_node": np.zeros(len(start), np.uint8)})
        attach(dataset, pairs.values)
        attach_to_points(dataset, "radius", radii(pairs, radius, 2))
        nodes = np.stack([pairs.source, pairs.target], axis=1)
        if between != "nodes":
            nodes = self._middle_node[nodes]
        attach_nodes(dataset, nodes.ravel())
        attach_numbers(dataset, "messages_not_drawn", bundles.not_drawn)
        attach_numbers(dataset, LEFT_OUT, [bundles.unasked])
        attach_names(dataset, "in_words", [bundles.words])
        return dataset

    @property
    def _middle_node(self) -> np.ndarray:
        """The mean of the numbers of each block's nodes."""
        block = self._grid.block
        n_blocks = len(self._grid.switch)
        n_nodes = np.bincount(block, minlength=n_blocks)
        return np.bincount(block, np.arange(len(block)), n_blocks) / np.maximum(n_nodes, 1)

    def _ends(self, pairs: Pairs, between: str) -> dict[str, np.ndarray]:
        """Both ends of lines, and the hops between them."""
        switches = self.placement.switches
        if between == "nodes":
            arrays = {"source_node": pairs.source, "target_node": pairs.target}
            if switches.name:
                arrays["hops"] = switches.hops(pairs.source, pairs.target)
            return arrays
        first = np.zeros(len(self._grid.switch), np.int64)  # a node of each block
        first[self._grid.block[::-1]] = np.arange(len(self._grid.block))[::-1]
        arrays = {f"{end}_switch": self._grid.switch[getattr(pairs, end)] for end in ("source", "target")}
        return {**arrays, "hops": switches.hops(first[pairs.source], first[pairs.target])}


def _planes(placement: Placement, places: Grid) -> vtkPolyData:
    """A rectangle behind each block."""
    border = np.array([-BORDER, BORDER, -BORDER, BORDER])
    dataset = rectangles(places.boxes + border, -BEHIND)
    first = np.zeros(len(places.switch), np.int32)
    first[places.block[::-1]] = np.arange(len(places.block), dtype=np.int32)[::-1]
    attach(dataset, {"node_id": first, "n_nodes": np.bincount(places.block, minlength=len(first))})
    return attach_nodes(dataset, np.repeat(first, 4))


def _switch_names(placement: Placement, places: Grid) -> vtkPolyData:
    """The name of each block's switch above it, where that is legible."""
    if not places.header:
        return attach_nodes(vtkPolyData(), np.zeros(0))
    texts = vtkAppendPolyData()
    names = [placement.switches.name[n] if n >= 0 else "unknown" for n in places.switch.tolist()]
    most = min(NAMES, LARGEST_NAME * float(np.ptp(places.boxes[:, 2:])))
    sizes = [
        min(most, (right - left) / (0.7 * max(len(name), 1)))
        for name, (left, right, _, _) in zip(names, places.boxes.tolist())
    ]
    first = np.full(len(names), len(places.block))
    np.minimum.at(first, places.block, np.arange(len(places.block)))
    for name, node, size, (left, _, _, top) in zip(names, first.tolist(), sizes, places.boxes.tolist()):
        write(texts, name, (left, top + BAR[1] + 0.65 * most, 2 * IN_FRONT), node, size, 1.0, 0.0)
    texts.Update()
    return texts.GetOutput()
