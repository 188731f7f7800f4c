# SPDX-License-Identifier: BSD-3-Clause
"""The fields of devices: kernels and copies, where a source tells of them (docs/devices.md)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from perfield.run.fields import CALL_NUMBERS
from perfield.run.sources import Sources
from perfield.run.sums import by_rank

_KERNEL = CALL_NUMBERS["device_kernel"]
_COPIES = {way: CALL_NUMBERS[f"device_copy_{way}"] for way in ("to", "from", "within")}


def add_devices(
    values: dict[str, np.ndarray], present: np.ndarray, sources: Sources, ranks: np.ndarray, rows: np.ndarray
) -> None:
    """Adds the fields of devices, those of kernels and those of copies if any rank has a source for them.

    present : (n_ranks,) bool, whether the rank is in the frame. ranks, rows : the rank of each row of the
    table of calls, and these rows.
    """

    def add(name: str, told: np.ndarray, columns: Collection[str], calls: Collection[int]) -> None:
        here = np.isin(rows["call"], list(calls))
        numbers = sum(rows[column][here] for column in columns)
        sums = by_rank(len(present), ranks[here], numbers)
        factor = 1e-9 if name.endswith("_s") else 1.0
        values[name] = np.where(told & present, sums * factor, np.nan)

    kernels = sources["cupti"]
    if kernels.any():
        add("device_kernel_count", kernels, ["count"], [_KERNEL])
        add("device_kernel_time_s", kernels, ["ns"], [_KERNEL])
    copies = kernels | sources["kokkos"]
    if copies.any():
        add("device_copy_count", copies, ["count"], _COPIES.values())
        add("device_copy_time_s", copies, ["ns"], _COPIES.values())
        for way, call in _COPIES.items():
            add(f"device_copy_{way}_bytes", copies, ["bytes_out", "bytes_in"], [call])
