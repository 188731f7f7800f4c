# SPDX-License-Identifier: BSD-3-Clause
"""Whether a locked state is stable: eigenvalues of the Jacobian there, and its zero (Goldstone) modes.

A state is locked if all oscillators of a group go at one frequency. Small deviations then follow d' = J d
with J_ij = c_ij V'(theta_j - theta_i) and rows that sum to 0, so shifting all phases together costs nothing:
a zero eigenvalue for each group of leaders, its Goldstone mode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags, hstack
from scipy.sparse.csgraph import connected_components

from perfield.studies.oscillators.model.delays import DelayFunction, RandomDelay
from perfield.studies.oscillators.model.model import Model
from perfield.studies.rhythm.model.errors import ModelError

DENSE = 1500
"""Up to so many oscillators that pull one another all eigenvalues are found, beyond only the slowest."""
SLOWEST = 12
ZERO = 1e-9
"""Of the largest pull on an oscillator: eigenvalues below it count as zero."""


@dataclass(frozen=True)
class Stability:
    """Small deviations from a locked state.

    frequency : rad/s, at which the state turns (mean over oscillators). drift : rad/s, the largest deviation
    of an oscillator's rate from that of its group; 0 in a locked state. eigenvalues : complex, 1/s, the
    slowest to decay first; all of them if `complete`, else the slowest ones. zero_modes : how many are zero.
    """

    frequency: float
    drift: float
    eigenvalues: np.ndarray
    zero_modes: int
    complete: bool

    @property
    def slowest(self) -> float:
        """The largest real part of those that are not zero, 1/s: below 0, deviations die at this rate."""
        others = np.delete(self.eigenvalues, np.argsort(np.abs(self.eigenvalues))[: self.zero_modes])
        return float(others.real.max()) if len(others) else float("nan")

    @property
    def stable(self) -> bool:
        """Whether all deviations but shifts of whole groups die out."""
        return not self.slowest >= 0


def rates(model: Model, phase: np.ndarray, time: float = 0.0) -> np.ndarray:
    """theta_i' without noise and delays, rad/s (n,), at phases (n,) in rad."""
    of = model.topology
    pull = model.edge_strength_at(time) * model.potential(phase[of.sender] - phase[of.receiver])
    return model.frequency_at(time) + np.bincount(of.receiver, pull, minlength=of.n)


def jacobian(model: Model, phase: np.ndarray, time: float = 0.0) -> csr_array:
    """d theta_i' / d theta_j, 1/s, sparse (n, n), at phases (n,) in rad. Raises ModelError with delays."""
    delay = model.delay
    if isinstance(delay, (RandomDelay, DelayFunction)) or np.any(np.asarray(delay) > 0):
        raise ModelError(
            "with delays, small deviations have infinitely many eigenvalues, which no Jacobian holds; set "
            "the delay to 0, or perturb the state and integrate."
        )
    of = model.topology
    pull = model.edge_strength_at(time) * model.potential.slope(phase[of.sender] - phase[of.receiver])
    off = csr_array((pull, (of.receiver, of.sender)), shape=(of.n, of.n))
    return csr_array(off - diags(np.bincount(of.receiver, pull, minlength=of.n)))


def locked_state(model: Model, near: np.ndarray, *, time: float = 0.0, most: int = 50) -> np.ndarray:
    """The locked state next to phases `near` (n,), rad, by Newton's method; each group keeps its mean phase.

    Raises ModelError if there is none nearby, as for oscillators that drift.
    """
    of, phase = model.topology, np.asarray(near, float).copy()
    scale = max(float(np.abs(model.edge_strength_at(time)).max()), 1e-300)
    for _ in range(most):
        drift = _drift(model, phase, time)
        if np.abs(drift).max() <= 1e-13 * scale + 4e-16 * np.abs(model.frequency_at(time)).max():
            break
        step = _solved(jacobian(model, phase, time), of.group, -drift)
        # a step beyond half a period leaves the neighbourhood
        step *= min(1.0, np.pi / max(float(np.abs(step).max()), 1e-300))
        phase += step - _group_means(of.group, step)
    left = float(np.abs(_drift(model, phase, time)).max())
    if not left <= 1e-9 * scale:
        raise ModelError(
            f"no locked state was found near these phases: the rates still differ by {left:.3g} rad/s; let "
            "the model settle first, or strengthen the coupling."
        )
    return phase


