# SPDX-License-Identifier: BSD-3-Clause
"""Reads what findings ask of a run into memory: `perfield.analysis.observed.Observed`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from perfield.analysis.observed import PAIRS, STAMPS, WAITS, Observed, SampledFunctions
from perfield.derived.by_region import in_functions
from perfield.derived.pairs import added_up
from perfield.derived.waits import wait_sums
from perfield.run.run_directory import RunDirectory
from perfield.run.snapshot import ENTRIES_PER_CHUNK, NUMBERS_PER_CHUNK, Snapshot
from perfield.topology import placement_of, used_devices

MOST_NUMBERS = 3 * 2**26  # of all tables together: 800 MB; beyond, rows hold several steps
CHUNKS_AT_ONCE = 32  # that are computed before they are joined
NUMBERS_OF_STAMPS = 4  # of float32, that begin and end of a step take
_MANY_MORE = 2  # times as many entries that leaving out ranks must bring


def observe(
    run: RunDirectory,
    names: Sequence[str],
    comparable: bool = True,
) -> Observed:
    """Reads fields of all frames, each entry once.

    names : of fields; `<region>_...` stands for all regions. Those that the run lacks are left out. "begin_s"
    or "end_s" : reads when ranks began and ended their steps. "wait_states" : reads why ranks waited, too.
    "functions" : reads what samples say of functions. comparable : whether to read only steps that all ranks
    of the largest group closed; else all steps are read, and absent ranks are NaN there.
    Threads read chunks of steps, or dask does where the caller has loaded it: as it is set there, or with the
    workers of the `distributed.Client` that the caller has made. Joined values of a field that is no sum
    ("again" in its table) are the mean of those of the steps.
    """
    snapshot = Snapshot(run)
    run = snapshot.run
    of_ranks, of_regions = _fields(run, names)
    everything = np.arange(run.n_ranks), np.arange(len(run))
    columns, positions = _largest_group(run.presence) if comparable else everything
    stamped = any(name in STAMPS for name in names)
    n_fields = max(len(of_ranks) + len(of_regions) + NUMBERS_OF_STAMPS * stamped, 1)
    per_row = -(-n_fields * len(columns) * len(positions) // MOST_NUMBERS) or 1
    plan = _Plan(
        of_ranks + of_regions,
        _joined(run, of_ranks + of_regions),
        len(of_ranks),
        columns,
        per_row,
        comparable,
        stamped,
    )
    collected = _Collected(plan, -(-len(positions) // per_row))
    for part in _parts(snapshot, positions, plan):
        collected.add(part)
    placement = placement_of(run)
    return Observed(
        n_ranks=run.n_ranks,
        ranks=columns,
        steps_by_clock=run.steps_by_clock,
        has_windows=run.has_windows,
        placement=placement,
        devices=used_devices(placement, run.ends),
        waiting=wait_sums(run) if "wait_states" in names else None,
        functions=_functions(run, positions, columns) if "functions" in names else None,
        regions={region.field: region.name for region in run.known_regions},
        n_uneven=collected.n_uneven,
        n_left_out=len(run) - collected.n_uneven - collected.n_steps,
        **collected.result(run.step_indexes[positions], run.steps_held(positions)),
    )


def _functions(run: RunDirectory, positions: np.ndarray, columns: np.ndarray) -> SampledFunctions | None:
    names, time_s, variance = in_functions(run, positions)
    return SampledFunctions(tuple(names), time_s[:, columns], variance[:, columns]) if names else None


@dataclass(frozen=True)
class _Plan:
    """What to read: names of fields, how their steps are joined, how many of them are of ranks (the first);
    columns to keep; steps per row; whether steps must be comparable; whether begins and ends are wanted."""

    names: list[str]
    joined: list[str]
    n_of_ranks: int
    columns: np.ndarray
    per_row: int
    comparable: bool
    stamped: bool


@dataclass(frozen=True)
class _Part:
    """What one chunk of steps holds; arrays over its positions; only `kept` ones count."""

    kept: np.ndarray
    n_uneven: int
    label: np.ndarray
    empty: np.ndarray
    totals: np.ndarray  # (n_positions, n_of_ranks)
    largest: np.ndarray
    row: np.ndarray  # of each kept position
    tables: np.ndarray  # float32 (n_names, n_rows, n_columns)
    stamps: np.ndarray  # float64 (2, n_rows, n_columns): begin and end; (2, 0, 0) where not wanted
    messages: np.ndarray
    waits: np.ndarray


def _fields(run: RunDirectory, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The fields of ranks and of regions that the run has."""
    kinds = run.columns.kinds
    of_ranks = [n for n in dict.fromkeys(("step_time_s", *names)) if n in kinds and "<region>" not in n]
    regions = (run.columns.of_regions(n) for n in dict.fromkeys(names) if n in kinds and "<region>" in n)
    return of_ranks, [name for of_kind in regions for name in of_kind]


