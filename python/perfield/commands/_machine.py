# SPDX-License-Identifier: BSD-3-Clause
"""The options of `perfield render` that choose nodes and message lines."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfield.catalyst_scripts.layouts import DEFAULT
from perfield.commands import CommandError, words
from perfield.commands._mesh import mesh_of
from perfield.topology import placement_of, select

if TYPE_CHECKING:
    import numpy as np

    from perfield.pictures.line_choice import LineChoice
    from perfield.pictures.overview import Overview
    from perfield.pictures.topology_picture import TopologyScene
    from perfield.run import AnyRun, Frame
    from perfield.run.collectives import Communicator
    from perfield.topology import Placement

NODES = {"cells": True, "planes": False}
NODES_HELP = """\
show the machine's nodes as cells, side by side, each with the largest value of its ranks, or
(planes) with all their parts and ranks (default: cells for more than 64 nodes, or 128 if they have
at most 1,024 ranks, or for more than 4,096 ranks)"""
ZOOM_HELP = """\
show these nodes, the nodes below these switches or of these ranks in full, with the nodes that
they exchange most bytes with; written to RUN/pictures/zoom-NAMES"""
LINES_HELP = "draw only the N heaviest lines of messages (200)"
FROM_HELP = "draw only messages that these ranks send: ranks, nodes or switches, as in --zoom"
TO_HELP = "draw only messages that these ranks receive"
WITHOUT_HELP = """\
layers of the machine to leave out: planes, machine, messages, labels, switches, links,
devices, collectives, threads"""
APART = ("between-nodes", "between-switches", "non-neighbours")
ONLY_HELP = """\
draw only messages between-nodes, between-switches, or between non-neighbours: ranks whose pieces
of the mesh do not touch; several, separated by commas, must all hold"""


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose nodes and message lines."""
    add = parser.add_argument
    add("--nodes", choices=tuple(NODES), help=NODES_HELP)
    add("--zoom", metavar="NAMES", type=words, help=ZOOM_HELP)
    add("--without", metavar="LAYERS", help=WITHOUT_HELP)
    add("--lines", metavar="N", type=_count, help=LINES_HELP)
    add("--lines-from", metavar="NAMES", type=words, help=FROM_HELP)
    add("--lines-to", metavar="NAMES", type=words, help=TO_HELP)
    add("--lines-only", metavar="KINDS", type=_kinds, help=ONLY_HELP)


def zoom_folder(names: Iterable[str]) -> str:
    """The name of the folder with the pictures of a zoom."""
    return "zoom-" + re.sub(r"[^\w.-]", "_", "_".join(names))[:100]


@dataclass(frozen=True)
class MachineChoice:
    """What to show of the machine.

    placement : of all ranks. overview : one cell per node; None: if there are many.
    zoom : the names of what to zoom on; empty: the whole machine. chosen : bool (n_ranks,), the ranks that
    these names mean. lines : which messages become lines. without : layers to leave out. statistics : the
    fields whose statistics over ranks each part of the machine gets; None is all.
    """

    placement: Placement
    overview: bool | None
    zoom: tuple[str, ...]
    chosen: np.ndarray
    lines: LineChoice
    without: tuple[str, ...]
    statistics: list[str] | None


def choose_machine(run: AnyRun, arguments: argparse.Namespace) -> MachineChoice:
    """Finds what the options mean in a run. Raises CommandError or SelectionError for unknown names."""
    placement = placement_of(run)
    zoom = tuple(arguments.zoom or ())
    chosen = select(placement, zoom)
    if zoom and not (chosen & (placement.node_id >= 0)).any():
        raise CommandError(f"--zoom {','.join(zoom)}: it is not known where these ranks ran.")
    overview = NODES[arguments.nodes] if arguments.nodes else None
    if arguments.layout not in (DEFAULT, "planes"):
        if overview:
            raise CommandError(
                f"--layout {arguments.layout} arranges planes, but --nodes cells shows none; leave one out."
            )
        overview = False
    lines = _lines(run, arguments, placement)
    without = tuple(words(arguments.without or ""))
    return MachineChoice(placement, overview, zoom, chosen, lines, without, _with_statistics(run, arguments))


