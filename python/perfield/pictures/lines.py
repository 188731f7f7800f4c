# SPDX-License-Identifier: BSD-3-Clause
"""Adds up a frame's messages by pairs of ranks, and draws them as lines in the topology picture.

`heaviest` and `radii` serve the lines of both pictures: a line is thick at the sender and thin at the
receiver, the thicker the more bytes it carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.pair_keys import ends_of, pair_keys
from perfield.fields.table import CALL_NAMES
from perfield.run.frame import UNKNOWN
from perfield.topology import Cells

if TYPE_CHECKING:
    from perfield.run import Frame

DRAWN = 200  # lines of one picture
TIP = 0.25  # radius at the receiver, as a fraction of the sender's
THINNEST = 0.3  # the line with FEWEST bytes, as a fraction of one with MOST bytes
FEWEST, MOST = 1e1, 1e9
CALLS = frozenset(CALL_NAMES.values())
BLOCK = 1 << 15  # messages that fit into a cache
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
    return [name for name in names if name in CALLS]


def pairs_of(frame: Frame) -> Pairs:
    """The messages of a frame between ranks of its world, added up by pair; without all other messages."""
    messages = frame.messages
    known = (messages["source"] >= 0) & (messages["target"] >= 0)
    return added_up(messages if known.all() else messages[known], calls_of(frame))


def unknown_of(frame: Frame) -> Pairs:
    """The messages of a frame with one unknown end, added up by the known rank.

    The source is the rank that sent or fetched them, the target is UNKNOWN.
    """
    unknown = (frame.messages["source"] == UNKNOWN) | (frame.messages["target"] == UNKNOWN)
    return added_up(_turned(frame.messages[unknown]), calls_of(frame))


class PairSums:
    """Adds up the messages of frame after frame by pair, only as far as is needed to choose lines.

    It remembers who sent to whom. Where the next frame has the same peers, only the sums are new.
    """

    def __init__(self, cells: Cells):
        """cells : pairs of ranks without a place in them are left out."""
        self._cells = cells
        self._ways: _Ways | None = None

    def of(self, frame: Frame) -> Pairs:
        """The pairs of a frame with sent_count and sent_bytes; pairs with an UNKNOWN target come last."""
        ends, counted = _columns(frame.messages)
        if self._ways is None or not np.array_equal(ends, self._ways.ends):
            self._ways = _Ways.of(ends, self._cells)
        ways = self._ways
        values = {f"sent_{what}": ways.added_up(column) for what, column in zip(("count", "bytes"), counted)}
        return Pairs(ways.source, ways.target, values)

    def left_out(self, frame: Frame) -> tuple[float, float]:
        """Count and bytes of the messages that are not in `of(frame)`, the frame of the last call."""
        rows = self._ways.others
        return tuple(float(frame.messages[what][rows].sum(dtype=float)) for what in ("count", "bytes"))

    def in_full(self, frame: Frame, pairs: Pairs) -> Pairs:
        """Some pairs of `of(frame)`, the frame of the last call, with all values of `Pairs`."""
        rows = self._ways.rows_of(pairs)
        messages, unknown = frame.messages[rows], self._ways.ends[1, rows] == UNKNOWN
        unknown |= self._ways.ends[0, rows] == UNKNOWN
        calls = calls_of(frame)
        return joined(added_up(messages[~unknown], calls), added_up(_turned(messages[unknown]), calls))


@dataclass(frozen=True)
class _Ways:
    """Which messages belong to which pair.

    ends : int32 (2, n_messages), source and target. source, target : int32 (n_pairs,); those with an UNKNOWN
        target come last; both parts are ascending. rows : the messages of the pairs, pair by pair; None if
        these are all messages in their order. begin : the first row of each pair; None if each has one.
        others : messages that belong to no pair.
    """

    ends: np.ndarray
    source: np.ndarray
    target: np.ndarray
    rows: np.ndarray | None
    begin: np.ndarray | None
    others: np.ndarray

    @classmethod
    def of(cls, ends: np.ndarray, cells: Cells) -> _Ways:
        source, target = ends
        rows, others = None, np.zeros(0, np.int64)
        everywhere = len(cells.rank) == cells.n_ranks > ends.max(initial=-1)
        if not everywhere or ends.min(initial=0) < 0:
            known, unknown = (ends >= 0).all(axis=0), (ends == UNKNOWN).any(axis=0)
            source, target = np.where(known, source, ends.max(axis=0)), np.where(known, target, UNKNOWN)
            keep = (known | unknown) & placed(Pairs(source, target, {}), cells)
            rows, others = np.flatnonzero(keep), np.flatnonzero(~keep)
            source, target = source[rows], target[rows]
        key = _keys(source, target)
        if np.any(key[1:] < key[:-1]):
            order = np.argsort(key, kind="stable")
            key, source, target = key[order], source[order], target[order]
            rows = order if rows is None else rows[order]
        opens = np.ones(len(key), bool)
        np.not_equal(key[1:], key[:-1], out=opens[1:])
        begin = None
        if not opens.all():
            begin = np.flatnonzero(opens)
            source, target = source[begin], target[begin]
        return cls(ends, source, target, rows, begin, others)

    def added_up(self, column: np.ndarray) -> np.ndarray:
        """Sums of a column of the messages, float64 (n_pairs,)."""
        column = column if self.rows is None else column[self.rows]
        if self.begin is None or not len(self.begin):
            return column
        return np.add.reduceat(column, self.begin)

    def rows_of(self, pairs: Pairs) -> np.ndarray:
        """The messages of some pairs, ascending in the order of all pairs."""
        number = np.searchsorted(_keys(self.source, self.target), _keys(pairs.source, pairs.target))
        begin = number if self.begin is None else self.begin[number]
        n_rows = self.ends.shape[1] if self.rows is None else len(self.rows)
        end = begin + 1 if self.begin is None else np.append(self.begin, n_rows)[number + 1]
        size = end - begin
        rows = np.repeat(end - np.cumsum(size), size) + np.arange(int(size.sum()))
        return rows if self.rows is None else self.rows[rows]


def _columns(messages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Source and target, int32 (2, n), and count and bytes, float64 (2, n), of messages.

    Rows are long, so all columns are taken from some rows while these are in the cache.
    """
    ends, counted = np.empty((2, len(messages)), np.int32), np.empty((2, len(messages)))
    for begin in range(0, len(messages), BLOCK):
        rows = slice(begin, begin + BLOCK)
        block = messages[rows]
        ends[0, rows], ends[1, rows] = block["source"], block["target"]
        counted[0, rows], counted[1, rows] = block["count"], block["bytes"]
    return ends, counted


