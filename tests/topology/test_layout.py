# SPDX-License-Identifier: BSD-3-Clause
"""The table of the topology picture, compared cell by cell with pictures drawn by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfield.topology import LEVELS, Network, flat_machine, layout, place, read_machine, table

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"

# n1 (z = 0)                                n2 (z = 5)
# y=6  [              n1                 ]  [              n2                 ]
# y=5  [ package 0      ]                                     [ package 1     ]
# y=4  [ 0 ][ 1 ][ 2 ][ 3 ]   cores                           [ 4 ][ 5 ][ 6 ][ 7 ]
# y=3  [ 0 ][ 1 ][ 2 ][ 3 ]   PUs                             [ 4 ][ 5 ][ 6 ][ 7 ]
# 1.5  rank 0 to 3                                            rank 4 to 7
# x    1.5  4.5  7.5  10.5                                    13.5 16.5 19.5 22.5     (8 PUs on 24 units)
ONE_RANK_PER_CORE_ON_HALF_OF_THE_MACHINE = """
node        | n1            | 12   6   0 |
package     | n1 package 0  | 6    5   0 | n1
core        | n1 core 0     | 1.5  4   0 | n1 package 0
core        | n1 core 1     | 4.5  4   0 | n1 package 0
core        | n1 core 2     | 7.5  4   0 | n1 package 0
core        | n1 core 3     | 10.5 4   0 | n1 package 0
pu          | n1 pu 0       | 1.5  3   0 | n1 core 0
pu          | n1 pu 1       | 4.5  3   0 | n1 core 1
pu          | n1 pu 2       | 7.5  3   0 | n1 core 2
pu          | n1 pu 3       | 10.5 3   0 | n1 core 3
node        | n2            | 12   6   5 |
package     | n2 package 1  | 18   5   5 | n2
core        | n2 core 4     | 13.5 4   5 | n2 package 1
core        | n2 core 5     | 16.5 4   5 | n2 package 1
core        | n2 core 6     | 19.5 4   5 | n2 package 1
core        | n2 core 7     | 22.5 4   5 | n2 package 1
pu          | n2 pu 4       | 13.5 3   5 | n2 core 4
pu          | n2 pu 5       | 16.5 3   5 | n2 core 5
pu          | n2 pu 6       | 19.5 3   5 | n2 core 6
pu          | n2 pu 7       | 22.5 3   5 | n2 core 7
rank        | rank 0        | 1.5  1.5 0 | n1 pu 0
rank        | rank 1        | 4.5  1.5 0 | n1 pu 1
rank        | rank 2        | 7.5  1.5 0 | n1 pu 2
rank        | rank 3        | 10.5 1.5 0 | n1 pu 3
rank        | rank 4        | 13.5 1.5 5 | n2 pu 4
rank        | rank 5        | 16.5 1.5 5 | n2 pu 5
rank        | rank 6        | 19.5 1.5 5 | n2 pu 6
rank        | rank 7        | 22.5 1.5 5 | n2 pu 7
measurement | measurement 0 | 1.5  0.5 0 | rank 0
measurement | measurement 1 | 4.5  0.5 0 | rank 1
measurement | measurement 2 | 7.5  0.5 0 | rank 2
measurement | measurement 3 | 10.5 0.5 0 | rank 3
measurement | measurement 4 | 13.5 0.5 5 | rank 4
measurement | measurement 5 | 16.5 0.5 5 | rank 5
measurement | measurement 6 | 19.5 0.5 5 | rank 6
measurement | measurement 7 | 22.5 0.5 5 | rank 7
"""

# Two packages with 2 L3 caches each, 2 cores under each, 2 PUs in each: 16 PUs of 1.5 units.
# n2 comes before n10. On n2: rank 3 on both PUs of core 0, rank 1 on PU 2 of core 1, rank 2 on PU 15 of
# core 7. On n10: ranks 0 and 4 may both run on all four PUs of L3 cache 2 (x from 12 to 18), so they divide
# the space below these, in a row below the row of the ranks that are bound to a core.
UNBALANCED_PACKAGES = """
node        | n2            | 12    9   0 |
package     | n2 package 0  | 6     8   0 | n2
package     | n2 package 1  | 18    8   0 | n2
l3          | n2 l3 0       | 3     7   0 | n2 package 0
l3          | n2 l3 3       | 21    7   0 | n2 package 1
core        | n2 core 0     | 1.5   6   0 | n2 l3 0
core        | n2 core 1     | 4.5   6   0 | n2 l3 0
core        | n2 core 7     | 22.5  6   0 | n2 l3 3
pu          | n2 pu 0       | 0.75  5   0 | n2 core 0
pu          | n2 pu 1       | 2.25  5   0 | n2 core 0
pu          | n2 pu 2       | 3.75  5   0 | n2 core 1
pu          | n2 pu 15      | 23.25 5   0 | n2 core 7
node        | n10           | 12    9   5 |
package     | n10 package 1 | 18    8   5 | n10
l3          | n10 l3 2      | 15    7   5 | n10 package 1
core        | n10 core 4    | 13.5  6   5 | n10 l3 2
core        | n10 core 5    | 16.5  6   5 | n10 l3 2
pu          | n10 pu 8      | 12.75 5   5 | n10 core 4
pu          | n10 pu 9      | 14.25 5   5 | n10 core 4
pu          | n10 pu 10     | 15.75 5   5 | n10 core 5
pu          | n10 pu 11     | 17.25 5   5 | n10 core 5
rank        | rank 0        | 13.5  1.5 5 | n10 l3 2
rank        | rank 1        | 3.75  3.5 0 | n2 pu 2
rank        | rank 2        | 23.25 3.5 0 | n2 pu 15
rank        | rank 3        | 1.5   3.5 0 | n2 core 0
rank        | rank 4        | 16.5  1.5 5 | n10 l3 2
measurement | measurement 0 | 13.5  0.5 5 | rank 0
measurement | measurement 1 | 3.75  2.5 0 | rank 1
measurement | measurement 2 | 23.25 2.5 0 | rank 2
measurement | measurement 3 | 1.5   2.5 0 | rank 3
measurement | measurement 4 | 16.5  0.5 5 | rank 4
"""


# One package of 12 cores, 2 units each, 6 under each of 2 L3 caches: rank 0 spans the six PUs of the
# second one. No rank is in a core, so there is no row of them.
ONE_HYBRID_RANK_OVER_6_PUS = """
node        | n             | 12 6   0 |
package     | n package 0   | 12 5   0 | n
l3          | n l3 1        | 18 4   0 | n package 0
pu          | n pu 6        | 13 3   0 | n l3 1
pu          | n pu 7        | 15 3   0 | n l3 1
pu          | n pu 8        | 17 3   0 | n l3 1
pu          | n pu 9        | 19 3   0 | n l3 1
pu          | n pu 10       | 21 3   0 | n l3 1
pu          | n pu 11       | 23 3   0 | n l3 1
rank        | rank 0        | 18 1.5 0 | n l3 1
measurement | measurement 0 | 18 0.5 0 | rank 0
"""


def rows_of(drawing: str) -> list[tuple]:
    """The rows of a drawn table."""
    rows = []
    for line in drawing.strip().splitlines():
        level, name, position, parent = (field.strip() for field in line.split("|"))
        rows.append((level, name, *map(float, position.split()), parent))
    return rows


def placed(machine, *places: tuple[str, str]):
    """The placement of ranks on (host, cpuset), all on equal machines."""
    if isinstance(machine, str):
        machine = read_machine(MACHINES / f"{machine}.xml")
    ranks = [{"host": host, "boot_id": host, "cpuset": cpuset} for host, cpuset in places]
    return place(ranks, {host: machine for host, _ in places})


def laid_out(placement, **options):
    """The cells with nodes 5 apart, as in the drawings."""
    return layout(placement, inter_node_offset=5, **options)


@pytest.mark.parametrize(
    ("machine", "places", "drawing"),
    [
        (
            "two-packages-4-cores",
            [("n1", str(i)) for i in range(4)] + [("n2", str(i)) for i in range(4, 8)],
            ONE_RANK_PER_CORE_ON_HALF_OF_THE_MACHINE,
        ),
        (
            "two-packages-2-l3-2-cores-2-pus",
            [("n10", "8-11"), ("n2", "2"), ("n2", "15"), ("n2", "0-1"), ("n10", "8-11")],
            UNBALANCED_PACKAGES,
        ),
        ("one-package-2-l3-6-cores", [("n", "6-11")], ONE_HYBRID_RANK_OVER_6_PUS),
    ],
    ids=["half of the machine", "unbalanced packages", "hybrid rank"],
)
def test_table_equals_hand_drawn_picture(machine, places, drawing):
    placement = placed(machine, *places)
    assert table(placement, laid_out(placement)) == rows_of(drawing)


def ranks_of(cells) -> tuple[np.ndarray, ...]:
    """Left and right end, bottom and top of the ranks' cells."""
    x, y, width, height = (part[cells.ranks] for part in (cells.x, cells.y, cells.width, cells.height))
    return x - width / 2, x + width / 2, y - height / 2, y + height / 2


