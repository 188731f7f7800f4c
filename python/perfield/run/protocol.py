# SPDX-License-Identifier: BSD-3-Clause
"""The methods of every run, whether read from a run directory or from the memory of the program
itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from perfield.fields.regions import Region
    from perfield.run.collectives import Communicator
    from perfield.run.frame import Frame
    from perfield.run.mesh import Block, FieldArray


@runtime_checkable
class AnyRun(Protocol):
    """One execution of a program under perfield: finished, killed, live, imported, or gathered in process.

    path : its run directory. info : its run.json. state : "running", "finished" or "killed". rank_entries :
    the entry that each rank wrote when it checked in, None if it never did. ends : by rank, the entry that it
    wrote when it ended. communicators : those that ranks used, the largest first. grids : the Cartesian ones,
    in the order in which they were made. realtime_ns : CLOCK_REALTIME of its begin and its end; None where
    these are not known. ranks_here : the ranks whose pieces of the mesh are at hand. spans : (len(self),)
    int64, how many steps each frame adds up. has_samples : whether ranks took samples of functions.
    meanings : what the values of a field stand for, in words, where it is a category. highlights : positions
    of frames that show fields of this run best.
    """

    path: Path
    info: dict[str, Any]
    state: str
    rank_entries: list[dict[str, Any] | None]
    ends: dict[int, dict[str, Any]]
    communicators: list[Communicator]
    grids: list[Communicator]
    realtime_ns: tuple[int, int] | None
    ranks_here: Collection[int]
    spans: np.ndarray
    has_samples: bool
    meanings: Mapping[str, Mapping[int, str]]
    highlights: Sequence[int]

    @property
    def n_ranks(self) -> int:
        """Number of ranks of the world that was measured."""

    @property
    def known_regions(self) -> list[Region]:
        """All regions that any rank defined so far, joined by name, block and call site."""

    def __len__(self) -> int:
        """Number of frames."""

    def frame(self, number: int) -> Frame:
        """The frame at a position (from 0; negative: from the end); raises IndexError if there is none."""

    def frames(self) -> Iterator[Frame]:
        """All frames in turn; one at a time is in memory."""

    def mesh_versions(self, position: int) -> np.ndarray:
        """(n_ranks,) int64, the version of each rank's mesh in a frame, 0 for none; as `Frame.mesh_version`,
        without reading what ranks measured."""

    def mesh(self, rank: int, version: int) -> list[Block]:
        """The blocks of a rank's piece in one version of its mesh, by number; empty if it described none."""

    def fields(self, rank: int, index: int) -> dict[tuple[int, str], FieldArray]:
        """The simulation's own fields of a rank by (block, name): the newest stored at or before a
        step."""
