# SPDX-License-Identifier: BSD-3-Clause
"""How the threads of ranks share the work of each region, for tables of regions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.derived.tables import MOST_FRAMES

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory


def with_threads(run: RunDirectory, rows: list[dict]) -> list[dict]:
    """Rows of regions with two more columns, before the name; unchanged if no threads shared a region.

    rows : dicts, in which `field` is the prefix of the region's fields. threads : the most of a rank that
    were in the region in one frame. thread_imbalance : longest thread over the mean of the threads, of the
    times added up over the newest 1000 frames and all ranks; None where no time was measured.
    """
    if "<region>_thread_count" not in run.columns.kinds:
        return rows
    frames = slice(max(0, len(run) - MOST_FRAMES), None)
    found = []
    for row in rows:
        kinds = ("thread_count", "time_s", "thread_mean_time_s")
        values = run.values([f"{row['field']}_{kind}" for kind in kinds], frames)
        count, longest, mean = (values[:, number] for number in range(3))
        known = np.isfinite(mean)
        most = int(count[known].max()) if known.any() else None
        total = float(mean[known].sum())
        imbalance = float(longest[known].sum()) / total if total > 0 else None
        name = {"name": row["name"]} if "name" in row else {}
        others = {key: value for key, value in row.items() if key != "name"}
        found.append({**others, "threads": most, "thread_imbalance": imbalance, **name})
    return found
