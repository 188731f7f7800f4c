# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield.open` returns: a run directory, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfield.derived import call_paths, critical_path, dataframes, representation, samples, transfers
from perfield.derived import waits as of_waiting
from perfield.derived.providers import fields_of
from perfield.derived.view import RunView
from perfield.run.run_directory import RunDirectory

if TYPE_CHECKING:
    import xarray as xr


class Run(RunDirectory):
    """One execution of a program under perfield, read from its run directory.

    Frames and entries are those of `perfield.run.RunDirectory`; tables and all that follows from them are
    functions of `perfield.derived`.
    """

    __repr__ = representation.in_words
    _repr_html_ = representation.as_html

    @property
    def steps(self) -> xr.Dataset:
        """All frames as an xarray Dataset with dimensions step, rank and region: `derived.dataset`.

        Computing reads it, chunk by chunk over steps. It is a snapshot: after `refresh`, take `steps` again.
        """
        from perfield.derived.dataset import open_steps  # imports xarray, which is slow

        return open_steps(self)

    all_fields = property(fields_of)
    ranks = property(dataframes.ranks)
    clocks = property(dataframes.clocks)
    regions = property(dataframes.regions)
    messages = dataframes.messages
    received = dataframes.received
    waits = dataframes.waits
    calls = dataframes.calls
    collectives = dataframes.collectives
    message_sizes = dataframes.message_sizes
    paths = call_paths.paths
    sampled = property(samples.sampled)
    sampled_calls = samples.sampled_calls
    samples = samples.samples
    arrivals = of_waiting.arrivals
    wait_states = of_waiting.wait_states
    caused_waits = of_waiting.caused_waits
    transfers = transfers.transfers
    critical_path = critical_path.critical_path

    def values(self, names: Sequence[str], positions: slice | Sequence[int] = slice(None)) -> np.ndarray:
        """Values of `all_fields` in frames at once: (n_positions, len(names), n_ranks) float64, NaN where
        absent.

        positions : of frames. For frames beyond memory there is `steps`. Raises KeyError if the run has no
        such field, TypeError for a text in place of a list, IndexError if the run has no such frame,
        ValueError if it cannot have values of the field.
        """
        if isinstance(names, str):
            raise TypeError(f"values() takes a list of names, and found the text '{names}'; give ['{names}']")
        if all(name in self.columns for name in names):
            return super().values(names, positions)
        return fields_of(self).read(names, np.arange(len(self))[positions])

    def with_fields(self, names: Sequence[str]) -> RunView:
        """The run with more of `all_fields` in its frames, and in its Dataset. Frames of `self` stay without
        them.

        Raises KeyError if the run has no such field, ValueError if it cannot have values of it.
        """
        return RunView(self, names)