def stability(model: Model, phase: np.ndarray, *, time: float = 0.0, count: int = SLOWEST) -> Stability:
    """Eigenvalues of the Jacobian at a locked state, phases (n,) in rad.

    count : how many of the slowest are found where there are too many for all (DENSE). Oscillators that pull
    one another in a circle are taken together, and all others one by one: so one-directional chains of any
    size are exact, although their Jacobian has one eigenvector only.
    """
    whole = jacobian(model, phase, time)
    whole.eliminate_zeros()
    n_parts, part = connected_components(whole, directed=True, connection="strong")
    size = np.bincount(part)
    alone = size[part] == 1
    found = [whole.diagonal()[alone].astype(complex)]
    complete = True
    for number in np.flatnonzero(size > 1):
        members = np.flatnonzero(part == number)
        block = whole[members][:, members]
        if len(members) <= DENSE:
            found.append(_all_eigenvalues(block.toarray()))
        else:
            found.append(_slowest(block, count))
            complete = False
    values = np.concatenate(found)
    values = values[np.argsort(-values.real, kind="stable")]
    return Stability(
        float(rates(model, phase, time).mean()),
        float(np.abs(_drift(model, phase, time)).max()),
        values,
        _zero_modes(whole, part, n_parts, values),
        complete,
    )


def _zero_modes(whole: csr_array, part: np.ndarray, n_parts: int, values: np.ndarray) -> int:
    edges = whole.tocoo()
    off = edges.row != edges.col
    if (edges.data[off] > 0).all():
        # Only attraction: as many as groups that follow nobody outside themselves (a Laplacian's kernel).
        across = off & (part[edges.row] != part[edges.col])
        return n_parts - len(np.unique(part[edges.row[across]]))
    scale = np.abs(whole.diagonal()).max(initial=0.0)
    return int((np.abs(values) <= ZERO * scale).sum())


def _all_eigenvalues(block: np.ndarray) -> np.ndarray:
    if np.array_equal(block, block.T):
        return np.linalg.eigvalsh(block).astype(complex)
    return np.linalg.eigvals(block)


def _slowest(block: csr_array, count: int) -> np.ndarray:
    """Eigenvalues of a large block that are nearest to a point just right of 0."""
    from scipy.sparse.linalg import eigs, eigsh

    scale = float(np.abs(block.diagonal()).max())
    shift, start = 1e-7 * scale, np.random.default_rng(0).random(block.shape[0])
    symmetric = abs(block - block.T).max() <= 1e-14 * scale
    solve = eigsh if symmetric else eigs
    return solve(block.tocsc(), count, sigma=shift, v0=start, return_eigenvectors=False).astype(complex)


def _drift(model: Model, phase: np.ndarray, time: float) -> np.ndarray:
    """By how much each rate differs from its group's mean, rad/s (n,)."""
    now = rates(model, phase, time)
    return now - _group_means(model.topology.group, now)


def _group_means(group: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (np.bincount(group, values) / np.bincount(group))[group]


def _solved(matrix: csr_array, group: np.ndarray, right: np.ndarray) -> np.ndarray:
    """x of matrix x - (frequency of each group) = right, by least squares."""
    n = len(right)
    shared = csr_array((-np.ones(n), (np.arange(n), group)), shape=(n, int(group.max()) + 1))
    whole = csr_array(hstack([matrix, shared]))
    if n <= DENSE:
        return np.linalg.lstsq(whole.toarray(), right, rcond=1e-12)[0][:n]
    from scipy.sparse.linalg import lsmr

    return lsmr(whole, right, atol=1e-14, btol=1e-14, maxiter=20 * n)[0][:n]
