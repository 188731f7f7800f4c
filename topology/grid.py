# SPDX-License-Identifier: BSD-3-Clause
"""Places the nodes of a large run side by side: a block for each switch, all blocks in one flat rectangle.

A row of planes shows a few dozen nodes. Here each node is a cell of unit size, so 65 nodes and 10,000 are
legible as one picture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .network import Switches

MOST_PLANES = 64  # more nodes are shown as cells, but up to
MOST_SMALL = 128  # if they have at most so many ranks:
FEW_RANKS = 1024
MOST_RANKS = 4096  # with more, nodes are cells, too, as ranks would be narrower than pixels
WIDE = 1.9  # width of the picture over its height, as images have room for it
APART = 0.8  # free space between blocks
HEADER = 1.5  # height above a block for its switch and its name
LEGIBLE = 50.0  # in a higher picture such names would be too small to read


@dataclass(frozen=True)
class Grid:
    """Where nodes and blocks are. Lengths are in cells; y grows upwards, reading goes downwards.

    x, y : float64 (n_nodes,), the middle of each node's cell.
    block : int32 (n_nodes,), the block of each node; blocks count in reading order.
    boxes : float64 (n_blocks, 4), left, right, lower and upper end of each block's cells.
    switch : int32 (n_blocks,), index of each block's switch; -1 for nodes whose switch is not known.
    header : the free height above each block; 0 if names there could not be read.
    """

    x: np.ndarray
    y: np.ndarray
    block: np.ndarray
    boxes: np.ndarray
    switch: np.ndarray
    header: float

    @property
    def is_coarse(self) -> bool:
        """Whether cells are large enough for details in them, and names beside them."""
        return float(self.boxes[:, 3].max() - self.boxes[:, 2].min()) <= LEGIBLE

    @property
    def has_switches(self) -> bool:
        """Whether blocks represent switches; if not, all nodes form one block."""
        return bool((self.switch >= 0).any())


def has_cells(n_nodes: int, n_ranks: int) -> bool:
    """Whether each node is shown as one cell, as its ranks would be too small to see."""
    return n_nodes > (MOST_SMALL if n_ranks <= FEW_RANKS else MOST_PLANES) or n_ranks > MOST_RANKS


def grid(switches: Switches) -> Grid:
    """Places nodes: a block for each switch with nodes, nearly square, with nodes in their order.

    Blocks follow each other like words on lines; switches below the same switch are neighbours. If no switch
    is known, or only one, all nodes form one block.
    """
    n_nodes = len(switches.of_node)
    leaves = np.unique(switches.of_node)
    if not (leaves >= 0).any() or len(leaves) < 2:
        width = max(1, math.ceil(math.sqrt(WIDE * n_nodes)))
        of_node, ordered = np.zeros(n_nodes, np.int64), np.array([-1])
        widths = np.array([min(width, max(n_nodes, 1))])
    else:
        ordered = np.array(sorted(leaves.tolist(), key=_by_tree(switches)))
        turn = np.empty(len(switches.name) + 1, np.int64)
        turn[ordered] = np.arange(len(ordered))
        of_node = turn[switches.of_node]
        widths = np.ceil(np.sqrt(np.bincount(of_node, minlength=len(ordered)))).astype(np.int64)
    sizes = np.bincount(of_node, minlength=len(ordered))
    heights = -(-sizes // widths)
    header = HEADER if len(ordered) > 1 else 0.0
    left, top = _on_lines(widths, heights, header)
    if header and -float((top - heights).min()) > LEGIBLE:
        header = 0.0
        left, top = _on_lines(widths, heights, header)
    order = np.argsort(of_node, kind="stable")
    within = np.empty(n_nodes, np.int64)
    within[order] = np.arange(n_nodes) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    across, down = within % widths[of_node], within // widths[of_node]
    boxes = np.stack([left, left + widths, top - heights, top], axis=1).astype(float)
    x, y = left[of_node] + across + 0.5, top[of_node] - down - 0.5
    return Grid(x, y, of_node.astype(np.int32), boxes, ordered.astype(np.int32), header)


def _by_tree(switches: Switches):
    """A sort key for switches with nodes: those below the same switches follow each other."""
    above: dict[int, int] = {}
    for lower, upper in switches.links.tolist():
        above[lower] = min(upper, above.get(lower, upper))

    def key(leaf: int) -> tuple[int, ...]:
        way = [leaf]
        while way[-1] in above and len(way) <= len(switches.name):
            way.append(above[way[-1]])
        return (leaf < 0, *reversed(way))  # nodes without a known switch come last

    return key


def _on_lines(widths: np.ndarray, heights: np.ndarray, header: float) -> tuple[np.ndarray, np.ndarray]:
    """The left and the upper end of each block, on lines of the length that fills a WIDE rectangle best."""
    area = float(((widths + APART) * (heights + header + APART)).sum())
    tried = [_lines(widths, heights, header, f * math.sqrt(WIDE * area)) for f in np.linspace(0.8, 1.3, 11)]
    return min(tried, key=lambda ends: _extent(*ends, widths, heights, header))


def _extent(left: np.ndarray, top: np.ndarray, widths: np.ndarray, heights: np.ndarray, header: float):
    across, up = float((left + widths).max()), header - float((top - heights).min())
    return max(across / WIDE, up)


def _lines(
    widths: np.ndarray, heights: np.ndarray, header: float, length: float
) -> tuple[np.ndarray, np.ndarray]:
    left, top = np.zeros(len(widths)), np.zeros(len(widths))
    x = y = deepest = 0.0
    for block, (width, height) in enumerate(zip(widths.tolist(), heights.tolist())):
        if x and x + width > length:
            x, y, deepest = 0.0, y - deepest - header - APART, 0.0
        left[block], top[block] = x, y
        x, deepest = x + width + APART, max(deepest, height)
    return left, top
