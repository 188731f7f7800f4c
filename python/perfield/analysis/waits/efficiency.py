# SPDX-License-Identifier: BSD-3-Clause
"""How efficiently ranks work together, in the terms of POP (pop-coe.eu)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfield.analysis.waits.path import replay


@dataclass(frozen=True)
class Efficiency:
    """Shares, 1 at best: parallel = load_balance x communication, communication = serialisation x transfer.

    load_balance : mean / longest computation. serialisation : longest computation / time on an instantaneous
    network, so it falls where ranks wait for one another in turn. transfer : that time / the measured time.
    """

    load_balance: float
    serialisation: float
    transfer: float

    @property
    def communication(self) -> float:
        """Longest computation / measured time."""
        return self.serialisation * self.transfer

    @property
    def parallel(self) -> float:
        """Mean computation / measured time."""
        return self.load_balance * self.communication


def efficiency(events: NDArray, states: NDArray) -> Efficiency | None:
    """POP's efficiencies of some logged steps that follow one another; None where nothing is known.

    events : EVENT. states : STATE, found in these events. Source: POP's metrics; the time on an instantaneous
    network is that of a replay of the same events.
    """
    n_ranks = int(events["rank"].max()) + 1 if len(events) else 0
    ideal = replay(events, states, np.ones(n_ranks), is_instant=True) if n_ranks else None
    if ideal is None or not ideal.measured_ns.max() > 0 or not ideal.computing_ns.max() > 0:
        return None
    known = ideal.computing_ns[ideal.measured_ns > 0]
    longest, at_best = float(known.max()), float(ideal.end_ns.max())
    time = float(ideal.measured_ns.max())
    at_best = min(max(at_best, longest), time)
    return Efficiency(float(known.mean()) / longest, longest / at_best, at_best / time)
