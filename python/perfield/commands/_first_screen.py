# SPDX-License-Identifier: BSD-3-Clause
"""What of a run's summary `perfield run` prints: at most eight lines, what costs time first."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

MOST = 8
INDENT = 11  # of the summary's labels
# Labels that make room, the first one first. Warnings, who costs time, the steps and the next command stay.
LESS = (
    "explained",
    "written",
    "efficiency",
    "messages",
    "region",
    "run",
    "files",
    "perfield",
    "delay",
    "where",
)


def first_screen(lines: Sequence[str]) -> list[str]:
    """The lines of a summary to print after a run, in their order. Of more than MOST, those of LESS go, but
    for those above the imbalance, which cost more; the last line says how to see all."""
    labels = [line[:INDENT].strip() for line in lines]
    n_first = labels.index("imbalance") if "imbalance" in labels else 0
    first, kept = list(lines[:n_first]), list(lines[n_first:])
    for label in LESS:
        if len(first) + len(kept) > MOST:
            kept = [line for line in kept if line[:INDENT].strip() != label]
    kept = first + kept
    if len(kept) < len(lines):
        kept[-1] = kept[-1].removesuffix(")") + f"; info: all {len(lines)} lines)"
    return kept


def fitted(line: str) -> str:
    """A line for stderr: on a terminal, words that do not fit come below, beside the label."""
    if not sys.stderr.isatty():
        return line
    columns = max(shutil.get_terminal_size().columns, 40)
    below = " " * (2 if line.startswith("perfield: ") else INDENT)
    return textwrap.fill(line, columns, subsequent_indent=below, break_on_hyphens=False)
