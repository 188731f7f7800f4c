# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose ranks compute for times that are given, and wait for the slowest."""

from __future__ import annotations

import random

import twin

SIZES = (("cells", "1", "rank", "max", "last"), ("ghost_cells", "1", "rank", "max", "last"))


def write(path, compute, *, sizes=(), more=(), change=None, **options):
    """A run whose rank r computes compute[step][r] ns, and waits in an allreduce till the slowest is done.

    sizes : for each of SIZES, the numbers of the ranks. more : quantities besides, for `change`.
    change(rank, step, values) : further changes.
    """

    def change_step(rank, step, values):
        mine, longest = int(compute[step][rank]), int(max(compute[step])) + 1000
        values["measured_ns"] = longest
        values["messages"], values["waits"] = [], []
        values["regions"] = [twin.region_row(1, longest)]
        values["calls"] = [{"call": twin.WAITALL, "time_class": twin.WAIT, "count": 1, "ns": longest - mine}]
        values["quantities"] = [{"region": 1, "quantity": twin.WAIT, "value": longest - mine}]
        for number, of_ranks in enumerate(sizes):
            row = {"region": twin.OF_RANK, "quantity": n_known + number, "value": of_ranks[rank]}
            values["quantities"].append(row)
        return change(rank, step, values) if change else None

    n_known = len(twin.QUANTITIES)
    quantities = (*twin.QUANTITIES, *SIZES[: len(sizes)], *more)
    return twin.write_run(
        path,
        ranks=len(compute[0]),
        steps=len(compute),
        change_step=change_step,
        quantities=quantities,
        mesh=False,
        **options,
    )


def noisy(costs, steps=60, spread=0.05, seed=1):
    """compute[step][rank] in ns: the costs in ms with independent noise."""
    source = random.Random(seed)
    return [[1e6 * cost * source.lognormvariate(0, spread) for cost in costs] for _ in range(steps)]
