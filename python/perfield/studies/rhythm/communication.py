# SPDX-License-Identifier: BSD-3-Clause
"""The communication topology of a run: who received from whom, as the senders counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from perfield.derived.pairs import added_up
from perfield.fields.table import CALL_NAMES
from perfield.run.snapshot import Snapshot
from perfield.studies.rhythm.model.by_place import by_level, levels_of
from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology, topology
from perfield.text import counted
from perfield.topology import placement_of

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory, Steps

WEIGHTS = ("none", "messages", "bytes")
PAIRS = np.dtype([(name, "i8") for name in ("source", "target", "count", "bytes", "empty", "synchronous")])
_SYNCHRONOUS = frozenset(number for number, name in CALL_NAMES.items() if name in ("ssend", "issend"))


def topology_of(
    run: RunDirectory,
    steps: Steps = None,
    *,
    weight: str = "none",
    by_place: Mapping[str, float] | None = None,
) -> Topology:
    """The communication topology of a run: who received from whom in some steps, as the senders counted.

    steps : as in `Run.messages`; None takes all. weight : "none" (T_ij = 1), or the number of
    "messages" or of "bytes", divided by their mean over the edges, so that v_p keeps its meaning. by_place :
    a factor for each of `by_place.LEVELS` that joins ranks, {"package": 1, "node": 0.5, "network": 0.1}.
    Messages of a rank to itself, and to peers that the run does not know, make no edges.
    Raises ModelError if no messages between different ranks are known.
    """
    return Exchanges(run, steps).topology(weight, by_place)


class Exchanges:
    """Some steps of a run, and who received from whom in them.

    positions : of the frames of these steps. words : which steps, "" for all. unknown : the share of messages
    with ranks that the run does not know, once `pairs` is read. Raises ModelError if the run has one rank, or
    no steps.
    """

    def __init__(self, run: RunDirectory, steps: Steps):
        self.run, self.snapshot = run, Snapshot(run)
        self.positions = run.positions_of(steps)
        if run.n_ranks < 2:
            raise ModelError(
                f"{run.path} is a run of one rank, which has nobody to couple to; measure at least 2 ranks."
            )
        if not len(self.positions) or run.frame(0).kind != "step":
            raise ModelError(
                f"{run.path} has no steps; close them with perfield_step, or name a call as step_call "
                "(`perfield steps` proposes some)."
            )
        self.words = "" if steps is None else in_words(run.step_indexes[self.positions])
        self.unknown = 0.0

    @cached_property
    def pairs(self) -> np.ndarray:
        """PAIRS, sums over the steps, by source and target; only between different ranks of this world."""
        total, n_unknown, n_all = np.zeros(0, PAIRS), 0, 0
        for rows in self.chunks_of_messages():
            found, unknown, count = self._known(rows)
            total = added_up([total, found], PAIRS)
            n_unknown, n_all = n_unknown + unknown, n_all + count
        self.unknown = n_unknown / max(n_all, 1)
        return total

    def chunks_of_messages(self) -> Iterator[np.ndarray]:
        """Yields rows of messages, chunk by chunk of steps."""
        size = self.snapshot.steps_per_chunk
        for begin in range(0, len(self.positions), size):
            yield self.snapshot.run.rows(self.positions[begin : begin + size], "messages")

    def _known(self, rows: np.ndarray) -> tuple[np.ndarray, int, int]:
        """PAIRS of rows of messages, how many went to ranks that are not known, and how many there are."""
        count = rows["count"].astype(np.int64)
        ends = rows["source"].astype(np.int64), rows["target"].astype(np.int64)
        inside = [(end >= 0) & (end < self.run.n_ranks) for end in ends]
        known = inside[0] & inside[1]
        there = known & (ends[0] != ends[1])
        found = np.zeros(int(there.sum()), PAIRS)
        for name in ("source", "target", "count", "bytes", "empty"):
            found[name] = rows[name][there]
        found["synchronous"] = np.where(np.isin(rows["call"], list(_SYNCHRONOUS)), count, 0)[there]
        return found, int(count[~known].sum()), int(count.sum())

    def topology(self, weight: str = "none", by_place: Mapping[str, float] | None = None) -> Topology:
        """As `topology_of`."""
        if weight not in WEIGHTS:
            raise ModelError(f"weight = {weight!r} is unknown; expected one of {', '.join(WEIGHTS)}.")
        pairs = self.pairs
        if not len(pairs):
            raise ModelError(
                f"{self.run.path} recorded no messages between ranks{self.words and ' in ' + self.words}; "
                "ranks that meet only in collectives are coupled all to all (`topologies.all_to_all`). If "
                "the program sends messages, measure it with MPI watched (`mpi`) and `messages` on."
            )
        values = None
        if weight != "none":
            values = pairs["count" if weight == "messages" else "bytes"].astype(float)
            if not values.any():
                raise ModelError(
                    f"all messages of {self.run.path} are without bytes, so bytes weigh nothing; choose "
                    "weight = 'messages' or 'none'."
                )
            values /= values.mean()
        edges = topology(self.run.n_ranks, pairs["target"], pairs["source"], values)
        if by_place is None:
            return edges
        return edges.weighted(edges.weight * by_level(self._levels(edges), by_place))

    def _levels(self, edges: Topology) -> np.ndarray:
        placed = placement_of(self.run)
        return levels_of(edges, placed.node_id, placed.package_id, placed.switch_id)


def in_words(indexes: np.ndarray) -> str:
    """Steps by their indexes: "step 3", "11 steps from 10 to 20"."""
    if len(indexes) == 1:
        return f"step {indexes[0]}"
    return f"{counted(len(indexes), 'step')} from {indexes[0]} to {indexes[-1]}"
