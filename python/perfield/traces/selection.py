# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the regions of a trace to keep, their names, and the region that closes steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfield import _bridge
from perfield.configuration import in_force
from perfield.traces.definitions import Trace


class RegionChoice:
    """The regions of a trace that match the configuration's `regions` and `step_region`.

    Names match as those of compiled functions do, but a lone `*` chooses all. name_of : number of a kept
    region -> its name. step_regions : the trace's numbers for the region that closes steps, empty without
    a step_region.
    """

    def __init__(self, trace: Trace, regions: Sequence[str], step_region: str):
        self._trace = trace
        self.name_of: dict[int, str] = {}
        for number, region in trace.regions.items():
            if region.is_code:
                chosen = _bridge.region_of(region.name, region.symbol, list(regions), step_region)
                if chosen:
                    self.name_of[number] = chosen
        self.step_regions = frozenset(
            number for number, name in self.name_of.items() if step_region and name == step_region
        )

    def tables(self, **changes: Any) -> Any:
        """The trace's definitions for `_bridge.Follower`.

        changes : values of the keys max_regions, max_peers and messages, instead of those in force.
        """
        limits = {key: in_force(key) for key in ("max_regions", "max_peers", "messages")} | changes
        trace, clock = self._trace, self._trace.clock
        return _bridge.TraceTables(
            regions={
                number: (
                    self.name_of.get(number, ""),
                    region.file,
                    region.line,
                    region.call,
                    number in self.step_regions,
                )
                for number, region in trace.regions.items()
            },
            contexts=trace.contexts,
            peers=trace.peers,
            windows=trace.windows,
            files=trace.files,
            strings=trace.strings,
            counters=trace.metrics.names,
            metrics=trace.metrics.places,
            sources=trace.sources,
            ticks_per_second=clock.resolution,
            start=clock.start,
            start_ns=clock.start_ns,
            end_ns=clock.start_ns + clock.ns(clock.length),
            **limits,
        )
