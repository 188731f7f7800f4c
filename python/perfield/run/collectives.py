# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations of a run, its communicators, and the sizes of its messages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfield.rows import added_up
from perfield.run.frame import call_names
from perfield.run.tables import entry_of

if TYPE_CHECKING:
    from perfield.run.streams import Rows

COLLECTIVES = np.dtype(
    [("rank", "i4"), ("communicator", "u4"), ("call", "U22")]
    + [(name, "u8") for name in ("count", "bytes_out", "bytes_in")]
)
COLLECTIVE_ROWS = np.dtype(
    [("step", "i8"), ("rank", "i4"), ("communicator", "u4"), ("call", "i4")]
    + [(name, "u8") for name in ("count", "bytes_out", "bytes_in")]
)
# The bins of messages by size: the largest message of each; bins end before 64 * 8**n bytes.
SIZE_WORDS = ("63 B", "511 B", "4 kB", "32 kB", "256 kB", "2 MB", "16 MB", "larger")
SIZES = ("to_63_B", "to_511_B", "to_4_kB", "to_32_kB", "to_256_kB", "to_2_MB", "to_16_MB", "larger")
_MOST_MEMBERS = 1 << 24  # larger sizes are damaged
_LISTED = 4  # parts of a list of ranks, in words


@dataclass(frozen=True)
class Communicator:
    """A communicator, as its ranks described it.

    name : the number by which all its ranks know it. size : its number of ranks. places, members : int64 (n,)
    each, the places that are known, ascending, and the world rank of each; ranks without perfield are
    missing. label : the name that the program gave it, or "". clash : why this is not one communicator, as a
    sentence; "" if it is one. dims, periodic : of a Cartesian one (MPI_Cart_create), the ranks along
    each axis and whether the last is a neighbour of the first; () of others. used : some rank used
    it, and did not only make it.
    """

    name: int
    size: int
    places: np.ndarray
    members: np.ndarray
    label: str
    clash: str = ""
    dims: tuple[int, ...] = ()
    periodic: tuple[bool, ...] = ()
    used: bool = True

    @property
    def coordinates(self) -> np.ndarray:
        """Coordinates of the members, if Cartesian, int (n, n_dims): MPI counts row-major (MPI 3.1, 7)."""
        return np.stack(np.unravel_index(self.places, self.dims), axis=1)

    @property
    def in_words(self) -> str:
        """Its label, or else its ranks: "ranks 0-3"."""
        return self.label or f"ranks {_listed(np.sort(self.members))}"


class _Description(NamedTuple):
    """What one rank says of a communicator."""

    place: int
    rank: int
    size: int
    label: str
    dims: tuple[int, ...]
    periodic: tuple[bool, ...]
    used: bool


def communicators_of(described: Iterable[tuple[int, int, dict]]) -> list[Communicator]:
    """The communicators of a run, in the order in which they were made or first used.

    described : (name, world rank, body) of the entries.
    """
    of_name: dict[int, list[_Description]] = {}
    for name, rank, body in described:
        size, place = (body.get(what, -1) for what in ("size", "rank"))
        if 0 < name < 1 << 32 and rank >= 0 and 0 <= place < size <= _MOST_MEMBERS:
            label, used = body.get("label", ""), body.get("used", True)
            one = _Description(place, rank, size, label, *_grid(body, size), used)
            of_name.setdefault(name, []).append(one)
    return [_joined(name, rows) for name, rows in of_name.items()]


def largest_first(communicators: Iterable[Communicator]) -> list[Communicator]:
    """The communicators by size, then by their lowest rank."""
    return sorted(communicators, key=lambda one: (-one.size, int(one.members.min(initial=0)), one.name))


def _grid(body: dict, size: int) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """dims and periodic of a Cartesian communicator; () of others, and where they cannot be true."""
    dims, periodic = body.get("dims", ()), body.get("periodic", ())
    if not dims or len(dims) != len(periodic) or min(dims) < 1 or math.prod(dims) != size:
        return (), ()
    return tuple(dims), tuple(map(bool, periodic))


def _joined(name: int, rows: list[_Description]) -> Communicator:
    """A communicator from what its ranks say."""
    used = any(row.used for row in rows)
    rows = sorted(set(rows))
    size = max(row.size for row in rows)
    label = next((row.label for row in rows if row.label), "")
    grids = {(row.dims, row.periodic) for row in rows}
    members: dict[int, int] = {}
    places: dict[int, int] = {}
    clash = ""
    for place, rank, own_size, *_ in rows:
        what = ""
        if own_size != size:
            what = f"rank {rank} says that it has {own_size:,} ranks, and others say {size:,}"
        elif size > 1 and members.get(place, rank) != rank:
            what = f"ranks {members[place]} and {rank} claim the same place {place}"
        elif places.get(rank, place) != place:
            what = f"rank {rank} claims the places {places[rank]} and {place}"
        clash = clash or what
        members.setdefault(place, rank)
        places.setdefault(rank, place)
    if clash:
        clash = f"communicator {name:08x} is several communicators of one name: {clash}"
    if clash or size == 1:  # all who use the name; each rank has a "self" of its own
        pairs = sorted((place, rank) for rank, place in places.items())
    else:
        pairs = sorted(members.items())
    known = np.array(pairs, np.int64).reshape(-1, 2)
    dims, periodic = grids.pop() if len(grids) == 1 and not clash else ((), ())
    return Communicator(name, size, known[:, 0], known[:, 1], label, clash, dims, periodic, used)


def collective_rows(entries: Rows, rows: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Collective operations by step, rank, communicator and call, added up: a COLLECTIVE_ROWS table.

    rows : numbers of step entries. step : (n_rows,), the step that each belongs to.
    """
    parts = [np.zeros(0, COLLECTIVE_ROWS)]
    for read, steps, ranks in entries.in_steps(rows, step):
        of = entry_of(read, "collective")
        part = np.zeros(len(of), COLLECTIVE_ROWS)
        part["step"], part["rank"] = steps[of], ranks[of]
        for name in ("communicator", "call", "count", "bytes_out", "bytes_in"):
            part[name] = read["collectives"][name]
        parts.append(part)
    keys = ("step", "rank", "communicator", "call")
    return added_up(np.concatenate(parts), keys, ("count", "bytes_out", "bytes_in"))


def of_one_frame(entries: Rows, described: bool) -> np.ndarray | None:
    """The table `Frame.collectives` of a frame. entries : its step entries. described : whether some rank of
    the run described a communicator; else a frame without operations has no table."""
    rows = collective_rows(entries, np.arange(len(entries.file)), np.zeros(len(entries.file), np.int64))
    if not len(rows) and not described:
        return None
    table = np.zeros(len(rows), COLLECTIVES)
    for name in COLLECTIVES.names:
        table[name] = call_names(rows["call"]) if name == "call" else rows[name]
    return table


def _listed(ranks: np.ndarray) -> str:
    """Ranks in words: "0-3, 8", or "0, 4, 8, ..." where there are many parts."""
    if not len(ranks):
        return "unknown"
    begins = np.flatnonzero(np.diff(ranks, prepend=ranks[0] - 2) != 1)
    ends = np.append(begins[1:], len(ranks)) - 1
    parts = [
        str(first) if first == last else f"{first}-{last}"
        for first, last in zip(ranks[begins[:_LISTED]].tolist(), ranks[ends[:_LISTED]].tolist())
    ]
    return ", ".join(parts) + ", ..." * (len(begins) > _LISTED)
