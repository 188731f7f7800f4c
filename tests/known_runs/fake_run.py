# SPDX-License-Identifier: BSD-3-Clause
"""A fake of the run that `perfield.open` returns: any kind of mesh, values chosen by the test, no files.

>>> run = fake_run.FakeRun(tmp_path, ranks=8, steps=3, kind="unstructured")
>>> run.frame(2).values["solve_time_s"]  # (rank + 1) * 0.1 + step
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

MESSAGE = np.dtype(
    [
        *(("source", "i4"), ("target", "i4"), ("call", "U16")),
        *(("count", "u8"), ("bytes", "u8"), ("empty", "u8"), ("largest", "u8")),
    ]
)
HEXAHEDRON = 12


@dataclass
class FakeBlock:
    """A block of a mesh; attributes of other kinds are None."""

    block: int
    kind: str
    extent: list[int] | None = None
    origin: list[float] | None = None
    spacing: list[float] | None = None
    points: np.ndarray | None = None
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    z: np.ndarray | None = None
    connectivity: np.ndarray | None = None
    offsets: np.ndarray | None = None
    types: np.ndarray | None = None
    ghosts: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass
class FakeField:
    """An own field of the simulation."""

    values: np.ndarray
    association: str = "point"
    index: int = 0


@dataclass
class FakeRegion:
    """A region and the prefix of its fields' names."""

    name: str
    field: str
    block: int = -1
    file: str = ""
    line: int = 0


@dataclass
class FakeFrame:
    """One frame."""

    index: int
    label: int
    time: float
    mesh_version: np.ndarray
    values: dict[str, np.ndarray]
    messages: np.ndarray
    block_values: dict[str, dict[tuple[int, int], float]] = field(default_factory=dict)
    kind: str = "step"
    uneven: bool = False
    span: int = 1
    is_mean: bool = False
    collectives: np.ndarray | None = None
    received: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=MESSAGE))
    begin_s: np.ndarray = field(default_factory=lambda: np.zeros(0))


def cube(rank: int, kind: str, cells: int = 3) -> FakeBlock:
    """The rank's unit cube, the ranks along x, `cells` cells in each direction."""
    n, axis = cells + 1, np.linspace(0.0, 1.0, cells + 1)
    extent = [rank * cells, (rank + 1) * cells, 0, cells, 0, cells]
    if kind == "image":
        return FakeBlock(0, kind, extent, origin=[0.0, 0.0, 0.0], spacing=[1 / cells] * 3)
    if kind == "rectilinear":
        return FakeBlock(0, kind, extent, x=rank + axis, y=axis, z=axis)
    z, y, x = np.meshgrid(axis, axis, rank + axis, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    if kind == "structured":
        return FakeBlock(0, kind, extent, points=points)
    k, j, i = np.meshgrid(*[np.arange(cells)] * 3, indexing="ij")
    first = (i + n * (j + n * k)).ravel()
    corners = [0, 1, n + 1, n, n * n, n * n + 1, n * n + n + 1, n * n + n]
    connectivity = (first[:, None] + np.array(corners)).ravel()
    offsets = np.arange(cells**3 + 1) * 8
    return FakeBlock(
        0, kind, points=points, connectivity=connectivity, offsets=offsets, types=np.array([HEXAHEDRON])
    )


class FakeRun:
    """Ranks in a row along x; rank r sends 2 messages of 100 bytes to r + 1, and none back."""

    def __init__(
        self, path: Path, ranks: int = 4, steps: int = 3, kind: str = "unstructured", cells: int = 3
    ):
        self.path = path
        self.state = "running"
        self.n_ranks = ranks
        self.rank_entries: list[dict | None] = [{"rank": rank} for rank in range(ranks)]
        self.ends: dict[int, dict] = {}
        self.communicators: list = []
        self.grids: list = []
        self.realtime_ns: tuple[int, int] | None = None
        self.meanings: dict = {}
        self.highlights: list[int] = []
        self.ranks_here, self.has_samples = range(ranks), False
        self.spans = np.ones(steps, dtype=np.int64)
        self.info: dict = {"working_directory": ".", "configuration": {}}
        self.known_regions = [FakeRegion("solve", "solve"), FakeRegion("i flux", "i_flux")]
        self.meshes = {rank: [cube(rank, kind, cells)] for rank in range(ranks)}
        self.own_fields: dict[int, dict[tuple[int, str], FakeField]] = {}
        self._frames = [self._make(step) for step in range(steps)]

    def _make(self, step: int) -> FakeFrame:
        rank = np.arange(self.n_ranks, dtype=float)
        messages = np.zeros(max(self.n_ranks - 1, 0), dtype=MESSAGE)
        messages["source"], messages["target"] = rank[:-1], rank[1:]
        messages["call"], messages["count"], messages["bytes"] = "isend", 2, 200
        sent = np.where(rank < self.n_ranks - 1, 2.0, 0.0)
        values = {
            "rank": rank,
            "solve_time_s": (rank + 1) * 0.1 + step,
            "solve_count": np.full(self.n_ranks, 1.0),
            "i_flux_time_s": np.full(self.n_ranks, np.nan),
            "step_time_s": np.full(self.n_ranks, 2.0 + step),
            "compute_time_s": (rank + 1) * 0.1 + step,
            "isend_count": sent,
            "isend_bytes": 100 * sent,
            "sent_count": sent,
            "sent_bytes": 100 * sent,
            "received_count": sent[::-1].copy(),
            "received_bytes": 100 * sent[::-1],
            "peer_count": np.ones(self.n_ranks),
        }
        version = np.ones(self.n_ranks, dtype=int)
        return FakeFrame(step, 10 * step, 0.5 * step, version, values, messages)

    def __len__(self) -> int:
        return len(self._frames)

    def mesh_versions(self, position: int) -> np.ndarray:
        """As `Frame.mesh_version`."""
        return self._frames[position].mesh_version

    def frame(self, index: int) -> FakeFrame:
        """The frame of that index."""
        return self._frames[index]

    def frames(self):
        """All frames, in order."""
        return iter(self._frames)

    def mesh(self, rank: int, version: int) -> list[FakeBlock]:
        """The blocks of a rank's mesh."""
        return self.meshes[rank]

    def fields(self, rank: int, index: int) -> dict[tuple[int, str], FakeField]:
        """The simulation's own fields on a rank."""
        return self.own_fields.get(rank, {})
