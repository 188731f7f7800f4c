# SPDX-License-Identifier: BSD-3-Clause
"""The critical path: the chain of work through ranks that decided how long some steps took, and what balance
would gain. `bridge/waits/critical_path.cpp` computes both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfield import _bridge

PATH: np.dtype = _bridge.WAIT_PATH


@dataclass(frozen=True)
class CriticalPath:
    """Time on the critical path, by step and rank.

    parts : structured (PATH: step, rank, computing_ns, communicating_ns). They add up to the time from the
    first to the last moment of the path.
    """

    parts: NDArray

    @property
    def time_ns(self) -> NDArray[np.float64]:
        """(n_parts,) ns of each part."""
        return self.parts["computing_ns"] + self.parts["communicating_ns"]

    def by_rank(self, n_ranks: int) -> NDArray[np.float64]:
        """(n_ranks,) ns on the path, in all steps."""
        return np.bincount(self.parts["rank"], self.time_ns, minlength=n_ranks)[:n_ranks]

    def imbalance_ns(self, computing_ns: ArrayLike) -> float:
        """Critical imbalance: computation on the path beyond the mean of the ranks, in ns; at least 0.

        computing_ns : (n_ranks,) of each rank in the same steps.
        """
        computing = np.asarray(computing_ns, dtype=float)
        return max(0.0, float(self.parts["computing_ns"].sum() - computing.mean())) if computing.size else 0.0


def critical_path(events: NDArray, states: NDArray) -> CriticalPath:
    """Goes from the last event backwards, and to the causing rank wherever the rank on the path waited.

    events : EVENT, of logged steps that follow one another. states : STATE, found in these events. Where a
    wait is not exact, the path stays on its rank. Raises ValueError for arrays of other dtypes.
    """
    return CriticalPath(_bridge.critical_path(events, states))


@dataclass(frozen=True)
class Replayed:
    """When ranks would end.

    end_ns, measured_ns : (n_ranks,) ns after the begin of the first rank; as replayed, and as measured.
    computing_ns : (n_ranks,) ns of computation, as measured.
    """

    end_ns: NDArray[np.float64]
    measured_ns: NDArray[np.float64]
    computing_ns: NDArray[np.float64]

    @property
    def gain_ns(self) -> float:
        """What the run would be shorter by, in ns; negative: longer."""
        return float(self.measured_ns.max() - self.end_ns.max()) if self.end_ns.size else 0.0


def replay(events: NDArray, states: NDArray, factor: ArrayLike, is_instant: bool = False) -> Replayed:
    """Replays the same messages and collective operations (max-plus model) with other computation.

    factor : (n_ranks,) by which each rank's computation takes longer. is_instant : communication takes no
    time beyond waiting. Raises ValueError for arrays of other dtypes, and for fewer factors than ranks.
    """
    found = _bridge.replay(events, states, np.asarray(factor, dtype=float), is_instant)
    return Replayed(found["end_ns"], found["measured_ns"], found["computing_ns"])


def gain_of_balance(events: NDArray, states: NDArray, region_ns: ArrayLike | None = None) -> float:
    """What the steps would be shorter by if ranks computed equally long, in ns; at least 0.

    region_ns : (n_ranks,) ns of computation in one region: only that is balanced; None: all is.
    """
    n_ranks = int(events["rank"].max()) + 1 if len(events) else 0
    measured = replay(events, states, np.ones(n_ranks))
    computing = measured.computing_ns
    region = computing if region_ns is None else np.asarray(region_ns, dtype=float)[:n_ranks]
    if len(region) != n_ranks:
        raise ValueError(f"region_ns has {len(region)} values; expected one for each of {n_ranks} ranks.")
    if not n_ranks:
        return 0.0
    change = region.mean() - region
    factor = np.divide(computing + change, computing, out=np.ones(n_ranks), where=computing > 0)
    balanced = replay(events, states, np.maximum(factor, 0))
    return max(0.0, float(measured.end_ns.max() - balanced.end_ns.max()))
