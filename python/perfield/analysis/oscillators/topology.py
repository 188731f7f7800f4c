# SPDX-License-Identifier: BSD-3-Clause
"""The communication topology: which rank receives from which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from perfield.analysis.oscillators.errors import ModelError


@dataclass(frozen=True)
class Topology:
    """A directed graph of `n` ranks: an edge says that `receiver` receives from `sender` (T_ij = 1, eq. 2).

    receiver, sender : int64 (n_edges,), sorted by receiver, then sender; no pair twice. weight : float64
    (n_edges,), T_ij. Use `topology` to make one.
    """

    n: int
    receiver: np.ndarray
    sender: np.ndarray
    weight: np.ndarray

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.receiver)

    @cached_property
    def degree(self) -> np.ndarray:
        """From how many ranks each receives, int64 (n,)."""
        return np.bincount(self.receiver, minlength=self.n)

    @cached_property
    def matrix(self) -> csr_array:
        """T as a sparse matrix (n, n): row = receiver, column = sender."""
        return csr_array((self.weight, (self.receiver, self.sender)), shape=(self.n, self.n))


def topology(n: int, receiver: np.ndarray, sender: np.ndarray, weight: np.ndarray | None = None) -> Topology:
    """A Topology from its edges, in any order; weights are 1 unless given.

    Raises ModelError if a rank would receive from itself, if a pair comes twice, or if a rank does not exist.
    """
    receiver, sender = np.asarray(receiver, np.int64), np.asarray(sender, np.int64)
    weight = np.ones(len(receiver)) if weight is None else np.asarray(weight, float)
    if len(receiver) and not (
        0 <= min(receiver.min(), sender.min()) <= max(receiver.max(), sender.max()) < n
    ):
        raise ModelError(f"an edge names a rank outside 0 to {n - 1}; give ranks of this topology only.")
    if (receiver == sender).any():
        rank = int(receiver[receiver == sender][0])
        raise ModelError(f"rank {rank} would receive from itself; leave such edges out.")
    order = np.lexsort((sender, receiver))
    receiver, sender, weight = receiver[order], sender[order], weight[order]
    twice = (np.diff(receiver) == 0) & (np.diff(sender) == 0)
    if twice.any():
        at = int(np.flatnonzero(twice)[0])
        raise ModelError(f"the edge {sender[at]} -> {receiver[at]} comes twice; add up its weights first.")
    return Topology(n, receiver, sender, weight)


def from_offsets(n: int, offsets: tuple[int, ...], *, periodic: bool = False) -> Topology:
    """A chain in which rank i receives from i - o for each offset o; a ring if periodic."""
    receiver = np.repeat(np.arange(n), len(offsets))
    sender = receiver - np.tile(np.array(offsets, np.int64), n)
    if periodic:
        sender %= n
    there = (sender >= 0) & (sender < n) & (sender != receiver)
    edges = np.unique(np.stack([receiver[there], sender[there]]), axis=1)
    return topology(n, edges[0], edges[1])
