# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose ranks compute for times that are given, and wait for the slowest."""

from __future__ import annotations

import random

from twins import twin

SIZES = (("cells", "1", "rank", "max", "last"), ("ghost_cells", "1", "rank", "max", "last"))
WITHOUT_PU = tuple(
    (name, "ns", "rank")
    for name in ("run_delay_time", "mpi_without_pu", "mpi_without_pu_at_least", "throttled_time")
)


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


def placed(cpus):
    """For `change_rank` of `write`: the PUs of each rank, such as "0-1"."""

    def change_rank(rank, values):
        values["cpuset"] = cpus[rank]

    return change_rank


def waits_for_pus(**of_rank):
    """For `change` of `write`: what ranks waited for a PU in each step, by name of a quantity."""

    def change(rank, step, values):
        for number, (name, *_) in enumerate(WITHOUT_PU):
            row = {"region": twin.OF_RANK, "quantity": len(twin.QUANTITIES) + number}
            values["quantities"].append(row | {"value": of_rank.get(name, [0] * 9)[rank]})

    return change


def with_cpu_time(cpu_ns, waited_ns=(0, 0, 0, 0)):
    """For `change` of `write`: steps of 33 ms in which ranks use so much CPU time and wait for PUs, also in
    MPI, where they have none."""

    def change(rank, step, values):
        (call,) = values["calls"]
        computed_ns = values["measured_ns"] - call["ns"]
        call["ns"] = 33_000_000 - computed_ns - waited_ns[rank]
        values |= {"measured_ns": 33_000_000, "cpu_user_ns": cpu_ns[rank], "cpu_system_ns": 0}
        waited = {
            "run_delay_time": {rank: waited_ns[rank] + call["ns"]},
            "mpi_without_pu": {rank: call["ns"]},
            "mpi_without_pu_at_least": {rank: call["ns"]},
        }
        waits_for_pus(**waited, throttled_time={rank: 0})(rank, step, values)

    return change
