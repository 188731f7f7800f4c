# SPDX-License-Identifier: BSD-3-Clause
"""Where the time of each rank goes, as stacks: regions inside regions, and inside them MPI, files and
functions. Flame graphs show them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.derived.samples import IN_NO_REGION, NOT_KNOWN, sampled, sampled_calls
from perfield.derived.sums_of_paths import SumsOfPaths
from perfield.run.paths import OTHER_PATHS
from perfield.run.snapshot import Snapshot
from perfield.symbols.functions import MPI as OF_MPI
from perfield.symbols.functions import PERFIELD

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory

REGION, MPI, FILES, FUNCTION, NO_REGION = "region", "MPI", "files", "function", "no region"
_TIMES = ("step_time_s", "mpi_time_s", "file_time_s")


@dataclass(frozen=True)
class Frame:
    """A part of a stack. kind : what it is, one of the words above."""

    name: str
    kind: str


Stack = tuple[Frame, ...]


class Stacks:
    """Seconds that ranks spent in each stack, over some frames; all stacks together are the ranks' steps.

    all : each stack, the outermost part first. time_s : (n_stacks, n_ranks). Where threads are in regions at
    once, their times add up, and may be more than the steps.
    """

    def __init__(self, all: list[Stack], time_s: np.ndarray):
        self.all, self.time_s = all, time_s


def stacks_of(run: RunDirectory, positions: np.ndarray) -> Stacks:
    """The stacks of a run's frames.

    Regions are in the order in which they were entered. What a region spends outside of inner ones is divided
    into MPI, files, and the rest. Where the run took samples, they divide the rest among functions.
    """
    sums = SumsOfPaths(run, positions)
    of_ranks = np.zeros((3, run.n_ranks))
    names = [name for name in _TIMES if name in run.columns.names]
    for _, values in Snapshot(run).in_chunks(positions, names):
        of_ranks[[_TIMES.index(name) for name in names]] += np.nansum(values, axis=0)
    words = {region.field: region.name for region in run.known_regions}
    found: dict[Stack, np.ndarray] = {}
    functions = _functions(run, positions)
    own_mpi, own_files = _own(sums, sums.mpi_time_s), _own(sums, sums.file_time_s)
    for number in np.flatnonzero(sums.entered.any(axis=1)).tolist():
        path = sums.all[number]
        around = (Frame(OTHER_PATHS, REGION),) if path.is_other else ()
        stack = (*around, *(Frame(words.get(stem, stem), REGION) for stem in path.regions))
        parts = sums.self_time_s[number], own_mpi[number], own_files[number]
        _divide(found, stack, *parts, functions.get(number, {}))
    inside = [number for number, path in enumerate(sums.all) if len(path.regions) == 1]
    outer = [of[inside].sum(axis=0) for of in (sums.time_s, sums.mpi_time_s, sums.file_time_s)]
    rest = np.maximum(of_ranks - np.array(outer), 0.0)
    stack = (Frame(NO_REGION, NO_REGION),) if sums.entered.any() else ()
    _divide(found, stack, *rest, functions.get(_NO_PATH, {}))
    kept = {stack: time_s for stack, time_s in found.items() if time_s.any()}
    return Stacks([*kept], np.array([*kept.values()]).reshape(-1, run.n_ranks))


def _own(sums: SumsOfPaths, inclusive: np.ndarray) -> np.ndarray:
    """(n_paths, n_ranks) what paths have without the paths inside them."""
    numbers = {path.regions: number for number, path in enumerate(sums.all) if not path.is_other}
    own = inclusive.copy()
    for number, path in enumerate(sums.all):
        around = numbers.get(path.regions[:-1])
        if around is not None and not path.is_other:
            own[around] -= inclusive[number]
    return np.maximum(own, 0.0)


def _divide(
    found: dict[Stack, np.ndarray],
    stack: Stack,
    whole: np.ndarray,
    mpi: np.ndarray,
    files: np.ndarray,
    functions: dict[Stack, np.ndarray],
) -> None:
    """Adds the stacks of a region's own time. functions : sampled seconds of each rank, by stack."""
    mpi = np.minimum(mpi, whole)
    files = np.minimum(files, whole - mpi)
    rest = whole - mpi - files
    _add(found, (*stack, Frame("MPI", MPI)), mpi)
    _add(found, (*stack, Frame("files", FILES)), files)
    sampled = sum(functions.values(), np.zeros_like(rest))
    for below, time_s in functions.items():
        shares = np.divide(time_s, sampled, np.zeros_like(rest), where=sampled > 0)
        _add(found, (*stack, *below), shares * rest)
    if stack:
        _add(found, stack, np.where(sampled > 0, 0.0, rest))
    else:
        _add(found, (Frame("compute", FUNCTION),), np.where(sampled > 0, 0.0, rest))


def _add(found: dict[Stack, np.ndarray], stack: Stack, time_s: np.ndarray) -> None:
    found[stack] = found[stack] + time_s if stack in found else time_s


def _functions(run: RunDirectory, positions: np.ndarray) -> dict[int, dict[Stack, np.ndarray]]:
    """Sampled seconds of each rank in functions that are not MPI's, by path (or _NO_PATH) and by stack: in
    runs without regions the calls that lead there, as far as they are known, else the function alone."""
    if not run.has_samples:
        return {}
    samples = sampled(run)
    if not (samples.table["path"] >= 0).any():
        return {_NO_PATH: _chains(run, positions)}
    found: dict[int, dict[Stack, np.ndarray]] = {}
    rows = samples.table[np.isin(samples.table["frame"], positions) & (samples.table["path"] != NOT_KNOWN)]
    for row in rows:
        name = samples.functions[row["function"]].name
        if name in (OF_MPI, PERFIELD):
            continue
        path = _NO_PATH if row["path"] == IN_NO_REGION else int(row["path"])
        of_path = found.setdefault(path, {})
        stack = (Frame(name, FUNCTION),)
        if stack not in of_path:
            of_path[stack] = np.zeros(run.n_ranks)
        of_path[stack][row["rank"]] += row["time_s"]
    return found


def _chains(run: RunDirectory, positions: np.ndarray) -> dict[Stack, np.ndarray]:
    found: dict[Stack, np.ndarray] = {}
    for rank, names, time_s in sampled_calls(run, positions):
        stack = tuple(Frame(name, FUNCTION) for name in names)
        if stack not in found:
            found[stack] = np.zeros(run.n_ranks)
        found[stack][rank] += time_s
    return found


_NO_PATH = -1
