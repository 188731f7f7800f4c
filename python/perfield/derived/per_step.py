# SPDX-License-Identifier: BSD-3-Clause
"""A run whose frames hold values of one step, for pictures: frames may add up different numbers of steps, and
a film of their sums would show the lengths of frames."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfield.fields.functions import is_of_function
from perfield.fields.waits import is_of_waits
from perfield.run.changed_frames import ChangedFrames

if TYPE_CHECKING:
    from perfield.run.frame import Frame
    from perfield.run.protocol import AnyRun


class PerStep(ChangedFrames):
    """The run, with the mean of a frame's steps in place of each sum; everything else is the run's own."""

    def changed(self, number: int, frame: Frame) -> Frame:
        """The frame by the mean of its steps."""
        if frame.span == 1:
            return frame
        known = set(self._run.columns.names)
        sums = {name for name in known.intersection(frame.values) if self._run.columns.field(name).adds_up}
        sums |= {name for name in frame.values if is_of_function(name) or is_of_waits(name)}
        values = {name: v / frame.span if name in sums else v for name, v in frame.values.items()}
        of_blocks = {
            name: {key: value / frame.span for key, value in blocks.items()} if name in sums else blocks
            for name, blocks in frame.block_values.items()
        }
        tables = {
            name: _of_one(getattr(frame, name), frame.span) for name in ("messages", "received", "waits")
        }
        return replace(frame, values=values, block_values=of_blocks, is_mean=True, **tables)


def per_step(run: AnyRun) -> AnyRun:
    """The run for pictures: itself, unless frames add up several steps."""
    return run if (run.spans == 1).all() else PerStep(run)


def _of_one(rows: np.ndarray, span: int) -> np.ndarray:
    """Rows of messages or waits with the amounts of one step; a part of a message rounds to the nearest."""
    rows = rows.copy()
    for name in set(rows.dtype.names).intersection(("count", "bytes", "empty", "time_s")):
        each = rows[name] / span
        rows[name] = np.rint(each) if rows[name].dtype.kind in "iu" else each
    return rows
