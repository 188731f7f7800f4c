# SPDX-License-Identifier: BSD-3-Clause
"""The communication topology: which rank receives from which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from perfield.analysis.pair_keys import pair_keys
from perfield.studies.rhythm.model.errors import ModelError
from perfield.text import in_ranks


@dataclass(frozen=True)
class Topology:
    """A directed graph of `n` ranks: an edge says that `receiver` receives from `sender` (T_ij = 1, eq. 2).

    receiver, sender : int64 (n_edges,), sorted by receiver, then sender; no pair twice. weight : float64
    (n_edges,), T_ij. `topology` makes one.
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

    @cached_property
    def answered(self) -> np.ndarray:
        """Whether each edge has one in the other direction, bool (n_edges,)."""
        return np.isin(pair_keys(self.sender, self.receiver), pair_keys(self.receiver, self.sender))

    @cached_property
    def isolated(self) -> np.ndarray:
        """The ranks that neither receive nor send, int64, ascending."""
        return np.flatnonzero((self.degree == 0) & (np.bincount(self.sender, minlength=self.n) == 0))

    @cached_property
    def group(self) -> np.ndarray:
        """int64 (n,), the number of each rank's group, from 0: edges of either direction join ranks."""
        edges = csr_array((np.ones(self.n_edges), (self.receiver, self.sender)), shape=(self.n, self.n))
        return connected_components(edges, directed=True, connection="weak")[1].astype(np.int64)

    @property
    def is_connected(self) -> bool:
        """Whether every rank is joined to every other one, by edges of either direction."""
        return not self.group.any()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know before believing the model: a sentence each; often ()."""
        found = []
        alone, n_groups = self.isolated, int(self.group.max()) + 1
        if len(alone):
            these = "it" if len(alone) == 1 else "them"
            found.append(
                f"no edge begins or ends at {in_ranks(alone, 8)} (of {self.n}), so nothing couples {these} "
                f"to the others; leave {these} out, or add edges."
            )
        if n_groups - len(alone) > 1:
            found.append(
                f"the topology falls into {n_groups - len(alone)} groups without edges between them; they "
                "cannot synchronise with one another, so take each group by itself, or add edges."
            )
        return tuple(found)

    def transposed(self) -> Topology:
        """The topology in which every message goes the other way."""
        return topology(self.n, self.sender, self.receiver, self.weight)

    def weighted(self, weight: np.ndarray) -> Topology:
        """The same edges with other weights, float64 (n_edges,). Raises ModelError if they do not fit."""
        return topology(self.n, self.receiver, self.sender, weight)


def topology(n: int, receiver: np.ndarray, sender: np.ndarray, weight: np.ndarray | None = None) -> Topology:
    """A Topology from its edges, in any order; weights are 1 unless given.

    Raises ModelError for fewer than two ranks, without edges, if a rank would receive from itself or does not
    exist, if a pair comes twice, and if weights do not fit the edges or are no numbers.
    """
    receiver, sender = np.asarray(receiver, np.int64), np.asarray(sender, np.int64)
    weight = np.ones(len(receiver)) if weight is None else np.asarray(weight, float)
    if n < 2:
        raise ModelError(f"a topology needs 2 ranks or more to couple, but n = {n}; give more.")
    if not len(receiver) == len(sender) == len(weight):
        raise ModelError(
            f"{len(receiver)} receivers, {len(sender)} senders and {len(weight)} weights do not fit; give "
            "one of each per edge."
        )
    if not len(receiver):
        raise ModelError(
            f"no rank of {n} would receive from another one; give at least one edge. To see ranks without "
            "coupling, set the coupling to 0."
        )
    if not 0 <= min(receiver.min(), sender.min()) <= max(receiver.max(), sender.max()) < n:
        raise ModelError(f"an edge names a rank outside 0 to {n - 1}; give ranks of this topology only.")
    if (receiver == sender).any():
        rank = int(receiver[receiver == sender][0])
        raise ModelError(f"rank {rank} would receive from itself; leave such edges out.")
    if not np.isfinite(weight).all():
        at = int(np.flatnonzero(~np.isfinite(weight))[0])
        raise ModelError(
            f"the weight of the edge {sender[at]} -> {receiver[at]} is {weight[at]}; give finite numbers."
        )
    order = np.lexsort((sender, receiver))
    receiver, sender, weight = receiver[order], sender[order], weight[order]
    twice = (np.diff(receiver) == 0) & (np.diff(sender) == 0)
    if twice.any():
        at = int(np.flatnonzero(twice)[0])
        raise ModelError(f"the edge {sender[at]} -> {receiver[at]} comes twice; add up its weights first.")
    return Topology(n, receiver, sender, weight)
