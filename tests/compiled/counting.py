# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests of region counters: parts of their C programs, and a reader of fields."""

from __future__ import annotations

from pathlib import Path

_PROGRAMS = Path(__file__).parents[1] / "bridge/session/programs"

PAGES = (_PROGRAMS / "pages.h").read_text()
KERNEL = (_PROGRAMS / "stand_in_kernel.h").read_text()


def series(run, name: str) -> list[float]:
    """The values of a field on rank 0 in all frames."""
    return [float(frame.values[name][0]) for frame in run.frames()]


def counters_of(run) -> list[str]:
    """Names of the quantities that are fields of regions by themselves."""
    of_regions = {q.name for of_rank in run.quantities for q in of_rank if q.scope == "region"}
    return sorted(name for name in of_regions if not name.startswith("mpi_") and name != "file_time")
