# SPDX-License-Identifier: BSD-3-Clause
"""The arrays that pictures carry by default: about twenty that say most, of a hundred and more.

The simulation's own fields come with the mesh and are always there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from perfield.derived.providers import provider_classes
from perfield.fields.waits import CAUSED, COLLECTIVE, LATE_RECEIVER, LATE_SENDER, ONE_SIDED
from perfield.output.survey import COMPUTING, beside_computing, cost_field, waiting_of

if TYPE_CHECKING:
    from perfield.output.survey import Survey
    from perfield.run import Frame

REGIONS = 4  # those that balancing would help most
WAITS = (CAUSED, LATE_SENDER, LATE_RECEIVER, COLLECTIVE, ONE_SIDED)
OTHERS = (  # those that say most first
    *WAITS,
    *("compute_time_per_cell_s", "cells", "step_time_s", "waited_for_time_s", "sent_bytes", "sent_count"),
    *("resident_bytes", "io_write_bytes", "involuntary_switches", "rank"),
)


def main_arrays(known: Collection[str], survey: Survey) -> list[str]:
    """Names of the arrays that say most, first those that say more.

    known : the fields of the run. survey : of the run. Computing, waiting that a rank caused, and waiting
    come first, over all steps and in the step; then the cost of the regions that balancing would help most;
    then figures of the rank.
    """
    pair = (COMPUTING, beside_computing(known), waiting_of(known))
    costs = [cost_field(known, stem) for stem in survey.regions[:REGIONS]]
    over = {name: array for name, array in survey.over_steps.items() if array.base in (*pair, *costs)}
    names = [
        *(name for name, array in over.items() if array.base in pair),
        *pair,
        *(name for name, array in over.items() if array.base in costs and array.kind == "mean"),
        *costs,
        *(field.name for provider in provider_classes() if provider.drawn for field in provider.gives),
        *OTHERS,
    ]
    made = {*known, *survey.over_steps, "compute_time_per_cell_s"}
    return [name for name in dict.fromkeys(names) if name in made]


def chosen_arrays(known: Collection[str], survey: Survey, wanted: Sequence[str]) -> list[str]:
    """Names of the main arrays, behind the wanted ones and what those are made from.

    known, survey : as for `main_arrays`.
    """
    # isend_bytes_to_3 comes from isend_bytes.
    stems = {name: re.sub("_(s|count|bytes)$", "", name) for name in known}
    sources = [name for name, stem in stems.items() if any(word.startswith(stem) for word in wanted)]
    sources += [re.sub("_compute_time_per_cell_s$", "_time_s", word) for word in wanted]
    over = [name for name, array in survey.over_steps.items() if array.base in wanted]
    return list(dict.fromkeys([*wanted, *over, *main_arrays(known, survey), *sources]))


def with_values_over_steps(frame: Frame, survey: Survey, arrays: Collection[str] | None) -> Frame:
    """A frame with the values over all steps beside its own. arrays : those to keep; None keeps all."""
    values = frame.values | {name: array.values for name, array in survey.over_steps.items()}
    if arrays is not None:
        values = {name: values[name] for name in arrays if name in values}
    return replace(frame, values=values)
