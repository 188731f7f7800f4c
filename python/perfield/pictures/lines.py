# SPDX-License-Identifier: BSD-3-Clause
"""Adds up a frame's messages by pairs of ranks, and draws them as lines in the topology picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.run.frame import UNKNOWN
from perfield.topology import Cells

if TYPE_CHECKING:
    from perfield.run import Frame

STUB = 0.3  # a stub's length as a fraction of comm_offset, and its distance from the cell's middle in widths


@dataclass(frozen=True)
class Pairs:
    """Who sent to whom.

    source, target : int32 (n_pairs,), world ranks, ascending by source, then target.
    values : float64 (n_pairs,) each: sent_count, sent_bytes, empty_count, largest_bytes over all calls,
        then `<call>_count` and `<call>_bytes`, NaN if the call sent nothing between the pair.
    """

    source: np.ndarray
    target: np.ndarray
    values: dict[str, np.ndarray]

    def chosen(self, keep: np.ndarray) -> Pairs:
        """The pairs for which keep (n_pairs,) is true."""
        if keep.all():
            return self
        values = {name: column[keep] for name, column in self.values.items()}
        return Pairs(self.source[keep], self.target[keep], values)


def calls_of(frame: Frame) -> list[str]:
    """Names of the calls that send in this run; all frames have the same."""
    names = [name[: -len("_bytes")] for name in frame.values if name.endswith("_bytes")]
    return [name for name in names if f"{name}_count" in frame.values and name not in ("sent", "received")]


def pairs_of(frame: Frame) -> Pairs:
    """The messages of a frame between ranks of its world, added up by pair; without all other messages."""
    messages = frame.messages
    known = (messages["source"] >= 0) & (messages["target"] >= 0)
    return _added_up(messages if known.all() else messages[known], calls_of(frame))


def unknown_of(frame: Frame) -> Pairs:
    """The messages of a frame with one unknown end, added up by the known rank.

    The source is the rank that sent or fetched them, the target is UNKNOWN.
    """
    unknown = (frame.messages["source"] == UNKNOWN) | (frame.messages["target"] == UNKNOWN)
    messages = frame.messages[unknown]
    messages["source"] = np.maximum(messages["source"], messages["target"])
    messages["target"] = UNKNOWN
    return _added_up(messages, calls_of(frame))


def _added_up(messages: np.ndarray, calls: list[str]) -> Pairs:
    key = messages["source"].astype(np.int64) << 32 | messages["target"].astype(np.int64) & 0xFFFFFFFF
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key, kind="stable")
        key, messages = key[order], messages[order]
    opens = np.ones(len(key), bool)
    opens[1:] = key[1:] != key[:-1]
    begin = np.flatnonzero(opens)
    values = {}
    for name, column, add in (
        ("sent_count", "count", np.add),
        ("sent_bytes", "bytes", np.add),
        ("empty_count", "empty", np.add),
        ("largest_bytes", "largest", np.maximum),
    ):
        values[name] = add.reduceat(messages[column].astype(float), begin) if len(begin) else np.zeros(0)
    pair = np.cumsum(opens) - 1
    for call in calls:
        rows = np.flatnonzero(messages["call"] == call)
        seen = np.zeros(len(begin), bool)
        seen[pair[rows]] = True
        for quantity in ("count", "bytes"):
            total = np.bincount(pair[rows], messages[quantity][rows], len(begin))
            values[f"{call}_{quantity}"] = np.where(seen, total, np.nan)
    ends = key[begin]
    # The view keeps negative numbers in the lower halves.
    return Pairs((ends >> 32).astype(np.int32), ends.astype(np.uint32).view(np.int32), values)


def joined(first: Pairs, second: Pairs) -> Pairs:
    """The rows of both; both belong to the same frame."""
    if not len(second.source):
        return first
    values = {name: np.concatenate((column, second.values[name])) for name, column in first.values.items()}
    source, target = (
        np.concatenate((getattr(first, end), getattr(second, end))) for end in ("source", "target")
    )
    return Pairs(source, target, values)


def line_ends(
    pairs: Pairs, cells: Cells, comm_offset: float, periodic_BC: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of each message's line, float32 (n_pairs, 2, 3), and whether it stays in a node, (n_pairs,).

    A line starts at the bottom of the sender's column of cells and ends comm_offset below the receiver's
    column. So the lines A to B and B to A cross, and a message to oneself is a vertical line. With
    periodic_BC and more than two nodes, a line between the first and the last node leaves the picture on the
    near side instead. All ranks must have a place.
    """
    cell_of = _cell_of_rank(cells)
    sender, receiver = cell_of[pairs.source], cell_of[pairs.target]
    target_z = cells.z[receiver]
    last = len(cells.node_z) - 1
    if periodic_BC and last > 1:
        to_last = (cells.node[sender] == 0) & (cells.node[receiver] == last)
        to_first = (cells.node[sender] == last) & (cells.node[receiver] == 0)
        target_z = np.where(to_last, 2 * cells.node_z[0] - cells.node_z[1], target_z)
        target_z = np.where(to_first, 2 * cells.node_z[last] - cells.node_z[last - 1], target_z)
    ends = np.empty((len(sender), 2, 3), np.float32)
    ends[:, 0, 0], ends[:, 0, 1], ends[:, 0, 2] = cells.x[sender], 0, cells.z[sender]
    ends[:, 1, 0], ends[:, 1, 1], ends[:, 1, 2] = cells.x[receiver], -comm_offset, target_z
    return ends, cells.node[sender] == cells.node[receiver]


def stub_ends(pairs: Pairs, cells: Cells, comm_offset: float) -> np.ndarray:
    """Both ends of each rank's stub for messages with unknown peers, float32 (n_pairs, 2, 3).

    A stub is a short vertical line below the sender's column of cells. It stands beside the middle, where
    the other lines begin. All senders must have a place.
    """
    cell = _cell_of_rank(cells)[pairs.source]
    ends = np.empty((len(cell), 2, 3), np.float32)
    ends[:, :, 0] = (cells.x[cell] + STUB * cells.width[cell])[:, None]
    ends[:, 0, 1], ends[:, 1, 1] = 0, -STUB * comm_offset
    ends[:, :, 2] = cells.z[cell][:, None]
    return ends


def placed(pairs: Pairs, cells: Cells) -> np.ndarray:
    """Whether both ranks of each pair have a place, bool (n_pairs,); an UNKNOWN target needs none."""
    has_place = np.zeros(cells.n_ranks, bool)
    has_place[cells.rank] = True
    known = (pairs.source < cells.n_ranks) & (pairs.target < cells.n_ranks)
    known[known] = has_place[pairs.source[known]]
    among = known & (pairs.target != UNKNOWN)
    known[among] = has_place[pairs.target[among]]
    return known


def _cell_of_rank(cells: Cells) -> np.ndarray:
    """Index of each rank's measurement cell in the table; -1 for ranks without a place."""
    cell_of = np.full(cells.n_ranks, -1)
    cell_of[cells.rank] = np.arange(cells.measurements.start, cells.measurements.stop)
    return cell_of
