# SPDX-License-Identifier: BSD-3-Clause
"""The regime of each (rank, step) by a fitted model: of a whole run, or of steps as they arrive."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield._bridge import HiddenMarkov
from perfield.studies.regimes.model.errors import RegimeError
from perfield.studies.regimes.model.model import Model
from perfield.studies.regimes.model.timings import PROBABILITY, REGIME, TIME, UNKNOWN


def hidden_of(model: Model) -> HiddenMarkov:
    """The model as the compiled core takes it."""
    return HiddenMarkov(
        model.emission != "gaussian",
        model.dof or 0.0,
        model.location,
        model.scale,
        model.start,
        model.transition,
    )


def classify(times: xr.Dataset, model: Model) -> xr.Dataset:
    """The timings with `regime` and `probability` (rank, step) of each point, and the attribute `model`.

    The regime is that of the most likely path of states (Viterbi), -1 where the time is unknown. The
    probability is the posterior one of that regime, from forward and backward passes, NaN where unknown.
    If `time_s` is a dask array, so are both; each block of ranks is classified when it is computed.
    """
    hidden, regime_of = hidden_of(model), model.regime.tolist()
    data = times[TIME].transpose("rank", "step").data
    both = np.dtype([(REGIME, np.int8), (PROBABILITY, np.float32)])

    def of_block(block: np.ndarray) -> np.ndarray:
        found = np.empty(block.shape, both)
        found[REGIME], found[PROBABILITY] = hidden.classify(block, regime_of)
        return found

    if hasattr(data, "dask"):  # one pass gives both fields
        found = data.rechunk({1: -1}).map_blocks(of_block, dtype=both)
        regime, probability = found[REGIME], found[PROBABILITY]
    else:
        regime, probability = hidden.classify(np.asarray(data, dtype=np.float64), regime_of)
    dims = ("rank", "step")
    found = times.assign({REGIME: (dims, regime), PROBABILITY: (dims, probability)})
    return found.assign_attrs(model=model.to_json())


class Follower:
    """Classifies steps as they arrive, by what came before alone (forward filtering).

    A regime may differ from that of `classify`, which also knows what came after.
    """

    def __init__(self, model: Model, n_ranks: int) -> None:
        """Begins with no step of any rank."""
        self._hidden, self._regime = hidden_of(model), model.regime
        self._states = np.full((n_ranks, model.n_states), np.nan)

    def add(self, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The regime (n_ranks), int8, and its probability (n_ranks), after one more time of each rank.

        time_s : (n_ranks) seconds; where one is unknown (NaN), so is the regime, and the rank begins anew.
        Raises RegimeError for another number of ranks.
        """
        values = np.asarray(time_s, dtype=np.float64)
        if values.shape != (len(self._states),):
            raise RegimeError(
                f"a step has times of shape {values.shape}; expected one per rank, {len(self._states)}."
            )
        self._states = self._hidden.filter(values, self._states)
        n_regimes = int(self._regime.max()) + 1
        of_regime = np.stack(
            [self._states[:, self._regime == number].sum(axis=1) for number in range(n_regimes)], axis=1
        )
        unknown = np.isnan(of_regime[:, 0])
        best = np.where(unknown, UNKNOWN, np.argmax(of_regime, axis=1)).astype(np.int8)
        return best, np.where(unknown, np.nan, of_regime.max(axis=1))
