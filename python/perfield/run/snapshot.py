# SPDX-License-Identifier: BSD-3-Clause
"""A run as it was at one moment, read chunk by chunk of steps, in this process or in another one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np

from perfield.run.errors import RunError
from perfield.run.run import RunDirectory

_ENTRIES = 32_768  # of a chunk: a tenth of a second of reading
_NUMBERS = 2**21  # of a chunk of the largest variable: 16 MB
_opening = Lock()


class Snapshot:
    """A run as it is when this is made. It pickles by path: another process reads the same part of the run.

    Every method reads only the entries of the steps asked for, each of them once. They raise RunError if a file
    that holds such entries is no longer there.
    """

    def __init__(self, run: RunDirectory):
        self.run = run.snapshot()

    def __reduce__(self) -> tuple:
        return _reopened, (str(self.run.path.absolute()), tuple(self.run.until.items()), len(self.run))

    @property
    def steps_per_chunk(self) -> int:
        """Number of steps that are best read at once."""
        run = self.run
        n_ranks, n_regions = max(run.n_ranks, 1), max(len({region.field for region in run.known_regions}), 1)
        return max(1, min(_ENTRIES // n_ranks, _NUMBERS // (n_ranks * n_regions), len(run)))

    def fields(self, positions: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
        """Values of fields, each (n_positions, n_ranks), NaN where absent; positions : of frames."""
        self._expect_files(positions)
        columns = {name: np.full((len(positions), self.run.n_ranks), np.nan) for name in names}
        for row, position in enumerate(positions.tolist()):
            values = self.run.frame(position).values
            for name, column in columns.items():
                column[row] = values[name]
        return columns

    def told(self, positions: np.ndarray, name: str) -> np.ndarray:
        """(n_positions,), what the lowest rank told of these steps: "label", "time" or "span"."""
        self._expect_files(positions)
        return np.array([self.run.told(position)[name] for position in positions.tolist()])

    def rows(self, positions: np.ndarray, table: str) -> tuple[np.ndarray, np.ndarray]:
        """Rows of "messages", "received" or "waits" as Frame has them, and the step index of each."""
        self._expect_files(positions)
        tables = [getattr(self.run.frame(position), table) for position in positions.tolist()]
        steps = np.repeat(self.run.step_indexes[positions], [len(rows) for rows in tables])
        return np.concatenate([getattr(self.run.no_frame, table), *tables]), steps

    def _expect_files(self, positions: np.ndarray) -> None:
        for file in self.run.files_of(positions):
            _expect(file)


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
            f"{path} had {n_steps} steps when it was opened, and the same part of it now has {len(run)}; it was "
            "changed since. Open it again."
        )
    return Snapshot(run)


def _expect(file: Path) -> None:
    if not file.exists():
        raise RunError(
            f"{file} is no longer there, but was when the run was opened; bring it back, or open the run again "
            "to see what is left of it."
        )
