# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that exchange most with a rank on another node."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.sight import Sight, of_places
from perfield.analysis.observed import Observed
from perfield.text import in_bytes, in_percent, in_seconds
from perfield.topology import Placement

QUESTION = "Do ranks exchange most with ranks on other nodes?"
KINDS = ("far partners",)
NEEDS = ()
LIKES = ("step_time_s", "sent_bytes")
COSTLY = 5  # times what is worth reporting: much of such waiting may be for partners that are late


def find(observed: Observed, worth: float = WORTH_REPORTING) -> Iterator[Finding]:
    """Yields a finding about the ranks whose heaviest partner sits on another node.

    worth : a fifth of the least share of their steps in which they wait for these partners.
    """
    placement = observed.placement
    if placement is None:
        return
    pairs = _both_ways(observed.known_messages, placement)
    if not len(pairs["bytes"]):
        return
    node = placement.node_id
    apart = node[pairs["rank"]] != node[pairs["peer"]]
    n_ranks = placement.n_ranks
    near_best, far_best = np.zeros(n_ranks), np.zeros(n_ranks)
    np.maximum.at(near_best, pairs["rank"][~apart], pairs["bytes"][~apart])
    np.maximum.at(far_best, pairs["rank"][apart], pairs["bytes"][apart])
    ranks = np.flatnonzero(far_best > near_best)
    if not len(ranks):
        return
    heaviest = apart & (far_best > near_best)[pairs["rank"]] & (pairs["bytes"] == far_best[pairs["rank"]])
    waited = _time_of(observed.waits, pairs["rank"][heaviest], pairs["peer"][heaviest], n_ranks)
    share = waited / max(float(np.nansum(observed.by_rank("step_time_s")[:, ranks])), 1e-300)
    if share < COSTLY * worth:
        return
    low, high = np.minimum(pairs["rank"], pairs["peer"]), np.maximum(pairs["rank"], pairs["peer"])
    _, once = np.unique((low * n_ranks + high)[heaviest], return_index=True)
    n_steps = max(observed.n_program_steps, 1)
    size = float(pairs["bytes"][heaviest][once].sum())
    switch = placement.switches.of_node
    one, other = switch[node[pairs["rank"]]], switch[node[pairs["peer"]]]
    over = heaviest & (one != other) & (one >= 0) & (other >= 0)
    which = int(np.flatnonzero(heaviest)[np.argmax(pairs["bytes"][heaviest])])
    a, b = sorted((int(pairs["rank"][which]), int(pairs["peer"][which])))
    switches = f", {len(np.unique(pairs['rank'][over])):,} of these on another switch" if over.any() else ""
    cost = "No wait of this run is known to be for them."
    if waited > 0:
        cost = (
            f"They waited {in_seconds(waited)} for these partners ({in_percent(share)} of their steps); part "
            "of this may be due to late partners."
        )
    yield Finding(
        kind="far partners",
        words=f"{len(ranks):,} of {n_ranks:,} ranks exchange most with a rank on another node{switches}: "
        f"{in_bytes(size / n_steps)} per step go between them and these partners (most between ranks {a} and "
        f"{b}, {in_bytes(float(pairs['bytes'][which]) / n_steps)}). {cost}",
        saved_s=None,
        remedy="Give ranks that exchange much neighbouring places: `perfield placement RUN --rankfile FILE` "
        "proposes an order.",
        picture=Picture("message_matrix"),
        ranks=ranks,
        pairs=np.stack([pairs["rank"], pairs["peer"]], axis=1)[heaviest][once],
    )


def sees(observed: Observed) -> Sight:
    """Places are known exactly, where they are known."""
    return of_places(observed)


def _both_ways(messages: np.ndarray, placement: Placement) -> dict[str, np.ndarray]:
    """Bytes between a rank and each peer in both directions, for each of both ranks; only of known nodes."""
    source, target = messages["source"].astype(np.int64), messages["target"].astype(np.int64)
    good = (placement.node_id[source] >= 0) & (placement.node_id[target] >= 0) & (source != target)
    source, target, size = source[good], target[good], messages["bytes"][good].astype(np.float64)
    n_ranks = max(placement.n_ranks, 1)
    keys = np.concatenate([source * n_ranks + target, target * n_ranks + source])
    pairs, which = np.unique(keys, return_inverse=True)
    total = np.bincount(which.ravel(), np.concatenate([size, size]), minlength=len(pairs))
    return {"rank": pairs // n_ranks, "peer": pairs % n_ranks, "bytes": total}


def _time_of(waits: np.ndarray, rank: np.ndarray, peer: np.ndarray, n_ranks: int) -> float:
    """How long ranks waited for peers."""
    wanted = rank * n_ranks + peer
    known = waits[waits["peer"] >= 0]
    here = np.isin(known["rank"].astype(np.int64) * n_ranks + known["peer"], wanted)
    return float(known["time_s"][here].sum())
