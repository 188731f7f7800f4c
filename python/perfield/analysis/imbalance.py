# SPDX-License-Identifier: BSD-3-Clause
"""How ranks differ in compute time, why, and in which regions: what findings about imbalance share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from perfield.analysis.chance import Differences, differences
from perfield.analysis.explanation import (
    CostOfCells,
    Explanation,
    cost_of_cells,
    explanation,
    follow_counts,
    rank_without_work,
    regions_to_report,
)
from perfield.analysis.groups import Group, group_of
from perfield.analysis.observed import COMPUTING, Observed, once
from perfield.topology import Placement, usable_pus

CAUSES = ("cells", "points", "ghost_cells", "sent_bytes")  # in the order of the summary
FIELDS = (*COMPUTING, "compute_cpu_time_s", *CAUSES)
OF_GROUP = 0.8  # of the slowest ranks must be in a group that is named in their place
OF_SLOWEST = 0.5  # of what the slowest ranks compute above the mean, a group must
IN_A_REGION = 0.03  # of the run's time, for a difference that all compute time does not show
OFTEN = 2  # times in a step
SLOWER = 1.1  # than the mean, in a region alone: less comes and goes with the system
OF_REGIONS = ("<region>_compute_time_s", "<region>_time_s", "<region>_count")


@dataclass(frozen=True)
class UnevenRegion:
    """A region in which ranks differ. saved_s : what balancing it would save. name : in the program."""

    stem: str
    name: str
    saved_s: float


@dataclass(frozen=True)
class Imbalance:
    """How ranks differ in compute time, without what they waited for a PU.

    compute : float64 (n_rows, n_columns), s. found : whether and how they differ. explained : by what.
    cost : of cells, where their number explains nothing and the same ranks are slowest; None.
    group : what the slowest ranks have in common, which are then all that have it; None. slowest : columns of
    those of them that are slower than the others, or of all. inside : the name of the region whose compute
    time this is; "" for all compute time.
    """

    compute: np.ndarray
    found: Differences
    explained: Explanation
    cost: CostOfCells | None
    group: Group | None = None
    slowest: tuple[int, ...] = ()
    inside: str = ""

    @property
    def columns(self) -> np.ndarray:
        """int64, columns of the ranks that are slowest step after step; empty without such."""
        return np.array(self.found.most, np.int64)

    @property
    def times_mean(self) -> float:
        """Compute time of the slowest ranks, over the mean of all; of most steps where few others hide it."""
        if self.found.in_most_steps:
            return self.found.usual
        of_rank = self.compute.sum(axis=0)
        return float(of_rank[self.columns].mean() / of_rank.mean())


def imbalance_of(observed: Observed, region: UnevenRegion | None = None) -> Imbalance:
    """How ranks differ in compute time, or in that of a region, and why."""
    if region is None:
        compute, inside = np.nan_to_num(observed.of("compute_time_s").astype(float)), ""
    else:
        compute, inside = compute_time_in(observed, region.stem), region.name
    found = differences(compute)
    is_of_all_steps = not (region or found.in_most_steps or found.turns)
    sums = largest_and_mean(observed) if is_of_all_steps else None
    if sums is not None:  # of steps, not of rows
        largest, mean = sums
        found = replace(found, saved=largest - mean, ratio=largest / mean)
    causes = {name: observed.tables.get(name) for name in CAUSES}
    group, slowest = _group_of(observed, compute, found), found.most
    if group is not None:
        found = _found_of(group, compute, found)
    followed = follow_counts(compute, found, causes) or follow_counts(compute, found, counts_of(observed))
    if followed is not None:
        found, explained = followed
    elif found.pattern == "chance":
        explained = Explanation(None, 1.0)
    else:
        explained = explanation(compute, found, causes)
    found = replace(found, saved=min(found.saved, _most_to_save(observed)))
    cells, cost = causes["cells"], None
    if found.names_ranks and not explained.cause and cells is not None:
        cost = cost_of_cells(compute, found, cells)
    return Imbalance(compute, found, explained, cost, group, slowest or found.most, inside)


def counts_of(observed: Observed) -> dict[str, np.ndarray]:
    """How often ranks entered regions that run twice a step or more, by name of the field; a region that runs
    once has nothing to count. The region with most time comes first."""
    tables = {
        stem: np.nan_to_num(t.astype(float)) for stem, t in observed.of_regions("<region>_count").items()
    }
    often = [stem for stem, t in tables.items() if t.mean() >= OFTEN * observed.steps_in_row.mean()]
    often.sort(key=lambda stem: -np.nansum(observed.of(f"{stem}_time_s"), dtype=float))
    return {f"{stem}_count": tables[stem] for stem in often}


def _group_of(observed: Observed, compute: np.ndarray, found: Differences) -> Group | None:
    """The group of ranks that differ from the others, unless the slowest are others, or are far slower."""
    group = None if found.pattern == "moving" else group_of(observed, compute)
    if group is None or not found.most:
        return group
    of_rank = compute.sum(axis=0)
    above, slowest = (of_rank[list(ranks)].mean() - of_rank.mean() for ranks in (group.columns, found.most))
    are_in_it = np.isin(found.most, group.columns).mean() >= OF_GROUP
    return group if are_in_it and above >= OF_SLOWEST * slowest else None


def _found_of(group: Group, compute: np.ndarray, found: Differences) -> Differences:
    """How ranks differ if a group has most. Where no rank stands out, balancing the group saves what its
    ranks compute above the mean."""
    above = float((compute[:, group.columns].mean(axis=1) - compute.mean(axis=1)).sum())
    return replace(
        found,
        pattern="fixed",
        most=tuple(group.columns.tolist()),
        saved=above if found.pattern == "chance" else found.saved,
        chance=group.chance,
        in_most_steps=False,
    )


@once
def imbalance_to_report(observed: Observed, least: float) -> tuple[Imbalance, list[UnevenRegion]] | None:
    """The imbalance that is beyond chance and costs enough, and the regions it is in; None without one.

    It is that of the region in which ranks differ most, where all compute time differs by chance only.
    least : what it must cost, of the run's time.
    """
    imbalance, regions = imbalance_of(observed), uneven_regions(observed)
    if observed.has_delays:  # times of regions contain them
        regions = []
    if imbalance.found.pattern == "chance" and regions:
        regions, least = regions[:1], max(least, IN_A_REGION)
        imbalance = imbalance_of(observed, regions[0])
        if imbalance.found.names_ranks and not _lasts(imbalance, least * observed.elapsed_s):
            return None
    found = imbalance.found
    if found.pattern == "chance" or found.saved < least * observed.elapsed_s:
        return None
    if rank_without_work_alone(observed) is not None and not imbalance.inside:
        return None
    return imbalance, regions


@once
def rank_without_work_alone(observed: Observed) -> int | None:
    """The column of the one rank without work, if the compute times of the others differ by chance only:
    it is all that the imbalance is."""
    compute = np.nan_to_num(observed.of("compute_time_s").astype(float))
    idle = rank_without_work(compute)
    if idle is None or differences(np.delete(compute, idle, axis=1)).pattern != "chance":
        return None
    return idle


def largest_and_mean(observed: Observed) -> tuple[float, float] | None:
    """Compute time of the slowest rank of each step, and of the mean, both added up over the steps, s; None
    where it is not known. Their ratio is the imbalance of a run, and their difference what it costs."""
    if "compute_time_s" not in observed.largest:
        return None
    mean = float(observed.totals["compute_time_s"].sum()) / len(observed.ranks)
    return (float(observed.largest["compute_time_s"].sum()), mean) if mean > 0 else None


def most_to_save(step_s: np.ndarray, work_s: float, ranks: np.ndarray, placement: Placement | None) -> float:
    """What balancing could save at most, s: the PUs of the ranks must supply the CPU time for which they
    compute, however it is divided among them. The summary does the same (`summary/imbalance.cpp`).

    step_s : of each rank, in all steps. work_s : CPU time of computing, of all these ranks. placement : None
    if nobody knows their PUs; each rank then has one.
    """
    n_pus = len(ranks) if placement is None else usable_pus(placement, ranks)
    return max(float(step_s.max(initial=0.0)) - work_s / max(n_pus, 1), 0.0)


def _most_to_save(observed: Observed) -> float:
    step_s = np.nansum(observed.of("step_time_s"), axis=0, dtype=float)
    work_s = float(np.nansum(observed.of("compute_cpu_time_s"), dtype=float))
    return most_to_save(step_s, work_s, observed.ranks, observed.placement)


def _lasts(imbalance: Imbalance, least_s: float) -> bool:
    """Whether the slowest ranks are slower by so much in all, without what changes from step to step."""
    of_rank = imbalance.compute.sum(axis=0)
    return imbalance.times_mean >= SLOWER and of_rank[imbalance.columns].mean() - of_rank.mean() >= least_s


def compute_time_in(observed: Observed, stem: str) -> np.ndarray:
    """A region's time without MPI and files, float64 (n_rows, n_columns), s; 0 where it was not entered."""
    table = observed.tables.get(f"{stem}_compute_time_s")
    if table is None:  # no region of the run holds calls
        table = observed.of(f"{stem}_time_s")
    return np.nan_to_num(table.astype(float))


def uneven_regions(observed: Observed) -> list[UnevenRegion]:
    """The regions in which ranks differ by more than chance, those with most to save first."""
    stems = list(observed.of_regions("<region>_time_s"))
    saved, most = [], _most_to_save(observed)
    for stem in stems:
        found = differences(compute_time_in(observed, stem))
        saved.append(0.0 if found.pattern == "chance" else found.saved)
    elapsed = observed.elapsed_s
    all_time = np.nansum(observed.of("step_time_s"), dtype=float)
    share = [float(np.nansum(observed.of(f"{stem}_time_s"), dtype=float) / all_time) for stem in stems]
    chosen = regions_to_report(saved, share, elapsed, most)
    return [UnevenRegion(stems[at], observed.regions[stems[at]], min(saved[at], most)) for at in chosen]
