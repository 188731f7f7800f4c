# SPDX-License-Identifier: BSD-3-Clause
"""What one thread of a trace has counted since the last step was closed; times in ticks of the trace.

Time is given to regions as it passes: a region that is open when a step closes gets its share of that step.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

NOTHING, REGION, CALL = 0, 1, 2  # what a region of the trace is here
NEVER = 2**63  # a time ahead of all others


class Thread:
    """One location of a rank.

    regions : number of a region -> [count, inclusive, own] ticks. calls : number of a call -> [count, ticks].
    inside : number of a region -> {call: ticks in such calls inside it}. counted : number of a region ->
    {counter: how much}. call : the call that the thread is
    inside, 0 if none: what happens inside it is no further call.
    """

    def __init__(self, now: int, returned: Callable[[Thread, int, int], None]):
        """now : of its first event. returned(thread, call, ticks) : called when a call has returned."""
        self.regions: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        self.calls: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        self.inside: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self.counted: dict[int, Counter[int]] = defaultdict(Counter)
        self.faults = 0
        self.call = 0
        self.peers: list[int] = []  # that messages came from in this call
        self._returned = returned
        self._counters: dict[int, int] = {}  # counter -> its last value
        self._stack: list[tuple[int, int, int]] = []  # (region of the trace, what it is, number)
        self._nest: list[int] = []  # numbers of the open regions that are counted
        self._since: dict[int, int] = {}  # ... and from when on their time is not counted yet
        self._own_since = now
        self._call_depth = 0  # of the stack where the call was entered
        self._call_nest = 0  # how many of the open regions hold it
        self._call_entered = self._call_since = 0

    def enter(self, now: int, region: int, what: int, number: int) -> None:
        """Enters a region of the trace, which is that number of region or call."""
        if what == REGION:
            self._own(now)
            self.regions[number][0] += 1
            self._since.setdefault(number, max(now, self._own_since))
            self._nest.append(number)
        elif what == CALL and not self.call:
            self.begin_call(now, number)
        self._stack.append((region, what, number))

    def leave(self, now: int, region: int) -> None:
        """Leaves a region of the trace; regions inside it that were not left are left, too."""
        depth = len(self._stack) - 1
        while depth >= 0 and self._stack[depth][0] != region:
            depth -= 1
        if depth < 0:
            self.faults += 1
            return
        self.faults += len(self._stack) - 1 - depth
        while len(self._stack) > depth:
            _, what, number = self._stack.pop()
            if self.call and len(self._stack) <= self._call_depth:
                self.end_call(now)
            if what == REGION:
                self._leave_region(now, number)

    def begin_call(self, now: int, call: int, depth: int = 0) -> None:
        """Begins a call; it ends with end_call, or when the frame `depth` above the top is left."""
        self.call = call
        self._call_depth = len(self._stack) - depth
        self._call_nest = len(self._nest)
        self._call_entered = now
        self._call_since = max(now, self._own_since)
        self.peers.clear()

    def end_call(self, now: int) -> None:
        """Ends the call that the thread is inside, and counts it."""
        self._spend_in_call(now)
        self.calls[self.call][0] += 1
        call, self.call = self.call, 0
        self._returned(self, call, now - self._call_entered)

    def credit(self, now: int) -> None:
        """Gives all that is open its time up to now."""
        self._own(now)
        for number, since in self._since.items():
            if now > since:
                self.regions[number][1] += now - since
                self._since[number] = now
        if self.call:
            self._spend_in_call(now)

    def start(self, now: int) -> None:
        """Time counts from now on only, which may lie ahead; what is due must have been credited."""
        self._own_since = self._call_since = now
        self._since = dict.fromkeys(self._since, now)

    def take(self) -> None:
        """Forgets what was counted: it has been taken."""
        self.regions.clear()
        self.calls.clear()
        self.inside.clear()
        self.counted.clear()
        self.faults = 0

    def count(self, counter: int, value: int) -> None:
        """A counter stands at that value: what it grew by was counted in all regions that are open."""
        passed = value - self._counters.get(counter, value)
        self._counters[counter] = value
        if passed > 0:
            for number in dict.fromkeys(self._nest):
                self.counted[number][counter] += passed

    def _leave_region(self, now: int, number: int) -> None:
        self._own(now)
        self._nest.pop()
        if number not in self._nest:  # the outermost entry of a recursion
            self.regions[number][1] += max(now - self._since.pop(number), 0)

    def _own(self, now: int) -> None:
        """Time since the last change of regions is the innermost one's own."""
        if now > self._own_since:
            if self._nest:
                self.regions[self._nest[-1]][2] += now - self._own_since
            self._own_since = now

    def _spend_in_call(self, now: int) -> None:
        ticks = now - self._call_since
        if ticks <= 0:
            return
        self.calls[self.call][1] += ticks
        self._call_since = now
        for number in dict.fromkeys(self._nest[: self._call_nest]):
            self.inside[number][self.call] += ticks
