# SPDX-License-Identifier: BSD-3-Clause
"""perfield balance: writes measured compute cost per cell, as weights for mesh partitioners."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import perfield
from perfield.catalyst_scripts.owned_folder import check_new_file, new_file
from perfield.commands import CommandError
from perfield.commands._mesh import add_mesh_options, mesh_of, mesh_words
from perfield.commands._newest import add_run, run_path
from perfield.text import in_seconds, print_table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from perfield.analysis.cell_costs import CellCosts
    from perfield.derived.run import Run
    from perfield.pictures.pieces import Pieces
    from perfield.run import Frame

HELP = "write measured compute cost per cell, as weights for mesh partitioners"
DESCRIPTION = """\
Prints what a cell costs on each rank, and writes it as weights, so that the next
decomposition gives each rank the same cost rather than the same number of cells.

  perfield balance perfield-run                          the costs, as a table
  perfield balance perfield-run --case .                 OpenFOAM: a volScalarField
  perfield balance perfield-run --metis mesh.graph       gpmetis mesh.graph 8
  perfield balance perfield-run --parmetis weights       per rank, for ParMETIS
  perfield balance perfield-run --zoltan weights         per rank, for Zoltan
  perfield balance perfield-run --predict mesh.graph.part.8

A rank's cost per cell is its compute time (without MPI and files) over all steps
but output steps, divided by its cells. So all cells of a rank cost the same,
unless a region was measured block by block."""
MOST_ROWS = 16
MOST_DIVIDED = 200_000  # cells; they take KaHIP a few seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, what to measure and what to write."""
    add_run(parser)
    add = parser.add_argument
    add("--steps", metavar="STEPS", help="steps to take costs from: 0,10,20:50:5 (default: all but output)")
    add("--region", metavar="NAME", help="count only the compute time of this region")
    add_mesh_options(parser, grid=False)
    add("--case", metavar="CASE", help="write the field for weightField into this OpenFOAM case")
    add("--case-field", metavar="NAME", default="cellCost", help="name of that field (default: cellCost)")
    add("--time", metavar="TIME", help="the case's time directory to write into (default: its start)")
    add(
        "--redistribute",
        action="store_true",
        help="write into the ranks' directories, for redistributePar; also for meshes that changed",
    )
    add("--metis", metavar="FILE", help="write METIS's graph file, with a weight for each cell")
    add("--parmetis", metavar="FOLDER", help="write vtxdist.txt and vwgt.<rank>.txt")
    add("--zoltan", metavar="FOLDER", help="write objects.<rank>.txt: number and weight of each cell")
    add(
        "--predict",
        metavar="FILE",
        help="print how balanced a division would be: a METIS partition, or OpenFOAM's cellDecomposition",
    )
    add("--force", action="store_true", help="overwrite files that exist")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the costs and writes what was asked for."""
    from perfield.analysis.cell_costs import imbalance
    from perfield.balance import measure
    from perfield.output.steps import choose_steps

    run = perfield.open(run_path(arguments.run))
    positions = choose_steps(run, arguments.steps) if arguments.steps else _default_steps(run, arguments)
    pieces = _pieces(run, arguments)
    costs = measure(run, positions, pieces, arguments.region)
    frame = run.frame(int(positions[-1]))
    plans = list(_plans(arguments, costs, frame, pieces))
    _refuse_existing([file for files, _ in plans for file in files], arguments.force)
    _print(costs, arguments.region)
    print(f"imbalance  {imbalance(costs.load_s):.3g}, from the ranks' mean compute times per step")
    for _, write in plans:
        print("\n".join(write()))
    if arguments.predict:
        print(_prediction(arguments, costs, frame))
    elif not plans:
        print("use it     --case CASE, --metis FILE, --parmetis FOLDER or --zoltan FOLDER writes weights")
    return 0


def _default_steps(run: Run, arguments: argparse.Namespace) -> np.ndarray:
    """All but output steps; in a case whose mesh changes, until it was written last, with a sentence."""
    from perfield.balance.measured import ordinary_steps
    from perfield.balance.openfoam import newest_mesh
    from perfield.run.snapshot import Snapshot

    positions = ordinary_steps(run)
    newest = newest_mesh(Path(arguments.case), run.n_ranks) if arguments.case else None
    if newest is None:
        return positions
    every = np.arange(len(run))
    until = Snapshot(run).frame_headers(every, "time") <= newest * (1 + 1e-9)
    last = every[until][-1:]  # also if it writes output: its mesh is the one on the disk
    print(
        f"note       the mesh changes; costs are of the steps until it was written last, at time {newest:g}"
    )
    return np.union1d(positions[until[positions]], last)


def _pieces(run: Run, arguments: argparse.Namespace) -> Pieces | None:
    """The mesh, where its cells are needed beyond their numbers."""
    from perfield.pictures.blocks import MeshMissingError

    by_block = any(region.block >= 0 for region in run.known_regions) and arguments.region
    named = bool(mesh_words(arguments))
    if not (arguments.metis or named or by_block):
        return None
    try:
        return mesh_of(run, arguments)
    except MeshMissingError:
        if named:
            raise
        return None  # then METIS gets weights alone


Plan = tuple[list[Path], Callable[[], Iterable[str]]]  # files to write; what writes them and reports it


def _plans(
    arguments: argparse.Namespace, costs: CellCosts, frame: Frame, pieces: Pieces | None
) -> Iterator[Plan]:
    """What to write. Everything that may fail is done here, before anything is written."""
    from perfield.balance import openfoam, weights

    if arguments.case:
        case, time = Path(arguments.case), float(frame.time)
        if arguments.redistribute:
            fields = openfoam.divided_case_fields(case, costs, time, arguments.case_field)
        else:
            fields = openfoam.whole_case_fields(case, costs, time, arguments.case_field, arguments.time)

        def write_fields() -> list[str]:
            for field in fields:
                with new_file(field.file) as place:
                    place.write_text(field.text, encoding="ascii")
            how = "redistributePar reads it" if arguments.redistribute else "decomposePar -force reads it"
            return [
                f"wrote      {_files([field.file for field in fields])}",
                f"           put into {case}/system/decomposeParDict, and {how}:",
                f"           weightField {arguments.case_field};",
            ]

        yield [field.file for field in fields], write_fields
    elif arguments.redistribute or arguments.time:
        raise CommandError("--redistribute and --time are about the field of a case; add --case CASE")
    if arguments.metis:
        path = Path(arguments.metis)
        graph = _graph(pieces, costs, frame)
        yield [path], lambda: _metis(path, costs, graph)
    if arguments.parmetis:
        folder = Path(arguments.parmetis)
        files = [folder / "vtxdist.txt", *(folder / f"vwgt.{rank}.txt" for rank in range(costs.n_ranks))]
        yield (
            files,
            lambda: [f"wrote      {_files(files)}; {_unit(weights.write_parmetis(_made(folder), costs))}"],
        )
    if arguments.zoltan:
        to = Path(arguments.zoltan)
        objects = [to / f"objects.{rank}.txt" for rank in range(costs.n_ranks)]
        yield objects, lambda: _zoltan(to, objects, costs)


def _graph(pieces: Pieces | None, costs: CellCosts, frame: Frame) -> csr_array | None:
    if pieces is None:
        return None
    from perfield.balance.graph import dual_graph

    return dual_graph([dataset for rank in range(costs.n_ranks) for _, dataset in pieces.blocks(rank, frame)])


def _metis(path: Path, costs: CellCosts, graph: csr_array | None) -> list[str]:
    from perfield.balance.weights import write_metis

    unit = _unit(write_metis(path, costs, graph))
    if graph is None:
        return [f"wrote      {path}: vwgt, a weight per cell, rank by rank; {unit}"]
    size = f"{graph.shape[0]:,} cells, {graph.nnz // 2:,} sides, a weight per cell; {unit}"
    return [
        f"wrote      {path}: {size}",
        f"use it     gpmetis {path} {costs.n_ranks}",
        *_by_kahip(costs, graph),
    ]


def _by_kahip(costs: CellCosts, graph: csr_array) -> list[str]:
    """What such weights would reach, where KaHIP is installed and the mesh is not too large."""
    from perfield.analysis.cell_costs import imbalance, whole_weights
    from perfield.balance.graph import divided

    if graph.shape[0] > MOST_DIVIDED or costs.n_ranks < 2:
        return []
    weights = np.repeat(whole_weights(costs.cost_s, costs.n_cells)[0], costs.n_cells)
    try:
        part = divided(graph, weights, costs.n_ranks)
    except ModuleNotFoundError:
        return []
    load_s = np.bincount(part, costs.of_cells, costs.n_ranks)
    how = "if KaHIP divides by these weights and each cell costs what it cost"
    return [f"predicted  {imbalance(load_s):.3g}, {how}"]


def _zoltan(folder: Path, files: list[Path], costs: CellCosts) -> list[str]:
    from perfield.balance.weights import write_zoltan

    write_zoltan(_made(folder), costs)
    return [f"wrote      {_files(files)}: number and seconds of each cell, numbered from 0 rank by rank"]


def _prediction(arguments: argparse.Namespace, costs: CellCosts, frame: Frame) -> str:
    """The imbalance of another division, if each cell costs what it cost before."""
    from perfield.analysis.cell_costs import imbalance
    from perfield.balance import openfoam

    path = Path(arguments.predict)
    content = path.read_bytes()
    if b"FoamFile" in content[:4096]:
        if not arguments.case:
            raise CommandError(f"{path} numbers the cells of a case; say which: --case CASE")
        values = openfoam.whole_case_costs(Path(arguments.case), costs, float(frame.time))
        parts, of_cells = openfoam.labels(content), next(iter(values.values()))
    else:
        try:
            parts, of_cells = np.array(content.split(), np.int64), costs.of_cells
        except ValueError as error:
            raise CommandError(
                f"{path} is not a division of a mesh ({error}); expected the number of a part for each cell, "
                "as gpmetis or decomposePar -cellDist write them."
            ) from error
    if len(parts) != len(of_cells) or (parts < 0).any():
        raise CommandError(
            f"{path} divides {len(parts):,} cells, but the run has {len(of_cells):,}; expected the number "
            "of a part, from 0, for each cell."
        )
    load_s = np.bincount(parts, of_cells)
    return (
        f"predicted  {imbalance(load_s):.3g} with the {len(load_s)} parts of {path}, if each cell costs what "
        "it cost in this run"
    )


def _print(costs: CellCosts, region: str | None) -> None:
    """The costs by rank, and what was guessed."""

    load_s, cells = costs.load_s, costs.cells_of_rank
    cost_s = np.divide(load_s, cells, out=np.zeros(len(cells)), where=cells > 0)
    mean_s = load_s.sum() / cells.sum()
    order = np.argsort(-cost_s, kind="stable")
    shown = np.sort(order) if len(order) <= MOST_ROWS else order[:MOST_ROWS]
    rows = [
        {
            "rank": rank,
            "cells": f"{cells[rank]:,}",
            "compute per step": in_seconds(load_s[rank]),
            "per cell": in_seconds(cost_s[rank]),
            "of the mean": f"{cost_s[rank] / mean_s:.3g}" if mean_s else "-",
        }
        for rank in shown.tolist()
    ]
    print_table(rows)
    if len(order) > MOST_ROWS:
        print(f"(the {MOST_ROWS} ranks whose cells cost most, of {len(order):,})")
    of = f"region {region}" if region else "all compute time"
    print(f"measured   {of} in {costs.n_steps:,} steps, {cells.sum():,} cells on {np.sum(cells > 0):,} ranks")
    unknown = ~costs.measured & (costs.n_cells > 0)
    if unknown.any():
        ranks = np.unique(costs.rank[unknown])
        print(
            f"note       {costs.n_cells[unknown].sum():,} cells of {len(ranks)} ranks were not measured "
            f"(first: rank {ranks[0]}); they get the mean of all measured cells, {in_seconds(mean_s)}"
        )
    empty = np.flatnonzero(cells == 0)
    if len(empty):
        print(f"note       {len(empty)} ranks have no cells (first: rank {empty[0]}); the table omits them")


def _unit(unit_s: float) -> str:

    return f"1 is {in_seconds(unit_s)} per step" if unit_s else "nothing costs time, so all weigh 1"


def _files(files: list[Path]) -> str:
    return str(files[0]) if len(files) == 1 else f"{files[0]} to {files[-1]} ({len(files):,} files)"


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _refuse_existing(files: list[Path], force: bool) -> None:
    """Raises CommandError if a file exists that is not to be overwritten, or cannot be made."""
    there = [file for file in files if os.path.lexists(file)]
    if there and not force:
        raise CommandError(
            f"{_files(there)} exists already and was left as it is; nothing was written. Remove it, name "
            "another place, or overwrite it with --force."
        )
    for file in there:
        check_new_file(file)
