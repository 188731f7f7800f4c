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
WARNING_TEXT = (0.7, 0.29, 0.0)  # BEYOND is too light for letters on white
OUTLINE = (0.6, 0.6, 0.6)
_ORDERED = {1: (0,), 2: (0, 4), 3: (0, 1, 4), 4: (0, 2, 1, 4)}  # of so many regimes
PALE = 0.3  # of a colour, beside white, where a regime is uncertain

# The colour maps as in matplotlib: 64 colours each, between which images and the browser's page interpolate.
# viridis and magma are by Smith, van der Walt and Firing (CC0), RdBu by Brewer (Apache 2).
MAPS = {
    "viridis": (
        "44015446075a470d6047136548186a481d6f482374482878472d7b46327e453781443b844240864045883e49893d4e8a"
        "3a538b38588c365c8d34608d32648e31688e2f6c8e2d708e2c738e2a778e297b8e277f8e26828e24868e238a8d218e8d"
        "20928c1f968b1f9a8a1f9e891fa18721a58523a98326ad812ab07f2fb47c35b7793bbb7542be714ac16d52c5695ac864"
        "65cb5e6ece5877d15381d34d8bd64695d840a0da39aadc32b5de2bc0df25cae11fd5e21adfe318eae51af4e61efde725"
    ),
    "magma": (
        "00000402010903031206051a0a08220e0b2b130d34180f3d1d114722115029115a2f116336106b3d0f71440f764a1079"
        "52137c59157e5f187f651a806b1d81721f817822817e24828426818b2981912b81982d809e2f7fa5317eab337cb2357b"
        "ba3878c03a76c73d73cd4071d3436ed9466bdf4a68e44f64e95462ed5a5ff1605df4675cf66e5cf8765cfa7d5efb8560"
        "fc8e64fd9668fe9d6cfea571feac76feb47bfebb81fec287feca8dfed194fed89afde0a1fde7a9fceeb0fcf6b8fcfdbf"
    ),
    "RdBu_r": (
        "05306109386d0e41791249841752901b5a9c1f63a8246aae2a71b22f79b53480b93a87bd3f8ec04695c4529dc85fa5cd"
        "6eaed27bb6d687beda93c6de9dcbe1a7d0e4b1d5e7bbdaeac5dfeccfe4efd5e7f1dbeaf2e1edf3e7f0f4edf2f5f3f5f6"
        "f8f4f2f9f0ebf9ebe3fae7dcfbe3d4fcdecdfdd9c4fbd0b9fac8aff8bfa4f7b799f6af8ef4a683f09c7beb9172e6866a"
        "e17860dc6e57d7634fd25849cc4c44c6413ec13639bb2a34b61f2eae172aa21328960f278a0b257f082373042167001f"
    ),
}
PRESETS = {"viridis": "Viridis (matplotlib)", "magma": "Magma (matplotlib)", "RdBu_r": "BuRd"}  # ParaView's

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
