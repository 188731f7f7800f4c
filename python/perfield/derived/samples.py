# SPDX-License-Identifier: BSD-3-Clause
"""Where the threads of a run's ranks were, many times a second: CPU time by function, rank and frame.

docs/stream.md has the entries, docs/functions.md says what the numbers hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfield import _bridge
from perfield.derived.by_steps import table_of
from perfield.rows import added_up
from perfield.run.paths import NO_PATH
from perfield.symbols.functions import KERNEL_CLOCK, MPI, PERFIELD, functions_at, is_changed
from perfield.symbols.names import is_interpreter, made_function

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from perfield.run.paths import Paths
    from perfield.run.run_directory import RunDirectory, Steps

OUTSIDE = -1  # position of samples outside of all frames: setup, teardown, steps that were not measured
IN_NO_REGION, NOT_KNOWN = -1, -2  # in place of a path
WORDS_OF = {IN_NO_REGION: "no region", NOT_KNOWN: "not known"}
# A row for each frame, rank, thread, function and path. function : index in Samples.functions. path : in
# which region it ran, an index in RunDirectory.known_paths.all, or IN_NO_REGION or NOT_KNOWN.
TABLE = np.dtype(
    [
        *(("frame", "i8"), ("rank", "i4"), ("thread", "u4"), ("function", "i4"), ("path", "i4")),
        *(("count", "u8"), ("time_s", "f8")),
    ]
)
MOST_FUNCTIONS = 20  # that matter; the rest is shown together
BY_IMBALANCE = 5  # of them, chosen since ranks differ most in them
_ENTRIES_AT_ONCE = 4096  # of some hundred samples each
_ON_PATH = -1  # in place of the region of other paths


@dataclass(frozen=True)
class Function:
    """A function that was sampled. module : path of its program or library, or of its source where a compiler
    in the program made it; "" if it has none, or several."""

    name: str
    module: str


@dataclass(frozen=True)
class Samples:
    """CPU time in user mode of a run's ranks, by function.

    table : structured (TABLE), sorted by frame, rank, thread, function and path. `frame` is a position in the
    run, or OUTSIDE. lost : samples that found no room. changed : files that are no longer those that ran, so
    that their functions have no names.
    """

    functions: list[Function]
    table: np.ndarray
    lost: int
    changed: list[str]

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return int(self.table["count"].sum())


class _Code(NamedTuple):
    """Where machine code comes from.

    path : its program or library, or the source of a function that a compiler in the program made; "" if
    unknown. made : the name of such a function.
    """

    path: str
    build_id: str = ""
    made: str = ""


_Files = dict[_Code, int]  # with their numbers; it grows


@dataclass
class _Modules:
    """What a rank has loaded and made, in the order in which it recorded them.

    The last one that covers an address counts.
    """

    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    bias: list[int | None] = field(default_factory=list)  # None: a compiler made it
    file: list[int] = field(default_factory=list)
    interpreters: set[int] = field(default_factory=set)  # files of Python
    of_python: set[int] = field(default_factory=set)  # functions of Python

    def add(self, body: dict, files: _Files) -> None:
        """body : the body of a `modules` entry."""
        for key, add in (("modules", self._add_loaded), ("functions", self._add_made)):
            for one in body.get(key, ()):
                add(one, files)

    def _add_loaded(self, one: dict, files: _Files) -> None:
        code = _Code(one.get("path", ""), one.get("build_id", ""))
        number = self._add(one, int(one["bias"], 16), code, files)
        if is_interpreter(code.path):
            self.interpreters.add(number)

    def _add_made(self, one: dict, files: _Files) -> None:
        name, path = made_function(one["name"])
        number = self._add(one, None, _Code(path, made=name), files)
        if one["name"].startswith("py::"):
            self.of_python.add(number)

    def _add(self, one: dict, bias: int | None, code: _Code, files: _Files) -> int:
        begin, end = int(one["begin"], 16), int(one["end"], 16)
        number = files.setdefault(code, len(files))
        self.begin.append(begin)
        self.end.append(end)
        self.bias.append(bias)
        self.file.append(number)
        return number

    def places(self, addresses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of the code (-1: none) and the address in it, of addresses in the process.

        A function that a compiler made is one place.
        """
        known, which = np.unique(addresses, return_inverse=True)
        number, inside = np.full(len(known), -1, np.int64), known.copy()
        begin, end = (np.searchsorted(known, np.array(all_, np.uint64)) for all_ in (self.begin, self.end))
        for row in np.flatnonzero(end > begin).tolist():
            here = slice(begin[row], end[row])
            number[here] = self.file[row]
            inside[here] = 0 if self.bias[row] is None else known[here] - np.uint64(self.bias[row])
        return number[which], inside[which]

    def places_of(self, samples: np.ndarray, addresses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of samples. In Python's interpreter it is the function of Python that runs, if known."""
        number, inside = self.places(addresses[samples["first"]])
        if not self.of_python:
            return number, inside
        running = np.flatnonzero(np.isin(number, [*self.interpreters]) & (samples["depth"] > 1))
        n_callers = samples["depth"][running].astype(np.int64) - 1
        sample = np.repeat(running, n_callers)
        nth = np.arange(len(sample)) - np.repeat(np.cumsum(n_callers) - n_callers, n_callers)
        # A caller's address is that behind its call.
        caller, _ = self.places(addresses[samples["first"][sample].astype(np.int64) + 1 + nth] - np.uint64(1))
        is_python = np.isin(caller, [*self.of_python])
        of_sample, innermost = np.unique(sample[is_python], return_index=True)
        number[of_sample], inside[of_sample] = caller[is_python][innermost], 0
        return number, inside


def sampled(run: RunDirectory) -> Samples:
    """CPU time of each function, by samples (`sample`); empty in runs that took none.

    Reads all samples once, and the program's files, for the names.
    """
    if "samples" not in run.derived:
        run.derived["samples"] = _read(run)
    return run.derived["samples"]


def _read(run: RunDirectory) -> Samples:
    files: _Files = {}
    intervals = _Intervals(run)
    keys: dict[tuple[int, int], int] = {}
    parts, lost = [np.zeros(0, TABLE)], 0
    for rank, modules, read in _by_rank(run, files):
        samples, addresses = read["samples"], read["addresses"]
        lost += int(read["lost"])
        known = samples[samples["depth"] > 0]
        file, inside = modules.places_of(known, addresses)
        pairs, which = np.unique(np.stack([file, inside.astype(np.int64)]), axis=1, return_inverse=True)
        numbers = [keys.setdefault((int(f), int(a)), len(keys)) for f, a in pairs.T.tolist()]
        rows = np.zeros(len(known), TABLE)
        rows["rank"], rows["thread"], rows["count"] = rank, known["thread"], 1
        rows["function"] = np.array(numbers, np.int32)[which.ravel()]
        rows["frame"] = intervals.of(rank, known["time_ns"])
        rows["path"] = _paths_of(run.known_paths, rank, known)
        rows["time_s"] = known["period_ns"] * 1e-9
        parts.append(_added_up(rows))
    functions, of_key, changed = _named(keys, files)
    table = np.concatenate(parts)
    table["function"] = of_key[table["function"]] if len(of_key) else table["function"]
    return Samples(functions, _added_up(table), lost, changed)


def functions_that_matter(found: Samples, n_ranks: int) -> np.ndarray:
    """The functions (index in found.functions) with most time in all steps, and those in which ranks differ
    most: at most MOST_FUNCTIONS, that with most time first."""
    rows = found.table[found.table["frame"] != OUTSIDE]
    of_ranks = np.zeros((len(found.functions), n_ranks))
    np.add.at(of_ranks, (rows["function"], rows["rank"]), rows["time_s"])
    total, saved = of_ranks.sum(axis=1), of_ranks.max(axis=1, initial=0.0) - of_ranks.mean(axis=1)
    by_time = np.argsort(-total, kind="stable")[: MOST_FUNCTIONS - BY_IMBALANCE]
    rest = np.setdiff1d(np.arange(len(total)), by_time)
    unequal = rest[np.argsort(-saved[rest], kind="stable")[:BY_IMBALANCE]]
    chosen = np.concatenate([by_time, unequal])
    chosen = chosen[total[chosen] > 0]
    return chosen[np.argsort(-total[chosen], kind="stable")]


def sampled_calls(
    run: RunDirectory, positions: Sequence[int]
) -> Iterator[tuple[int, tuple[str, ...], float]]:
    """Rank, the calls that led to a place in the program, the outermost first, and the seconds there.

    What MPI and perfield do is left out, and Python's interpreter where the calls name functions of Python.
    Calls are known as far as functions keep frame pointers.
    """
    files: _Files = {}
    intervals = _Intervals(run)
    keys: dict[tuple[int, int], int] = {}
    chains: dict[tuple[int, tuple[int, ...]], float] = {}
    for rank, modules, read in _by_rank(run, files):
        samples, addresses = read["samples"], read["addresses"]
        known = samples[(samples["depth"] > 0) & np.isin(intervals.of(rank, samples["time_ns"]), positions)]
        # A caller's address is that behind its call.
        callers = np.ones(len(addresses), np.uint64)
        callers[samples["first"][samples["depth"] > 0]] = 0
        file, inside = modules.places(addresses - callers)
        pairs, which = np.unique(np.stack([file, inside.astype(np.int64)]), axis=1, return_inverse=True)
        numbers = np.array([keys.setdefault((int(f), int(a)), len(keys)) for f, a in pairs.T.tolist()], int)
        places = numbers[which.ravel()].tolist()
        there = (file >= 0).tolist()
        shown = (~np.isin(file, [*modules.interpreters] if modules.of_python else [])).tolist()
        for first, depth, period_ns in known[["first", "depth", "period_ns"]].tolist():
            end = first + 1
            while end < first + depth and there[end]:  # behind a function without frame pointers is nothing
                end += 1
            calls = tuple(places[at] for at in range(first, end) if shown[at])
            chain = rank, calls or (places[first],)
            chains[chain] = chains.get(chain, 0.0) + period_ns * 1e-9
    names = _names_of(keys, files)
    for (rank, chain), time_s in chains.items():
        calls = tuple(name for place in reversed(chain) for name in reversed(names[place]))
        if calls[-1] not in (MPI, PERFIELD):
            yield rank, calls, time_s


def samples(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """CPU time of functions: step, rank, thread, function, module, region, count (of samples), time_s.

    thread : number of the rank's thread; 0 is the main one. region : in which region it ran, with those
    around it, as in "solve < pEqn"; "no region", or "not known". A time is a multiple of what a sample stands
    for, and unsure by about time_s / sqrt(count). steps and result : as for `messages`; all steps are one
    chunk. Samples outside of these steps have no row. Raises KeyError if the run has no such step.
    """
    return table_of(run, steps, _rows, lambda: [np.arange(len(run))], run=run.snapshot())


def _rows(positions: np.ndarray, run: RunDirectory) -> pd.DataFrame:
    import pandas as pd

    found = sampled(run) if len(positions) else Samples([], np.zeros(0, TABLE), 0, [])
    table = found.table[np.isin(found.table["frame"], positions)]
    names = np.array([*(one.name for one in found.functions), ""], dtype=object)
    modules = np.array([*(one.module for one in found.functions), ""], dtype=object)
    return pd.DataFrame(
        {
            "step": run.step_indexes[table["frame"]],
            "rank": table["rank"],
            "thread": table["thread"],
            "function": names[table["function"]],
            "module": modules[table["function"]],
            "region": words_of_paths(run)[table["path"]],
            "count": table["count"],
            "time_s": table["time_s"],
        }
    )


def words_of_paths(run: RunDirectory) -> np.ndarray:
    """What paths of samples are called, by their number; the last two are NOT_KNOWN and IN_NO_REGION."""
    names = {region.field: region.name for region in run.known_regions}
    words = [*run.known_paths.words(names), WORDS_OF[NOT_KNOWN], WORDS_OF[IN_NO_REGION]]
    return np.array(words, dtype=object)


def _paths_of(paths: Paths, rank: int, samples: np.ndarray) -> np.ndarray:
    """On which path each sample was taken."""
    ranks = np.full(len(samples), rank)
    found = paths.of(ranks, samples["path"])
    others = samples["region"] >= 0
    found[others] = paths.others(ranks[others], samples["region"][others].astype(np.int64))
    found[found == NO_PATH] = NOT_KNOWN
    found[(samples["region"] == _ON_PATH) & (samples["path"] == 0)] = IN_NO_REGION
    return found


def _added_up(rows: np.ndarray) -> np.ndarray:
    """Rows of a TABLE with the same frame, rank, thread, function and path as one."""
    return added_up(rows, ("frame", "rank", "thread", "function", "path"), ("count", "time_s"))


class _Intervals:
    """When each rank was in which frame."""

    def __init__(self, run: RunDirectory):
        read = run.read(range(len(run)))
        frame, rank, fixed = read["step"], read["rank"], read["fixed"]
        order = np.lexsort([fixed["end_ns"], rank])
        self._frame, self._rank = frame[order], rank[order]
        self._begin, self._end = (
            fixed["begin_ns"][order].astype(np.int64),
            fixed["end_ns"][order].astype(np.int64),
        )
        self._first = np.searchsorted(self._rank, np.arange(run.n_ranks + 1))
        self._start = [int((entry or {}).get("monotonic_ns") or 0) for entry in run.rank_entries]

    def of(self, rank: int, times_ns: np.ndarray) -> np.ndarray:
        """The frame at each time on CLOCK_MONOTONIC; OUTSIDE of all of them."""
        rows = slice(self._first[rank], self._first[rank + 1])
        stamps = times_ns - self._start[rank]
        at = np.searchsorted(self._end[rows], stamps)
        inside = at < len(self._end[rows])
        at[~inside] = 0
        if not len(self._end[rows]):
            return np.full(len(stamps), OUTSIDE, np.int64)
        inside &= self._begin[rows][at] <= stamps
        return np.where(inside, self._frame[rows][at], OUTSIDE)


def _by_rank(run: RunDirectory, files: _Files) -> Iterator[tuple[int, _Modules, dict]]:
    """Rank, what it has loaded until then, and its samples, part by part, in the order of writing."""
    streams = run.streams
    of_modules, of_samples = streams.of_type("modules"), streams.of_type("samples")
    recorded = dict(zip(of_modules.tolist(), (body for _, body in streams.json("modules"))))
    rows = np.concatenate([of_modules, of_samples])
    places = streams.places[rows]
    rows = rows[np.lexsort([places["sequence"], places["rank"]])]
    ranks = streams.places["rank"][rows]
    for rank in np.unique(ranks[(ranks >= 0) & (ranks < run.n_ranks)]).tolist():
        modules, waiting = _Modules(), []
        # A library may take the place of another in memory: what was recorded before a sample counts.
        for row in [*rows[ranks == rank].tolist(), None]:
            if row is not None and row not in recorded:
                waiting.append(row)
                continue
            parts = np.array(waiting, np.int64)
            for path, here in streams.by_file(parts):
                for begin in range(0, len(here), _ENTRIES_AT_ONCE):
                    offsets = streams.places["offset"][parts[here[begin : begin + _ENTRIES_AT_ONCE]]]
                    yield rank, modules, _bridge.read_samples(path, offsets)
            waiting = []
            if row is not None:
                modules.add(recorded[row], files)


def _named(keys: dict[tuple[int, int], int], files: _Files) -> tuple[list[Function], np.ndarray, list[str]]:
    """The functions of places (number of a file, address in it), and which of them each place is in."""
    of_key = np.zeros(len(keys), np.int32)
    functions: dict[Function, int] = {}
    known = [_Code(""), *files]
    used = sorted({file for file, _ in keys})
    changed = [
        known[file + 1].path for file in used if is_changed(known[file + 1].path, known[file + 1].build_id)
    ]
    names = _names_of(keys, files)
    for (file, _), number in keys.items():
        name = names[number][0]
        path = "" if name in (KERNEL_CLOCK, MPI, PERFIELD) else known[file + 1].path
        of_key[number] = functions.setdefault(Function(name, path), len(functions))
    return [*functions], of_key, changed


def _names_of(keys: dict[tuple[int, int], int], files: _Files) -> list[list[str]]:
    """The functions at places, by their number: innermost first, as `functions_at` says."""
    found: list[list[str]] = [[]] * len(keys)
    by_file: dict[int, list[int]] = {}
    for file, address in keys:
        by_file.setdefault(file, []).append(address)
    known = [*files]
    for file, addresses in by_file.items():
        code = known[file] if file >= 0 else _Code("")
        named = [[code.made]] if code.made else functions_at(code.path, code.build_id, addresses)
        for address, names in zip(addresses, named):
            found[keys[file, address]] = names
    return found
