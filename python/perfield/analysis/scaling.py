# SPDX-License-Identifier: BSD-3-Clause
"""How a program scales: runs of different numbers of ranks, compared by the time of a step.

The thesis asks for speed-up and parallel efficiency in section 2.2.1 and shows them in Figures 6.9 and 6.10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perfield.analysis.scaling_laws import STRONG, WEAK, Curve, ScalingError, curve
from perfield.text import counted, in_list

SAME_CELLS, SAME_WORK = 1.10, 1.25  # problems are equally large up to these factors


@dataclass(frozen=True)
class Measured:
    """What one run measured.

    name : of the run, for messages. program : what ran. n_ranks : number of ranks.
    step_s : (n_steps,) s, each step's time on the rank that took longest. is_output : (n_steps,) bool, steps
        that write output.
    compute_mean_s, compute_largest_s : (n_steps,) s, mean and largest compute time over ranks; NaN where
        unknown.
    regions : name -> (n_steps,) s, the region's time on the rank that spent longest in it; NaN where no rank
        entered it.
    memory_bytes : (n_ranks,) B, each rank's largest resident memory in any step; NaN if unknown.
    whole_s : s from the first rank's start to the last rank's end; NaN if unknown.
    sizes : what the run knows of the size of its problem, all ranks together and per step: "cells", "points",
        "instructions".
    calls : region -> how often all ranks together enter it in a step; only regions that all ranks enter.
    steps_end : what closes a step, in words; "" for a step call of the program's own. sharing : which ranks
        share PUs, in words; "" if none do.
    """

    name: str
    program: str
    n_ranks: int
    step_s: np.ndarray
    is_output: np.ndarray
    compute_mean_s: np.ndarray
    compute_largest_s: np.ndarray
    regions: Mapping[str, np.ndarray] = field(default_factory=dict)
    memory_bytes: np.ndarray = field(default_factory=lambda: np.zeros(0))
    whole_s: float = np.nan
    sizes: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, float] = field(default_factory=dict)
    steps_end: str = ""
    sharing: str = ""


@dataclass(frozen=True)
class Scaling:
    """How a program scales.

    kind : "strong" or "weak". because : the reason, in words.
    steps : of the median step that writes no output. whole : of the whole runs, with their setup; None if
        they did different numbers of steps, or their ends are unknown. regions : of each region, by name.
    load_balance, communication_efficiency, computation_scaling : (n_sizes,), as POP defines them, but of each
        step by itself: mean over largest compute time of the ranks; largest compute time over the step's
        time; and how far compute time stays what it was on the fewest ranks (strong: added up over ranks;
        weak: per rank). Their product, over that of the first two on the fewest ranks, is about
        `steps.efficiency`.
    memory_mean_bytes, memory_largest_bytes : (n_sizes,) B, mean and largest over ranks of their largest
        resident memory.
    n_steps, n_output : (n_sizes,) steps of all runs with that many ranks, and those that write output.
    notes : sentences on what limits the comparison.
    """

    kind: str
    because: str
    steps: Curve
    whole: Curve | None
    regions: Mapping[str, Curve]
    load_balance: np.ndarray
    communication_efficiency: np.ndarray
    computation_scaling: np.ndarray
    memory_mean_bytes: np.ndarray
    memory_largest_bytes: np.ndarray
    n_steps: np.ndarray
    n_output: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def lost_s(self) -> dict[str, float]:
        """By region: seconds of a step on the most ranks beyond what perfect scaling from the fewest would
        leave; only regions with times on both."""
        ends = self.steps.n_ranks[[0, -1]]
        return {
            name: float(of.time_s[-1] * (1.0 - min(of.efficiency[-1], 1.0)))
            for name, of in self.regions.items()
            if (of.n_ranks[[0, -1]] == ends).all()
        }


def kind_of(runs: Sequence[Measured]) -> tuple[str, str]:
    """Whether runs are of strong or weak scaling, and the reason, in words.

    Strong: all ranks together have the same cells, whatever their number. Weak: each rank has. Points count
    where cells are unknown, and instructions where both are. A region that all ranks enter, and whose entries
    add up to the same number, shows strong scaling; the other way round shows nothing, as a solver may
    iterate as often on any number of ranks.
    Raises ScalingError where the runs do not show it, or mix both.
    """
    n_ranks = np.array([run.n_ranks for run in runs], float)
    for what in ("cells", "points", "instructions"):
        size = np.array([run.sizes.get(what, np.nan) for run in runs])
        if not (size > 0).all():
            continue
        same = SAME_CELLS if what == "cells" else SAME_WORK
        total, each = size.max() / size.min(), (size / n_ranks).max() / (size / n_ranks).min()
        if min(total, each) > same:
            sizes = ", ".join(f"{run.name}: {run.sizes[what]:,.0f} on {run.n_ranks}" for run in runs)
            raise ScalingError(
                f"these runs mix strong and weak scaling: neither the {what} of all ranks nor those per rank "
                f"stay the same ({sizes}); choose runs of one kind, or say --strong or --weak."
            )
        if total <= each:
            return STRONG, f"all ranks together have {_amount(size)} {what} in each run"
        return WEAK, f"each rank has about {_amount(size / n_ranks)} {what} in each run"
    for name in sorted(set.intersection(*(set(run.calls) for run in runs))):
        entries = np.array([run.calls[name] for run in runs])
        if entries.min() > n_ranks.max() and entries.max() / entries.min() <= SAME_CELLS:
            return STRONG, f"all ranks together enter '{name}' {_amount(entries)} times a step in each run"
    raise ScalingError(
        "the size of the problem of these runs is unknown, as they have no cells, points or instructions; "
        "say --strong if it was the same in all runs, or --weak if it grew with the number of ranks."
    )


def scaling(runs: Sequence[Measured], kind: str | None = None) -> Scaling:
    """Compares runs of different numbers of ranks.

    kind : STRONG or WEAK; None: as `kind_of` finds. Times are medians over the steps that write no output.
    Raises ScalingError, which says why these runs cannot be compared.
    """
    _expect_comparable(runs)
    kind, because = (kind, "you said so") if kind else kind_of(runs)
    n_ranks = np.array([run.n_ranks for run in runs])
    of_steps = curve(n_ranks, np.array([_median(run, run.step_s) for run in runs]), kind)

    def by_size(values: Sequence[float]) -> np.ndarray:
        of_runs = np.asarray(values, float)
        return np.array([of_runs[n_ranks == size].mean() for size in of_steps.n_ranks])

    compute = by_size([_mean(run, run.compute_mean_s) for run in runs])
    largest = by_size([_mean(run, run.compute_largest_s) for run in runs])
    elapsed = by_size([_mean(run, run.step_s) for run in runs])
    work = compute * (of_steps.n_ranks if kind == STRONG else 1)
    notes = _notes(runs)
    regions, missing = {}, []
    for name in dict.fromkeys(name for run in runs for name in run.regions):
        times = [_median(run, run.regions[name]) if name in run.regions else np.nan for run in runs]
        if 0 < np.isfinite(times).sum() < len(runs):
            missing.append(name)
        try:
            regions[name] = curve(n_ranks, np.array(times), kind)
        except ScalingError:
            continue
    if missing:
        notes.append(f"Not every run entered {in_list(missing)}; only runs that did count there.")
    n_steps = {len(run.step_s) for run in runs}
    whole_s = np.array([run.whole_s for run in runs])
    whole = curve(n_ranks, whole_s, kind) if len(n_steps) == 1 and np.isfinite(whole_s).all() else None
    memory = [run.memory_bytes[np.isfinite(run.memory_bytes)] for run in runs]
    return Scaling(
        kind=kind,
        because=because,
        steps=of_steps,
        whole=whole,
        regions=regions,
        load_balance=_ratio(compute, largest),
        communication_efficiency=_ratio(largest, elapsed),
        computation_scaling=_ratio(work[0], work),
        memory_mean_bytes=by_size([of_ranks.mean() if len(of_ranks) else np.nan for of_ranks in memory]),
        memory_largest_bytes=by_size([of_ranks.max() if len(of_ranks) else np.nan for of_ranks in memory]),
        n_steps=np.array(
            [sum(len(r.step_s) for r in runs if r.n_ranks == size) for size in of_steps.n_ranks]
        ),
        n_output=np.array(
            [sum(int(r.is_output.sum()) for r in runs if r.n_ranks == size) for size in of_steps.n_ranks]
        ),
        notes=tuple(notes),
    )


def _expect_comparable(runs: Sequence[Measured]) -> None:
    if len(runs) < 2:
        raise ScalingError(
            f"{len(runs)} run was given; name at least two runs of one program on different numbers of ranks."
        )
    for run in runs:
        if not len(run.step_s):
            raise ScalingError(
                f"{run.name} has no finished step that all ranks measured, so its steps have no time; "
                f"`perfield info {run.name}` says what it has."
            )
    first = runs[0]
    for run in runs[1:]:
        if run.program != first.program:
            raise ScalingError(
                f"{first.name} ran {first.program}, but {run.name} ran {run.program}; name runs of one "
                "program."
            )
        if run.steps_end != first.steps_end:
            own = "the program's own step call"
            raise ScalingError(
                f"steps of {first.name} end at {first.steps_end or own}, but those of {run.name} at "
                f"{run.steps_end or own}; measure both alike."
            )
    if len({run.n_ranks for run in runs}) < 2:
        raise ScalingError(
            f"all {len(runs)} runs have {counted(runs[0].n_ranks, 'rank')}; add runs of other numbers of "
            "ranks."
        )


def _notes(runs: Sequence[Measured]) -> list[str]:
    written = [
        f"{int(run.is_output.sum())} of {len(run.step_s)} in {run.name}"
        for run in runs
        if run.is_output.any()
    ]
    notes = [f"Steps that write output are left out: {in_list(written)}."] if written else []
    shared = sorted((run for run in runs if run.sharing), key=lambda run: run.n_ranks)
    if shared:
        sizes = in_list([str(size) for size in dict.fromkeys(run.n_ranks for run in shared)])
        notes.append(f"Ranks share PUs in runs of {sizes} ranks. In {shared[-1].name}, {shared[-1].sharing}.")
    few = [f"{run.name} has {len(_without_output(run))}" for run in runs if len(_without_output(run)) < 5]
    notes += [f"A median of fewer than five steps is unreliable: {in_list(few)}."] if few else []
    return notes


def _without_output(run: Measured) -> np.ndarray:
    """Positions of the steps that count: those without output; all, if each writes some."""
    return np.flatnonzero(~run.is_output) if not run.is_output.all() else np.arange(len(run.is_output))


def _median(run: Measured, values: np.ndarray) -> float:
    """The median over steps that have a value, times the share of steps that have one."""
    typical = values[_without_output(run)]
    present = typical[np.isfinite(typical)]
    return float(np.median(present)) * len(present) / len(typical) if len(present) else np.nan


def _mean(run: Measured, values: np.ndarray) -> float:
    typical = values[_without_output(run)]
    return float(np.nanmean(typical)) if np.isfinite(typical).any() else np.nan


def _ratio(values: np.ndarray, over: np.ndarray) -> np.ndarray:
    """NaN where either is unknown or the second is 0."""
    return np.divide(values, over, out=np.full(len(over), np.nan), where=over > 0)


def _amount(values: np.ndarray) -> str:
    return f"{np.median(values):,.0f}" if np.median(values) < 1e6 else f"{np.median(values):.3g}"
