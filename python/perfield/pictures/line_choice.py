# SPDX-License-Identifier: BSD-3-Clause
"""Chooses which messages become lines: the heaviest, between nodes, of some ranks, between non-neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.analysis.pair_keys import pair_keys

from .lines import DRAWN, Pairs, heaviest

LEFT_OUT = "lines_left_out"
"""Field data of layers of lines: how many are not drawn, though nobody chose some."""


@dataclass(frozen=True)
class LineChoice:
    """Which messages become lines. Ranks are world ranks; a message is kept if it meets all conditions.

    most : how many lines are drawn at most, the heaviest.
    senders, receivers : bool (n_ranks,), the ranks that messages come from and go to; None: all.
    either : bool (n_ranks,), at least one end is one of these ranks; None: all.
    apart : for each condition the group of each rank, int (n_ranks,): both ends are in different groups, of
        which none is negative.
    left_out : int64, ascending, `pair_keys` of pairs of ranks that get no line; None: none.
    words : what is chosen, in words: "only between nodes"; "" for all.
    """

    most: int = DRAWN
    senders: np.ndarray | None = None
    receivers: np.ndarray | None = None
    either: np.ndarray | None = None
    apart: tuple[np.ndarray, ...] = ()
    left_out: np.ndarray | None = None
    words: str = ""

    def keeps(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Whether messages from source to target, (n,) world ranks, are kept: bool (n,).

        A negative rank is an unknown peer. It meets no condition, but `either` by the known end.
        """
        keep = np.ones(len(source), bool)
        if self.senders is not None:
            keep &= group_of(self.senders, source) == 1
        if self.receivers is not None:
            keep &= group_of(self.receivers, target) == 1
        if self.either is not None:
            keep &= (group_of(self.either, source) == 1) | (group_of(self.either, target) == 1)
        for group in self.apart:
            here, there = group_of(group, source), group_of(group, target)
            keep &= (here != there) & (here >= 0) & (there >= 0)
        if self.left_out is not None:
            keep &= (source >= 0) & (target >= 0)
            keep[keep] = ~np.isin(pair_keys(source[keep], target[keep]), self.left_out)
        return keep

    @property
    def is_all(self) -> bool:
        """Whether all messages are kept."""
        conditions = (self.senders, self.receivers, self.either, self.left_out)
        return not self.apart and all(condition is None for condition in conditions)

    def kept(self, pairs: Pairs) -> Pairs:
        """The pairs of ranks that are kept."""
        return pairs if self.is_all else pairs.chosen(self.keeps(pairs.source, pairs.target))

    def heaviest(self, pairs: Pairs) -> tuple[Pairs, str]:
        """The heaviest of pairs that are kept, and in words what is chosen and what is left out."""
        drawn, words = heaviest(pairs, self.most)
        return drawn, "; ".join(filter(None, (self.words, words)))

    @property
    def is_default(self) -> bool:
        """Whether nobody chose which messages become lines."""
        return self.is_all and self.most == DRAWN

    def unasked(self, pairs: Pairs) -> int:
        """How many of the pairs get no line, where nobody chose which do."""
        return max(len(pairs.source) - self.most, 0) if self.is_default else 0


def group_of(group: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The group of each of some ranks; -1 for ranks that have none, or that are unknown."""
    known = (ranks >= 0) & (ranks < len(group))
    return np.where(known, np.append(group, -1)[np.where(known, ranks, -1)], -1)
