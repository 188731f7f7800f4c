# SPDX-License-Identifier: BSD-3-Clause
"""Sums of wait states as rows of tables and in sentences: who costs whom how much, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfield.analysis.waits.costs import (
    BLOCKED,
    FILES,
    NO_REGION,
    NOT_IN_USER_MODE,
    OTHER_REASONS,
    WITHOUT_PU,
)
from perfield.analysis.waits.path_sums import PathSums
from perfield.analysis.waits.states import EXACT, KINDS, UNCERTAIN
from perfield.analysis.waits.sums import WaitSums, by_kind
from perfield.text import counted, in_list, in_percent, in_seconds, printable

KIND_WORDS = {
    "late_sender": "late sender",
    "late_receiver": "late receiver",
    "barrier": "barrier",
    "n_to_n": "n-to-n",
    "late_broadcast": "late broadcast",
    "early_reduce": "early reduce",
    "late_one_sided": "late one-sided",
}
# "7 ranks wait 6.3 s ... for messages that were not sent yet"
WHY = {
    "late_sender": "for messages that were not sent yet",
    "late_receiver": "in sends whose receives were not posted yet",
    "barrier": "at barriers that not all had reached",
    "n_to_n": "in collective operations that need all ranks",
    "late_broadcast": "for the root of broadcasts and scatters",
    "early_reduce": "as the root of reductions and gathers",
    "late_one_sided": "in one-sided synchronisation",
}
LITTLE = 0.005  # a share below which a part of the time is not mentioned
LONGER = {  # what a rank did longer
    WITHOUT_PU: "waited for a PU",
    BLOCKED: "was in the kernel or blocked",
    NOT_IN_USER_MODE: "was not in user mode",
}
MOSTLY = 0.5  # of what a rank costs, at least, begins in the region that is named


def pair_rows(sums: WaitSums, most: int) -> tuple[list[dict], int]:
    """The pairs in which one rank waited longest for another, by kind; and how many there are.

    A row has rank (waits), waits_for (None: not known), kind, time_s, share (of the waiting rank's steps),
    count (calls), steps (in which), how ("exact", or "at least" where some of it is a bound).
    """
    late = sums.sure()
    keys = np.unique(late[["rank", "cause", "kind"]])
    of_key = np.searchsorted(keys, late[["rank", "cause", "kind"]]) if len(late) else np.zeros(0, np.int64)
    time_s = np.bincount(of_key, late["time_s"], minlength=len(keys))
    rows = []
    for number in np.argsort(-time_s, kind="stable")[:most].tolist():
        here = late[of_key == number]
        rank, cause, kind = keys[number].tolist()
        rows.append(
            {
                "rank": rank,
                "waits_for": cause if cause >= 0 else None,
                "kind": KIND_WORDS[KINDS[kind]],
                "time_s": float(time_s[number]),
                "share": _share(time_s[number], sums.step_s[rank]),
                "count": int(here["count"].sum()),
                "steps": int(here["steps"].sum()),
                "how": "exact" if (here["exactness"] == EXACT).all() else "at least",
            }
        )
    return rows, len(keys)


def cause_rows(sums: WaitSums, most: int) -> list[dict]:
    """The ranks that cost the others most, and through whom; none where too little is explained.

    A row has rank, caused_s (seconds of others' waiting that begin on it), share (of all ranks' steps),
    waits_s (how long it waits itself); and the rank that waits longest for it: through, kind, time_s, steps.
    """
    late = sums.sure()
    total = sums.step_s.sum()
    rows = []
    for rank in np.argsort(-np.nan_to_num(sums.caused_s), kind="stable")[:most].tolist():
        if not sums.names_causes or not sums.caused_s[rank] > 0:
            break
        of_rank = late[late["cause"] == rank]
        longest = of_rank[of_rank["time_s"].argmax()] if len(of_rank) else None
        rows.append(
            {
                "rank": rank,
                "caused_s": float(sums.caused_s[rank]),
                "share": _share(sums.caused_s[rank], total),
                "waits_s": float(late["time_s"][late["rank"] == rank].sum()),
                "through": None if longest is None else int(longest["rank"]),
                "kind": None if longest is None else KIND_WORDS[KINDS[longest["kind"]]],
                "time_s": None if longest is None else float(longest["time_s"]),
                "steps": None if longest is None else int(longest["steps"]),
            }
        )
    return rows


def cause_regions(sums: WaitSums, most: int) -> list[dict]:
    """In which regions the waiting of others begins, the longest first; none where there are no regions, or
    too little is explained.

    A row has rank, region (or NO_REGION, or OTHER_REASONS; the column is function where the run has no
    regions and was sampled, with FILES, WITHOUT_PU, and BLOCKED or NOT_IN_USER_MODE), caused_s, share (of
    what the rank costs).
    """
    caused_s = np.nan_to_num(sums.caused_in_s)
    if len(sums.parts) <= len((NO_REGION, OTHER_REASONS)) or not sums.names_causes:
        return []
    rows = []
    for number in np.argsort(-caused_s, axis=None, kind="stable")[:most].tolist():
        part, rank = np.unravel_index(number, caused_s.shape)
        if not caused_s[part, rank] > 0:
            break
        rows.append(
            {
                "rank": int(rank),
                sums.part: sums.parts[part],
                "caused_s": float(caused_s[part, rank]),
                "share": _share(caused_s[part, rank], caused_s[:, rank].sum()),
            }
        )
    return rows


def region_of(sums: WaitSums, rank: int) -> str:
    """What most of a rank's cost begins in, as a part of a sentence: ", 15.9 s of it by its time in region
    solve"; "" if no region holds half of it, or there are none."""
    caused_s = np.nan_to_num(sums.caused_in_s[:, rank])
    part = int(caused_s.argmax())
    if (
        len(sums.parts) <= len((NO_REGION, OTHER_REASONS))
        or not caused_s[part] >= MOSTLY * caused_s.sum() > 0
    ):
        return ""
    name = sums.parts[part]
    if name == OTHER_REASONS:
        return ""
    where = name if name in (NO_REGION, FILES) else f"{sums.part} {printable(name)}"
    if name in LONGER:
        return f", {in_seconds(caused_s[part])} of it as it {LONGER[name]} longer"
    return f", {in_seconds(caused_s[part])} of it by its time in {where}"


def sentences(sums: WaitSums) -> list[str]:
    """How much is explained, what waiting costs by kind, who costs most and through whom, and what the clocks
    hide. The first sentence always says how much of the time in MPI is explained."""
    lines = [*_coverage(sums)]
    waiting = by_kind(sums.sure())
    if waiting:
        at_least = "" if (sums.sure()["exactness"] == EXACT).all() else "at least "
        parts = [f"{in_seconds(time_s)} {WHY[kind]}" for kind, time_s in waiting.items()]
        lines.append(f"Ranks wait {at_least}{in_seconds(sum(waiting.values()))}: {in_list(parts, 4)}.")
    lines += [who_costs_most(sums)] if who_costs_most(sums) else []
    if sums.mpi_s > 0 and not sums.names_causes:
        lines.append("Too little of it is explained to say which rank costs the others most.")
    lines += [what_transfer_takes(sums)] if what_transfer_takes(sums) else []
    return lines + _clocks(sums)


def who_costs_most(sums: WaitSums) -> str:
    """The rank that costs the others most, and through whom, as a sentence; "" if nobody does."""
    rows = cause_rows(sums, 1)
    if not rows:
        return ""
    row = rows[0]
    share = "" if row["share"] is None else f", {in_percent(row['share'])} of the time of all ranks"
    through = ""
    if row["through"] is not None:
        steps = counted(row["steps"], "step")
        through = (
            f"; rank {row['through']} waits {in_seconds(row['time_s'])} for it ({row['kind']}, in {steps})"
        )
    return (
        f"Rank {row['rank']} costs the others {in_seconds(row['caused_s'])} of waiting{share}"
        f"{region_of(sums, row['rank'])}{through}."
    )


def what_transfer_takes(sums: WaitSums) -> str:
    """How the time in MPI is divided into waiting and transfer, at its baselines and beyond, as a sentence;
    "" if none of that is known."""
    slow_s, typical_s = sums.transfers.slow_s, sums.transfers.at_baseline_s
    waiting_s = float(sums.sure()["time_s"].sum())
    if not sums.mpi_s > 0 or not waiting_s + sums.transfer_s > 0:
        return ""
    rest_s = max(0.0, sums.transfer_s - typical_s - slow_s)
    unknown_s = max(0.0, sums.mpi_s - waiting_s - max(sums.transfer_s, typical_s + slow_s))
    parts = {
        "waiting": waiting_s,
        "transfer at its baseline": typical_s,
        "transfer beyond its baseline": slow_s,
        "transfer without a baseline": rest_s,
        "not known": unknown_s,
    }
    parts_of_time = [
        f"{in_percent(s / sums.mpi_s)} is {what}" for what, s in parts.items() if s >= LITTLE * sums.mpi_s
    ]
    return f"Of the time in MPI calls that may wait, {in_list(parts_of_time, len(parts))}."


def path_sentences(path: PathSums, regions: Sequence[str]) -> list[str]:
    """Whose work decides how long steps take, what balance would gain at most, and POP's efficiencies.

    regions : their names, as in `path`. Empty where nothing is known.
    """
    found = path.efficiency
    if found is None:
        return [] if path.names_path else [_no_path(path)]
    rank, steps = int(path.on_path_s.argmax()), counted(path.n_steps, "logged step")
    share, saved = in_percent(path.on_path_s[rank] / path.length_s), _at_most(path.gain_s / path.length_s)
    lines = [] if path.is_like_run else [_unlike(path)]
    lines += [
        f"Rank {rank} is on the critical path for {share} of {steps}; if all ranks computed equally long, "
        f"these steps would be shorter by {saved}."
    ]
    for region, gain_s in sorted(path.region_gain_s.items(), key=lambda item: -item[1])[:1]:
        share = in_percent(path.region_on_path_s[region] / path.length_s)
        lines.append(
            f"Region {printable(regions[region])} is {share} of that path; balanced alone, it would save "
            f"{_at_most(gain_s / path.length_s)}."
        )
    if path.n_steps < path.n_of_run and path.is_like_run:
        on_path_s = path.on_path_s[rank] / path.length_s * path.run_s
        lines.append(
            f"If all {counted(path.n_of_run, 'step')} are like these, rank {rank} is on the run's critical "
            f"path for about {in_seconds(on_path_s)} of {in_seconds(path.run_s)}."
        )
    lines.append(
        f"Their parallel efficiency is {in_percent(found.parallel)}: "
        f"load balance {in_percent(found.load_balance)}, "
        f"serialisation {in_percent(found.serialisation)}, transfer {in_percent(found.transfer)}."
    )
    return lines


def _unlike(path: PathSums) -> str:
    """How the logged steps differ from all."""
    own, of_run = path.means, path.means_of_run
    return (
        f"The critical path is that of {counted(path.n_steps, 'logged step')}, which do not represent all "
        f"{counted(path.n_of_run, 'step')}: on average they take {in_seconds(own.step_s)}, "
        f"{in_percent(own.outside_mpi)} of it outside MPI; all take {in_seconds(of_run.step_s)}, "
        f"{in_percent(of_run.outside_mpi)} of it outside. PERFIELD_ARRIVALS_EVERY=1 logs all."
    )


def path_rows(path: PathSums, parts: Sequence[str], most: int) -> list[dict]:
    """Where the critical path lies, the longest first.

    parts : names of the regions, NO_REGION and IN_MPI. A row has rank, region, path_s (in the logged steps),
    share (of that path), of_run_s (of all steps, if they are like these; None where these are unlike them).
    """
    rows = []
    if not path.names_path:
        return rows
    for number in np.argsort(-path.on_path_in_s, axis=None, kind="stable")[:most].tolist():
        part, rank = np.unravel_index(number, path.on_path_in_s.shape)
        time_s = float(path.on_path_in_s[part, rank])
        if not time_s > 0:
            break
        share = time_s / path.length_s
        rows.append(
            {
                "rank": int(rank),
                "region": parts[part],
                "path_s": time_s,
                "share": share,
                "of_run_s": share * path.run_s if path.is_like_run else None,
            }
        )
    return rows


def _no_path(path: PathSums) -> str:
    return (
        f"Only {in_percent(path.explained)} of the time in MPI of {counted(path.n_steps, 'logged step')} is "
        "explained: too little to follow their critical path."
    )


def _at_most(share: float) -> str:
    return f"at most {in_percent(share)}" if share >= LITTLE else "next to nothing"


def _coverage(sums: WaitSums) -> list[str]:
    if not sums.mpi_s > 0:
        return ["No time was spent in MPI calls that may wait."]
    total = sums.step_s.sum()
    of_steps = f", {in_percent(sums.mpi_s / total)} of their steps" if total > 0 else ""
    lines = [f"Ranks spend {in_seconds(sums.mpi_s)} in MPI calls that may wait{of_steps}."]
    lines.append(sums.coverage.words(sums.mpi_s * 1e9))
    if sums.is_whole:
        lines.append(
            "No step was closed, so there are only sums; `perfield steps` lists calls that may close steps."
        )
    elif sums.n_logged < sums.n_steps:
        logged = f"{sums.n_logged:,} of {counted(sums.n_steps, 'step')}" if sums.n_logged else "No step"
        verb = "were" if sums.n_logged > 1 else "was"
        lines.append(f"{logged} {verb} logged in full; PERFIELD_ARRIVALS_EVERY=1 logs all.")
    return lines


def _clocks(sums: WaitSums) -> list[str]:
    unsure = sums.late[sums.late["exactness"] == UNCERTAIN]
    waiting = sums.late["time_s"].sum()
    if not len(unsure) or not unsure["time_s"].sum() >= LITTLE * waiting:
        return []
    known = sums.uncertainty_s[np.isfinite(sums.uncertainty_s)]
    if len(known) < len(sums.uncertainty_s):
        how = "nothing synchronises the clocks of some nodes"
    else:
        how = f"the clocks of the ranks agree within {in_seconds(float(known.max(initial=0.0)))} only"
    return [f"Waits of {in_seconds(unsure['time_s'].sum())} more are too short to name who is late: {how}."]


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None
