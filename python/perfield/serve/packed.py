# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and words as bytes that a browser reads without copying.

u32  length of the header, without its padding, little endian
JSON {"arrays": [{"name", "dtype", "shape", "offset"}, ...], ...}, padded with spaces to 8 bytes
the arrays, little endian, each at its offset from the end of the padded header, a multiple of 8
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np


def packed(arrays: Mapping[str, np.ndarray], **about: Any) -> bytes:
    """Arrays by name, and what the header says beside them. Big-endian arrays become little-endian."""
    described, parts, offset = [], [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        described.append(
            {"name": name, "dtype": array.dtype.str, "shape": list(array.shape), "offset": offset}
        )
        size = -(-array.nbytes // 8) * 8
        parts += [memoryview(array).cast("B") if array.nbytes else b"", bytes(size - array.nbytes)]
        offset += size
    header = as_json({"arrays": described, **about})
    opening = struct.pack("<I", len(header)) + header
    return b"".join([opening + b" " * (-len(opening) % 8), *parts])


def unpacked(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the rest of the header of what `packed` made."""
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length])
    begin = -(-(4 + length) // 8) * 8
    arrays = {}
    for about in header.pop("arrays"):
        count = math.prod(about["shape"])
        read = np.frombuffer(data, about["dtype"], count, begin + about["offset"])
        arrays[about["name"]] = read.reshape(about["shape"])
    return arrays, header


def as_json(value: Any) -> bytes:
    """JSON as every browser reads it: NaN and infinities become null."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), default=_plain).encode()
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        return _finite(value.tolist())
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


def _finite(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return value
