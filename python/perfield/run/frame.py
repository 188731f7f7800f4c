# SPDX-License-Identifier: BSD-3-Clause
"""One frame: what all ranks measured in their steps of one index."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from perfield.run.counter_values import Counters, add_counters
from perfield.run.device_values import add_devices
from perfield.run.fields import CALL_NAMES, FETCHING_CALLS, SENDING_CALLS, TIME_CLASSES, region_fields
from perfield.run.inside_values import add_inside
from perfield.run.io_values import add_io, file_times
from perfield.run.regions import RegionTable
from perfield.run.sources import Sources

MESSAGES = np.dtype(
    [("source", "i4"), ("target", "i4"), ("call", "U22")]
    + [(name, "u8") for name in ("count", "bytes", "empty", "largest")]
)
WAITS = np.dtype([("rank", "i4"), ("peer", "i4"), ("count", "u8"), ("time_s", "f8")])

_NAME_OF_CALL = np.array([CALL_NAMES.get(number, f"call_{number}") for number in range(128)], dtype="U22")
_SENDS = np.array([number in SENDING_CALLS for number in range(128)])
_FETCHES = np.array([number in FETCHING_CALLS for number in range(128)])
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
    "io_read_bytes": ("io_read_bytes", 1),
    "io_write_bytes": ("io_write_bytes", 1),
    "pu_id": ("pu", 1),
}
_TABLES = {  # of a step entry -> where an entry's rows begin
    "regions": "region_start",
    "messages": "message_start",
    "waits": "wait_start",
    "calls": "call_start",
    "inside": "inside_start",
}
NO_PROCESS = 8  # flag of an entry: figures of the process and of perfield are not known
_OF_PROCESS = tuple(n for n in _COPIED if n not in ("step_time_s", "io_read_bytes", "io_write_bytes"))
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
    inside: Collection[int] = (),
    counters: Counters | None = None,
) -> Frame:
    """Puts a frame together from step entries.

    place : kind, index and partial of the Frame. parts : (rank of each entry, tables as _bridge.read_steps
    gives them); where a rank has several entries, they are added up. calls : names of the sending calls
    that the run's frames have fields of. sources : of the ranks, in their order. inside :
    numbers of `what` in the tables `inside` of the run.
    counters : of the run, if it has any.
    """
    ranks, steps, tables = _joined(parts)
    present = np.zeros(n_ranks, dtype=bool)
    present[ranks] = True

    values = {"rank": np.arange(n_ranks, dtype=np.float64)}
    for name, (column, factor) in _COPIED.items():
        numbers = steps[column] * float(factor)
        values[name] = np.full(n_ranks, np.nan)
        values[name][ranks] = numbers if name in _STATES else _summed(n_ranks, ranks, numbers)[ranks]
    values["pu_id"][values["pu_id"] < 0] = np.nan
    for name in _OF_PROCESS:
        values[name][ranks[steps["flags"] & NO_PROCESS != 0]] = np.nan
    block_values = _region_values(values, n_ranks, regions, *tables["regions"])
    has_mpi = present & sources["pmpi"]
    of_mpi = tables["calls"][1]["time_class"] < len(TIME_CLASSES)
    has_mpi[tables["calls"][0][of_mpi]] = has_mpi[tables["messages"][0]] = True
    add_io(values, has_mpi | (present & sources["io"]), *tables["calls"])
    add_devices(values, present, sources, *tables["calls"])
    _mpi_times(values, has_mpi, *tables["calls"])
    has_files = (present & sources["io"]) | (file_times(n_ranks, *tables["calls"]) > 0)
    add_inside(values, block_values, regions, inside, has_mpi, has_files, *tables["inside"])
    if counters is not None:
        add_counters(values, block_values, regions, counters, *tables["inside"])
    messages, received = _message_values(values, has_mpi, calls, *tables["messages"])

    rank, rows = tables["waits"]
    waits = np.zeros(len(rows), dtype=WAITS)
    waits["rank"], waits["peer"], waits["count"], waits["time_s"] = (
        rank,
        rows["peer"],
        rows["count"],
        rows["ns"] / 1e9,
    )
    values["waited_for_time_s"] = np.where(has_mpi, waited_for_ns(n_ranks, rank, rows) * 1e-9, np.nan)
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


def waited_for_ns(n_ranks: int, ranks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Nanoseconds that others waited for each rank, whole numbers as float64, so that parts add up exactly.

    ranks, rows : the rank of each row of the table of waits, and these rows.
    """
    known = (rows["peer"] >= 0) & (rows["peer"] < n_ranks) & (rows["peer"] != ranks)
    return _summed(n_ranks, rows["peer"][known], rows["ns"][known])


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


