# SPDX-License-Identifier: BSD-3-Clause
"""Named communication topologies: chains, rings, meshes, random graphs, and a user's matrix.

Offsets count ranks. `by_send` and `by_receive` of the same offsets are transposes of each other: a program
in which each rank sends to rank + 1 is one in which each rank receives from rank - 1. The paper's README
calls "d = +-1, -2" what a rank sends to: rank + 1, rank - 1 and rank - 2. A rank then receives from rank - 1,
rank + 1 and rank + 2. The README's text names other senders; its sends decide here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology, topology

_AT_ONCE = 2**20  # gaps of a random graph


def by_send(n: int, offsets: Sequence[int], *, periodic: bool = False) -> Topology:
    """Rank i sends to i + o for each offset o, so i receives from i - o.

    Offsets that come twice count once, and a rank never sends to itself. periodic : modulo n; else ranks
    outside 0 to n - 1 are left out.
    """
    receiver = np.repeat(np.arange(n), len(offsets))
    sender = receiver - np.tile(np.array(offsets, np.int64), n)
    if periodic:
        sender %= n
    there = (sender >= 0) & (sender < n)
    return _each_once(n, receiver[there], sender[there])


def by_receive(n: int, offsets: Sequence[int], *, periodic: bool = False) -> Topology:
    """Rank i receives from i + o for each offset o: the transpose of `by_send`."""
    return by_send(n, [-offset for offset in offsets], periodic=periodic)


def chain(n: int, *, bidirectional: bool = False, distance: int = 1) -> Topology:
    """An open chain: rank i receives from i - distance (Fig. 4b), if bidirectional also from i + distance
    (Fig. 4a). distance = 2 is the paper's next-to-next neighbour."""
    return by_send(n, _both(distance, bidirectional))


def ring(n: int, *, bidirectional: bool = False, distance: int = 1) -> Topology:
    """A chain whose ends are neighbours: ranks count modulo n."""
    return by_send(n, _both(distance, bidirectional), periodic=True)


def compact(n: int, distance: int, *, bidirectional: bool = False, periodic: bool = False) -> Topology:
    """Rank i receives from all of i - 1 to i - distance, if bidirectional also from i + 1 to i + distance."""
    ways = [o for d in range(1, distance + 1) for o in _both(d, bidirectional)]
    return by_send(n, ways, periodic=periodic)


def mesh(
    shape: Sequence[int], *, periodic: bool | Sequence[bool] = False, bidirectional: bool = True
) -> Topology:
    """A Cartesian mesh of any dimension: neighbours have distance 1 along one axis.

    shape : ranks along each axis; ranks count row-major, as in MPI_Cart_create. periodic : of all axes, or
    one each. bidirectional : else a rank receives only from its lower neighbours, as in a Gauss-Seidel sweep.
    """
    shape = tuple(int(length) for length in shape)
    if not shape or min(shape) < 1:
        raise ModelError(f"a mesh of the shape {shape} has no ranks; give at least 1 along each axis.")
    around = [periodic] * len(shape) if isinstance(periodic, bool) else list(periodic)
    if len(around) != len(shape):
        raise ModelError(
            f"periodic has {len(around)} values, but the mesh has {len(shape)} axes; give one for each."
        )
    number = np.arange(int(np.prod(shape))).reshape(shape)
    receiver, sender = [], []
    for axis, (length, wraps) in enumerate(zip(shape, around)):
        lower, upper = number.take(range(length - 1), axis), number.take(range(1, length), axis)
        if wraps:
            lower, upper = np.roll(number, 1, axis), number
        receiver.append(upper.ravel())
        sender.append(lower.ravel())
        if bidirectional:
            receiver.append(lower.ravel())
            sender.append(upper.ravel())
    return _each_once(number.size, np.concatenate(receiver), np.concatenate(sender))


def all_to_all(n: int) -> Topology:
    """Every rank receives from every other one, as in the Kuramoto model (eq. 1)."""
    receiver, sender = np.divmod(np.arange(n * n), n)
    there = receiver != sender
    return topology(n, receiver[there], sender[there])


def random_graph(n: int, probability: float, *, seed: int, directed: bool = True) -> Topology:
    """An Erdos-Renyi graph: each pair has an edge with this probability; directed : each way by itself.

    The same seed gives the same graph. `Topology.is_connected` and `remarks` say whether it falls apart.
    """
    if not 0 < probability <= 1:
        raise ModelError(
            f"probability = {probability} is not a probability of an edge; give more than 0, up to 1."
        )
    n_pairs = n * (n - 1) if directed else n * (n - 1) // 2
    chosen = _each_with(probability, n_pairs, np.random.default_rng(seed))
    if directed:
        receiver, other = np.divmod(chosen, max(n - 1, 1))
        return topology(n, receiver, other + (other >= receiver))
    upper = ((1 + np.sqrt(1 + 8 * chosen.astype(float))) // 2).astype(np.int64)  # pairs (1,0) (2,0) (2,1) ...
    lower = chosen - upper * (upper - 1) // 2
    return topology(n, np.concatenate([upper, lower]), np.concatenate([lower, upper]))


def from_matrix(matrix: object) -> Topology:
    """A user's T, an array or a sparse matrix (n, n): row = receiver, column = sender, entry = weight.

    Zeros are no edges. Raises ModelError if the matrix is not square or has entries on its diagonal.
    """
    from scipy.sparse import coo_array

    entries = coo_array(matrix)
    if entries.shape[0] != entries.shape[1]:
        raise ModelError(f"T has the shape {entries.shape}; give a row and a column for each rank.")
    entries.sum_duplicates()
    there = entries.data != 0
    return topology(
        entries.shape[0], entries.row[there], entries.col[there], entries.data[there].astype(float)
    )


def _both(distance: int, bidirectional: bool) -> tuple[int, ...]:
    return (distance, -distance) if bidirectional else (distance,)


def _each_once(n: int, receiver: np.ndarray, sender: np.ndarray) -> Topology:
    """Leaves out edges from a rank to itself, and edges that come again."""
    there = receiver != sender
    edges = np.unique(np.stack([receiver[there], sender[there]]), axis=1)
    return topology(n, edges[0], edges[1])


def _each_with(probability: float, n: int, generator: np.random.Generator) -> np.ndarray:
    """The numbers from 0 to n - 1 that are chosen, each with this probability; ascending int64.

    Gaps between them are geometric, so this takes time and memory for the chosen ones only.
    """
    parts, last = [np.zeros(0, np.int64)], -1
    while last < n - 1:
        gaps = generator.geometric(probability, min(_AT_ONCE, max(n, 1)))
        at = last + np.cumsum(np.minimum(gaps, n + 1), dtype=np.int64)
        parts.append(at[at < n])
        last = int(at[-1])
    return np.concatenate(parts)
