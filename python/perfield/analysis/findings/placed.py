# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks sit, as findings about the machine look at it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.observed import Observed
from perfield.topology import Node, Placement, machines_of, ranges, sharing

BUSY = 0.5  # of the CPU time of PUs
DISTURBED = 20.0  # involuntary switches per s of CPU time; with more, others take the PUs


def on_each_node(placement: Placement) -> Iterator[tuple[Node, np.ndarray]]:
    """Each node and its ranks."""
    by_node = np.argsort(placement.node_id, kind="stable")
    first = np.searchsorted(placement.node_id[by_node], np.arange(len(placement.nodes) + 1))
    for number, node in enumerate(placement.nodes):
        yield node, by_node[first[number] : first[number + 1]]


def hosts_of(placement: Placement, ranks: np.ndarray) -> tuple[str, ...]:
    """Labels of the nodes that the ranks sit on, each once, in the order of the ranks."""
    return tuple(dict.fromkeys(placement.nodes[node].label for node in placement.node_id[ranks].tolist()))


def part_of(placement: Placement, pu_id: np.ndarray, level: str) -> np.ndarray:
    """The part of a level that holds each PU. pu_id : (n_rows, n_ranks); returns float64 in its shape, NaN
    where unknown."""
    found = np.full(pu_id.shape, np.nan)
    machines, kind_of_node = machines_of(placement.nodes)
    kind = np.append(kind_of_node, -1)[placement.node_id]
    for at, machine in enumerate(machines):
        here = np.flatnonzero(kind == at)
        size = max([*machine.pus, 0]) + 1
        of_pu = np.full(size + 1, np.nan)
        for part in machine.level(level):
            of_pu[list(machine.pus[part.first : part.last])] = part.number
        pus = pu_id[:, here]
        valid = (pus >= 0) & (pus < size)
        found[:, here] = of_pu[np.where(valid, pus, size).astype(int)]
    return found


def crowded(placement: Placement) -> np.ndarray:
    """bool (n_ranks,), the ranks that share a core or are more than the PUs that they may run on."""
    found = np.zeros(placement.n_ranks, bool)
    found[sharing(placement).ranks] = True
    for _, on_core in shared_cores(placement):
        found[on_core] = True
    return found


def keep_busy(observed: Observed, ranks: np.ndarray) -> bool:
    """Whether ranks use half of the CPU time of the PUs that they may run on, or that is not known. If they
    use less and still wait for a PU, it is others that have it."""
    return not used_share(observed, ranks) < BUSY


def used_share(observed: Observed, ranks: np.ndarray, ready: bool = False) -> float:
    """The share that ranks use of the CPU time of the PUs that they may run on; NaN if it is not known.

    ready : the share that they would use if they never had to wait for a PU; above 1, they wait for one
    another.
    """
    placement = observed.placement
    here = np.isin(observed.ranks, ranks)
    user_s, system_s = (observed.of(name)[:, here] for name in ("cpu_user_time_s", "cpu_system_time_s"))
    used_s = float(np.nansum(user_s, dtype=float) + np.nansum(system_s, dtype=float))
    if placement is None or not len(ranks) or not np.isfinite(user_s).any():
        return np.nan
    pus = {
        (node, int(pu))
        for node, binding in zip(placement.node_id[ranks].tolist(), placement.binding[ranks].tolist())
        for pu in placement.bindings[binding]
    }
    if ready:
        used_s += float(np.nansum(observed.ready_s[:, here]))
    whole_s = len(pus) * observed.elapsed_s
    return used_s / whole_s if whole_s > 0 else np.nan


def shared_cores(placement: Placement) -> list[tuple[tuple[int, int], np.ndarray]]:
    """The cores to which several ranks are bound, as (node, core), and these ranks."""
    known = np.flatnonzero(np.isfinite(placement.core_id))
    where = np.stack([placement.node_id[known], placement.core_id[known].astype(int)], axis=1)
    cores, core, count = np.unique(where, axis=0, return_inverse=True, return_counts=True)
    core = core.ravel()
    return [
        ((int(cores[n, 0]), int(cores[n, 1])), known[core == n]) for n in np.flatnonzero(count > 1).tolist()
    ]


def disturbed(observed: Observed) -> np.ndarray:
    """bool (n_columns,), the ranks whose PUs others took often; also where nobody counted that."""
    taken, user, system = (
        np.nansum(observed.of(name), axis=0, dtype=float)
        for name in ("involuntary_switches", "cpu_user_time_s", "cpu_system_time_s")
    )
    counted = np.isfinite(observed.of("involuntary_switches")).any(axis=0)
    return ~counted | (taken > DISTURBED * (user + system))


def shorter_s(observed: Observed, extra: np.ndarray) -> float:
    """How much shorter steps would be if ranks computed less, at most: a step takes as long as the rank that
    computes longest. extra : s in the shape of the tables, at most the time outside of calls; NaN counts as
    0."""
    outside = np.nan_to_num(observed.outside_calls_s)
    less = outside - np.nan_to_num(extra)
    return float((outside.max(axis=1, initial=0.0) - less.max(axis=1, initial=0.0)).sum())


def elsewhere(more: int, what: str) -> str:
    """ " (the same on 2 more nodes)", or nothing."""
    return f" (the same on {more:,} more {what}{'s' if more > 1 else ''})" if more else ""


def rank_ranges(ranks: np.ndarray) -> str:
    """Ranks as ranges, cut where they are many: "ranks 0-3,8"."""
    text = f"rank{'s' if len(ranks) > 1 else ''} {ranges(ranks)}"
    return text if len(text) <= 40 else f"{text[:40].rpartition(',')[0]},... ({len(ranks):,} ranks)"


def times(count: int) -> str:
    """ "once", or "12 times"."""
    return "once" if count == 1 else f"{count:,} times"
