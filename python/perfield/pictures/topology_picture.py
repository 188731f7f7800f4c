# SPDX-License-Identifier: BSD-3-Clause
"""The topology picture: nodes as planes, ranks under their PUs, measurements, messages, and switches.

Each layer is a separate dataset, so users can hide and colour it alone. A TopologyScene holds what all frames
of a run share (placement, planes, ranks, letters).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkPolyData

from perfield.configuration import setting
from perfield.topology import (
    DEVICE_KINDS,
    LEVELS,
    Cells,
    DeviceCells,
    Placement,
    Sharing,
    SwitchCells,
    Switches,
    UsedDevices,
    has_cells,
    layout,
    layout_devices,
    layout_switches,
    placement_of,
    sharing,
    table,
    unbound,
    used_devices,
)

from .collectives import CollectiveBars, clashes, short_name
from .line_choice import LEFT_OUT, LineChoice
from .lines import PairSums, bundle_ends, line_ends, radii
from .machine_values import (
    ADDED_UP_ON_DEVICES,
    LARGEST,
    NOT_AVERAGED,
    RankGroups,
    ranks_of_parts,
    ranks_of_switches,
)
from .node_pairs import NodePairs
from .overview import Overview
from .row_labels import row_labels
from .thread_cells import places_of_threads, threads_of
from .topology_polydata import (
    attach,
    attach_names,
    attach_nodes,
    attach_numbers,
    attach_texts,
    attach_to_points,
    device_shapes,
    planes,
    segments,
    shapes,
    switch_bars,
)
from .ways import ANSWERS, COMMON, ways_of
from .words import attach_words

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame
    from perfield.run.collectives import Communicator

LAYERS = (
    *("planes", "machine", "ranks", "measurements", "messages", "labels"),
    *("switches", "links", "devices", "collectives", "threads", "thread_places"),
)
STATIC_LAYERS = ("planes", "ranks", "labels", "links", "thread_places")  # the same in all frames
OPTIONAL_LAYERS = (
    "planes",
    "machine",
    "messages",
    "labels",
    "switches",
    "links",
    "devices",
    "collectives",
    "threads",
    "thread_places",
)  # may be left out
LINE_RADIUS = 0.16  # of the thickest line, in rows


@dataclass(frozen=True)
class TopologyScene:
    """What all frames of a run share: the layout and the datasets that do not change.

    collectives : makes the layer of collective operations. machine, switches, devices, measurements : as in
        TopologyPicture, without the values of a frame. planes,
        ranks, labels, links : as there.
    part_ranks, switch_ranks, device_ranks : which ranks each of their cells has. sharing : the ranks that
        have to share PUs. pair_sums, node_pairs : add up messages. statistics : as for topology_scene.
    comm_offset, periodic_BC, lines : options of the message lines. notes : sentences on what is unknown about
        the machine. without : the layers to leave out.
    """

    placement: Placement
    cells: Cells
    planes: vtkPolyData
    machine: vtkPolyData
    ranks: vtkPolyData
    measurements: vtkPolyData
    labels: vtkPolyData
    switches: vtkPolyData
    links: vtkPolyData
    devices: vtkPolyData
    thread_places: vtkPolyData | None
    collectives: CollectiveBars
    part_ranks: RankGroups
    switch_ranks: RankGroups
    device_ranks: RankGroups
    sharing: Sharing
    pair_sums: PairSums
    node_pairs: NodePairs
    statistics: Collection[str] | None
    comm_offset: float
    periodic_BC: bool
    lines: LineChoice
    notes: tuple[str, ...]
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TopologyPicture:
    """One frame on the machine. All values are cell arrays; absent ones are NaN.

    The points of all layers carry node_id, the number of their node, so that filters can move whole nodes.
    Both ends of a message carry their own; an end beyond the edge has -1 or the number of nodes.

    planes : a rectangle behind each node's cells: node_id, host_name.
    machine : cells: topology_type, node_id, host_name, id (the part's own number), n_ranks (how many ranks
        have all their PUs in it). Every value of the frame: under the field's own name the mean over these
        ranks, under the name with `_rank_max` the largest; of fields in the scene's `statistics` also with
        `_rank_min`, `_rank_std` (standard deviation) and `_rank_imbalance` (largest over mean).
        topology_type and host_name are numbers; the texts `topology_type_names` and `host_name_names` in the
        field data explain them.
    ranks : cells: rank, node_id, host_name, package_id, core_id, pu_id, n_pus (how many PUs the rank may run
        on), unbound (1: nothing ties the rank to a core), pus_of_threads (text: the PUs of each thread that
        computes, "0-1; 2-3"; only where ranks have several). node_z, node_switch and plane_sizes in the field
        data give layouts the arrangement of the planes.
    measurements : cells: every value of the frame, and the arrays of `ranks`; pu_id is where the rank ran in
        this step. sharing in the field data shows which ranks have to share PUs.
    messages : lines: source, target, inside_node, sent_count, sent_bytes, empty_count, largest_bytes, and
        `<call>_count`, `<call>_bytes` for each call of the run. Messages with an unknown peer become one
        short stub per rank: the rank is the source, target is -3 and inside_node 2. Only the heaviest lines
        are there; in_words in the field data says what the others carry. messages_not_drawn in the field
        data holds count and bytes of messages with a rank that has no place. The point array radius is how
        thick a line is, in rows. hops, same_node, same_package, same_numa and same_switch say what a message
        passes, as `ways_of` does. Of several nodes, where nobody chose lines, there is one per pair of nodes:
        source_node, target_node, hops and the same sums; the heaviest pairs of ranks are in the field data.
    labels : the names of the rows and the numbers of the ranks, as letters.
    switches : a cell per switch between the nodes: name (a number; `name_names` in the field data explains
        it), id (its number in the whole network), level (0 next to the nodes), n_ranks, n_nodes, and the
        values of the ranks below it, as in `machine`. Empty if the run has one node, or no switch is known.
    links : lines from nodes to their switches, then from switches to those above: node_id (-1 between
        switches), and name, id and level of the switch at the upper end.
    devices : a cell per GPU and network card that a rank had open at its end: device_type (a number,
        explained in the field data), device and pci (texts), node_id, host_name, n_ranks (how many ranks use
        it), ranks (text), and the values of these ranks, as in `machine`. But what ranks do and have on a
        device (ADDED_UP_ON_DEVICES, and added_up in the field data) is their sum, under the field's own name.
    threads : a cell per thread in the lower half of its rank's measurement; see `threads_of`. None, and no
        layer, if no times of threads were measured.
    thread_places : marks in the ranks, below the PUs of each of their threads; see `places_of_threads`. None,
        and no layer, if no rank has threads with PUs of their own.
    collectives : rails and bars of collective operations, a row for each communicator below the messages, as
        `CollectiveBars.layer` says. Empty if the run describes no communicator.

    `Overview.layers` says what the layers hold if each node is one cell.
    """

    planes: vtkPolyData
    machine: vtkPolyData
    ranks: vtkPolyData
    measurements: vtkPolyData
    messages: vtkPolyData
    labels: vtkPolyData
    switches: vtkPolyData
    links: vtkPolyData
    devices: vtkPolyData
    collectives: vtkPolyData
    threads: vtkPolyData | None = None
    thread_places: vtkPolyData | None = None
    without: frozenset[str] = frozenset()

    def layers(self) -> dict[str, vtkPolyData]:
        """The datasets by name, in the order of LAYERS, without those that were left out."""
        layers = {layer: getattr(self, layer) for layer in LAYERS if layer not in self.without}
        return {name: layer for name, layer in layers.items() if layer is not None}


def topology_scene(
    run: AnyRun,
    placement: Placement | None = None,
    *,
    inter_node_offset: float | None = None,
    comm_offset: float | None = None,
    periodic_BC: bool | None = None,
    every_level: bool = False,
    overview: bool | None = None,
    lines: LineChoice | None = None,
    without: Iterable[str] = (),
    statistics: Collection[str] | None = (),
    communicators: Sequence[Communicator] | None = None,
) -> TopologyScene | Overview:
    """Prepares the topology pictures of a run.

    run : a perfield.run.AnyRun. placement : where the ranks are; None takes it from the run's own records.
    inter_node_offset, comm_offset : lengths in units of one row's height; an inter_node_offset of 0 fits the
        number of nodes. For these and periodic_BC, None takes the run's configuration.
    every_level : also draw caches and NUMA nodes that span the same PUs as a level above.
    overview : one cell per node and no ranks; None does so for many (`has_cells`).
    lines : which messages become lines; None takes all.
    without : layers to leave out, of OPTIONAL_LAYERS; another name raises ValueError.
    statistics : the fields whose statistics over ranks each part of the machine gets; None is all.
    communicators : those that get a row, in this order, as far as there is room; None takes all of the run.
    """
    lines = lines or LineChoice()
    left_out = frozenset(without)
    if not left_out <= set(OPTIONAL_LAYERS):
        unknown = ", ".join(sorted(left_out - set(OPTIONAL_LAYERS)))
        raise ValueError(
            f"{unknown}: no layer that can be left out; these can: {', '.join(OPTIONAL_LAYERS)}."
        )
    if placement is None:
        placement = placement_of(run)
    communicators = run.communicators if communicators is None else communicators
    communicators = [] if "collectives" in left_out else communicators
    if has_cells(len(placement.nodes), placement.n_ranks) if overview is None else overview:
        return Overview(placement, lines, left_out, statistics, communicators)
    if inter_node_offset is None:
        inter_node_offset = float(setting(run, "inter_node_offset"))
    if comm_offset is None:
        comm_offset = float(setting(run, "comm_offset"))
    if periodic_BC is None:
        periodic_BC = bool(setting(run, "periodic_BC"))
    used = used_devices(placement, {} if "devices" in left_out else run.ends)
    cells = layout(placement, inter_node_offset, every_level=every_level, device_row=bool(used.device))
    bars = CollectiveBars(communicators, cells, comm_offset)
    beside = layout_devices(used, cells)
    between = placement.switches if len(placement.nodes) > 1 else Switches.unknown(len(placement.nodes))
    places = layout_switches(between, cells)
    switches, links = _switches(between, places, cells)
    ranks = attach_words(_with_hosts(shapes(cells, cells.ranks), placement, _places(placement, cells)))
    if placement.cpusets_of_threads:
        of_threads = (placement.cpusets_of_threads.get(rank, ()) for rank in cells.rank.tolist())
        attach_texts(ranks, "pus_of_threads", map("; ".join, of_threads))
    behind = _planes(placement, cells)
    attach_numbers(ranks, "node_z", cells.node_z)
    attach_numbers(ranks, "node_switch", between.of_node)
    attach_numbers(ranks, "plane_sizes", [*behind.GetBounds()[1:4:2], comm_offset + bars.depth])
    return TopologyScene(
        placement=placement,
        cells=cells,
        planes=behind,
        machine=_machine(placement, cells),
        ranks=ranks,
        measurements=_measurement_cells(placement, cells, ranks),
        labels=row_labels(
            cells,
            _movable_in_words(placement),
            beside,
            used.name,
            [(short_name(row), height) for row, height in zip(bars.rows, bars.heights)],
        ),
        switches=switches,
        links=links,
        devices=_devices(used, beside, placement),
        thread_places=None
        if "thread_places" in left_out
        else places_of_threads(cells, placement.cpusets_of_threads),
        collectives=bars,
        part_ranks=ranks_of_parts(cells),
        switch_ranks=ranks_of_switches(cells, places.below),
        device_ranks=RankGroups(used.user, np.searchsorted(cells.rank, used.rank), len(used.device)),
        sharing=sharing(placement),
        pair_sums=PairSums(cells),
        node_pairs=NodePairs(placement.node_id, lines),
        statistics=statistics,
        comm_offset=comm_offset,
        periodic_BC=periodic_BC,
        lines=lines,
        notes=(*placement.notes, *clashes(communicators)),
        without=left_out,
    )


def topology(
    run: AnyRun, frame: Frame, scene: TopologyScene | Overview | None = None, **options: Any
) -> TopologyPicture:
    """The topology picture of one frame.

    scene : from topology_scene(run); all frames of a run can share it. None makes one with `options`.
    """
    scene = scene or topology_scene(run, **options)
    if isinstance(scene, Overview):
        return TopologyPicture(**scene.layers(frame), without=scene.without)
    return TopologyPicture(
        planes=scene.planes,
        machine=_with_values(scene.machine, scene.part_ranks, scene, frame),
        ranks=scene.ranks,
        measurements=_measurements(scene, frame),
        messages=vtkPolyData() if "messages" in scene.without else _messages(scene, frame),
        labels=scene.labels,
        switches=_with_values(scene.switches, scene.switch_ranks, scene, frame),
        links=scene.links,
        devices=_with_values(scene.devices, scene.device_ranks, scene, frame, ADDED_UP_ON_DEVICES),
        collectives=vtkPolyData() if "collectives" in scene.without else scene.collectives.layer(frame),
        threads=None if "threads" in scene.without else threads_of(scene.cells, frame),
        thread_places=scene.thread_places,
        without=scene.without,
    )


def topology_table(run: AnyRun, **options: Any) -> list[tuple[str, str, float, float, float, str]]:
    """The cells of a run's topology picture: level, id, x, y, z, parent. options : as for topology_scene."""
    scene = topology_scene(run, overview=False, **options)
    return table(scene.placement, scene.cells)


