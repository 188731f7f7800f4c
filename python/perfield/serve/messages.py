# SPDX-License-Identifier: BSD-3-Clause
"""Who sends to whom: the pairs of one frame, and a matrix of ranks over frames.

Messages count where they were sent (for get: fetched). Those with a peer that is not a rank of this world, or
that is not known, have no place in either and are counted separately.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from perfield.analysis.observed import PAIRS
from perfield.derived.pairs import added_up
from perfield.pictures.lines import Pairs, heaviest
from perfield.run.snapshot import Snapshot
from perfield.serve.followed import View
from perfield.serve.look import look
from perfield.serve.packed import packed

MOST_PAIRS = 20_000  # of a frame, unless the request says
MOST_BINS = 512  # of the matrix
MATRIX_S = 1.0  # that one request reads
ROW = "row"  # of a pair, among all pairs
NAMES_OF_TABLES = 8  # a table costs about as much to read as so many fields


def of_frame(view: View, frame: int, most: int = MOST_PAIRS) -> bytes:
    """The pairs with the most bytes in a frame, chosen as for images, heaviest first.

    Arrays: source, target int32; count, bytes float64. Header: total, left_out (of pairs that are not among
    the `most`) and unknown (with a peer that is not a rank): {"pairs", "count", "bytes"} each; in_words: what
    is left out, "" for nothing.
    """
    pairs = added_up([view.run.rows(np.array([frame]), "messages")], PAIRS)
    known = known_pairs(pairs, view.run.n_ranks)
    among = pairs[known]
    shown, rest, in_words = chosen(among, most)
    return packed(
        {
            **{name: shown[name].astype("<i4") for name in ("source", "target")},
            **{name: shown[name].astype("<f8") for name in ("count", "bytes")},
        },
        frame=frame,
        in_words=in_words,
        total=_sums(among),
        left_out=_sums(rest),
        unknown=_sums(pairs[~known]),
    )


def chosen(pairs: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, str]:
    """The pairs (PAIRS) that are drawn, heaviest first, all others, and what these are in words."""
    sums = {f"sent_{name}": pairs[name].astype(float) for name in ("count", "bytes")}
    sums |= {ROW: np.arange(len(pairs))}
    drawn, in_words = heaviest(Pairs(pairs["source"], pairs["target"], sums), most)
    is_shown = np.isin(np.arange(len(pairs)), drawn.values[ROW])
    return by_weight(pairs[is_shown]), pairs[~is_shown], in_words


def by_weight(pairs: np.ndarray) -> np.ndarray:
    """Pairs in the order of their bytes, the most first."""
    return pairs[np.lexsort((-pairs["count"].astype(float), -pairs["bytes"].astype(float)))]


def matrix(view: View, begin: int, end: int) -> bytes:
    """Messages of frames begin to end - 1, added up by sender (row) and receiver (column).

    Arrays bytes, count: float64 (n_bins, n_bins), each bin `ranks_per_bin` ranks. Header: `complete`, false
    as long as asking again adds more of the frames; frames_read of frames_wanted; unknown as in `of_frame`.
    """
    return view.answers.get(("matrix", begin, end), lambda: _Matrix(begin, end)).answer(view)


class _Matrix:
    """The matrix of some frames, which grows with each request."""

    def __init__(self, begin: int, end: int):
        self._lock, self._begin, self._end = Lock(), begin, end
        self._read: np.ndarray | None = None  # the state of each frame when it was read
        self._sums: dict[str, np.ndarray] = {}

    @property
    def nbytes(self) -> int:
        """For `Kept`."""
        return sum(sums.nbytes for sums in self._sums.values())

    def answer(self, view: View) -> bytes:
        n_ranks = view.run.n_ranks
        per = max(1, -(-n_ranks // MOST_BINS))
        n_bins = -(-n_ranks // per)
        with self._lock:
            states = view.run.frame_states[self._begin : self._end]
            lost = self._read is None or len(self._read) > len(states)
            if lost or ((self._read > 0) & (self._read != states[: len(self._read)])).any():
                self._read = np.zeros(len(states), np.int64)  # a frame has grown: begin again
                self._sums = {name: np.zeros(n_bins * n_bins) for name in ("bytes", "count")}
                self._unknown = {"pairs": 0, "count": 0.0, "bytes": 0.0}
            read, snapshot = self._read, Snapshot(view.run)

            def take(positions: np.ndarray) -> None:
                rows = snapshot.run.rows(positions + self._begin, "messages")
                known = known_pairs(rows, n_ranks)
                among = rows[known]
                cell = among["source"] // per * n_bins + among["target"] // per
                for name, sums in self._sums.items():
                    sums += np.bincount(cell, among[name].astype(float), n_bins * n_bins)
                for name, more in _sums(rows[~known]).items():
                    self._unknown[name] += more
                read[positions] = states[positions]

            complete = look(np.flatnonzero(read != states), n_ranks, NAMES_OF_TABLES, take, MATRIX_S)
            sums = {name: values.reshape(n_bins, n_bins).copy() for name, values in self._sums.items()}
            n_read, unknown = int(np.count_nonzero(read)), dict(self._unknown)  # another request may continue
        return packed(
            sums,
            ranks_per_bin=per,
            n_bins=n_bins,
            complete=complete,
            frames_read=n_read,
            frames_wanted=len(read),
            unknown=unknown,
        )


def known_pairs(rows: np.ndarray, n_ranks: int) -> np.ndarray:
    """bool (n_rows,), whether both ends are ranks of the run."""
    ends = rows["source"], rows["target"]
    return np.all([(end >= 0) & (end < n_ranks) for end in ends], axis=0)


def _sums(rows: np.ndarray) -> dict[str, float]:
    return {"pairs": len(rows), **{name: float(rows[name].sum(dtype=float)) for name in ("count", "bytes")}}
