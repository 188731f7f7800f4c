# SPDX-License-Identifier: BSD-3-Clause
"""The filter *Statistics*: each rank over all steps, and how ranks of a part of the machine differ."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkMultiBlockDataSet

from perfield.output.survey import COMPUTING, over_steps
from perfield.paraview.proxies import RUN_PATH, Proxy, Text
from perfield.paraview.runs import (
    blocks_of,
    known_field,
    mark,
    named_blocks,
    over_all_steps,
    ranks_in,
    shallow,
    shown_in,
)
from perfield.pictures.blocks import attach
from perfield.pictures.topology_picture import topology

PROXY = Proxy(
    name="PerfieldStatistics",
    label="Statistics",
    help="""
        Adds arrays that say of each rank, over all steps of the run, the mean of an array, its 95th
        percentile, maximum, minimum and standard deviation; of compute times also the imbalance, the rank's
        value over the mean of all ranks, averaged over steps. They are the same at every step. Behind a
        machine, each of its parts also has the mean of its ranks, and with endings such as _rank_max,
        _rank_min, _rank_std and _rank_imbalance how these differ.""",
    inputs=("vtkCompositeDataSet", "vtkDataSet"),
    parameters=(
        Text(
            "array",
            "Array",
            """Name of the field, such as compute_time_s or mpi_wait_time_s. The command 'perfield fields
            RUN' lists them.""",
            COMPUTING,
        ),
        RUN_PATH,
    ),
)


def make(inputs: list[vtkDataObject], *, array: str = COMPUTING, run: str = "") -> vtkMultiBlockDataSet:
    """The input's blocks with the statistics. inputs : one mesh or machine. Others: as PROXY.

    Raises ValueError if the input names no run, or the run has no such field.
    """
    opened, number = shown_in(inputs[0], run)
    field = known_field(opened, array)
    made = statistics_of(over_all_steps(opened, field), field)
    if "measurements" in blocks_of(inputs[0]):
        frame = opened.run.with_fields([field]).frame(number)
        values = {field: frame.values[field], **made}
        layers = topology(opened.run, replace(frame, values=values), opened.scene(tuple(values))).layers()
        layers["measurements"].GetCellData().SetActiveScalars(f"{field}_mean")
        return mark(named_blocks(layers), opened, number)
    blocks = {}
    for name, piece in blocks_of(inputs[0]).items():
        blocks[name] = piece = shallow(piece)
        ranks, association = ranks_in(piece)
        for of, column in made.items():
            attach(piece, of, column[ranks], association)
        data = piece.GetPointData() if association == "point" else piece.GetCellData()
        data.SetActiveScalars(f"{field}_mean")
    return mark(named_blocks(blocks), opened, number)


def statistics_of(values: np.ndarray, field: str) -> dict[str, np.ndarray]:
    """Arrays (n_ranks,) of a field by name: as `perfield.output.survey.over_steps`, and minimum and standard
    deviation. values : (n_steps, n_ranks), NaN where absent.

    Raises ValueError with fewer than 2 steps.
    """
    if len(values) < 2:
        raise ValueError("this run has one step; statistics over steps need two or more.")
    made = {name: one.values for name, one in over_steps({field: values}, "").items()}
    with warnings.catch_warnings():  # a rank that is absent in all steps stays NaN
        warnings.simplefilter("ignore", RuntimeWarning)
        return made | {
            f"{field}_minimum": np.nanmin(values, axis=0),
            f"{field}_std": np.nanstd(values, axis=0),
        }