def _planes(placement: Placement, cells: Cells) -> vtkPolyData:
    nodes = np.arange(len(cells.node_z), dtype=np.int32)
    arrays = {"node_id": nodes, "host_name": _host_of(placement)}
    return attach_words(_with_hosts(planes(cells), placement, arrays))


def _machine(placement: Placement, cells: Cells) -> vtkPolyData:
    which = cells.machine
    node = cells.node[which]
    arrays = {"topology_type": cells.level[which].astype(np.int32), "node_id": node}
    arrays |= {"host_name": _host_of(placement)[node], "id": cells.number[which]}
    dataset = _with_hosts(shapes(cells, which), placement, arrays)
    attach_names(dataset, "topology_type_names", LEVELS)
    return attach_words(dataset)


def _switches(switches: Switches, places: SwitchCells, cells: Cells) -> tuple[vtkPolyData, vtkPolyData]:
    """The layers of switches, without values, and of links."""
    names = list(dict.fromkeys(switches.name))
    name = np.array([names.index(one) for one in switches.name], np.int32)
    about = {"name": name, "id": switches.id, "level": switches.level}
    above = {what: values[places.link_switch] for what, values in about.items()}
    bars = attach(switch_bars(places, cells), about | {"n_nodes": places.below.sum(axis=1, dtype=np.int32)})
    lines = attach(segments(places.link_ends.astype(np.float32)), {"node_id": places.link_node} | above)
    attach_nodes(lines, cells.node_at(places.link_ends[:, :, 2]))
    attach_numbers(bars, "below", places.below.ravel().tolist())
    for dataset in (bars, lines):
        attach_names(dataset, "name_names", names)
        attach_words(dataset)
    return bars, lines


