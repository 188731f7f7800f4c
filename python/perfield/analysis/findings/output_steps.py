# SPDX-License-Identifier: BSD-3-Clause
"""Steps that write output and take longer, by the rule of the summary (thesis, Figure 7.24)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings import bursts, io_by_one_rank_per_node, io_through_few_ranks
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.sight import Sight, of_steps
from perfield.analysis.findings.step_costs import extra, lengths_s, which
from perfield.analysis.observed import Observed
from perfield.analysis.steps import output_steps
from perfield.text import in_bytes, in_percent, in_seconds

QUESTION = "Do steps that write output take longer?"
KINDS = ("output steps",)
NEEDS = ("io_write_bytes", "time steps")
LIKES = ("io_time_s",)
REASONS = (io_by_one_rank_per_node, io_through_few_ranks, bursts)


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if steps that write are longer than chance makes them, and cost 1 % of the time.

    What a finding about files, or about a burst in these steps, saves is not counted again: that is the
    reason. If it explains everything, it is the only finding.
    """
    per_step = observed.written_per_step()
    chosen = output_steps(per_step[:, None])
    cost = extra(observed, chosen)
    if cost is None or cost.share < WORTH_REPORTING:
        return
    reasons = [
        found for module in REASONS if all(map(observed.has, module.NEEDS)) for found in module.find(observed)
    ]
    explained_s = sum(
        reason.saved_s or 0.0 for reason in reasons if set(reason.steps) <= set(observed.index[chosen])
    )
    saved_s = cost.time_s - explained_s
    if saved_s < WORTH_REPORTING * observed.elapsed_s:
        return
    written = float(np.median(per_step[chosen]))
    lengths = lengths_s(observed)
    typical = observed.index[chosen][np.argsort(lengths[chosen])[int(chosen.sum() - 1) // 2]]
    yield Finding(
        kind="output steps",
        words=f"The program writes {which(observed, chosen)}, {in_bytes(written)} each time. These steps "
        f"take {cost.ratio:.3g} times as long as the others and cost {in_seconds(cost.time_s)}, "
        f"{in_percent(cost.share)} of the time.",
        saved_s=saved_s,
        remedy="Write less often, or less; write while the program computes on (MPI_File_iwrite_all, ADIOS2, "
        "an I/O thread); write binary output.",
        picture=Picture("machine", "io_write_bytes", int(typical)),
        steps=observed.index[chosen],
        chance=cost.chance,
    )


def sees(observed: Observed) -> Sight:
    """How much longer steps that write output would have to be."""
    chosen = output_steps(observed.written_per_step()[:, None])
    return of_steps(observed, chosen, "writes 4 kB or more, and ten times as much as the median step")
