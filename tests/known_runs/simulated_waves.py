# SPDX-License-Identifier: BSD-3-Clause
"""Steps of ranks that wait for their partners' messages, computed: delays and their waves are known exactly.

A rank computes, then waits until the messages of the same step are there (max-plus). With rendezvous a sender
also waits until its receivers are ready.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

T_COMP, T_COMM = 0.009, 0.001  # s


def chain(n: int, offsets: Sequence[int] = (1,), *, ring: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Receivers and senders: rank i receives from i - o for each offset."""
    pairs = [(i, (i - o) % n if ring else i - o) for i in range(n) for o in offsets]
    kept = np.array([pair for pair in pairs if 0 <= pair[1] < n])
    return kept[:, 0], kept[:, 1]


def mesh(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Receivers and senders of a two-dimensional mesh, ranks row by row."""
    rank = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([rank[:, :-1].ravel(), rank[:, 1:].ravel()])
    down = np.stack([rank[:-1].ravel(), rank[1:].ravel()])
    pairs = np.concatenate([across, down, across[::-1], down[::-1]], axis=1)
    return pairs[0], pairs[1]


def simulated(
    n_steps: int,
    n_ranks: int,
    edges: tuple[np.ndarray, np.ndarray],
    delays: Sequence[tuple[int, int, float]] = (),
    *,
    noise: float = 0.0,
    seed: int = 0,
    compute: np.ndarray | float = T_COMP,
    collective_every: int = 0,
    rendezvous: bool = False,
) -> dict[str, np.ndarray]:
    """begin_s, end_s, compute_time_s, waiting_time_s and collective_s, float64 (n_steps, n_ranks).

    delays : (rank, step, s). noise : mean of exponential noise of each computing step, in periods. compute :
    s, in any shape that broadcasts. collective_every : steps after which all ranks wait for all.
    """
    shape = n_steps, n_ranks
    receiver, sender = edges
    period = T_COMP + T_COMM
    computing = np.broadcast_to(np.asarray(compute, float), shape).copy()
    computing += noise * period * np.random.default_rng(seed).exponential(size=shape)
    for rank, step, delay in delays:
        computing[step, rank] += delay
    begin, end, waiting, collective = np.zeros((4, *shape))
    now = np.zeros(n_ranks)
    for step in range(n_steps):
        begin[step] = now
        ready = now + computing[step]
        there = ready.copy()
        np.maximum.at(there, receiver, ready[sender])
        if rendezvous:
            np.maximum.at(there, sender, ready[receiver])
        waiting[step] = there - ready
        now = there + T_COMM
        if collective_every and step % collective_every == collective_every - 1:
            collective[step] = now.max() - now
            now = np.full(n_ranks, now.max())
        end[step] = now
    return {
        "begin_s": begin,
        "end_s": end,
        "compute_time_s": computing,
        "waiting_time_s": waiting,
        "collective_s": collective,
    }
