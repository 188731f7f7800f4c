# SPDX-License-Identifier: BSD-3-Clause
"""The table of the gallery: one page for each figure of the dissertation that shows pictures like perfield's.

The numbers are those of R. Falcão do Couto Alves, In Situ Visualization of Performance Data in Parallel CFD
Applications, chapters 6, 7 and appendix A. Where the figure's program is not free, another one has the same
shape and the same load, and the page names it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Panel:
    """One image of a page.

    run : its name in `runs.names()`. layer : "geometry", "clip" (the mesh cut open), "part" (a part of it),
    "threshold", "focus", "topology" or "matrix". fields : what is coloured; in the topology pairs
    "layer/field", the first the main one. words : above the image. step : "typical", "output" (the step that
    writes most), "calm" (the one whose slowest rank is quickest, which the machine disturbed least) or
    "last". look : a camera in `draw.LOOKS`. rank : of a focus. layout : of a topology.
    options : of a mesh, "exploded" or "cells" (with their edges). Of a machine, "periodic", "from 0" (only
    the lines of rank 0, and the nodes that they reach), "heaviest"
    (two lines for each rank), "ends" (not the lines, but where they end) or "front"
    (the camera looks along the axis).
    """

    run: str
    layer: str
    fields: tuple[str, ...]
    words: str
    step: str = "typical"
    look: str = ""
    rank: int = 0
    layout: str = "planes"
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page. number : of the figure. see : what a reader should see, in one line. stands_for : the program
    of the figure, where another one stands in for it. why_not : why there is no page, in one line."""

    number: str
    title: str
    see: str
    panels: tuple[Panel, ...] = ()
    stands_for: str = ""
    why_not: str = ""


HYDRA = "Hydra, which is not free; testcase/gallery/flow.cpp has its shape, loads and messages, planted"
CODA = "CODA, which is not free; testcase/gallery/flow.cpp has its shape and loads, planted"
CODA_LARGE = "CODA on 64 nodes; this run is written by formula, with times that are drawn at random"
HYDRA_OUTPUT = "Hydra's output; here OpenFOAM's rhoCentralFoam, unmodified, writes a supersonic flow"
MG = "NPB MG; testcase/patterns/multigrid.c sends its messages"
MG_LARGE = "NPB MG on 256 nodes; this run is written by formula: six neighbours in a periodic box"
BT_OUTPUT = (
    "NPB BT, whose MPI gathers the output of a node on one rank; perfield counts MPI-IO where the program "
    "calls it, so testcase/gallery/flow.cpp gathers by itself"
)
BT = "NPB BT; testcase/patterns/multipartition.c sends its messages"


def pair(
    run: str, layer: str, left: str, right: str, words: tuple[str, str], **both: object
) -> tuple[Panel, ...]:
    """Two fields of one run side by side."""
    return tuple(Panel(run, layer, (field,), text, **both) for field, text in zip((left, right), words))


def twice(
    runs: tuple[str, str], layer: str, field: str, words: tuple[str, str], **both: object
) -> tuple[Panel, ...]:
    """One field of two runs side by side."""
    return tuple(Panel(run, layer, (field,), text, **both) for run, text in zip(runs, words))


def calls_and_time(number: str, run: str, look: str, layer: str, title: str, see: str) -> Page:
    """The calls of the face flux and the time in them, on the aircraft."""
    words = ("calls of the face flux", "time in them")
    return Page(
        number,
        title,
        see,
        pair(run, layer, "face_flux_count", "face_flux_time_s", words, look=look, step="calm"),
        stands_for=CODA,
    )