def _joined(run: RunDirectory, names: list[str]) -> list[str]:
    """How values of several steps make one: "sum", "max", "last" or "mean"."""
    kind_of = {
        name: kind
        for kind in run.columns.kinds
        for name in (run.columns.of_regions(kind) if "<region>" in kind else [kind])
    }
    found = []
    for name in names:
        field = run.columns.kinds[kind_of[name]]
        way = field.over_steps
        if way == "again":
            way = "sum" if field.adds_up else "mean"
        found.append("last" if way == "none" else way)
    return found


def _largest_group(presence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ranks and the positions of frames of the largest group: all these ranks are in all these frames.

    Ranks that are in few frames are left out only if that brings many more entries.
    """
    if len(presence) and presence.all():  # as in most runs; some are too large to be copied
        return np.arange(presence.shape[1]), np.arange(len(presence))
    count = presence.sum(axis=1)
    best, entries = 0, 0
    for n_present in np.unique(count[count > 0])[::-1].tolist():
        found = n_present * int((count >= n_present).sum())
        if found > (_MANY_MORE if best else 1) * entries:
            best, entries = n_present, found
    if not best:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    columns = np.flatnonzero(presence[count >= best].all(axis=0))
    if not len(columns):  # groups that take turns: those of the first such frame
        columns = np.flatnonzero(presence[count >= best][0])
    return columns, np.flatnonzero(presence[:, columns].all(axis=1))


def _parts(snapshot: Snapshot, positions: np.ndarray, plan: _Plan) -> Iterator[_Part]:
    """Chunks of whole rows, in the order of their steps."""
    n_ranks = max(snapshot.run.n_ranks, 1)
    size = min(ENTRIES_PER_CHUNK // n_ranks, NUMBERS_PER_CHUNK // (n_ranks * len(plan.names)))
    size = max(size // plan.per_row, 1) * plan.per_row
    chunks = [positions[begin : begin + size] for begin in range(0, len(positions), size)]
    read = partial(_read, snapshot, plan)
    for begin in range(0, len(chunks), CHUNKS_AT_ONCE):
        yield from _at_once(read, chunks[begin : begin + CHUNKS_AT_ONCE])


def _at_once(read: Callable[[np.ndarray], _Part], chunks: list[np.ndarray]) -> Iterable[_Part]:
    """Reads chunks by dask where the caller uses it, else by threads."""
    if not sys.modules.get("dask"):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(read, chunks))
    import dask

    return dask.compute(*(dask.delayed(read, pure=False)(chunk) for chunk in chunks))


def _read(snapshot: Snapshot, plan: _Plan, positions: np.ndarray) -> _Part:
    """Reads and reduces a chunk."""
    read = snapshot.run.read(positions, plan.names, with_tables=True)
    n = len(positions)
    entries = np.zeros((n, snapshot.run.n_ranks), bool)
    entries[read["step"], read["rank"]] = True
    complete = entries[:, plan.columns].all(axis=1)
    kept = complete & ~read["uneven"] if plan.comparable else np.ones(n, bool)
    row = (np.arange(n) // plan.per_row)[kept]
    values = read["values"][kept][:, :, plan.columns]
    of_ranks = np.nan_to_num(read["values"][:, : plan.n_of_ranks, plan.columns])
    lowest = np.lexsort((read["rank"], read["step"]))
    seen, first = np.unique(read["step"][lowest], return_index=True)
    header = read["fixed"][lowest[first]]
    label = np.zeros(n, np.int64)
    label[seen] = header["label"]
    messages, waits = (rows[kept[rows["step"]]] for rows in (read["messages"], read["waits"]))
    return _Part(
        kept=kept,
        n_uneven=int((complete & read["uneven"] & ~kept).sum()),
        label=label,
        empty=np.bincount(messages["step"], messages["empty"], minlength=n),
        totals=of_ranks.sum(axis=2),
        largest=of_ranks.max(axis=2, initial=0.0),
        row=row,
        tables=_join(values, row, plan.joined),
        stamps=_stamps(snapshot.run, read, kept, row, plan),
        messages=added_up([messages], PAIRS),
        waits=added_up([waits], WAITS),
    )


def _join(values: np.ndarray, row: np.ndarray, joined: list[str]) -> np.ndarray:
    """Rows of several steps. values : (n_steps, n_names, n_columns). Returns float32, names first."""
    values = values.swapaxes(0, 1)
    first = np.flatnonzero(np.diff(row, prepend=-1))
    if len(first) == len(row):
        return values.astype(np.float32)
    last = np.append(first[1:], len(row)) - 1
    rows = np.empty((len(values), len(first), values.shape[2]), np.float32)
    for number, (table, way) in enumerate(zip(values, joined)):
        if way == "last":
            rows[number] = table[last]
        elif way == "max":
            rows[number] = np.fmax.reduceat(table, first, axis=0)
        else:
            count = np.add.reduceat(np.isfinite(table), first, axis=0, dtype=np.int64)
            total = np.add.reduceat(np.nan_to_num(table), first, axis=0)
            total = total / np.maximum(count, 1) if way == "mean" else total
            rows[number] = np.where(count > 0, total, np.nan)
    return rows


def _stamps(
    run: RunDirectory, read: dict[str, np.ndarray], kept: np.ndarray, row: np.ndarray, plan: _Plan
) -> np.ndarray:
    """When ranks began the first step of each row, and ended the last one."""
    if not plan.stamped:
        return np.zeros((2, 0, 0))
    first = np.flatnonzero(np.diff(row, prepend=-1))
    last = np.append(first[1:], len(row)) - 1 if len(first) else first
    found = []
    for name, chosen in (("begin_ns", first), ("end_ns", last)):
        values = np.full((len(kept), run.n_ranks), np.nan)
        values[read["step"], read["rank"]] = run.stamps.common_s(read["rank"], read["fixed"][name])
        found.append(values[kept][chosen][:, plan.columns])
    return np.stack(found)


class _Collected:
    """Parts of a run, put together. A table without a value takes no memory."""

    def __init__(self, plan: _Plan, most_rows: int):
        self.plan, self.n_uneven, self.n_steps = plan, 0, 0
        self._shape = most_rows, len(plan.columns)
        self._tables: dict[str, np.ndarray] = {}
        self._stamps = np.full((2, *(self._shape if plan.stamped else (0, 0))), np.nan)
        self._n_rows = 0
        self._row: list[np.ndarray] = []
        self._of_step: dict[str, list[np.ndarray]] = {
            name: [] for name in ("kept", "label", "empty", "totals", "largest")
        }
        self._messages, self._waits = np.zeros(0, PAIRS), np.zeros(0, WAITS)

    def add(self, part: _Part) -> None:
        """Adds the chunk that follows."""
        self.n_uneven += part.n_uneven
        self.n_steps += len(part.row)
        for name, values in self._of_step.items():
            values.append(getattr(part, name))
        _, row = np.unique(part.row, return_inverse=True)
        n_rows = part.tables.shape[1]
        self._row.append(self._n_rows + row.ravel())
        here = slice(self._n_rows, self._n_rows + n_rows)
        self._n_rows += n_rows
        for name, table in zip(self.plan.names, part.tables):
            if name not in self._tables:
                if not np.isfinite(table).any() and name != "step_time_s":
                    continue
                self._tables[name] = np.empty(self._shape, np.float32)
                self._tables[name][: here.start] = np.nan
            self._tables[name][here] = table
        if self.plan.stamped:
            self._stamps[:, here] = part.stamps
        self._messages = added_up([self._messages, part.messages], PAIRS)
        self._waits = added_up([self._waits, part.waits], WAITS)

    def result(self, indexes: np.ndarray, span: np.ndarray) -> dict:
        """By names of `Observed`. indexes, span : of all positions that were read."""
        names = self.plan.names[: self.plan.n_of_ranks]
        empty = {"totals": np.zeros((0, len(names))), "largest": np.zeros((0, len(names)))}
        kept, label, n_empty, totals, largest = (
            np.concatenate(parts) if parts else empty.get(name, np.zeros(0, np.int64))
            for name, parts in self._of_step.items()
        )
        kept = kept.astype(bool)
        tables = {name: table[: self._n_rows] for name, table in self._tables.items()}
        tables.setdefault("step_time_s", np.zeros((0, self._shape[1]), np.float32))
        return {
            "index": indexes[kept],
            "label": label[kept],
            "span": span[kept],
            "row": np.concatenate([np.zeros(0, np.int64), *self._row]),
            "empty": n_empty[kept].astype(float),
            "totals": {name: totals[kept, number] for number, name in enumerate(names)},
            "largest": {name: largest[kept, number] for number, name in enumerate(names)},
            "tables": tables,
            "begin_s": self._stamps[0, : self._n_rows],
            "end_s": self._stamps[1, : self._n_rows],
            "messages": self._messages,
            "waits": self._waits,
        }
