# SPDX-License-Identifier: BSD-3-Clause
"""The threads of ranks in the machine picture: as a row below each rank, and as marks below their PUs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkPolyData

from perfield.topology import LEVELS, Cells, parse_cpuset

from .topology_polydata import CELL_HEIGHT, attach, attach_texts, thread_shapes

if TYPE_CHECKING:
    from perfield.run import Frame

SHARE = 0.5  # of the height of a rank's measurement
IN_FRONT = 0.02  # of that measurement, so that none of the two shines through
MARKS = 0.24  # of a rank's cell: its upper edge, in which marks of threads lie
MOST_ROWS = 4  # of such marks; the threads beyond share the last
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


def places_of_threads(cells: Cells, pus_of: Mapping[int, Sequence[str]]) -> vtkPolyData | None:
    """Marks along the upper edge of ranks, below the PUs of their threads: one for a thread's adjacent PUs.

    pus_of : rank -> the PUs of each thread, as text. Threads that have a PU in common lie in rows of their
    own. A rank whose threads all have the same PUs has no marks; None if no rank has any.
    Cells: rank, thread (its place in `pus_of`), node_id, pus (text).
    """
    is_pu = cells.level == LEVELS.index("pu")
    x_of = dict(zip(zip(cells.node[is_pu].tolist(), cells.number[is_pu].tolist()), cells.x[is_pu].tolist()))
    ends, marked, threads, rows, texts = [], [], [], [], []
    n_rows = np.ones(len(cells.rank), np.int64)
    for at, rank in enumerate(cells.rank.tolist()):
        sets = [parse_cpuset(text) for text in pus_of.get(rank, ())]
        if len(set(sets)) < 2:
            continue
        node = int(cells.node[cells.ranks][at])
        taken: list[set[int]] = []
        for thread, pus in enumerate(sets):
            row = next((n for n, others in enumerate(taken) if not others & set(pus)), len(taken))
            row = min(row, MOST_ROWS - 1)
            taken += [set()] * (row == len(taken))
            taken[row] = taken[row] | set(pus)
            left = np.sort([x_of[node, pu] for pu in pus if (node, pu) in x_of])
            for run in np.split(left, np.flatnonzero(np.diff(left) > 1.5 * cells.unit) + 1):
                if len(run):
                    ends.append((run[0], run[-1]))
                    marked.append(at), threads.append(thread), rows.append(row)
                    texts.append(pus_of[rank][thread])
        n_rows[at] = len(taken)
    if not ends:
        return None
    first, last = np.array(ends).T
    at, which = np.array(marked), cells.ranks
    band = MARKS * CELL_HEIGHT * cells.height[which][at]
    height = band / n_rows[at]
    top = cells.y[which][at] + CELL_HEIGHT / 2 * cells.height[which][at]
    y, z = top - (np.array(rows) + 0.5) * height, cells.z[which][at] + IN_FRONT
    node = cells.node[which][at]
    made = thread_shapes((first + last) / 2, y, z, last - first + cells.unit, height, node)
    attach(made, {"rank": cells.rank[at], "thread": np.array(threads, np.int32), "node_id": node})
    attach_texts(made, "pus", texts)
    return made
