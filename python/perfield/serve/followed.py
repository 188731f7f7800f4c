# SPDX-License-Identifier: BSD-3-Clause
"""A run that is shown while it may still grow.

Requests work on a `View`: the run as it was at one moment, which no later refresh changes. So no request
waits for another, except for the same answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

import perfield
from perfield.derived.injected import sentence
from perfield.derived.providers import fields_of
from perfield.derived.run import Run
from perfield.pictures import NEEDS_VTK
from perfield.serve import inside
from perfield.serve.frames import Frames
from perfield.serve.kept import Kept
from perfield.serve.ranges import Ranges
from perfield.topology import Placement, placement_of, sharing

if TYPE_CHECKING:
    from perfield.pictures.pieces import Pieces
    from perfield.serve.reporter import Reporter

AT_MOST_EVERY_S = 0.5  # the run is read anew
KEPT_BYTES = 1 << 28  # of answers
READ_S = 0.25  # of each refresh, to learn the ranges of fields, unless another time is given


@dataclass(frozen=True)
class View:
    """A run at one moment.

    version : grows with everything that /api/run gives. run : a snapshot. frames : its columns as the page
    gets them. first_of_mesh : by number of a mesh, the position of the first frame with it. pieces : where
    the mesh comes from; None where there is none. mesh_notes : on it. reporter : makes findings. ranges : of
    fields, as `Ranges.ranges` gives them. surveyed : how many frames these are of. typical : position of a
    frame that is neither set-up nor output. placement : of the ranks. answers, shapes : costly answers, and
    the costliest, of mesh and machine; shared by all views. other : the run that is shown beside this one.
    """

    version: int
    run: Run
    frames: dict[str, list[Any]]
    first_of_mesh: dict[int, int]
    pieces: Pieces | None
    mesh_notes: tuple[str, ...]
    reporter: Reporter | None
    ranges: dict[str, dict[str, Any]]
    surveyed: int
    typical: int | None
    placement: Placement
    notes: tuple[str, ...]
    answers: Kept[Any] = field(repr=False)
    shapes: Kept[Any] = field(repr=False)
    other: Followed | None = field(default=None, repr=False)

    @property
    def names(self) -> list[str]:
        """Names of the run's fields; while it is running, without those that take all steps at once."""
        known = self.run.all_fields
        return known.names if self.run.state == "running" else known.all_names


