# SPDX-License-Identifier: BSD-3-Clause
"""Loads NumPy files that another program wrote."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from perfield.catalyst_scripts.safe_open import why_unsafe

MOST_BYTES = 1 << 30
"""Bytes of all arrays in a file."""


def read_numpy(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """The array of a .npy file, or the arrays of a .npz file by name; none may hold Python's objects.

    Raises ValueError for a pipe or device, and if the file says that they are larger than MOST_BYTES. A
    damaged file raises whatever NumPy, zipfile, zlib and tokenize have for it.
    """
    if words := why_unsafe(path, None):
        raise ValueError(words)
    if path.suffix.lower() != ".npz":
        size, most = path.stat().st_size, MOST_BYTES
        if size > most:
            raise ValueError(f"it has {size:,} bytes, expected at most {most:,}")
        values = np.load(path, mmap_mode="r", allow_pickle=False)  # never more than the file holds
        return np.array(values) if isinstance(values, np.ndarray) else _arrays(path)
    return _arrays(path)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(path) as file:
        size = sum(member.file_size for member in file.infolist())
    if size > MOST_BYTES:  # compressed, the file itself may be small
        raise ValueError(f"its arrays have {size:,} bytes, expected at most {MOST_BYTES:,}")
    with np.load(path, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}
