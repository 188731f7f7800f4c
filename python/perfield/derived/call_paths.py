# SPDX-License-Identifier: BSD-3-Clause
"""What regions cost on each call path, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.derived.by_steps import table_of
from perfield.run.paths import VALUES
from perfield.run.snapshot import Snapshot

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from perfield.run.run_directory import RunDirectory, Steps


def paths(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """What regions cost on each call path: step, rank, path, region, count, time_s, longest_s, self_time_s,
    mpi_time_s, file_time_s.

    path : the region and those around it, as in "solve < pEqn". region : the prefix of its fields. Times are
    those of all threads together, in the region and the regions inside it; longest_s is that of the thread
    with most, self_time_s leaves the regions inside out. A path that found no room (`max_paths`) counts as
    "solve < other paths". steps and result : as for `messages`. Raises KeyError if the run has no such step.
    """
    snapshot = Snapshot(run)
    names = {region.field: region.name for region in run.known_regions}
    return table_of(run, steps, _rows, snapshot.chunks, snapshot=snapshot, names=names)


def _rows(positions: np.ndarray, snapshot: Snapshot, names: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    positions = np.unique(positions)
    rows, known = snapshot.run.rows(positions, "paths"), snapshot.run.known_paths  # reading may add some
    words = np.array([*known.words(names), ""], dtype=object)
    regions = np.array([*(path.region for path in known.all), ""], dtype=object)
    columns = {
        "step": snapshot.run.step_indexes[positions][rows["step"]],
        "rank": rows["rank"],
        "path": words[rows["path"]],
        "region": regions[rows["path"]],
    }
    return pd.DataFrame(columns | {name: rows[name] for name in VALUES})
