# SPDX-License-Identifier: BSD-3-Clause
"""Delays of one rank that travel: its partners wait for it, and theirs for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.sight import Sight
from perfield.analysis.findings.step_costs import lengths_s
from perfield.analysis.idle_waves import idle_waves
from perfield.analysis.observed import Observed, once
from perfield.analysis.steps import output_steps
from perfield.text import counted, in_number, in_percent, in_seconds, start

if TYPE_CHECKING:
    from perfield.analysis.idle_waves import Front, IdleWave

QUESTION = "Does a delay of one rank travel through the others?"
KINDS = ("idle wave",)
NEEDS = ("begin_s", "end_s", "compute_time_s", "waiting_time_s", "messages", "time steps")
LIKES = ("mpi_collective_time_s", "io_write_bytes", "<region>_time_s")
EACH = 0.5  # messages per step: who exchanges fewer is no partner
MUCH, MUCH_S = 5.0, 0.5  # periods or s: a scheduler delays ranks less, again and again
INSIDE = 0.8  # of a delay that a region took longer, which explains it
SHRINKS = 0.8  # of a delay is less than it was


@once
def waves(observed: Observed) -> tuple[IdleWave, ...]:
    """The idle waves of a run, the longest delay first; steps are the run's indexes.

    Waiting in collective calls does not count. Partners are ranks that exchange a message in every other step
    or more often. Where frames become longer, only those as short as the first are looked at, as a delay
    travels from step to step.
    """
    if not all(map(observed.has, NEEDS)):
        return ()
    receiver, sender = partners(observed)
    collective = np.nan_to_num(observed.of("mpi_collective_time_s"))
    steps, spans = observed.steps_in_row, observed.span
    alike = steps == steps[0] if (spans != spans[:1]).any() else slice(None)
    return tuple(
        idle_waves(
            observed.begin_s[alike],
            observed.end_s[alike],
            observed.of("compute_time_s")[alike],
            np.maximum(observed.of("waiting_time_s") - collective, 0)[alike],
            receiver,
            sender,
            index=observed.index[np.searchsorted(observed.row, np.arange(len(observed.begin_s)))][alike],
            ranks=observed.ranks,
        )
    )


def partners(observed: Observed) -> tuple[np.ndarray, np.ndarray]:
    """Columns of ranks that exchange messages in most steps: receivers and senders."""
    rows = observed.known_messages
    often = rows["count"] >= EACH * observed.n_program_steps
    rows = rows[often] if often.any() else rows
    column = np.full(observed.n_ranks, -1)
    column[observed.ranks] = np.arange(len(observed.ranks))
    receiver, sender = column[rows["target"]], column[rows["source"]]
    kept = (receiver >= 0) & (sender >= 0)
    return receiver[kept], sender[kept]


def worth_reporting(observed: Observed) -> list[IdleWave]:
    """Waves whose delay is long, for the run and for its steps, and began in no step that writes output."""
    return [wave for wave in waves(observed) if _is_worth_reporting(observed, wave)]


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the longest delay that travelled, and counts the others that are worth reporting.

    A delay is worth reporting if it lasts five periods or more, or half a second and a period, and 1 % of the
    run's time. Steps that write output are left to the findings about these.
    """
    found = worth_reporting(observed)
    if not found:
        return
    wave = found[0]
    name = _region(observed, wave)
    reached = np.concatenate([front.ranks for front in wave.fronts])
    more = ""
    if len(found) > 1:
        more = (
            f" {counted(len(found) - 1, 'more delay')} travelled the same way, of "
            f"{in_seconds(found[-1].delay_s)} or more each."
        )
    yield Finding(
        kind="idle wave",
        words=described(observed, wave) + more,
        saved_s=wave.delay_s,
        remedy=f"Look at what rank {wave.rank} did in that step: a file, a page fault, another "
        "process on its core.",
        picture=Picture("idle_wave", "waiting_time_s"),
        ranks=np.concatenate([[wave.rank], reached]).astype(np.int64),
        steps=np.unique(np.concatenate([[wave.step], *(front.step for front in wave.fronts)])),
        regions=(name,) if name else (),
        chance=wave.chance,
    )