def test_hybrid_rank_spans_its_pus():
    cells = laid_out(placed("one-package-2-l3-6-cores", ("n", "6-11")))
    assert cells.width[cells.ranks].tolist() == [12]
    assert cells.movable[cells.ranks].tolist() == [True]


def test_unbound_ranks_stand_side_by_side_below_the_pus_that_they_share():
    cells = laid_out(placed("two-packages-4-cores", *[("n", "0-7")] * 5))
    assert cells.width[cells.measurements].tolist() == pytest.approx([4.8] * 5)
    assert cells.movable[cells.ranks].all()
    assert cells.x[cells.ranks].tolist() == pytest.approx([2.4, 7.2, 12, 16.8, 21.6], rel=1e-12)
    assert cells.line_x.tolist() == pytest.approx(cells.x[cells.ranks].tolist(), rel=1e-12)
    assert len(set(cells.y[cells.ranks].tolist())) == 1
    assert np.all(cells.y[cells.measurements] < cells.y[cells.ranks])
    drawn = [LEVELS[level] for level in dict.fromkeys(cells.level)]
    assert drawn == ["node", "pu", "rank", "measurement"], "no rank is in any package or core"


def test_bound_ranks_stay_below_their_core_and_above_unbound_ones():
    cells = laid_out(placed("two-packages-4-cores", ("n", "0-7"), ("n", "3"), ("n", "0-7"), ("n", "5")))
    left, right, bottom, top = ranks_of(cells)
    assert left.tolist() == [0, 9, 12, 15]
    assert right.tolist() == [12, 12, 24, 18]
    assert bottom[1] == bottom[3] > top[0] == top[2]
    assert cells.movable[cells.ranks].tolist() == [True, False, True, False]