def _devices(used: UsedDevices, places: DeviceCells, placement: Placement) -> vtkPolyData:
    """The layer of devices, without values."""
    kind = np.array([DEVICE_KINDS.index(device.kind) for device in used.device], np.int32)
    arrays = {"device_type": kind, "node_id": used.node, "host_name": _host_of(placement)[used.node]}
    dataset = _with_hosts(device_shapes(places, used.node), placement, arrays)
    ranks: list[list[str]] = [[] for _ in used.device]
    for user, rank in zip(used.user.tolist(), used.rank.tolist()):
        ranks[user].append(str(rank))
    attach_texts(dataset, "device", used.name)
    attach_texts(dataset, "pci", (device.pci for device in used.device))
    attach_texts(dataset, "ranks", map(", ".join, ranks))
    attach_names(dataset, "device_type_names", DEVICE_KINDS)
    attach_names(dataset, "added_up", sorted(ADDED_UP_ON_DEVICES))
    return attach_words(dataset)


def _with_values(
    layer: vtkPolyData,
    ranks_of: RankGroups,
    scene: TopologyScene,
    frame: Frame,
    added_up: Collection[str] = (),
) -> vtkPolyData:
    """A layer with the mean, the largest value and the scene's statistics of the ranks of each cell.

    added_up : the fields that have the sum in place of the mean.
    """
    dataset = vtkPolyData()
    dataset.ShallowCopy(layer)
    arrays = {"n_ranks": ranks_of.n_ranks}
    for name, column in frame.values.items():
        if name not in NOT_AVERAGED:
            of_ranks = column[scene.cells.rank]
            mean, largest = ranks_of.mean_and_largest(of_ranks)
            own = ranks_of.sums(of_ranks) if name in added_up else mean
            arrays |= {name: own, name + LARGEST: largest}
            if scene.statistics is None or name in scene.statistics:
                others = ranks_of.others(of_ranks)
                arrays |= {name + suffix: values for suffix, values in others.items()}
    return attach(dataset, arrays)


