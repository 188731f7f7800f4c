# SPDX-License-Identifier: BSD-3-Clause
"""What the dissertation of Alves (README, *Cite*) reports in its Tables 6.1 to 6.8.

It ran on Haswell nodes of 24 cores, one rank per core: MG and BT on 64 ranks, Hydra on 48, CODA on 96 to 768.
Its plug-in loaded ParaView into each rank and drew every 20th to 100th step.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reported:
    """One row: time and memory of the bare program, and what each tool added.

    deviation_percent : relative standard deviation of the bare program's time and memory. scorep_percent,
    plugin_percent : what Score-P, and the plug-in above it, added to time and to memory.
    """

    program: str
    ranks: int
    bare_s: int
    bare_mb: int
    deviation_percent: tuple[int, int]
    scorep_percent: tuple[int, int]
    plugin_percent: tuple[int, int]


def _rows(*rows: tuple) -> tuple[Reported, ...]:
    return tuple(Reported(*row) for row in rows)


MG, BT, HYDRA = ("MG", 64, 1897, 455, (2, 0)), ("BT", 64, 2068, 455, (1, 0)), ("Hydra", 48)
# Without and with the code's own Catalyst adaptor, which geometry mode needs.
HYDRA_BARE, HYDRA_CATALYST = (*HYDRA, 2520, 314, (0, 0)), (*HYDRA, 2660, 423, (2, 1))
CODA_BARE = {
    96: ("CODA", 96, 6410, 1187, (6, 2)),
    192: ("CODA", 192, 3957, 972, (10, 2)),
    384: ("CODA", 384, 2496, 854, (5, 6)),
    768: ("CODA", 768, 1679, 974, (4, 4)),
}
CODA_CATALYST = {
    96: ("CODA", 96, 6485, 1197, (1, 3)),
    192: ("CODA", 192, 4072, 983, (9, 8)),
    384: ("CODA", 384, 2553, 944, (4, 1)),
    768: ("CODA", 768, 1903, 958, (9, 6)),
}
TABLES = {
    "6.1": _rows(
        (*MG, (-1, 5), (0, 42)),
        (*BT, (0, 5), (0, 42)),
        (*HYDRA_BARE, (4, 3), (12, 22)),
        (*CODA_BARE[768], (11, -2), (19, 2)),
    ),
    "6.2": _rows(
        (*MG, (-1, 5), (0, 42)),
        (*BT, (-1, 5), (0, 42)),
        (*HYDRA_BARE, (4, 1), (2, 26)),
        (*CODA_BARE[768], (6, -10), (18, 1)),
    ),
    "6.3": _rows((*HYDRA_CATALYST, (5, -3), (6, -4)), (*CODA_CATALYST[768], (4, 15), (-1, 1))),
    "6.4": _rows((*HYDRA_CATALYST, (5, -3), (11, 11)), (*CODA_CATALYST[768], (8, 1), (6, 73))),
    "6.5": _rows(
        (*CODA_CATALYST[96], (4, 0), (5, 11)),
        (*CODA_CATALYST[192], (1, 11), (1, 13)),
        (*CODA_CATALYST[384], (7, 1), (-1, 2)),
        (*CODA_CATALYST[768], (4, 15), (-1, 1)),
    ),
    "6.6": _rows(
        (*CODA_CATALYST[96], (2, 2), (3, 64)),
        (*CODA_CATALYST[192], (-7, 2), (1, 63)),
        (*CODA_CATALYST[384], (10, 0), (1, 71)),
        (*CODA_CATALYST[768], (8, 1), (6, 73)),
    ),
    "6.7": _rows(
        (*CODA_BARE[96], (4, -4), (5, -2)),
        (*CODA_BARE[192], (4, -7), (-5, -1)),
        (*CODA_BARE[384], (6, -6), (19, 20)),
        (*CODA_BARE[768], (11, -2), (19, 2)),
    ),
    "6.8": _rows(
        (*CODA_BARE[96], (-3, -2), (4, -2)),
        (*CODA_BARE[192], (3, -1), (14, 2)),
        (*CODA_BARE[384], (9, 2), (0, 12)),
        (*CODA_BARE[768], (6, -10), (18, 1)),
    ),
}
