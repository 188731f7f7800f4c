# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a comparison: whole steps, efficiencies, regions, and steps that write output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfield.analysis.comparing.change import (
    Change,
    beyond_chance,
    change,
    mean_of,
    one_step,
    ratio_of_sums,
    share_as_far,
)
from perfield.analysis.comparing.measured import Measured

Numbers = Callable[[Measured, np.ndarray], np.ndarray]

STEP, EFFICIENCY, REGIONS, OUTPUT = "whole step", "efficiency", "regions", "output steps"
GROUPS = (STEP, EFFICIENCY, REGIONS, OUTPUT)
TIMES = {
    "step_time_s": "step",
    "compute_time_s": "compute",
    "delayed_compute_time_s": "waiting for a PU",
    "waiting_time_s": "waiting",
    "mpi_p2p_time_s": "MPI point-to-point",
    "mpi_wait_time_s": "MPI wait",
    "mpi_collective_time_s": "MPI collective",
    "mpi_onesided_time_s": "MPI one-sided",
    "mpi_io_time_s": "MPI-IO",
    "mpi_other_time_s": "other MPI",
    "io_time_s": "files",
    "cpu_user_time_s": "CPU time of the process, user",
    "cpu_system_time_s": "CPU time of the process, system",
}
AMOUNTS = {
    "sent_count": ("messages sent, all ranks", "1"),
    "sent_bytes": ("bytes sent, all ranks", "B"),
    "io_read_bytes": ("bytes read, all ranks", "B"),
    "io_write_bytes": ("bytes written, all ranks", "B"),
    "involuntary_switches": ("times that a PU was taken away", "1"),
}
OUTPUT_STEP = "output_step_time_s"
ALL_RANKS = "all_ranks_compute_time_s"


@dataclass(frozen=True)
class Row:
    """One number of the comparison.

    group : STEP, EFFICIENCY, REGIONS or OUTPUT. key : the field or number, the same in all comparisons;
    words : the same for people. unit : "s", "B", "1" (a number) or "%" (a share of 1). better : "lower",
    "higher" or "". beyond_chance : whether the change is more than chance; tested for the time of a step by
    itself, and for all other rows together.
    """

    group: str
    key: str
    words: str
    unit: str
    better: str
    change: Change
    beyond_chance: bool = False


def rows_of(before: Measured, after: Measured) -> list[Row]:
    """All rows: what both sides measured. Rows that are 0 on both sides are left out."""
    found = [*_whole_step(before, after), *_efficiency(before, after), *_regions(before, after)]
    found += _output(before, after)
    kept = [row for row in found if row.change.before or row.change.after]
    # The time of a step is what people ask for: its test does not share its level with the other rows.
    first = [row for row in kept if row.key == "step_time_s"]
    others = [row for row in kept if row.key != "step_time_s"]
    tested = [
        replace(row, beyond_chance=is_beyond)
        for family in (first, others)
        for row, is_beyond in zip(family, beyond_chance([row.change.chance for row in family]))
    ]
    return sorted(tested, key=lambda row: GROUPS.index(row.group))


def _whole_step(before: Measured, after: Measured) -> Iterator[Row]:
    for key, words in TIMES.items():
        if key in before.means and key in after.means:
            yield _row(STEP, key, words, "s", "lower", before, after, _mean(key))
    if before.n_ranks != after.n_ranks and all("compute_time_s" in side.means for side in (before, after)):
        numbers = _on_all_ranks("compute_time_s")
        yield _row(STEP, ALL_RANKS, "compute, all ranks together", "s", "lower", before, after, numbers)
    for key, (words, unit) in AMOUNTS.items():
        if key in before.sums and key in after.sums:
            yield _row(STEP, key, words, unit, "", before, after, _sum(key))
    if "resident_bytes" in before.largest and "resident_bytes" in after.largest:
        peaks = [float(side.largest["resident_bytes"][side.compared].max()) for side in (before, after)]
        yield Row(STEP, "resident_bytes", "memory of the largest rank", "B", "lower", Change(*peaks))


def _efficiency(before: Measured, after: Measured) -> Iterator[Row]:
    sides = before, after
    if all("compute_time_s" in side.tables and side.n_ranks > 1 for side in sides):
        yield _row(EFFICIENCY, "imbalance", "imbalance of compute", "1", "lower", *sides, _imbalance)
    if all("mpi_time_s" in side.tables and side.n_ranks > 1 for side in sides):
        for key, words in (
            ("load_balance", "load balance"),
            ("communication_efficiency", "communication efficiency"),
            ("parallel_efficiency", "parallel efficiency"),
        ):
            row = _row(EFFICIENCY, key, words, "%", "higher", *sides, _pop(key))
            ends = (
                None if end is None else float(np.clip(end, -1, 1))
                for end in (row.change.low, row.change.high)
            )
            yield replace(row, change=replace(row.change, **dict(zip(("low", "high"), ends))))  # shares of 1


