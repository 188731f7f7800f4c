# SPDX-License-Identifier: BSD-3-Clause
"""The colours of all pictures and plots, safe for colour-blind eyes. Needs neither ParaView nor matplotlib.

Values are shown in viridis, waiting in magma, so that waiting never looks like cost, and differences from
blue (less) through white to red (more). A few categories take the palette of Okabe and Ito.
"""

from __future__ import annotations

import re

# Okabe and Ito's palette without black and grey: text is black and absent values are grey.
PALETTE = (
    *((0.000, 0.447, 0.698), (0.902, 0.624, 0.000), (0.000, 0.620, 0.451), (0.800, 0.475, 0.655)),
    *((0.835, 0.369, 0.000), (0.337, 0.706, 0.914), (0.941, 0.894, 0.259)),
)
ABSENT = (0.72, 0.72, 0.72)
UNKNOWN = (0.3, 0.3, 0.3)
BEYOND = PALETTE[4]  # values above the end of the scale
TEXT = (0.1, 0.1, 0.1)
OUTLINE = (0.6, 0.6, 0.6)
_ORDERED = {1: (0,), 2: (0, 4), 3: (0, 1, 4), 4: (0, 2, 1, 4)}  # of so many regimes
PALE = 0.3  # of a colour, beside white, where a regime is uncertain

_WAITING = re.compile(
    r"((.+_)?(waiting|mpi(_(?!io_)[a-z0-9]+)?)|wait_(late_sender|late_receiver|collective|one_sided))"
    r"_time_s(_(mean|p95|maximum|before|after))?"
)


def is_waiting(field: str) -> bool:
    """Whether a field is time of waiting or of MPI calls that may wait for others: `solve_mpi_wait_time_s`.

    waited_for_time_s and caused_wait_time_s are none: they are the time that others lose.
    """
    return _WAITING.fullmatch(field) is not None


def colour_map(field: str) -> str:
    """The name of the map, as in matplotlib, in which a field's values are shown.

    Differences (`<field>_difference`), and steps ahead of the mean rank, have a map with white in its middle,
    which means no difference.
    """
    if field.endswith("_difference") or field == "phase_steps":
        return "RdBu_r"
    return "magma" if is_waiting(field) else "viridis"


def regime_colours(n: int) -> list[tuple[float, ...]]:
    """The colours of n regimes: blue is the fastest, vermilion the slowest; at most 7 differ."""
    between = (5, 2, 6, 1, 3) * n
    return [PALETTE[number] for number in _ORDERED.get(n, (0, *between[: n - 2], 4))]


def pale(rgb: tuple[float, ...]) -> tuple[float, ...]:
    """The colour of what is uncertain."""
    return tuple(1 - PALE * (1 - part) for part in rgb)