def sees(observed: Observed) -> Sight:
    """Single delays are reported where they are long, for the steps and for the run."""
    periods_s = MUCH * float(np.median(lengths_s(observed)))
    least = max(min(periods_s, MUCH_S + periods_s / MUCH), WORTH_REPORTING * observed.elapsed_s)
    return Sight(f"A delay of {in_seconds(least)} that travels to two ranks or more would have been found.")


def described(observed: Observed, wave: IdleWave) -> str:
    """Where a wave began, in which region, how fast it went, and where it ended."""
    periods = f"{in_number(wave.delay_periods)} periods" if wave.delay_periods >= 1 else "less than a period"
    ways = " and ".join(went(front) for front in wave.fronts)
    ends = [text for text in (_ended(front, wave.delay_s) for front in wave.fronts) if text]
    region = _region(observed, wave)
    where = f" in {region}" if region else ""
    label = int(observed.label[np.searchsorted(observed.index, wave.step)])
    words = (
        f"A delay began on rank {wave.rank} in step {label:,}: it computed "
        f"{in_seconds(wave.delay_s)} ({periods}) longer{where}. The delay travelled {ways}."
    )
    return f"{words} {start('; '.join(ends))}." if ends else words


def went(front: Front) -> str:
    """How far and how fast a front went: "forward through 8 ranks at 1 rank per step (97 ranks per s)"."""
    unit = "hop" if front.direction == "outward" else "rank"
    through = f"{front.direction} through {counted(len(front.ranks), 'rank')}"
    through += ", against the messages," if front.against else ""
    if not np.isfinite(front.speed_per_step):
        per_s = f" at {in_number(front.speed_per_s)} {unit}s per s" if np.isfinite(front.speed_per_s) else ""
        return f"{through} within a step{per_s}"
    per_step = float(f"{front.speed_per_step:.2g}")
    words = f"{in_number(per_step)} {unit}{'' if per_step == 1 else 's'} per step"
    if np.isfinite(front.speed_per_s):
        words += f" ({in_number(front.speed_per_s)} {unit}s per s)"
    return f"{through} at {words}"


def _ended(front: Front, delay_s: float) -> str:
    """What became of a front."""
    last = front.ranks[-1]
    share = in_percent(min(front.waiting_s[-1] / delay_s, 1.0))
    left = f"{share} of it" if front.waiting_s[-1] < SHRINKS * delay_s else "nearly all of it"
    if front.ending == "absorbed":
        return f"{left} reached rank {last}, and rank {front.next_rank} absorbed it"
    if front.ending == "met another wave":
        return f"it met another wave between ranks {last} and {front.next_rank}"
    if front.ending == "collective":
        return f"behind rank {last} a collective call made all others wait at once"
    if front.ending == "went around":
        return f"{left} came around the ring to rank {last}"
    return f"{left} reached rank {last}, the last one"


def _region(observed: Observed, wave: IdleWave) -> str:
    """The name of the region that took longer in the delay; "" if none did. Of several, the innermost."""
    row = observed.row[np.searchsorted(observed.index, wave.step)]
    column = np.searchsorted(observed.ranks, wave.rank)
    found = []
    for stem, table in observed.of_regions("<region>_time_s").items():
        times = np.nan_to_num(table[:, column].astype(float))
        if times[row] - np.median(times) >= INSIDE * wave.delay_s:
            found.append((float(times.sum()), stem))
    return observed.regions[min(found)[1]] if found else ""


def _is_worth_reporting(observed: Observed, wave: IdleWave) -> bool:
    is_long = wave.delay_periods >= MUCH or (wave.delay_periods >= 1 and wave.delay_s >= MUCH_S)
    costs = wave.delay_s >= WORTH_REPORTING * observed.elapsed_s
    return is_long and costs and wave.step not in _output_steps(observed)


@once
def _output_steps(observed: Observed) -> frozenset[int]:
    """Indexes of steps that write output."""
    written = observed.written_per_step()
    if written is None:
        return frozenset()
    return frozenset(observed.index[output_steps(written[:, np.newaxis])].tolist())
