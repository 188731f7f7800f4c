# SPDX-License-Identifier: BSD-3-Clause
"""A run as it was at one moment, read in chunks of steps, in this process or in another one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np

from perfield.run.errors import RunError
from perfield.run.run import RunDirectory
from perfield.run.streams import Places

ENTRIES_PER_CHUNK = 32_768  # takes a tenth of a second to read
NUMBERS_PER_CHUNK = 2**21  # in the largest variable: 16 MB
_opening = Lock()


class Snapshot:
    """A run as it was when this object was made. It pickles by its path: other processes read the same
    part. Methods read the entries of the requested steps, each once and without the GIL. They raise
    RunError if a file with such entries is gone.
    """

    def __init__(self, run: RunDirectory):
        self.run = run.snapshot()

    def __reduce__(self) -> tuple:
        return _reopened, (str(self.run.path.absolute()), tuple(self.run.until.items()), len(self.run))

    @property
    def steps_per_chunk(self) -> int:
        """Number of steps to read at once."""
        run = self.run
        n_ranks, n_regions = max(run.n_ranks, 1), max(len(run.columns.stems), 1)
        return max(1, min(ENTRIES_PER_CHUNK // n_ranks, NUMBERS_PER_CHUNK // (n_ranks * n_regions), len(run)))

    def fields(self, positions: np.ndarray, names: list[str]) -> np.ndarray:
        """Values of fields at positions of frames: (n_positions, len(names), n_ranks), NaN where absent."""
        return self.run.columns.read(self._places(positions), names)

    def read(self, positions: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
        """Values of fields, messages, waits and more of frames, as `RunDirectory.read` gives them."""
        self._places(positions)
        return self.run.read(positions, names)

    def in_chunks(self, positions: np.ndarray, names: list[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The same values chunk by chunk: positions of frames, and (n_positions, len(names), n_ranks)."""
        n_ranks = max(self.run.n_ranks, 1)
        size = max(1, min(ENTRIES_PER_CHUNK // n_ranks, NUMBERS_PER_CHUNK // (n_ranks * max(len(names), 1))))
        for begin in range(0, len(positions), size):
            chosen = positions[begin : begin + size]
            yield chosen, self.fields(chosen, names)

    def told(self, positions: np.ndarray, name: str) -> np.ndarray:
        """(n_positions,): "label", "time" or "span" of these steps, from the lowest rank, or "uneven"."""
        self._places(positions)
        if name == "uneven":
            return self.run.uneven(positions)
        return np.array([self.run.told(position)[name] for position in positions.tolist()])

    def stamps(self, positions: np.ndarray, name: str) -> np.ndarray:
        """(n_positions, n_ranks): "begin_s" or "end_s" of the ranks' steps on the common clock, or
        "clock_uncertainty_s" of these; NaN where absent."""
        self._places(positions)
        step, ranks, entries = self.run.entries(positions)
        read = self.run.stamps.uncertainty_s if name == "clock_uncertainty_s" else self.run.stamps.common_s
        values = np.full((len(positions), self.run.n_ranks), np.nan)
        values[step, ranks] = read(ranks, entries["begin_ns" if name == "begin_s" else "end_ns"])
        return values

    def rows(self, positions: np.ndarray, table: str) -> np.ndarray:
        """Rows of "messages", "received", "waits" or "calls" of these frames; `step` is an index into
        `positions`."""
        if table == "calls":
            self._places(positions)
            return self.run.call_rows(positions)
        return self.run.columns.read_tables(self._places(positions), [])[table]

    def _places(self, positions: np.ndarray) -> Places:
        """Where the entries of frames lie."""
        places = self.run.places(positions)
        for number in np.unique(places.file):
            _expect(Path(places.paths[number]))
        return places


def _reopened(path: str, until: tuple[tuple[str, int], ...], n_steps: int) -> Snapshot:
    with _opening:
        return _opened(path, until, n_steps)


@lru_cache(maxsize=2)  # a worker opens a run once, not once for each chunk
def _opened(path: str, until: tuple[tuple[str, int], ...], n_steps: int) -> Snapshot:
    for name, _ in until:
        _expect(Path(path) / "stream" / name)
    run = RunDirectory(path, dict(until))
    if len(run) != n_steps:
        raise RunError(
            f"{path} had {n_steps} steps when it was opened, and the same part of it now has {len(run)}; it "
            "was changed since. Open it again."
        )
    return Snapshot(run)


def _expect(file: Path) -> None:
    if not file.exists():
        raise RunError(
            f"{file} is no longer there, but was when the run was opened; bring it back, or open the run "
            "again to see what is left of it."
        )