MESH_OF_COSTS = "The calls are many near the aircraft, the time is long far from it: a boundary costs."
MESH_ALIKE = "Calls and time agree now: the same pieces are bright on both sides."
PAGES = (
    Page(
        "6.1",
        "A ring of blades, and the rank that owns each piece",
        "48 pieces of equal size: 6 along the axis, 8 around it; their numbers grow along the axis.",
        (
            Panel("turbine", "geometry", ("",), "the mesh", look="inlet", step="calm"),
            Panel("turbine", "geometry", ("rank",), "the rank of each piece", look="inlet", step="calm"),
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.1",
        "How often two functions run",
        "The pieces at the inlet (left end) call both functions 1.6 times as often; elsewhere a chess board.",
        pair(
            "turbine",
            "geometry",
            "iflux_edge_count",
            "vflux_edge_count",
            ("calls of iflux_edge", "calls of vflux_edge"),
            look="inlet",
            step="calm",
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.2",
        "Time in iflux_edge, in two runs",
        "Both runs show the same slow inlet and the same chess board: the load is no chance.",
        twice(
            ("turbine", "turbine-again"),
            "geometry",
            "iflux_edge_time_s",
            ("one run", "the next run"),
            look="inlet",
            step="calm",
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.3",
        "Time in vflux_edge, in two runs",
        "As 7.2, in a function that takes longer; the difference between ranks is larger, too.",
        twice(
            ("turbine", "turbine-again"),
            "geometry",
            "vflux_edge_time_s",
            ("one run", "the next run"),
            look="inlet",
            step="calm",
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.4",
        "Who sends to rank 47",
        "Only the neighbours of rank 47 send to it, as they should.",
        (
            Panel(
                "turbine",
                "focus",
                ("isend_count_to_47",),
                "messages sent to rank 47 (orange)",
                look="inlet",
                step="calm",
                rank=47,
            ),
            Panel("turbine", "matrix", ("sent_count",), "messages between all ranks: four in the last row"),
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.5",
        "Who sends to rank 1",
        "Ranks that do not touch rank 1 send to it as well, and often.",
        (
            Panel(
                "turbine",
                "focus",
                ("isend_count_to_1",),
                "messages sent to rank 1 (orange)",
                look="inlet",
                step="calm",
                rank=1,
            ),
            Panel("turbine", "matrix", ("sent_count",), "messages between all ranks"),
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.6",
        "The bytes that rank 1 gets",
        "Of all the senders of 7.5 only the neighbours send bytes: the other messages are empty.",
        (
            Panel(
                "turbine",
                "focus",
                ("isend_bytes_to_1",),
                "bytes sent to rank 1 (orange)",
                look="inlet",
                step="calm",
                rank=1,
            ),
            Panel("turbine", "matrix", ("sent_bytes",), "bytes between all ranks"),
        ),
        stands_for=HYDRA,
    ),
    calls_and_time(
        "7.7",
        "wing",
        "far",
        "geometry",
        "Face flux, the whole domain from outside",
        "From outside, only time stands out: the outermost pieces take long.",
    ),
    calls_and_time(
        "7.8",
        "wing",
        "symmetry",
        "geometry",
        "Face flux, on the plane of symmetry",
        "Calls are many in the middle, time is long at the rim.",
    ),
    calls_and_time(
        "7.9",
        "wing",
        "near",
        "part",
        "Face flux, close to the aircraft",
        "Close to the aircraft, where most calls are, time is short.",
    ),
    calls_and_time("7.10", "wing", "cut", "clip", "Face flux, cut open across the wing", MESH_OF_COSTS),
    calls_and_time("7.11", "wing-mended", "far", "geometry", "7.7 with a cheap boundary", MESH_ALIKE),
    calls_and_time("7.12", "wing-mended", "symmetry", "geometry", "7.8 with a cheap boundary", MESH_ALIKE),
    calls_and_time("7.13", "wing-mended", "near", "part", "7.9 with a cheap boundary", MESH_ALIKE),
    calls_and_time("7.14", "wing-mended", "cut", "clip", "7.10 with a cheap boundary", MESH_ALIKE),
    Page(
        "7.15",
        "Four nodes: their parts, and the messages between their ranks",
        "One plane for each node: packages, caches, cores, the PU of each rank. Lines are messages.",
        (
            Panel(
                "multigrid",
                "topology",
                ("machine/topology_type", "switches/name", "messages/source"),
                "kind of part, switch by name, message by sender",
            ),
            Panel(
                "multigrid",
                "topology",
                ("machine/node_id", "switches/id", "messages/target"),
                "node, switch by number, message by receiver",
            ),
        ),
        stands_for=MG,
    ),
    Page(
        "7.16",
        "Nodes under three leaf switches",
        "The gap between two planes is wider where the leaf switch changes: n2 and n3 share one.",
        (
            Panel(
                "multigrid",
                "topology",
                ("switches/name", "machine/node_id"),
                "switches by name, nodes by number",
            ),
            Panel("multigrid", "topology", ("messages/hops",), "messages by the switches that they pass"),
        ),
        stands_for=MG,
    ),
    Page(
        "7.17",
        "Ranks dealt out node by node",
        "On the right each node has ranks from all over: its row of ranks runs through all colours.",
        twice(
            ("multigrid", "multigrid-dealt"),
            "topology",
            "ranks/rank",
            ("rank by rank (the default)", "one rank per node in turn"),
        ),
        stands_for=MG,
    ),
    Page(
        "7.18",
        "Two patterns of messages",
        "Left: partners at fixed distances, also from the last node to the first. Right: diagonals.",
        twice(
            ("multigrid", "multipartition"), "topology", "messages/source", ("multigrid", "multi-partition")
        ),
        stands_for=f"{MG}, and {BT}",
    ),
    Page(
        "7.19",
        "Messages around a periodic domain",
        "Left, lines between the first and the last node leave the picture instead of crossing it.",
        (
            Panel(
                "multigrid-24", "topology", ("messages/target",), "periodic_BC = true", options=("periodic",)
            ),
            Panel("multigrid-24", "topology", ("messages/target",), "periodic_BC = false"),
        ),
        stands_for=MG,
    ),
    Page(
        "7.20",
        "The calls of 7.1 on the machine",
        "Every sixth rank is bright in both functions: those at the inlet.",
        (
            Panel(
                "turbine",
                "topology",
                ("measurements/iflux_edge_count", "machine/topology_type"),
                "calls of iflux_edge; kind of part",
            ),
            Panel(
                "turbine",
                "topology",
                ("measurements/vflux_edge_count", "planes/host_name"),
                "calls of vflux_edge; host",
            ),
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.21",
        "Messages, and the bytes in them",
        "Many lines of the left carry nothing on the right (dark): messages that can be left out.",
        pair(
            "turbine",
            "topology",
            "messages/isend_count",
            "messages/isend_bytes",
            ("number of messages", "bytes in them"),
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.22",
        "The same without empty messages",
        "Fewer lines, most of them inside a node, and none of them dark on the right.",
        pair(
            "turbine-mended",
            "topology",
            "messages/isend_count",
            "messages/isend_bytes",
            ("number of messages", "bytes in them"),
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.23",
        "Messages and bytes as matrices",
        "Diagonals of the left are missing on the right. The matrix knows no nodes; 7.21 shows them.",
        (
            Panel("turbine", "matrix", ("sent_count",), "number of messages"),
            Panel("turbine", "matrix", ("sent_bytes",), "bytes"),
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.24",
        "A burst of messages in a step that writes",
        "In the step on the right all ranks send their results to rank 0: lines to it from everywhere.",
        (
            Panel("turbine-mended", "topology", ("messages/isend_count",), "an ordinary step"),
            Panel(
                "turbine-mended", "topology", ("messages/isend_count",), "a step that writes", step="output"
            ),
        ),
        stands_for=HYDRA,
    ),
    Page(
        "7.25",
        "1,536 ranks on 64 nodes",
        "The times of the ranks, in the lowest row, have no pattern: no node or core is slow.",
        (
            Panel(
                "large",
                "topology",
                ("measurements/face_flux_time_s",),
                "time in the face flux",
                layout="side-by-side",
            ),
            Panel(
                "large", "topology", ("messages/sent_bytes",), "bytes between ranks", layout="side-by-side"
            ),
        ),
        stands_for=CODA_LARGE,
    ),
    Page(
        "7.26",
        "Of many lines, those of one rank",
        "Left where all lines end; right only those that begin at rank 0, and the nodes that they reach.",
        (
            Panel(
                "large",
                "topology",
                ("messages/sent_bytes",),
                "where lines end",
                layout="side-by-side",
                options=("ends",),
            ),
            Panel(
                "large",
                "topology",
                ("messages/sent_bytes",),
                "lines from rank 0, and the nodes that they reach",
                options=("from 0",),
            ),
        ),
        stands_for=CODA_LARGE,
    ),
    Page(
        "7.27",
        "The planes as a ring",
        "No line crosses the ring: each rank sends inside its node or to the nodes beside it.",
        (
            Panel(
                "multigrid",
                "topology",
                ("messages/sent_bytes",),
                "ring",
                layout="ring",
                options=("periodic",),
            ),
            Panel("multigrid", "topology", ("messages/sent_bytes",), "planes", options=("periodic",)),
        ),
        stands_for=MG,
    ),
    Page(
        "7.28",
        "Diagonals on a ring",
        "Messages to the following ranks are heavy, those to the ranks before are light.",
        (
            Panel("multipartition", "topology", ("messages/sent_bytes",), "ring", layout="ring"),
            Panel("multipartition", "topology", ("messages/sent_bytes",), "planes"),
        ),
        stands_for=BT,
    ),
    Page(
        "7.29",
        "A ring whose planes are turned once more",
        "All nodes have the same pattern inside: seen along the axis they lie upon one another.",
        (
            Panel("multigrid", "topology", ("messages/sent_bytes",), "from the side", layout="double-ring"),
            Panel(
                "multigrid",
                "topology",
                ("messages/sent_bytes",),
                "along the axis",
                layout="double-ring",
                options=("front",),
            ),
        ),
        stands_for=MG,
    ),
    Page(
        "7.30",
        "A ring of 256 nodes",
        "No line crosses the ring; the heaviest stay among 16 nodes: a periodic box of 16 x 16 x 16 ranks.",
        (
            Panel("ring", "topology", ("messages/sent_bytes",), "from the side", layout="ring"),
            Panel(
                "ring",
                "topology",
                ("messages/sent_bytes",),
                "along the axis, the heaviest third of the lines",
                layout="ring",
                options=("front", "heaviest"),
            ),
        ),
        stands_for=MG_LARGE,
    ),
    Page(
        "7.31",
        "Writes in a step that writes",
        "Rank 0 writes for all ranks; on the machine one sees at once that it is the first core of n1.",
        (
            Panel("shock", "geometry", ("io_write_count",), "number of writes, on the mesh", step="output"),
            Panel(
                "shock",
                "topology",
                ("measurements/io_write_count",),
                "number of writes, on the machine",
                step="output",
            ),
        ),
        stands_for=HYDRA_OUTPUT,
    ),
    Page(
        "7.32",
        "Bytes written in that step",
        "The bytes of all ranks pass through rank 0.",
        (
            Panel("shock", "geometry", ("io_write_bytes",), "bytes written, on the mesh", step="output"),
            Panel(
                "shock",
                "topology",
                ("measurements/io_write_bytes",),
                "bytes written, on the machine",
                step="output",
            ),
        ),
        stands_for=HYDRA_OUTPUT,
    ),
    Page(
        "7.33",
        "Writes, by one rank and by all",
        "Left rank 0 writes for all (collated files); right each writes for itself, and rank 0 the log.",
        twice(
            ("shock", "shock-each"),
            "topology",
            "measurements/io_write_count",
            ("collated files", "a file for each rank"),
            step="output",
        ),
        stands_for=HYDRA_OUTPUT,
    ),
    Page(
        "7.34",
        "Bytes written, by one rank and by all",
        "Left rank 0 writes everything, right all write nearly the same.",
        twice(
            ("shock", "shock-each"),
            "topology",
            "measurements/io_write_bytes",
            ("collated files", "a file for each rank"),
            step="output",
        ),
        stands_for=HYDRA_OUTPUT,
    ),
    Page(
        "7.35",
        "Output from 4 nodes of 16 ranks",
        "The first rank of each node writes what its node has; all others write nothing.",
        pair(
            "output",
            "topology",
            "measurements/io_write_count",
            "measurements/io_write_bytes",
            ("number of writes", "bytes written"),
            step="output",
        ),
        stands_for=BT_OUTPUT,
    ),
    Page(
        "7.36",
        "Output from 8 nodes of 8 ranks",
        "With 8 nodes it is every eighth rank: the first of each node, not every sixteenth.",
        pair(
            "output-8",
            "topology",
            "measurements/io_write_count",
            "measurements/io_write_bytes",
            ("number of writes", "bytes written"),
            step="output",
        ),
        stands_for=BT_OUTPUT,
    ),
    Page(
        "A.1",
        "The heat case: its grid, and a range of temperatures",
        "Left the grid and its temperature; right only the points between 150 and 250 K.",
        (
            Panel(
                "heat",
                "geometry",
                ("temperature",),
                "temperature on the grid",
                step="last",
                options=("cells",),
            ),
            Panel("heat", "threshold", ("temperature",), "between 150 and 250 K", step="last"),
        ),
    ),
    Page(
        "A.2",
        "The heat case: its ranks, and their time",
        "27 pieces of equal size, three along each direction; the pieces are moved apart.",
        pair(
            "heat",
            "geometry",
            "rank",
            "compute_time_s",
            ("the rank of each piece", "compute time"),
            options=("exploded",),
        ),
    ),
    Page(
        "A.3",
        "The heat case: who puts data into rank 13",
        "Rank 13 is in the middle and has six neighbours, which all put equally often.",
        (
            Panel("heat", "focus", ("put_count_to_13",), "puts into rank 13 (orange)", rank=13),
            Panel("heat", "matrix", ("sent_count",), "puts between all ranks"),
        ),
    ),
    Page(
        "A.4",
        "The heat case on three nodes",
        "Ranks below their cores, the switches between the nodes, and lines by the rank that puts.",
        (
            Panel(
                "heat",
                "topology",
                ("ranks/rank", "switches/name"),
                "ranks, and switches by name",
            ),
            Panel("heat", "topology", ("messages/source", "switches/name"), "messages by sender"),
        ),
    ),
    Page(
        "S.1",
        "Not in the dissertation: a shock before a step, at Mach 3",
        "The flow comes in at Mach 3 from the left; a shock is before the step. All ranks compute alike.",
        (
            Panel("shock-each", "geometry", ("p",), "pressure", step="last"),
            Panel(
                "shock-each",
                "geometry",
                ("compute_time_s_mean",),
                "compute time of each rank, mean of all steps",
                step="last",
            ),
        ),
    ),
    Page(
        "S.2",
        "Not in the dissertation: an oblique shock that is reflected, at Mach 2.9",
        "The shock comes down from the upper left corner and goes up again; eight ranks share the flow.",
        (
            Panel("oblique", "geometry", ("p",), "pressure", step="last"),
            Panel(
                "oblique",
                "geometry",
                ("compute_time_s_mean",),
                "compute time of each rank, mean of all steps",
                step="last",
            ),
        ),
    ),
)
