# SPDX-License-Identifier: BSD-3-Clause
"""Finds the hardware parts that a run uses, as columns over all its nodes.

Nodes with equal machines and equal bindings share one template. It is made once and repeated with NumPy, so a
cluster of ten thousand equal nodes costs little more than one node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .machine import LEVELS, Machine
from .placement import Placement


@dataclass(frozen=True)
class _Template:
    """The used parts of one machine: node, then level by level from left to right.

    columns : int32 (5, n_parts): level, number, first PU, last PU (exclusive), parent (index in here).
    bindings : int64 (n_bindings,), ascending indices in placement.bindings of this machine's bindings.
    holder : int32 (n_bindings,), the smallest part (index in here) that holds all PUs of each binding.
    """

    columns: np.ndarray
    bindings: np.ndarray
    holder: np.ndarray


def used_parts(
    placement: Placement, levels: list[str], rank: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The used nodes and parts, node by node, and the smallest part that holds all PUs of each rank.

    Columns (int32): level, number, first, last (PU positions), parent (index in the columns, -1 for
    nodes), node.
    """
    templates, kind = _templates(placement, levels)
    sizes = np.array([template.columns.shape[1] for template in templates], np.int64)
    starts = np.cumsum(sizes) - sizes
    node_size = sizes[kind]
    node_start = np.cumsum(node_size) - node_size
    node = np.repeat(np.arange(len(kind), dtype=np.int32), node_size)
    source = np.arange(len(node)) + (starts[kind] - node_start)[node]
    table = np.concatenate([template.columns for template in templates], axis=1)[:, source]
    level, number, first, last, parent = table
    number = np.where(level == 0, node, number)
    parent = np.where(level == 0, -1, parent + node_start[node]).astype(np.int32)
    columns = {"level": level, "number": number, "first": first, "last": last, "parent": parent, "node": node}

    width = max(len(placement.bindings), 1)  # a key is template * width + binding
    keys = np.concatenate([i * width + template.bindings for i, template in enumerate(templates)])
    holders = np.concatenate([template.holder for template in templates])
    rank_node = placement.node_id[rank]
    rank_keys = kind[rank_node] * width + placement.binding[rank]
    return columns, node_start[rank_node] + holders[np.searchsorted(keys, rank_keys)]


def _templates(placement: Placement, levels: list[str]) -> tuple[list[_Template], np.ndarray]:
    """The distinct templates of a run, and each node's index among them."""
    n_bindings = max(len(placement.bindings), 1)
    placed = placement.node_id >= 0
    pairs = np.unique(placement.node_id[placed].astype(np.int64) * n_bindings + placement.binding[placed])
    begin = np.searchsorted(pairs, np.arange(len(placement.nodes) + 1) * n_bindings)
    bindings = pairs % n_bindings
    number_of: dict[tuple[int, bytes], int] = {}
    templates = []
    kind = np.zeros(len(placement.nodes), np.int64)
    for i, node in enumerate(placement.nodes):
        mine = bindings[begin[i] : begin[i + 1]]
        key = (id(node.machine), mine.tobytes())
        if key not in number_of:
            number_of[key] = len(templates)
            templates.append(_template(node.machine, placement, mine, levels))
        kind[i] = number_of[key]
    nothing = _Template(np.zeros((5, 0), np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32))
    return templates or [nothing], kind


def _template(machine: Machine, placement: Placement, bindings: np.ndarray, levels: list[str]) -> _Template:
    is_used = np.zeros(len(machine.pus) + 1, np.int64)
    for binding in bindings:
        is_used[placement.bindings[binding] + 1] = 1
    n_used = np.cumsum(is_used)  # used PUs left of each position
    above = np.full(len(machine.pus), -1, np.int32)  # lowest part over each PU so far
    rows: list[np.ndarray] = []
    size = 0
    for level in levels:
        spans = np.array(machine.spans(level), np.int32).reshape(-1, 2)
        numbers = np.array([part.number for part in machine.level(level)] or [0], np.int32)[: len(spans)]
        keep = n_used[spans[:, 1]] > n_used[spans[:, 0]]
        spans, numbers = spans[keep], numbers[keep]
        code = np.full(len(spans), LEVELS.index(level), np.int32)
        rows.append(np.array([code, numbers, *spans.T, above[spans[:, 0]]], np.int32))
        for part, (first, last) in enumerate(spans, start=size):
            above[first:last] = part
        size += len(spans)
    columns = np.concatenate(rows, axis=1)
    _, _, first, last, _ = columns
    holder = np.zeros(len(bindings), np.int32)
    for i, binding in enumerate(bindings):
        positions = placement.bindings[binding]
        holder[i] = np.flatnonzero((first <= positions[0]) & (positions[-1] < last))[-1]
    return _Template(columns, bindings, holder)
