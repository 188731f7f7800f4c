# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations in the machine picture: a row of bars on rails for each communicator.

Messages are oblique tapered tubes between two ranks. A collective operation has no two ends, so it gets
no line: below the messages lies a row for each communicator, a rail along its ranks with a bar up for the
bytes that a rank gives, and a bar down for those that it gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkPolyData

from perfield.fields.table import CALL_NAMES
from perfield.text import counted, in_bytes, shortened
from perfield.topology import Cells, Grid

from .topology_polydata import attach, attach_names, attach_nodes, bars_and_lines

if TYPE_CHECKING:
    from perfield.run import Frame
    from perfield.run.collectives import Communicator

ROWS = 4  # of communicators; all others share one more
NAMED_CALLS = 3  # of a row, in words
HALF = 0.75  # length of the longest bar, in rows of the machine
PITCH = 2.0  # between two rows
GAP = 0.5  # between the messages and the first row
RAIL = 0.04  # half of a rail's thickness
WIDEST = 0.7  # bar
FEWEST, MOST = 1e0, 1e9  # bytes of the shortest and the longest bar
LETTERS = 16  # of a row's name beside the first plane
GIVES, GETS, IS_RAIL = 0, 1, 2
DIRECTIONS = ("gives", "gets", "rail")
CALLS = ("none", *(CALL_NAMES[number] for number in sorted(CALL_NAMES)))
WORDS = "rows of bars: collective operations of a communicator, up what a rank gives, down what it gets"
NO_WORDS = "lower rows: communicators, which have no collective operation here"


@dataclass(frozen=True)
class CommunicatorRow:
    """A row of the picture. words : which communicators. communicators : two of them share all ranks
    or none, but where they are the rest, which has no rail."""

    words: str
    communicators: tuple[Communicator, ...]
    is_rest: bool = False


def rows_of(communicators: Sequence[Communicator], n_ranks: int) -> list[CommunicatorRow]:
    """The rows of communicators, in their order.

    Communicators of the same ranks share a row, and those of equal size without a common rank. Those of one
    rank exchange nothing and have none. What goes beyond ROWS, and what is not a single communicator, is the
    rest.
    """
    rows: list[tuple[int, list[Communicator], np.ndarray]] = []
    rest = []
    of_ranks: dict[bytes, list[Communicator]] = {}
    for one in communicators:
        inside = one.members[(one.members >= 0) & (one.members < n_ranks)]
        if one.size < 2 or not len(inside):
            continue
        alike = of_ranks.get(_ranks(one, n_ranks))
        if alike is not None and not one.clash:
            alike.append(one)
            continue
        row = next((r for r in rows if r[0] == one.size and not r[2][inside].any()), None)
        if one.clash or (row is None and len(rows) == ROWS):
            rest.append(one)
            continue
        if row is None:
            row = one.size, [], np.zeros(n_ranks, bool)
            rows.append(row)
        row[1].append(one)
        row[2][inside] = True
        of_ranks[_ranks(one, n_ranks)] = row[1]
    made = [CommunicatorRow(_row_words(members, size), tuple(members)) for size, members, _ in rows]
    if rest:
        made.append(CommunicatorRow(f"{len(rest):,} others", tuple(rest), True))
    return made


def _ranks(one: Communicator, n_ranks: int) -> bytes:
    """The same for communicators of the same ranks of a run, in any order."""
    return np.unique(one.members[(one.members >= 0) & (one.members < n_ranks)]).tobytes()


def _row_words(members: Sequence[Communicator], size: int) -> str:
    if len(members) > 1 and len({np.sort(one.members).tobytes() for one in members}) == 1:
        return f"{' '.join(members[0].in_words.split())} (and {len(members) - 1:,} more of these ranks)"
    labels = {" ".join(one.label.split()) for one in members}
    if len(members) == 1:
        return " ".join(members[0].in_words.split())
    many = f"{len(members):,} communicators of {counted(size, 'rank')}"
    return f"{labels.pop()} ({many})" if len(labels) == 1 and labels != {""} else many


def short_name(row: CommunicatorRow) -> str:
    """The name of a row that fits beside the first plane."""
    n_ranks = row.communicators[0].size
    several = f"{len(row.communicators):,} x {counted(n_ranks, 'rank')}"
    begins_with_number = row.words.startswith(f"{len(row.communicators):,} communicators")
    return several if begins_with_number else shortened(row.words.partition(" (")[0], LETTERS)


def clashes(communicators: Sequence[Communicator]) -> list[str]:
    """A sentence for each name that several communicators use."""
    return [f"{one.clash}; they are not drawn as one." for one in communicators if one.clash]


