# SPDX-License-Identifier: BSD-3-Clause
"""What one side of a comparison measured, as arrays; `perfield.derived.comparing` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from perfield.analysis.comparing.change import ratio_of_sums
from perfield.analysis.steps import output_steps

TABLES = ("step_time_s", "compute_time_s", "mpi_time_s")  # that are kept of each rank and step
SUMS = (  # compared as sums over ranks
    *("sent_count", "sent_bytes", "io_read_bytes", "io_write_bytes", "involuntary_switches"),
)
LARGEST = ("resident_bytes",)  # compared as the largest of a rank


@dataclass(frozen=True)
class Measured:
    """What a run measured in the steps that all its ranks closed, reduced to numbers per step.

    name : for sentences. ranks : int64 (n_ranks,), those that closed steps, ascending.
    positions : int64 (n_steps,), of the frames in the run.
    chosen : bool (n_steps,), the steps that this side of the comparison is about.
    tables : by field, float32 (n_steps, n_ranks), of TABLES; those that the run lacks are missing.
    means : by field, float64 (n_steps,): the mean over ranks; ranks that did not enter a region count as 0.
    Of a frame that adds up several steps it is the value of one. sums, largest : likewise.
    unbalanced : by stem of a region, float64 (n_steps,): the largest compute time of a rank there minus the
    mean, in s; a region's whole time where MPI was not seen inside regions.
    regions : by stem, the region's name in the program. left_out : sentences about steps that are not there.
    spans : (n_steps,), how many steps each frame adds up; empty: 1. is_whole : the run closed no step, and
    its one frame is the whole run.
    """

    name: str
    ranks: np.ndarray
    positions: np.ndarray
    chosen: np.ndarray
    tables: Mapping[str, np.ndarray]
    means: Mapping[str, np.ndarray]
    sums: Mapping[str, np.ndarray] = field(default_factory=dict)
    largest: Mapping[str, np.ndarray] = field(default_factory=dict)
    unbalanced: Mapping[str, np.ndarray] = field(default_factory=dict)
    regions: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    spans: np.ndarray = field(default_factory=lambda: np.ones(0))
    is_whole: bool = False

    @property
    def n_ranks(self) -> int:
        """Number of ranks that closed steps."""
        return len(self.ranks)

    @cached_property
    def is_output(self) -> np.ndarray:
        """(n_steps,) bool, the steps that write far more than others."""
        if "io_write_bytes" not in self.sums:
            return np.zeros(len(self.positions), bool)
        return output_steps(self.sums["io_write_bytes"][:, None])

    @property
    def is_single(self) -> bool:
        """Whether this side is a single step."""
        return int(self.chosen.sum()) == 1

    @cached_property
    def compared(self) -> np.ndarray:
        """(n_steps,) bool, the chosen steps without those that write output; a single step always stays."""
        without_output = self.chosen & ~self.is_output
        return self.chosen if self.is_single or not without_output.any() else without_output

    def count(self, steps: np.ndarray) -> int:
        """How many of the program's steps some frames hold. steps : bool (n_steps,)."""
        return int(self.spans[steps].sum() if len(self.spans) else steps.sum())

    def weights(self, steps: np.ndarray) -> np.ndarray:
        """How often each frame counts, (number of steps,): once for each step that it adds up, but once where
        a single frame is compared. steps : bool (n_steps,)."""
        return (self.spans if len(self.spans) and not self.is_single else np.ones(len(steps)))[steps]

    def weighed(self, numbers: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Numbers of some steps, (n_steps,), made such that their mean is that of all steps in frames."""
        weights = self.weights(steps)
        if not len(weights) or np.ptp(weights) == 0:
            return numbers[steps]
        return ratio_of_sums(numbers[steps] * weights, weights)

    def of(self, name: str, positions: np.ndarray) -> Measured:
        """A side about some of the steps, under another name."""
        return replace(self, name=name, chosen=np.isin(self.positions, positions))