def _measurement_cells(placement: Placement, cells: Cells, ranks: vtkPolyData) -> vtkPolyData:
    """The layer of measurements without values. ranks : the layer of ranks, whose hosts it shares."""
    dataset = shapes(cells, cells.measurements)
    hosts = ranks.GetCellData().GetAbstractArray("host")
    if hosts is not None:
        dataset.GetCellData().AddArray(hosts)
    return _with_hosts(dataset, placement, {})


def _measurements(scene: TopologyScene, frame: Frame) -> vtkPolyData:
    rank, places = scene.cells.rank, scene.ranks.GetCellData()
    dataset = vtkPolyData()
    dataset.ShallowCopy(scene.measurements)
    own = {name: column[rank] for name, column in frame.values.items() if not places.HasArray(name)}
    attach(dataset, own)
    for number in range(places.GetNumberOfArrays()):
        dataset.GetCellData().AddArray(places.GetAbstractArray(number))
    if "pu_id" in frame.values:  # where the rank ran in this step says more than where it may run
        ran, may = frame.values["pu_id"][rank], scene.placement.pu_id[rank]
        attach(dataset, {"pu_id": np.where(np.isnan(ran), may, ran)})
    when = f" in step {frame.label}" if frame.kind == "step" else ""
    words = scene.sharing.with_switches(frame.values.get("involuntary_switches"), when)
    attach_names(dataset, "sharing", [words] if words else [])
    return dataset


