# SPDX-License-Identifier: BSD-3-Clause
"""How tables of a run are read, one rule for all: some steps as a pandas DataFrame, all of them as a dask
DataFrame, which reads nothing before it is computed, and then one chunk of steps after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from perfield.run.run_directory import RunDirectory, Steps


def table_of(
    run: RunDirectory,
    steps: Steps,
    /,
    rows: Callable[..., pd.DataFrame],
    chunks: Callable[[], Iterable[np.ndarray]],
    **more: Any,
) -> pd.DataFrame | dd.DataFrame:
    """A table of some steps, or of all.

    rows : makes the table of the frames at some positions, given these and `more`; for no positions, it reads
    nothing. chunks : gives the positions of all frames, chunk by chunk. more : what workers get.
    Raises KeyError if the run has no such step.
    """
    if steps is not None:
        return rows(run.positions_of(steps), **more)
    import dask.dataframe as dd  # optional, and slow to import

    nothing = np.zeros(0, np.int64)
    return dd.from_map(rows, [*chunks()] or [nothing], meta=rows(nothing, **more), **more)