def machine_scene(run: AnyRun, choice: MachineChoice, frames: Iterable[Frame]) -> TopologyScene | Overview:
    """What all pictures of the machine share. frames : those to be shown. Prints what a zoom shows."""
    from perfield.pictures.overview import Overview
    from perfield.pictures.topology_picture import topology_scene
    from perfield.pictures.zoom import zoom

    placement, lines = choice.placement, choice.lines
    if choice.zoom:
        part = zoom(placement, choice.chosen, frames)
        placement, names = part.placement, ", ".join(choice.zoom)
        print(f"zoom on {names}: {part.words}")
        said = "; ".join(filter(None, (f"only messages of {names}", lines.words)))
        lines = replace(lines, either=choice.chosen, words=said)
    without, communicators = set(choice.without), None
    if not choice.zoom and "collectives" not in without:
        communicators = communicators_with_most(run, frames)
        if not communicators:
            without.add("collectives")
    options = {"overview": choice.overview, "lines": lines, "statistics": choice.statistics}
    options["communicators"] = communicators
    try:
        scene = topology_scene(run, placement, **options, without=without)
    except ValueError as error:
        raise CommandError(f"--without {error}") from None
    if isinstance(scene, Overview):
        count = len(placement.nodes)
        print(f"{count:,} {'node' if count == 1 else 'nodes'}: one cell each; --zoom NAME shows some in full")
    return scene


def communicators_with_most(run: AnyRun, frames: Iterable[Frame]) -> list[Communicator]:
    """The communicators in whose collective operations bytes moved in some frames, those with most first."""
    moved: Counter[int] = Counter()
    for frame in frames:
        table = frame.collectives
        if table is not None:
            sizes = (table["bytes_out"] + table["bytes_in"]).tolist()
            for name, size in zip(table["communicator"].tolist(), sizes):
                moved[name] += size
    of_name = {one.name: one for one in run.communicators}
    return [of_name[name] for name, size in moved.most_common() if size > 0 and name in of_name]


def _lines(run: AnyRun, arguments: argparse.Namespace, placement: Placement) -> LineChoice:
    """Which messages become lines, without the choice of a zoom."""
    from perfield.pictures.line_choice import LineChoice
    from perfield.pictures.lines import DRAWN

    said, apart, left_out = [], [], None
    senders, receivers = (
        select(placement, names) if names else None for names in (arguments.lines_from, arguments.lines_to)
    )
    for word, names in (("from", arguments.lines_from), ("to", arguments.lines_to)):
        if names:
            said.append(f"{word} {', '.join(names)}")
    kinds = arguments.lines_only or []
    if "between-nodes" in kinds:
        apart.append(placement.node_id)
        said.append("between nodes")
    if "between-switches" in kinds:
        if not placement.switches.name:
            raise CommandError(
                "--lines-only between-switches: the switches of this run are not known; write the cluster's "
                f"topology.conf to {run.path}/machine/network.txt, or choose between-nodes."
            )
        apart.append(placement.switch_id)
        said.append("between switches")
    if "non-neighbours" in kinds:
        left_out = _neighbours(run, arguments)
        said.append("between ranks that are no neighbours on the mesh")
    return LineChoice(
        most=arguments.lines or DRAWN,
        senders=senders,
        receivers=receivers,
        apart=tuple(apart),
        left_out=left_out,
        words=f"only messages {' and '.join(said)}" if said else "",
    )


def _with_statistics(run: AnyRun, arguments: argparse.Namespace) -> list[str] | None:
    """The fields whose statistics over ranks each part of the machine gets; None is all."""
    if arguments.arrays == "all":
        return None
    from perfield.pictures.machine_values import SUFFIXES

    wanted = words(arguments.fields or "")
    return [name for name in run.frame(0).values if any(name + end in wanted for end in SUFFIXES.values())]


def _neighbours(run: AnyRun, arguments: argparse.Namespace) -> np.ndarray:
    from perfield.pictures.blocks import MeshMissingError
    from perfield.pictures.neighbours import neighbours

    try:
        pieces = mesh_of(run, arguments)
    except MeshMissingError as error:
        raise CommandError(f"--lines-only non-neighbours needs a mesh: {error}") from error
    return neighbours(pieces, run.n_ranks, run.frame(len(run) - 1))


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of lines; give 1 to 1000000.")
    return int(text)


def _kinds(text: str) -> list[str]:
    kinds = words(text)
    unknown = [kind for kind in kinds if kind not in APART]
    if unknown or not kinds:
        raise argparse.ArgumentTypeError(f"'{text}' is not known; give one or more of {', '.join(APART)}.")
    return kinds
