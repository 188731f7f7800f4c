# SPDX-License-Identifier: BSD-3-Clause
"""What a rank of a trace did in one step, as the rows of a step's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perfield.run.fields import CALL_CLASSES, TIME_CLASSES
from perfield.traces.definitions import Clock
from perfield.traces.files import FILE_CALLS, FILE_CLASS
from perfield.traces.thread import Thread

FIRST_COUNTER = 16  # numbers of `what` in Step.inside: below are classes of time
_CLASS_OF_CALL = {number: TIME_CLASSES.index(kind) for number, kind in CALL_CLASSES.items()}
_CLASS_OF_CALL |= dict.fromkeys(FILE_CALLS.values(), FILE_CLASS)
_FILE_CLASSES = (TIME_CLASSES.index("io"), FILE_CLASS)


@dataclass
class Step:
    """What a rank did in one step; times in ns, begin and end since the trace's start.

    The tables are lists of rows, columns as in docs/stream.md; `inside` has (region, class of time or
    FIRST_COUNTER + counter, 0, value), and `calls` has those on files, too.
    """

    kind: int
    index: int
    begin_ns: int
    end_ns: int
    measured_ns: int
    flags: int
    faults: int
    overflowed: int
    read_bytes: int = 0
    written_bytes: int = 0
    regions: list[tuple] = field(default_factory=list)
    messages: list[tuple] = field(default_factory=list)
    waits: list[tuple] = field(default_factory=list)
    calls: list[tuple] = field(default_factory=list)
    inside: list[tuple] = field(default_factory=list)


def add_regions(step: Step, threads: Sequence[Thread], clock: Clock) -> None:
    """Adds the rows of all regions, and of what passed inside them."""
    for number in sorted({number for thread in threads for number in thread.regions}):
        parts = [thread.regions[number] for thread in threads if number in thread.regions]
        parts = [
            (count, clock.ns(whole), clock.ns(own)) for count, whole, own in parts if count or whole or own
        ]
        if not parts:
            continue
        counts, wholes, owns = zip(*parts)
        sums = [figure for times in (wholes, owns) for figure in (sum(times), min(times), max(times))]
        step.regions.append((number, len(parts), sum(counts), *sums))
        step.inside += _inside(number, threads, clock)


def add_calls(
    step: Step, threads: Sequence[Thread], n_bytes: Mapping[int, Sequence[int]], clock: Clock
) -> None:
    """Adds the rows of all calls. n_bytes : call -> (out, in)."""
    totals: dict[int, list[int]] = {}
    for thread in threads:
        for call, (count, ticks) in thread.calls.items():
            row = totals.setdefault(call, [0, 0, 0, 0])
            row[0] += count
            row[1] += ticks
    for call, moved in n_bytes.items():
        totals.setdefault(call, [0, 0, 0, 0])[2:] = moved
    for call, (count, ticks, n_out, n_in) in sorted(totals.items()):
        kind = _CLASS_OF_CALL[call]
        step.calls.append((call, kind, 0, count, clock.ns(ticks), n_out, n_in))
        if kind in _FILE_CLASSES:
            step.read_bytes += n_in
            step.written_bytes += n_out


def _inside(number: int, threads: Sequence[Thread], clock: Clock) -> list[tuple]:
    """Time in calls inside a region, by class, of the thread that spent most there; and its counters."""
    longest: Counter[int] = Counter()
    counted: Counter[int] = Counter()
    for thread in threads:
        times: Counter[int] = Counter()
        for call, ticks in thread.inside.get(number, {}).items():
            times[_CLASS_OF_CALL[call]] += ticks
        if sum(times.values()) > sum(longest.values()):
            longest = times
        counted.update(thread.counted.get(number, {}))
    rows = [(kind, clock.ns(ticks)) for kind, ticks in sorted(longest.items()) if ticks]
    rows += [(FIRST_COUNTER + counter, value) for counter, value in sorted(counted.items())]
    return [(number, what, 0, value) for what, value in rows]
