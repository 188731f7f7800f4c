# SPDX-License-Identifier: BSD-3-Clause
"""Steps with far more messages than the others (thesis, Figure 7.24)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.sight import Sight, of_steps
from perfield.analysis.findings.step_costs import extra, extra_of, which
from perfield.analysis.observed import Observed
from perfield.analysis.steps import output_steps
from perfield.text import in_number

QUESTION = "Do some steps send far more messages than others?"
KINDS = ("burst of messages",)
NEEDS = ("sent_count", "time steps")
LIKES = ("io_write_bytes", "io_time_s", "compute_time_s")
FAR_MORE = 3.0  # times the messages of the median step
RARE = 0.25  # of the steps, at most
AS_MUCH = 0.5


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if steps with many messages are longer than chance makes them.

    Steps that also compute as much more do more of everything. Time in files, and in computing beyond the
    other steps, is no cost of messages; the rest must be 1 % of the run. Messages without bytes are another
    finding.
    """
    sent, _, chosen = _sent(observed)
    median = float(np.median(sent)) if len(sent) else 0.0
    cost = extra(observed, chosen) if 0 < chosen.sum() <= RARE * len(sent) else None
    if cost is None:
        return
    others_s = extra_of(observed, chosen, "io_time_s") + extra_of(observed, chosen, "compute_time_s")
    saved_s = cost.time_s - others_s
    if saved_s < WORTH_REPORTING * observed.elapsed_s:
        return
    in_burst = float(np.median(sent[chosen]))
    written = observed.written_per_step()
    writing = np.zeros(len(sent), bool) if written is None else output_steps(written[:, None])
    meanwhile = " They are the steps that write output." if (writing == chosen).all() else ""
    yield Finding(
        kind="burst of messages",
        words=f"Messages come in bursts {which(observed, chosen)}: {in_number(in_burst)} per step, against "
        f"{in_number(median)} in the others. These steps take {cost.ratio:.3g} times as long.{meanwhile}",
        saved_s=saved_s,
        remedy="Replace the many messages by a collective call (MPI_Gatherv, MPI_Alltoallv, MPI-IO), which "
        "moves the same data in few steps.",
        picture=Picture("machine", "sent_count", int(observed.index[sent.argmax()])),
        steps=observed.index[chosen],
        chance=cost.chance,
    )


def sees(observed: Observed) -> Sight:
    """How much longer steps with many messages would have to be."""
    _, many, chosen = _sent(observed)
    more = " without computing as much more" if many.any() else ""
    return of_steps(observed, chosen, f"sends {FAR_MORE:g} times as many messages as the median step{more}")


def _sent(observed: Observed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many messages with bytes each step sends, (n_steps,), which send far more than the median step,
    and which of these compute less than AS_MUCH of that factor more."""
    sent = observed.totals["sent_count"] - observed.empty
    median = float(np.median(sent)) if len(sent) else 0.0
    many = sent > max(FAR_MORE * median, median + len(observed.ranks))
    computed = observed.largest.get("compute_time_s")
    if computed is None or not many.any() or many.all():
        return sent, many, many
    usual = np.median(computed[~many])
    return sent, many, many & ~(computed * median >= AS_MUCH * usual * sent)


def messages_in_bursts(observed: Observed) -> float:
    """How many messages the reported bursts have beyond the other steps. Another finding about the same
    messages would report one problem twice."""
    sent = _sent(observed)[0]
    steps = [step for finding in find(observed) for step in finding.steps.tolist()]
    chosen = np.isin(observed.index, steps)
    return float((sent[chosen] - np.median(sent)).sum()) if steps else 0.0
