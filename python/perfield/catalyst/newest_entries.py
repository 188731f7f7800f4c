# SPDX-License-Identifier: BSD-3-Clause
"""The entries of a rank that pictures inside the program show.

Near record_limit several steps share an entry, and each rank chooses alone how many. A picture compares
ranks, so it shows the newest steps that the longest of the ranks' entries covers, from every rank.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfield import _bridge

if TYPE_CHECKING:
    from perfield.catalyst.world import World

KEPT = 128  # an entry of another rank may share the steps of so many


class NewestEntries:
    """The newest entries of this rank, at most KEPT."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, int, bytes]] = deque(maxlen=KEPT)  # first and last step, body

    def __bool__(self) -> bool:
        return bool(self._kept)

    def add(self, entries: Iterable[tuple[int, bytes]]) -> None:
        """Takes in (index, body) of new entries, in their order."""
        for index, body in entries:
            span = max(1, int(_bridge.decode_steps([body])["steps"]["span"][0]))
            self._kept.append((index + 1 - span, index, body))

    def of_all(self, world: World) -> list[bytes]:
        """This rank's entries of the newest steps that all ranks have. Collective; all ranks have some.

        Empty on all ranks if one of them no longer has so old entries.
        """
        first, last, _ = self._kept[-1]
        end, most = world.agree(last, first - last - 1)
        begin = end + most + 1
        chosen = [body for first, last, body in self._kept if begin <= last <= end]
        is_whole = len(self._kept) < KEPT or self._kept[0][0] <= begin
        return chosen if world.agree(int(bool(chosen) and is_whole)) == [1] else []
