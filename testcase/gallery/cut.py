# SPDX-License-Identifier: BSD-3-Clause
"""Cuts a mesh in the middle, and draws a field of the simulation beside the compute time of each rank."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkPlane
from vtkmodules.vtkFiltersCore import vtkCutter

import perfield
from perfield.pictures.pieces import choose_pieces

ACROSS = 1  # the axis that the plane is perpendicular to


def cut(dataset, middle: float, field: str) -> tuple[list[np.ndarray], np.ndarray]:
    """The polygons of a mesh in a plane, in its two other axes, and the values of a field of cells."""
    plane, cutter = vtkPlane(), vtkCutter()
    plane.SetOrigin(*(middle if axis == ACROSS else 0.0 for axis in range(3)))
    plane.SetNormal(*(float(axis == ACROSS) for axis in range(3)))
    cutter.SetCutFunction(plane)
    cutter.GenerateTrianglesOff()
    cutter.SetInputData(dataset)
    cutter.Update()
    found = cutter.GetOutput()
    if not found.GetNumberOfPolys():
        return [], np.zeros(0)
    points = np.delete(vtk_to_numpy(found.GetPoints().GetData()), ACROSS, axis=1)
    ends = vtk_to_numpy(found.GetPolys().GetOffsetsArray())
    numbers = vtk_to_numpy(found.GetPolys().GetConnectivityArray())
    shapes = [points[numbers[begin:end]] for begin, end in zip(ends[:-1], ends[1:])]
    return shapes, vtk_to_numpy(found.GetCellData().GetArray(field))


def draw(directory: Path, field: str, words: str, middle: float, target: Path) -> None:
    """Draws the last step of a run: a field of the simulation, and the mean compute time of all steps.

    words : what the field is. middle : where the plane is, along ACROSS.
    """
    run = perfield.open(directory)
    frame, pieces = run.frame(len(run) - 1), choose_pieces(run)
    computing = 1e3 * np.nanmean([run.frame(n).values["compute_time_s"] for n in range(len(run))], axis=0)
    shapes, values, ranks = [], [], []
    for rank in range(run.n_ranks):
        for _, dataset in pieces.blocks(rank, frame):
            of_rank, of_field = cut(dataset, middle, field)
            shapes += of_rank
            values.append(of_field)
            ranks += [rank] * len(of_rank)
    figure, drawn = plt.subplots(1, 2, figsize=(12.8, 6.0), layout="constrained")
    of_ranks = computing[ranks], "viridis", "compute time of each rank (ms)"
    columns = ((np.concatenate(values), "Blues", words), of_ranks)
    for axes, (column, colours, title) in zip(drawn, columns):
        made = PolyCollection(shapes, array=column, cmap=colours, edgecolor="0.35", linewidth=0.3)
        made.set_clim(0.0, None)
        axes.add_collection(made)
        axes.autoscale_view()
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.set_title(title, fontsize=16)
        figure.colorbar(made, ax=axes, shrink=0.8)
    slowest = int(computing.argmax())
    of_slowest = np.concatenate([shape for shape, rank in zip(shapes, ranks) if rank == slowest])
    drawn[1].annotate(
        f"rank {slowest}: {computing[slowest]:.0f} ms",
        of_slowest.mean(axis=0),
        fontsize=15,
        ha="center",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )
    figure.savefig(target, dpi=100)
    plt.close(figure)
