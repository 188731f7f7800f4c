# SPDX-License-Identifier: BSD-3-Clause
"""What the frames of a run say together: the range of each field, and which steps are typical.

Colours end as in images, by `perfield.output.scales`, but for few values of single ranks that lie beyond.
Where an image knows the frames that it draws, the page knows those that were read so far, spread evenly.
"""

from __future__ import annotations

import warnings

import numpy as np

from perfield.analysis.steps import StepKinds, kinds_of_steps
from perfield.derived.run import Run
from perfield.output.scales import peak_without_outliers
from perfield.output.survey import COMPUTING
from perfield.serve.look import look

MOST_FRAMES = 4096  # that are read; in longer runs they are spread evenly
MOST_VALUES = 5_000_000  # of compute time, kept to distinguish typical steps from others
WRITTEN = ("io_write_bytes", "io_time_s")


class Ranges:
    """Smallest and largest values of a run's frames, field by field. Not for several threads at once."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._ends: dict[int, np.ndarray] = {}  # position -> (2, n_names): smallest and largest
        self._states: dict[int, int] = {}  # position -> the frame's state when it was read
        self._uneven: dict[int, bool] = {}
        self._rows: dict[int, np.ndarray] = {}  # position -> (3, n_ranks): what classifies steps
        self._kinds: tuple[tuple, StepKinds | None] = ((), None)

    def read_on(self, run: Run, states: np.ndarray, seconds: float) -> bool:
        """Reads frames that are new or have grown, for some seconds; returns whether it read any.

        states : (n_frames,) of all frames, as Run.frame_states.
        """
        names = run.columns.names
        read = np.array(list(self._states.items()), np.int64).reshape(-1, 2)
        known = np.zeros(int(read[:, 0].max(initial=-1)) + 1, np.int64)
        known[read[:, 0]] = read[:, 1]
        if names != self._names or joined(known, states):  # a field that came late may be in all frames
            self.__init__()
            self._names = list(names)
        wanted = self._wanted(len(states))
        unread = [n for n in wanted.tolist() if self._states.get(n) != states[n]]
        if not unread:
            return False

        def take(positions: np.ndarray) -> None:
            read = run.read(positions, names)
            values = read["values"] / run.all_fields.per_step(names, positions)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a field may be absent in all ranks
                finite = np.where(np.isfinite(values), values, np.nan)
                ends = np.stack([np.nanmin(finite, axis=2), np.nanmax(finite, axis=2)], axis=1)
            kept = self._kept_rows(run, len(states))
            for at, position in enumerate(positions.tolist()):
                self._ends[position] = ends[at]
                self._states[position] = int(states[position])
                self._uneven[position] = bool(read["uneven"][at])
                if kept is not None:
                    self._rows[position] = _classifying(values[at], kept)

        look(np.array(unread), run.n_ranks, len(names), take, seconds)
        return True

    def _wanted(self, n_frames: int) -> np.ndarray:
        return np.arange(0, n_frames, max(1, -(-n_frames // MOST_FRAMES)))

    def n_read(self, n_frames: int) -> int:
        """How many frames are known, or count as known in a run too long to read all."""
        stride = max(1, -(-n_frames // MOST_FRAMES))
        return n_frames if stride * len(self._ends) >= n_frames else len(self._ends)

    def uneven(self, position: int) -> bool | None:
        """Whether ranks of a frame may be in different steps; None if it was not read yet."""
        return self._uneven.get(position)

    def ranges(self) -> dict[str, dict[str, object]]:
        """By field with any finite value: its "range", and "scale_end" where some steps are outliers."""
        if not self._ends:
            return {}
        ends = np.array(list(self._ends.values()))  # (n_read, 2, n_names)
        found: dict[str, dict[str, object]] = {}
        for number in np.flatnonzero(np.isfinite(ends[:, 1]).any(axis=0)).tolist():
            low, high = ends[:, 0, number], ends[:, 1, number]
            found[self._names[number]] = range_of(high[np.isfinite(high)], float(np.nanmin(low)))
        return found

    def kinds(self, n_frames: int) -> StepKinds | None:
        """The kinds of all steps; None as long as some frame was not read, or if the run is too large."""
        if len(self._rows) < n_frames or n_frames < 1:
            return None
        key = tuple(self._states.items())
        if self._kinds[0] != key:
            rows = np.array([self._rows[position] for position in range(n_frames)])
            self._kinds = key, kinds_of_steps(rows[:, 0], rows[:, 1], rows[:, 2])
        return self._kinds[1]

    def _kept_rows(self, run: Run, n_frames: int) -> list[int] | None:
        if n_frames * run.n_ranks > MOST_VALUES or n_frames > MOST_FRAMES:
            self._rows = {}
            return None
        return [self._names.index(name) if name in self._names else -1
                for name in (COMPUTING, *WRITTEN, "step_time_s")]  # fmt: skip


def range_of(peaks: np.ndarray, low: float) -> dict[str, object]:
    """The "range" of a field, and its "scale_end" where some steps are outliers.

    peaks : (n_frames,) the largest values, finite. low : the smallest value of all.
    """
    peak = peak_without_outliers(peaks)
    return {"range": (low, float(peaks.max()))} | ({} if peak is None else {"scale_end": peak})


def joined(read: np.ndarray, states: np.ndarray) -> bool:
    """Whether entries that came late joined frames that were read before, so that positions mean others.

    read, states : of frames, as Run.frame_states, when they were read (0: not yet) and now.
    """
    if len(read) > len(states):
        return True
    return bool(((read > 0) & (read >> 32 != states[: len(read)] >> 32)).any())


def _classifying(values: np.ndarray, rows: list[int]) -> np.ndarray:
    """Compute time, bytes written and time in files of a frame, float32 (3, n_ranks).

    values : (n_names, n_ranks). rows : of these three and of the step's time, which counts where no MPI was
    seen; -1 for none.
    """
    absent = np.full(values.shape[1], np.nan)
    compute, *written, step = (values[row] if row >= 0 else absent for row in rows)
    return np.array([compute if np.isfinite(compute).any() else step, *written], dtype=np.float32)
