# SPDX-License-Identifier: BSD-3-Clause
"""Draws what a cell costs each rank of OpenFOAM's motorBike: the bike before the mesh, which is cut open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  draws, where only its name is asked for
from PIL import Image
from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkIdList, vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkDataSet, vtkPolyData
from vtkmodules.vtkFiltersCore import vtkCellCenters, vtkExtractCells
from vtkmodules.vtkFiltersGeometry import vtkDataSetSurfaceFilter
from vtkmodules.vtkRenderingCore import (
    vtkActor,
    vtkCamera,
    vtkPolyDataMapper,
    vtkRenderer,
    vtkRenderWindow,
    vtkWindowToImageFilter,
)

import perfield
from perfield.output.images import where_to_draw
from perfield.pictures.pieces import choose_pieces

FIRST = 5  # steps before are left out
WINDOW = 1200, 700
COLOURS = 96  # of the file, which has a third of its size then
# Corners, in metres: the tunnel without its walls, and what is shown of its floor and of its cells.
TUNNEL = (-4.999, -3.999, 0.001), (14.999, 3.999, 7.999)
FRONT = (-1.0, -1.0, -1.0), (3.0, 0.0, 1.0)
BEHIND = (-1.0, -0.5, 0.0), (3.0, 0.4, 2.0)
APART, ABOVE = 0.3, 0.12  # between two pieces, and from a piece to its name
FOCUS, DISTANCE = (0.88, -0.2, 0.86), (-1.9, -4.5, 1.35)  # of the camera


def draw(directory: Path, target: Path) -> None:
    """Draws the median of all steps after the first ones."""
    run = perfield.open(directory)
    frame, found = run.frame(len(run) - 1), choose_pieces(run)
    pieces = [dataset for rank in range(run.n_ranks) for _, dataset in found.blocks(rank, frame)]
    cells = np.array([piece.GetNumberOfCells() for piece in pieces])
    steps = [run.frame(n).values["compute_time_s"] for n in range(FIRST, len(run))]
    cost = 1e6 * np.nanmedian(steps, axis=0) / cells
    scale = mpl.colors.Normalize(0.0, mpl.ticker.MaxNLocator(5).tick_values(0.0, cost.max())[-1])
    renderer = vtkRenderer()
    renderer.SetBackground(1.0, 1.0, 1.0)
    tops = []
    for colour, surfaces in zip(plt.get_cmap("viridis")(scale(cost)), placed(pieces)):
        for surface, edges in zip(surfaces, (False, True, True)):
            renderer.AddActor(actor(surface, colour[:3], edges))
        along = centres_of(surfaces[-1])[:, 0]
        tops.append((along.min() + along.max()) / 2)
    look(renderer)
    figure, axes = plt.subplots(figsize=(12.8, 7.2), layout="constrained")
    axes.imshow(rendered(renderer))
    axes.set_axis_off()
    for rank, x in enumerate(tops):
        left, top = on_image(renderer.GetActiveCamera(), (x, 0.0, BEHIND[1][2] + ABOVE))
        axes.text(left, top, f"rank {rank}: {cost[rank]:.1f} µs per cell", fontsize=16, ha="center")
    bar = figure.colorbar(mpl.cm.ScalarMappable(scale, "viridis"), ax=axes, shrink=0.7, pad=0.01)
    bar.ax.tick_params(labelsize=12)
    bar.set_label("compute time per cell in a step (µs)", fontsize=14)
    figure.savefig(target, dpi=100)
    plt.close(figure)
    with Image.open(target) as drawn:
        few = drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(target, optimize=True)


def placed(pieces: list[vtkDataSet]) -> Iterator[tuple[vtkPolyData, vtkPolyData, vtkPolyData]]:
    """Of each piece, moved apart from the others: the bike, the floor before it, the cells behind."""
    middle = [piece.GetCenter()[0] for piece in pieces]
    shift = APART * (np.argsort(np.argsort(middle)) - (len(pieces) - 1) / 2)
    surfaces = [surface_of(piece) for piece in pieces]
    centres = [centres_of(surface) for surface in surfaces]
    keys = np.round(np.concatenate(centres) * 1e5).astype(np.int64)
    _, number, times = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    # Two pieces share a face that is there twice.
    alone = np.split(times[number.ravel()] == 1, np.cumsum([len(of_piece) for of_piece in centres])[:-1])
    for piece, surface, centre, own, by in zip(pieces, surfaces, centres, alone, shift):
        bike = own & within(centre, TUNNEL)
        floor = own & (centre[:, 2] < TUNNEL[0][2]) & within(centre, FRONT)
        yield moved(kept(surface, bike), by), moved(kept(surface, floor), by), moved(behind(piece), by)


def surface_of(piece: vtkDataSet) -> vtkPolyData:
    """The outer faces of a piece."""
    outer = vtkDataSetSurfaceFilter()
    outer.SetInputData(piece)
    outer.Update()
    return outer.GetOutput()


def behind(piece: vtkDataSet) -> vtkPolyData:
    """The outer faces of the piece's half behind the bike's middle, as far as they are shown."""
    middle, ids, half = vtkCellCenters(), vtkIdList(), vtkExtractCells()
    middle.SetInputData(piece)
    middle.Update()
    for cell in np.flatnonzero(vtk_to_numpy(middle.GetOutput().GetPoints().GetData())[:, 1] > 0.0):
        ids.InsertNextId(cell)
    half.SetInputData(piece)
    half.SetCellList(ids)
    half.Update()
    surface = surface_of(half.GetOutput())
    return kept(surface, within(centres_of(surface), BEHIND))


def centres_of(surface: vtkPolyData) -> np.ndarray:
    """float64 (n_polygons, 3), the mean of the corners of each."""
    points = vtk_to_numpy(surface.GetPoints().GetData()).astype(float)
    ends = vtk_to_numpy(surface.GetPolys().GetOffsetsArray())
    corners = points[vtk_to_numpy(surface.GetPolys().GetConnectivityArray())]
    return np.add.reduceat(corners, ends[:-1]) / np.diff(ends)[:, None]


def within(points: np.ndarray, ends: tuple[tuple[float, ...], tuple[float, ...]]) -> np.ndarray:
    """Which points are in a box, given by its corners; bool (n,)."""
    return ((points > ends[0]) & (points < ends[1])).all(axis=1)


def kept(surface: vtkPolyData, which: np.ndarray) -> vtkPolyData:
    """Some polygons of a surface."""
    ends = vtk_to_numpy(surface.GetPolys().GetOffsetsArray())
    numbers = vtk_to_numpy(surface.GetPolys().GetConnectivityArray())
    size = np.diff(ends)
    cells, result = vtkCellArray(), vtkPolyData()
    offsets = np.concatenate([[0], np.cumsum(size[which])]).astype(np.int64)
    of_kept = numbers[np.repeat(which, size)].astype(np.int64)
    cells.SetData(numpy_to_vtkIdTypeArray(offsets, deep=1), numpy_to_vtkIdTypeArray(of_kept, deep=1))
    result.SetPoints(surface.GetPoints())
    result.SetPolys(cells)
    return result


def moved(surface: vtkPolyData, by: float) -> vtkPolyData:
    """A surface, moved along x."""
    points, places = vtkPoints(), vtk_to_numpy(surface.GetPoints().GetData())
    points.SetData(numpy_to_vtk(places + np.array([by, 0.0, 0.0]), deep=1))
    surface.SetPoints(points)
    return surface


def actor(surface: vtkPolyData, colour: np.ndarray, edges: bool) -> vtkActor:
    """A surface in one colour; with the edges of its cells, or with shades."""
    mapper, made = vtkPolyDataMapper(), vtkActor()
    mapper.SetInputData(surface)
    mapper.ScalarVisibilityOff()
    made.SetMapper(mapper)
    looks = made.GetProperty()
    looks.SetColor(*colour)
    looks.SetEdgeVisibility(edges)
    looks.SetEdgeColor(*(0.6 * colour))
    looks.SetLighting(not edges)
    looks.SetInterpolationToFlat()
    return made


def look(renderer: vtkRenderer) -> None:
    """Puts the camera before the bike, to its left."""
    camera = renderer.GetActiveCamera()
    camera.SetFocalPoint(*FOCUS)
    camera.SetPosition(*np.add(FOCUS, DISTANCE))
    camera.SetViewUp(0.0, 0.0, 1.0)
    camera.SetViewAngle(30.0)
    renderer.ResetCameraClippingRange()


def on_image(camera: vtkCamera, place: tuple[float, float, float]) -> tuple[float, float]:
    """Where the camera sees a place, in pixels from the left and from the top."""
    seen = camera.GetCompositeProjectionTransformMatrix(WINDOW[0] / WINDOW[1], -1.0, 1.0)
    x, y, _, w = seen.MultiplyPoint((*place, 1.0))
    return (1.0 + x / w) / 2.0 * WINDOW[0], (1.0 - y / w) / 2.0 * WINDOW[1]


def rendered(renderer: vtkRenderer) -> np.ndarray:
    """uint8 (height, width, 3), what the camera sees."""
    with where_to_draw() as variables:
        os.environ.update(variables)
        window, taken = vtkRenderWindow(), vtkWindowToImageFilter()
        window.SetOffScreenRendering(1)
        window.SetSize(*WINDOW)
        window.SetMultiSamples(8)
        window.AddRenderer(renderer)
        window.Render()
        taken.SetInput(window)
        taken.ReadFrontBufferOff()
        taken.Update()
        image = taken.GetOutput()
        width, height, _ = image.GetDimensions()
        pixels = vtk_to_numpy(image.GetPointData().GetScalars()).reshape(height, width, -1)
        window.Finalize()
    return pixels[::-1].copy()
