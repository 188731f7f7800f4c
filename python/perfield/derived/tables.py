# SPDX-License-Identifier: BSD-3-Clause
"""Ranks, regions, steps, messages and waits of a run as rows to print; None where a value is absent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits import IN_MPI, words
from perfield.analysis.waits.sums import by_kind
from perfield.derived import pairs
from perfield.derived.by_region import names_of_regions
from perfield.derived.critical_path import path_sums
from perfield.derived.region_sums import COST, TIME, RegionSums
from perfield.derived.samples import NOT_KNOWN, sampled, words_of_paths
from perfield.derived.sums_of_paths import SumsOfPaths
from perfield.derived.transfers import rows_of_sums
from perfield.derived.waits import wait_sums
from perfield.text import in_seconds

if TYPE_CHECKING:
    from perfield.analysis.waits.path_sums import PathSums
    from perfield.run.frame import Frame
    from perfield.run.run_directory import RunDirectory

MPI = "mpi_time_s"
MOST_FRAMES = 1000  # that are read for a table; the newest ones
MOST_PATHS = 40
MOST_IN_REGION = 5  # functions of each region in the table of functions


def ranks(run: RunDirectory) -> list[dict]:
    """A row per rank: rank, host, cpuset, pid, steps (closed so far), state."""
    rows, steps_closed = [], run.steps_closed.tolist()
    for rank, entry in enumerate(run.rank_entries):
        end = run.ends.get(rank)
        if entry is None:
            state = "never checked in"
        elif end is not None:
            state = f"ended ({end.get('reason', 'unknown')})"
        else:
            state = "running" if run.state == "running" else "killed"
        known = {name: (entry or {}).get(name) for name in ("host", "cpuset", "pid")}
        rows.append({"rank": rank, **known, "steps": steps_closed[rank], "state": state})
    return rows


def regions(run: RunDirectory, sums: RegionSums | None = None) -> list[dict]:
    """A row per region, over the newest 1000 frames; the region whose balancing would save most comes first.

    sums : of the regions, if they are known already.

    Columns: field, compute_time_s and mean_time_s (mean seconds per frame and rank that entered it),
    mpi_share (of its time), step_share (of the time of all steps of all ranks), imbalance (largest over mean
    compute time of the ranks), balancing_saves_s (seconds over all frames), the largest compute time of one
    rank in one frame with rank, frame and the program's number of the step, how many ranks entered it, its
    name.
    Where no calls were seen inside regions, compute time is the whole time.
    """
    own_name = {region.field: region.name for region in run.known_regions}
    sums = RegionSums(run, np.array(_newest(run), dtype=np.int64)) if sums is None else sums
    total = sums.step_s.sum()
    rows = []
    for row in sums.order.tolist():
        stem = sums.stems[row]
        entered, time = int(sums.entered[row].sum()), float(sums.seconds[TIME][row].sum())
        compute = float(sums.seconds[COST][row].sum()) if COST in sums.seconds else time
        mpi = float(sums.seconds[MPI][row].sum()) if MPI in sums.seconds else 0.0
        frame = int(sums.peak_frame[row]) if entered else None
        rows.append(
            {
                "field": stem,
                "compute_time_s": compute / entered if entered else None,
                "mean_time_s": time / entered if entered else None,
                "mpi_share": mpi / time if time > 0 else None,
                "step_share": time / total if entered and total > 0 else None,
                "imbalance": float(sums.imbalance[row]) if sums.mean_s[row] > 0 else None,
                "balancing_saves_s": float(sums.saved_s[row]) if entered else None,
                "largest_compute_time_s": float(sums.peak_s[row]) if entered else None,
                "of_rank": int(sums.peak_rank[row]) if entered else None,
                "in_frame": frame,
                "in_step": None if frame is None else _step_number(run.frame(frame)),
                "ranks": int((sums.entered[row] > 0).sum()),
                "name": own_name[stem],
            }
        )
    return rows


def paths(run: RunDirectory) -> tuple[list[dict], int]:
    """A row for each call path of the regions that ranks entered on several ones, over the newest 1000
    frames, and how many there are; that whose balancing would save most comes first, and at most MOST_PATHS.

    Columns as of `regions`, with path ("solve < pEqn") in place of field and name. Times are of all threads.
    """
    sums = SumsOfPaths(run, np.array(_newest(run), dtype=np.int64))
    chosen = sums.of_divided_regions()
    words = run.known_paths.words({region.field: region.name for region in run.known_regions})
    total = sum(float(np.nansum(run.frame(number).values["step_time_s"])) for number in _newest(run))
    rows = []
    for path in chosen[np.argsort(-sums.saved_s[chosen], kind="stable")].tolist()[:MOST_PATHS]:
        entered, time, mpi = int(sums.entered[path].sum()), *_of_path(sums, path)
        compute = max(time - mpi - float(sums.file_time_s[path].sum()), 0.0)
        frame, mean = int(sums.peak_frame[path]), float(sums.mean_s[path])
        rows.append(
            {
                "path": words[path],
                "compute_time_s": compute / entered,
                "mean_time_s": time / entered,
                "mpi_share": mpi / time if time > 0 else None,
                "step_share": time / total if total > 0 else None,
                "imbalance": float(sums.longest_s[path]) / mean if mean > 0 else None,
                "balancing_saves_s": float(sums.saved_s[path]),
                "largest_compute_time_s": float(sums.peak_s[path]),
                "of_rank": int(sums.peak_rank[path]),
                "in_frame": frame,
                "in_step": _step_number(run.frame(frame)),
                "ranks": int((sums.entered[path] > 0).sum()),
            }
        )
    return rows, len(chosen)


def _of_path(sums: SumsOfPaths, path: int) -> tuple[float, float]:
    return float(sums.time_s[path].sum()), float(sums.mpi_time_s[path].sum())


def steps(run: RunDirectory, chosen: Sequence[int]) -> list[dict]:
    """A row for each of the frames `chosen`: its place in the run, the program's number of the step (None: no
    step was closed, the frame is all that was measured), time, longest and mean step time, imbalance of
    compute time (largest / mean), the rank that computed longest, ranks that are present, whether it is
    partial, and whether it is uneven: ranks of one group may have done different steps, so they are not
    compared.
    """
    rows = []
    for number in chosen:
        frame = run.frame(number)
        step, compute = frame.values["step_time_s"], frame.values["compute_time_s"]
        comparable = np.isfinite(compute).any() and not frame.uneven
        mean = float(np.nanmean(compute)) if comparable else 0.0
        rows.append(
            {
                "frame": number,
                "step": _step_number(frame),
                "time": frame.time if np.isfinite(frame.time) else None,
                "longest_s": float(np.nanmax(step)) if frame.present.any() else None,
                "mean_s": float(np.nanmean(step)) if frame.present.any() else None,
                "imbalance": float(np.nanmax(compute)) / mean if mean > 0 else None,
                "slowest_rank": int(np.nanargmax(compute)) if mean > 0 else None,
                "ranks": int(frame.present.sum()),
                "partial": "partial" if frame.partial else "",
                "uneven": "uneven" if frame.uneven else "",
            }
        )
    return rows


def messages(run: RunDirectory, most: int) -> tuple[list[dict], int]:
    """A row for each of the heaviest pairs of ranks, by bytes: what source sent to target (or
    target fetched), added up over all calls and the newest 1000 frames; and how many pairs there are.
    """
    sums = pairs.messages(run, _newest(run))
    heaviest = sums[np.argsort(-sums["bytes"].astype(np.int64), kind="stable")[:most]]
    columns = ["source", "target", "count", "bytes", "empty"]
    return [dict(zip(columns, row)) for row in heaviest[columns].tolist()], len(sums)


def waits(run: RunDirectory, most: int) -> tuple[list[dict], int, float | None]:
    """A row for each of the pairs in which one rank waited longest for another, over the newest 1000 frames:
    who waits for whom, how often and how long, and its share of the waiting rank's steps; how many pairs
    there are; and the share of all waiting that the rows hold (None: not known). For whom is known where a
    wait's status says it.
    """
    sums = pairs.waits(run, _newest(run))
    lengths = np.zeros(run.n_ranks)
    waiting_s = 0.0
    for number in _newest(run):
        values = run.frame(number).values
        lengths += np.nan_to_num(values["step_time_s"])
        waiting_s += float(np.nansum(values.get("waiting_time_s", 0.0)))
    rows = []
    longest = sums[np.argsort(-sums["time_s"], kind="stable")[:most]]
    for rank, peer, count, time in longest.tolist():
        share = time / lengths[rank] if lengths[rank] > 0 else None
        rows.append({"rank": rank, "waits_for": peer, "count": count, "time_s": time, "share": share})
    covered = min(1.0, sum(row["time_s"] for row in rows) / waiting_s) if waiting_s > 0 else None
    return rows, len(sums), covered


def wait_states(run: RunDirectory, most: int) -> tuple[dict[str, list[dict]], list[str], dict, int]:
    """Why ranks waited in the newest 1000 frames: tables `waits` (pairs), `wait_causes` (ranks),
    `wait_regions` (ranks and regions) and `path` (the critical path), each with at most so many rows, as
    `perfield.analysis.waits.words` makes them, and `transfers`; sentences; the coverage and the seconds of
    each kind of wait as plain numbers; and how many pairs there are."""
    newest = np.array(_newest(run), dtype=np.int64)
    sums, path = wait_sums(run, newest), path_sums(run, newest)
    pairs_, n_pairs = words.pair_rows(sums, most)
    shown = {"waits": pairs_, "wait_causes": words.cause_rows(sums, most)}
    shown["wait_regions"] = words.cause_regions(sums, most)
    parts = [*names_of_regions(run), IN_MPI]
    shown["path"] = words.path_rows(path, parts, most)
    shown["transfers"] = rows_of_sums(sums.transfers)
    numbers = {"mpi_s": sums.mpi_s, "n_steps": sums.n_steps, "n_logged": sums.n_logged}
    numbers |= {name: None if share != share else share for name, share in sums.shares.items()}
    numbers["gaps_s"] = {name: time_ns * 1e-9 for name, time_ns in sums.coverage.gaps().items()}
    return (
        shown,
        [*words.sentences(sums), *words.path_sentences(path, parts)],
        {"wait_coverage": numbers, "wait_kinds": by_kind(sums.sure()), "critical_path": _path(path, run)},
        n_pairs,
    )


def functions(run: RunDirectory, most: int) -> tuple[list[dict], list[str]]:
    """A row for each of the functions in which ranks were found most often in all frames, and sentences about
    the samples.

    A row has function, time_s (CPU time in user mode, of all ranks and threads), share (of all samples'
    time), error (of the share, one standard deviation), imbalance (largest rank over mean), rank (with most),
    count (samples), module.
    """
    found = sampled(run)
    rows = found.table[found.table["frame"] >= 0]
    shape = len(found.functions), max(1, run.n_ranks)
    of_ranks, count = np.zeros(shape), np.zeros(shape[0])
    np.add.at(of_ranks, (rows["function"], rows["rank"]), rows["time_s"])
    np.add.at(count, rows["function"], rows["count"])
    seen = np.unique(found.table["rank"])
    time_s, n = of_ranks.sum(axis=1), count.sum()
    share = time_s / time_s.sum() if time_s.sum() > 0 else time_s
    shown = []
    for number in np.argsort(-time_s, kind="stable")[:most].tolist():
        if not time_s[number] > 0:
            break
        mean = float(of_ranks[number][seen].mean())
        shown.append(
            {
                "function": found.functions[number].name,
                "time_s": float(time_s[number]),
                "share": float(share[number]),
                "error": float(np.sqrt(share[number] * (1 - share[number]) / n)),
                "imbalance": float(of_ranks[number].max()) / mean,
                "rank": int(of_ranks[number].argmax()),
                "count": int(count[number]),
                "module": PurePath(found.functions[number].module).name or None,
            }
        )
    sentences = (
        [f"{int(n):,} samples of {in_seconds(float(time_s.sum()))} of CPU time in user mode."] if n else []
    )
    if found.lost:
        sentences.append(f"{found.lost:,} samples found no room; later ones count more.")
    sentences += [
        f"{path} has changed since the run, so its functions have no names." for path in found.changed
    ]
    return shown, sentences


def functions_in_regions(run: RunDirectory, most: int) -> list[dict]:
    """A row for each of the functions in which ranks were found most often in each region, and in none; the
    region with most time comes first. Empty where nobody knows a region of any sample.

    Columns: region ("solve < pEqn", "no region"), function, time_s, share (of the region's samples), error
    (of the share), of_all (of all samples), count. At most so many rows, and MOST_IN_REGION of each region.
    """
    found = sampled(run)
    rows = found.table[found.table["frame"] >= 0]
    n_paths = len(run.known_paths.all)
    if not (rows["path"] >= 0).any():
        return []
    words = words_of_paths(run)
    path = np.where(rows["path"] < 0, n_paths - NOT_KNOWN + rows["path"], rows["path"])
    time_s, count = np.zeros((2, n_paths + 2, len(found.functions)))
    np.add.at(time_s, (path, rows["function"]), rows["time_s"])
    np.add.at(count, (path, rows["function"]), rows["count"])
    of_path, shown = time_s.sum(axis=1), []
    for number in np.argsort(-of_path, kind="stable").tolist():
        n = count[number].sum()
        for function in np.argsort(-time_s[number], kind="stable")[:MOST_IN_REGION].tolist():
            if len(shown) >= most or not time_s[number, function] > 0:
                break
            share = float(time_s[number, function] / of_path[number])
            shown.append(
                {
                    "region": words[number],
                    "function": found.functions[function].name,
                    "time_s": float(time_s[number, function]),
                    "share": share,
                    "error": float(np.sqrt(share * (1 - share) / n)),
                    "of_all": float(time_s[number, function] / of_path.sum()),
                    "count": int(count[number, function]),
                }
            )
    return shown


def _path(path: PathSums, run: RunDirectory) -> dict | None:
    """The critical path of logged steps as plain numbers; None where nothing is known of it."""
    efficiency = path.efficiency
    if efficiency is None:
        return None
    shares = ("parallel", "load_balance", "communication", "serialisation", "transfer")
    return {
        "steps": path.n_steps,
        "length_s": path.length_s,
        "of_steps": path.n_of_run,
        "of_run_s": path.run_s,
        "is_like_run": path.is_like_run,
        "rank_s": path.on_path_s.tolist(),
        "balance_saves_s": path.gain_s,
        "regions": [
            {"field": stem, "path_s": float(time_s), "balance_saves_s": path.region_gain_s.get(number)}
            for number, (stem, time_s) in enumerate(zip(run.columns.stems, path.region_on_path_s))
        ],
        "efficiency": {name: getattr(efficiency, name) for name in shares},
    }


def _step_number(frame: Frame) -> int | None:
    return frame.label if frame.kind == "step" else None


def _newest(run: RunDirectory) -> range:
    return range(max(0, len(run) - MOST_FRAMES), len(run))
