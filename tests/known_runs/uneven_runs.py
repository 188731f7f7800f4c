# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose ranks closed different numbers of steps."""

from __future__ import annotations

from pathlib import Path

from twins import twin


def uneven_run(path, closed, *, label=None, time_s=None, groups=None, reason="finalize", **options) -> Path:
    """A run whose rank r closed closed[r] steps.

    label(rank, step), time_s(rank, step): what the program gave; by default it counts closings and gives no
    time. groups : the group of each rank; one of all by default. options : of twin.write_run.
    """

    def change(rank, step, values):
        values["label"] = label(rank, step) if label else step
        values["time"] = time_s(rank, step) if time_s else float("nan")
        return step < closed[rank]

    def end(rank, values):
        values |= {"steps": closed[rank], "reason": reason}

    if groups:
        options["change_rank"] = lambda rank, values: values.update(group=groups[rank])
    return twin.write_run(
        path, ranks=len(closed), steps=max(closed), change_step=change, change_end=end, **options
    )
