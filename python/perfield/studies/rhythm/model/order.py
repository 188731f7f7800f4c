# SPDX-License-Identifier: BSD-3-Clause
"""The order parameter: how closely the ranks share one point of their step (eq. 8)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.blocks import over_time


def order_parameter(phase: xr.DataArray) -> xr.DataArray:
    """R in [0, 1], of dimension time (eq. 8): 1 if all ranks are at the same point of a step.

    It does not see whole steps: ranks exactly one step apart look synchronous, so show `spread` beside it.
    Ranks without a phase do not count; NaN where none has one.
    """
    return over_time(phase, lambda block: np.hypot(*mean_vector(block)), "order_parameter", "1", "R")


def mean_phase(phase: xr.DataArray) -> xr.DataArray:
    """psi in rad, in [-pi, pi], of dimension time (eq. 8): where the ranks are in their step, on average.

    It means nothing where R is close to 0. NaN where no rank has a phase.
    """
    return over_time(phase, mean_angle, "mean_phase", "rad", "psi")


def order_parameter_rate(phase: xr.DataArray) -> xr.DataArray:
    """dR/dt in 1/s, of dimension time, by central differences (section 4.2.2)."""
    return rate(order_parameter(phase)).rename("order_parameter_rate").assign_attrs(long_name="dR/dt")


def rate(series: xr.DataArray) -> xr.DataArray:
    """The derivative of a series (time), per s: central differences inside, one-sided ones at both ends.

    NaN beside an unknown value, and everywhere if there is one instant only.
    """
    values, times = np.asarray(series.values, float), np.asarray(series["time"].values, float)
    slopes = np.gradient(values, times) if len(values) > 1 else np.full(len(values), np.nan)
    units = series.attrs.get("units", "1")
    about = {"units": f"{units}/s", "long_name": f"d({series.attrs.get('long_name', series.name)})/dt"}
    return xr.DataArray(slopes, {"time": series["time"]}, ("time",), attrs=about)


def mean_vector(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of (cos theta, sin theta) over the known ranks of a block (oscillator, n): two arrays (n,)."""
    known = np.isfinite(block)
    if known.all():
        return np.cos(block).mean(axis=0), np.sin(block).mean(axis=0)
    count = known.sum(axis=0).astype(float)
    count[count == 0] = np.nan
    safe = np.where(known, block, 0.0)
    return (
        np.sum(np.cos(safe), axis=0, where=known) / count,
        np.sum(np.sin(safe), axis=0, where=known) / count,
    )


def mean_angle(block: np.ndarray) -> np.ndarray:
    """psi of a block (oscillator, n): rad (n,)."""
    cosine, sine = mean_vector(block)
    return np.arctan2(sine, cosine)
