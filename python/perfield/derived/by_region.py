# SPDX-License-Identifier: BSD-3-Clause
"""Divides times of ranks and steps among regions, by how long the rank was in each and waited for nobody.
Delays and the critical path are divided so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits.costs import NO_REGION, Sampled
from perfield.derived.samples import functions_that_matter, sampled
from perfield.run.snapshot import NUMBERS_PER_CHUNK
from perfield.symbols.functions import MPI

if TYPE_CHECKING:
    import pandas as pd

    from perfield.run.run_directory import RunDirectory

OWN, WHOLE = "<region>_self_time_s", "<region>_time_s"
MAY_WAIT = tuple(f"<region>_mpi_{name}_time_s" for name in ("p2p", "wait", "collective", "onesided"))


def names_of_regions(run: RunDirectory) -> list[str]:
    """The regions in the program's own words, where these distinguish them, and NO_REGION."""
    names = {region.field: region.name for region in run.known_regions}
    own = [names.get(stem, stem) for stem in run.columns.stems]
    return [
        *(stem if own.count(name) > 1 else name for stem, name in zip(run.columns.stems, own)),
        NO_REGION,
    ]


def without_waiting(run: RunDirectory, positions: np.ndarray) -> np.ndarray:
    """(n_positions, n_regions + 1, n_ranks) s that ranks were in each region, without the regions inside it
    and without MPI calls that may wait; the last one is the time in no region. 0 where nothing is known.

    Time in files and in other MPI calls counts, as whoever waits for the rank waits for that, too. Where
    regions nest, it is not known in which of them MPI was called: a region's time is the shorter one of its
    own time and of all its time without these calls.
    """
    may_wait = [kind for kind in MAY_WAIT if kind in run.columns.kinds]
    kinds = (OWN, WHOLE, *may_wait)
    of_kinds = (name for kind in kinds for name in run.columns.of_regions(kind))
    values = np.nan_to_num(run.values(["step_time_s", "waiting_time_s", *of_kinds], positions))
    shape = len(positions), len(kinds), len(run.columns.stems), run.n_ranks
    own, whole, *waits = np.moveaxis(values[:, 2:].reshape(shape), 1, 0)
    found = np.zeros((len(positions), len(run.columns.stems) + 1, run.n_ranks))
    found[:, :-1] = np.clip(whole - sum(waits), 0.0, own)
    rest = values[:, 0] - values[:, 1] - found[:, :-1].sum(axis=1)
    found[:, -1] = np.where(rest > 1e-9, rest, 0.0)  # less is rounding
    return found


def in_functions(run: RunDirectory, positions: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The sampled functions that matter, without MPI's; (n_functions, n_ranks) s that ranks were in each in
    the frames at some positions, and the variance of these times, s^2. A step alone has too few samples.
    Empty for runs without samples."""
    if not run.has_samples:
        return [], np.zeros((0, run.n_ranks)), np.zeros((0, run.n_ranks))
    found = sampled(run)
    chosen = functions_that_matter(found, run.n_ranks)
    chosen = chosen[_is_the_programs(run)[chosen]]
    times, variances = _sampled_times(run, positions)
    return [found.functions[number].name for number in chosen.tolist()], times[chosen], variances[chosen]


def _is_the_programs(run: RunDirectory) -> np.ndarray:
    """(n_functions,) whether each sampled function is none of MPI."""
    return np.array([one.name != MPI for one in sampled(run).functions], dtype=bool)


def _sampled_times(run: RunDirectory, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n_functions, n_ranks) s in each sampled function in the frames at some positions; and variances."""
    rows = sampled(run).table[np.isin(sampled(run).table["frame"], positions)]
    times, variances = np.zeros((2, len(sampled(run).functions), run.n_ranks))
    where = rows["function"], rows["rank"]
    np.add.at(times, where, rows["time_s"])
    np.add.at(variances, where, rows["time_s"] ** 2 / rows["count"])  # n samples are sure within sqrt(n)
    return times, variances


def computing(run: RunDirectory, positions: np.ndarray) -> tuple[list[str], Sampled]:
    """The sampled functions that matter, and how long ranks computed in the frames at some positions."""
    names, cpu_s, variances = in_functions(run, positions)
    times, of_times = (values[_is_the_programs(run)] for values in _sampled_times(run, positions))
    wall_s, files_s, delayed_s = np.zeros((3, run.n_ranks))
    names_of = ["step_time_s", "waiting_time_s", "io_time_s", "delayed_compute_time_s"]
    for here in in_pieces(run, len(positions)):
        read = run.values(names_of, positions[here])
        is_known = np.isfinite(read[:, 0])
        delayed_s += np.where(is_known, read[:, 3], 0.0).sum(axis=0)
        values = np.nan_to_num(read).sum(axis=0)
        wall_s += values[0] - values[1] - values[2]
        files_s += values[2]
    return names, Sampled(
        cpu_ns=cpu_s * 1e9,
        variances=variances * 1e18,
        all_cpu_ns=times.sum(axis=0) * 1e9,
        all_variances=of_times.sum(axis=0) * 1e18,
        wall_ns=np.maximum(wall_s, 0.0) * 1e9,
        files_ns=files_s * 1e9,
        delayed_ns=delayed_s * 1e9,
    )


def in_pieces(run: RunDirectory, n_positions: int) -> Iterator[slice]:
    """Slices of so many positions that `without_waiting` of each stays small."""
    numbers = (2 + len(MAY_WAIT)) * (len(run.columns.stems) + 2) * max(1, run.n_ranks)
    size = max(1, NUMBERS_PER_CHUNK // numbers)
    for begin in range(0, n_positions, size):
        yield slice(begin, min(begin + size, n_positions))


def table_by_region(
    run: RunDirectory, rest: str, rows: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> pd.DataFrame:
    """A table step, rank, region, time_s, without rows of no time. Regions have the names of their fields.

    rows : each (n,) steps and ranks, and (n, n_regions + 2) s: in the regions, in none, and the rest.
    rest : what that is called.
    """
    import pandas as pd

    names = np.array([*run.columns.stems, NO_REGION, rest], dtype=object)
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int32), names[:0], np.zeros(0))]
    for step, rank, time_s in rows:
        row, part = np.nonzero(time_s > 0)
        found.append((step[row], rank[row].astype(np.int32), names[part], time_s[row, part]))
    columns = (np.concatenate(column) for column in zip(*found))
    return pd.DataFrame(dict(zip(("step", "rank", "region", "time_s"), columns)))
