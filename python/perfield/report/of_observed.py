# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of a report that come from what a run measured: efficiency, slow steps, messages, files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from perfield._bridge import WINDOW_S
from perfield.analysis.imbalance import largest_and_mean
from perfield.analysis.observed import Observed
from perfield.analysis.steps import output_steps
from perfield.derived.run import Run
from perfield.text import counted, in_seconds
from perfield.topology import Machine, Placement, places, ranges

MOST_ROWS = 10  # of slowest steps and heaviest pairs
MOST_PLACES, MOST_PLACED = 64, 4096  # rows of the table of places; ranks that are looked at one by one


@dataclass(frozen=True)
class Efficiency:
    """Parallel efficiency as the POP project defines it (docs/report.md); NaN where MPI was not seen.

    load_balance : mean over ranks of the time outside MPI, divided by the largest. communication : that
    largest time, divided by the elapsed time. parallel : their product.
    """

    parallel: float
    load_balance: float
    communication: float


@dataclass(frozen=True)
class SlowStep:
    """A slow step.

    index, label : of the step, and the program's own number. longest_s, mean_s : its time, of the slowest
    rank and of the mean. imbalance : of compute time, largest over mean; NaN if unknown. rank : that computed
    longest; -1 if unknown. written_bytes : of all ranks. is_output : it writes far more than others.
    """

    index: int
    label: int
    longest_s: float
    mean_s: float
    imbalance: float
    rank: int
    written_bytes: float
    is_output: bool


@dataclass(frozen=True)
class Traffic:
    """Messages of the steps, their bytes, and how many bytes stay in a node, leave it, or go to unknown
    ranks. n_pairs : pairs of known ranks. n_empty : messages without bytes."""

    n_messages: int
    n_empty: int
    n_pairs: int
    inside_bytes: int
    between_bytes: int
    unknown_bytes: int


@dataclass(frozen=True)
class HeavyPair:
    """What a rank sent to another in all steps. where : "inside n1" or "n1 to n2"; "" if unknown."""

    source: int
    target: int
    count: int
    bytes: int
    empty: int
    where: str


@dataclass(frozen=True)
class FileUse:
    """What a rank read from files and wrote to them in all steps, and how long that took; NaN if unknown."""

    rank: int
    read_bytes: float
    write_bytes: float
    n_calls: float
    time_s: float


def efficiency(observed: Observed) -> Efficiency:
    """The efficiencies of the steps."""
    step_s = np.nansum(observed.of("step_time_s"), axis=0, dtype=float)
    if len(step_s) < 2 or not observed.has("mpi_time_s"):
        return Efficiency(np.nan, np.nan, np.nan)
    useful = np.maximum(step_s - np.nansum(observed.of("mpi_time_s"), axis=0, dtype=float), 0.0)
    mean, most, elapsed = useful.mean(), useful.max(), step_s.max()
    if not (mean > 0 and elapsed > 0):
        return Efficiency(np.nan, np.nan, np.nan)
    return Efficiency(float(mean / elapsed), float(mean / most), float(most / elapsed))


def imbalance(observed: Observed) -> float:
    """Compute time, largest over mean of the ranks, both added up over the steps."""
    sums = largest_and_mean(observed) if observed.has("compute_time_s") else None
    return np.nan if sums is None else sums[0] / sums[1]


def shares(observed: Observed) -> dict[str, float]:
    """Shares of the time of all ranks; empty if the steps took no time. What is unknown is in "other"."""
    total = float(observed.totals["step_time_s"].sum()) if observed.n_steps else 0.0
    if not total > 0:
        return {}

    def of(name: str) -> float:
        return float(observed.totals[name].sum()) / total if observed.has(name) else 0.0

    waiting, mpi = of("waiting_time_s"), of("mpi_time_s")
    found = {"computing": of("compute_time_s"), "waiting for a PU": of("delayed_compute_time_s")}
    found |= {"waiting": waiting, "other MPI": max(mpi - waiting, 0.0)}
    found["files"] = max(0.0, min(of("io_time_s"), 1.0 - sum(found.values())))
    return {**found, "other": max(0.0, 1.0 - sum(found.values()))}


def slowest_steps(observed: Observed) -> tuple[SlowStep, ...]:
    """The steps whose slowest rank took longest."""
    if not observed.n_steps:
        return ()
    longest = observed.largest["step_time_s"]
    none = np.zeros(observed.n_steps)
    compute, computed = (
        each.get("compute_time_s", none) / of
        for each, of in ((observed.largest, 1), (observed.totals, len(observed.ranks)))
    )
    written = observed.totals.get("io_write_bytes", none)
    per_step = observed.written_per_step()
    is_output = output_steps((none if per_step is None else per_step)[:, None])
    rows_of, table = np.bincount(observed.row), observed.of("compute_time_s")
    found = []
    for step in np.argsort(-longest, kind="stable")[:MOST_ROWS].tolist():
        row = table[observed.row[step]]
        alone = rows_of[observed.row[step]] == 1 and np.isfinite(row).any()
        found.append(
            SlowStep(
                *(int(observed.index[step]), int(observed.label[step]), float(longest[step])),
                mean_s=float(observed.totals["step_time_s"][step]) / len(observed.ranks),
                imbalance=float(compute[step] / computed[step]) if computed[step] > 0 else np.nan,
                rank=int(observed.ranks[np.nanargmax(row)]) if alone else -1,
                written_bytes=float(written[step]),
                is_output=bool(is_output[step]),
            )
        )
    return tuple(found)


