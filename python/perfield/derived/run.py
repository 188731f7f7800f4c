# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield.open` returns: a run directory, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfield.derived import call_paths, critical_path, dataframes, representation, samples, transfers
from perfield.derived import waits as of_waiting
from perfield.run.run_directory import RunDirectory
from perfield.run.sampled_frames import SampledFrames
from perfield.run.wait_frames import WaitFrames

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

    def with_wait_states(self, regions: Sequence[str] = ()) -> WaitFrames:
        """The run with more fields in its frames: how long each rank waited by kind of wait state, how long
        others waited because of it, also by region, and what transfer took (`perfield.fields.waits`). Frames
        of `self` stay without them.

        regions : prefixes of the fields of regions that must have one, beside those in which ranks differ
        most.
        """
        return WaitFrames(self, regions)

    def with_functions(self) -> SampledFrames:
        """The run with more fields in its frames: the CPU time of the functions that matter, as samples tell
        it. Frames of `self` stay without them."""
        return SampledFrames(self)
