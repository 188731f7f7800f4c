# SPDX-License-Identifier: BSD-3-Clause
"""Smallest value, mean, standard deviation, largest value and imbalance of groups of values.

The thesis asks for them in section 8.2. Absent values do not count.
"""

from __future__ import annotations

import numpy as np

STATISTICS = ("min", "mean", "std", "max", "imbalance")
"""std divides by the number of values; imbalance is max over mean, as in the summary."""


def statistics(values: np.ndarray, begin: np.ndarray, end: np.ndarray | None = None) -> np.ndarray:
    """Statistics of runs of neighbouring values.

    values : (..., n), NaN where absent. begin, end : int (n_groups,), ascending; group g has the values
        begin[g] to end[g] - 1, at least one. Without `end`, a group ends where the next begins.
    Returns float64 (..., n_groups, 5), in the order of STATISTICS; NaN where all values of a group are
    absent. The imbalance is NaN where the mean is not positive.
    """
    values = np.asarray(values, float)
    if end is None:
        end = np.append(begin[1:], values.shape[-1])
    if not len(begin):
        return np.full((*values.shape[:-1], 0, len(STATISTICS)), np.nan)
    present = np.isfinite(values)
    every = bool(present.all())

    def over(operation: np.ufunc, column: np.ndarray) -> np.ndarray:
        return reduced(operation, column, begin, end)

    count = (end - begin).astype(float)
    if not every:
        count = over(np.add, present.astype(float))
        count[count == 0] = np.nan
    found = np.empty((*values.shape[:-1], len(begin), len(STATISTICS)))
    least, mean, spread, most, imbalance = (found[..., n] for n in range(len(STATISTICS)))
    known = values if every else np.where(present, values, 0.0)
    mean[...] = over(np.add, known) / count
    least[...] = over(np.minimum, values if every else np.where(present, values, np.inf))
    most[...] = over(np.maximum, values if every else np.where(present, values, -np.inf))
    apart = np.zeros_like(values)  # from the mean of the group
    length = end - begin
    where = np.repeat(begin - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
    apart[..., where] = known[..., where] - np.repeat(np.nan_to_num(mean), length, axis=-1)
    spread[...] = np.sqrt(over(np.add, np.where(present, apart * apart, 0.0)) / count)
    for column in (least, most):
        column[np.isnan(mean)] = np.nan
    imbalance[...] = np.divide(most, mean, out=np.full_like(mean, np.nan), where=mean > 0)
    return found


def reduced(operation: np.ufunc, values: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Reduces values (..., n) over each of the ranges begin[g] to end[g] - 1; none is empty, none overlap."""
    if end[-1] == values.shape[-1] and (end[:-1] == begin[1:]).all():
        return operation.reduceat(values, begin, axis=-1)
    edges = np.stack([begin, end], axis=1).ravel()
    edges = edges[:-1] if end[-1] == values.shape[-1] else edges
    return operation.reduceat(values, edges, axis=-1)[..., ::2]
