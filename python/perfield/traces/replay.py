# SPDX-License-Identifier: BSD-3-Clause
"""The events of one rank of a trace, followed as if perfield had been there, and cut into steps.

A step closes when the step's region is left by the thread that entered it first; setup ends when it is
entered for the first time, and what follows the last step is teardown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from perfield.traces.definitions import Trace
from perfield.traces.files import Files
from perfield.traces.messages import Messages
from perfield.traces.selection import RegionChoice
from perfield.traces.step import Step, add_calls, add_regions
from perfield.traces.thread import CALL, NEVER, NOTHING, REGION, Thread

STEP, SETUP, TEARDOWN = 0, 1, 2  # kinds of entry, as in a stream
PAUSED = 1  # flag of an entry, likewise
_OFF = 2  # mode of recording


class Replay:
    """Follows one rank.

    choice : which regions of the trace are measured, and which is the step's. After the last event: n_steps,
    program and arguments, n_events, entered (name of a region -> how often) and calls, those that it made.
    """

    def __init__(self, trace: Trace, rank: int, choice: RegionChoice):
        self.n_steps = self.n_events = 0
        self.program, self.arguments = "", []
        self.entered: Counter[int] = Counter()
        self.spent: Counter[int] = Counter()
        self.names = choice.names_of(rank)
        self._trace, self._choice, self._clock = trace, choice, trace.clock
        self._threads: dict[int, Thread] = {}
        self._plan: dict[int, tuple[int, int]] = {}
        self._messages = Messages(trace, rank, self._thread)
        files = Files(trace, self._messages.bytes, self._thread)
        self._handlers: dict[str, Callable[..., None]] = {
            "enter": self._enter,
            "leave": self._leave,
            "enter_context": lambda location, time, context, distance: self._enter(
                location, time, trace.contexts.get(context, -1)
            ),
            "leave_context": lambda location, time, context: self._leave(
                location, time, trace.contexts.get(context, -1)
            ),
            "switch": self._switch,
            "flush": self._flush,
            "metrics": self._count,
            "program": self._program,
            **self._messages.handlers,
            **files.handlers,
        }
        self._done: list[Step] = []
        self._stepping = -1  # the location that closes steps
        self._begin = self._last = -1
        self._off_since = -1
        self._unmeasured = self._flags = 0
        self._first = trace.ranks[rank].locations[0] if trace.ranks[rank].locations else -1

    def steps(self, batches: Iterable[list[tuple]]) -> Iterator[Step]:
        """Follows all events; yields steps as they close, and what is behind the last one in the end."""
        handlers = self._handlers
        for batch in batches:
            self.n_events += len(batch)
            if self._begin < 0 and batch:
                self._begin = batch[0][2]
            for kind, location, time, *arguments in batch:
                handlers[kind](location, time, *arguments)
            if batch:
                self._last = batch[-1][2]
            yield from self._done
            self._done.clear()

    def end(self) -> Step:
        """The entry of what is behind the last step, or of everything if no step was closed."""
        kind = SETUP if self._stepping < 0 else TEARDOWN
        self._begin = max(self._begin, 0)
        return self._close(kind, self.n_steps, max(self._last, self._begin))

    # --- regions and steps -----------------------------------------------------------------------------

    def _thread(self, location: int, time: int) -> Thread:
        thread = self._threads.get(location)
        if thread is None:
            thread = self._threads[location] = Thread(time, self._messages.returned)
        return thread

    def _planned(self, region: int) -> tuple[int, int]:
        """What a region of the trace is here, and its number."""
        plan = self._plan.get(region)
        if plan is None:
            known = self._trace.regions.get(region)
            if known is not None and known.call:
                plan = CALL, known.call
            elif known is not None and known.is_code and (number := self.names.number(region)) >= 0:
                plan = REGION, number
            else:
                plan = NOTHING, 0
            self._plan[region] = plan
        return plan

    def _enter(self, location: int, time: int, region: int) -> None:
        if region in self._choice.step_regions and self._stepping < 0:
            self._stepping = location
            self._done.append(self._close(SETUP, 0, time))
        what, number = self._planned(region)
        self._thread(location, time).enter(time, region, what, number)

    def _leave(self, location: int, time: int, region: int) -> None:
        self._thread(location, time).leave(time, region)
        if location == self._stepping and region in self._choice.step_regions:
            self._done.append(self._close(STEP, self.n_steps, time))
            self.n_steps += 1

    def _count(self, location: int, time: int, metric: int, values: list[int]) -> None:
        thread = self._thread(location, time)
        for place, counter in self._trace.metrics.places.get(metric, ()):
            if place < len(values):
                thread.count(counter, values[place])

    # --- where nothing was recorded --------------------------------------------------------------------

    def _switch(self, location: int, time: int, mode: int) -> None:
        if mode == _OFF and self._off_since < 0:
            self._pause(time)
        elif mode != _OFF and self._off_since >= 0:
            self._resume(time)

    def _flush(self, location: int, time: int, until: int) -> None:
        """The recording tool wrote a thread's buffer: that is no time of the program."""
        if self._off_since < 0 and until > time:
            thread = self._thread(location, time)
            thread.credit(time)
            thread.start(until)
            if location == self._first:
                self._unmeasured += until - time
                self._flags |= PAUSED

    def _pause(self, time: int) -> None:
        for thread in self._threads.values():
            thread.credit(time)
            thread.start(NEVER)
        self._off_since = time

    def _resume(self, time: int) -> None:
        for thread in self._threads.values():
            thread.start(time)
        self._end_pause(time)
        self._off_since = -1

    def _end_pause(self, time: int) -> None:
        self._unmeasured += time - self._off_since
        self._flags |= PAUSED

    def _program(self, location: int, time: int, name: int, arguments: list[int]) -> None:
        strings = self._trace.strings
        self.program = strings.get(name) or ""
        self.arguments = [strings.get(argument) or "" for argument in arguments]

    # --- closing a step --------------------------------------------------------------------------------

    def _close(self, kind: int, index: int, now: int) -> Step:
        clock, threads = self._clock, list(self._threads.values())
        if self._off_since >= 0:
            self._end_pause(now)
            self._off_since = now
        for thread in threads:
            thread.credit(now)
        begin, end = (clock.ns(max(time - clock.start, 0)) for time in (self._begin, now))
        measured = clock.ns(max(now - self._begin - self._unmeasured, 0))
        faults = sum(thread.faults for thread in threads)
        step = Step(kind, index, begin, end, measured, self._flags, faults, self.names.take_overflowed())
        add_regions(step, threads, clock)
        add_calls(step, threads, self._messages.bytes, clock)
        for number, _, count, _, _, longest, *_ in step.regions:
            self.entered[number] += count
            self.spent[number] += longest
        step.messages = [(peer, call, 0, *row) for (peer, call), row in self._messages.messages.items()]
        step.waits = [
            (peer, 0, count, clock.ns(ticks)) for peer, (count, ticks) in self._messages.waits.items()
        ]
        for thread in threads:
            thread.take()
        self._messages.take()
        self._begin, self._unmeasured, self._flags = now, 0, 0
        return step
