# SPDX-License-Identifier: BSD-3-Clause
"""What tests of counters of regions share: parts of their programs in C, and a look at their fields."""

from __future__ import annotations

from pathlib import Path

_PROGRAMS = Path(__file__).parent / "bridge/session/programs"

PAGES = (_PROGRAMS / "pages.h").read_text()
KERNEL = (_PROGRAMS / "stand_in_kernel.h").read_text()


def series(run, name: str) -> list[float]:
    """A field of rank 0 in all frames."""
    return [float(frame.values[name][0]) for frame in run.frames()]
