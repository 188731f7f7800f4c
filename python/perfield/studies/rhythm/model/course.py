# SPDX-License-Identifier: BSD-3-Clause
"""The course of a rhythm in a few numbers: the state at the end, since when, what came before, what warns."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from perfield.analysis.idle_waves import IdleWave
from perfield.studies.rhythm.model.blocks import Edges, blocks, edge_arrays
from perfield.studies.rhythm.model.dataset import TURN
from perfield.studies.rhythm.model.drift import Drift, common_window, drift
from perfield.studies.rhythm.model.early_warning import losses_of_rhythm
from perfield.studies.rhythm.model.settling import settled
from perfield.studies.rhythm.model.spread import spread
from perfield.studies.rhythm.model.state import state

INSTANTS = 200  # at which states are named
AT_END = 0.1  # of the time is "the end"
ABSENT = 0.05  # of the time, by which a rank begins late or ends early


@dataclass(frozen=True)
class Moment:
    """The ranks at a time, or over a stretch of time (medians).

    step : steps that the middle rank completed. spread : from the rank furthest behind to the one furthest
    ahead, in steps. order_parameter, entropy : as the metrics of these names; the latter over its largest
    value. groups : of ranks, where the state is "clusters". slope : steps gained from rank to rank; fit : R^2
    of that line, along `order`. known : ranks with a phase.
    """

    time_s: float
    step: float
    state: str
    spread: float
    order_parameter: float
    entropy: float
    groups: int
    slope: float
    fit: float
    order: str
    known: int


@dataclass(frozen=True)
class Fall:
    """The largest fast fall of R of ranks that were in step: an early warning.

    From begin_s (step) to end_s R fell from `before` to `after`, while `rank` moved by `moved` steps against
    the middle rank (negative: it fell behind). delay_s : of the idle wave that R fell in and that began on
    `rank`; 0 if there was none, and `rank` moved most. recent : this was in the last tenth of the time.
    """

    begin_s: float
    end_s: float
    step: float
    before: float
    after: float
    rank: int
    moved: float
    recent: bool
    delay_s: float = 0.0


@dataclass(frozen=True)
class Absence:
    """A rank that has a phase in a part of the time only: its first and last time, s, and steps completed."""

    rank: int
    begin_s: float
    end_s: float
    steps: float


@dataclass(frozen=True)
class Course:
    """How ranks march from begin_s to end_s, while most of them have a phase.

    period_s : median time of a step. end : the last tenth of the time. words : a sentence on its state.
    since : when the ranks settled into that state; None if they have not. widest : the instant of the largest
    spread. apart : the largest distance of two ranks that communicate, in steps, at the end and in all (NaN
    where not known who communicates). fall : the largest early warning. moments : the instants of a table.
    late, early : ranks that begin later or end earlier. unknown : share of the phases within a rank's own
    time that are unknown. uncertainty : the largest error of a phase in steps, from clocks; NaN where the
    clocks of some ranks were never compared.
    """

    n_ranks: int
    period_s: float
    begin_s: float
    end_s: float
    end: Moment
    words: str
    since: Moment | None
    widest: Moment
    apart: tuple[float, float]
    fall: Fall | None
    drift: Drift | None
    moments: tuple[Moment, ...]
    late: tuple[Absence, ...]
    early: tuple[Absence, ...]
    unknown: float
    uncertainty: float


def course(
    phases: xr.Dataset, edges: Edges | None = None, rows: int = 10, waves: Sequence[IdleWave] = ()
) -> Course:
    """The course of the ranks of a Dataset of phases (`perfield.studies.rhythm.model.phases`).

    edges : the communication topology, if known. rows : number of instants in `moments`. waves : idle waves
    of these ranks, on the same clock: they show on which rank the cause of a fall of R began.
    """
    phase = phases["phase"].transpose("oscillator", "time")
    window = common_window(phase)
    during = phase.isel(time=window)
    n_times = during.sizes["time"]
    chosen = np.unique(np.linspace(0, n_times - 1, INSTANTS).round().astype(int))
    widths = spread(during)
    widest = int(np.nanargmax(widths.values))
    there, farthest = during.isel(time=chosen), during.isel(time=[widest])
    states = state(there, edges)
    moments = _moments(there, states)
    last = settled(states)
    end = _middle(moments[-max(1, round(AT_END * len(moments))) :], last.state)
    since = next((each for each in moments if each.time_s >= last.time), None)  # None where that is NaN
    apart = _apart(during, edges)
    late, early = _absences(phase)
    shown = np.unique(np.linspace(0, len(moments) - 1, rows).round().astype(int))
    times = during["time"].values
    period = float(np.nanmedian(phases["period_s"].values))
    return Course(
        n_ranks=phase.sizes["oscillator"],
        period_s=period,
        begin_s=float(times[0]),
        end_s=float(times[-1]),
        end=end,
        words=last.words,
        since=since,
        widest=_moments(farthest, state(farthest, edges))[0],
        apart=(_median(apart[round((1 - AT_END) * n_times) - 1 :]), _largest(apart)),
        fall=_fall(during, waves),
        drift=drift(phase, edges),
        moments=tuple(moments[number] for number in shown),
        late=late,
        early=early,
        unknown=_unknown(phase.values),
        uncertainty=float(np.max(phases["phase_uncertainty"].values) / TURN),
    )


def _moments(phase: xr.DataArray, states: xr.Dataset) -> list[Moment]:
    """The ranks at instants. states : theirs."""
    columns = {name: states[name].values.tolist() for name in _COLUMNS}
    columns["time_s"] = phase["time"].values.tolist()
    columns["step"] = _middle_step(phase.values).tolist()
    return [Moment(**dict(zip(columns, row))) for row in zip(*columns.values())]


_COLUMNS = ("state", "spread", "order_parameter", "entropy", "groups", "slope", "fit", "order", "known")


def _middle_step(phase: np.ndarray) -> np.ndarray:
    """(time,) steps that the middle rank completed; NaN where no rank has a phase."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of instants without any phase
        return np.nanmedian(phase, axis=0) / TURN


