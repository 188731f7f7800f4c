# SPDX-License-Identifier: BSD-3-Clause
"""Plans the flat picture of the machine: each part below what holds it, seen from the front (an icicle).

From the top: switches, nodes, their parts, ranks and values. The nodes of a switch are side by side. Where
one line of nodes would make ranks too narrow there are several, as in a text. What no rank uses takes no room
across, and rows that repeat others none in height. It needs no ParaView.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

AREA = (0.015, 0.8, 0.17, 0.85)  # of an image, for the picture: left, right, bottom, top
WIDE, HIGH = 1280 * (AREA[1] - AREA[0]), 720 * (AREA[3] - AREA[2])  # its pixels in images of usual size
NARROWEST = (8.0, 6.0, 5.0, 4.0, 2.0, 1.0)  # pixels of a rank: the first that leaves rows this height:
LOWEST = 6.5
# Whether nodes and switches have names, and pixels between lines of nodes, at first with room for names of
# ranks that stand out. The first with which rows are high enough is taken.
QUALITIES = ((True, 38.0), (True, 12.0), (False, 12.0))
CAPITALS = (9.0, 15.0)  # pixels of a capital letter: at least, at most
WIDTH = 0.85  # of a letter, at most, over the height of a capital one
FILLED = 0.84  # of the width of its cell, by a text
NAME_ROW = 1.7  # height of a row of names, over that of its capital letters
OF_RANK = 0.7  # height of a rank's number, over that of its cell, at most
ROW_NAMES = 9.5  # pixels of their capital letters
ROW_NAMES_ROOM = 76.0  # pixels at the left of lines whose rows have names, which are as high as:
ROW_NAMES_FROM = 13.0
LOW = 0.12  # rows between parts and ranks
IDLE = 0.15  # columns of what no rank uses, at most
BETWEEN_NODES, BETWEEN_SWITCHES = 5.0, 14.0  # pixels
SPACE = 1.6  # pixels between cells, but none between cells that are narrower than:
SOLID = 6.0
BELOW = 0.5  # where nodes have one line, messages go half as deep as below planes
LANES = 3.0  # rows of all switches that lead to all nodes, at most
BEHIND = 0.02  # distance of ranks from values that cover them
EDGE = 0.07  # space above and below a cell, in rows
PAIR = 2.0  # rows of a rank: its number, then its value
WORDS = {"numa": "NUMA", "l3": "L3", "l2": "L2", "l1": "L1", "pu": "PU"}


@dataclass(frozen=True)
class Machine:
    """A written picture of planes, as far as the plan needs it. Boxes are (n, 4): left, right, low, high.

    ranks, parts : places in their planes, without space around them. rank_node, part_node : int, the node of
    each. rank, kind : the number of each rank, and the level of each part in words. hosts : the name of each
    node. below : bool (n_switches, n_nodes), the nodes that a switch leads down to. level : int
    (n_switches,). switches : their names. depth : how far messages and collective operations go below planes.
    """

    ranks: np.ndarray
    rank_node: np.ndarray
    rank: np.ndarray
    parts: np.ndarray
    part_node: np.ndarray
    kind: Sequence[str]
    hosts: Sequence[str]
    below: np.ndarray
    level: np.ndarray
    switches: Sequence[str]
    depth: float


@dataclass(frozen=True)
class Text:
    """A text: what is at x is its left end (aligned 0.0), its middle (0.5) or its right end (1.0).

    y : of its middle. height : of a capital letter.
    """

    text: str
    x: float
    y: float
    height: float
    aligned: float = 0.5


@dataclass(frozen=True)
class Flat:
    """Where all is, in rows.

    left, right, base : (n_nodes,) both ends of each node, and the lower edge of its ranks. bars : (n, 5) of
    switches: number, left, right, low, high; a switch has one in each line of nodes below it. box : left,
    right, low, high of all but messages, which begin at the lower edge and go down to `deepest`. lines :
    (n, 4) boxes of the lines of nodes. texts : names, and numbers of ranks. rows : names of the rows from the
    top, where they are not among the texts. merged : ranks have no numbers, so their values take the room of
    these. pixel : of images of usual size.
    """

    left: np.ndarray
    right: np.ndarray
    base: np.ndarray
    bars: np.ndarray
    box: tuple[float, float, float, float]
    deepest: float
    lines: np.ndarray
    texts: tuple[Text, ...]
    rows: tuple[str, ...]
    merged: bool
    pixel: float
    _x: list[tuple[np.ndarray, np.ndarray]]  # of each node, knots from places in its plane to 0 ... 1
    _y: tuple[np.ndarray, np.ndarray]
    _below: float  # factor of what is below the ranks

    def moved(self, points: np.ndarray, node_id: np.ndarray, layer: str = "") -> np.ndarray:
        """Points (n, 3) of planes, whose z is the distance from their plane, in this layout."""
        x, y, z = np.asarray(points, float).reshape(-1, 3).T
        last = len(self.left) - 1
        node = np.clip(np.round(node_id), 0, last).astype(int)
        share = np.empty(len(x))
        order = np.argsort(node, kind="stable")
        for mine in np.split(order, np.flatnonzero(np.diff(node[order])) + 1) if len(order) else ():
            share[mine] = np.interp(x[mine], *self._x[node[mine[0]]])
        beyond = np.clip(node_id, -0.5, last + 0.5) - np.clip(node_id, 0, last)  # in periodic grids
        across = self.left[node] + (share + beyond) * (self.right - self.left)[node]
        if self.merged and layer in ("ranks", "measurements", "threads", "thread_places"):
            upper = 1.0 if layer in ("ranks", "thread_places") else 0.0
            low = PAIR * np.floor((y - upper + 0.5) / PAIR)
            y = low + PAIR * (y - low - upper)
            z = z - BEHIND * upper
        up = np.where(y < 0, y * self._below, np.interp(y, *self._y))
        return np.stack([across, self.base[node] + up, z], axis=1)


def plan(given: Machine, area: tuple[float, float] = (WIDE, HIGH), names: bool = True) -> Flat:
    """Places a machine so that it fills an image, and ranks are as wide as NARROWEST asks for.

    Ranks are narrower where so many lines would make rows too low.

    area : width and height to fill, in pixels. names : whether lines have room for names of ranks.
    """
    x = [_columns(given.ranks[given.rank_node == node, :2]) for node in range(len(given.hosts))]
    for (wanted, apart), narrowest in itertools.product(QUALITIES[not names :], NARROWEST):
        lines = _Lines(given, x, narrowest, wanted, apart, area)
        if lines.row >= LOWEST:
            break
    return lines.placed()


class _Lines:
    """Nodes on lines, in pixels, for ranks of a width or a little more. row : height of a row.

    x : of each node, knots from places in its plane to 0 ... 1. wanted : whether nodes and switches carry
    names, where these fit in their widths. apart : pixels between lines. area : as for `plan`.
    """

    def __init__(
        self,
        given: Machine,
        x: list[tuple[np.ndarray, np.ndarray]],
        narrowest: float,
        wanted: bool,
        apart: float,
        area: tuple[float, float],
    ):
        self.wide, self.high = area
        self.given, self.x, self.wanted, self.apart = given, x, wanted, apart
        self.count = np.maximum(np.bincount(given.rank_node, minlength=len(given.hosts)), 1).astype(float)
        is_shared = given.below.all(axis=1)
        self.shared = np.flatnonzero(is_shared)  # they have one bar, above all lines
        self.levels = [np.flatnonzero(~is_shared & (given.level == one)) for one in _levels(given, is_shared)]
        self.y = _heights(given)
        order, block = self._in_order()
        for self.room in (ROW_NAMES_ROOM, 0.0):
            self.lines = _on_lines(order, block, self.count * narrowest, self.wide - self.room)
            self.left, self.right = self._across(block)
            self.bars = [self._bars(one, self.lines) for one in self.levels]
            self.top = self._bars(self.shared, [np.arange(len(given.hosts))])
            self._choose_letters()
            if self.row >= ROW_NAMES_FROM:
                break

    def _in_order(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes by their switches, and the number of each node's group of equal switches."""
        keys = np.zeros((len(self.given.hosts), len(self.levels) + 1), np.int64)
        for column, switches in enumerate(self.levels):
            below = self.given.below[switches]
            keys[:, column] = np.where(below.any(axis=0), below.argmax(axis=0), len(switches))
        block = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        return np.argsort(block, kind="stable"), block

    def _across(self, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gaps = [
            np.where(np.diff(block[line]), BETWEEN_SWITCHES, BETWEEN_NODES) * (len(line) > 1)
            for line in self.lines
        ]
        room = self.wide - self.room
        column = min((room - gap.sum()) / self.count[line].sum() for line, gap in zip(self.lines, gaps))
        left, right = np.zeros(len(block)), np.zeros(len(block))
        for line, gap in zip(self.lines, gaps):
            ends = np.cumsum(self.count[line] * column + np.append(0.0, gap))
            right[line], left[line] = ends, ends - self.count[line] * column
        return left, right

    def _bars(self, switches: np.ndarray, lines: list[np.ndarray]) -> np.ndarray:
        """Bars (n, 6) of some switches: number, line, left, right, lane, number of lanes."""
        found = []
        for number, line in enumerate(lines):
            of_line = []
            for switch in switches.tolist():
                mine = line[self.given.below[switch, line]]
                if len(mine):
                    of_line.append([switch, number, self.left[mine].min(), self.right[mine].max(), 0, 1])
            ends: list[float] = []
            for bar in sorted(of_line, key=lambda bar: bar[2]):
                bar[4] = next((n for n, end in enumerate(ends) if end <= bar[2]), len(ends))
                ends[int(bar[4]) : int(bar[4]) + 1] = [bar[3]]
            found += [[*bar[:5], len(ends)] for bar in of_line]
        return np.array(found, float).reshape(-1, 6)

    def _choose_letters(self) -> None:
        """Sets the height of letters, 0 where there are none, and of rows."""
        given = self.given
        hosts = common(self.right - self.left, given.hosts)
        bars = np.concatenate([*self.bars, self.top])
        alone = bars[bars[:, 5] == 1]
        switches = common(alone[:, 3] - alone[:, 2], [given.switches[n] for n in alone[:, 0].astype(int)])
        lanes = min(len(self.shared), LANES)
        rows = len(self.lines) * (self.y[1][-1] + len(self.levels)) + lanes
        for most in (CAPITALS[1], 11.0, CAPITALS[0]) if self.wanted else (0.0,):
            self.hosts, self.names = min(hosts, most), min(switches, most)
            named = len(self.lines) * (self.hosts + len(self.levels) * self.names)
            named += self.names * (len(self.shared) == 1)
            free = self.high - (len(self.lines) - 1) * self.apart
            self.row = max((free - NAME_ROW * named) / rows, 1.0)
            if self.row >= max(LOWEST, self.hosts):
                break

    def placed(self) -> Flat:
        """The plan in rows. The lower edge of the lowest line is y = 0."""
        given, unit = self.given, 1.0 / self.row
        left, right, names, hosts = (v * unit for v in (self.left, self.right, self.names, self.hosts))
        texts: list[Text] = []
        bars: list[list[float]] = []

        def add_bars(of: np.ndarray, high: float, rows: float) -> float:
            """Adds bars below a height, and their names above them; returns the height below them."""
            room = NAME_ROW * names * bool((of[:, 5] == 1).all())
            for switch, _, at, to, lane, n_lanes in of.tolist():
                size = rows / n_lanes
                top = high - room - lane * size
                bars.append([switch, at * unit, to * unit, top - size + EDGE * size, top - EDGE * size])
                if room:
                    name = given.switches[int(switch)]
                    texts.append(Text(name, (at + to) / 2 * unit, high - room / 2, names))
            return high - room - rows

        high = 0.0
        if len(self.shared):
            high = add_bars(self.top, high, min(len(self.shared), LANES))
        base, boxes = np.zeros(len(given.hosts)), []
        for number, line in enumerate(self.lines):
            high -= self.apart * unit * (number > 0)
            upper = high
            for of_level in self.bars:
                high = add_bars(of_level[of_level[:, 1] == number], high, 1.0)
            if hosts:
                middle = high - NAME_ROW * hosts / 2
                texts += [
                    Text(given.hosts[n], (left[n] + right[n]) / 2, middle, hosts) for n in line.tolist()
                ]
            high -= NAME_ROW * hosts + self.y[1][-1]
            base[line] = high
            boxes.append([left[line].min(), right[line].max(), high, upper])
        below = BELOW if len(self.lines) == 1 else 0.9 * self.apart * unit / max(given.depth, 1e-9)
        cells = np.array(
            [_width_of(box, *self.x[n]) for n, box in zip(given.rank_node.tolist(), given.ranks)]
        )
        cells *= (self.right - self.left)[given.rank_node]
        narrowest = float(cells.min(initial=self.wide))
        flat = Flat(
            left=left,
            right=right,
            base=base - high,
            bars=np.array(bars).reshape(-1, 5) - np.array([0, 0, 0, high, high]),
            box=(-self.room * unit, (self.wide - self.room) * unit, 0.0, -high),
            deepest=-given.depth * below,
            lines=np.array(boxes) - np.array([0, 0, high, high]),
            texts=tuple(replace(text, y=text.y - high) for text in texts),
            rows=(),
            merged=not _letter(narrowest, str(given.rank.max(initial=0))),
            pixel=unit,
            _x=self.x,
            _y=self.y,
            _below=below,
        )
        kept = sorted(_kept(given).items(), key=lambda row: -row[1])
        rows = {WORDS.get(kind, kind): at for kind, at in kept}
        rows |= {"rank": 1.0} if flat.merged else {"rank": 1.5, "value": 0.5}
        beside = self._row_names(flat, rows) if self.room else []
        return replace(
            flat,
            texts=(*flat.texts, *self._numbers(flat, narrowest), *beside),
            rows=() if beside else tuple(rows),
        )

    def _numbers(self, flat: Flat, narrowest: float) -> list[Text]:
        """The numbers of ranks, where they fit."""
        given = self.given
        if flat.merged:
            return []
        height = min(_letter(narrowest, str(given.rank.max(initial=0))) / self.row, OF_RANK)
        middle = np.zeros((len(given.rank), 3))
        middle[:, 0], middle[:, 1] = given.ranks[:, :2].mean(axis=1), given.ranks[:, 2:].mean(axis=1)
        middle = flat.moved(middle, given.rank_node)
        return [
            Text(str(rank), x, y, height) for rank, (x, y, _) in zip(given.rank.tolist(), middle.tolist())
        ]

    def _row_names(self, flat: Flat, rows: Mapping[str, float]) -> list[Text]:
        """The names of rows, by their height in planes, at the left of each line of nodes."""
        height, right = ROW_NAMES / self.row, -8.0 / self.row
        return [
            Text(name, right, float(base + np.interp(at, *self.y)), height, 1.0)
            for base in np.unique(flat.base)
            for name, at in rows.items()
        ]


def _levels(given: Machine, is_shared: np.ndarray) -> list[int]:
    """The levels of switches that do not lead to all nodes, from the top."""
    return np.unique(given.level[~is_shared & given.below.any(axis=1)])[::-1].tolist()


def _columns(spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots from places in a node's plane to 0 ... 1, so that what none of the spans covers becomes narrow.

    spans : (n, 2), left and right ends.
    """
    if not len(spans):
        return np.array([0.0, 1.0]), np.array([0.0, 1.0])
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    usual = float(np.median(spans[:, 1] - spans[:, 0]))
    reached = np.maximum.accumulate(spans[:, 1])
    begins = np.append(True, spans[1:, 0] > reached[:-1] + 0.02 * usual)
    left = spans[begins, 0]
    right = reached[np.append(begins[1:], True)]
    at = np.stack([left, right], axis=1).ravel()
    steps = np.diff(at)
    steps[1::2] = np.minimum(steps[1::2], IDLE * usual)
    to = np.append(0.0, np.cumsum(steps))
    return at, to / to[-1]


def _width_of(box: np.ndarray, at: np.ndarray, to: np.ndarray) -> float:
    return float(np.diff(np.interp(box[:2], at, to))[0])


def _kept(given: Machine) -> dict[str, float]:
    """The middle of each row of parts, without PUs where these say no more than their cores and ranks."""
    kinds = np.array(given.kind)
    middle = given.parts[:, 2:].mean(axis=1)
    rows = {kind: float(middle[kinds == kind][0]) for kind in dict.fromkeys(given.kind)}
    width = given.parts[:, 1] - given.parts[:, 0]
    if "core" in rows and "pu" in rows and width[kinds == "pu"].min() < 0.9 * width[kinds == "core"].min():
        ranks = given.ranks[:, 1] - given.ranks[:, 0]
        if ranks.min(initial=0.0) < 0.9 * width[kinds == "core"].min():
            return rows
    return {kind: at for kind, at in rows.items() if kind != "pu"}


def _heights(given: Machine) -> tuple[np.ndarray, np.ndarray]:
    """Knots from heights in planes to those in a line of nodes."""
    ranks = PAIR * np.ceil(given.ranks[:, 3].max(initial=PAIR) / PAIR)
    at, to = [0.0, float(ranks)], [0.0, float(ranks)]
    kept = _kept(given)
    rows = dict(zip(given.kind, given.parts[:, 2:].mean(axis=1).tolist()))
    for kind, middle in sorted(rows.items(), key=lambda row: row[1]):
        gap = LOW if len(at) == 2 else max(middle - 0.5 - at[-1], 0.0)
        at += [middle - 0.5, middle + 0.5]
        to += [to[-1] + gap, to[-1] + gap + (kind in kept)]
    return np.array(at), np.array(to)


def _on_lines(order: np.ndarray, block: np.ndarray, width: np.ndarray, most: float) -> list[np.ndarray]:
    """The nodes of each line: as few lines as widths allow, then as short as possible.

    A block of nodes stays together where it fits in a line.
    """
    width = width + BETWEEN_NODES
    blocks = np.split(order, np.flatnonzero(np.diff(block[order])) + 1)
    fewest = _wrapped(blocks, width, most)
    low, high = width.sum() / len(fewest), most
    for _ in range(12):
        middle = (low + high) / 2
        tried = _wrapped(blocks, width, middle)
        low, high = (low, middle) if len(tried) <= len(fewest) else (middle, high)
    return min(
        fewest,
        _wrapped(blocks, width, high),
        key=lambda lines: (len(lines), max(width[line].sum() for line in lines)),
    )


def _wrapped(blocks: list[np.ndarray], width: np.ndarray, most: float) -> list[np.ndarray]:
    lines: list[np.ndarray] = []
    filled = most
    for block in blocks:
        own = width[block].sum() + BETWEEN_SWITCHES - BETWEEN_NODES
        pieces = max(1, int(np.ceil(own / most)))
        for piece in np.array_split(block, min(pieces, len(block))):
            own = width[piece].sum() + BETWEEN_SWITCHES - BETWEEN_NODES
            if filled + own > most or pieces > 1:
                lines.append(piece)
                filled = own if pieces == 1 else most
            else:
                lines[-1] = np.concatenate([lines[-1], piece])
                filled += own
    return lines


def _letter(width: float, text: str) -> float:
    """Pixels of a capital letter so that a text fits in a width; 0 if it would be too small."""
    height = min(FILLED * width / (WIDTH * max(len(text), 1)), CAPITALS[1])
    return height if height >= CAPITALS[0] else 0.0


def common(widths: np.ndarray, texts: Sequence[str]) -> float:
    """Pixels of a capital letter at which all texts fit in their widths; 0 if one does not."""
    return min((_letter(width, text) for width, text in zip(widths.tolist(), texts)), default=0.0)
