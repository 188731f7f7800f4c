# SPDX-License-Identifier: BSD-3-Clause
"""Datasets that are kept from frame to frame equal those made anew for each frame."""

from __future__ import annotations

import numpy as np
import pytest
from drivers import extracts_of_run as extracts

import perfield
from perfield.pictures import lasting_geometry
from perfield.pictures.geometry_picture import GeometryOptions, geometry_blocks
from perfield.pictures.pieces import StoredPieces
from twins import twin


def changing(rank: int, step: int, values: dict) -> None:
    """All ranks compute alike until step 2; a region and a call come late; rank 1 is away in step 3."""
    if step < 2:
        values["regions"], values["messages"] = [twin.region_row(1, 1_000_000)], []
    if step == 3 and rank == 1:
        values["regions"] = []


@pytest.fixture(params=["point", "cell"])
def options(request) -> GeometryOptions:
    """Options of the picture."""
    return GeometryOptions(association=request.param, focus=(2,))


@pytest.mark.parametrize("small", [0, 10_000])
def test_kept_pieces_equal_new_ones_in_each_frame(tmp_path, options, small, monkeypatch):
    monkeypatch.setattr(lasting_geometry, "SMALL", small)
    path = twin.write_run(
        tmp_path / "run", ranks=3, steps=6, regions=("solve", ("exchange", 0)), change_step=changing
    )
    run = perfield.open(path)
    lasting = lasting_geometry.LastingGeometry(run, StoredPieces(run), options)
    for frame in (*run.frames(), run.frame(2)):
        kept = lasting.blocks(frame)
        anew = list(geometry_blocks(run, frame, options))
        assert [name for name, _ in kept] == [name for name, _ in anew]
        for (_, one), (_, other) in zip(kept, anew):
            extracts.assert_equal(one, other)


def test_arrays_that_always_had_equal_values_share_their_memory(tmp_path, options):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=3, steps=2))
    lasting = lasting_geometry.LastingGeometry(run, StoredPieces(run), options)
    for frame in run.frames():
        _, dataset = lasting.blocks(frame)[0]
    data = dataset.GetPointData() if options.association == "point" else dataset.GetCellData()
    arrays = [data.GetArray(n) for n in range(data.GetNumberOfArrays())]
    places = {array.GetVoidPointer(0) for array in arrays}
    values = [array.GetTuple1(0) for array in arrays if array.GetNumberOfComponents() == 1]
    distinct = len(np.unique([value for value in values if np.isfinite(value)]))
    assert distinct < len(places) < len(arrays) - 10