def _keys(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """A number per pair that sorts by source, then target; pairs with an UNKNOWN target come last."""
    key = source.astype(np.int64) << 32
    key |= target.astype(np.int64) & 0x7FFFFFFF
    if len(target) and target.min() < 0:
        key[target < 0] |= 1 << 62
    return key


def _turned(messages: np.ndarray) -> np.ndarray:
    """Messages with one unknown end, with the known rank as their source; changes them in place."""
    messages["source"] = np.maximum(messages["source"], messages["target"])
    messages["target"] = UNKNOWN
    return messages


def added_up(messages: np.ndarray, calls: list[str]) -> Pairs:
    """Messages added up by source and target. calls : the calls that get values of their own."""
    key = pair_keys(messages["source"], messages["target"])
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
    return Pairs(*ends_of(key[begin]), values)


def joined(first: Pairs, second: Pairs) -> Pairs:
    """The rows of both; both belong to the same frame."""
    if not len(second.source):
        return first
    values = {name: np.concatenate((column, second.values[name])) for name, column in first.values.items()}
    source, target = (
        np.concatenate((getattr(first, end), getattr(second, end))) for end in ("source", "target")
    )
    return Pairs(source, target, values)


def heaviest(pairs: Pairs, most: int = DRAWN) -> tuple[Pairs, str]:
    """The `most` pairs with the most bytes, in the order of `pairs`, and what is left out, in words.

    All pairs and "" if there are not more. Among pairs with equal bytes, more messages win. Pairs that are
    equal in both are taken from all over the run, so that no part of it seems to be silent.
    """
    n_pairs, weight = len(pairs.source), pairs.values["sent_bytes"]
    if n_pairs <= most:
        return pairs, ""
    keep = np.zeros(n_pairs, bool)
    sure, tied = _largest(weight, most)
    keep[sure] = True
    for order in (lambda tied: pairs.values["sent_count"][tied], _scattered):
        sure, still = _largest(order(tied), most - np.count_nonzero(keep))
        keep[tied[sure]] = True
        tied = tied[still]
    keep[tied] = True  # the last one; their scattered numbers all differ
    total = float(weight.sum())
    rest = total - float(weight[keep].sum())
    share = f"{rest / total:.0%}".replace("%", " %") if total else "none"
    return pairs.chosen(keep), f"{most:,} of {n_pairs:,} lines drawn; the rest carry {share} of the bytes"


def _scattered(numbers: np.ndarray) -> np.ndarray:
    """A different number for each of some numbers, without order: Knuth's multiplicative hash."""
    return ~(numbers.astype(np.uint32) * np.uint32(2654435761))


def _largest(values: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the values that are among the `most` largest, and of those that tie for the last places."""
    if most <= 0:
        return np.zeros((2, 0), np.int64)
    if most >= len(values):
        return np.arange(len(values)), np.zeros(0, np.int64)
    least = np.partition(values, len(values) - most)[len(values) - most]
    return np.flatnonzero(values > least), np.flatnonzero(values == least)


def radii(pairs: Pairs, unit: float, n_points: int) -> np.ndarray:
    """Radius of each line at its points, float32 (n_pairs, n_points), from the sender to the receiver.

    unit : radius at the sender of a line with MOST bytes or more. The radius grows with the logarithm of the
    bytes, the same in all steps and runs.
    """
    many = np.clip(pairs.values["sent_bytes"], FEWEST, MOST)
    size = np.log10(many / FEWEST) / np.log10(MOST / FEWEST)
    thick = unit * (THINNEST + (1 - THINNEST) * size)
    return (thick[:, None] * np.linspace(1.0, TIP, n_points)).astype(np.float32)


def line_ends(
    pairs: Pairs, cells: Cells, comm_offset: float, periodic_BC: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both ends of each message's line, float32 (n_pairs, 2, 3), their nodes, and where the line runs.

    Nodes: float32 (n_pairs, 2); -1 or n_nodes for an end beyond the edge. Where: uint8 (n_pairs,), 1 inside a
    node, 0 between nodes, 2 to an UNKNOWN peer. A line starts at the bottom of the
    sender's column of cells and ends comm_offset below the receiver's column. So the lines A to B and B to A
    cross, and a message to oneself is a vertical line. With periodic_BC and more than two nodes, a line
    between the first and the last node leaves the picture on the near side instead. A line to an UNKNOWN
    peer is a short vertical stub beside the middle of the sender's column. All ranks must have a place.
    """
    cell_of, x_of = _cell_of_rank(cells), np.zeros(max(cells.n_ranks, 1))
    x_of[cells.rank] = cells.line_x
    unknown = pairs.target == UNKNOWN
    sender = cell_of[pairs.source]
    receiver = np.where(unknown, sender, cell_of[np.maximum(pairs.target, 0)])
    nodes, target_z = _towards(cells.node[sender], cells.node[receiver], cells, periodic_BC)
    sideways = np.where(unknown, STUB * cells.width[sender], 0.0)
    ends = np.empty((len(sender), 2, 3), np.float32)
    ends[:, 0, 0], ends[:, 0, 1], ends[:, 0, 2] = x_of[pairs.source] + sideways, 0, cells.z[sender]
    ends[:, 1, 0] = x_of[np.where(unknown, pairs.source, pairs.target)] + sideways
    ends[:, 1, 1] = np.where(unknown, -STUB * comm_offset, -comm_offset)
    ends[:, 1, 2] = target_z
    inside_node = cells.node[sender] == cells.node[receiver]
    return ends, nodes, np.where(unknown, 2, inside_node).astype(np.uint8)


def bundle_ends(
    pairs: Pairs, cells: Cells, comm_offset: float, periodic_BC: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of a line for each pair of nodes, from the middle of one to below that of the other, and
    their nodes, as `line_ends` has them."""
    low, high = np.full(len(cells.node_z), np.inf), np.full(len(cells.node_z), -np.inf)
    node = cells.node[cells.measurements]
    np.minimum.at(low, node, cells.line_x)
    np.maximum.at(high, node, cells.line_x)
    middle = np.where(low <= high, (low + high) / 2, 0.0)
    nodes, target_z = _towards(pairs.source, pairs.target, cells, periodic_BC)
    ends = np.zeros((len(pairs.source), 2, 3), np.float32)
    ends[:, 0, 0], ends[:, 0, 2] = middle[pairs.source], cells.node_z[pairs.source]
    ends[:, 1, 0], ends[:, 1, 1], ends[:, 1, 2] = middle[pairs.target], -comm_offset, target_z
    return ends, nodes


def _towards(
    start: np.ndarray, end: np.ndarray, cells: Cells, periodic_BC: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes at both ends of lines, float32 (n, 2), and how deep the second end is; beyond the picture
    where a line leaves it."""
    nodes = np.stack([start, end], axis=1).astype(np.float32)
    target_z, last = cells.node_z[end], len(cells.node_z) - 1
    if periodic_BC and last > 1:
        to_last, to_first = (start == 0) & (end == last), (start == last) & (end == 0)
        nodes[to_last, 1], nodes[to_first, 1] = -1, last + 1
        target_z = np.where(to_last, 2 * cells.node_z[0] - cells.node_z[1], target_z)
        target_z = np.where(to_first, 2 * cells.node_z[last] - cells.node_z[last - 1], target_z)
    return nodes, target_z


def placed(pairs: Pairs, cells: Cells) -> np.ndarray:
    """Whether both ranks of each pair have a place, bool (n_pairs,); an UNKNOWN target needs none."""
    has_place = np.zeros(cells.n_ranks, bool)
    has_place[cells.rank] = True
    known = (pairs.source >= 0) & (pairs.source < cells.n_ranks) & (pairs.target < cells.n_ranks)
    known[known] = has_place[pairs.source[known]]
    among = known & (pairs.target != UNKNOWN)
    known[among] = has_place[pairs.target[among]]
    return known


def _cell_of_rank(cells: Cells) -> np.ndarray:
    """Index of each rank's measurement cell in the table; -1 for ranks without a place."""
    cell_of = np.full(cells.n_ranks, -1)
    cell_of[cells.rank] = np.arange(cells.measurements.start, cells.measurements.stop)
    return cell_of
