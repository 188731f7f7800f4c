# SPDX-License-Identifier: BSD-3-Clause
"""Where and when the slow regime struck: sentences, and tables of events and shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.studies.regimes.model import events, shares, slow_points, where
from perfield.text import begin_of_list, counted, in_list, in_number, in_percent, in_seconds
from perfield.topology import ranges

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from perfield.topology import Placement

MOST_EVENTS = 100  # in JSON


class Places:
    """What classified timings say of the machine. placement : of the run; None for other timings."""

    def __init__(self, found: xr.Dataset, placement: Placement | None):
        self.found, self.placement = found, placement
        is_slow = slow_points(found)
        self.is_slow = bool(is_slow.any())
        known = np.isfinite(found["time_s"].transpose("rank", "step").values)
        self.has_others = bool((known & ~is_slow).any())
        self.events = events(found, placement)
        self.cost_s = float(self.events["cost_s"].sum())
        in_machine = self.is_slow and placement is not None and found.sizes["rank"] > 1
        self.clusters = where(found, placement) if in_machine and placement is not None else ()

    def sentences(self) -> Iterator[str]:
        """What the slow regime cost, its costliest event, and whether it clusters; nothing without one, or
        where no other step shows what slow ones cost."""
        if not (self.is_slow and self.has_others):
            return
        of_all = float(np.nansum(np.fmax.reduce(self.found["time_s"].transpose("rank", "step").values)))
        share = f" of {in_seconds(of_all)}, {in_percent(self.cost_s / of_all)}" if of_all > 0 else ""
        first = self.events.iloc[0]
        steps = f"step {first.start}" if first.n_steps == 1 else f"steps {first.start} to {first.end}"
        where = f" on {in_list([f'node {name}' for name in first.nodes])}" if first.nodes else ""
        n_events = counted(len(self.events), "event")
        yield (
            f"The slow regime cost {in_seconds(self.cost_s)}{share} (slow steps against the "
            f"median of the others), in {n_events}; the costliest: {steps}{where}, "
            f"{in_seconds(first.cost_s)}."
        )
        yield from (cluster.words for cluster in self.clusters if cluster.n_places > 1)

    def event_rows(self, most: int) -> list[dict[str, Any]]:
        """The costliest events as rows of a table."""
        return [
            {
                "steps": f"{row.start}-{row.end}" if row.n_steps > 1 else f"{row.start}",
                "cost": in_seconds(row.cost_s),
                "of all ranks": in_seconds(row.rank_s),
                "ranks": begin_of_list(ranges(row.ranks)) if row.ranks[0] >= 0 else "longest",
                "nodes": in_list(row.nodes) if row.nodes else "-",
            }
            for row in self.events.head(most).itertuples()
        ]

    def share_rows(self, level: str) -> list[dict[str, Any]]:
        """Each place of a level, the one with most slow steps first."""
        table = self.shares(level).sort_values("share_of_steps", ascending=False, kind="stable")
        return [
            {
                level: name,
                "ranks": row.n_ranks,
                "share of steps": f"{in_percent(row.share_of_steps)} ({_bounds(row.low, row.high)})",
                "share of time": in_percent(row.share_of_time),
            }
            for name, row in zip(table.index, table.itertuples())
        ]

    def shares(self, level: str) -> pd.DataFrame:
        """The shares of the places of a level."""
        return shares(self.found, self.placement, level)

    def as_json(self) -> dict[str, Any]:
        """cost_s, the costliest events, shares by level, and the tests whether slow phases cluster."""
        levels = ["rank"] + [cluster.level for cluster in self.clusters if cluster.n_places]
        return {
            "cost_s": self.cost_s,
            "n_events": len(self.events),
            "events": self.events.head(MOST_EVENTS).to_dict("records"),
            "shares": {level: self.shares(level).reset_index().to_dict("records") for level in levels},
            "clusters": [
                {**vars(cluster), "is_cluster": cluster.is_cluster, "words": cluster.words}
                for cluster in self.clusters
            ],
        }


def _bounds(low: float, high: float) -> str:
    return f"{in_number(100 * low)} to {in_number(100 * high)} %"
