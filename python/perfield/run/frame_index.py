# SPDX-License-Identifier: BSD-3-Clause
"""Which step entries each frame joins. Reads no entry: their places say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

import numpy as np

from perfield import _bridge
from perfield.run.errors import RunError
from perfield.run.streams import Rows

Steps = Union[int, slice, Sequence[int], None]


@dataclass(frozen=True, eq=False)
class FrameIndex:
    """The frames of a run, by position, from 0.

    entries : among which the frames' are. rows : row numbers of these, by frame, rank and step.
    begin : (n_frames + 1,) where in `rows` those of each frame begin. last : (n_frames,) int64, the index of
    each frame's last step. at_least : frames end at multiples of so many steps. computed : what was computed
    of the frames, by name; copies share it.
    """

    entries: Rows
    rows: np.ndarray
    begin: np.ndarray
    last: np.ndarray
    at_least: int = 1
    computed: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    @classmethod
    def joined(cls, entries: Rows, measured: np.ndarray, span: int | None) -> FrameIndex:
        """The shortest frames that no entry crosses. measured : row numbers of entries, by index and rank.

        span : frames begin and end at multiples of so many steps; None: at those of the longest frame, so
        that all are alike. Raises RunError for a number below 1.
        """
        if span is not None and span < 1:
            raise RunError(f"frames of {span} steps were asked for; a frame holds at least 1 step")
        rows, indexes, spans = measured, entries.places["index"][measured], entries.places["span"][measured]
        at_least = 1
        frame, first, last = _bridge.join_entries(indexes, spans, at_least)
        if span != 1:
            longest = int(spans.max(initial=1))
            if len(first):
                longest = max(longest, int((last - first).max()) + 1)
            at_least = longest if span is None else span
            frame, first, last = _bridge.join_entries(indexes, spans, at_least)
        if (last[frame] != indexes).any():  # else each frame is one index, and the order is right
            order = np.lexsort((entries.places["rank"][rows], frame))
            rows, frame = rows[order], frame[order]
        begin = np.searchsorted(frame, np.arange(len(last) + 1))
        return cls(entries, rows, begin, last.astype(np.int64), at_least)

    @classmethod
    def of_everything(cls, entries: Rows, rows: np.ndarray) -> FrameIndex:
        """One frame of all entries of a run that ended without closing a step."""
        rows = rows[np.argsort(entries.places["rank"][rows], kind="stable")]
        return cls(entries, rows, np.array([0, len(rows)]), np.zeros(1, dtype=np.int64))

    def __reduce__(self) -> tuple:
        return FrameIndex._of_first, (self.entries, self.begin, self.last, self.at_least)

    def among(self, entries: Rows) -> FrameIndex:
        """The same frames in a copy of their entries."""
        return replace(self, entries=entries)

    def first_of(self, entries: Rows) -> FrameIndex:
        """The same frames where their entries come first and in order, as it is sent to other processes."""
        return self._of_first(entries, self.begin, self.last, self.at_least)

    @classmethod
    def _of_first(cls, entries: Rows, begin: np.ndarray, last: np.ndarray, at_least: int) -> FrameIndex:
        return cls(entries, np.arange(begin[-1], dtype=np.int32), begin, last, at_least)

    def __len__(self) -> int:
        return len(self.last)

    def of(self, position: int) -> np.ndarray:
        """Row numbers of a frame's entries."""
        return self.rows[slice(*self.begin[[position, position + 1]])]

    def of_all(self, positions: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers of the entries of some frames, and to which of `positions` each belongs."""
        parts = [self.of(position) for position in positions]
        which = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return np.concatenate([np.zeros(0, np.int64), *parts]), which

    def _once(self, name: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        if name not in self.computed:
            self.computed[name] = compute()
            self.computed[name].setflags(write=False)
        return self.computed[name]

    @property
    def spans(self) -> np.ndarray:
        """(n_frames,) int64, how many steps each frame adds up, as `Frame.span`."""
        return self._once("spans", self._spans)

    def _spans(self) -> np.ndarray:
        begin = self._begins_of_ranks
        of_entries = self.entries.places["span"][self.rows]  # 0: of the same steps as the one before
        of_ranks = np.add.reduceat(of_entries, begin, dtype=np.int64) if len(self.rows) else begin
        at = np.searchsorted(begin, self.begin[:-1])
        spans = np.maximum.reduceat(of_ranks, at) if len(self.rows) else of_ranks
        return np.clip(spans, 1, self.last + 1)  # others are damaged

    @property
    def n_present(self) -> np.ndarray:
        """(n_frames,) int64, how many ranks have an entry of each frame, damaged or not."""
        return np.diff(np.searchsorted(self._begins_of_ranks, self.begin))

    @property
    def states(self) -> np.ndarray:
        """(n_frames,) int64, above 0: for each frame a number that changes if its entries do. The part from
        bit 32 on is that of its last step: if it changes at some position, frames were joined."""
        return self._once("states", self._states)

    def _states(self) -> np.ndarray:
        sequence = self.entries.places["sequence"][self.rows].astype(np.int64)
        entries = np.add.reduceat(sequence + 1, self.begin[:-1]) if len(self) else self.last
        return (self.last + 1) << 32 | entries & 0xFFFFFFFF

    def presence(self, n_ranks: int) -> np.ndarray:
        """(n_frames, n_ranks) bool, whether a rank has an entry in each frame, damaged or not."""
        present = np.zeros((len(self), n_ranks), dtype=bool)
        frame = np.repeat(np.arange(len(self)), np.diff(self.begin))
        present[frame, self.entries.places["rank"][self.rows]] = True
        return present

    def positions_of(self, steps: Steps, run: str) -> np.ndarray:
        """As `RunDirectory.positions_of`. run : what the run is called where it has no such step."""
        known = self.last
        if steps is None:
            return np.arange(len(known))
        if isinstance(steps, slice):
            forward = steps.step is None or steps.step > 0
            first, last = (steps.start, steps.stop) if forward else (steps.stop, steps.start)
            begin = 0 if first is None else np.searchsorted(known, first)
            end = len(known) if last is None else np.searchsorted(known, last, side="right")
            return np.arange(begin, end)[:: steps.step]
        wanted = np.atleast_1d(np.asarray(steps, dtype=np.int64))
        missing = wanted[~np.isin(wanted, known)]
        if len(missing):
            has = f"steps {known[0]} to {known[-1]}" if len(known) else "no steps"
            raise KeyError(f"step {missing[0]} is not in {run}, which has {has} ({len(known)} measured).")
        return np.searchsorted(known, wanted)

    @property
    def _begins_of_ranks(self) -> np.ndarray:
        """Where in `rows` the entries of each rank in each frame begin."""
        return self._once("begins_of_ranks", self._begins)

    def _begins(self) -> np.ndarray:
        rank = self.entries.places["rank"][self.rows]
        is_first = np.ones(len(rank), dtype=bool)
        is_first[1:] = rank[1:] != rank[:-1]
        is_first[self.begin[:-1]] = True
        return np.flatnonzero(is_first)
