# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests of region counters: parts of their C programs, and a reader of fields."""

from __future__ import annotations

from pathlib import Path

_PROGRAMS = Path(__file__).parent / "bridge/session/programs"

PAGES = (_PROGRAMS / "pages.h").read_text()
KERNEL = (_PROGRAMS / "stand_in_kernel.h").read_text()


def series(run, name: str) -> list[float]:
    """The values of a field on rank 0 in all frames."""
    return [float(frame.values[name][0]) for frame in run.frames()]
