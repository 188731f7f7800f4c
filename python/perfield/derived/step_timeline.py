# SPDX-License-Identifier: BSD-3-Clause
"""Logged steps as they went: when each rank computed, was in MPI, and waited, for whom, and its messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits import KINDS, UNCERTAIN, UNKNOWN, delay_costs
from perfield.derived.waits import waits_of_steps
from perfield.run.arrivals import FROM_ROW, MEAN
from perfield.run.frame import call_names
from perfield.run.snapshot import Snapshot
from perfield.text import in_seconds

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory

SEND, RECEIVE = 0, 1  # kinds of events
ENDS = {"late_sender": "sends", "late_receiver": "posts its receive"}  # what ends the waiting of others
OF_WINDOWS = ("fence", "lock", "unlock", "flush")  # calls whose names MPI begins with MPI_Win_
CALL = np.dtype([("rank", "i4"), ("begin_s", "f8"), ("end_s", "f8"), ("call", "u2"), ("completes", "?")])
WAIT = np.dtype(
    [
        *(("rank", "i4"), ("cause", "i4"), ("kind", "u1"), ("is_sure", "?")),
        *(("begin_s", "f8"), ("end_s", "f8"), ("late_s", "f8"), ("late_call", "u2")),
    ]
)
MESSAGE = np.dtype(
    [("source", "i4"), ("target", "i4"), ("sent_s", "f8"), ("received_s", "f8"), ("bytes", "f8")]
)


@dataclass(frozen=True)
class StepTimeline:
    """What some ranks did in steps that follow each other. Times are s since the first rank began the first.

    lanes : these ranks, ascending. seconds : until the last of them ended the last step. begin_s, end_s :
    (n_positions, n_ranks) of steps, NaN where absent. calls : CALL, those that may wait, each once; call : by
    the number of its name, where `completes` of the operation that it waited for. waits : WAIT, the longest
    first; cause : the rank waited for, -1 if that is not known; is_sure : longer than the clocks are
    uncertain; late_s, late_call : when and what the other began at last, NaN if that is not known. cost_s :
    (n_ranks,) of others' waiting that began there.
    """

    lanes: list[int]
    seconds: float
    begin_s: np.ndarray
    end_s: np.ndarray
    calls: np.ndarray
    waits: np.ndarray
    cost_s: np.ndarray
    _events: np.ndarray
    _zero_s: float

    @classmethod
    def of(cls, run: RunDirectory, positions: np.ndarray, most_lanes: int) -> StepTimeline:
        """positions : of logged frames, which follow each other. most_lanes : of more ranks, those that wait
        longest and those that they wait for."""
        found = waits_of_steps(run, positions)
        snapshot = Snapshot(run)
        begin_s, end_s = (snapshot.stamps(positions, name) for name in ("begin_s", "end_s"))
        states = found.states[np.argsort(-found.states["time_ns"], kind="stable")]
        lanes = _lanes(states, run.n_ranks, most_lanes)
        zero_s = _least(begin_s[:, lanes])
        first = run.step_indexes[positions[0]] - run.spans[positions[0]] + 1
        steps = found.events["step"]
        inside = (steps >= first) & (steps <= run.step_indexes[positions[-1]])
        events = found.events[inside & np.isin(found.events["rank"], lanes)]
        return cls(
            lanes=lanes,
            seconds=-_least(-end_s[:, lanes]) - zero_s,
            begin_s=begin_s - zero_s,
            end_s=end_s - zero_s,
            calls=_calls(events, zero_s),
            waits=_waits(states[np.isin(states["rank"], lanes)], found.events, zero_s),
            cost_s=delay_costs(found.events, found.states).by_rank(run.n_ranks) * 1e-9,
            _events=events,
            _zero_s=zero_s,
        )

    @cached_property
    def messages(self) -> np.ndarray:
        """MESSAGE between these ranks, whose both ends are known: from the begin of the send until the call
        that completed the receive ended."""
        return _messages(self._events, self._zero_s)

    def steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rank, begin and end of each step."""
        ranks = np.tile(self.lanes, len(self.begin_s))
        return ranks, self.begin_s[:, self.lanes].ravel(), self.end_s[:, self.lanes].ravel()

    def who_costs_most(self) -> str:
        """The rank that costs the others most, as the begin of a sentence that names the steps."""
        if not self.cost_s.max(initial=0.0) > 0:
            return "Nobody is known to wait"
        rank = int(self.cost_s.argmax())
        return f"Rank {rank} costs the others {in_seconds(float(self.cost_s[rank]))} of waiting"


