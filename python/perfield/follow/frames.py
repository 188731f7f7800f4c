# SPDX-License-Identifier: BSD-3-Clause
"""Which frames of a growing run to show next, and how far that lags behind the program.

Frames are taken in order, each when all ranks that close its step have done so. Nothing is left out unless
`every` or `newest` ask for it, and then it is counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfield.derived.providers import FieldsOfRun
from perfield.derived.providers.waits import Waits
from perfield.run import Frame, RunDirectory
from perfield.run.state import is_certain
from perfield.text import first_of

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0
MOST_AT_ONCE = 64  # frames that wait and whose further fields are read together
SHARE_OF_READING = 0.1  # of the time: reading a long run anew takes long


@dataclass(frozen=True)
class Lag:
    """How far the frames taken are behind those that the program closed.

    frames : that can be shown and were not yet taken or passed over. seconds : between the newest of them and
    the last one taken, by the program's clock.
    """

    frames: int
    seconds: float


class NewFrames:
    """The frames of a run that are still to be shown.

    fields : further ones that frames have as soon as the run has them; those that take all steps at once are
    left out. every : takes one frame in so many. newest : takes the newest of those that wait and passes over
    the others. patience : s that an incomplete frame, or a run whose ranks are silent, is waited for. taken,
    passed_over : counts of frames so far. notes : sentences on what is odd, until they are fetched.
    """

    def __init__(
        self,
        run: RunDirectory,
        every: int = 1,
        newest: bool = False,
        patience: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
        fields: Sequence[str] = (),
    ):
        self._run, self._every, self._newest, self._patience, self._clock = (
            run,
            every,
            newest,
            patience,
            clock,
        )
        self._fields = fields
        self._more: dict[int, dict[str, np.ndarray]] = {}  # by index of a frame, values of these
        self._known: tuple[RunDirectory, FieldsOfRun] | None = None  # the newest snapshot, its fields
        self.taken = self.passed_over = 0
        self.notes: list[str] = []
        self._last = -1  # index of the last frame taken
        self._known_until = -1  # index up to which all frames can be shown
        self._held: tuple[int, float] = (-1, 0.0)  # the index of an incomplete frame, and since when
        self._silent_since: float | None = None
        self._reading_s, self._read_at = 0.0, clock()

    @property
    def n_wanted(self) -> int:
        """How many of the run's frames so far are to be shown, as `every` says."""
        return -(-len(self._run) // self._every)

    @property
    def pause_s(self) -> float:
        """How long to wait before the run is read again, so that reading takes a small part of the time."""
        return min(max(SHORTEST_PAUSE_S, self._reading_s / SHARE_OF_READING), LONGEST_PAUSE_S)

    def refresh(self, at_once: bool = True) -> None:
        """Reads what the program wrote since. at_once : else only if `pause_s` is over."""
        begin = self._clock()
        if at_once or begin - self._read_at >= self.pause_s:
            self._run.refresh()
            self._read_at = self._clock()
            self._reading_s = self._read_at - begin

    def take(self) -> Frame | None:
        """The next frame to show; None if there is none now."""
        waiting = list(self._waiting())
        if not waiting:
            return None
        number = waiting[-1 if self._newest else 0]
        self.passed_over += waiting.index(number)
        self.taken += 1
        self._last = int(self._run.step_indexes[number])
        frame = self._run.frame(number)
        values = self._more_values(number, [number] if self._newest else waiting) if self._fields else {}
        return replace(frame, values={**frame.values, **values}) if values else frame

    def _more_values(self, number: int, waiting: list[int]) -> dict[str, np.ndarray]:
        """The further fields of a frame. What takes events is read once for all frames that wait."""
        if self._last not in self._more:
            if self._known is None or self._known[0].until != self._run.until:
                run = self._run.snapshot()
                self._known = run, FieldsOfRun(run, [Waits(run, ahead=False)])
            run, known = self._known
            names = [name for name in self._fields if name in known.names and name not in run.columns]
            here = waiting[waiting.index(number) :][:MOST_AT_ONCE]
            values = known.read(names, here)
            self._more = {
                int(run.step_indexes[at]): dict(zip(names, of_frame)) for at, of_frame in zip(here, values)
            }
        return self._more[self._last]

    @property
    def have_ended(self) -> bool:
        """Whether no frame will follow. The run must have been read since the last `take`.

        A rank elsewhere that is silent counts as running until the patience is over: a step may be long.
        """
        if self._run.state == "running":
            self._silent_since = None
            return False
        if is_certain(self._run.rank_entries, self._run.ends):
            return True
        if self._silent_since is None:
            self._silent_since = self._clock()
        return self._clock() - self._silent_since >= self._patience

    @property
    def lag(self) -> Lag:
        """How far the pictures are behind the program."""
        waiting = list(self._waiting())
        if not waiting:
            return Lag(0, 0.0)
        newest = self._closed_at_ns(waiting[-1])
        first = self._closed_at_ns(waiting[0])
        taken = np.flatnonzero(self._run.step_indexes == self._last)
        last = self._closed_at_ns(int(taken[0])) if len(taken) else first
        return Lag(len(waiting), max(newest - last, 0) * 1e-9)

    def _waiting(self) -> Iterator[int]:
        """Positions of the frames that can be shown and were not yet passed."""
        indexes = self._run.step_indexes
        begin = int(np.searchsorted(indexes, self._last, side="right"))
        for number in range(begin, len(self._run)):
            if not self._can_be_shown(number, int(indexes[number])):
                return
            if number % self._every == 0:
                yield number

    def _can_be_shown(self, number: int, index: int) -> bool:
        if index <= self._known_until:
            return True
        if self._run.state == "running" and self._run.is_partial(number):
            if self._held[0] != index:
                self._held = (index, self._clock())
            waited = self._clock() - self._held[1]
            if waited < self._patience:
                return False
            self.notes.append(self._incomplete(number, waited))
        self._known_until = index
        return True

    def _incomplete(self, number: int, waited: float) -> str:
        absent = np.flatnonzero(~self._run.presence_of(number))
        ranks = "ranks " if len(absent) > 1 else "rank "
        ranks += first_of(absent, 5)
        return (
            f"step {self._run.frame_headers([number])['label'][0]} is shown without {ranks}, which did not "
            f"close it within {waited:.0f} s (catalyst_patience)"
        )

    def _closed_at_ns(self, number: int) -> int:
        """CLOCK_REALTIME at which the last rank closed a frame."""
        fixed = self._run.read([number])["fixed"]
        return int(fixed["realtime_ns"].max()) if len(fixed) else 0
