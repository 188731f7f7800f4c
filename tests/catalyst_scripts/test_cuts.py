# SPDX-License-Identifier: BSD-3-Clause
"""A plane lies where a field changes, and shows cells of their owners alone."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkImageData, vtkMultiBlockDataSet

from perfield.output.images import SCRIPTS

CELLS = 8


@pytest.fixture
def cuts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("cuts")


def box(*lengths):
    """A piece of CELLS x CELLS x CELLS cells."""
    piece = vtkImageData()
    piece.SetDimensions(*[CELLS + 1] * 3)
    piece.SetSpacing(*np.divide(lengths, CELLS))
    return piece


def middles():
    """The places (n_cells, 3) of cells along each axis, 0 to CELLS - 1."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*[np.arange(CELLS)] * 3, indexing="ij")][::-1], 1)


def add(piece, name, values):
    array = numpy_to_vtk(np.ascontiguousarray(values), deep=True)
    array.SetName(name)
    piece.GetCellData().AddArray(array)
    return piece


def picture(piece):
    data = vtkMultiBlockDataSet()
    data.SetBlock(0, piece)
    data.GetMetaData(0).Set(vtkCompositeDataSet.NAME(), "rank_0")
    return data


@pytest.mark.parametrize(
    "lengths, change, axis",
    [
        ((1, 1, 1), (3, 0, 1), 1),
        ((1, 1, 1), (0, 1, 1), 0),
        ((1, 1, 1), (1, 1, 0), 2),
        ((1, 1, 1), (0, 0, 0), 1),  # of equal values and sides, from the front
        ((2, 3, 1), (0, 0, 0), 2),  # onto the largest side
        ((np.nan, 1, 1), (1, 0, 0), 1),  # values that are not known
    ],
)
def test_the_plane_is_perpendicular_to_the_axis_of_least_change(cuts, lengths, change, axis):
    values = middles() @ np.array(change, float) + np.nan_to_num(0.0 * np.array(lengths[0]), nan=np.nan)
    sides = np.nan_to_num(np.array(lengths, float), nan=1.0)
    bounds = np.stack([np.zeros(3), sides], 1).ravel()
    assert cuts.axis_of_least_change(picture(add(box(*sides), "p", values)), "p", bounds) == axis


def test_a_plane_in_faces_between_cells_cuts_one_layer_without_ghosts(cuts):
    ghosts = (middles()[:, 0] == 0).astype(np.uint8)
    plane = cuts.plane_at(1, (0.0, 1.0), (0, 1, 0, 1, 0, 1))
    cut = cuts.cut_of(add(box(1, 1, 1), "vtkGhostType", ghosts), plane)
    assert plane.words == "cut at y = 0.5"
    assert cut.GetBounds() == pytest.approx((1 / CELLS, 1, 0.5, 0.5, 0, 1), abs=1e-5)
    assert cut.GetNumberOfPolys() == 2 * CELLS * (CELLS - 1)


@pytest.mark.parametrize(
    "cells, height, inside",
    [((4, 4, 4), 1.0, True), ((4, 4, 2), 0.1, True), ((4, 4, 1), 0.1, False), ((4, 4, 0), 1.0, False)],
)
def test_one_layer_that_is_seen_from_above_has_no_inside(cuts, cells, height, inside):
    piece = vtkImageData()
    piece.SetDimensions(*np.add(cells, 1))
    piece.SetSpacing(0.25, 0.25, height / max(cells[2], 1))
    assert cuts.has_inside(picture(piece), piece.GetBounds()) == inside
    assert not cuts.has_inside(vtkMultiBlockDataSet(), (0, 1) * 3)
