# SPDX-License-Identifier: BSD-3-Clause
"""The fields of a region's own work and its waiting: time in calls inside each region, by class."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import numpy as np

from perfield.run.fields import TIME_CLASSES, inside_fields, region_fields
from perfield.run.inside_sums import inside_sums
from perfield.run.regions import RegionTable

_N_MPI = len(TIME_CLASSES)
_FILE = _N_MPI  # the class that follows
_KINDS = range(_N_MPI + 1)


def add_inside(
    values: dict[str, np.ndarray],
    block_values: dict[str, dict[tuple[int, int], float]],
    regions: RegionTable,
    kinds: Collection[int],
    has_mpi: np.ndarray,
    has_files: np.ndarray,
    ranks: np.ndarray,
    rows: np.ndarray,
    told: np.ndarray,
) -> None:
    """Adds the fields of time in calls inside regions, to those of the ranks and to those of their blocks.

    kinds : those of the whole run, so that all its frames have the same fields. has_mpi, has_files :
    (n_ranks,) bool, where MPI, and files, were measured. ranks, rows, told : the rank of each row of the
    step entries' table `quantities`, these rows, and the kind of time that each tells (-1: none).
    """
    kinds = [kind for kind in _KINDS if kind in kinds]
    if not kinds:
        return
    factors = np.full(len(_KINDS), 1e-9)
    sums, of_blocks = inside_sums(block_values, regions, len(has_mpi), ranks, rows, told, factors)
    for number, stem in enumerate(regions.stems):
        time = values[region_fields(stem)[0]]
        for name, is_known, column in _columns(stem, kinds, time, sums[:, number], has_mpi, has_files):
            values[name] = np.where(np.isfinite(time) & is_known, column, np.nan)
    for stem, (rank, block), seconds in of_blocks:
        time = block_values[region_fields(stem)[0]][rank, block]
        for name, is_known, value in _columns(stem, kinds, time, seconds, has_mpi, has_files):
            block_values.setdefault(name, {})[rank, block] = float(value if is_known[rank] else np.nan)


def _columns(stem, kinds, time, seconds, has_mpi, has_files):
    """(name, where it is known, values) of a region's fields, from its time and its seconds in calls of each
    class."""
    total, of_class, of_files, computing = _names(stem)
    mpi = sum(seconds[kind] for kind in range(_N_MPI))
    if min(kinds) < _N_MPI:
        yield total, has_mpi, mpi
    for kind in kinds:
        if kind < _N_MPI:
            yield of_class[kind], has_mpi, seconds[kind]
        else:
            yield of_files, has_files, seconds[kind]
    is_alone = len(has_mpi) == 1  # a rank alone may well do without MPI
    yield computing, has_mpi | is_alone, np.maximum(time - mpi - seconds[_FILE], 0)


@cache
def _names(stem: str) -> tuple[str, tuple[str, ...], str, str]:
    total, *of_class, of_files, computing = inside_fields(stem)
    return total, tuple(of_class), of_files, computing
