# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a study of communication hiding: plots of regimes, of each method beside the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from perfield.studies.hiding.model import DYNAMIC
from perfield.studies.regimes import plots as regimes
from perfield.studies.regimes.model import REGIME

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfield.studies.hiding.model.study import Comparison

MOST_IN_MAP = 600  # so that a cell of the heat map is one MatVec


def figures(compared: Comparison) -> Iterator[tuple[str, str, Callable[[], Figure]]]:
    """The name of each figure, what to look for, and what draws it, the most important first.

    Figures that need regimes are left out where no fit was possible.
    """
    times, longest = compared.times, compared.longest
    has_regimes = all(REGIME in each for each in times.values())
    yield (
        "sums",
        "Above 0, a method needs less time for as many of its fastest steps. Long steps at the right end "
        "hide what is gained on the left.",
        lambda: regimes.cumulative(longest),
    )
    yield (
        "in-and-out",
        "A MatVec whose waits are hidden lies on the dashed curve: both halves together take C.",
        lambda: regimes.in_and_out(times),
    )
    yield (
        "timelines",
        "A typical MatVec of each method, on the same scale of time.",
        lambda: regimes.timelines(times),
    )
    if DYNAMIC in times:
        yield (
            "alpha",
            "Alpha moves where one of the waits, and not both, exceeds the eps of the run.",
            lambda: regimes.waits_and_splitting(times[DYNAMIC], eps_s=compared.eps_s),
        )
    if has_regimes:
        yield (
            "series",
            "The rank with the median time of each method, and the regimes of its MatVecs.",
            lambda: regimes.series(times),
        )
        yield (
            "by-regime",
            "Both halves of MatVecs in each regime. Regimes are levels of time: MatVecs that hid their waits "
            "may lie in any of them.",
            lambda: regimes.in_and_out_by_regime(times),
        )
        first = next(iter(times))
        yield (
            "heat-map",
            f"Times and regimes of all ranks with method {first}, of at most {MOST_IN_MAP} MatVecs. "
            "A column is a slow phase that all ranks met.",
            lambda: regimes.heat_maps(times[first].isel(step=slice(None, MOST_IN_MAP))),
        )
    yield (
        "distributions",
        "How alike the ranks are: of 8 or more, the middle half lies in the violet band; of fewer, each has "
        "its line.",
        lambda: regimes.cdfs(times),
    )
