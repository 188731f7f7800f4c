# SPDX-License-Identifier: BSD-3-Clause
"""Names the state that ranks are in: synchronised, clusters, wavefront, disordered or partly known.

The rule judges unwrapped phases, in periods (steps), so whole steps between ranks count:

1. Partly known: fewer than half of the ranks, or fewer than two, have a phase.
2. Synchronised: the ranks are one tight group. A group is tight if seven of eight of its ranks lie within
   NEAR of one another, and all within FAR.
3. Clusters: sorted phases, cut wherever successive ones are more than CUT apart, give at least two groups,
   and at most one for four ranks (or two); each is tight, one has two ranks or more, and the groups are at
   least twice as far apart as successive ranks within any of them.
4. Wavefront: phases follow a straight line along the ranks' order with an R^2 of at least FIT, and the mean
   gain from rank to rank differs from 0 by more than chance explains at the level CHANCE.
5. Disordered: everything else.

The order is that of the ranks' numbers. Where the communication topology is given, the distance (in messages)
from the rank furthest ahead and from the one furthest behind count as orders, too, and a ring may be
cut anywhere. The order of the best fit counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.special import stdtr

from perfield.analysis.rhythm.blocks import Edges, checked, edge_arrays
from perfield.analysis.rhythm.entropy import entropy
from perfield.analysis.rhythm.order import order_parameter
from perfield.analysis.rhythm.spread import TURN, spread
from perfield.analysis.rhythm.wavefront import line

SYNCHRONISED, CLUSTERS, WAVEFRONT, DISORDERED = "synchronised", "clusters", "wavefront", "disordered"
PARTLY_KNOWN = "partly known"
STATES = (SYNCHRONISED, CLUSTERS, WAVEFRONT, DISORDERED, PARTLY_KNOWN)

NEAR, FAR, CUT = 0.2, 0.5, 0.05
"""Periods: how wide the bulk of a tight group may be, and all of it; where groups are cut apart."""
FIT, CHANCE = 0.9, 0.01
STRETCHES = 16
"""Along how many stretches of the order the gain of a wavefront is tested."""

NUMBER, FROM_FIRST, FROM_LAST, RING = "rank", "distance from the first", "distance from the last", "ring"


@dataclass(frozen=True)
class Front:
    """A straight line through phases: its order, slope in periods per rank, R^2, and how likely chance is."""

    order: str
    slope: float
    fit: float
    chance: float


def state(phase: xr.DataArray, edges: Edges | None = None, position: np.ndarray | None = None) -> xr.Dataset:
    """The name of the state at each instant, and the numbers that it is judged by.

    edges : the communication topology, if known. position : where each rank stands, instead of its number.
    Returns, of dimension time: `state` (one of STATES); `spread` in periods; `order_parameter` and `entropy`
    (relative), which do not see whole steps; `groups`; `slope` in periods per rank (or per message, where
    `order` is a distance), `fit` (R^2) and `order` of the best straight line; `known`, the number of ranks
    with a phase.
    """
    whole = checked(phase)
    n = whole.sizes["oscillator"]
    graph = None if edges is None else links(edges, n)
    place = np.arange(n, dtype=float) if position is None else np.asarray(position, float)
    found = [named(whole[:, k].values / TURN, place, graph) for k in range(whole.sizes["time"])]
    names, groups, fronts, known = zip(*found)
    columns = {
        "state": (names, "", "state"),
        "groups": (groups, "1", "groups of ranks"),
        "slope": ([front.slope for front in fronts], "periods/rank", "phase gained from rank to rank"),
        "fit": ([front.fit for front in fronts], "1", "share of the variance that a line explains"),
        "order": ([front.order for front in fronts], "", "along what the line runs"),
        "known": (known, "1", "ranks with a phase"),
    }
    result = xr.Dataset(
        {
            name: (
                "time",
                np.array(values),
                {"units": units, "long_name": text} if units else {"long_name": text},
            )
            for name, (values, units, text) in columns.items()
        },
        {"time": whole["time"]} if "time" in whole.coords else {},
        {"ranks": n},
    )
    result["spread"] = spread(whole)
    result["order_parameter"] = order_parameter(whole)
    result["entropy"] = entropy(whole, relative=True).drop_vars("bins")
    return result if "time" in phase.dims else result.isel(time=0)


def named(periods: np.ndarray, place: np.ndarray, graph: csr_array | None) -> tuple[str, int, Front, int]:
    """Name, number of groups, best line and number of known ranks of one instant; periods : (oscillator,)."""
    known = np.isfinite(periods)
    count = int(known.sum())
    ascending = np.sort(periods[known])
    cuts = np.flatnonzero(np.diff(ascending) > CUT) + 1
    groups = np.split(ascending, cuts) if count else []
    front = best_front(periods, place, graph)
    if count < 2 or 2 * count < len(periods):
        return PARTLY_KNOWN, len(groups), front, count
    if tight(ascending):
        return SYNCHRONISED, 1, front, count
    if are_clusters(groups, count):
        return CLUSTERS, len(groups), front, count
    if front.fit >= FIT and front.chance <= CHANCE:
        return WAVEFRONT, len(groups), front, count
    return DISORDERED, len(groups), front, count


def tight(group: np.ndarray) -> bool:
    """Whether ascending phases in periods lie close together."""
    few = len(group) // 8
    bulk = group[len(group) - few - 1 :] - group[: few + 1]
    return bool(bulk.min() <= NEAR and group[-1] - group[0] <= FAR)


def are_clusters(groups: list[np.ndarray], count: int) -> bool:
    """Whether ascending groups of phases, in periods, are tight and well apart."""
    if not 2 <= len(groups) <= max(2, count // 4) or max(map(len, groups)) < 2:
        return False
    within = max(float(np.diff(group).max(initial=0.0)) for group in groups)
    between = min(after[0] - before[-1] for before, after in zip(groups, groups[1:]))
    return between >= 2 * within and all(tight(group) for group in groups)


def best_front(periods: np.ndarray, place: np.ndarray, graph: csr_array | None) -> Front:
    """The straight line that fits best, over all orders."""
    orders = {NUMBER: place}
    if graph is not None and np.isfinite(periods).sum() > 1:
        ends = [int(np.nanargmax(periods)), int(np.nanargmin(periods))]
        hops = dijkstra(graph, directed=False, unweighted=True, indices=ends)
        hops[~np.isfinite(hops)] = np.nan
        for name, end, distance in zip((FROM_FIRST, FROM_LAST), ends, hops):
            distance[end] = np.nan  # the rank that the order was chosen by proves nothing
            orders[name] = distance
        if graph[0, -1] and len(periods) > 2:
            cut = int(np.nanargmax(np.abs(np.roll(periods, -1) - periods))) + 1
            orders[RING] = (place - cut) % len(periods)
    fronts = [front(name, periods, order, len(orders)) for name, order in orders.items()]
    return max(fronts, key=lambda found: -1.0 if np.isnan(found.fit) else found.fit)


def front(name: str, periods: np.ndarray, order: np.ndarray, tried: int) -> Front:
    """The straight line along one order; `tried` : among how many orders the best one is chosen."""
    slope, fit = line(periods[:, None], order)
    known = np.isfinite(periods) & np.isfinite(order)
    return Front(name, float(slope[0]), float(fit[0]), tried * chance(periods[known], order[known]))


def chance(periods: np.ndarray, order: np.ndarray) -> float:
    """How likely a random walk along the order gains as evenly as these phases (Student's t of the gains)."""
    places, at = np.unique(order, return_inverse=True)
    if len(places) < 3:
        return 1.0
    count = np.bincount(at)
    level = np.bincount(at, periods) / count
    stretch = np.arange(len(places)) * min(STRETCHES, len(places)) // len(places)
    size = np.bincount(stretch)
    gain = np.diff(np.bincount(stretch, level) / size) / np.diff(np.bincount(stretch, places) / size)
    deviation = gain.std(ddof=1)
    if deviation <= 1e-12 * np.abs(gain).max():
        return 0.0 if gain.any() else 1.0
    t = abs(gain.mean()) / deviation * np.sqrt(len(gain))
    return float(2 * stdtr(len(gain) - 1, -t))


def links(edges: Edges, n: int) -> csr_array:
    """The communication topology as a graph without directions (n, n)."""
    receiver, sender, _ = edge_arrays(edges, n)
    one_way = csr_array((np.ones(len(receiver)), (receiver, sender)), shape=(n, n))
    return csr_array(one_way + one_way.T)
