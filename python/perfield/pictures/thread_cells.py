# SPDX-License-Identifier: BSD-3-Clause
"""The threads of ranks as a row below each rank, in the machine picture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkPolyData

from perfield.topology import Cells

from .topology_polydata import attach, thread_shapes

if TYPE_CHECKING:
    from perfield.run import Frame

SHARE = 0.5  # of the height of a rank's measurement
IN_FRONT = 0.02  # of that measurement, so that none of the two shines through
_FIELD = re.compile(r"thread_(\d+)_(parallel|barrier|cpu)_time_s")


def threads_of(cells: Cells, frame: Frame) -> vtkPolyData | None:
    """A cell per thread whose times are known, ordered by rank, then thread; None if the run has none.

    Cells: rank, thread, node_id, and times in s, NaN where unknown: thread_parallel_time_s (computing in
    parallel regions of OpenMP), thread_barrier_time_s, thread_other_time_s (the rest of the step: idle, and
    of the first thread what it computes outside of regions), thread_cpu_time_s.
    """
    columns: dict[str, dict[int, np.ndarray]] = {}
    for name, values in frame.values.items():
        if found := _FIELD.fullmatch(name):
            columns.setdefault(found[2], {})[int(found[1])] = values
    if not columns:
        return None
    numbers = sorted({number for of_kind in columns.values() for number in of_kind})
    nothing = np.full(cells.n_ranks, np.nan)
    times = {
        kind: np.stack([columns.get(kind, {}).get(n, nothing)[cells.rank] for n in numbers], axis=1)
        for kind in ("parallel", "barrier", "cpu")
    }
    known = np.isfinite(list(times.values())).any(axis=0)
    at, turn = np.nonzero(known)
    size = known.sum(axis=1)
    place = (known.cumsum(axis=1) - 1)[at, turn]
    which = cells.measurements
    width = cells.width[which][at] / size[at]
    left = (cells.x[which] - cells.width[which] / 2)[at]
    height = cells.height[which][at] * SHARE
    bottom = cells.y[which][at] - cells.height[which][at] / 2
    x, y, z = left + (place + 0.5) * width, bottom + height / 2, cells.z[which][at] + IN_FRONT
    node = cells.node[which][at]
    arrays = {"rank": cells.rank[at], "thread": np.array(numbers, np.int32)[turn], "node_id": node}
    step_s = frame.values.get("step_time_s", nothing)[cells.rank][at]
    shown = {kind: values[at, turn] for kind, values in times.items()}
    shown["other"] = np.maximum(step_s - shown["parallel"] - shown["barrier"], 0.0)
    arrays |= {f"thread_{kind}_time_s": values for kind, values in shown.items()}
    return attach(thread_shapes(x, y, z, width, height, node), arrays)
