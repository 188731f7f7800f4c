# SPDX-License-Identifier: BSD-3-Clause
"""Sums of quantities inside each region: of each rank, and of each block of its mesh."""

from __future__ import annotations

import numpy as np

from perfield.run.fields import region_fields
from perfield.run.regions import RegionTable


def inside_sums(
    block_values: dict[str, dict[tuple[int, int], float]],
    regions: RegionTable,
    n_ranks: int,
    ranks: np.ndarray,
    rows: np.ndarray,
    kinds: np.ndarray,
    factors: np.ndarray,
) -> tuple[np.ndarray, list[tuple[str, tuple[int, int], np.ndarray]]]:
    """Adds up the values of rows by what they tell, each in its unit.

    block_values : with the times of regions, which say what blocks each was entered for. ranks, rows : the
    rank of each row of the table, and these rows. kinds : (n_rows,) int, what each tells as a place in
    `factors`, -1 if it is not wanted. factors : (n_kinds,) to the unit of each.
    Returns the sums (n_kinds, n_stems, n_ranks), and a list of (start of the region's field names,
    (rank, block), sums (n_kinds,)).
    """
    numbers = regions.numbers(ranks, rows["region"].astype(np.int64))
    wanted = (kinds >= 0) & (numbers >= 0)
    ranks, rows, kinds, numbers = ranks[wanted], rows[wanted], kinds[wanted], numbers[wanted]
    amounts = rows["value"] * factors[kinds]

    shape = (len(factors), len(regions.stems), n_ranks)
    keys = (kinds * shape[1] + regions.stem_numbers(numbers)) * n_ranks + ranks
    sums = np.bincount(keys, weights=amounts, minlength=int(np.prod(shape))).reshape(shape)

    blocks = regions.blocks(numbers)
    found: dict[tuple[str, tuple[int, int]], np.ndarray] = {}
    for at in np.flatnonzero(blocks >= 0):
        key = regions.regions[numbers[at]].field, (int(ranks[at]), int(blocks[at]))
        found.setdefault(key, np.zeros(shape[0]))[kinds[at]] += amounts[at]
    of_blocks = [
        (stem, place, found.get((stem, place), np.zeros(shape[0])))
        for stem in {region.field for region in regions.regions if region.block >= 0}
        for place in block_values.get(region_fields(stem)[0], {})
    ]
    return sums, of_blocks
