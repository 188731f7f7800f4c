# SPDX-License-Identifier: BSD-3-Clause
"""One frame: what all ranks measured in their steps of one index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from perfield.run.counter_values import add_counters
from perfield.run.inside_values import add_inside
from perfield.run.io_values import add_io
from perfield.run.mpi_values import add_messages, add_times
from perfield.run.quantities import Quantities, add_of_ranks
from perfield.run.region_values import add_regions
from perfield.run.regions import RegionTable
from perfield.run.sources import Sources
from perfield.run.sums import by_rank
from perfield.run.wait_values import add_waits

_COPIED = {  # field -> (column of the step entry, factor)
    "step_time_s": ("measured_ns", 1e-9),
    "perfield_time_s": ("perfield_ns", 1e-9),
    "resident_bytes": ("resident_bytes", 1),
    "cpu_user_time_s": ("cpu_user_ns", 1e-9),
    "cpu_system_time_s": ("cpu_system_ns", 1e-9),
    "voluntary_switches": ("voluntary_switches", 1),
    "involuntary_switches": ("involuntary_switches", 1),
    "minor_faults": ("minor_faults", 1),
    "major_faults": ("major_faults", 1),
    "pu_id": ("pu", 1),
}
_TABLES = {  # of a step entry -> where an entry's rows begin
    "regions": "region_start",
    "messages": "message_start",
    "waits": "wait_start",
    "calls": "call_start",
    "quantities": "quantity_start",
}
NO_PROCESS = 8  # flag of an entry: figures of the process and of perfield are not known
_OF_PROCESS = tuple(n for n in _COPIED if n != "step_time_s")
_STATES = ("resident_bytes", "pu_id")  # of the moment; all others add up


@dataclass(frozen=True)
class Frame:
    """All ranks' step entries of one index.

    kind : "step"; "setup" or "teardown" (before the first step, after the last); "whole": all that was
    measured in a run that ended without closing a step. index : number of the step's closing, from 0. label,
    time : the program's own number and time (lowest rank's, median; NaN if none). span : steps that it adds
    up. partial : some rank may still deliver its entry. present : (n_ranks,) bool. mesh_version : (n_ranks,)
    int, 0 for none. values : field name -> (n_ranks,) float64, NaN where absent; `perfield.run.fields` says
    what each means. block_values : field name -> {(rank, block): value}, of regions whose time was given to
    a block.
    messages, received : structured arrays `source target call count bytes empty largest`, as the sending
    (for get: the fetching) and as the receiving ranks counted; ranks of the world, or -1 other peers, -2
    outside this world, -3 unknown. waits : `rank peer count time_s`.
    """

    kind: str
    index: int
    label: int
    time: float
    span: int
    partial: bool
    present: np.ndarray
    mesh_version: np.ndarray
    values: dict[str, np.ndarray]
    block_values: dict[str, dict[tuple[int, int], float]]
    messages: np.ndarray
    received: np.ndarray
    waits: np.ndarray


def build_frame(
    place: dict[str, object],
    parts: Iterable[tuple[np.ndarray, dict[str, np.ndarray]]],
    n_ranks: int,
    regions: RegionTable,
    calls: list[str],
    sources: Sources,
    quantities: Quantities,
) -> Frame:
    """Puts a frame together from step entries.

    place : kind, index and partial of the Frame. parts : (rank of each entry, tables as _bridge.read_steps
    gives them); where a rank has several entries, they are added up. calls : names of the sending calls
    that the run's frames have fields of. sources : of the ranks, in their order. quantities : of the run.
    """
    ranks, steps, tables = _joined(parts)
    present = np.zeros(n_ranks, dtype=bool)
    present[ranks] = True

    values = {"rank": np.arange(n_ranks, dtype=np.float64)}
    for name, (column, factor) in _COPIED.items():
        numbers = steps[column] * float(factor)
        values[name] = np.full(n_ranks, np.nan)
        values[name][ranks] = numbers if name in _STATES else by_rank(n_ranks, ranks, numbers)[ranks]
    values["pu_id"][values["pu_id"] < 0] = np.nan
    for name in _OF_PROCESS:
        values[name][ranks[steps["flags"] & NO_PROCESS != 0]] = np.nan
    block_values = add_regions(values, n_ranks, regions, *tables["regions"])
    has_mpi = present & sources["pmpi"]
    has_mpi[tables["calls"][0]] = has_mpi[tables["messages"][0]] = True
    of_rows = tables["quantities"]
    places = quantities.places(of_rows[0], of_rows[1]["quantity"].astype(np.int64))
    of_files = add_of_ranks(values, present, quantities, *of_rows, places)
    add_io(values, has_mpi | (present & sources["io"]), of_files, *tables["calls"])
    file_time = of_files["file_time"] * 1e-9
    add_times(values, has_mpi, file_time, *tables["calls"])
    has_files = (present & sources["io"]) | (file_time > 0)
    kinds = np.array([quantity.kind for quantity in quantities.all] + [-1])[places]
    add_inside(values, block_values, regions, quantities.kinds_inside, has_mpi, has_files, *of_rows, kinds)
    add_counters(values, block_values, regions, quantities.counters, *of_rows, places)
    messages, received = add_messages(values, has_mpi, calls, *tables["messages"])
    waits = add_waits(values, has_mpi, *tables["waits"])

    mesh_version = np.zeros(n_ranks, dtype=np.int64)
    mesh_version[ranks] = steps["mesh_version"]
    times = steps["time"][np.isfinite(steps["time"])]
    return Frame(
        **place,
        label=int(steps["label"][np.argmin(ranks)]) if len(ranks) else 0,
        time=float(np.median(times)) if len(times) else float("nan"),
        span=int(steps["span"].max()) if len(ranks) else 1,
        present=present,
        mesh_version=mesh_version,
        values=values,
        block_values=block_values,
        messages=messages,
        received=received,
        waits=waits,
    )


def _joined(parts):
    """Ranks and fixed parts of the whole entries, and for each table the (rank of each row, rows)."""
    all_ranks, all_steps = [np.zeros(0, dtype=np.int64)], []
    tables = {name: ([], []) for name in _TABLES}
    for ranks, read in parts:
        whole = read["whole"]
        all_ranks.append(ranks[whole].astype(np.int64))
        all_steps.append(read["steps"][whole])
        for name, (rank_of_row, rows) in tables.items():
            rank_of_row.append(np.repeat(ranks, np.diff(read[_TABLES[name]])).astype(np.int64))
            rows.append(read[name])
    if not all_steps:
        from perfield import _bridge

        return _joined([(all_ranks[0], _bridge.read_steps("", []))])
    joined = {}
    for name, (rank_of_row, rows) in tables.items():
        ranks = np.concatenate(rank_of_row)
        order = np.argsort(ranks, kind="stable")  # by rank, whatever the order of the files
        joined[name] = (ranks[order], np.concatenate(rows)[order])
    return np.concatenate(all_ranks), np.concatenate(all_steps), joined
