# SPDX-License-Identifier: BSD-3-Clause
"""The arrays that pictures carry by default: about twenty that say most, of a hundred and more.

The simulation's own fields come with the mesh and are always there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from perfield.output.survey import COMPUTING, cost_field, waiting_of

if TYPE_CHECKING:
    from perfield.output.survey import Survey

REGIONS = 4  # those that balancing would help most
RHYTHM = ("phase_steps", "phase_gradient_steps", "order_parameter")  # where asked for
REGIMES = ("regime_shade", "slow_share", "regime", "regime_probability")  # likewise
OTHERS = (  # the most telling first
    *RHYTHM,
    *REGIMES,
    *("compute_time_per_cell_s", "cells", "step_time_s", "waited_for_time_s", "sent_bytes", "sent_count"),
    *("resident_bytes", "io_write_bytes", "involuntary_switches", "rank"),
)


def telling_arrays(known: Collection[str], survey: Survey) -> list[str]:
    """Names of the most telling arrays, the most telling first.

    known : the fields of the run. survey : of the run. Computing and waiting come first, over all steps and
    in the step; then the cost of the regions that balancing would help most; then figures of the rank.
    """
    pair = (COMPUTING, waiting_of(known))
    costs = [cost_field(known, stem) for stem in survey.regions[:REGIONS]]
    over = {name: array for name, array in survey.over_steps.items() if array.base in (*pair, *costs)}
    names = [
        *(name for name, array in over.items() if array.base in pair),
        *pair,
        *(name for name, array in over.items() if array.base in costs and array.kind == "mean"),
        *costs,
        *OTHERS,
    ]
    made = {*known, *survey.over_steps, "compute_time_per_cell_s"}
    return [name for name in dict.fromkeys(names) if name in made]
