# SPDX-License-Identifier: BSD-3-Clause
"""Names the state that ranks are in: synchronised, clusters, wavefront, disordered or partly known.

The rule takes unwrapped phases, in periods (steps), so whole steps between ranks count:

1. Partly known: fewer than half of the ranks, or fewer than two, have a phase.
2. Synchronised: the ranks are one tight group: 99 of 100 (of fewer ranks: all) lie within NEAR of one
   another, and all within FAR.
3. Clusters: cut at their largest gaps, the sorted phases fall into groups that are tight each. These gaps are
   at least CUT, and APART times any gap within a group. At most one group for four ranks counts, or two
   groups, or three of two ranks on average. Clusters come before one tight group that is wider than NEAR.
4. Wavefront: phases follow a straight line along the ranks' order with an R^2 of at least FIT, and gain more
   evenly from rank to rank than a random walk does with a probability of CHANCE.
5. Disordered: everything else.

The order is that of the ranks' numbers. Where that fails and the communication topology is given, three more
are tried: the distance, in messages, from the rank furthest ahead and from the one furthest behind; and a
ring's ranks from where it has its largest step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.special import stdtr

from perfield.studies.rhythm.model.blocks import Edges, blocks, checked, edge_arrays
from perfield.studies.rhythm.model.dataset import TURN
from perfield.studies.rhythm.model.entropy import entropy
from perfield.studies.rhythm.model.order import order_parameter
from perfield.studies.rhythm.model.spread import spread
from perfield.studies.rhythm.model.wavefront import line, places
from perfield.text import shortened

SYNCHRONISED, CLUSTERS, WAVEFRONT, DISORDERED = "synchronised", "clusters", "wavefront", "disordered"
PARTLY_KNOWN = "partly known"
STATES = (SYNCHRONISED, CLUSTERS, WAVEFRONT, DISORDERED, PARTLY_KNOWN)

NEAR, FAR, CUT = 0.2, 0.5, 0.05
"""Periods: how wide nearly all of a tight group is, and all of it; how far apart groups are at least."""
APART = 3.0
"""How many times the largest gap within groups the gaps between them are at least."""
FIT, CHANCE = 0.9, 0.01
STRETCHES = 16
"""Along how many stretches of the order the gain of a wavefront is tested."""
FEWEST_RANKS, FEWEST_DISTANCES = 3, 4
"""Places along a wavefront, at least. One late rank gives a line through the distances 0, 1 and 2 from it."""

NUMBER, FROM_FIRST, FROM_LAST, RING = "rank", "distance from the first", "distance from the last", "ring"
BEFORE = {
    NUMBER: "the one before it",
    RING: "the one before it",
    FROM_FIRST: "those one message nearer to the rank furthest ahead",
    FROM_LAST: "those one message nearer to the rank furthest behind",
}


@dataclass(frozen=True)
class Front:
    """A straight line through phases: its order, slope in periods per rank, R^2; whether it is no chance."""

    order: str
    slope: float
    fit: float
    is_one: bool


def state(phase: xr.DataArray, edges: Edges | None = None, position: np.ndarray | None = None) -> xr.Dataset:
    """The name of the state at each instant, and the numbers that it follows from.

    edges : the communication topology, if known. position : where each rank is, instead of its number.
    Returns, of dimension time: `state` (one of STATES); `spread` in periods; `order_parameter` and `entropy`
    (relative), which do not see whole steps; `groups`, the number of tight groups (0 if there are none), and
    `members`, their sizes from the group furthest behind, such as "17 + 1"; `slope` in periods per rank (per
    message, where `order` is a distance), `fit` (R^2) and `order` of the straight line that was fitted;
    `known`, the number of ranks with a phase. `in_words` makes a sentence of one instant.
    """
    whole = checked(phase)
    n = whole.sizes["oscillator"]
    graph = None if edges is None else links(edges, n)
    place = places(whole, position)
    names, groups, fronts = [], [], []
    for _, block in blocks(whole):
        steps = block / TURN
        for periods, slope, fit in zip(np.ascontiguousarray(steps.T), *line(steps, place)):
            name, sizes, found = named(periods, place, graph, (slope, fit))
            names.append(name)
            groups.append(sizes)
            fronts.append(found)
    columns = {
        "state": (names, "", "state"),
        "groups": ([len(sizes) for sizes in groups], "1", "tight groups of ranks"),
        "members": ([" + ".join(map(str, sizes)) for sizes in groups], "", "ranks of each group"),
        "slope": ([found.slope for found in fronts], "periods/rank", "phase gained from rank to rank"),
        "fit": ([found.fit for found in fronts], "1", "share of the variance that a line explains"),
        "order": ([found.order for found in fronts], "", "what the line runs along"),
    }
    columns |= {"known": (whole.notnull().sum("oscillator").values, "1", "ranks with a phase")}
    variables = {
        name: (
            "time",
            np.array(values),
            {"units": units, "long_name": text} if units else {"long_name": text},
        )
        for name, (values, units, text) in columns.items()
    }
    variables |= {"spread": spread(whole), "order_parameter": order_parameter(whole)}
    variables["entropy"] = entropy(whole, relative=True).drop_vars("bins")
    times = {"time": whole["time"]} if "time" in whole.coords else {}
    result = xr.Dataset(variables, times, {"ranks": n})
    return result if "time" in phase.dims else result.isel(time=0)


def in_words(found: xr.Dataset, most: float | None = None) -> str:
    """A sentence on one instant of what `state` returns. most : the largest spread, in periods, of the time
    for which that instant is typical."""
    name, known, ranks = str(found["state"].values), int(found["known"]), int(found.attrs["ranks"])
    apart, r = float(found["spread"]), float(found["order_parameter"])
    who = f"{ranks} ranks" if known == ranks else f"{known} of {ranks} ranks"
    distance = in_steps(apart)
    if most is not None and in_steps(most) != distance:
        distance = f"typically {distance}, at most {in_steps(most)}"
    if name == PARTLY_KNOWN:
        return f"The state is unknown: {known} of {ranks} ranks have a phase."
    if name == SYNCHRONISED:
        text = f"{who} are synchronised: the furthest two are {distance} apart"
    elif name == CLUSTERS:
        sizes = shortened(str(found["members"].values), 40)
        text = f"{who} are {int(found['groups'])} clusters ({sizes}) over {distance}"
    elif name == WAVEFRONT:
        slope, order = float(found["slope"]), str(found["order"].values)
        side = "ahead of" if slope > 0 else "behind"
        text = (
            f"{who} are a wavefront: each is {in_steps(abs(slope))} {side} {BEFORE[order]}"
            f" (fit {float(found['fit']):.2f}), {distance} in all"
        )
    else:
        text = f"{who} are disordered over {distance}"
    blind = " does not see the whole steps between them" if apart > 0.9 and r > 0.9 else ""
    return f"{text}; R = {r:.2f}{blind}."


def in_steps(periods: float) -> str:
    """A phase difference that is not negative: "0.25 step", "3.2 steps"; at least "0.001 step"."""
    number = f"{max(periods, 0.001):.2g}" if periods < 99.5 else f"{periods:,.0f}"
    return f"{number} step{'' if float(number.replace(',', '')) <= 1 else 's'}"


def named(
    periods: np.ndarray, place: np.ndarray, graph: csr_array | None, through: tuple[float, float]
) -> tuple[str, list[int], Front]:
    """Name, sizes of the groups (from behind) and best line of one instant; periods : (oscillator,).

    through : slope and fit of the line along `place`.
    """
    known = np.isfinite(periods)
    count = int(known.sum())
    by_number = front(NUMBER, periods, place, 1, through)
    if count < 2 or 2 * count < len(periods):
        return PARTLY_KNOWN, [], by_number
    ascending = np.sort(periods[known])
    groups = [count] if ascending[-1] - ascending[0] <= NEAR else sizes_of_clusters(ascending)
    if len(groups) > 1:
        return CLUSTERS, groups, by_number
    if groups or tight(ascending):
        return SYNCHRONISED, [count], by_number
    fronts = [by_number] if by_number.is_one or graph is None else [by_number, *others(periods, place, graph)]
    for found in fronts:
        if found.is_one:
            return WAVEFRONT, [], found
    return DISORDERED, [], by_number


def tight(group: np.ndarray) -> bool:
    """Whether ascending phases in periods lie close together."""
    few = len(group) // 100
    bulk = group[len(group) - few - 1 :] - group[: few + 1]
    return bool(bulk.min() <= NEAR and group[-1] - group[0] <= FAR)


def sizes_of_clusters(ascending: np.ndarray) -> list[int]:
    """Sizes of the tight groups into which ascending phases, in periods, fall; none if not well apart."""
    count = len(ascending)
    gaps = np.diff(ascending)
    largest = np.argsort(-gaps, kind="stable")
    widths = np.append(gaps[largest], 0.0)
    most = max(min(2, count - 1), min(3, count // 2), count // 4)
    for groups in range(2, most + 1):
        if widths[groups - 2] < CUT:
            break
        if widths[groups - 2] >= APART * widths[groups - 1]:
            parts = np.split(ascending, np.sort(largest[: groups - 1]) + 1)
            if all(tight(part) for part in parts):
                return [len(part) for part in parts]
    return []


def others(periods: np.ndarray, place: np.ndarray, graph: csr_array) -> list[Front]:
    """The straight lines along orders that the communication topology gives."""
    ends = [int(np.nanargmax(periods)), int(np.nanargmin(periods))]
    hops = dijkstra(graph, directed=False, unweighted=True, indices=ends)
    hops[~np.isfinite(hops)] = np.nan
    orders = dict(zip((FROM_FIRST, FROM_LAST), hops))
    if graph[0, -1]:
        steps = np.abs(np.roll(periods, -1) - periods)
        if np.isfinite(steps).any():
            orders[RING] = (place - int(np.nanargmax(steps)) - 1) % len(periods)
    return [front(name, periods, order, len(orders)) for name, order in orders.items()]


def front(
    name: str,
    periods: np.ndarray,
    order: np.ndarray,
    tried: int,
    through: tuple[float, float] | None = None,
) -> Front:
    """The straight line along one order, of as many as are `tried`. through : its slope and fit, if known."""
    slope, fit = through or (value[0] for value in line(periods[:, None], order))
    is_one = False
    if fit >= FIT:
        known = np.isfinite(periods) & np.isfinite(order)
        fewest = FEWEST_RANKS if name == NUMBER else FEWEST_DISTANCES
        is_one = (
            len(np.unique(order[known])) >= fewest and tried * chance(periods[known], order[known]) <= CHANCE
        )
    return Front(name, float(slope), float(fit), is_one)


def chance(periods: np.ndarray, order: np.ndarray) -> float:
    """How likely a random walk along the order gains as evenly as these phases do (Student's t of the gains).

    The mean phases of STRETCHES equal stretches of the order count, or each place's if there are fewer.
    """
    places, at = np.unique(order, return_inverse=True)
    level = np.bincount(at, periods) / np.bincount(at)
    stretch = np.arange(len(places)) * min(STRETCHES, len(places)) // len(places)
    size = np.bincount(stretch)
    gain = np.diff(np.bincount(stretch, level) / size) / np.diff(np.bincount(stretch, places) / size)
    deviation = float(gain.std(ddof=1))
    if deviation <= 1e-9 * np.abs(gain).max():
        return 0.0 if gain.any() else 1.0
    # Means of m places each make the gains of a random walk resemble those beside them.
    m = len(places) / len(size)
    alike = 3 * m**2 / (2 * m**2 + 1)
    t = float(np.abs(gain.mean())) / deviation * np.sqrt(len(gain) / alike)
    return float(2 * stdtr(len(gain) - 1, -t))


def links(edges: Edges, n: int) -> csr_array:
    """The communication topology as a graph without directions (n, n)."""
    receiver, sender, _ = edge_arrays(edges, n)
    one_way = csr_array((np.ones(len(receiver)), (receiver, sender)), shape=(n, n))
    return csr_array(one_way + one_way.T)