def traffic(observed: Observed, placement: Placement) -> Traffic:
    """Adds up all messages."""
    rows, known = observed.messages, observed.known_messages
    source, target = (placement.node_id[known[end]] for end in ("source", "target"))
    placed = (source >= 0) & (target >= 0)
    inside, between = (
        int(known["bytes"][placed & chosen].sum()) for chosen in (source == target, source != target)
    )
    return Traffic(
        n_messages=int(rows["count"].sum()),
        n_empty=int(rows["empty"].sum()),
        n_pairs=len(known),
        inside_bytes=inside,
        between_bytes=between,
        unknown_bytes=int(rows["bytes"].sum()) - inside - between,
    )


def heaviest_pairs(observed: Observed, placement: Placement) -> tuple[HeavyPair, ...]:
    """The pairs of known ranks that exchanged most bytes."""
    rows = observed.known_messages
    order = np.argsort(-rows["bytes"].astype(np.int64), kind="stable")[:MOST_ROWS]
    return tuple(
        HeavyPair(*row, where=_where(placement, row[0], row[1]))
        for row in rows[order][["source", "target", "count", "bytes", "empty"]].tolist()
    )


def files(observed: Observed) -> tuple[FileUse, ...]:
    """What each rank did with files, in steps."""

    def of(name: str) -> np.ndarray:
        table = observed.of(name)
        seen = np.isfinite(table).any(axis=0)
        return np.where(seen, np.nansum(table, axis=0, dtype=float), np.nan)

    read, written, time_s = of("io_read_bytes"), of("io_write_bytes"), of("io_time_s")
    calls = np.nan_to_num(of("io_read_count")) + np.nan_to_num(of("io_write_count"))
    total = np.nan_to_num(read) + np.nan_to_num(written)
    used = np.flatnonzero((total > 0) | (calls > 0))
    order = used[np.lexsort((-calls[used], -total[used]))]
    return tuple(
        FileUse(int(observed.ranks[n]), *(float(each[n]) for each in (read, written, calls, time_s)))
        for n in order
    )


def _lengths(run: Run) -> str:
    """How long windows of the clock are. The first one holds the time before the program measures, too."""
    spans = run.spans[1:] if len(run) > 1 else run.spans
    least, most = (in_seconds(WINDOW_S * int(span)) for span in (spans.min(), spans.max()))
    return least if least == most else f"{least} to {most}"


def notes(run: Run, observed: Observed, lines: Mapping[str, str]) -> Iterator[str]:
    """Yields sentences that limit what a report says."""
    if run.state == "running":
        yield "The program still runs: this is what it had written when the report was made."
    elif run.state != "finished":
        yield (
            "The program did not finish: it was killed, crashed, or called MPI_Abort. What its ranks did "
            "after their last written steps is not known."
        )
    absent = sum(entry is None for entry in run.rank_entries)
    if absent:
        yield f"{absent} of {run.n_ranks} ranks never checked in, so nothing is known of them."
    if not len(run):
        yield "No step is finished yet, so there is nothing to compare."
    elif run.frame(0).kind == "whole":
        yield (
            "The program closed no step: one frame covers the whole run, from start to end. "
            "`perfield steps` lists MPI calls that could close steps, if there are any."
        )
    elif run.has_windows:
        yield (
            "The program closed no step, and perfield found none: each frame here is a window of the clock, "
            f"the same on all ranks ({_lengths(run)}). `perfield steps` lists MPI calls that could "
            "close steps, if there are any."
        )
    elif len(run) == 1:
        yield "The run has a single step; nothing can be said about how it changes."
    for count, because in (
        (observed.n_left_out, "some rank's entry of them is missing or damaged"),
        (observed.n_uneven, "ranks may have done different steps in them"),
    ):
        if count:
            yield f"{count:,} of {len(run):,} steps are left out of findings and tables, as {because}."
    if "uneven" in lines:
        yield f"Steps are uneven: {lines['uneven']}."
    yield from run.damage[:MOST_ROWS]
    if len(run.damage) > MOST_ROWS:
        yield f"{len(run.damage) - MOST_ROWS} more damages; `perfield info --json` lists all."


def joined_places(placement: Placement) -> list[dict[str, str]]:
    """Rows of `perfield.topology.places`, in which ranks that sit alike share one; if these are more than 64,
    the ranks of one package do, or those of one package of nodes that are filled alike."""
    known: dict[tuple[str, ...], list[int]] = {}
    if placement.n_ranks <= MOST_PLACED:
        for rank, row in enumerate(places(placement, "rank")):
            known.setdefault(tuple(row.items())[1:], []).append(rank)
    rows = [{"ranks": ranges(ranks), **dict(row)} for row, ranks in known.items()]
    for by in ("package", "alike") if not 0 < len(rows) <= MOST_PLACES else ():
        rows = places(placement, by)
        if len(rows) <= MOST_PLACES:
            break
    return rows


def machine_in_words(machine: Machine) -> str:
    """ "2 packages, 24 cores, 48 PUs"; "" if only the PUs that ranks were bound to are known."""
    if not machine.described:
        return ""
    levels = (("package", "package"), ("core", "core"), ("pu", "PU"))
    counts = [(len(machine.level(level)), word) for level, word in levels]
    return ", ".join(counted(count, word) for count, word in counts if count)


def setting_text(value: object) -> str:
    """A setting as `perfield setup config` prints it."""
    return json.dumps(value, ensure_ascii=False)


def _where(placement: Placement, source: int, target: int) -> str:
    nodes = [placement.node_id[rank] for rank in (source, target)]
    if min(nodes) < 0:
        return ""
    labels = [placement.nodes[node].label for node in nodes]
    return f"inside {labels[0]}" if nodes[0] == nodes[1] else f"{labels[0]} to {labels[1]}"
