# SPDX-License-Identifier: BSD-3-Clause
"""The flat layout: cells lie below what holds them and never over one another, and names are whole."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from perfield.catalyst_scripts.flat_layout import CAPITALS, HIGH, WIDE, WIDTH, Flat, Machine, plan

ROWS = {"node": 6.0, "package": 5.0, "core": 4.0, "pu": 3.0}  # middles above two rows of a rank
PLANE = 24.0


def machine(
    n_nodes: int, per_node: int, per_leaf: int = 0, *, cores: int = 0, host: str = "n{:03d}"
) -> Machine:
    """Nodes of two packages, with a rank on each of the first cores; leaf switches below a spine."""
    cores = cores or per_node
    width = PLANE / cores
    node = np.repeat(np.arange(n_nodes), per_node)
    left = np.tile(np.arange(per_node) * width, n_nodes)
    parts, kinds = [], []
    for kind, count in (("node", 1), ("package", 2), ("core", cores), ("pu", cores)):
        for n in range(count):
            span = (n * PLANE / count, (n + 1) * PLANE / count)
            if span[0] < per_node * width - 1e-9:
                parts.append([*span, ROWS[kind] - 0.5, ROWS[kind] + 0.5])
                kinds.append(kind)
    n_leaves = -(-n_nodes // per_leaf) if per_leaf else 0
    below = np.zeros((n_leaves + bool(n_leaves), n_nodes), bool)
    if n_leaves:
        below[np.arange(n_nodes) % n_leaves, np.arange(n_nodes)] = (
            True  # neighbours are on different switches
        )
        below[-1] = True
    return Machine(
        ranks=np.stack([left, left + width, np.full(len(node), 1.0), np.full(len(node), 2.0)], axis=1),
        rank_node=node,
        rank=np.arange(len(node)),
        parts=np.tile(np.array(parts), (n_nodes, 1)),
        part_node=np.repeat(np.arange(n_nodes), len(parts)),
        kind=kinds * n_nodes,
        hosts=[host.format(n) for n in range(n_nodes)],
        below=below,
        level=np.array([0] * n_leaves + [1] * bool(n_leaves), int),
        switches=[*(f"leaf{n}" for n in range(n_leaves)), *["spine"] * bool(n_leaves)],
        depth=5.0,
    )


def placed(flat: Flat, boxes: np.ndarray, node: np.ndarray, layer: str) -> np.ndarray:
    """Left, right, low, high of boxes of planes in the layout."""
    low, high = (
        flat.moved(np.column_stack([boxes[:, (end, end + 2)], np.zeros(len(boxes))]), node, layer)
        for end in (0, 1)
    )
    return np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1]], axis=1)


def text_box(text) -> tuple[float, float, float, float]:
    width = WIDTH * len(text.text) * text.height
    left = text.x - text.aligned * width
    return left, left + width, text.y - text.height / 2, text.y + text.height / 2


def overlaps(boxes: np.ndarray) -> bool:
    """Whether two boxes have more than an edge in common."""
    edge = 1e-6
    a, b = boxes[:, None], boxes[None]
    over = (a[..., 0] < b[..., 1] - edge) & (b[..., 0] < a[..., 1] - edge)
    over &= (a[..., 2] < b[..., 3] - edge) & (b[..., 2] < a[..., 3] - edge)
    return bool((over & ~np.eye(len(boxes), dtype=bool)).any())


SIZES = [(1, 8, 0), (4, 8, 0), (16, 8, 4), (64, 8, 8), (128, 8, 16), (1, 128, 0), (3, 40, 2)]


@pytest.mark.parametrize(("n_nodes", "per_node", "per_leaf"), SIZES)
def test_cells_are_below_what_holds_them_and_never_over_one_another(n_nodes, per_node, per_leaf):
    given = machine(n_nodes, per_node, per_leaf)
    flat = plan(given)
    ranks = placed(flat, given.ranks, given.rank_node, "ranks")
    shown = [kind != "pu" for kind in given.kind]
    parts = placed(flat, given.parts, given.part_node, "machine")
    assert not overlaps(np.concatenate([ranks, parts[shown], flat.bars[:, 1:]]))
    assert np.ptp(parts[~np.array(shown), 2:], axis=1).max() < 1e-9, "PUs repeat their cores"
    for number, node in enumerate(given.rank_node.tolist()):
        own = (given.part_node == node) & (given.parts[:, 0] <= given.ranks[number, 0] + 1e-9)
        own &= given.ranks[number, 1] <= given.parts[:, 1] + 1e-9
        assert own.sum() == len(ROWS)
        assert (parts[own, 0] <= ranks[number, 0] + 1e-6).all()
        assert (ranks[number, 1] <= parts[own, 1] + 1e-6).all()
        assert (ranks[number, 3] <= parts[own, 2] + 1e-6).all()
    for switch, left, right, low, _ in flat.bars:
        line = (flat.base < low) & (flat.left >= left - 1e-6) & (flat.right <= right + 1e-6)
        assert (line & given.below[int(switch)]).any()
    left, right, low, high = flat.box
    everything = np.concatenate([ranks, parts, flat.bars[:, 1:]])
    assert left <= everything[:, 0].min() and everything[:, 1].max() <= right + 1e-6
    assert low <= everything[:, 2].min() + 1e-6 and everything[:, 3].max() <= high + 1e-6
    assert (right - left) / (high - low) == pytest.approx(WIDE / HIGH), "it fills the image"


@pytest.mark.parametrize(("n_nodes", "per_node", "per_leaf"), SIZES)
def test_names_are_large_enough_and_lie_over_nothing(n_nodes, per_node, per_leaf):
    given = machine(n_nodes, per_node, per_leaf)
    flat = plan(given)
    boxes = np.array([text_box(text) for text in flat.texts])
    cells = placed(flat, given.parts, given.part_node, "machine")
    assert not overlaps(boxes)
    names = boxes[[not text.text.isdigit() for text in flat.texts]]
    for box in names:
        assert not overlaps(np.concatenate([box[None], cells[:: len(ROWS)]])) or len(cells) == 0
    assert min(text.height for text in flat.texts) >= CAPITALS[0] * flat.pixel - 1e-9


def test_ranks_are_at_least_8_pixels_wide_in_as_many_lines_as_that_takes():
    for n_nodes, n_lines in ((1, 1), (8, 1), (16, 2), (32, 3)):
        flat = plan(machine(n_nodes, 8))
        assert len(flat.lines) == n_lines
        assert (flat.right - flat.left).min() / 8 >= 8 * flat.pixel


def test_numbers_of_ranks_are_inside_their_cells_or_not_there():
    given = machine(4, 8)
    flat = plan(given)
    cells = placed(flat, given.ranks, given.rank_node, "ranks")
    numbers = [text_box(text) for text in flat.texts if text.text.isdigit()]
    assert len(numbers) == len(given.rank) and not flat.merged
    for (left, right, low, high), cell in zip(numbers, cells):
        assert cell[0] < left and right < cell[1] and cell[2] < low and high < cell[3]
    crowded = plan(machine(1, 128))
    assert crowded.merged and not any(text.text.isdigit() for text in crowded.texts)


def test_value_takes_the_room_of_a_number_that_is_not_there():
    given = machine(1, 128)
    flat = plan(given)
    value = given.ranks - [0, 0, 1, 1]  # below the number
    np.testing.assert_allclose(
        placed(flat, value, given.rank_node, "measurements"),
        placed(flat, given.ranks, given.rank_node, "ranks"),
    )


def test_cores_without_ranks_take_hardly_any_room():
    given = machine(2, 4, cores=64)
    given.ranks[given.rank % 2 == 1, :2] += PLANE / 2  # in the other package
    flat = plan(given)
    ranks = placed(flat, given.ranks, given.rank_node, "ranks")
    assert (ranks[:, 1] - ranks[:, 0]).sum() > 0.85 * (flat.right - flat.left).sum()


def test_nodes_of_a_switch_are_neighbours_and_the_spine_spans_all():
    given = machine(16, 8, 4)
    flat = plan(given)
    for leaf in range(4):
        mine = np.flatnonzero(given.below[leaf])
        assert np.ptp(flat.base[mine]) == 0
        between = (flat.left > flat.left[mine].min()) & (flat.right < flat.right[mine].max())
        between &= flat.base == flat.base[mine[0]]
        assert set(np.flatnonzero(between)) <= set(mine)
    spine = flat.bars[flat.bars[:, 0] == 4]
    assert len(spine) == 1
    assert spine[0, 1] == flat.left.min() and spine[0, 2] == pytest.approx(flat.right.max())


def test_host_names_are_whole_or_not_there():
    hosts = {text.text for text in plan(machine(16, 8)).texts}
    assert {f"n{n:03d}" for n in range(16)} <= hosts
    long = plan(machine(16, 8, host="compute-node-{:03d}.cluster.example.org"))
    assert not any(text.text.startswith("comp") for text in long.texts)


def test_messages_run_below_one_line_and_between_several():
    for n_nodes in (4, 64):
        given = machine(n_nodes, 8)
        flat = plan(given)
        ends = flat.moved(np.array([[3.0, 0.0, 0.0], [9.0, -5.0, 0.0]]), np.array([0.0, n_nodes - 1.0]))
        assert flat.base[0] == ends[0, 1] and ends[1, 1] < flat.base[-1]
        for low, high in itertools.pairwise(sorted(set(flat.base.tolist()))):
            below = flat.moved(np.array([[3.0, -5.0, 0.0]]), np.flatnonzero(flat.base == high)[:1])
            assert below[0, 1] > max(box[3] for box in flat.lines.tolist() if box[2] == low)


def test_machine_of_which_only_ranks_are_known_has_a_plan():
    given = machine(2, 3)
    bare = Machine(
        given.ranks, given.rank_node, given.rank, np.zeros((0, 4)), np.zeros(0, int), [], ["", ""],
        given.below, given.level, [], 0.0,
    )  # fmt: skip
    flat = plan(bare)
    assert np.isfinite(flat.box).all() and (flat.right > flat.left).all()
