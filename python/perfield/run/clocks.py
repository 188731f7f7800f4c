# SPDX-License-Identifier: BSD-3-Clause
"""Puts the stamps of all ranks on one clock, and says how sure that is. docs/stream.md has the entries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfield.text import in_seconds
from perfield.topology import UNKNOWN_BOOT

PAIR_S = 1e-6  # a stamp counts from a pair of clocks that is read within this time
NO_TIME = np.iinfo(np.int64).min  # a stamp that is not known
NODE, EXCHANGE, REALTIME, TRACE, UNKNOWN = "same node", "exchange", "realtime", "trace", "unknown"


@dataclass(frozen=True)
class _NodeClock:
    """How a node's CLOCK_MONOTONIC becomes that of the reference's node; times in ns.

    A time m becomes m + offset + drift * (m - at); unsure by `error`, plus `wander` times the distance of m
    to the nearest time of `compared`. Drift and wander are shares.
    """

    method: str
    offset: int = 0
    drift: float = 0.0
    at: int = 0
    error: float = 0.0
    wander: float = 0.0
    compared: tuple[int, ...] = ()


class Clocks:
    """The clocks of a run's ranks.

    The common clock is CLOCK_MONOTONIC of one node, counted from the first rank's stamp 0. Nodes that
    compared clocks by messages follow it by that (method "exchange"). Others follow by their CLOCK_REALTIME
    ("realtime"), as exactly as their kernels say. Imported runs count from one moment ("trace"). "unknown": a
    rank that never checked in.
    """

    def __init__(
        self,
        rank_entries: Sequence[Mapping[str, Any] | None],
        clock_entries: Sequence[tuple[int, Mapping[str, Any]]] = (),
    ):
        """rank_entries : of each rank, None if it never checked in. clock_entries : (writing rank, body)."""
        n_ranks = len(rank_entries)
        nodes = [_node(entry) for entry in rank_entries]
        compared, self.reference_rank = _compared(clock_entries, nodes)
        known = [rank for rank in range(n_ranks) if nodes[rank] is not None]
        if self.reference_rank is None and known:
            self.reference_rank = known[0]
        first: dict[str, Mapping[str, Any]] = {}
        for rank in known:
            first.setdefault(nodes[rank], rank_entries[rank])
        home = None if self.reference_rank is None else nodes[self.reference_rank]
        clocks = {
            node: _NodeClock(NODE) if node == home else compared.get(node) or _by_realtime(entry, first[home])
            for node, entry in first.items()
        }
        self._monotonic = [0] * n_ranks
        self._clock = [_NodeClock(UNKNOWN, error=math.nan)] * n_ranks
        for rank in known:
            entry = rank_entries[rank]
            if "monotonic_ns" in entry:
                self._monotonic[rank] = entry["monotonic_ns"]
                self._clock[rank] = clocks[nodes[rank]]
            elif "realtime_ns" in entry:
                self._monotonic[rank] = entry["realtime_ns"]
                self._clock[rank] = _NodeClock(TRACE, error=math.nan)
        self.host = [(entry or {}).get("host", "") for entry in rank_entries]
        self.node = nodes
        self._shift = self._shifts()
        self._drift, self._error, self._wander = (
            np.array([getattr(clock, name) for clock in self._clock], dtype=np.float64)
            for name in ("drift", "error", "wander")
        )
        self._at = np.array(self._monotonic, dtype=np.float64)  # stamp 0
        most = max((len(clock.compared) for clock in self._clock), default=0)
        self._compared = np.full((n_ranks, most), np.inf)
        for rank, clock in enumerate(self._clock):
            self._compared[rank, : len(clock.compared)] = clock.compared

    @property
    def methods(self) -> list[str]:
        """How each rank's stamps are put on the common clock."""
        return [clock.method for clock in self._clock]

    def common_s(self, ranks: np.ndarray, stamps_ns: np.ndarray) -> np.ndarray:
        """Stamps on the common clock: seconds since the first rank's stamp 0; NaN where that is unknown.

        ranks, stamps_ns : of the same length; a stamp counts from its rank's stamp 0.
        """
        ranks = np.asarray(ranks, dtype=np.int64)
        stamps = np.asarray(stamps_ns).astype(np.float64)
        return (stamps * (1.0 + self._drift[ranks]) + self._shift[ranks]) * 1e-9

    def common_ns(self, ranks: np.ndarray, stamps_ns: np.ndarray) -> np.ndarray:
        """The same as whole nanoseconds, int64, for stamps that are compared; NO_TIME where unknown.

        ranks : int64 (n,). stamps_ns : int64 (n,), or NO_TIME.
        """
        shift, drift = self._shift[ranks], self._drift[ranks]
        known = np.isfinite(shift) & (stamps_ns != NO_TIME)
        whole = np.where(known, shift, 0.0).astype(np.int64) + stamps_ns
        if drift.any():
            whole += np.where(known, np.rint(stamps_ns * drift), 0.0).astype(np.int64)
        return whole if known.all() else np.where(known, whole, NO_TIME)

    def shift_and_drift(self, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of ranks: t + shift + drift * t is a stamp t on the common clock in ns; NaN where unknown."""
        return self._shift[ranks], self._drift[ranks]

    @property
    def nodes(self) -> np.ndarray:
        """(n_ranks,) int64, equal where ranks share a node's clock; of its own where nothing is known."""
        number: dict[str, int] = {}
        return np.array(
            [
                -1 - rank if name is None else number.setdefault(name, len(number))
                for rank, name in enumerate(self.node)
            ],
            dtype=np.int64,
        )

    def uncertainty_s(self, ranks: np.ndarray, stamps_ns: np.ndarray) -> np.ndarray:
        """The largest error of `common_s` against the clock of the reference's node; NaN: unknown."""
        ranks = np.asarray(ranks, dtype=np.int64)
        times = self._at[ranks] + np.asarray(stamps_ns, dtype=np.float64)
        far = np.abs(times[:, np.newaxis] - self._compared[ranks]).min(axis=1, initial=np.inf)
        far[~np.isfinite(far)] = 0.0  # never compared: the error is the same at all times
        return PAIR_S + (self._error[ranks] + self._wander[ranks] * far) * 1e-9

    def largest_uncertainty_s(self, last_ns: np.ndarray) -> np.ndarray:
        """(n_ranks,) the largest `uncertainty_s` of each rank from its stamp 0 to last_ns[rank]."""
        ranks = np.arange(len(self._clock))
        last = np.asarray(last_ns, dtype=np.float64)
        found = np.maximum(self.uncertainty_s(ranks, np.zeros(len(ranks))), self.uncertainty_s(ranks, last))
        between = (self._compared[:, 1:] + self._compared[:, :-1]) / 2 - self._at[:, np.newaxis]
        for stamps in between.T:  # halfway between two comparisons
            inside = (stamps > 0) & (stamps < last)  # False for inf and NaN
            found[inside] = np.maximum(found, self.uncertainty_s(ranks, np.where(inside, stamps, 0)))[inside]
        return found

    def rows(self, last_ns: np.ndarray) -> dict[str, Any]:
        """Columns of `perfield.Run.clocks`. last_ns : (n_ranks,) the last stamp of each rank."""
        ahead = [
            math.nan if clock.method in (TRACE, UNKNOWN) else clock.offset + clock.drift * (at - clock.at)
            for clock, at in zip(self._clock, self._monotonic)
        ]
        ranks = np.arange(len(self._clock))
        return {
            "host": np.array(self.host, dtype=object),
            "method": np.array(self.methods, dtype=object),
            "start_s": self.common_s(ranks, np.zeros(len(ranks))),
            "offset_s": np.array(ahead, dtype=np.float64) * 1e-9,
            "drift_ppb": self._drift * 1e9,
            "uncertainty_s": self.largest_uncertainty_s(last_ns),
        }

    def _shifts(self) -> np.ndarray:
        """(n_ranks,) stamp 0 of each rank on the common clock in ns, NaN where unknown."""
        zero = [
            None if clock.method == UNKNOWN else at + clock.offset + round(clock.drift * (at - clock.at))
            for clock, at in zip(self._clock, self._monotonic)
        ]
        first = min((at for at in zero if at is not None), default=0)
        return np.array([math.nan if at is None else at - first for at in zero], dtype=np.float64)


def in_words(clocks: Clocks, last_ns: np.ndarray) -> str:
    """How well the clocks of several nodes agree: "3 nodes agree with node a within 3 µs (exchange)"; "" for
    one node, and for imported runs.

    last_ns : (n_ranks,) the last stamp of each rank.
    """
    worst: dict[tuple[str, bool], dict[str, float]] = {}
    largest = clocks.largest_uncertainty_s(last_ns).tolist()
    for node, method, error in zip(clocks.node, clocks.methods, largest):
        if method in (EXCHANGE, REALTIME):
            of_node = worst.setdefault((method, error == error), {})
            of_node[node] = max(of_node.get(node, 0.0), error)
    parts = []
    for (method, is_known), of_node in sorted(worst.items(), key=lambda item: (item[0][0], not item[0][1])):
        who = "1 node agrees" if len(of_node) == 1 else f"{len(of_node)} nodes agree"
        whom = f"{who} with {clocks.host[clocks.reference_rank]}"
        how = "exchange" if method == EXCHANGE else "CLOCK_REALTIME"
        if is_known:
            parts.append(f"{whom} within {in_seconds(max(of_node.values()))} ({how})")
        else:
            parts.append(f"{whom} by {how}, which nothing synchronises there: how well is unknown")
    return "; ".join(parts)


def _compared(
    entries: Sequence[tuple[int, Mapping[str, Any]]], nodes: Sequence[str | None]
) -> tuple[dict[str, _NodeClock], int | None]:
    """The clock of each node by its newest `clock` entry, and the rank whose node they refer to."""
    newest: dict[str, tuple[int, _NodeClock]] = {}
    references: list[int] = []
    for rank, body in entries:
        reference = body.get("reference_rank")
        if not 0 <= rank < len(nodes) or nodes[rank] is None or reference is None:
            continue
        if not 0 <= reference < len(nodes) or nodes[reference] is None:
            continue
        clock = _read(body)
        if clock is None:
            continue
        references.append(reference)
        last = newest.get(nodes[rank])
        if last is None or max(clock.compared) >= max(last[1].compared):
            newest[nodes[rank]] = reference, clock
    if not references:
        return {}, None
    homes = [nodes[reference] for reference in references]
    home = max(dict.fromkeys(homes), key=homes.count)
    found = {node: clock for node, (reference, clock) in newest.items() if nodes[reference] == home}
    return found, min(reference for reference in references if nodes[reference] == home)


def _read(body: Mapping[str, Any]) -> _NodeClock | None:
    """The clock that an entry describes; None if it lacks a part."""
    names = ("offset_ns", "drift_ppb", "round_trip_ns", "wander_ppb", "monotonic_ns", "compared_ns")
    if not all(name in body for name in names) or not body["compared_ns"]:
        return None
    offset, drift, round_trip, wander, at, compared = (body[name] for name in names)
    return _NodeClock(
        EXCHANGE, round(offset), drift * 1e-9, at, round_trip / 2, wander * 1e-9, tuple(sorted(compared))
    )


def _by_realtime(entry: Mapping[str, Any], home: Mapping[str, Any]) -> _NodeClock:
    """The clock of a node without a comparison, by CLOCK_REALTIME there and on the reference's node."""
    clocks = [body.get(name) for body in (entry, home) for name in ("monotonic_ns", "realtime_ns")]
    if any(clock is None for clock in clocks):
        return _NodeClock(UNKNOWN, error=math.nan)
    monotonic, realtime, home_monotonic, home_realtime = clocks
    errors = [body.get("realtime_error_ns", -1) for body in (entry, home)]
    known = min(errors) >= 0
    offset = (realtime - monotonic) - (home_realtime - home_monotonic)
    return _NodeClock(REALTIME, offset, error=sum(errors) if known else math.nan)


def _node(entry: Mapping[str, Any] | None) -> str | None:
    """What distinguishes a node's clock. Ranks of one boot share CLOCK_MONOTONIC; those whose time
    namespace shifts it by an unknown time have a clock of their own."""
    if entry is None:
        return None
    boot_id = entry.get("boot_id", "")
    node = entry.get("host", "") if boot_id in ("", UNKNOWN_BOOT) else boot_id
    return node + entry.get("time_namespace", "")