def _regions(before: Measured, after: Measured) -> Iterator[Row]:
    """Regions that both have, the one whose own time changed most first."""
    found = []
    for stem, name in before.regions.items():
        key = f"{stem}_time_s"
        if stem in after.regions and key in before.means and key in after.means:
            found.append(_row(REGIONS, key, name, "s", "lower", before, after, _mean(key)))
    yield from sorted(found, key=lambda row: -abs(row.change.difference))


def _output(before: Measured, after: Measured) -> Iterator[Row]:
    """Steps that write output, where they were left out of the other rows."""
    left_out = [side.chosen & ~side.compared for side in (before, after)]
    if any(steps.any() for steps in left_out):
        counts = (float(steps.sum()) for steps in left_out)
        yield Row(OUTPUT, "output_steps", "steps that write output", "1", "", Change(*counts))
    if all(steps.any() for steps in left_out):
        sides = zip((before, after), left_out)
        times = [side.weighed(side.means["step_time_s"], steps) for side, steps in sides]
        found = change(*map(mean_of, times))
        yield Row(OUTPUT, OUTPUT_STEP, "a step that writes output", "s", "lower", found)


def _row(
    group: str,
    key: str,
    words: str,
    unit: str,
    better: str,
    before: Measured,
    after: Measured,
    numbers: Numbers,
) -> Row:
    """numbers : a number for each of some steps, whose mean is compared."""
    sides = before, after
    steps = [(numbers(side, side.compared), numbers(side, _ordinary(side))) for side in sides]
    return Row(group, key, words, unit, better, _change(sides, *zip(*steps)))


def compared(sides: tuple[Measured, Measured], series: Sequence[np.ndarray]) -> Change:
    """The change of a number. series : of both sides, the number in each of their steps, (n_steps,)."""
    chosen = [side.weighed(values, side.compared) for side, values in zip(sides, series)]
    ordinary = [values[_ordinary(side)] for side, values in zip(sides, series)]
    return _change(sides, chosen, ordinary)


def _change(
    sides: tuple[Measured, Measured], chosen: Sequence[np.ndarray], ordinary: Sequence[np.ndarray]
) -> Change:
    """The change between the means of chosen numbers. ordinary : those of ordinary steps."""
    estimates = [
        one_step(float(values[0]), others) if side.is_single else mean_of(values)
        for side, values, others in zip(sides, chosen, ordinary)
    ]
    found = change(*estimates)
    if any(side.is_single for side in sides) and found.chance is not None:
        # A t-test believes in tails like those of a normal distribution; the ordinary steps show theirs.
        as_far = [
            share_as_far(float(values[0]), others)
            for side, values, others in zip(sides, chosen, ordinary)
            if side.is_single
        ]
        found = replace(found, chance=max(found.chance, min(as_far)))
    return found


def _ordinary(side: Measured) -> np.ndarray:
    """The steps that show how single steps scatter: all that write no output, but the chosen one."""
    return ~side.is_output & ~side.chosen


def _mean(key: str) -> Numbers:
    return lambda side, steps: side.weighed(side.means[key], steps)


def _sum(key: str) -> Numbers:
    return lambda side, steps: side.weighed(side.sums[key], steps)


def _on_all_ranks(key: str) -> Numbers:
    return lambda side, steps: side.weighed(side.means[key], steps) * side.n_ranks


def _imbalance(side: Measured, steps: np.ndarray) -> np.ndarray:
    """The largest rank of each step over the mean, over all steps: the ratio of the summary."""
    table = _table(side, "compute_time_s", steps)
    return ratio_of_sums(table.max(axis=1, initial=0.0), table.mean(axis=1))


def _table(side: Measured, key: str, steps: np.ndarray) -> np.ndarray:
    """Values of ranks in some steps, (n_steps, n_ranks), as often as each frame counts."""
    return np.nan_to_num(side.tables[key][steps]).astype(float) * side.weights(steps)[:, None]


def _pop(key: str) -> Numbers:
    """Efficiencies as the POP project defines them (docs/report.md), useful being time outside MPI."""

    def numbers(side: Measured, steps: np.ndarray) -> np.ndarray:
        elapsed = _table(side, "step_time_s", steps)
        useful = elapsed - _table(side, "mpi_time_s", steps)
        longest = useful[:, useful.sum(axis=0).argmax()]
        of_run = elapsed[:, elapsed.sum(axis=0).argmax()]
        if key == "load_balance":
            return ratio_of_sums(useful.mean(axis=1), longest)
        return ratio_of_sums(longest if key == "communication_efficiency" else useful.mean(axis=1), of_run)

    return numbers
