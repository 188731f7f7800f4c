# SPDX-License-Identifier: BSD-3-Clause
"""What a splitting method hides, and what that gains over another one."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.hiding.model.errors import HidingError
from perfield.studies.regimes.model.cumulative import improvement


def hidden_share(found: xr.Dataset, eps_s: float | None = None) -> float:
    """The share of MatVecs whose two waits both stayed within eps, over ranks and steps; 0 to 1.

    found : `w_in` and `w_out` (rank, step), s. eps_s : s, else the attribute `eps_s`. It says nothing about
    regimes.
    """
    eps = found.attrs["eps_s"] if eps_s is None else eps_s
    waits = np.maximum(found["w_in"].values, found["w_out"].values)
    known = np.isfinite(waits)
    return float((waits[known] <= eps).mean()) if known.any() else float("nan")


def gain(base_s: np.ndarray, other_s: np.ndarray, share: float = 1.0) -> float:
    """By how many percent the fastest `share` of other takes less time than that of base.

    base_s, other_s : T_k^max, s, in any order. share : above 0, at most 1; of the shorter series.
    """
    if not 0 < share <= 1:
        raise HidingError(f"the fastest {share:g} of all is not a share; give one above 0, at most 1.")
    saved = improvement(base_s, other_s)
    if not len(saved):
        raise HidingError("no times are known, so nothing can be compared; give the times of some steps.")
    return float(saved[int(np.ceil(share * len(saved))) - 1])
