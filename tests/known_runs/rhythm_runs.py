# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose ranks begin and end their steps when the test says so.

from known_runs import rhythm_runs

rhythm_runs.write(path, {0: [(0, 1), (1, 2)], 1: [(0.5, 1.5), (1.5, 2.5)]})  # (begin, end) in s, by rank
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from twins import twin

NOT_MEASURED = 4  # flag of a step entry


def write(
    path: Path,
    stamps: Mapping[int, Sequence[tuple[float, float] | None]],
    *,
    change: Callable[[int, int, dict], bool | None] | None = None,
    rank_values: Mapping[str, object] | None = None,
    **options,
) -> Path:
    """A run whose rank r takes its step n from stamps[r][n][0] to stamps[r][n][1]; None: no entry.

    change(rank, step, values) : changes an entry further, as for twin.write_run, whose options follow.
    """

    def step(rank: int, number: int, values: dict) -> bool | None:
        if number >= len(stamps[rank]) or stamps[rank][number] is None:
            return False
        begin, end = (round(stamp * 1e9) for stamp in stamps[rank][number])
        values.update(begin_ns=begin, end_ns=end, measured_ns=end - begin, label=number)
        return change(rank, number, values) if change else None

    def end(rank: int, values: dict) -> None:
        values["steps"] = len(stamps[rank])

    def about_rank(rank: int, values: dict) -> None:
        values.update(monotonic_ns=10**12, group="heat", **(rank_values or {}))

    options = {"mesh": False, "change_rank": about_rank, "change_end": end, **options}
    return twin.write_run(
        path, len(stamps), max(len(ends) for ends in stamps.values()), change_step=step, **options
    )


def even(ranks: int, steps: int, period_s: float = 1.0, behind_s: Sequence[float] | None = None) -> dict:
    """Stamps of ranks that take equal steps; rank r begins behind_s[r] late."""
    begin = np.arange(steps) * period_s
    late = np.zeros(ranks) if behind_s is None else np.asarray(behind_s)
    return {rank: [(at + late[rank], at + late[rank] + period_s) for at in begin] for rank in range(ranks)}


def steps_of(stamps: Mapping[int, Sequence[tuple[float, float] | None]]) -> xr.Dataset:
    """The Dataset of steps that `perfield.studies.rhythm.model.phases` takes, without a run."""
    n_steps = max(len(ends) for ends in stamps.values())
    both = np.full((2, n_steps, len(stamps)), np.nan)
    for rank, of_rank in stamps.items():
        for number, stamp in enumerate(of_rank):
            if stamp is not None:
                both[:, number, rank] = stamp
    dims = ("step", "rank")
    return xr.Dataset(
        {
            "begin_s": (dims, both[0]),
            "end_s": (dims, both[1]),
            "clock_uncertainty_s": ("rank", [0.0] * len(stamps)),
        },
        {"step": np.arange(n_steps), "rank": list(stamps)},
    )


def waiting(
    ranks: int, steps: int, period_s: float = 1.0, delay: tuple[int, int, float] | None = None
) -> dict[int, list[tuple[float, float]]]:
    """Stamps of ranks in a row that wait for both neighbours at the end of each step.

    delay : rank, step and length, s, of one longer step.
    """
    now = np.zeros(ranks)
    stamps: dict[int, list[tuple[float, float]]] = {rank: [] for rank in range(ranks)}
    for step in range(steps):
        computed = now + period_s
        if delay and delay[1] == step:
            computed[delay[0]] += delay[2]
        end = computed.copy()
        end[1:] = np.maximum(end[1:], computed[:-1])
        end[:-1] = np.maximum(end[:-1], computed[1:])
        for rank in range(ranks):
            stamps[rank].append((now[rank], end[rank]))
        now = end
    return stamps


def drifting(ranks: int, steps: int, period_s: float = 1.0, longer: float = 0.01) -> dict:
    """Stamps of ranks that never wait: each step of rank r takes 1 + longer * r periods."""
    lengths = period_s * (1 + longer * np.arange(ranks))
    return {rank: [(n * one, (n + 1) * one) for n in range(steps)] for rank, one in enumerate(lengths)}
