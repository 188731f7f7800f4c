# SPDX-License-Identifier: BSD-3-Clause
"""Takes an oscillator model from a run: its topology, frequencies, beta, kappa and v_p."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.analysis.pair_keys import pair_keys
from perfield.analysis.steps import output_steps
from perfield.fields.table import CALL_CLASSES, CALL_NAMES
from perfield.studies.oscillators.model import Model, ModelError, Stages, Topology
from perfield.studies.oscillators.model.parameters import (
    Completion,
    Parameters,
    beta_of,
    eager_limits,
    kappa_of,
    remarks_on_coupling,
    remarks_on_times,
    step_times,
)
from perfield.studies.oscillators.model.potentials import Potential, Tanh
from perfield.studies.rhythm.communication import Exchanges, in_words
from perfield.studies.rhythm.model.by_place import in_same
from perfield.text import in_list, in_percent
from perfield.topology import placement_of

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory, Steps

MOST_KINDS = 16  # of steps, that stages distinguish
_MOST_TIMES = 2**24  # of ranks and steps that medians take; beyond, steps are taken evenly
_MOST_FOR_CALLS = 64  # steps whose calls are counted, taken evenly
_SINGLE = ("wait", "waitany", "waitsome", "recv", "mrecv", "sendrecv", "sendrecv_replace")


def parameters_of(run: RunDirectory, steps: Steps = None, *, eager_limit: float | None = None) -> Parameters:
    """t_comp of each rank, t_comm, beta and kappa of a run, each with its source.

    eager_limit : bytes; by default what `parameters.EAGER_LIMITS` assumes for the run's MPI.
    Raises ModelError for a run with fewer than two steps, without messages, or without times in MPI.
    """
    reading = _Reading(run, steps)
    return reading.parameters(reading.topology(), eager_limit)


def measured_model(
    run: RunDirectory,
    steps: Steps = None,
    *,
    potential: Potential | None = None,
    weight: str = "none",
    by_place: Mapping[str, float] | None = None,
    eager_limit: float | None = None,
    **more: Any,
) -> tuple[Model, Parameters]:
    """A Model with the communication topology of a run, the frequency of each rank, and v_p; and its sources.

    potential : V; by default tanh(P x), so that an idle wave moves at v_p when the coupling is divided by P.
    weight, by_place, eager_limit : as in `topology_of` and `parameters_of`. more : other parameters of Model;
    `frequency` and `coupling` take the place of those of the run. The run is read once.
    """
    reading = _Reading(run, steps)
    return reading.model(reading.topology(weight, by_place), potential, eager_limit, more)


def model_of(run: RunDirectory, steps: Steps = None, **more: Any) -> Model:
    """The Model alone; all as in `measured_model`."""
    return measured_model(run, steps, **more)[0]


@dataclass(frozen=True)
class KindOfSteps:
    """Steps in which the same ranks exchange messages, and which write output or not.

    steps : their indexes, int64, ascending. topology : None if no rank sends a message in them. output :
    whether they write far more to files than other steps.
    """

    steps: np.ndarray
    topology: Topology | None
    output: bool
    parameters: Parameters

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which steps these are, then the parameters with their sources."""
        edges = "no messages" if self.topology is None else f"messages over {self.topology.n_edges} edges"
        which = f"{in_words(self.steps)}: {edges}, {'output' if self.output else 'no output'}."
        return (which, *self.parameters.sentences)


def measured_stages(
    run: RunDirectory,
    steps: Steps = None,
    *,
    potential: Potential | None = None,
    eager_limit: float | None = None,
    **more: Any,
) -> tuple[Model, tuple[KindOfSteps, ...]]:
    """As `measured_model`, but omega_i, v_p and T_ij follow the stages of the program; with its kinds.

    A stage is a stretch of steps of one kind; each kind has its own parameters. Those of a single step have
    their times from that step. In steps without messages T_ij is 0. Time 0 of the model is the begin of the
    first step (median of the ranks). A run of one kind of steps gives constant parameters.
    Raises ModelError if the run has more than MOST_KINDS kinds.
    """
    return _Reading(run, steps).by_stages(potential, eager_limit, more)


