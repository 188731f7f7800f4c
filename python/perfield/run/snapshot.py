# SPDX-License-Identifier: BSD-3-Clause
"""A run as it was at one moment, read in chunks of steps, in this process or in another one."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from threading import Lock
from uuid import uuid4

import numpy as np

from perfield.run.run_directory import RunDirectory

ENTRIES_PER_CHUNK = 32_768  # takes a tenth of a second to read
NUMBERS_PER_CHUNK = 2**21  # in the largest variable: 16 MB
MOST_KNOWN = 2  # runs that a worker keeps
_lock = Lock()
_known: dict[str, Snapshot] = {}  # in a worker, by name


class Snapshot:
    """A run as it was when this object was made. It pickles with the places of the frames' entries, so that
    other processes read them from the same files without opening the run. Methods read the entries of the
    requested steps, each once and without the GIL.
    """

    def __init__(self, run: RunDirectory):
        self.run = run.snapshot()
        self._sent: tuple[str, bytes] | None = None

    def __reduce__(self) -> tuple:
        if self._sent is None:
            sent = type(self.run), self.run.frames_only()
            data = pickle.dumps(sent, pickle.HIGHEST_PROTOCOL)
            self._sent = uuid4().hex, data
        return _received, self._sent

    @property
    def steps_per_chunk(self) -> int:
        """Number of steps to read at once."""
        run = self.run
        n_numbers = max(run.n_ranks, 1) * max(len(run.columns.stems), 1)
        return max(1, min(self._frames_at_once, NUMBERS_PER_CHUNK // n_numbers, len(run)))

    def chunks(self) -> Iterator[np.ndarray]:
        """The positions of all frames, so many at a time."""
        size, n_steps = self.steps_per_chunk, len(self.run)
        return (np.arange(begin, min(begin + size, n_steps)) for begin in range(0, n_steps, size))

    @property
    def _frames_at_once(self) -> int:
        return ENTRIES_PER_CHUNK // max(self.run.entries_per_frame, 1)

    def in_chunks(self, positions: np.ndarray, names: list[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Values of fields in many frames, chunk by chunk: positions of frames, and their
        `RunDirectory.values`."""
        n_numbers = max(self.run.n_ranks, 1) * max(len(names), 1)
        size = max(1, min(self._frames_at_once, NUMBERS_PER_CHUNK // n_numbers))
        for begin in range(0, len(positions), size):
            chosen = positions[begin : begin + size]
            yield chosen, self.run.values(names, chosen)

    def frame_headers(self, positions: np.ndarray, name: str) -> np.ndarray:
        """(n_positions,): "label" or "time" of these steps, from the lowest rank, "span", or "uneven"."""
        if name == "span":
            return self.run.spans[positions]
        if name == "uneven":
            return self.run.read(positions)["uneven"]
        return self.run.frame_headers(positions)[name]

    def stamps(self, positions: np.ndarray, name: str) -> np.ndarray:
        """(n_positions, n_ranks): "begin_s" or "end_s" of the ranks' steps on the common clock, or
        "clock_uncertainty_s" of these; NaN where absent."""
        read, stamps = self.run.read(positions), self.run.stamps
        of = stamps.uncertainty_s if name == "clock_uncertainty_s" else stamps.common_s
        values = np.full((len(positions), self.run.n_ranks), np.nan)
        ends = read["fixed"]["begin_ns" if name == "begin_s" else "end_ns"]
        values[read["step"], read["rank"]] = of(read["rank"], ends)
        return values


def _received(name: str, data: bytes) -> Snapshot:
    with _lock:
        if name not in _known:  # a worker gets a run once for each variable
            while len(_known) >= MOST_KNOWN:
                del _known[next(iter(_known))]
            kind, sent = pickle.loads(data)
            _known[name] = Snapshot(kind.of_frames_only(sent))
            _known[name]._sent = name, data
        return _known[name]