def _messages(scene: TopologyScene, frame: Frame) -> vtkPolyData:
    """Lines between ranks; where nobody chose some and there are several nodes, one per pair of these."""
    if scene.lines.is_default and len(scene.placement.nodes) > 1:
        return _bundles(scene, frame)
    kept = scene.lines.kept(scene.pair_sums.of(frame))
    drawn, words = scene.lines.heaviest(kept)
    drawn, left_out = scene.pair_sums.in_full(frame, drawn), scene.pair_sums.left_out(frame)
    ends, nodes, inside_node = line_ends(drawn, scene.cells, scene.comm_offset, scene.periodic_BC)
    arrays = {"source": drawn.source, "target": drawn.target, "inside_node": inside_node}
    dataset = attach(segments(ends), {**arrays, **ways_of(drawn, scene.placement), **drawn.values})
    attach_to_points(dataset, "radius", radii(drawn, LINE_RADIUS, 2))
    attach_nodes(dataset, nodes)
    attach_numbers(dataset, "messages_not_drawn", left_out)
    attach_numbers(dataset, LEFT_OUT, [scene.lines.unasked(kept)])
    attach_names(dataset, "in_words", [words] if words else [])
    for what in COMMON:
        attach_names(dataset, f"{what}_names", ANSWERS)
    return dataset


def _bundles(scene: TopologyScene, frame: Frame) -> vtkPolyData:
    bundles, switches = scene.node_pairs.of(frame), scene.placement.switches
    pairs = bundles.pairs
    ends, nodes = bundle_ends(pairs, scene.cells, scene.comm_offset, scene.periodic_BC)
    arrays = {"source_node": pairs.source, "target_node": pairs.target}
    arrays["inside_node"] = np.zeros(len(pairs.source), np.uint8)
    dataset = attach(segments(ends), {**arrays, **pairs.values})
    attach(dataset, {"hops": switches.hops(pairs.source, pairs.target)})
    attach_to_points(dataset, "radius", radii(pairs, LINE_RADIUS, 2))
    attach_nodes(dataset, nodes)
    attach_numbers(dataset, "messages_not_drawn", bundles.not_drawn)
    attach_numbers(dataset, LEFT_OUT, [bundles.unasked])
    attach_names(dataset, "in_words", [bundles.words])
    of_ranks = scene.lines.heaviest(scene.pair_sums.of(frame))[0]  # for picks
    for name, values in {"source": of_ranks.source, "target": of_ranks.target, **of_ranks.values}.items():
        attach_numbers(dataset, name, values.tolist())
    return dataset


def _places(placement: Placement, cells: Cells) -> dict[str, np.ndarray]:
    """The place of each placed rank, by array name."""
    rank = cells.rank
    node = placement.node_id[rank]
    return {
        "rank": rank,
        "node_id": node,
        "host_name": _host_of(placement)[node],
        "package_id": placement.package_id[rank],
        "core_id": placement.core_id[rank],
        "pu_id": placement.pu_id[rank],
        "n_pus": placement.n_pus[rank],
        "unbound": unbound(placement)[rank].astype(np.uint8),
    }


def _movable_in_words(placement: Placement) -> str:
    """A name for the ranks that may run on several cores."""
    free = unbound(placement)[placement.movable]
    return "unbound" if free.all() else "may move" if free.any() else "several cores"


def _host_of(placement: Placement) -> np.ndarray:
    """Index of each node's host name among the distinct names, int32 (n_nodes,)."""
    number = {host: i for i, host in enumerate(_hosts(placement))}
    return np.array([number[node.host] for node in placement.nodes], np.int32)


def _hosts(placement: Placement) -> list[str]:
    return list(dict.fromkeys(node.host for node in placement.nodes))


def _with_hosts(dataset: vtkPolyData, placement: Placement, arrays: dict[str, np.ndarray]) -> vtkPolyData:
    """Adds cell arrays, and the texts that explain `host_name`; returns the dataset."""
    attach_names(attach(dataset, arrays), "host_name_names", _hosts(placement))
    return dataset