class CollectiveBars:
    """The layer of collective operations of all frames: where its rails and bars are.

    rows : of the picture. heights : y of each row's rail. depth : how far below the messages the layer goes.
    """

    def __init__(self, communicators: Sequence[Communicator], cells: Cells, comm_offset: float):
        """comm_offset : how far the lines of messages go below the planes."""
        self.rows = rows_of(communicators, cells.n_ranks)
        self.heights = [-comm_offset - GAP - HALF - PITCH * n for n in range(len(self.rows))]
        self.depth = GAP + 2 * HALF + PITCH * (len(self.rows) - 1) if self.rows else 0.0
        places = np.full(cells.n_ranks, -1)
        places[cells.rank] = np.arange(len(cells.rank))
        of_cell = np.arange(cells.measurements.start, cells.measurements.stop)
        node, z = cells.node[of_cell], cells.z[of_cell]
        half = _half_width(cells.line_x, node)
        self._sums = _Sums(self.rows, places)
        self._x, self._z, self._node = (column[self._sums.place] for column in (cells.line_x, z, node))
        self._half = half[self._sums.place]
        self._y = np.array(self.heights)[self._sums.row] if self.rows else np.zeros(0)
        self._rails, self._links = self._tracks()

    def layer(self, frame: Frame) -> vtkPolyData:
        """The layer of a frame; without cells if the run describes no communicator.

        Cells: lines that join the rails of nodes, rails, bars of what ranks give, bars of what they get. Cell
        arrays: direction (0 gives, 1 gets, 2 rail), row, communicator (a number), rank (-1 for rails), call
        (with most bytes), collective_count, and collective_bytes, NaN for rails. `<array>_names` in the field
        data explain numbers; in_words says what the rows hold.
        """
        sums = self._sums.of(frame)
        n_entries = len(self._x)
        boxes = np.empty((2, n_entries, 4))
        for way, sign in ((GIVES, 1), (GETS, -1)):
            ends = np.stack([np.full(n_entries, sign * RAIL), sign * _length(sums.moved[way])])
            boxes[way] = np.stack(
                [self._x - self._half, self._x + self._half, *(np.sort(ends, axis=0) + self._y)], axis=1
            )
        rails, links = self._rails, self._links
        all_boxes = np.concatenate([rails.boxes, boxes[GIVES], boxes[GETS]])
        dataset = bars_and_lines(links.ends, all_boxes, np.concatenate([rails.z, np.tile(self._z, 2)]))
        attach_nodes(
            dataset,
            np.concatenate(
                [links.nodes.ravel(), np.repeat(np.append(rails.node, np.tile(self._node, 2)), 4)]
            ),
        )
        tracks = np.concatenate([links.entry, rails.entry])
        n_tracks = len(tracks)
        both = np.tile(np.arange(n_entries), 2)
        attach(
            dataset,
            {
                "direction": np.repeat([IS_RAIL, GIVES, GETS], [n_tracks, n_entries, n_entries]).astype("i4"),
                "row": np.append(self._sums.row[tracks], self._sums.row[both]).astype("i4"),
                "communicator": np.append(
                    self._sums.communicator[tracks], self._sums.communicator[both]
                ).astype("i4"),
                "rank": np.append(np.full(n_tracks, -1), self._sums.rank[both]).astype("i4"),
                "call": np.append(np.zeros(n_tracks), sums.call[both]).astype("i4"),
                "collective_count": np.append(np.full(n_tracks, np.nan), sums.count[both]),
                "collective_bytes": np.concatenate([np.full(n_tracks, np.nan), *sums.moved]),
            },
        )
        attach_names(dataset, "direction_names", DIRECTIONS)
        attach_names(dataset, "row_names", [row.words for row in self.rows])
        attach_names(dataset, "communicator_names", self._sums.names)
        attach_names(dataset, "call_names", CALLS)
        attach_names(dataset, "in_words", [sums.words] if n_entries and sums.words else [])
        return dataset

    def _tracks(self) -> tuple[_Rails, _Links]:
        """The rails of each communicator in each node, and the lines that join them.

        There is no rail where another communicator of the row lies between its ranks, and in the rest.
        """
        rest = np.array([row.is_rest for row in self.rows], bool)
        order = np.lexsort((self._x, self._node, self._sums.row))
        key = np.stack([self._sums.row, self._node, self._sums.communicator])[:, order]
        begin = np.flatnonzero(np.append(True, (key[:, 1:] != key[:, :-1]).any(axis=0))[: len(order)])
        end = np.append(begin[1:], len(order))[: len(begin)]
        _, which, times = np.unique(key[:, begin], axis=1, return_inverse=True, return_counts=True)
        keep = (times[np.ravel(which)] == 1) & ~rest[key[0, begin]] if len(begin) else np.zeros(0, bool)
        first, last = order[begin[keep]], order[end[keep] - 1]
        left, right = self._x[first] - self._half[first], self._x[last] + self._half[last]
        y, z = self._y[first], self._z[first]
        rails = _Rails(np.stack([left, right, y - RAIL, y + RAIL], axis=1), z, self._node[first], first)
        same = self._sums.communicator[first]
        along = np.lexsort((self._node[first], same))
        here, there = along[:-1], along[1:]
        joined = same[here] == same[there]
        here, there = here[joined], there[joined]
        ends = np.empty((len(here), 2, 3))
        for place, rail in enumerate((here, there)):
            ends[:, place] = np.stack([left[rail], y[rail], z[rail]], axis=1)
        nodes = np.stack([rails.node[here], rails.node[there]], axis=1)
        return rails, _Links(ends, nodes, first[here])