def _middle(moments: Sequence[Moment], name: str) -> Moment:
    """The medians of the moments in this state, at the time of the last one of all."""
    alike = [each for each in moments if each.state == name] or moments[-1:]
    order = Counter(each.order for each in alike).most_common(1)[0][0]
    middle = {
        key: _median([getattr(each, key) for each in alike if each.order == order])
        for key in ("spread", "order_parameter", "entropy", "groups", "slope", "fit", "known")
    }
    middle |= {"groups": round(middle["groups"]), "known": round(middle["known"])}
    return Moment(moments[-1].time_s, moments[-1].step, name, order=order, **middle)


def _apart(phase: xr.DataArray, edges: Edges | None) -> np.ndarray:
    """(time,) the largest distance of two ranks that communicate, in steps; NaN where unknown."""
    found = np.full(phase.sizes["time"], np.nan)
    if edges is None or not len(edges.receiver):
        return found
    receiver, sender, _ = edge_arrays(edges, phase.sizes["oscillator"])
    for part, block in blocks(phase, len(sender)):
        steps = block / TURN
        distance = np.abs(steps[sender] - steps[receiver])
        found[part] = np.fmax.reduce(distance, axis=0)  # which leaves NaN out where it can
    return found


def _fall(phase: xr.DataArray, waves: Sequence[IdleWave]) -> Fall | None:
    """The largest loss of a common rhythm, and its cause."""
    losses = losses_of_rhythm(phase)
    if not losses.sizes["warning"]:
        return None
    at = losses.isel(warning=int((losses["before"] - losses["after"]).values.argmax()))
    times = phase["time"].values
    begin, end = float(at["begin"]), float(at["end"])
    step = float(_middle_step(phase.sel(time=[begin]).values)[0])
    rank, moved, delay_s = int(at["rank"]), float(at["moved"]), 0.0
    cause = _cause(waves, begin, end)
    if cause is not None and cause.rank in phase["oscillator"].values:
        rank, delay_s = cause.rank, cause.delay_s
        ends = phase.sel(time=[begin, end], method="nearest").diff("time").isel(time=0) / TURN
        moved = float(ends.sel(oscillator=rank) - ends.median())
    return Fall(
        begin, end, step, float(at["before"]), float(at["after"]), rank, moved,
        end >= times[int((1 - AT_END) * len(times))], delay_s,
    )  # fmt: skip


def _cause(waves: Sequence[IdleWave], begin_s: float, end_s: float) -> IdleWave | None:
    """The longest delay that travelled in this time; None if none did."""
    found = None
    for wave in waves:
        last = max(float((front.time_s + front.waiting_s).max()) for front in wave.fronts)
        during = wave.time_s - wave.period_s <= end_s and begin_s <= last
        if during and (found is None or wave.delay_s > found.delay_s):
            found = wave
    return found


def _absences(phase: xr.DataArray) -> tuple[tuple[Absence, ...], tuple[Absence, ...]]:
    """Ranks that begin far later, or end far earlier, than the middle rank."""
    known = np.isfinite(phase.values)
    times, ranks = phase["time"].values, phase["oscillator"].values
    first = np.where(known.any(axis=1), known.argmax(axis=1), len(times))
    last = np.where(known.any(axis=1), len(times) - 1 - known[:, ::-1].argmax(axis=1), -1)

    def absence(rank: int) -> Absence:
        if last[rank] < 0:
            return Absence(int(ranks[rank]), np.nan, np.nan, 0.0)
        steps = float(phase.values[rank, last[rank]] / TURN)
        return Absence(int(ranks[rank]), float(times[first[rank]]), float(times[last[rank]]), steps)

    far = ABSENT * len(times)
    late = tuple(absence(rank) for rank in np.flatnonzero(first > np.median(first) + far))
    early = tuple(absence(rank) for rank in np.flatnonzero((last >= 0) & (last < np.median(last) - far)))
    return late, early


def _unknown(phase: np.ndarray) -> float:
    """Share of phases between the first and the last one of each rank that are unknown."""
    known = np.isfinite(phase)
    within = np.logical_or.accumulate(known, axis=1)
    within &= np.logical_or.accumulate(known[:, ::-1], axis=1)[:, ::-1]
    return float(1 - known.sum() / within.sum()) if within.any() else 1.0


def _median(values: Sequence[float] | np.ndarray) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.median(known)) if known else float("nan")


def _largest(values: np.ndarray) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else float("nan")
