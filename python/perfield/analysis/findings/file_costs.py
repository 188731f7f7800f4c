# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks use files, and how long the others wait for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.analysis.findings.step_costs import which
from perfield.analysis.observed import Observed
from perfield.analysis.steps import LOG_BYTES, output_steps

FILE_FIELDS = ("io_write_bytes", "io_time_s")
MORE_FILE_FIELDS = ("io_read_bytes", "waiting_time_s")
NEARLY_ALL = 0.9  # of the bytes are used in the steps that are reported, if any are
ONE_WAY = 0.01  # of the bytes go the other way at most, if that is not reported


@dataclass(frozen=True)
class FileUse:
    """What each rank did with files.

    amount : float64 (n_columns,), bytes read and written in all steps. verb : "writes", "reads", or "reads
    and writes". in_files : bool (n_steps,), the steps that use nearly all bytes; none if all steps do.
    """

    amount: np.ndarray
    verb: str
    in_files: np.ndarray

    @property
    def field(self) -> str:
        """The field that shows it."""
        return "io_read_bytes" if self.verb == "reads" else "io_write_bytes"


def file_use(observed: Observed) -> FileUse | None:
    """What ranks did with files; None if all together used only as many bytes as a log has."""
    read, written = (
        np.nansum(observed.of(name), axis=0, dtype=float) for name in ("io_read_bytes", "io_write_bytes")
    )
    amount = read + written
    total = float(amount.sum())
    of_steps = observed.totals["io_write_bytes"] + observed.totals.get("io_read_bytes", 0.0)
    if total <= LOG_BYTES * max(int((of_steps > 0).sum()), 1):
        return None
    verbs = [("reads", read), ("writes", written)]
    verbs_used = [verb for verb, each in verbs if each.sum() > ONE_WAY * total]
    in_files = output_steps((of_steps / (observed.span if len(observed.span) else 1))[:, None])
    in_files &= of_steps[in_files].sum() > NEARLY_ALL * of_steps.sum()  # else others use files, too
    return FileUse(amount, " and ".join(verbs_used), in_files)


def when(observed: Observed, use: FileUse) -> str:
    """The steps that use files, in words after a sentence: ", every 20 steps (5 of 100)"; "" if all do."""
    return f", {which(observed, use.in_files)}" if use.in_files.any() else ""


def saved_by_spreading_s(observed: Observed, users: np.ndarray) -> float:
    """What it would save at most if all ranks used files in parallel, in s of all steps.

    users : bool (n_columns,), the ranks that do it now. If the others do not wait meanwhile, as where some
    ranks serve the others' output, it saves nothing.
    """
    file_s = np.nan_to_num(observed.of("io_time_s").astype(float))
    spared = float(file_s[:, users].max(axis=1, initial=0.0).sum()) * (1 - users.mean())
    lost = np.nansum(observed.of("waiting_time_s"), axis=0, dtype=float) + file_s.sum(axis=0)
    return min(spared, float(lost[~users].mean())) if observed.has("waiting_time_s") else spared