class Followed:
    """Reads a run anew when it is asked for, at most every AT_MOST_EVERY_S."""

    def __init__(
        self,
        path: Path,
        mesh: Path | None = None,
        rank_array: str | None = None,
        agrees: Callable[[str], bool] = lambda place: False,
        reporter: Reporter | None = None,
        read_s: float | None = None,
        other: Followed | None = None,
    ):
        """mesh, rank_array : a mesh on disk, as for `choose_pieces`. agrees : whether the user wants a mesh
        shown that the run leads to, at a place outside. reporter : makes findings. read_s : how long
        each refresh reads. other : a run to compare this one with.

        Raises RunError if `path` is not a run, or leads out of its directory.
        """
        inside.check(path)
        self._path, self._mesh, self._reporter = path, None, reporter
        self.other = other
        self._read_s = read_s  # None: READ_S
        if has_vtk():
            from perfield.serve.mesh_on_disk import MeshOnDisk

            self._mesh = MeshOnDisk(mesh, rank_array, agrees)
        self._run = perfield.open(path)
        self._frames, self._ranges = Frames(), Ranges()
        self._lock = Lock()
        self._answers: Kept[Any] = Kept(48, KEPT_BYTES)
        self._shapes: Kept[Any] = Kept(6, 2 * KEPT_BYTES)
        self._seen: tuple[Any, ...] = ()
        self._view: View | None = None
        self._next = 0.0

    @property
    def path(self) -> Path:
        """The run directory."""
        return self._path

    def view(self) -> View:
        """The run as it is now, or was less than AT_MOST_EVERY_S ago.

        A large run is read less often, so that reading takes at most a fifth of the time; who asks meanwhile
        gets the run as it was. Raises RunError if the run can no longer be read, or leads out of its
        directory.
        """
        before = self._view
        if not self._lock.acquire(blocking=before is None):
            return before
        try:
            begin = time.monotonic()
            if self._view is None or begin >= self._next:
                self._view = self._refreshed()
                end = time.monotonic()
                self._next = end + max(AT_MOST_EVERY_S, AT_MOST_EVERY_S and 4 * (end - begin))
            return self._view
        finally:
            self._lock.release()

    def _refreshed(self) -> View:
        inside.check(self._path)
        if self._view is not None:
            self._run.refresh()
        fields_of(self._run)  # made under the lock; snapshots share it
        run = self._run.snapshot()
        seen = tuple(run.until.items()), run.state, len(run.meshes)
        grew = seen[0::2] != self._seen[0::2] or len(run) != len(self._frames.label)  # at its end, too
        if grew:
            self._frames.refresh(run)
        seconds = READ_S if self._read_s is None else self._read_s
        read = self._ranges.read_on(run, self._frames.states, seconds)
        if self._view is not None and seen == self._seen and not read:
            return self._view
        before, self._seen = self._view, seen
        frames = self._frames
        columns = frames.columns(run, self._ranges)
        pieces, mesh_notes, versions = self._pieces(run)
        columns["mesh_version"] = versions.tolist()
        first = np.unique(versions, return_index=True) if pieces is not None else ((), ())
        kinds = self._ranges.kinds(len(run))
        placement = placement_of(run) if before is None or grew else before.placement
        unchanged = before is not None and not grew and run.state == before.run.state
        view = View(
            version=before.version + 1 if before else 1,
            run=run,
            frames=columns,
            first_of_mesh={int(number): int(at) for number, at in zip(*first)},
            pieces=pieces,
            mesh_notes=mesh_notes,
            reporter=self._reporter,
            ranges=self._ranges.ranges(),
            surveyed=self._ranges.n_read(len(run)),
            typical=kinds.typical if kinds else None,
            placement=placement,
            notes=before.notes if unchanged else (),
            answers=self._answers,
            shapes=self._shapes,
            other=self.other,
        )
        return view if unchanged else replace(view, notes=_notes(view))

    def _pieces(self, run: Run) -> tuple[Pieces | None, tuple[str, ...], np.ndarray]:
        """Where the mesh comes from, notes on it, and its number in each frame."""
        frames = self._frames
        if self._mesh is None:
            return None, (), frames.mesh
        if frames.has_mesh and not self._mesh.is_named:
            from perfield.pictures.pieces import StoredPieces

            return StoredPieces(run), (), frames.mesh
        found = self._mesh.of(run, frames.time, frames.begin_s)
        return found.pieces, found.notes, found.versions


def _notes(view: View) -> tuple[str, ...]:
    """Sentences that limit what the page shows."""
    run = view.run
    injected = sentence(run.info.get("injected"))
    sentences = [f"{injected[:1].upper()}{injected[1:]}. All times contain them."] if injected else []
    absent = sum(entry is None for entry in run.rank_entries)
    if absent:
        sentences.append(f"{absent} of {run.n_ranks} ranks never checked in; nothing is known of them.")
    if run.state == "killed":
        sentences.append("The run was killed, or its ranks fell silent; what they had written is shown.")
    if not len(run):
        sentences.append("No step was closed yet." if run.state == "running" else "The run closed no step.")
    elif view.frames["kind"] == ["whole"]:
        sentences.append(
            "The program marked no time steps, so all values are of the whole run. "
            "The command perfield steps RUN lists what can close steps."
        )
    if crowded := sharing(view.placement).words:
        sentences.append(f"{crowded}.")
    return (*sentences, *run.damage, *view.placement.notes)


def is_stored(pieces: Pieces | None) -> bool:
    """Whether the mesh is one that ranks described, rather than files or boxes."""
    return pieces is not None and hasattr(pieces, "shapes")


def has_vtk() -> bool:
    """Whether VTK's Python modules are installed; does not load them."""
    from importlib.util import find_spec

    return find_spec("vtkmodules") is not None


def without_vtk(what: str) -> str:
    """Why `what` is not shown where VTK is missing, in a sentence."""
    return f"{what} {NEEDS_VTK}"
