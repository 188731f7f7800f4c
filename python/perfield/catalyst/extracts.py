# SPDX-License-Identifier: BSD-3-Clause
"""Lists the extracts that pipelines wrote, so that stock ParaView opens them as one series in time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

EXTRACTS = {"geometry": "vtm", "topology": "vtm"}  # channel -> how its files end
_SECONDS = 1.0  # between two writes; each writes the whole list


class ExtractLists:
    """`geometry.vtm.series` and `topology.vtm.series` in a folder, beside the extracts."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._files: dict[str, list[dict[str, str | float]]] = {channel: [] for channel in EXTRACTS}
        self._written = -_SECONDS

    def add(self, index: int, at: float) -> None:
        """Adds the files that pipelines wrote in a step. at : the time at which ParaView shows them."""
        for channel, files in self._files.items():
            name = f"{channel}_{index:06d}.{EXTRACTS[channel]}"
            if (self._folder / name).exists():
                files.append({"name": name, "time": at})
        if time.monotonic() - self._written > _SECONDS:
            self.write()

    def write(self) -> None:
        """Writes the lists to disk, each atomically."""
        self._written = time.monotonic()
        for channel, files in self._files.items():
            if files:
                path = self._folder / f"{channel}.{EXTRACTS[channel]}.series"
                temporary = path.with_name(f".{path.name}.{os.getpid()}")
                temporary.write_text(json.dumps({"file-series-version": "1.0", "files": files}) + "\n")
                temporary.replace(path)
