# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in few bytes, for a page that holds them itself; `stored.js` of the page reads them.

Bytes of equal weight lie together, whole numbers are differences, and gzip packs all of it. Measured values
keep 12 bits of their digits, more than the page shows.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np

from perfield.serve.packed import as_json, packed

DROPPED_BITS = 12  # of the 23 behind the first of a float32


def compact(arrays: Mapping[str, np.ndarray], **about: Any) -> bytes:
    """As `packed`, whose header then has "stored": {name: {"dtype", "shape"}} of the arrays as they were."""
    little = {
        name: np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        for name, array in arrays.items()
    }
    stored = {name: {"dtype": each.dtype.str, "shape": list(each.shape)} for name, each in little.items()}
    return zipped(packed({name: _planes(array) for name, array in little.items()}, **about, stored=stored))


def zipped(data: bytes) -> bytes:
    """Data by gzip, the same bytes for the same data."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def zipped_json(value: Any) -> bytes:
    """A value as JSON, by gzip."""
    return zipped(as_json(value))


def rounded(values: np.ndarray) -> np.ndarray:
    """Values as float32 with 12 bits: whole numbers up to 4,096 stay, others change by 0.02 % at most."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.int64)
    half, mask = 1 << (DROPPED_BITS - 1), (1 << 32) - (1 << DROPPED_BITS)
    near = ((bits + half) & mask).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(near), near, np.float32(np.nan)).reshape(np.shape(values))


def _planes(array: np.ndarray) -> np.ndarray:
    """uint8 (itemsize, n): all first bytes, then all second ones, of whole numbers of their differences."""
    flat = array.reshape(-1)
    if array.dtype.kind in "iu" and array.dtype.itemsize > 1:
        flat = np.diff(flat, prepend=flat.dtype.type(0))
    return np.ascontiguousarray(flat.view(np.uint8).reshape(-1, array.dtype.itemsize).T)
