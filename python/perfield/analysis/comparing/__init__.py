# SPDX-License-Identifier: BSD-3-Clause
"""Compares two runs, or steps of one run: what changed, and whether by more than chance.

Takes arrays (`Measured`) and returns rows and a sentence; `perfield.run.comparing` reads them from runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from perfield.analysis.comparing.change import Change
from perfield.analysis.comparing.measured import Measured
from perfield.analysis.comparing.table import Row, rows_of
from perfield.analysis.comparing.verdict import verdict

__all__ = ["Change", "Comparison", "Measured", "Row", "compare"]


@dataclass(frozen=True)
class Comparison:
    """What changed between two sides. verdict : in a sentence or two. rows : number by number."""

    before: Measured
    after: Measured
    verdict: str
    rows: tuple[Row, ...]


def compare(before: Measured, after: Measured) -> Comparison:
    """Compares two sides: two runs, or steps of one."""
    rows = rows_of(before, after)
    return Comparison(before, after, verdict(before, after, rows), tuple(rows))