def test_ranks_on_one_core_are_side_by_side_below_it():
    cells = laid_out(placed("two-packages-2-l3-2-cores-2-pus", *[("n", c) for c in ("2-3", "2", "3", "2-3")]))
    left, right, bottom, _ = ranks_of(cells)
    assert left.tolist() == pytest.approx([3, 3.75, 5.25, 4.5])
    assert (right - left).tolist() == pytest.approx([0.75] * 4)
    assert len(set(bottom)) == 1
    assert not cells.movable.any()


def test_ranks_parent_is_smallest_part_with_all_its_pus():
    cpusets = ["0-15", "0-7", "0-3", "0-1", "2", "0,8", "3-4", "9-10"]
    placement = placed("two-packages-2-l3-2-cores-2-pus", *[(f"n{i % 2}", c) for i, c in enumerate(cpusets)])
    parents = {row[1]: row[5] for row in table(placement, laid_out(placement)) if row[0] == "rank"}
    expected = ["n0", "n1 package 0", "n0 l3 0", "n1 core 0", "n0 pu 2", "n1", "n0 package 0", "n1 l3 2"]
    assert parents == {f"rank {rank}": parent for rank, parent in enumerate(expected)}


def test_cells_of_ranks_never_overlap():
    random = np.random.default_rng(20)
    for _ in range(30):
        ends = np.sort(random.integers(0, 16, (40, 2)), axis=1)
        places = [(f"n{random.integers(3)}", f"{low}-{high}") for low, high in ends]
        cells = laid_out(placed("two-packages-2-l3-2-cores-2-pus", *places))
        left, right, bottom, top = ranks_of(cells)
        assert left.min() >= 0
        assert right.max() <= 24 + 1e-9
        node = cells.node[cells.ranks]
        apart = (right <= left[:, None] + 1e-9) | (top <= bottom[:, None] + 1e-9)
        apart |= apart.T | (node != node[:, None]) | np.eye(len(node), dtype=bool)
        assert apart.all(), places
        assert (cells.y - cells.height / 2)[cells.machine].min() >= top.max()