class _Reading(Exchanges):
    """Several questions about the same steps of a run."""

    def parameters(self, edges: Topology, eager_limit: float | None, least: int = 2) -> Parameters:
        """least : steps that medians need."""
        if self.run.steps_by_clock:
            raise ModelError(
                f"{self.run.path} ends its steps by the clock, so they are no turns of an "
                "oscillator; measure steps that the program makes (step_call or perfield_step)."
            )
        calls = self._calls()
        times = self._times(edges)
        t_comp, t_comm = step_times(*times, self.words, least=least)
        completion = self._completion(calls, edges)
        found = Parameters(
            t_comp,
            t_comm,
            self._beta(edges, eager_limit),
            kappa_of(edges, completion),
            self._remarks(edges, calls, completion),
        )
        more = remarks_on_times(times[0], t_comp.value, t_comm.value)
        more += remarks_on_coupling(found.frequency.value, found.coupling.value, edges)
        return replace(found, remarks=found.remarks + more)

    def _times(self, edges: Topology) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """step_s and waiting_s of steps, each divided by the steps that it adds up; and who exchanges."""
        most = max(_MOST_TIMES // self.run.n_ranks, 2)
        chosen = _evenly(self.positions, most)
        parts = [values for _, values in self.snapshot.in_chunks(chosen, ["step_time_s", "waiting_time_s"])]
        values = np.concatenate(parts)
        values = values / self._span(chosen)[:, None, None]
        sends = np.bincount(edges.sender, minlength=edges.n) > 0
        both = sends & (edges.degree > 0)
        return values[:, 0], values[:, 1], both if both.any() else sends | (edges.degree > 0)

    def _span(self, positions: np.ndarray) -> np.ndarray:
        """How many steps of the program each step adds up, float64."""
        return self.snapshot.frame_headers(positions, "span").astype(float)

    def _beta(self, edges: Topology, eager_limit: float | None):
        same_node = in_same(edges, placement_of(self.run).node_id)
        library = next((str(e["mpi"]) for e in self.run.rank_entries if e and e.get("mpi")), "")
        limit, limit_from = eager_limits(library, same_node, eager_limit)
        pairs = self.pairs
        keys = pair_keys(pairs["source"], pairs["target"])
        at = np.searchsorted(keys, pair_keys(edges.sender, edges.receiver))
        pairs = pairs[at]
        full = np.maximum(pairs["count"] - pairs["empty"], 1)
        synchronous = pairs["synchronous"] > 0.5 * pairs["count"]
        return beta_of(edges, pairs["bytes"] / full, limit, synchronous, limit_from)

    def _calls(self) -> dict[str, np.ndarray]:
        """Calls per step of each rank, (n_ranks,), by name; means of steps that are taken evenly."""
        chosen = _evenly(self.positions, _MOST_FOR_CALLS)
        rows = self.snapshot.run.rows(chosen, "calls")
        n_steps = self._span(chosen).sum()
        found = {}
        for number in np.unique(rows["call"]).tolist():
            here = rows[rows["call"] == number]
            count = np.bincount(here["rank"], here["count"], minlength=self.run.n_ranks)
            found[CALL_NAMES.get(number, f"call_{number}")] = count / n_steps
        return found

    def _completion(self, calls: Mapping[str, np.ndarray], edges: Topology) -> Completion | None:
        if not calls:
            return None
        none = np.zeros(self.run.n_ranks)
        active = edges.degree > 0
        return Completion(
            waitalls=float(np.median(calls.get("waitall", none)[active])),
            single=float(np.median(sum((calls.get(name, none) for name in _SINGLE), none)[active])),
            messages=float(np.median(self.pairs["count"]) / self._span(self.positions).sum()),
        )

    def _remarks(
        self, edges: Topology, calls: Mapping[str, np.ndarray], completion: Completion | None
    ) -> tuple[str, ...]:
        found = list(edges.remarks)
        if self.unknown > 0:
            found.append(
                f"{in_percent(self.unknown)} of the messages went to or came from ranks that the run does "
                "not name, so they make no edges; raise max_peers if ranks have more partners."
            )
        meeting = {
            n: c.max() for n, c in calls.items() if CALL_CLASSES.get(n) == "collective" and c.max() > 0
        }
        if meeting:
            often = in_list([f"{name} {count:.3g}" for name, count in meeting.items()])
            found.append(
                f"ranks also meet in collectives ({often} per step): these couple all ranks, but are no "
                "edges of this topology. The measured program is coupled more strongly."
            )
        if completion and completion.one_waitall and completion.waitalls > 1.5:
            found.append(
                f"a step holds {completion.waitalls:.3g} exchanges, so an idle wave moves that many times "
                "kappa ranks per step; close a step per exchange to compare speeds."
            )
        return tuple(found)

    def model(
        self,
        edges: Topology,
        potential: Potential | None,
        eager_limit: float | None,
        more: dict[str, Any],
    ) -> tuple[Model, Parameters]:
        found = self.parameters(edges, eager_limit)
        taken = {"frequency": found.frequency.value, "coupling": found.coupling.value, **more}
        return Model(edges, potential or Tanh(float(edges.n)), **taken), found

    def by_stages(
        self, potential: Potential | None, eager_limit: float | None, more: dict[str, Any]
    ) -> tuple[Model, tuple[KindOfSteps, ...]]:
        edges = self.topology()
        kind, writes = self._kinds()
        n_kinds = int(kind.max()) + 1
        if n_kinds > MOST_KINDS:
            raise ModelError(
                f"{self.run.path} has {n_kinds} kinds of steps{self.words and ' in ' + self.words} (who "
                f"exchanges messages, and output), more than {MOST_KINDS}; choose steps that repeat "
                "(`steps`), or take one model of all (`model_of`)."
            )
        first = np.flatnonzero(np.diff(kind, prepend=-1))
        if len(first) * edges.n_edges > _MOST_TIMES:
            raise ModelError(
                f"{self.run.path} changes its kind of step {len(first)} times, which is too often for "
                f"{edges.n_edges} edges; choose fewer steps (`steps`), or take one model of all (`model_of`)."
            )
        kinds, weight = [], np.zeros((n_kinds, edges.n_edges))
        own = pair_keys(edges.sender, edges.receiver)
        for number in range(n_kinds):
            here = self.positions[kind == number]
            part = _Reading(self.run, self.run.step_indexes[here].tolist())
            weight[number] = np.isin(own, pair_keys(part.pairs["source"], part.pairs["target"]))
            mine = part.topology() if weight[number].any() else None
            if mine is None:  # beta and kappa of all steps; T_ij is 0
                part.pairs = self.pairs
            found = part.parameters(mine or edges, eager_limit, least=1)
            output = bool(writes[kind == number][0])
            kinds.append(KindOfSteps(self.run.step_indexes[here], mine, output, found))
        starts = np.nanmedian(self.snapshot.stamps(self.positions[first], "begin_s"), axis=1)
        of_kind = {
            "frequency": np.stack([one.parameters.frequency.value for one in kinds]),
            "coupling": np.array([one.parameters.coupling.value for one in kinds]),
            "weight": weight,
        }
        stages = {name: Stages(starts - starts[0], values[kind[first]]) for name, values in of_kind.items()}
        if n_kinds == 1:
            stages = {name: of_kind[name][0] for name in ("frequency", "coupling")}
        return Model(edges, potential or Tanh(float(edges.n)), **{**stages, **more}), tuple(kinds)

    def _kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """The kind of each step, int64, counted by first appearance; and whether it writes output, bool."""
        chunks, written = [], []
        begin = 0
        for rows in self.chunks_of_messages():
            there = (rows["source"] >= 0) & (rows["target"] >= 0) & (rows["source"] != rows["target"])
            step = rows["step"][there].astype(np.int64)
            pairs = np.unique(np.stack([step, pair_keys(rows["source"], rows["target"])[there]]), axis=1)
            n_here = min(self.snapshot.steps_per_chunk, len(self.positions) - begin)
            cuts = np.searchsorted(pairs[0], np.arange(n_here + 1))
            chunks += [pairs[1, a:b].tobytes() for a, b in zip(cuts[:-1], cuts[1:])]
            here = self.positions[begin : begin + n_here]
            written.append(self.run.values(["io_write_bytes"], here)[:, 0])
            begin += n_here
        writes = output_steps(np.concatenate(written))
        known: dict[tuple[bytes, bool], int] = {}
        kind = [known.setdefault(one, len(known)) for one in zip(chunks, writes.tolist())]
        return np.array(kind), writes


def _evenly(positions: np.ndarray, most: int) -> np.ndarray:
    """At most so many positions, evenly spaced."""
    if len(positions) <= most:
        return positions
    return positions[np.linspace(0, len(positions) - 1, most).round().astype(np.int64)]
