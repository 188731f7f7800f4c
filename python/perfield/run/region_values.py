# SPDX-License-Identifier: BSD-3-Clause
"""The fields of regions: their time, how often they were entered, and their time without inner ones."""

from __future__ import annotations

import numpy as np

from perfield.run.fields import region_fields
from perfield.run.regions import RegionTable


def add_regions(
    values: dict[str, np.ndarray], n_ranks: int, regions: RegionTable, ranks: np.ndarray, rows: np.ndarray
) -> dict[str, dict[tuple[int, int], float]]:
    """Adds the fields of all regions of the run, NaN where one was not entered; returns those by block.

    ranks, rows : the rank of each row of the step entries' table of regions, and these rows.
    """
    numbers = regions.numbers(ranks, rows["id"].astype(np.int64))
    ranks, rows, numbers = ranks[numbers >= 0], rows[numbers >= 0], numbers[numbers >= 0]
    columns = (rows["inclusive_max_ns"] * 1e-9, rows["count"].astype(np.float64), rows["self_max_ns"] * 1e-9)

    shape = (len(regions.stems), n_ranks)
    keys = regions.stem_numbers(numbers) * n_ranks + ranks
    seen = np.bincount(keys, minlength=shape[0] * shape[1]) > 0
    for kind, column in enumerate(columns):
        matrix = np.where(seen, np.bincount(keys, weights=column, minlength=len(seen)), np.nan).reshape(shape)
        for stem, row in zip(regions.stems, matrix):
            values[region_fields(stem)[kind]] = row

    block_values: dict[str, dict[tuple[int, int], float]] = {}
    blocks = regions.blocks(numbers)
    for at in np.flatnonzero(blocks >= 0):
        names = region_fields(regions.regions[numbers[at]].field)
        for name, column in zip(names, columns):
            of_block, key = block_values.setdefault(name, {}), (int(ranks[at]), int(blocks[at]))
            of_block[key] = of_block.get(key, 0.0) + float(column[at])
    return block_values
