# SPDX-License-Identifier: BSD-3-Clause
"""Layouts of the machine picture: each moves whole nodes, and all layers stay joined."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from perfield.catalyst_scripts.layouts import LAYOUTS, Sizes, direction, has_letters, moved

MOVING = [layout for layout in LAYOUTS if layout not in ("flat", "planes")]  # whole nodes


def sizes(n_nodes: int, comm_offset: float = 5.0, switch=None, z=None) -> Sizes:
    z = np.arange(n_nodes) * 3.0 if z is None else np.array(z, float)
    return Sizes(z, 24.0, 10.0, comm_offset, np.zeros(n_nodes, int) if switch is None else np.array(switch))


def corners(of: Sizes, node_id: float) -> np.ndarray:
    """The corners of a node's plane, and the ends of lines below it."""
    x, y = np.meshgrid([0.0, of.width], [-of.comm_offset, 0.0, of.top])
    return np.stack([x.ravel(), y.ravel(), np.full(6, of.at(np.array(node_id)))], axis=1)


def node(layout: str, of: Sizes, node_id: int, layer: str = "") -> np.ndarray:
    return moved(layout, of, corners(of, node_id), np.full(6, node_id), layer)


@pytest.mark.parametrize("n_nodes", [1, 2, 5, 16])
def test_ring_is_the_formula_of_the_thesis(n_nodes):
    of = sizes(n_nodes)
    for number in range(-1, n_nodes + 1):
        x, y, _ = corners(of, number).T
        turn = 2 * np.pi / n_nodes * number
        expected = np.stack([(x + n_nodes) * np.cos(turn), y, (x + n_nodes) * np.sin(turn)], axis=1)
        np.testing.assert_allclose(node("ring", of, number), expected, atol=1e-9)


@pytest.mark.parametrize("comm_offset", [0.5, 5.0, 12.0])
def test_double_ring_is_both_formulas_with_a_constant_above_comm_offset(comm_offset):
    of, constant = sizes(6, comm_offset), comm_offset + 2.0
    for number in range(-1, 7):
        x, y, _ = corners(of, number).T
        turn = 2 * np.pi / 6 * number
        assert (y + constant).min() > 0
        radius = y + constant + 6
        expected = np.stack([radius * np.cos(turn), -x, radius * np.sin(turn)], axis=1)
        np.testing.assert_allclose(node("double-ring", of, number), expected, atol=1e-9)


@pytest.mark.parametrize("layout", MOVING)
@pytest.mark.parametrize("n_nodes", [1, 4, 13, 256])
def test_nodes_stay_rigid(layout, n_nodes):
    of = sizes(n_nodes, switch=np.arange(n_nodes) // 4)
    for number in {0, n_nodes // 2, n_nodes - 1}:
        points = corners(of, number)
        points[::2, 2] += 0.05  # letters are a little in front
        after = moved(layout, of, points, np.full(6, number))
        for one, other in itertools.combinations(range(6), 2):
            apart = np.linalg.norm(points[one] - points[other])
            assert np.linalg.norm(after[one] - after[other]) == pytest.approx(apart, abs=1e-9)


@pytest.mark.parametrize("layout", ["side-by-side", "fat-tree"])
@pytest.mark.parametrize("n_nodes", [4, 13])
def test_no_node_hides_another_from_the_front(layout, n_nodes):
    of = sizes(n_nodes, switch=np.arange(n_nodes) // 5)
    boxes = [
        (box[:, :2].min(axis=0), box[:, :2].max(axis=0))
        for box in map(lambda n: node(layout, of, n), range(n_nodes))
    ]
    for (low, high), (other_low, other_high) in itertools.combinations(boxes, 2):
        assert (high <= other_low).any() or (other_high <= low).any()
    assert direction(layout, n_nodes) == (0.0, 0.0, -1.0)


def test_gap_between_switches_shows_in_the_ring():
    of = sizes(4, z=[0, 3, 9, 12])
    turn = of.turn(np.arange(5))
    np.testing.assert_allclose(np.diff(turn), np.array([3, 6, 3, 6]) / 18 * 2 * np.pi)


def test_inner_radius_is_the_number_of_nodes_and_grows_slower_beyond_32():
    assert [sizes(n).inner for n in (1, 4, 32, 33, 80)] == [1, 4, 32, 32, 32]
    assert sizes(256).inner == pytest.approx(256 * 2.5 / (2 * np.pi))


@pytest.mark.parametrize("n_nodes", [4, 8, 16, 256])
def test_lines_of_a_periodic_grid_are_as_short_across_the_edges_of_the_torus(n_nodes):
    of = sizes(n_nodes)
    groups, members = of.grid()
    assert groups * members == n_nodes
    below = np.stack([node("torus", of, number)[0] for number in range(n_nodes)]).reshape(groups, members, 3)
    for axis in (0, 1):
        lengths = np.linalg.norm(below - np.roll(below, 1, axis=axis), axis=2)
        np.testing.assert_allclose(lengths, np.broadcast_to(lengths.take([1], axis=axis), lengths.shape))


@pytest.mark.parametrize(
    ("n_nodes", "grid"), [(1, (1, 1)), (7, (3, 3)), (13, (4, 4)), (24, (4, 6)), (254, (16, 16))]
)
def test_torus_is_nearly_square(n_nodes, grid):
    assert sizes(n_nodes).grid() == grid


def test_periodic_ends_meet_their_node_in_rings_and_leave_rows():
    of = sizes(6)
    for layout in ("ring", "double-ring", "torus"):
        np.testing.assert_allclose(node(layout, of, -1), node(layout, of, 5), atol=1e-9)
        np.testing.assert_allclose(node(layout, of, 6), node(layout, of, 0), atol=1e-9)
    for layout in ("side-by-side", "fat-tree"):
        assert node(layout, of, -1)[:, 0].min() < node(layout, of, 0)[:, 0].min()
        assert node(layout, of, 6)[:, 0].max() > node(layout, of, 5)[:, 0].max()


def test_fat_tree_puts_nodes_below_their_switch():
    of = sizes(6, switch=[0, 0, 0, 1, 1, 1])
    for members in ((0, 1, 2), (3, 4, 5)):
        ends = np.array([[0.0, 16.0, 0.0], [0.0, 16.0, 0.0]])
        bar = moved("fat-tree", of, ends, np.array([members[0] - 0.1, members[-1] + 0.1]), "switches")
        nodes = np.concatenate([node("fat-tree", of, number) for number in members])
        assert bar[0, 0] <= nodes[:, 0].min() and nodes[:, 0].max() <= bar[1, 0]
        assert nodes[:, 1].max() < bar[:, 1].min()
    link = moved("fat-tree", of, np.array([[0.0, 10.0, 6.0], [0.0, 15.0, 6.0]]), np.array([2, 2]), "links")
    assert link[0, 0] == link[1, 0] < node("fat-tree", of, 2)[:, 0].min()
    assert link[0, 1] == pytest.approx(node("fat-tree", of, 2)[:, 1].max())


def test_unknown_layout_names_those_that_exist():
    with pytest.raises(
        ValueError, match=r"layout 'rnig' is unknown; choose one of: flat, planes, ring, double-ring"
    ):
        moved("rnig", sizes(2), np.zeros((1, 3)), np.zeros(1))


def test_rows_have_names_at_the_plane_where_they_are_legible():
    assert has_letters("planes", 4) and has_letters("side-by-side", 4)
    assert (
        not has_letters("planes", 16) and not has_letters("side-by-side", 16) and not has_letters("ring", 2)
    )