def logged_positions(run: RunDirectory) -> np.ndarray:
    """Positions of the frames that are one step whose log was written, so that a timeline can show it."""
    return np.flatnonzero((run.spans == 1) & np.isin(run.step_indexes, run.logged_steps))


def ends_wait(kind: int, call: int) -> str:
    """What a late rank does at last, so that another need wait no longer: "sends", "enters MPI_Barrier"."""
    return ENDS.get(KINDS[kind]) or f"enters {mpi_name(call)}"


def mpi_name(call: int) -> str:
    """A call as MPI writes it: MPI_Allreduce."""
    name = str(call_names(np.array([call]))[0])
    return f"MPI_{f'Win_{name}' if name in OF_WINDOWS else name.capitalize()}"


def _least(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.min()) if len(known) else 0.0


def _lanes(states: np.ndarray, n_ranks: int, most: int) -> list[int]:
    """The ranks to show, ascending: all, or those that wait longest, and the ranks that these wait for."""
    if n_ranks <= most:
        return list(range(n_ranks))
    chosen: dict[int, None] = {}
    for state in states[["cause", "rank"]].tolist():
        both = dict.fromkeys(rank for rank in state if rank >= 0)
        if len(chosen | both) > most:
            break
        chosen |= both
    for rank in range(n_ranks):
        if len(chosen) >= most:
            break
        chosen.setdefault(rank)
    return sorted(chosen)


def _since(stamps_ns: np.ndarray, zero_s: float) -> np.ndarray:
    """Stamps as seconds; NaN for those that are not known."""
    return np.where(stamps_ns == UNKNOWN, np.nan, stamps_ns * 1e-9 - zero_s)


def _calls(events: np.ndarray, zero_s: float) -> np.ndarray:
    known = events[(events["wait_begin"] != UNKNOWN) & (events["wait_end"] != UNKNOWN)]
    _, first = np.unique(known[["rank", "wait_begin", "wait_end"]], return_index=True)
    known = known[first]
    calls = np.zeros(len(known), CALL)
    calls["rank"], calls["call"] = known["rank"], known["call"]
    calls["begin_s"], calls["end_s"] = (_since(known[name], zero_s) for name in ("wait_begin", "wait_end"))
    calls["completes"] = (known["kind"] != RECEIVE) & (known["begun"] != known["wait_begin"])
    return calls


def _waits(states: np.ndarray, events: np.ndarray, zero_s: float) -> np.ndarray:
    waits = np.zeros(len(states), WAIT)
    for name in ("rank", "cause", "kind"):
        waits[name] = states[name]
    waits["is_sure"] = states["exactness"] != UNCERTAIN
    waits["begin_s"] = _since(events["wait_begin"][states["event"]], zero_s)
    waits["end_s"] = waits["begin_s"] + states["time_ns"] * 1e-9
    is_known = (states["cause"] >= 0) & (states["cause_event"] >= 0)
    late = events[states["cause_event"][is_known]]
    waits["late_s"] = np.nan
    waits["late_s"][is_known], waits["late_call"][is_known] = _since(late["begun"], zero_s), late["call"]
    return waits


def _messages(events: np.ndarray, zero_s: float) -> np.ndarray:
    """Messages by their number among those of the same ranks and channel."""
    single = events[
        (events["number"] > 0) & (events["count"] == 1) & (events["flags"] & (FROM_ROW | MEAN) == 0)
    ]
    sends, receives = (single[single["kind"] == kind] for kind in (SEND, RECEIVE))
    keys = [
        np.rec.fromarrays([of[name] for name in (source, target, "channel", "number")])
        for of, source, target in ((sends, "rank", "peer"), (receives, "peer", "rank"))
    ]
    _, sent, received = np.intersect1d(*keys, return_indices=True)
    sends, receives = sends[sent], receives[received]
    messages = np.zeros(len(sends), MESSAGE)
    messages["source"], messages["target"], messages["bytes"] = (
        sends["rank"],
        receives["rank"],
        sends["bytes"],
    )
    messages["sent_s"] = _since(sends["begun"], zero_s)
    messages["received_s"] = _since(receives["wait_end"], zero_s)
    return messages[np.isfinite(messages["sent_s"]) & np.isfinite(messages["received_s"])]
