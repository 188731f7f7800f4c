# SPDX-License-Identifier: BSD-3-Clause
"""Adds up a frame's messages by pairs of nodes, for one line each; of switches where these are too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.pair_keys import ends_of, pair_keys

from .line_choice import LineChoice, group_of
from .lines import Pairs, added_up, calls_of

if TYPE_CHECKING:
    from perfield.run import Frame


@dataclass(frozen=True)
class Bundles:
    """The pairs that become lines, of nodes or of blocks.

    pairs : as of ranks, with numbers of nodes or of blocks. between : "nodes" or "switches". words : what
    lines are, and what they leave out. unasked : pairs without a line, though nobody chose some.
    not_drawn : count and bytes of messages with a rank that has no place.
    """

    pairs: Pairs
    between: str
    words: str
    unasked: int
    not_drawn: tuple[float, float]


class NodePairs:
    """Adds up frame after frame; where the next one has the same peers, only the sums are new.

    node : of each rank, -1 without a place. lines : which messages count. block : of each node; pairs of
    blocks take the place of those of nodes that would be too many for lines. None: never.
    """

    def __init__(self, node: np.ndarray, lines: LineChoice, block: np.ndarray | None = None):
        self._node, self._lines, self._block = node, lines, block
        self._groups: _Groups | None = None

    def of(self, frame: Frame) -> Bundles:
        """The pairs of a frame."""
        messages = frame.messages
        ends = np.stack([messages["source"], messages["target"]])
        if self._groups is None or not np.array_equal(ends, self._groups.ends):
            self._groups = self._grouped(ends)
        groups = self._groups
        size = {what: messages[what].astype(float) for what in ("count", "bytes")}
        left_out = tuple(float(values.sum() - values[groups.placed].sum()) for values in size.values())
        total = float(size["bytes"][groups.kept].sum())
        sums = {
            f"sent_{what}": np.bincount(groups.pair, values[groups.rows], len(groups.source))
            for what, values in size.items()
        }
        every = Pairs(groups.source, groups.target, sums)
        drawn, words = self._lines.heaviest(every)
        inside = total - float(sums["sent_bytes"].sum())
        sentences = [f"one line per pair of {groups.between}", words]
        if inside > 0:
            share = f"{inside / total:.0%}".replace("%", " %")
            within = "a node" if groups.between == "nodes" else "a switch"
            sentences.append(f"{share} of the bytes stay inside {within}")
        is_drawn = np.zeros(len(groups.source), bool)
        keys = pair_keys(groups.source, groups.target)
        is_drawn[np.searchsorted(keys, pair_keys(drawn.source, drawn.target))] = True
        rows = is_drawn[groups.pair]
        chosen = messages[groups.rows[rows]]
        chosen["source"], chosen["target"] = (
            end[groups.pair[rows]] for end in (groups.source, groups.target)
        )
        pairs = added_up(chosen, calls_of(frame))
        words = "; ".join(filter(None, sentences))
        return Bundles(pairs, groups.between, words, self._lines.unasked(every), left_out)

    def _grouped(self, ends: np.ndarray) -> _Groups:
        """Groups messages by pair of nodes; of blocks, if the former are too many."""
        node = [group_of(self._node, end) for end in ends]
        placed = (node[0] >= 0) & (node[1] >= 0)
        kept = placed if self._lines.is_all else placed & self._lines.keeps(*ends)
        group, between = node, "nodes"
        rows = np.flatnonzero(kept & (node[0] != node[1]))
        keys, pair = np.unique(pair_keys(node[0][rows], node[1][rows]), return_inverse=True)
        if self._block is not None and len(keys) > self._lines.most:
            group, between = [group_of(self._block, end) for end in node], "switches"
            rows = np.flatnonzero(kept & (group[0] != group[1]))
            keys, pair = np.unique(pair_keys(group[0][rows], group[1][rows]), return_inverse=True)
        return _Groups(ends, placed, kept, rows, pair, *ends_of(keys), between)


@dataclass(frozen=True)
class _Groups:
    """Which messages belong to which pair of nodes or blocks; the same in all frames with the same peers.

    ends : int32 (2, n_messages), source and target. placed, kept : bool (n_messages,), both ends have a
    place; and they may become lines. rows : int64 (n,), the messages between different groups. pair : int64
    (n,), their pair. source, target : int32 (n_pairs,). between : "nodes" or "switches".
    """

    ends: np.ndarray
    placed: np.ndarray
    kept: np.ndarray
    rows: np.ndarray
    pair: np.ndarray
    source: np.ndarray
    target: np.ndarray
    between: str