@dataclass(frozen=True)
class _Rails:
    """boxes : (n, 4) left, right, low, high. z, node : (n,). entry : (n,), a bar above each."""

    boxes: np.ndarray
    z: np.ndarray
    node: np.ndarray
    entry: np.ndarray


@dataclass(frozen=True)
class _Links:
    """ends : (n, 2, 3). nodes : (n, 2). entry : (n,), a bar of each one's communicator."""

    ends: np.ndarray
    nodes: np.ndarray
    entry: np.ndarray


@dataclass(frozen=True)
class _OfFrame:
    """moved : (2, n) bytes that each bar's rank gives and gets. count, call : (n,). words : of the frame."""

    moved: np.ndarray
    count: np.ndarray
    call: np.ndarray
    words: str


class _Sums:
    """Adds up a frame's operations by row and rank.

    row, rank, place, communicator : int (n,), of each bar: its row, its world rank, the rank's place in the
    table of cells, and its communicator's number. names : of the communicators.
    """

    def __init__(self, rows: Sequence[CommunicatorRow], places: np.ndarray):
        """places : of all ranks; -1 for ranks without one."""
        self._rows = rows
        parts, self.names, self._row_of = [np.zeros((3, 0), np.int64)], [], {}
        for number, row in enumerate(rows):
            seen = set()
            for one in row.communicators:
                self._row_of[one.name] = number
                if not row.is_rest and _ranks(one, len(places)) in seen:
                    continue  # added up with the other one
                seen.add(_ranks(one, len(places)))
                inside = one.members[(one.members >= 0) & (one.members < len(places))]
                inside = np.unique(inside[places[inside] >= 0])
                if not row.is_rest:
                    parts.append(
                        np.stack(
                            [np.full(len(inside), number), inside, np.full(len(inside), len(self.names))]
                        )
                    )
                    self.names.append(one.in_words)
                else:
                    parts.append(np.stack([np.full(len(inside), number), inside, np.full(len(inside), -1)]))
            if row.is_rest:
                parts[-1] = np.where(parts[-1] < 0, len(self.names), parts[-1])
                self.names.append(row.words)
        entries = np.concatenate(parts, axis=1)
        entries[2] = np.where(entries[2] < 0, max(len(self.names) - 1, 0), entries[2])
        entries = np.unique(entries, axis=1)
        self.row, self.rank, self.communicator = entries
        self.place = places[self.rank] if len(self.rank) else self.rank
        self._key = self.row << 32 | self.rank

    def of(self, frame: Frame) -> _OfFrame:
        """The sums of a frame."""
        n_entries = len(self._key)
        table = frame.collectives
        moved, count, call = np.zeros((2, n_entries)), np.zeros(n_entries), np.zeros(n_entries, np.int64)
        if table is None or not n_entries:
            return _OfFrame(moved, count, call, "")
        names = np.array(sorted(self._row_of), np.int64)
        at = np.minimum(np.searchsorted(names, table["communicator"]), len(names) - 1)
        row_of = np.array([self._row_of[name] for name in names[at].tolist()], dtype=np.int64)
        row = np.where(names[at] == table["communicator"], row_of, -1)
        key = row << 32 | table["rank"].astype(np.int64)
        entry = np.minimum(np.searchsorted(self._key, key), n_entries - 1)
        known = (row >= 0) & (self._key[entry] == key)
        rows, entry, row = table[known], entry[known], row[known]
        out, into = rows["bytes_out"].astype(float), rows["bytes_in"].astype(float)
        moved[GIVES], moved[GETS] = np.bincount(entry, out, n_entries), np.bincount(entry, into, n_entries)
        count = np.bincount(entry, rows["count"].astype(float), n_entries)
        numbers = np.array([CALLS.index(name) if name in CALLS else 0 for name in rows["call"].tolist()], int)
        order = np.argsort(out + into, kind="stable")  # the last one with most bytes stays
        call[entry[order]] = numbers[order]
        return _OfFrame(moved, count, call, self._words(rows, row, out + into, table[~known]))

    def _words(self, rows: np.ndarray, row: np.ndarray, size: np.ndarray, others: np.ndarray) -> str:
        """What the rows hold, from the top."""
        named = []
        for number, about in enumerate(self._rows):
            here = row == number
            calls = {
                name: float(size[here & (rows["call"] == name)].sum()) for name in set(rows["call"][here])
            }
            most = sorted(calls, key=lambda name: (-calls[name], name))
            parts = [f"{name} {in_bytes(calls[name])}" for name in most[:NAMED_CALLS]]
            parts += [f"{len(most) - NAMED_CALLS} more"] * (len(most) > NAMED_CALLS)
            if parts:
                named.append(f"{about.words}: {', '.join(parts)}")
        left_out = float(others["bytes_out"].sum() + others["bytes_in"].sum())
        words = f"{WORDS}; both together, from the top: {'; '.join(named)}" if named else NO_WORDS
        if left_out > 0:
            words += f"; not drawn: {in_bytes(left_out)} in communicators of one rank, or not described"
        return words


