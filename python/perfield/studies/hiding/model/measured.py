# SPDX-License-Identifier: BSD-3-Clause
"""The model of a measured run: its work from the record, its latencies from what was injected."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

from perfield.studies.hiding.model.errors import HidingError
from perfield.studies.hiding.model.latencies import Drawn, Trace
from perfield.studies.hiding.model.model import UPPER, Program
from perfield.studies.hiding.model.splitting import Splitting

STEADY = 1.2  # times its median, that work of a rank with a core of its own rarely exceeds


def program_of(study: xr.Dataset, latencies: Drawn | Trace) -> Program:
    """The program of a record of testcase/poisson, with the latencies that it met.

    study : of `read_study`. C and M of each rank are medians; C comes from the second part, in which nothing
    is polled. A poll takes what the first part takes beyond its elements. Grid, eps, theta and cap are those
    of the record. So only the waits are predicted. Raises HidingError if something is missing.
    """
    settings = study.attrs
    missing = [name for name in ("blocks", "eps", "theta", "cap", "alpha") if name not in settings]
    missing += ["t_mirror"] * ("t_mirror" not in study)
    if missing:
        raise HidingError(f"the record lacks {', '.join(missing)}; let the solver of this perfield write it.")
    n_inner = study["n_inner1"] + study["n_inner2"]
    element = ((study["t_out"] - study["w_out"]) / study["n_inner2"]).where(study["n_inner2"] > 0)
    n = int(n_inner.max())
    beyond = study["t_in"] - study["w_in"] - study["n_inner1"] * element.median("step")
    poll_s = (beyond / study["n_polls"]).where(study["n_polls"] > 0).median()
    every = int(settings.get("poll_every", 0)) or max(n // 64, 1)
    return Program(
        latencies,
        compute_s=(element.median("step") * n_inner.median("step")).values,
        splitting=Splitting(
            eps=float(settings["eps"]),
            start=float(settings["alpha"]),
            theta=float(settings["theta"]),
            cap=float(settings["cap"]),
        ),
        mirror_s=study["t_mirror"].median("step").values,
        shape=tuple(json.loads(settings["blocks"])[::-1]),
        n_elements=n,
        n_polls=-(-n // every),
        poll_s=max(float(poll_s), 0.0) if np.isfinite(poll_s) else 0.0,
        owner=UPPER,
    )


def unsteady_share(study: xr.Dataset) -> float:
    """The share of MatVecs whose work took more than 1.2 times its rank's median: 0 to 1.

    Where it is large, other programs took the cores, and times say more about them than about messages.
    """
    work = study["time_s"] - study["w_in"] - study["w_out"]
    return float((work > STEADY * work.median("step")).mean())