def test_cells_lie_below_their_parents():
    cells = laid_out(placed("two-packages-2-l3-2-cores-2-pus", *[("a", str(i)) for i in range(16)]))
    children = np.flatnonzero(cells.parent >= 0)
    parents = cells.parent[children]
    assert np.all(cells.y[children] < cells.y[parents])
    assert np.all(np.abs(cells.x[children] - cells.x[parents]) <= cells.width[parents] / 2)
    assert np.all(cells.z[children] == cells.z[parents])


def test_coinciding_levels_are_drawn_only_on_request():
    placement = placed("two-packages-4-cores", ("n", "0"))

    def drawn(cells):
        return [LEVELS[level] for level in dict.fromkeys(cells.level)]

    assert drawn(laid_out(placement)) == ["node", "package", "core", "pu", "rank", "measurement"]
    assert drawn(laid_out(placement, every_level=True)) == list(LEVELS)


def test_cache_of_several_numa_nodes_is_above_them():
    cells = laid_out(placed("two-packages-l3-around-2-numa", ("n", "0-7")), every_level=True)
    y_of = {LEVELS[level]: y for level, y in zip(cells.level, cells.y)}
    assert y_of["package"] > y_of["l3"] > y_of["numa"] > y_of["core"]


def test_smaller_machine_has_equal_pu_size_and_rows():
    ranks = [{"host": host, "boot_id": host, "cpuset": "0"} for host in ("a", "b", "c")]
    big = read_machine(MACHINES / "two-packages-2-l3-2-cores-2-pus.xml")
    small = read_machine(MACHINES / "two-packages-4-cores.xml")
    cells = laid_out(place(ranks, {"a": big, "b": small}))  # nothing is known of c
    pus = cells.level == LEVELS.index("pu")
    assert cells.width[pus].tolist() == [1.5, 1.5, 1.5]
    assert cells.y[pus].tolist() == [3, 3, 3]
    assert cells.width[cells.level == LEVELS.index("node")].tolist() == [24, 12, 1.5]


def test_planes_have_configured_distance_and_more_where_the_leaf_switch_changes():
    placement = placed(flat_machine({0}), ("a", "0"), ("b", "0"), ("c", "0"))
    assert layout(placement, inter_node_offset=7).node_z.tolist() == [0, 7, 14]
    network = Network(("left", "right"), (), {"a": 0, "b": 0, "c": 1})  # no switch of d and e is known
    ranks = [{"host": host, "boot_id": host, "cpuset": "0"} for host in "abcde"]
    assert layout(place(ranks, {}, network), 8).node_z.tolist() == [0, 8, 20, 32, 40]


def test_node_of_a_place_is_a_fraction_between_planes_and_beyond_them():
    cells = layout(placed(flat_machine({0}), ("a", "0"), ("b", "0"), ("c", "0")), 10)
    assert cells.node_at(np.array([0, 5, 20, -5, 25])).tolist() == [0, 0.5, 2, -0.5, 2.5]
    assert layout(placed(flat_machine({0}), ("a", "0")), 10).node_at(np.array([0, 3])).tolist() == [0, 0]


def test_distance_between_planes_is_chosen_by_their_number():
    def distance(n_nodes: int) -> float:
        hosts = [(f"n{node:03}", "0") for node in range(n_nodes)]
        return float(np.diff(layout(placed(flat_machine({0}), *hosts), 0).node_z)[0])

    assert distance(2) > distance(4) > distance(8) > 0
    assert distance(500) == 2.5


def test_ranks_without_a_place_are_left_out():
    placement = place([None, {"host": "n", "boot_id": "b", "cpuset": "0"}], {})
    cells = laid_out(placement)
    assert cells.rank.tolist() == [1]
    assert cells.n_ranks == 2
    for ranks in ([], [None]):
        placement = place(ranks, {})
        assert table(placement, laid_out(placement)) == []
