# SPDX-License-Identifier: BSD-3-Clause
"""Lists the extracts that pipelines wrote, so that stock ParaView opens them as one series in time."""

from __future__ import annotations

import re
import time
from pathlib import Path

from perfield.catalyst_scripts.owned_folder import NotOursError, OwnedFolder
from perfield.output.series import collection

CHANNELS = ("geometry", "topology")
_OF_CHANNELS = re.compile(
    rf"({'|'.join(CHANNELS)})(_.*|\.pvd)"
)  # how names of extracts and their lists begin
_SECONDS = 1.0  # between two writes; each writes the whole list


class ExtractLists:
    """`geometry.pvd` and `topology.pvd` in a folder of perfield's, beside the extracts."""

    def __init__(self, folder: Path, is_beside: bool):
        """is_beside : whether the pipelines run beside the program, so perhaps again. Then files of an
        earlier time are removed first, and those of this time become perfield's. In the program, the folder
        is new.

        Raises NotOursError if ParaView, which writes the extracts, would overwrite what is not perfield's.
        """
        self._folder, self._is_beside = OwnedFolder(folder).make(), is_beside
        self._files: dict[str, list[tuple[float, str]]] = {channel: [] for channel in CHANNELS}
        self._written, self._is_old = -_SECONDS, False
        self._folder.remove_stale()
        for entry in sorted(folder.iterdir()):
            if _OF_CHANNELS.fullmatch(entry.name):
                raise NotOursError(
                    f"{entry} was not written by perfield, or was changed since; move it away, or name "
                    "another place with -o."
                )

    def add(self, index: int, at: float) -> None:
        """Adds the files that pipelines wrote in a step. at : the time at which ParaView shows them."""
        for channel, files in self._files.items():
            name = f"{channel}_{index:06d}.vtm"
            if (self._folder.path / name).exists():
                files.append((at, name))
                self._is_old = True
        for found in self._folder.path.glob(f"*_{index:06d}*") if self._is_beside else ():
            if _OF_CHANNELS.fullmatch(found.name):
                for file in (found, *found.rglob("*")):
                    if file.is_file():
                        self._folder.note(file.relative_to(self._folder.path).as_posix())
        if time.monotonic() - self._written > _SECONDS:
            self.write()

    def write(self) -> None:
        """Writes the lists to disk, each atomically, if they have changed."""
        if not self._is_old:
            return
        self._written, self._is_old = time.monotonic(), False
        for channel, files in self._files.items():
            if files:
                self._folder.write(f"{channel}.pvd", collection(files))
        self._folder.finish()
