# SPDX-License-Identifier: BSD-3-Clause
"""Whether ranks drift apart: one steadily completes more steps than another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import breadth_first_order

from perfield.studies.rhythm.model.blocks import Edges, checked, edge_arrays
from perfield.studies.rhythm.model.dataset import TURN

LEAST = 1.0  # steps gained in all; ranks that communicate may be apart by less and stay so
STEADY = 0.5  # of the gain in the first quarter, in each later one
_MARKS = 5  # ends of the four quarters


@dataclass(frozen=True)
class Drift:
    """A drift of two ranks, the fastest and the slowest.

    gain : steps that `fast` gained on `slow` from begin_s to end_s. share : that gain over the steps that
    `slow` completed meanwhile. linked : whether messages lead from `slow` to `fast`, directly or over other
    ranks, so that `fast` should wait; None where it is unknown who communicates.
    """

    fast: int
    slow: int
    gain: float
    share: float
    begin_s: float
    end_s: float
    linked: bool | None = None


def drift(phase: xr.DataArray, edges: Edges | None = None) -> Drift | None:
    """The drift of ranks over the time in which most of them have a phase; None if they do not drift.

    phase : (oscillator, time). edges : the communication topology, if known. The first quarter of that time
    names the rank that gained most steps and the one that gained least. They drift if the one gains at least
    STEADY as much on the other in each of the three later quarters, and LEAST steps in all. So a delay, which
    widens the spread once, is no drift.
    """
    whole = checked(phase)
    window = common_window(whole)
    marks = np.linspace(window.start, window.stop - 1, _MARKS).round().astype(int)
    steps = whole.values[:, marks] / TURN
    ranks = np.flatnonzero(np.isfinite(steps).all(axis=1))
    if len(ranks) < 2 or len(np.unique(marks)) < _MARKS:
        return None
    gains = np.diff(steps[ranks], axis=1)
    fast, slow = int(gains[:, 0].argmax()), int(gains[:, 0].argmin())
    apart = gains[fast] - gains[slow]
    if apart.sum() < LEAST or (apart[1:] < STEADY * apart[0]).any():
        return None
    number, times = whole["oscillator"].values[ranks], whole["time"].values[marks]
    share = float(apart.sum() / gains[slow].sum()) if gains[slow].sum() > 0 else np.inf
    linked = None if edges is None else _leads(edges, len(whole), ranks[slow], ranks[fast])
    gain = float(apart.sum())
    return Drift(int(number[fast]), int(number[slow]), gain, share, float(times[0]), float(times[-1]), linked)


def _leads(edges: Edges, n: int, source: int, target: int) -> bool:
    """Whether messages lead from one column to another, directly or over others."""
    receiver, sender, _ = edge_arrays(edges, n)
    graph = coo_matrix((np.ones(len(sender)), (sender, receiver)), shape=(n, n)).tocsr()
    return bool(target in breadth_first_order(graph, source, return_predecessors=False))


def common_window(phase: xr.DataArray) -> slice:
    """The instants at which ranks are compared where some begin late or end early: `window_of` the known."""
    return window_of(np.isfinite(phase.values).sum(axis=phase.dims.index("oscillator")))


def window_of(known: np.ndarray) -> slice:
    """The instants at which ranks are compared; `known` (time,) is how many ranks have a phase.

    It begins where the number of ranks with a phase, times what is left of the time, is largest in the first
    half. It ends where that number, times the time since the first instant, is largest in the second half. So
    one rank of many that ends early does not end the window.
    """
    n_times, half = len(known), len(known) // 2
    place = np.arange(n_times)
    begin = int((known * (n_times - place))[: half or 1].argmax())
    end = half + int((known * (place + 1))[half:].argmax()) + 1
    return slice(begin, max(end, begin + 1))
