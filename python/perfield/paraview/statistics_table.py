# SPDX-License-Identifier: BSD-3-Clause
"""The filter *Statistics table*: a field of all ranks or steps as rows of mean, spread and extremes."""

from __future__ import annotations

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkStringArray
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkTable

from perfield.analysis.statistics import STATISTICS, statistics
from perfield.output.survey import COMPUTING
from perfield.paraview.proxies import RUN_PATH, Choice, Proxy, Text
from perfield.paraview.runs import OpenRun, known_field, over_all_steps, shown_in

STEPS, RANKS, NODES = range(3)

PROXY = Proxy(
    name="PerfieldStatisticsTable",
    label="Statistics table",
    help="""
        A table of smallest value, mean, standard deviation, largest value, 95th percentile and imbalance, the
        largest value over the mean, of an array. A row is a step, over its ranks; or a rank, over all steps;
        or a node, over its ranks in the step that is shown. See it in a SpreadSheet View, or draw it with
        Plot Data.""",
    inputs=("vtkCompositeDataSet", "vtkDataSet"),
    output="vtkTable",
    parameters=(
        Text("array", "Array", "Name of the field, such as compute_time_s.", COMPUTING),
        Choice("rows", "Rows", "What a row of the table is.", ("steps", "ranks", "nodes")),
        RUN_PATH,
    ),
)


def make(
    inputs: list[vtkDataObject], *, array: str = COMPUTING, rows: int = STEPS, run: str = ""
) -> vtkTable:
    """A table with a row for each step, rank or node. inputs : one mesh or machine. Others: as PROXY.

    Raises ValueError if the input names no run, or the run has no such field.
    """
    opened, number = shown_in(inputs[0], run)
    field = known_field(opened, array)
    values = over_all_steps(opened, field)
    table = vtkTable()
    if rows == STEPS:
        _add(table, "step", [opened.run.frame(at).label for at in range(len(values))])
        _add(table, "time", opened.times)
        groups = list(values)
    elif rows == RANKS:
        hosts = [(entry or {}).get("host", "") for entry in opened.run.rank_entries]
        _add(table, "rank", range(values.shape[1]))
        _add_words(table, "host", hosts)
        groups = list(values.T)
    else:
        groups = _of_nodes(table, opened, values[number])
    found = np.array([_of(group) for group in groups]).reshape(len(groups), len(STATISTICS) + 1)
    for column, name in enumerate((*STATISTICS, "p95")):
        _add(table, f"{field}_{name}", found[:, column])
    return table


def _of_nodes(table: vtkTable, opened: OpenRun, values: np.ndarray) -> list[np.ndarray]:
    """The values of each node's ranks; the nodes' names become a column."""
    placement = opened.placement
    _add_words(table, "node", [node.label for node in placement.nodes])
    _add(
        table, "ranks", np.bincount(placement.node_id[placement.node_id >= 0], minlength=len(placement.nodes))
    )
    return [values[placement.node_id == node] for node in range(len(placement.nodes))]


def _of(values: np.ndarray) -> list[float]:
    """STATISTICS and the 95th percentile of values, NaN where absent."""
    known = values[np.isfinite(values)]
    if not len(known):
        return [np.nan] * (len(STATISTICS) + 1)
    return [*statistics(known, np.zeros(1, np.int64))[0].tolist(), float(np.percentile(known, 95))]


def _add(table: vtkTable, name: str, values: object) -> None:
    array = numpy_to_vtk(np.ascontiguousarray(list(values)), deep=True)
    array.SetName(name)
    table.AddColumn(array)


def _add_words(table: vtkTable, name: str, words: list[str]) -> None:
    array = vtkStringArray()
    array.SetName(name)
    for word in words:
        array.InsertNextValue(word)
    table.AddColumn(array)
