# SPDX-License-Identifier: BSD-3-Clause
"""Lists the extracts that pipelines wrote, so that stock ParaView opens them as one series in time."""

from __future__ import annotations

import os
import time
from pathlib import Path

from perfield.output.series import collection

CHANNELS = ("geometry", "topology")
_SECONDS = 1.0  # between two writes; each writes the whole list


class ExtractLists:
    """`geometry.pvd` and `topology.pvd` in a folder, beside the extracts.

    Lists that an earlier run of the pipelines left are removed first: their files are written anew.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._files: dict[str, list[tuple[float, str]]] = {channel: [] for channel in CHANNELS}
        self._written, self._is_old = -_SECONDS, False
        for channel in CHANNELS:
            self._path(channel).unlink(missing_ok=True)

    def add(self, index: int, at: float) -> None:
        """Adds the files that pipelines wrote in a step. at : the time at which ParaView shows them."""
        for channel, files in self._files.items():
            name = f"{channel}_{index:06d}.vtm"
            if (self._folder / name).exists():
                files.append((at, name))
                self._is_old = True
        if time.monotonic() - self._written > _SECONDS:
            self.write()

    def write(self) -> None:
        """Writes the lists to disk, each atomically, if they have changed."""
        if not self._is_old:
            return
        self._written, self._is_old = time.monotonic(), False
        for channel, files in self._files.items():
            if files:
                path = self._path(channel)
                temporary = path.with_name(f".{path.name}.{os.getpid()}")
                temporary.write_text(collection(files), encoding="utf-8")
                temporary.replace(path)

    def _path(self, channel: str) -> Path:
        return self._folder / f"{channel}.pvd"
