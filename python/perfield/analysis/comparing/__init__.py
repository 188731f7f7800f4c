# SPDX-License-Identifier: BSD-3-Clause
"""Compares two runs, or steps of one run: what changed, and whether by more than chance.

Takes arrays (`Measured`) and returns rows and a sentence; `perfield.derived.comparing` reads them from runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from perfield.analysis.comparing.change import Change
from perfield.analysis.comparing.measured import Measured
from perfield.analysis.comparing.ranks import RankChange, changed_ranks, in_words
from perfield.analysis.comparing.table import Row, rows_of
from perfield.analysis.comparing.verdict import verdict

__all__ = ["Change", "Comparison", "Measured", "RankChange", "Row", "compare"]


@dataclass(frozen=True)
class Comparison:
    """What changed between two sides. verdict : in a few sentences. rows : number by number. ranks : those
    whose compute time changed by more than chance, most first."""

    before: Measured
    after: Measured
    verdict: str
    rows: tuple[Row, ...]
    ranks: tuple[RankChange, ...] = ()


def compare(before: Measured, after: Measured) -> Comparison:
    """Compares two sides: two runs, or steps of one."""
    rows, ranks = rows_of(before, after), changed_ranks(before, after)
    said = [verdict(before, after, rows), in_words(ranks, after.n_ranks)]
    return Comparison(before, after, " ".join(filter(None, said)), tuple(rows), tuple(ranks))