def _summed(n: int, keys: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    return np.bincount(keys, weights=numbers.astype(np.float64), minlength=n)


def _region_values(values, n_ranks, regions, ranks, rows):
    """Adds the fields of all regions; returns those by block."""
    numbers = regions.numbers(ranks, rows["id"].astype(np.int64))
    ranks, rows, numbers = ranks[numbers >= 0], rows[numbers >= 0], numbers[numbers >= 0]
    columns = (rows["inclusive_max_ns"] * 1e-9, rows["count"].astype(np.float64), rows["self_max_ns"] * 1e-9)

    shape = (len(regions.stems), n_ranks)
    keys = regions.stem_numbers(numbers) * n_ranks + ranks
    seen = np.bincount(keys, minlength=shape[0] * shape[1]) > 0
    for kind, column in enumerate(columns):
        matrix = np.where(seen, _summed(len(seen), keys, column), np.nan).reshape(shape)
        for stem, row in zip(regions.stems, matrix):
            values[region_fields(stem)[kind]] = row

    block_values: dict[str, dict[tuple[int, int], float]] = {}
    blocks = regions.blocks(numbers)
    for at in np.flatnonzero(blocks >= 0):
        names = region_fields(regions.regions[numbers[at]].field)
        for name, column in zip(names, columns):
            of_block, key = block_values.setdefault(name, {}), (int(ranks[at]), int(blocks[at]))
            of_block[key] = of_block.get(key, 0.0) + float(column[at])
    return block_values


def _mpi_times(values, has_mpi, ranks, rows):
    """Adds MPI time by class, its sum, and what is left of the step without it and without files."""
    total = np.zeros(len(has_mpi))
    for number, name in enumerate(TIME_CLASSES):
        here = rows["time_class"] == number
        times = _summed(len(has_mpi), ranks[here], rows["ns"][here]) * 1e-9
        values[f"mpi_{name}_time_s"] = np.where(has_mpi, times, np.nan)
        total += times
    values["mpi_time_s"] = np.where(has_mpi, total, np.nan)
    is_known = has_mpi | (len(has_mpi) == 1)  # a rank alone may well do without MPI
    computed = np.maximum(values["step_time_s"] - total - file_times(len(has_mpi), ranks, rows), 0)
    values["compute_time_s"] = np.where(is_known, computed, np.nan)


def _message_values(values, has_mpi, calls, ranks, rows):
    """Adds counts and bytes of messages; returns the lists of those sent and those received."""
    n_ranks = len(has_mpi)
    call = np.minimum(rows["call"], 127)
    sends = _SENDS[call]

    def add(name, here):
        for what in ("count", "bytes"):
            sums = _summed(n_ranks, ranks[here], rows[what][here])
            values[f"{name}_{what}"] = np.where(has_mpi, sums, np.nan)

    add("sent", sends)
    add("received", ~sends)
    names = _NAME_OF_CALL[call]
    for name in calls:
        add(name, sends & (names == name))
    known = rows["peer"] >= 0
    pairs = np.unique(ranks[known] << 32 | rows["peer"][known].astype(np.int64))
    peers = np.bincount(pairs >> 32, minlength=n_ranks).astype(np.float64)
    values["peer_count"] = np.where(has_mpi, peers, np.nan)

    table = np.zeros(len(rows), dtype=MESSAGES)
    outward = sends & ~_FETCHES[call]
    table["source"] = np.where(outward, ranks, rows["peer"])
    table["target"] = np.where(outward, rows["peer"], ranks)
    table["call"] = names
    for name in ("count", "bytes", "empty", "largest"):
        table[name] = rows[name]
    return table[sends], table[~sends]
