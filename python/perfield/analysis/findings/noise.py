# SPDX-License-Identifier: BSD-3-Clause
"""Time that is lost because ranks are slowed down irregularly."""

from __future__ import annotations

from collections.abc import Iterator

from perfield.analysis.chance import differences
from perfield.analysis.findings import idle_wave, shared_cores
from perfield.analysis.findings.finding import Finding, Picture
from perfield.analysis.findings.sight import Sight
from perfield.analysis.observed import Observed
from perfield.text import in_percent, in_seconds

QUESTION = "Do ranks lose time irregularly?"
KINDS = ("noise",)
ANSWERED_BY = ("shared cores", "taken PUs", "idle wave")
NEEDS = ("compute_time_s", "time steps")
LIKES = ("compute_time_s", *idle_wave.NEEDS, *idle_wave.LIKES, *shared_cores.LIKES)
MUCH = 0.25  # of the run's time
FEWEST = 20  # steps
MOST = 0.5  # of the time lost: if single delays that travel explain it, these are reported


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if much time is lost and no rank is slower than others beyond chance.

    Every run has noise, and a busy machine has much, so only a quarter of the time is worth reporting. Ranks
    that wait for cores that they share, and single long delays, are left to the findings about these.
    """
    if observed.n_steps < FEWEST or len(observed.ranks) < 2:
        return
    if any(shared_cores.find(observed)):
        return
    found = differences(observed.of("compute_time_s"))
    if found.pattern != "chance" or found.saved < MUCH * observed.elapsed_s:
        return
    if sum(wave.delay_s for wave in idle_wave.worth_reporting(observed)) >= MOST * found.saved:
        return
    yield Finding(
        kind="noise",
        words=f"In each step some rank takes {found.ratio:.3g} times as long to compute as the mean, a "
        f"different one each time, as by chance. All wait for it, which costs {in_seconds(found.saved)}, "
        f"{in_percent(found.saved / observed.elapsed_s)} of the time.",
        saved_s=None,
        lost_s=found.saved,
        remedy="Look for other processes on the nodes, bind the ranks, leave a core of each node to the "
        "system; or synchronise less often, so that slow moments of ranks even out.",
        picture=Picture("heat_map", "compute_time_s"),
    )


def sees(observed: Observed) -> Sight:
    """Noise is reported where it takes a quarter of the time."""
    if observed.n_steps < FEWEST:
        return Sight(f"It takes {FEWEST} steps to see that; the run has {observed.n_steps}.", False)
    return Sight(f"Noise that costs {in_percent(MUCH)} of the time would have been found.")
