# SPDX-License-Identifier: BSD-3-Clause
"""The model of a measured run: what it takes from a record, and when a record is too noisy."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from perfield.studies.hiding.model import Drawn, HidingError, Latency, simulate
from perfield.studies.hiding.model.measured import program_of, unsteady_share

TOLD = {"blocks": "[1, 1, 2]", "eps": 5e-5, "theta": 0.1, "cap": 2.0, "alpha": 0.5, "poll_every": 10}


def record(**changes: object) -> xr.Dataset:
    """Two ranks of 100 inner elements that take 10 us (rank 1: 20 us) each, and poll 4 times at 5 us."""
    n = 20
    element = np.array([10e-6, 20e-6])[:, np.newaxis] * np.ones(n)
    values = {
        "t_in": 40 * element + 4 * 5e-6 + 1e-4,
        "w_in": 0 * element + 1e-4,
        "t_out": 60 * element + 2e-4,
        "w_out": 0 * element + 2e-4,
        "t_mirror": 0 * element + 3e-4,
        "n_inner1": 0 * element + 40,
        "n_inner2": 0 * element + 60,
        "n_polls": 0 * element + 4,
    }
    values["time_s"] = values["t_in"] + values["t_out"]
    dims = ("rank", "step")
    coordinates = {"rank": [0, 1], "step": np.arange(n)}
    return xr.Dataset({k: (dims, v) for k, v in values.items()}, coordinates, {**TOLD, **changes})


def test_work_comes_from_the_record():
    of = program_of(record(), Drawn(Latency(0), Latency(0)))
    np.testing.assert_allclose(of.compute_s, [1e-3, 2e-3])
    np.testing.assert_allclose(of.mirror_s, 3e-4)
    assert of.poll_s == pytest.approx(5e-6)
    assert (of.n_ranks, of.n_elements, of.n_polls) == (2, 100, 10)
    assert (of.splitting.eps, of.splitting.theta, of.splitting.cap) == (5e-5, 0.1, 2.0)


def test_upper_rank_owns_the_border_as_in_the_solver():
    found = simulate(program_of(record(), Drawn(Latency(1.1e-3), Latency(3e-3))), 1, methods=["fixed"])
    found = found.sel(splitting="fixed").isel(step=0)
    np.testing.assert_allclose(found["w_in"], [1.1e-3 - 0.5e-3, 0])  # input comes down
    np.testing.assert_allclose(found["w_out"], [0, 1.4e-3 + 3e-3 - 1.3e-3 - 1e-3])  # output goes up


def test_record_that_lacks_something_is_refused():
    study = record()
    del study.attrs["theta"]
    with pytest.raises(HidingError, match="the record lacks theta"):
        program_of(study, Drawn(Latency(0), Latency(0)))


def test_share_of_matvecs_whose_work_was_disturbed():
    study = record()
    assert unsteady_share(study) == 0
    study["time_s"][0, :5] += 1e-3
    assert unsteady_share(study) == pytest.approx(5 / 40)
