# SPDX-License-Identifier: BSD-3-Clause
"""What hurts in the placement of a run, each with its cost where the run shows one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from perfield.analysis.words import in_bytes, in_seconds
from perfield.topology import Node, Placement, UsedDevices, machines_of, ranges, sharing

CHANCE = 0.01  # a slowdown that chance gives more often is no cost
NO_COST = "this run does not show its cost"
_NO_PAIRS = np.zeros(0, [("source", "i4"), ("target", "i4"), ("bytes", "u8")])
_NO_WAITS = np.zeros(0, [("rank", "i4"), ("peer", "i4"), ("time_s", "f8")])


@dataclass(frozen=True)
class Finding:
    """Something that hurts.

    kind : "one package", "shared core", "shared PU", "far device", "moved", "threads moved", "threads", "far
    partners". ranks : int64, those it is about. words : a sentence without its full stop. cost_s : seconds,
    added up over these ranks; None if the run shows no cost. cost : the cost in words, or why none is known.
    """

    kind: str
    ranks: np.ndarray
    words: str
    cost_s: float | None = None
    cost: str = NO_COST


@dataclass(frozen=True)
class Observed:
    """What a run measured that tells of the cost of its placement; the first axis of 2-D arrays is the frame.

    n_steps : how many steps the frames hold. pu_id, step_s, compute_s, cpu_s : float (n_frames, n_ranks); the
    PU (the operating system's number), the step's time, compute time, and CPU time of all threads in s; NaN
    where unknown. switches, thread_moves, n_threads : float (n_ranks,), involuntary switches, how often
    threads moved to other PUs, and the most threads in one region; NaN where not counted. messages :
    structured `source target bytes`. waits : structured `rank peer time_s`. Sums of all frames.
    """

    n_steps: int
    pu_id: np.ndarray
    step_s: np.ndarray
    compute_s: np.ndarray
    cpu_s: np.ndarray
    switches: np.ndarray
    thread_moves: np.ndarray
    n_threads: np.ndarray
    messages: np.ndarray = field(default_factory=lambda: _NO_PAIRS)
    waits: np.ndarray = field(default_factory=lambda: _NO_WAITS)


def placement_warnings(
    placement: Placement, observed: Observed | None = None, devices: UsedDevices | None = None
) -> list[Finding]:
    """What hurts, the dearest first.

    observed : None without a run; then what can be told from the places alone. devices : those that the ranks
    used, None if unknown.
    """
    found = [*_one_package(placement), *_shared(placement, observed)]
    if devices is not None:
        found += _far_devices(placement, devices)
    if observed is not None:
        found += [*_moved(placement, observed), *_threads(placement, observed)]
        found += _far_partners(placement, observed)
    return sorted(found, key=lambda warning: -(warning.cost_s or 0.0))


def _one_package(placement: Placement) -> Iterator[Finding]:
    on_nodes = []
    for node, ranks in _on_each_node(placement):
        packages = [part.number for part in node.machine.level("package")]
        held = placement.package_id[ranks]
        if len(ranks) < 2 or np.isnan(held).any():
            continue
        empty = sorted(set(packages) - set(held.astype(int).tolist()))
        if empty and len(set(held.tolist())) < len(ranks):
            on_nodes.append((node, ranks, np.unique(held).astype(int), empty))
    if on_nodes:
        node, ranks, full, empty = on_nodes[0]
        words = (
            f"ranks {ranges(ranks)} are packed on package {ranges(full)} of {node.label} while package "
            f"{ranges(empty)} is empty{_elsewhere(len(on_nodes) - 1, 'node')}: they share one package's "
            "caches and memory bandwidth"
        )
        yield Finding("one package", np.concatenate([ranks for _, ranks, _, _ in on_nodes]), words)


def _shared(placement: Placement, observed: Observed | None) -> Iterator[Finding]:
    """Cores and PUs that several ranks share; ranks that share both are told of once."""
    crowded = sharing(placement)
    on_cores, words = _on_shared_cores(placement)
    if len(on_cores):
        cost = _without_pu(observed, np.intersect1d(on_cores, crowded.ranks))
        yield Finding("shared core", on_cores, words, *cost)
    if len(np.setdiff1d(crowded.ranks, on_cores)):
        yield Finding("shared PU", crowded.ranks, crowded.words, *_without_pu(observed, crowded.ranks))


def _on_shared_cores(placement: Placement) -> tuple[np.ndarray, str]:
    """The ranks that are bound to a core with another rank, and where the first of them are."""
    known = np.flatnonzero(np.isfinite(placement.core_id))
    where = np.stack([placement.node_id[known], placement.core_id[known].astype(int)], axis=1)
    cores, core, count = np.unique(where, axis=0, return_inverse=True, return_counts=True)
    shared = known[count[core.ravel()] > 1]
    if not len(shared):
        return shared, ""
    first = int(np.flatnonzero(count > 1)[0])
    node = placement.nodes[cores[first, 0]]
    n_free = len(node.machine.level("core")) - int((cores[:, 0] == cores[first, 0]).sum())
    free = f"; cores there without a rank: {n_free}" if n_free > 0 else ""
    words = (
        f"ranks {ranges(known[core.ravel() == first])} share one core, {cores[first, 1]} of "
        f"{node.label}{_elsewhere(int((count > 1).sum()) - 1, 'core')}{free}"
    )
    return shared, words


def _without_pu(observed: Observed | None, ranks: np.ndarray) -> tuple[float | None, str]:
    """For how long ranks computed without a PU: at least compute time minus all CPU time of each step.

    Step time minus CPU time is all time without a PU. It is no cost where a rank waits in MPI and leaves its
    PU to others, so it is only told.
    """
    if observed is None or not len(ranks):
        return None, NO_COST
    step_s, cpu_s, compute_s = (
        each[:, ranks] for each in (observed.step_s, observed.cpu_s, observed.compute_s)
    )
    without = float(np.nansum(np.clip(step_s - cpu_s, 0, None)))
    taken = observed.switches[ranks]
    if without <= 0 or not (taken > 0).any():
        return None, NO_COST
    share = without / float(np.nansum(step_s))
    words = (
        f"a PU was taken from them {_times(int(np.nansum(taken)))}, and they had none for "
        f"{in_seconds(without)} ({share:.0%}) of their steps, waiting in MPI included"
    )
    least = float(np.nansum(np.clip(compute_s - cpu_s, 0, None)))
    if least <= 0:
        return None, f"{words}; how much of this delayed computing is not known"
    return least, f"at least {in_seconds(least)} of computing without a PU: {words}"


def _far_devices(placement: Placement, used: UsedDevices) -> Iterator[Finding]:
    """Ranks whose PUs have nothing in common with those near a device that they use."""
    near = np.array([(device.first, device.last) for device in used.device], np.int64).reshape(-1, 2)[
        used.user
    ]
    far = (placement.last[used.rank] <= near[:, 0]) | (near[:, 1] <= placement.first[used.rank])
    if far.any():
        ranks = np.unique(used.rank[far])
        first = int(np.flatnonzero(far)[0])
        device, rank = int(used.user[first]), int(used.rank[first])
        words = (
            f"{_ranges(ranks)} used a device that is nearer to other PUs: rank {rank} used "
            f"{used.name[device]} of {placement.nodes[used.node[device]].label}"
        )
        yield Finding("far device", ranks, words)


def _moved(placement: Placement, observed: Observed) -> Iterator[Finding]:
    core, numa, package = (
        _part_of(placement, observed.pu_id, level) for level in ("core", "numa", "package")
    )
    moves = _changes(core)
    movers = np.flatnonzero(moves.any(axis=0))
    if not len(movers):
        return
    between = [
        f"{int(changes.sum()):,} of them between {name}"
        for changes, name in ((_changes(package), "packages"), (_changes(numa), "NUMA domains"))
        if changes.any()
    ]
    behind = "; memory that they touched before stays in the other domain" if _changes(numa).any() else ""
    words = (
        f"{_ranges(movers)} moved between cores, {_times(int(moves.sum()))} in "
        + f"{observed.n_steps:,} steps"
        + "".join(f", {text}" for text in between)
        + behind
    )
    cost_s, cost = _cost_of_moves(observed.compute_s, moves)
    yield Finding("moved", movers, words, cost_s, cost)


def _cost_of_moves(compute_s: np.ndarray, moves: np.ndarray) -> tuple[float | None, str]:
    """Compute time of steps after which a rank sat elsewhere, beyond the median of its other steps."""
    from scipy.stats import mannwhitneyu

    has_moved = np.zeros(compute_s.shape, bool)
    has_moved[1:] = moves
    stayed = np.where(has_moved, np.nan, compute_s)
    usable = np.isfinite(stayed).sum(axis=0) >= 3
    if not (has_moved & np.isfinite(compute_s))[:, usable].any():
        return None, "too few steps to tell its cost"
    usual = np.nanmedian(stayed[:, usable], axis=0)
    beyond = compute_s[:, usable] - usual
    relative = beyond / np.where(usual > 0, usual, 1.0)
    with_move, without = (
        relative[chosen & np.isfinite(relative)] for chosen in (has_moved[:, usable], ~has_moved[:, usable])
    )
    if mannwhitneyu(with_move, without, alternative="greater").pvalue > CHANCE:
        return None, "steps with a move were not longer than others, beyond chance"
    extra = float(np.nansum(beyond[has_moved[:, usable]]))
    if extra <= 0:
        return None, "steps with a move were not longer than others"
    n_moves = int((has_moved & np.isfinite(compute_s))[:, usable].sum())
    steps = "the step with a move" if n_moves == 1 else f"the {n_moves:,} steps with a move together"
    return extra, f"{steps} computed {in_seconds(extra)} longer than median steps without"


def _threads(placement: Placement, observed: Observed) -> Iterator[Finding]:
    movers = np.flatnonzero(observed.thread_moves > 0)
    if len(movers):
        total = int(observed.thread_moves[movers].sum())
        yield Finding(
            "threads moved",
            movers,
            f"threads of {_ranges(movers)} moved to another PU, {_times(total)}",
        )
    bound = (placement.n_pus > 0) & (observed.n_threads > placement.n_pus)
    many = np.flatnonzero(bound)
    if len(many):
        worst = many[np.argmax(observed.n_threads[many] / placement.n_pus[many])]
        pus = "1 PU" if placement.n_pus[worst] == 1 else f"{placement.n_pus[worst]} PUs"
        yield Finding(
            "threads",
            many,
            f"{_ranges(many)}: more threads than PUs (rank {worst}: {int(observed.n_threads[worst])} threads "
            f"in one region, {pus})",
        )


def _far_partners(placement: Placement, observed: Observed) -> Iterator[Finding]:
    pairs = _both_ways(observed.messages, placement)
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
    low, high = np.minimum(pairs["rank"], pairs["peer"]), np.maximum(pairs["rank"], pairs["peer"])
    _, once = np.unique((low * n_ranks + high)[heaviest], return_index=True)
    n_steps = max(observed.n_steps, 1)
    size = float(pairs["bytes"][heaviest][once].sum())
    switch = placement.switches.of_node
    one, other = switch[node[pairs["rank"]]], switch[node[pairs["peer"]]]
    over = heaviest & (one != other) & (one >= 0) & (other >= 0)
    which = int(np.flatnonzero(heaviest)[np.argmax(pairs["bytes"][heaviest])])
    a, b = sorted((int(pairs["rank"][which]), int(pairs["peer"][which])))
    switches = f", {len(np.unique(pairs['rank'][over])):,} of these on another switch" if over.any() else ""
    words = (
        f"{len(ranks):,} of {n_ranks:,} ranks exchange most with a rank on another node{switches}: "
        f"{in_bytes(size / n_steps)} per step go between them and these partners (most between ranks {a} and "
        f"{b}, {in_bytes(float(pairs['bytes'][which]) / n_steps)})"
    )
    waited = _time_of(observed.waits, pairs["rank"][heaviest], pairs["peer"][heaviest], n_ranks)
    if waited <= 0:
        yield Finding("far partners", ranks, words, None, "no wait of this run tells that it was for them")
        return
    share = waited / max(float(np.nansum(observed.step_s[:, ranks])), 1e-300)
    cost = (
        f"they waited {in_seconds(waited)} for these partners ({share:.1%} of their steps); part of this "
        "may be due to late partners"
    )
    yield Finding("far partners", ranks, words, waited, cost)


def _both_ways(messages: np.ndarray, placement: Placement) -> dict[str, np.ndarray]:
    """Bytes between a rank and each peer in both directions, for each of both ranks; only of known nodes."""
    source, target = messages["source"].astype(np.int64), messages["target"].astype(np.int64)
    good = (source >= 0) & (target >= 0) & (source != target)
    source, target, size = source[good], target[good], messages["bytes"][good].astype(np.float64)
    good = (placement.node_id[source] >= 0) & (placement.node_id[target] >= 0)
    source, target, size = source[good], target[good], size[good]
    n_ranks = max(placement.n_ranks, 1)
    keys = np.concatenate([source * n_ranks + target, target * n_ranks + source])
    pairs, which = np.unique(keys, return_inverse=True)
    total = np.bincount(which, np.concatenate([size, size]), minlength=len(pairs))
    return {"rank": pairs // n_ranks, "peer": pairs % n_ranks, "bytes": total}


def _time_of(waits: np.ndarray, rank: np.ndarray, peer: np.ndarray, n_ranks: int) -> float:
    """How long ranks waited for peers."""
    wanted = rank * n_ranks + peer
    known = waits[waits["peer"] >= 0]
    here = np.isin(known["rank"].astype(np.int64) * n_ranks + known["peer"], wanted)
    return float(known["time_s"][here].sum())


def _part_of(placement: Placement, pu_id: np.ndarray, level: str) -> np.ndarray:
    """The part of a level that holds each PU, float64 in its shape; NaN where unknown."""
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


def _on_each_node(placement: Placement) -> Iterator[tuple[Node, np.ndarray]]:
    """Each node and its ranks."""
    by_node = np.argsort(placement.node_id, kind="stable")
    first = np.searchsorted(placement.node_id[by_node], np.arange(len(placement.nodes) + 1))
    for number, node in enumerate(placement.nodes):
        yield node, by_node[first[number] : first[number + 1]]


def _changes(part: np.ndarray) -> np.ndarray:
    """(n_frames - 1, n_ranks) whether the part differs from that of the frame before."""
    return (part[1:] != part[:-1]) & np.isfinite(part[1:]) & np.isfinite(part[:-1])


def _elsewhere(more: int, what: str) -> str:
    return f" (the same on {more:,} more {what}{'s' if more > 1 else ''})" if more else ""


def _ranges(ranks: np.ndarray) -> str:
    text = f"rank{'s' if len(ranks) > 1 else ''} {ranges(ranks)}"
    return text if len(text) <= 40 else f"{text[:40].rpartition(',')[0]},... ({len(ranks):,} ranks)"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
