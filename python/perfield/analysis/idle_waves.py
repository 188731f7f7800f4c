# SPDX-License-Identifier: BSD-3-Clause
"""Idle waves: a rank computes long once, its partners wait for it, and theirs for them.

Afzal, Hager, Wellein, "Propagation and decay of injected one-off delays on clusters: a case study" (IEEE
CLUSTER 2019) describes them; the oscillator model gives their speed as beta kappa / (t_comp + t_comm).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

FORWARD, BACKWARD, OUTWARD = "forward", "backward", "outward"
EDGE, ABSORBED, MET, AROUND, COLLECTIVE = "edge", "absorbed", "met another wave", "went around", "collective"
LEAST_DELAY = 0.5  # periods; a shorter delay is noise of a step
CHANCE = 1e-3  # that noise alone makes a delay in a run, and that it makes the waiting behind one
HOP_CHANCE = 1e-2  # that noise alone looks like the wave at one rank in one step
LEAST_OF_DELAY, LEAST_OF_HOP = 0.05, 0.1  # of the delay, and of the rank before: less is absorbed
LEAST_IN_STEPS, LEAST_IN_TIME = 0.2, 0.5  # steps or periods later for each rank or hop: else all wait at once
WINDOW = 3  # steps in which a partner of a rank may be hit: the same, and two more
REGULAR = 4  # delays of one rank at equal distances are no one-off delays
MOST_DELAYS = 256  # that are followed, the longest ones
_LOW, _HIGH = 0.75, 0.95  # quantiles between which the tail of noise is measured: few delays do not move them


@dataclass(frozen=True)
class Front:
    """One side of an idle wave.

    direction : "forward" (to higher ranks), "backward" (to lower ranks), or "outward" where ranks form no
    chain or ring.
    ranks : int64 (n,), those that it reached, in that order. distance : int64 (n,), in ranks from the one
    where it began; outward, in hops from partner to partner. step : int64 (n,), in which each waited.
    time_s : float64 (n,), the end of that step minus the waiting. waiting_s : float64 (n,), how long it
    waited, beyond what it waits in other steps. against : whether most of its hops run against the messages.
    speed_per_step, speed_per_s : ranks (or hops) per step and per s; the former is NaN if it was seen in one
    step only, both are NaN if it reached one rank.
    decay_length : ranks (or hops) in which the waiting falls to 1/e; inf if it does not fall.
    ending : "edge" (no rank lies beyond), "absorbed", "met another wave", "went around" a ring, or
    "collective" (a call that all ranks wait in made all others late at once). next_rank : the first rank that
    the front did not reach; -1 at an edge.
    """

    direction: str
    ranks: np.ndarray
    distance: np.ndarray
    step: np.ndarray
    time_s: np.ndarray
    waiting_s: np.ndarray
    against: bool
    speed_per_step: float
    speed_per_s: float
    decay_length: float
    ending: str
    next_rank: int


@dataclass(frozen=True)
class IdleWave:
    """A delay that made others wait, one after the other.

    rank, step : where and when it began. time_s : when that step should have been computed. delay_s : how
    much longer than its median it was. period_s : median duration of a step. fronts : at most two, or one
    outward. chance : that noise alone made the delay and the waiting.
    """

    rank: int
    step: int
    time_s: float
    delay_s: float
    period_s: float
    fronts: tuple[Front, ...]
    chance: float

    @property
    def delay_periods(self) -> float:
        """The delay in periods: how far the phases of the ranks behind the front fall, divided by 2 pi."""
        return self.delay_s / self.period_s


def idle_waves(
    begin_s: np.ndarray,
    end_s: np.ndarray,
    compute_time_s: np.ndarray,
    waiting_time_s: np.ndarray,
    receiver: np.ndarray,
    sender: np.ndarray,
    *,
    index: np.ndarray | None = None,
    ranks: np.ndarray | None = None,
) -> list[IdleWave]:
    """The idle waves of a run, the longest delay first.

    begin_s, end_s : (n_steps, n_ranks), s on one clock. compute_time_s, waiting_time_s : of the same shape,
    s; waiting in collective calls, which no wave passes through, is better left out. NaN where unknown.
    receiver, sender : int64 (n_edges,), columns of ranks that exchange messages. index : int64 (n_steps,),
    numbers of the steps; 0, 1, ... by default. ranks : int64 (n_ranks,), numbers of the columns, likewise.

    A delay is a step that one rank computes longer than it usually does, and than the others do then: by half
    a period at least, and by more than noise makes in one of 1,000 runs. It is followed from partner to
    partner, as long as these wait in the same step or the next two, longer than noise makes them. What did
    not reach two ranks is no wave, nor what reached all at once, nor delays of one rank at equal distances.

    Raises ValueError if shapes disagree.
    """
    shape = np.shape(begin_s)
    if len(shape) != 2 or any(np.shape(each) != shape for each in (end_s, compute_time_s, waiting_time_s)):
        raise ValueError(
            f"begin_s has the shape {shape}, and end_s, compute_time_s, waiting_time_s have "
            f"{np.shape(end_s)}, {np.shape(compute_time_s)}, {np.shape(waiting_time_s)}; all must have "
            "(n_steps, n_ranks)."
        )
    n_steps, n_ranks = shape
    index = np.arange(n_steps) if index is None else np.asarray(index)
    ranks = np.arange(n_ranks) if ranks is None else np.asarray(ranks)
    if n_steps < 2 or n_ranks < 2 or not len(receiver):
        return []
    search = _Search(begin_s, end_s, compute_time_s, waiting_time_s, _Partners(n_ranks, receiver, sender))
    found = [wave for delay in search.delays() for wave in search.follow(*delay)]
    made = [_Measured(search, wave, found, index, ranks).wave for wave in found]
    return sorted(made, key=lambda wave: -wave.delay_s)


class _Partners:
    """Who exchanges messages with whom, as lists by rank, and whether the ranks form a chain or a ring."""

    def __init__(self, n_ranks: int, receiver: np.ndarray, sender: np.ndarray):
        receiver, sender = np.asarray(receiver, np.int64), np.asarray(sender, np.int64)
        apart = receiver != sender
        along = np.unique(np.stack([sender[apart], receiver[apart]], axis=1), axis=0)
        both = np.unique(np.concatenate([along, along[:, ::-1]]), axis=0)
        self.n_ranks = n_ranks
        self._along = set((along[:, 0] * n_ranks + along[:, 1]).tolist())
        self._first = np.searchsorted(both[:, 0], np.arange(n_ranks + 1))
        self._partner = both[:, 1]
        offset = both[:, 1] - both[:, 0]
        near = np.minimum(np.abs(offset), n_ranks - np.abs(offset))
        self.is_ring = bool((np.abs(offset) != near).any())
        counts = np.bincount(near[offset > 0])
        reach = np.flatnonzero(counts)
        # Each rank has the same partners, except at the ends: a mesh lacks some at the ends of its rows.
        self.is_line = bool(len(reach)) and all(counts[d] >= n_ranks - d or 2 * d == n_ranks for d in reach)
        self.is_line &= bool(len(reach)) and reach[-1] < max(2, n_ranks // 3)

    def of(self, rank: int) -> Iterator[tuple[int, bool]]:
        """Partners of a rank, and whether the way there runs against the messages."""
        for partner in self._partner[self._first[rank] : self._first[rank + 1]].tolist():
            yield partner, not self.sends(rank, partner)

    def sends(self, rank: int, partner: int) -> bool:
        """Whether a rank sends messages to a partner."""
        return rank * self.n_ranks + partner in self._along

    def moved(self, rank: int, partner: int) -> int:
        """How far the partner lies from the rank: ranks with a sign in a chain or ring, else one hop."""
        if not self.is_line:
            return 1
        offset = partner - rank
        if 2 * abs(offset) > self.n_ranks:
            offset -= int(np.sign(offset)) * self.n_ranks
        return offset


@dataclass(frozen=True)
class _Hit:
    """A rank that a wave reached: in which row, how far from its origin, from which rank, and how long it
    waited."""

    row: int
    distance: int
    before: int
    waiting_s: float
    against: bool


@dataclass(frozen=True)
class _Wave:
    """A delay and the ranks that it reached, by column."""

    rank: int
    row: int
    delay_s: float
    hits: dict[int, _Hit]
    log_chance: float


class _Noise:
    """The tail of noise in a table, taken as exponential: quantiles give its scale, so rare delays do not."""

    def __init__(self, values: np.ndarray):
        known = values[np.isfinite(values)]
        self.n = max(len(known), 1)
        low, high = np.quantile(known, [_LOW, _HIGH]) if len(known) else (0.0, 0.0)
        self.low_s = float(low)
        self.scale_s = float(high - low) / np.log((1 - _LOW) / (1 - _HIGH))

    def log_chance(self, value: float) -> float:
        """The logarithm of the probability that a value is as large."""
        if value <= self.low_s:
            return 0.0
        return float(np.log(1 - _LOW) - (value - self.low_s) / max(self.scale_s, 1e-12))

    def level(self, chance: float) -> float:
        """The value that noise exceeds with a probability."""
        return self.low_s + self.scale_s * float(np.log((1 - _LOW) / min(chance, 1 - _LOW)))


class _Search:
    """Looks for delays, and follows each through the ranks."""

    def __init__(
        self,
        begin_s: np.ndarray,
        end_s: np.ndarray,
        compute_s: np.ndarray,
        waiting_s: np.ndarray,
        partners: _Partners,
    ):
        self.begin_s, self.end_s, self.partners = begin_s, end_s, partners
        self.row_s = float(np.nanmedian(end_s - begin_s))
        self._typical_s = np.nanmedian(compute_s, axis=0)
        self.longer = _beyond_typical(compute_s)
        self.waiting = np.nan_to_num(waiting_s - np.nanmedian(waiting_s, axis=0))
        self._noise, self._quiet = _Noise(self.longer), _Noise(self.waiting)
        self._claimed: set[tuple[int, int]] = set()

    def due_s(self, row: int, rank: int) -> float:
        """When a rank should have computed a step."""
        return float(self.begin_s[row, rank] + self._typical_s[rank])

    def longer_steps(self, rank: int, rows: slice) -> np.ndarray:
        """How much longer steps of a rank take than their median, without what it computes longer: s."""
        took_s = self.end_s[:, rank] - self.begin_s[:, rank]
        return (took_s - np.nanmedian(took_s) - self.longer[:, rank])[rows]

    def delays(self) -> list[tuple[int, int]]:
        """Rows and columns of delays, the longest first, without those that come back at equal distances."""
        least = max(self._noise.level(CHANCE / self._noise.n), LEAST_DELAY * self.row_s)
        rows, columns = np.nonzero(self.longer >= least)
        regular = [rank for rank in np.unique(columns) if _is_regular(rows[columns == rank])]
        kept = ~np.isin(columns, regular)
        rows, columns = rows[kept], columns[kept]
        order = np.argsort(-self.longer[rows, columns], kind="stable")[:MOST_DELAYS]
        return list(zip(rows[order].tolist(), columns[order].tolist()))

    def follow(self, row: int, rank: int) -> Iterator[_Wave]:
        """Yields the wave that a delay made, if it made one."""
        delay_s = float(self.longer[row, rank])
        due_s = self.due_s(row, rank)
        hits = {rank: _Hit(row, 0, rank, delay_s, False)}
        ahead = [(row, 0, rank)]
        log_chance = 0.0
        while ahead:
            row_here, hops, here = heapq.heappop(ahead)
            for partner, against in self.partners.of(here):
                if partner in hits:
                    continue
                least = max(LEAST_OF_DELAY * delay_s, LEAST_OF_HOP * hits[here].waiting_s)
                hit = self._hit(partner, row_here, least, due_s)
                if hit is None:
                    continue
                waiting_s = float(self.waiting[hit, partner])
                moved = hits[here].distance + self.partners.moved(here, partner)
                hits[partner] = _Hit(hit, moved, here, waiting_s, against)
                log_chance += min(0.0, np.log(WINDOW) + self._quiet.log_chance(waiting_s))
                heapq.heappush(ahead, (hit, hops + 1, partner))
        for number in [number for number, hit in hits.items() if hit.against]:
            if self._came_along(number, hits):
                hits[number] = replace(hits[number], against=False)
        reached = [hit for number, hit in hits.items() if number != rank]
        sends = any(not against for _, against in self.partners.of(rank))
        if sends and all(hit.against for hit in reached):
            return  # who receives from a late rank waits first
        if len(reached) < 2 or not self._moves(hits, rank) or log_chance > np.log(CHANCE):
            return
        self._claimed.update((hit.row, number) for number, hit in hits.items())
        delay_chance = np.log(self._noise.n) + self._noise.log_chance(delay_s)
        yield _Wave(rank, row, delay_s, hits, log_chance + min(0.0, delay_chance))

    def _moves(self, hits: dict[int, _Hit], origin: int) -> bool:
        """Whether ranks were hit one after the other, in later steps or later in one, not all at once."""
        reached = [number for number in hits if number != origin]
        distance = np.abs([hits[number].distance for number in reached]).astype(float)
        rows = np.array([hits[number].row for number in reached])
        waiting = np.array([hits[number].waiting_s for number in reached])
        begins = self.end_s[rows, reached] - waiting
        apart = distance - distance.mean()
        across = float(apart @ apart)
        if not across:
            return len(set(rows.tolist())) > 1
        in_time = float(apart @ (begins - begins.mean())) / across / self.row_s
        return float(apart @ rows) / across >= LEAST_IN_STEPS or in_time >= LEAST_IN_TIME

    def _came_along(self, rank: int, hits: dict[int, _Hit]) -> bool:
        """Whether a rank that was hit receives from one that was hit shortly before."""
        row = hits[rank].row
        return any(
            partner in hits and 0 <= row - hits[partner].row < WINDOW and self.partners.sends(partner, rank)
            for partner, _ in self.partners.of(rank)
        )

    def _hit(self, rank: int, row: int, least_s: float, due_s: float) -> int | None:
        """The first row in which a rank waits as the wave would make it; None if it does not."""
        least_s = max(least_s, self._quiet.level(HOP_CHANCE))
        for number in range(row, min(row + WINDOW, len(self.waiting))):
            late = self.end_s[number, rank] >= due_s
            if late and self.waiting[number, rank] >= least_s and (number, rank) not in self._claimed:
                return number
        return None


class _Measured:
    """What is said of a wave."""

    def __init__(
        self, search: _Search, wave: _Wave, others: list[_Wave], index: np.ndarray, ranks: np.ndarray
    ):
        self._search, self._found, self._others = search, wave, others
        self._index, self._ranks = index, ranks
        per_row = float(np.median(np.diff(index)))
        reached = [number for number in wave.hits if number != wave.rank]
        line = search.partners.is_line
        sides = [(FORWARD, 1), (BACKWARD, -1)] if line else [(OUTWARD, 1)]
        fronts = []
        for direction, sign in sides:
            there = [number for number in reached if wave.hits[number].distance * sign > 0]
            if there:
                fronts.append(self._front(direction, sign, there))
        self.wave = IdleWave(
            rank=int(ranks[wave.rank]),
            step=int(index[wave.row]),
            time_s=search.due_s(wave.row, wave.rank),
            delay_s=wave.delay_s,
            period_s=search.row_s / per_row,
            fronts=tuple(fronts),
            chance=float(np.exp(max(wave.log_chance, -700.0))),
        )

    def _front(self, direction: str, sign: int, there: list[int]) -> Front:
        """The front that reached some ranks."""
        hits = self._found.hits
        there = sorted(there, key=lambda number: (hits[number].row, sign * hits[number].distance))
        rows = np.array([hits[number].row for number in there])
        distance = np.array([sign * hits[number].distance for number in there], np.int64)
        waiting = np.array([hits[number].waiting_s for number in there])
        time_s = self._search.end_s[rows, there] - waiting
        ending, beyond = self._ending(direction, there, hits)
        front = Front(
            direction=direction,
            ranks=self._ranks[there],
            distance=distance,
            step=self._index[rows],
            time_s=time_s,
            waiting_s=waiting,
            against=bool(2 * sum(hits[number].against for number in there) > len(there)),
            speed_per_step=np.nan,
            speed_per_s=np.nan,
            decay_length=_decay_length(distance, waiting, self._found.delay_s),
            ending=ending,
            next_rank=-1 if beyond is None else int(self._ranks[beyond]),
        )
        return replace(front, **_speeds(front))

    def _ending(self, direction: str, there: list[int], hits: dict[int, _Hit]) -> tuple[str, int | None]:
        """Why a front went no further, and the rank beyond it."""
        partners = self._search.partners
        last = there[-1]
        if direction == OUTWARD:
            beyond = [p for number in there for p, _ in partners.of(number) if p not in hits]
            last = next((n for n in there for p, _ in partners.of(n) if p in beyond[:1]), last)
        else:
            sign = 1 if direction == FORWARD else -1
            onward = [p for p, _ in partners.of(last) if sign * partners.moved(last, p) > 0]
            beyond = [p for p in onward if p not in hits]
            if onward and not beyond:
                return AROUND, onward[0]
        if not beyond:
            return EDGE, None
        for wave in self._others:
            hit = wave.hits.get(beyond[0])
            if hit and last not in wave.hits and self._found.row <= hit.row < hits[last].row + WINDOW:
                return MET, beyond[0]
        return (COLLECTIVE if self._is_late(beyond[0], hits[last]) else ABSORBED), beyond[0]

    def _is_late(self, rank: int, hit: _Hit) -> bool:
        """Whether a step of a rank takes as much longer as another one waited, though it waits for nobody."""
        longer = self._search.longer_steps(rank, slice(hit.row, hit.row + WINDOW))
        return bool((longer >= 0.5 * hit.waiting_s).any())


def _beyond_typical(values: np.ndarray) -> np.ndarray:
    """Seconds beyond what a rank usually has, and beyond what most ranks have in the same step."""
    median = np.nanmedian(values, axis=0)
    beyond = np.asarray(values) - median
    of_step = np.nanquantile(beyond, 0.5, axis=1, method="lower")
    return np.nan_to_num(beyond - np.maximum(of_step, 0.0)[:, np.newaxis])


def _is_regular(rows: np.ndarray) -> bool:
    """Whether delays of one rank come at equal distances."""
    if len(rows) < REGULAR:
        return False
    apart = np.diff(rows)
    return bool((np.abs(apart - np.median(apart)) <= 1).mean() >= 0.75)


def _speeds(front: Front) -> dict[str, float]:
    """How fast a front went, from the farthest rank of each step.

    The last step is left out where the ranks ended in it, as there may have been too few for it.
    """
    steps, last = np.unique(front.step, return_index=True)
    farthest = np.maximum.reduceat(front.distance, last)
    at = [np.flatnonzero((front.step == s) & (front.distance == d))[0] for s, d in zip(steps, farthest)]
    if front.ending == EDGE and len(at) > 2:
        steps, farthest, at = steps[:-1], farthest[:-1], at[:-1]
    if len(at) < 2:
        return {"speed_per_s": _slope(front.time_s, front.distance)} if len(front.ranks) > 1 else {}
    return {
        "speed_per_step": _slope(steps, farthest),
        "speed_per_s": _slope(front.time_s[at], farthest),
    }


def _slope(along: np.ndarray, distance: np.ndarray) -> float:
    """Distance per unit of what it is measured along."""
    along = along - np.mean(along)
    moved = distance - np.mean(distance)
    across = float(moved @ moved)
    each = float(along @ moved) / across if across > 0 else 0.0
    return 1.0 / each if each > 0 else np.nan


def _decay_length(distance: np.ndarray, waiting_s: np.ndarray, delay_s: float) -> float:
    """In which distance waiting falls to 1/e of the delay; inf if it does not fall."""
    rate = -float(distance @ np.log(waiting_s / delay_s)) / float(distance @ distance)
    return 1.0 / rate if rate > 0 else np.inf
