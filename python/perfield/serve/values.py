# SPDX-License-Identifier: BSD-3-Clause
"""Values of fields: of all ranks in some frames, and as a heat map of all ranks over all frames."""

from __future__ import annotations

from threading import Lock

import numpy as np

from perfield.run.snapshot import Snapshot
from perfield.serve.about import scale
from perfield.serve.followed import View
from perfield.serve.look import look
from perfield.serve.packed import packed
from perfield.serve.ranges import joined

MOST_NUMBERS = 1 << 24  # of one answer: 64 MB
MOST_ROWS, MOST_COLUMNS = 1024, 2048  # of a heat map
HEAT_S = 1.0  # that one request reads


class TooMuchError(ValueError):
    """More was asked for than one answer holds; the text says what to ask for instead."""


def values(view: View, field: str, begin: int, end: int) -> bytes:
    """A field of frames begin to end - 1, float32 (end - begin, n_ranks), NaN where absent.

    Raises TooMuchError beyond MOST_NUMBERS.
    """
    n_ranks = view.run.n_ranks
    if (end - begin) * n_ranks > MOST_NUMBERS:
        raise TooMuchError(
            f"{end - begin} frames of {n_ranks} ranks are too much for one answer; ask for at most "
            f"{MOST_NUMBERS // n_ranks} frames at once."
        )
    found = np.full((end - begin, n_ranks), np.nan, np.float32)
    at = 0
    for here, read in Snapshot(view.run).in_chunks(np.arange(begin, end), [field]):
        found[at : at + len(read)] = (read / view.run.all_fields.per_step([field], here))[:, 0]
        at += len(read)
    return found.astype("<f4", copy=False).tobytes()


def heat(view: View, field: str) -> bytes:
    """A field as a heat map: the largest value of each few ranks (rows) and frames (columns).

    Array values : float32 (rows, columns), NaN where nothing was measured or read yet. Header: `complete`,
    false if asking again gives more; ranks_per_bin, frames_per_bin; title, unit, range and scale.
    """
    return view.answers.get(("heat", field), lambda: _Heat(field)).answer(view)


class _Heat:
    """The heat map of a field, which grows with the run and with each request."""

    def __init__(self, field: str):
        self._field, self._lock = field, Lock()
        self._per = (0, 0)
        self._cells = np.zeros((0, 0), np.float32)
        self._peaks = np.zeros(0)  # of each frame; NaN where none is known
        self._low = np.inf
        self._read = np.zeros(0, np.int64)  # the state of each frame when it was read

    @property
    def nbytes(self) -> int:
        """For `Kept`."""
        return self._cells.nbytes

    def answer(self, view: View) -> bytes:
        with self._lock:
            self._make_room(view)
            states = view.run.frame_states
            unread = np.flatnonzero(self._read != states)
            snapshot, (ranks, columns) = Snapshot(view.run), self._per
            first = np.arange(0, view.run.n_ranks, max(ranks, 1))

            def take(positions: np.ndarray) -> None:
                each = view.run.all_fields.per_step([self._field], positions)
                values = (snapshot.run.values([self._field], positions) / each)[:, 0]
                rows = np.fmax.reduceat(values, first, axis=1)
                finite = np.where(np.isfinite(values), values, np.nan)
                self._peaks[positions] = np.fmax.reduce(finite, axis=1)
                self._low = float(np.fmin(self._low, np.fmin.reduce(finite, axis=None)))
                at = positions // columns
                for column, row in zip(at.tolist(), rows):
                    self._cells[:, column] = np.fmax(self._cells[:, column], row)
                self._read[positions] = states[positions]

            in_order = self._field not in view.run.columns  # providers read the frames around each
            complete = look(unread, view.run.n_ranks, 1, take, HEAT_S, in_order)
            cells, peaks = self._cells.copy(), self._peaks[np.isfinite(self._peaks)]
        return packed(
            {"values": cells},
            complete=complete,
            ranks_per_bin=ranks,
            frames_per_bin=columns,
            n_frames=len(view.run),
            **scale(view, self._field, peaks, self._low),
        )

    def _make_room(self, view: View) -> None:
        """Makes the map as wide as the run; joins columns when they become too many."""
        n_ranks, n_frames = view.run.n_ranks, len(view.run)
        per = max(1, -(-n_ranks // MOST_ROWS)), max(1, -(-n_frames // MOST_COLUMNS))
        shape = -(-n_ranks // per[0]), -(-n_frames // per[1])
        if per != self._per or joined(self._read, view.run.frame_states):
            self._per, self._read = per, np.zeros(n_frames, np.int64)
            self._peaks, self._low = np.full(n_frames, np.nan), np.inf
            self._cells = np.full(shape, np.nan, np.float32)
            return
        wider = np.full(shape, np.nan, np.float32)
        wider[:, : self._cells.shape[1]] = self._cells
        self._cells = wider
        new = n_frames - len(self._read)
        self._read = np.concatenate([self._read, np.zeros(new, np.int64)])
        self._peaks = np.concatenate([self._peaks, np.full(new, np.nan)])
