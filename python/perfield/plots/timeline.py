# SPDX-License-Identifier: BSD-3-Clause
"""A logged step as it went: when each rank computed, was in MPI, and waited, and for whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits import KINDS, UNCERTAIN, UNKNOWN, delay_costs
from perfield.analysis.waits.words import KIND_WORDS
from perfield.catalyst_scripts.palette import PALETTE, TEXT, pale
from perfield.derived.waits import WaitsOfSteps, waits_of_steps
from perfield.plots.source import Source
from perfield.plots.style import (
    WAITING,
    PlotError,
    Steps,
    about_run,
    frames_of,
    head,
    new_axes,
    scaled,
    step_numbers,
)
from perfield.run.frame import call_names
from perfield.run.snapshot import Snapshot
from perfield.text import in_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfield.derived.run import Run

MOST_STEPS, MOST_LANES, MOST_ARROWS = 64, 24, 60
MOST_EDGES = 400
LEAST = 0.03  # of the time shown: shorter waits have no arrow
COMPUTES, IN_MPI, WAITS, UNSURE = pale(PALETTE[0]), (0.45, 0.45, 0.45), PALETTE[4], pale(PALETTE[4])
HEIGHT = 0.56  # of a bar, of the distance between ranks
SMALL, LETTER, ROOM = 11, 0.58, 7  # size of labels, width of a letter in it; points beside a label
OF_WINDOWS = ("fence", "lock", "unlock", "flush")  # calls whose names MPI begins with MPI_Win_
ENDS = {"late_sender": "sends", "late_receiver": "posts its receive"}  # what ends the waiting of others


def wait_timeline(
    run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None
) -> Axes:
    """Draws a step as a lane of time for each rank: computing, MPI calls, and in these the waiting.

    An arrow goes from the moment that ended a wait, on the rank that was late, to the rank that waited.
    steps : steps with a log, which follow each other, at most 64; None: the logged step in which ranks wait
    longest, but for the first. Of many ranks it shows those that wait longest, and those that they wait for.
    axes, source : as `perfield.plots` says.
    Raises PlotError if no step, or one that was asked for, was logged whole.
    """
    positions = _longest(run, source or Source(run)) if steps is None else _logged(run, steps)
    shown = _Shown.of(run, positions)
    axes = new_axes(axes)
    factor, unit = scaled("s", shown.seconds)
    lanes = {rank: lane for lane, rank in enumerate(shown.lanes)}
    bars = (
        (COMPUTES, "computing: outside MPI", shown.steps()),
        (IN_MPI, "in an MPI call", shown.calls()),
        (UNSURE, "waiting, too short to say for whom", shown.waits(sure=False)),
        (WAITS, "waiting for another rank", shown.waits(sure=True)),
    )
    for colour, words, (ranks, begin, end) in bars:
        _draw_bars(axes, [lanes[rank] for rank in ranks], begin * factor, end * factor, colour, words)
    ends = [(rank, end) for rank, _, end in zip(*shown.steps()) if np.isfinite(end)]
    for number, (rank, end) in enumerate(ends):
        y = lanes[rank] + np.array((-0.5, 0.5)) * HEIGHT * 1.3
        words = "end of a step" if not number else None
        axes.plot([end * factor] * 2, y, color=TEXT, linewidth=1.2, label=words, zorder=3)
    axes.set_xlim(0, shown.seconds * factor * 1.012)
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.set_yticks(range(len(lanes)), [f"rank {rank}" for rank in lanes])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    numbers, _ = step_numbers(run, positions)
    which = f"step {numbers[0]:,}" if len(numbers) == 1 else f"steps {numbers[0]:,} to {numbers[-1]:,}"
    axes.set_xlabel(f"{unit} since step {numbers[0]:,} began")
    _draw_causes(axes, shown, lanes, factor)
    head(axes, _title(shown, which), _more(run, positions, shown))
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -_below(axes)), ncols=5, frameon=False, fontsize=SMALL,
        handlelength=1.2, columnspacing=1.6,
    )  # fmt: skip
    return axes


@dataclass(frozen=True)
class _Shown:
    """What is drawn. Times are s since the first rank began the first step.

    lanes : ranks from top to bottom. begin_s, end_s : (n_positions, n_ranks) of steps. states : wait states
    of these ranks, the longest first. cost_s : (n_ranks,) of others' waiting that began there.
    """

    found: WaitsOfSteps
    lanes: list[int]
    zero_s: float
    seconds: float
    begin_s: np.ndarray
    end_s: np.ndarray
    events: np.ndarray
    states: np.ndarray
    cost_s: np.ndarray

    @classmethod
    def of(cls, run: Run, positions: np.ndarray) -> _Shown:
        found = waits_of_steps(run, positions)
        snapshot = Snapshot(run)
        begin_s, end_s = (snapshot.stamps(positions, name) for name in ("begin_s", "end_s"))
        states = found.states[np.argsort(-found.states["time_ns"], kind="stable")]
        lanes = _lanes(states, run.n_ranks)
        zero_s = float(np.nanmin(begin_s[:, lanes]))
        first = run.step_indexes[positions[0]] - run.spans[positions[0]] + 1
        steps = found.events["step"]
        inside = (steps >= first) & (steps <= run.step_indexes[positions[-1]])
        costs = delay_costs(found.events, found.states)
        return cls(
            found=found,
            lanes=lanes,
            zero_s=zero_s,
            seconds=float(np.nanmax(end_s[:, lanes])) - zero_s,
            begin_s=begin_s - zero_s,
            end_s=end_s - zero_s,
            events=found.events[inside & np.isin(found.events["rank"], lanes)],
            states=states[np.isin(states["rank"], lanes)],
            cost_s=costs.by_rank(run.n_ranks) * 1e-9,
        )

    def steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rank, begin and end of each step."""
        ranks = np.tile(self.lanes, len(self.begin_s))
        return ranks, self.begin_s[:, self.lanes].ravel(), self.end_s[:, self.lanes].ravel()

    def calls(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rank, begin and end of the calls that may wait."""
        events = self.events[(self.events["wait_begin"] != UNKNOWN) & (self.events["wait_end"] != UNKNOWN)]
        calls = np.unique(events[["rank", "wait_begin", "wait_end"]])
        return calls["rank"], self.since(calls["wait_begin"]), self.since(calls["wait_end"])

    def waits(self, sure: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rank, begin and end of each wait."""
        states = self.states[(self.states["exactness"] != UNCERTAIN) == sure]
        begin = self.since(self.found.events["wait_begin"][states["event"]])
        return states["rank"], begin, begin + states["time_ns"] * 1e-9

    def since(self, stamps_ns: np.ndarray) -> np.ndarray:
        return stamps_ns * 1e-9 - self.zero_s

    def computes(self, rank: int, begin_s: float, end_s: float) -> bool:
        """Whether a rank is outside MPI for nearly all the time between two times."""
        ranks, begin, end = self.calls()
        in_mpi = np.minimum(end, end_s) - np.maximum(begin, begin_s)
        return float(np.maximum(in_mpi[ranks == rank], 0).sum()) < 0.1 * (end_s - begin_s)

    def long(self) -> list[_Wait]:
        """The waits that have arrows, the longest first."""
        certain = self.states[(self.states["exactness"] != UNCERTAIN) & (self.states["cause"] >= 0)]
        certain = certain[(certain["time_ns"] * 1e-9 >= LEAST * self.seconds) & (certain["cause_event"] >= 0)]
        waits = []
        for state in certain[:MOST_ARROWS]:
            event, late = (self.found.events[state[name]] for name in ("event", "cause_event"))
            begin = float(self.since(event["wait_begin"]))
            kind = KINDS[state["kind"]]
            does = ENDS.get(kind) or f"enters {_mpi_name(late['call'])}"
            times = begin, begin + float(state["time_ns"]) * 1e-9, float(self.since(late["begun"]))
            waits.append(_Wait(int(state["rank"]), int(state["cause"]), kind, does, *times))
        return waits


@dataclass(frozen=True)
class _Wait:
    """A wait: who, for whom, and when (s). does : what the late rank did at last, at `late_s`."""

    rank: int
    cause: int
    kind: str
    does: str
    begin_s: float
    end_s: float
    late_s: float

    def labels(self) -> list[str]:
        """What it is, in ever fewer words."""
        long = in_seconds(self.end_s - self.begin_s)
        kind = KIND_WORDS[self.kind]
        return [f"{kind}: {long} for rank {self.cause}", f"{long} for rank {self.cause}", long]


def _logged(run: Run, steps: Steps) -> np.ndarray:
    """Positions of frames that were asked for and are logged."""
    positions = frames_of(run, steps)
    indexes = run.step_indexes[positions]
    if len(positions) > MOST_STEPS or (np.diff(positions) != 1).any():
        raise PlotError(
            f"a timeline shows steps that follow each other, at most {MOST_STEPS}; these are "
            f"{len(positions)} between steps {indexes[0]} and {indexes[-1]}."
        )
    missing = np.setdiff1d(indexes, _log_steps(run))
    if len(missing):
        raise PlotError(
            f"step {missing[0]} of {run.path} was not logged; logged steps are {_some(_log_steps(run))}. "
            "PERFIELD_ARRIVALS_EVERY=1 logs all."
        )
    return positions


def _longest(run: Run, source: Source) -> np.ndarray:
    """The position of the logged frame in which ranks wait longest, but for the first: it sets things up."""
    positions = np.flatnonzero(np.isin(run.step_indexes[frames_of(run, None)], _log_steps(run)))
    positions = positions[positions > 0] if len(positions) > 1 else positions
    waiting = [np.nansum(part[:, 0], axis=1) for part in source.values(positions, [WAITING])]
    return positions[[int(np.argmax(np.concatenate(waiting)))]]


def _log_steps(run: Run) -> np.ndarray:
    """Indexes of steps with a log and a frame of their own; raises PlotError if there is none."""
    steps = np.intersect1d(run.logged_steps, run.step_indexes[run.spans == 1])
    if not len(steps):
        raise PlotError(
            f"{run.path} has no logged step in a frame of its own, so nobody knows when calls were made; "
            "arrivals_every may have been 0."
        )
    return steps


def _some(steps: np.ndarray, most: int = 8) -> str:
    more = ", ..." if len(steps) > most else ""
    return ", ".join(f"{step:,}" for step in steps[:most].tolist()) + more


def _lanes(states: np.ndarray, n_ranks: int) -> list[int]:
    """The ranks to show, ascending: all, or those that wait longest, and the ranks that these wait for."""
    if n_ranks <= MOST_LANES:
        return list(range(n_ranks))
    chosen: dict[int, None] = {}
    for state in states:
        both = dict.fromkeys(int(rank) for rank in (state["cause"], state["rank"]) if rank >= 0)
        if len(chosen | both) > MOST_LANES:
            break
        chosen |= both
    for rank in range(n_ranks):
        if len(chosen) >= MOST_LANES:
            break
        chosen.setdefault(rank)
    return sorted(chosen)


def _draw_bars(
    axes: Axes, lanes: list[int], begin: np.ndarray, end: np.ndarray, colour: tuple[float, ...], words: str
) -> None:
    from matplotlib.collections import PolyCollection

    known = np.isfinite(begin) & np.isfinite(end)
    if not known.any():
        return
    left, right, middle = begin[known], end[known], np.asarray(lanes, float)[known]
    low, high = middle - HEIGHT / 2, middle + HEIGHT / 2
    corners = np.stack([left, low, left, high, right, high, right, low], axis=1).reshape(-1, 4, 2)
    edge = 0.8 if len(corners) < MOST_EDGES else 0.0  # between calls; of many nothing else would be seen
    bars = PolyCollection(corners, facecolors=[colour], edgecolors="white", linewidths=edge, label=words)
    bars.set_zorder(2)
    axes.add_collection(bars)


def _draw_causes(axes: Axes, shown: _Shown, lanes: dict[int, int], factor: float) -> None:
    """Arrows from late ranks to those that waited, and labels."""
    waits = shown.long()
    points = 72 * axes.figure.get_figwidth() - 100  # of the whole width, about
    each = points / (axes.get_xlim()[1] - axes.get_xlim()[0])
    starts: dict[tuple[int, str], float] = {}
    for wait in waits:
        here, there = lanes[wait.rank], lanes.get(wait.cause)
        if there is None:
            continue
        side = np.sign(there - here) * HEIGHT / 2
        axes.annotate(
            "", (wait.end_s * factor, here + side), (wait.late_s * factor, there), zorder=5,
            arrowprops={"arrowstyle": "-|>", "color": TEXT, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0,
                        "mutation_scale": 12},
        )  # fmt: skip
        starts[wait.cause, wait.does] = wait.late_s
        axes.plot(wait.late_s * factor, there, "o", color=TEXT, markersize=5, zorder=6)
    for wait in waits:
        width = (wait.end_s - wait.begin_s) * factor * each - ROOM
        fitting = [text for text in wait.labels() if len(text) * SMALL * LETTER <= width]
        if fitting:
            middle = (wait.begin_s + wait.end_s) / 2 * factor
            axes.text(middle, lanes[wait.rank], fitting[0], ha="center", va="center_baseline",
                      fontsize=SMALL, color="white", fontweight="bold", zorder=7)  # fmt: skip
    for (rank, does), late_s in starts.items():
        text = f"rank {rank} {does}"
        left_s = late_s - (len(text) * SMALL * LETTER + 2 * ROOM) / each / factor
        if left_s > 0 and shown.computes(rank, left_s, late_s):
            axes.annotate(text, (late_s * factor, lanes[rank]), xytext=(-ROOM, 0), textcoords="offset points",
                          ha="right", va="center_baseline", fontsize=SMALL, color=TEXT, zorder=7)  # fmt: skip


def _title(shown: _Shown, which: str) -> str:
    """Which rank costs most in these steps."""
    if not shown.cost_s.max(initial=0.0) > 0:
        return f"Nobody is known to wait in {which}"
    rank = int(shown.cost_s.argmax())
    return f"Rank {rank} costs the others {in_seconds(float(shown.cost_s[rank]))} of waiting in {which}"


def _more(run: Run, positions: np.ndarray, shown: _Shown) -> str:
    lanes = len(shown.lanes)
    some = f"; {lanes} ranks: those that wait longest, and for whom" if lanes < run.n_ranks else ""
    return f"{about_run(run, positions)}{some}; arrows: from the rank that was late to the one that waited"


def _below(axes: Axes) -> float:
    """Where the legend begins below the axes, as a share of their height."""
    return 48 / (72 * axes.figure.get_figheight() - 110)


def _mpi_name(call: int) -> str:
    """A call as MPI writes it: MPI_Allreduce."""
    name = str(call_names(np.array([call]))[0])
    return f"MPI_{f'Win_{name}' if name in OF_WINDOWS else name.capitalize()}"
