# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that have settled into a computational wavefront: each is a little behind the one before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.sight import Sight
from perfield.analysis.observed import Observed
from perfield.text import in_number, in_percent, in_seconds

QUESTION = "Do ranks settle into a wavefront?"
KINDS = ("wavefront",)
NEEDS = ("begin_s", "end_s", "messages", "time steps")
INSTANTS = 96  # at which phases are looked at; the second half is tested
FEWEST_STEPS, FEWEST_RANKS = 40, 6
SETTLED = 0.9  # of the instants of the second half in which ranks must form a wavefront
STEADY = 0.2  # by how much its slope may change from the begin to the end of that half
LEAST = 0.5  # periods between the first and the last rank
CHANCE = 1e-3
FEWEST_TO_COMPARE = 16  # steps in step, and in the wavefront
BLOCKS = 8  # of these steps, whose mean lengths are compared


@dataclass(frozen=True)
class _Settled:
    """A wavefront.

    slope : by how many periods each rank is ahead of the one before it. fit : R^2. spread : periods between
    the first and the last rank. chance : of such a line. in_step : bool (n_rows,), rows before in which ranks
    marched in step. settled : bool (n_rows,), rows in which the wavefront is present.
    """

    slope: float
    fit: float
    spread: float
    chance: float
    in_step: np.ndarray
    settled: np.ndarray


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a wavefront that lasts through the second half of the run.

    It costs or spares what its steps are longer or shorter than those in which ranks marched in step before.
    Where no such steps are known, or chance explains the difference, the run does not show a cost.
    """
    if observed.n_program_steps < FEWEST_STEPS or len(observed.ranks) < FEWEST_RANKS:
        return
    found = _settled(observed)
    if found is None:
        return
    side = "behind" if found.slope < 0 else "ahead of"
    saved_s, words = _cost(observed, found)
    yield Finding(
        kind="wavefront",
        words=f"Ranks have settled into a wavefront: each is {in_number(abs(found.slope))} steps {side} the "
        f"rank before it, and {in_number(found.spread)} steps lie between the first and the last of them (a "
        f"straight line explains {in_percent(found.fit)} of that). {words}",
        saved_s=saved_s,
        remedy="If the ranks share a bottleneck such as memory bandwidth, leave it: some compute while "
        "others communicate. Else look for what delayed ranks; a collective call brings all in step.",
        picture=Picture("phase_lag"),
        chance=found.chance,
    )


def sees(observed: Observed) -> Sight:
    """A wavefront needs steps to settle, and ranks to lie on a line."""
    if observed.n_program_steps < FEWEST_STEPS or len(observed.ranks) < FEWEST_RANKS:
        return Sight(f"It takes {FEWEST_STEPS} steps of {FEWEST_RANKS} ranks to see one.", False)
    return Sight(f"A line along which ranks lag {LEAST:g} steps would have been found.")


def _settled(observed: Observed) -> _Settled | None:
    """The wavefront of the second half of the run, if ranks form one there, steadily and beyond chance."""
    import xarray as xr

    from perfield.studies.rhythm.model.dataset import TURN
    from perfield.studies.rhythm.model.phases import phases
    from perfield.studies.rhythm.model.state import SYNCHRONISED, WAVEFRONT, chance, state
    from perfield.studies.rhythm.model.wavefront import wavefront

    begin_s, end_s = observed.begin_s, observed.end_s
    since, until = np.nanmax(begin_s[0]), np.nanmin(end_s[-1])
    if not until > since:
        return None
    row = observed.row
    steps = xr.Dataset(
        {
            "begin_s": (("step", "rank"), begin_s),
            "end_s": (("step", "rank"), end_s),
            "span": ("step", observed.steps_in_row),
        },
        {"step": observed.index[np.flatnonzero(np.diff(row, append=row[-1] + 1))], "rank": observed.ranks},
    )
    times = np.linspace(since, until, INSTANTS + 2)[1:-1]
    phase = phases(steps, times)["phase"]
    named = state(phase)
    names, slope = named["state"].values, named["slope"].values
    half, eighth = INSTANTS // 2, INSTANTS // 8
    if (names[half:] == WAVEFRONT).mean() < SETTLED or np.ptp(np.sign(slope[half:])) > 0:
        return None
    middle = float(np.nanmean(slope[half:]))
    if abs(np.nanmean(slope[-eighth:]) - np.nanmean(slope[half : half + eighth])) > STEADY * abs(middle):
        return None
    late = phase.isel(time=slice(half, None))
    mean = (late - late.mean("oscillator")).mean("time")
    periods = mean.values / TURN
    probability = chance(periods, np.arange(len(periods), dtype=float))
    if np.ptp(periods) < LEAST or probability > CHANCE:
        return None
    apart = np.flatnonzero(names != SYNCHRONISED)
    return _Settled(
        slope=middle,
        fit=float(wavefront(mean)["fit"]),
        spread=float(np.ptp(periods)),
        chance=probability,
        in_step=np.nanmax(end_s, axis=1) <= (times[apart[0]] if apart[0] else since),
        settled=np.nanmin(begin_s, axis=1) >= times[half],
    )


def _cost(observed: Observed, found: _Settled) -> tuple[float | None, str]:
    """What the wavefront costs, s, and a sentence on what it costs or spares."""
    from scipy.stats import ttest_ind

    lengths = np.diff(observed.end_s, axis=0, prepend=np.nan)
    lengths = np.nanmedian(np.where(np.isfinite(lengths), lengths, observed.end_s - observed.begin_s), axis=1)
    lengths /= observed.steps_in_row
    before, after = lengths[found.in_step], lengths[found.settled]
    if min(len(before), len(after)) < FEWEST_TO_COMPARE:
        return (
            None,
            "The run has no steps before it, in which ranks march in step, that its steps compare with.",
        )
    typical, now = float(np.median(before)), float(np.median(after))
    blocks = [[part.mean() for part in np.array_split(each, BLOCKS)] for each in (before, after)]
    if ttest_ind(*blocks, equal_var=False).pvalue > CHANCE or abs(now / typical - 1) < WORTH_REPORTING:
        return (
            None,
            f"Its steps take as long as those before, in which ranks marched in step: {in_seconds(now)}.",
        )
    saved_s = (now - typical) * observed.n_program_steps * float(found.settled.mean())
    compared = f"{in_seconds(now)} instead of {in_seconds(typical)} while ranks marched in step"
    if saved_s < 0:
        return None, f"It spares time: its steps take {compared}, {in_seconds(-saved_s)} less in all."
    return saved_s, f"It costs time: its steps take {compared}, {in_seconds(saved_s)} more in all."