def _length(size: np.ndarray) -> np.ndarray:
    """Lengths of bars, from the rail's middle; as short as the rail without bytes."""
    grown = np.log10(np.clip(size, FEWEST, MOST) / FEWEST) / np.log10(MOST / FEWEST)
    return np.where(size > 0, RAIL + (HALF - RAIL) * np.maximum(grown, 0.1), RAIL)


def _half_width(x: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Half of the width of each rank's bars: neighbours of a node do not touch."""
    half = np.full(len(x), WIDEST / 2)
    order = np.lexsort((x, node))
    step = np.where(np.diff(node[order]) == 0, np.diff(x[order]), np.inf)
    least = np.full(int(node.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, node[order][1:], np.where(step > 1e-6, step, np.inf))
    return np.minimum(half, 0.42 * least[node]) if len(x) else half


DIAMOND = 0.3  # half of the largest diamond of an overview, in cells


def overview_layer(
    frame: Frame, node_id: np.ndarray, places: Grid, communicators: Sequence[Communicator], z: float
) -> vtkPolyData:
    """One bar up and one down in each node's cell: the bytes that its ranks give and get together.

    node_id : of each rank, -1 without a place. Cell arrays as in `CollectiveBars.layer`, with node_id.
    """
    n_nodes = len(places.x)
    table = frame.collectives
    some = {one.name for one in communicators if one.size > 1}
    if table is None or not some:
        return attach_nodes(bars_and_lines(np.zeros((0, 2, 3)), np.zeros((0, 4)), np.zeros(0)), np.zeros(0))
    table = table[np.isin(table["communicator"], list(some))]
    node = node_id[table["rank"]]
    table, node = table[node >= 0], node[node >= 0]
    moved = [np.bincount(node, table[name].astype(float), n_nodes) for name in ("bytes_out", "bytes_in")]
    count = np.bincount(node, table["count"].astype(float), n_nodes)
    boxes = []
    for sign, size in zip((1, -1), moved):
        ends = np.sort(np.stack([np.zeros(n_nodes), sign * _length(size) * DIAMOND / HALF]), axis=0)
        boxes.append(np.stack([places.x - 0.08, places.x + 0.08, *(ends + places.y)], axis=1))
    dataset = bars_and_lines(np.zeros((0, 2, 3)), np.concatenate(boxes), np.full(2 * n_nodes, z))
    nodes = np.tile(np.arange(n_nodes), 2)
    attach_nodes(dataset, np.repeat(nodes, 4))
    arrays = {"direction": np.repeat([GIVES, GETS], n_nodes).astype("i4"), "node_id": nodes.astype("i4")}
    attach(
        dataset, {**arrays, "collective_count": np.tile(count, 2), "collective_bytes": np.concatenate(moved)}
    )
    attach_names(dataset, "direction_names", DIRECTIONS)
    words = (
        f"bars on nodes: collective operations of {counted(len(some), 'communicator')}, up what the ranks "
    )
    attach_names(dataset, "in_words", [f"{words}give ({in_bytes(moved[0].sum())}), down what they get"])
    return dataset
